// Reads the members of a struct from a map: a loop over the rows of models/graph/fields.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "formats/document/map_reader.hpp"
#include "formats/document/value_reader.hpp"
#include "models/graph/fields.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// Returns the type of the values of a field.
ValueType value_type(models::Unit unit);

/// Reads fields. The things to which they refer must be in `graph` already.
class FieldReader {
 public:
  FieldReader(const ValueReader& values, const models::TaskGraph& graph)
      : values_(values), graph_(graph) {}

  /// Sets each member whose key is in `map`, except fields that are read by hand. All other members
  /// keep their values, which are the defaults.
  template <typename T>
  void read(MapReader& map, T& object) const {
    for (const models::Field<T>& field : models::kFields<T>) {
      if (!field.value.by_hand) read(map, field, object);
    }
  }

  /// Reads one field. The readers of sections call this for fields that are marked `by_hand`.
  template <typename T>
  void read(MapReader& map, const models::Field<T>& field, T& object) const {
    const auto value = take(map, field.name, field.value, field.otherwise);
    if (!value) return;
    const Found found = {field.name, field.value, *value};
    visit_member(field, object, [&](auto& member) {
      if constexpr (std::is_assignable_v<decltype(member), models::Expr>) {
        auto expr = values_.expr(*value, value_type(field.value.unit));
        if (expr) member = std::move(*expr);
      } else {
        set(found, member);
      }
    });
  }

 private:
  // A value, with the row that describes it.
  struct Found {
    std::string_view name;
    const models::FieldTraits& traits;
    const YamlValue& value;
  };

  static std::optional<YamlValue> take(MapReader& map, std::string_view name,
                                       const models::FieldTraits& traits,
                                       std::string_view otherwise);
  std::optional<std::int64_t> number(const Found& found) const;
  std::uint32_t index(const Found& found) const;

  // Set a member. After an error, an index becomes kNoIndex, a list holds the items that were read,
  // and any other member keeps its value.
  void set(const Found& found, bool& member) const;
  void set(const Found& found, std::int64_t& member) const;
  void set(const Found& found, std::optional<std::int64_t>& member) const;
  void set(const Found& found, std::uint32_t& member) const;
  void set(const Found& found, std::vector<std::uint32_t>& links) const;
  void set(const Found& found, models::ShortList<std::uint32_t>& indices) const;
  void set(const Found& found, std::string& member) const;
  void set(const Found& found, models::ShortList<std::string>& tensors) const;
  void set(const Found& found, models::RankSet& member) const;
  void set(const Found& found, models::Word& member) const;

  const ValueReader& values_;
  const models::TaskGraph& graph_;
};

/// Returns the names of tensors in `value`, a list. Reports duplicates.
std::vector<std::string> read_tensors(const YamlValue& value, const ValueReader& values);

}  // namespace pipesim::formats
