// An index of actors by name, fast for a million actors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/document/name_table.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// Index of some of a graph's actors by name; several actors can share a name.
class ActorIndex {
 public:
  /// `graph` must outlive the index. Names and indices of added actors must not change.
  explicit ActorIndex(const models::TaskGraph& graph) : graph_(graph) {}

  void reserve(std::size_t count) { table_.reserve(count); }
  void add(std::uint32_t actor) { table_.add(graph_.actors[actor].name, actor); }

  /// Returns the first added actor with this name for which `fits(actor)` holds, or kNoIndex.
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
