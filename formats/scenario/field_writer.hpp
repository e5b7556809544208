// Writes the members of a struct as a map: a loop over the rows of models/graph/fields.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "formats/document/yaml_writer.hpp"
#include "models/graph/fields.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// Writes fields, which formats/scenario/field_reader.hpp reads.
class FieldWriter {
 public:
  explicit FieldWriter(const models::TaskGraph& graph) : graph_(graph) {}

  /// Adds each member of `object` that differs from `plain` to `map`. Calls `by_hand(name)` in the
  /// place of a field that is written by hand.
  template <typename T, typename ByHand>
  void write(const T& object, const std::type_identity_t<T>& plain, YamlNode& map,
             const ByHand& by_hand) const {
    for (const models::Field<T>& field : models::kFields<T>) {
      if (field.value.by_hand) {
        by_hand(field.name);
      } else {
        write(field, object, plain, map);
      }
    }
  }
  template <typename T>
  void write(const T& object, const std::type_identity_t<T>& plain, YamlNode& map) const {
    write(object, plain, map, [](std::string_view) {});
  }

  /// Adds one member if it differs from the member of `plain`.
  template <typename T>
  void write(const models::Field<T>& field, const T& object, const std::type_identity_t<T>& plain,
             YamlNode& map) const {
    if (same(field, object, plain)) return;
    visit_member(field, object, [&](const auto& member) {
      auto value = node(field.value, member);
      if (value) map.add(field.name, std::move(*value));
    });
  }

 private:
  using Traits = const models::FieldTraits&;
  using Node = std::optional<YamlNode>;

  // Return nullopt for a member that is not set.
  Node node(Traits traits, bool member) const;
  Node node(Traits traits, std::int64_t member) const;
  Node node(Traits traits, const std::optional<std::int64_t>& member) const;
  Node node(Traits traits, std::uint32_t member) const;
  Node node(Traits traits, std::span<const std::uint32_t> members) const;
  Node node(Traits traits, const std::string& member) const;
  Node node(Traits traits, const models::ShortList<std::string>& member) const;
  Node node(Traits traits, const models::RankSet& member) const;
  Node node(Traits traits, models::Word member) const;
  Node node(Traits traits, const models::Expr& member) const;
  Node node(Traits traits, const models::Boxed<models::Expr>& member) const;

  const models::TaskGraph& graph_;
};

}  // namespace pipesim::formats
