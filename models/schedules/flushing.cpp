// Schedules with unsplit backwards, on one or several stages per rank, that finish all
// micro-batches of a step before the weights change:
//
// * GPipe (Huang et al., arXiv 1811.06965): all forwards, then all backwards;
// * 1F1B (PipeDream-Flush: Narayanan et al., arXiv 2104.04473): the fewest forwards ahead that keep
//   the pipeline full, then a forward and a backward in turn;
// * interleaved 1F1B (same paper; rounds as in PyTorch's ScheduleInterleaved1F1B): 1F1B over
//   several stages per rank, in rounds with about one micro-batch per rank, or in Megatron-LM's
//   groups;
// * looped BFS (Lamy-Poirier, arXiv 2211.05953; PyTorch's ScheduleLoopedBFS): all micro-batches of
//   a stage before the next stage of the rank, backwards in reverse.
//
// Empty slots are in PyTorch's positions. Their only use is to align the rows of a table, assuming
// that a backward takes as long as a forward.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "models/schedules/generators.hpp"
#include "models/schedules/rounds.hpp"

namespace pipesim::models::schedules {
namespace {

// Interleaved 1F1B as in Megatron-LM (get_schedule_table and get_pp_rank_microbatches in
// megatron/core/pipeline_parallel/schedules.py at d98e8a64). Each chunk takes a group of
// micro-batches; the last group can be smaller. `combined` is Megatron-LM's
// overlap_moe_expert_parallel_comm, which runs one more forward ahead.
std::vector<Actions> interleaved_in_groups(const ScheduleShape& shape) {
  const std::uint32_t ranks = shape.ranks();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // chunk, micro-batch
  for (std::uint32_t begin = 0; begin < shape.micro_batches; begin += shape.group) {
    const std::uint32_t end = std::min(begin + shape.group, shape.micro_batches);
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      for (std::uint32_t m = begin; m < end; ++m) order.emplace_back(chunk, m);
    }
  }
  std::vector<Actions> rows(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    Actions& row = rows[rank];
    const std::size_t ahead = std::size_t{2} * (ranks - 1 - rank) +
                              std::size_t{shape.chunks - 1} * shape.group +
                              (shape.combined ? 1 : 0);
    const std::size_t warm_up = std::min(ahead, order.size());
    const auto add_forward = [&](std::size_t i) {
      row.push_back(forward(order[i].first * ranks + rank, order[i].second));
    };
    for (std::size_t i = 0; i < warm_up; ++i) add_forward(i);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (warm_up + i < order.size()) {
        add_forward(warm_up + i);
        row.back().overlaps_next = shape.combined;
      }
      const std::uint32_t chunk = shape.chunks - 1 - order[i].first;
      row.push_back(backward(chunk * ranks + rank, order[i].second));
    }
  }
  return rows;
}

}  // namespace

std::vector<Actions> gpipe(const ScheduleShape& shape) {
  std::vector<Actions> rows(shape.ranks());
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank) {
    Actions& row = rows[rank];
    add_empty(row, rank);
    for (std::uint32_t m = 0; m < shape.micro_batches; ++m) row.push_back(forward(rank, m));
    add_empty(row, 3 * (shape.ranks() - 1 - rank));
    for (std::uint32_t m = 0; m < shape.micro_batches; ++m) row.push_back(backward(rank, m));
  }
  return rows;
}

std::vector<Actions> one_f_one_b(const ScheduleShape& shape) {
  const std::uint32_t count = shape.micro_batches;
  std::vector<Actions> rows(shape.ranks());
  for (std::uint32_t rank = 0; rank < rows.size(); ++rank) {
    Actions& row = rows[rank];
    const std::uint32_t behind = shape.ranks() - 1 - rank;
    const std::uint32_t warm_up = std::min(count, behind);
    row.reserve(2 * std::size_t{count} + warm_up + 2);  // forwards, backwards, and empty slots
    add_empty(row, rank);
    std::uint32_t done = 0;
    for (std::uint32_t m = 0; m < warm_up; ++m) row.push_back(forward(rank, m));
    add_empty(row, 2 * behind);
    for (std::uint32_t m = warm_up; m < count; ++m) {
      row.push_back(forward(rank, m));
      row.push_back(backward(rank, done++));
    }
    while (done < count) {
      add_empty(row, 1);
      row.push_back(backward(rank, done++));
    }
  }
  return rows;
}

std::vector<Actions> looped_bfs(const ScheduleShape& shape) {
  const std::uint32_t ranks = shape.ranks();
  std::vector<Actions> rows(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    Actions& row = rows[rank];
    add_empty(row, rank);
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      for (std::uint32_t m = 0; m < shape.micro_batches; ++m) {
        row.push_back(forward(chunk * ranks + rank, m));
      }
    }
    add_empty(row, 2 * (ranks - 1 - rank));
    for (std::uint32_t chunk = shape.chunks; chunk-- > 0;) {
      for (std::uint32_t m = shape.micro_batches; m-- > 0;) {
        row.push_back(backward(chunk * ranks + rank, m));
      }
    }
  }
  return rows;
}

std::vector<Actions> interleaved(const ScheduleShape& shape) {
  if (shape.group > 0) return interleaved_in_groups(shape);
  std::vector<Actions> rows;
  for (std::uint32_t rank = 0; rank < shape.ranks(); ++rank) {
    const std::uint32_t behind = shape.ranks() - 1 - rank;
    RoundsRule rule;
    rule.warm_up = (shape.chunks - 1) * per_round(shape) + 2 * behind;
    // The slot of the first backward, if a forward takes as long as a backward.
    const std::int64_t first_backward =
        std::int64_t{shape.chunks} * shape.ranks() + std::int64_t{2} * behind;
    rule.empty_after_warm_up =
        first_backward - std::min<std::int64_t>(rule.warm_up, all_ops(shape)) - rank;
    rows.push_back(in_rounds(shape, rank, rule));
  }
  return rows;
}

}  // namespace pipesim::models::schedules
