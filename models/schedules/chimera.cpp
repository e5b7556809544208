// Chimera (Li and Hoefler, arXiv 2107.06925): two pipelines in opposite directions, merged.
//
// A unit has D micro-batches on D ranks, D/2 in each direction. A slot holds one forward or
// backward. Stage s of a pipeline runs forward m in slot s + 2m and backward m in slot D + 2m +
// (D-1-s): each direction is 1F1B as late as possible. The directions never share a slot: on each
// rank, their forwards use slots of opposite parity, and so do their backwards; the last forward of
// a unit precedes the first backward of the other direction with the same parity. The schedule is
// the order of the slots. More micro-batches form more units, each 2D slots after the previous unit
// ("direct concatenation" in the paper); again no two actions share a slot.
#include <algorithm>
#include <utility>

#include "models/schedules/generators.hpp"

namespace pipesim::models::schedules {

std::vector<Actions> chimera(const ScheduleShape& shape) {
  const std::uint32_t depth = shape.stages;
  // Micro-batches per direction, in a unit and in total.
  const std::uint32_t unit = std::min(depth, shape.micro_batches) / 2;
  const std::uint32_t count = shape.micro_batches / 2;
  std::vector<Actions> rows;
  for (std::uint32_t rank = 0; rank < depth; ++rank) {
    std::vector<std::pair<std::uint64_t, Action>> slots;
    for (const bool down : {true, false}) {
      // Position of the rank in the pipeline of this direction.
      const std::uint32_t at = down ? rank : depth - 1 - rank;
      const std::uint32_t stage = down ? at : depth + at;
      for (std::uint32_t m = 0; m < count; ++m) {
        const std::uint64_t start =
            std::uint64_t{2} * depth * (m / unit) + std::uint64_t{2} * (m % unit);
        slots.emplace_back(start + at, forward(stage, m));
        slots.emplace_back(start + std::uint64_t{2} * depth - 1 - at, backward(stage, m));
      }
    }
    std::stable_sort(slots.begin(), slots.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Actions row;
    for (const auto& [slot, action] : slots) row.push_back(action);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace pipesim::models::schedules
