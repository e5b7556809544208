// Finding actors by name where there are a million.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::formats {

/// Some of the actors of a graph, by name; several may share one. A map would hold the names again,
/// and take more memory than an actor's line in a file: this takes 8 to 16 bytes for each.
class ActorIndex {
 public:
  /// `graph` outlives this. Names and indices of what is added stay,
  /// and a later one has the larger index.
  explicit ActorIndex(const models::TaskGraph& graph) : graph_(graph) {}

  void add(std::uint32_t actor) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    put(actor);
    ++count_;
  }

  /// The first of this name, in the order in which they were added, for which `fits(actor)`; or
  /// kNoIndex.
  template <typename Fits>
  std::uint32_t find(std::string_view name, Fits fits) const {
    for (std::size_t at = first_slot(name); !slots_.empty() && slots_[at] != models::kNoIndex;
         at = next(at)) {
      if (graph_.actors[slots_[at]].name == name && fits(slots_[at])) return slots_[at];
    }
    return models::kNoIndex;
  }
  std::uint32_t find(std::string_view name) const {
    return find(name, [](std::uint32_t) { return true; });
  }

 private:
  // The number of slots is a power of two.
  std::size_t first_slot(std::string_view name) const {
    return slots_.empty() ? 0 : std::hash<std::string_view>()(name) & (slots_.size() - 1);
  }
  std::size_t next(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void put(std::uint32_t actor) {
    std::size_t at = first_slot(graph_.actors[actor].name);
    while (slots_[at] != models::kNoIndex) at = next(at);
    slots_[at] = actor;
  }

  // Actors are added in their order, so they keep it.
  void grow() {
    constexpr std::size_t kFewest = 16;
    std::vector<std::uint32_t> added;
    added.reserve(count_);
    for (const std::uint32_t actor : slots_) {
      if (actor != models::kNoIndex) added.push_back(actor);
    }
    std::sort(added.begin(), added.end());
    slots_.assign(slots_.empty() ? kFewest : 2 * slots_.size(), models::kNoIndex);
    for (const std::uint32_t actor : added) put(actor);
  }

  const models::TaskGraph& graph_;
  std::vector<std::uint32_t> slots_;  // kNoIndex: free; behind the slot of a hash stand the next
  std::size_t count_ = 0;
};

}  // namespace pipesim::formats
