// DualPipe and DualPipeV (DeepSeek-AI, github.com/deepseek-ai/DualPipe at 3da1bbea, dualpipe.py and
// dualpipev.py; DeepSeek-V3, arXiv 2412.19437; DualPipeV also as PyTorch's ScheduleDualPipeV).
//
// Both schedules run the same eight phases on a rank with two stages: chunk 0 on the way down the
// ranks and chunk 1 on the way back. In the middle, a forward of one chunk overlaps a backward of
// the other chunk. In DualPipeV, the way back is the second half of the same model. In DualPipe,
// the way back is a second pipeline in the opposite direction: rank r of 2n runs the DualPipeV row
// of rank min(r, 2n-1-r) of n, and each pipeline has half of the micro-batches.
#include <algorithm>
#include <cstddef>

#include "models/schedules/generators.hpp"

namespace pipesim::models::schedules {
namespace {

class DualPipeRank {
 public:
  /// Creates the row of `rank` of `ranks`, with `count` micro-batches through each of the rank's
  /// two stages.
  DualPipeRank(std::uint32_t rank, std::uint32_t ranks, std::uint32_t count, std::uint32_t stage0,
               std::uint32_t stage1)
      : rank_(rank), ranks_(ranks), count_(count), stage_{stage0, stage1} {}

  Actions run() {
    const std::uint32_t behind = ranks_ - 1 - rank_;
    for (std::uint32_t i = 0; i < 2 * behind; ++i) add_forward(0);
    for (std::uint32_t i = 0; i < rank_ + 1; ++i) {
      add_forward(0);
      add_forward(1);
    }
    for (std::uint32_t i = 0; i < behind; ++i) {
      add_backward(1, true);
      add_weight_grad();
      add_forward(1);
    }
    add_steady(count_ - 2 * ranks_ + rank_ + 1);
    for (std::uint32_t i = 0; i < behind; ++i) {
      add_backward(1, false);
      add_overlap(1, 0);
    }
    add_cool_down(behind);
    return std::move(row_);
  }

 private:
  void add_steady(std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) {
      // On the last rank, the first forward and backward do not overlap: this makes the bubble
      // smaller.
      if (i == 0 && rank_ == ranks_ - 1) {
        add_forward(0);
        add_backward(1, false);
      } else {
        add_overlap(0, 1);
      }
      add_overlap(1, 0);
    }
  }

  void add_cool_down(std::uint32_t behind) {
    const std::uint32_t pairs = rank_ + 1;
    bool split = false;
    for (std::uint32_t i = 0; i < pairs; ++i) {
      if (i == pairs / 2 && rank_ % 2 == 1) split = true;
      add_backward(1, split);
      if (i == pairs / 2 && rank_ % 2 == 0) split = true;
      add_backward(0, split);
    }
    for (std::uint32_t i = 0; i < behind; ++i) {
      add_weight_grad();
      add_backward(0, true);
    }
    for (std::uint32_t i = 0; i < pairs; ++i) add_weight_grad();
  }

  void add_forward(int chunk) { row_.push_back(forward(stage_[chunk], forwards_[chunk]++)); }

  // Adds a backward. If `split`, queues its weight gradient.
  void add_backward(int chunk, bool split) {
    const std::uint32_t m = backwards_[chunk]++;
    if (!split) {
      row_.push_back(backward(stage_[chunk], m));
      return;
    }
    row_.push_back(input_grad(stage_[chunk], m));
    queue_.push_back(weight_grad(stage_[chunk], m));
  }

  void add_weight_grad() {
    if (taken_ < queue_.size()) row_.push_back(queue_[taken_++]);
  }

  void add_overlap(int forward_chunk, int backward_chunk) {
    row_.push_back(forward(stage_[forward_chunk], forwards_[forward_chunk]++));
    row_.back().overlaps_next = true;
    row_.push_back(backward(stage_[backward_chunk], backwards_[backward_chunk]++));
  }

  std::uint32_t rank_;
  std::uint32_t ranks_;
  std::uint32_t count_;
  std::uint32_t stage_[2];
  std::uint32_t forwards_[2] = {0, 0};
  std::uint32_t backwards_[2] = {0, 0};
  Actions row_;
  Actions queue_;
  std::size_t taken_ = 0;
};

}  // namespace

std::vector<Actions> dual_pipe_v(const ScheduleShape& shape) {
  std::vector<Actions> rows;
  for (std::uint32_t rank = 0; rank < shape.ranks(); ++rank) {
    rows.push_back(
        DualPipeRank(rank, shape.ranks(), shape.micro_batches, rank, shape.stages - 1 - rank)
            .run());
  }
  return rows;
}

std::vector<Actions> dual_pipe(const ScheduleShape& shape) {
  const std::uint32_t ranks = shape.ranks();
  std::vector<Actions> rows;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t folded = std::min(rank, ranks - 1 - rank);
    // The first pipeline ascends the ranks, the second descends.
    const std::uint32_t first = rank;
    const std::uint32_t second = ranks + (ranks - 1 - rank);
    const bool lower_half = rank == folded;
    rows.push_back(DualPipeRank(folded, ranks / 2, shape.micro_batches / 2,
                                lower_half ? first : second, lower_half ? second : first)
                       .run());
  }
  return rows;
}

}  // namespace pipesim::models::schedules
