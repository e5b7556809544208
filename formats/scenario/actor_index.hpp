// Finding actors by name where there are a million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/yaml/name_table.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// Some of the actors of a graph, by name; several may share one.
class ActorIndex {
 public:
  /// `graph` outlives this. Names and indices of what is added stay.
  explicit ActorIndex(const models::TaskGraph& graph) : graph_(graph) {}

  void reserve(std::size_t count) { table_.reserve(count); }
  void add(std::uint32_t actor) { table_.add(graph_.actors[actor].name, actor); }

  /// The first of this name, in the order in which they were added, for which `fits(actor)`; or
  /// kNoIndex.
  template <typename Fits>
  std::uint32_t find(std::string_view name, Fits fits) const {
    static_assert(NameTable::kNone == models::kNoIndex);
    return table_.find(name, [&](std::uint32_t actor) {
      return graph_.actors[actor].name == name && fits(actor);
    });
  }
  std::uint32_t find(std::string_view name) const {
    return find(name, [](std::uint32_t) { return true; });
  }

 private:
  const models::TaskGraph& graph_;
  NameTable table_;
};

}  // namespace pipesim::formats
