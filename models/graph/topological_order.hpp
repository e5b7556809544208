// Topological sort with a fixed choice among independent items.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace pipesim::models {

/// Returns the items in topological order (Kahn's algorithm). The smallest ready item comes first;
/// Boost's topological_sort would leave that choice to a depth-first search. `inputs(i, use)` calls
/// `use(j)` for each input j of i. Items on or after a cycle are omitted.
template <typename Inputs>
std::vector<std::uint32_t> topological_order(std::size_t count, const Inputs& inputs) {
  std::vector<std::uint32_t> open(count, 0);
  std::vector<std::vector<std::uint32_t>> readers(count);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < count; ++i) {
    inputs(i, [&](std::uint32_t input) {
      readers[input].push_back(i);
      ++open[i];
    });
    if (open[i] == 0) ready.push(i);
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::uint32_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::uint32_t reader : readers[next]) {
      if (--open[reader] == 0) ready.push(reader);
    }
  }
  return order;
}

}  // namespace pipesim::models
