// Lookup of items by the names that a file or a pass gives them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// Returns the `name` of each item.
template <typename Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

/// Returns the index of the item called `name`, or kNoIndex.
template <typename Items>
std::uint32_t index_of(const Items& items, std::string_view name) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
  return found == items.end() ? kNoIndex : static_cast<std::uint32_t>(found - items.begin());
}

}  // namespace pipesim::models
