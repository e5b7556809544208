// Schedules that split the backward, and fill bubbles with weight gradients, for which no other
// rank waits (Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241; "Pipeline
// Parallelism with Controllable Memory", arXiv 2405.15362).
//
// * ZB1P is the paper's H1 as in PyTorch's ScheduleInterleavedZeroBubble: rank r delays the weight
//   gradients by r micro-batches, so that every rank holds the same number of activations as the
//   first rank of 1F1B. The rule also applies to several stages per rank.
// * H2 uses twice the memory: twice the forwards ahead, twice the delay. The paper draws H2 and
//   gives its figures, but no rule. This rule doubles both numbers of H1, and yields the paper's
//   figures for equal times: no bubble except at the start, 2p - 1 activations.
// * ZB-V: two stages per rank, the second on the way back (PyTorch's ScheduleZBVZeroBubble), in an
//   order that ignores costs; zbv_greedy.cpp has the authors' order.
#include <algorithm>

#include "models/schedules/generators.hpp"
#include "models/schedules/rounds.hpp"

namespace pipesim::models::schedules {

std::vector<Actions> zero_bubble(const ScheduleShape& shape) {
  std::vector<Actions> rows;
  for (std::uint32_t rank = 0; rank < shape.ranks(); ++rank) {
    const std::uint32_t behind = shape.ranks() - 1 - rank;
    RoundsRule rule;
    rule.warm_up = (shape.chunks - 1) * per_round(shape) + behind;
    rule.empty_after_warm_up = behind;
    rule.split = true;
    rule.delay = rank;
    rows.push_back(in_rounds(shape, rank, rule));
  }
  return rows;
}

std::vector<Actions> zb_h2(const ScheduleShape& shape) {
  std::vector<Actions> rows;
  for (std::uint32_t rank = 0; rank < shape.ranks(); ++rank) {
    RoundsRule rule;
    rule.warm_up = 2 * (shape.ranks() - 1 - rank);
    rule.split = true;
    rule.delay = 2 * rank;
    rows.push_back(in_rounds(shape, rank, rule));
  }
  return rows;
}

namespace {

// One rank of ZB-V. If there are too few micro-batches, the class generates more and drops the
// surplus.
class ZbvRank {
 public:
  ZbvRank(const ScheduleShape& shape, std::uint32_t rank)
      : shape_(shape), rank_(rank), stage_{rank, shape.stages - 1 - rank} {
    add_empty(row_, rank);
  }

  Actions run() {
    const std::uint32_t ranks = shape_.ranks();
    const std::uint32_t count = std::max(2 * ranks - 1, shape_.micro_batches);
    for (std::uint32_t i = 0; i < 2 * (ranks - rank_) - 1; ++i) add_forward(0);
    for (std::uint32_t i = 0; i < rank_; ++i) {
      add_forward(1);
      add_forward(0);
    }
    for (std::uint32_t i = 0; i < ranks - rank_; ++i) {
      add_forward(1);
      add_backward(1);
    }
    while (forwards_[1] < forwards_[0] || forwards_[0] < count) {
      if (forwards_[0] < count) add_forward(0);
      add_backward(0);
      add_forward(1);
      add_backward(1);
    }
    for (std::uint32_t i = 0; i < rank_; ++i) {
      add_input_grad(0);
      add_input_grad(1);
    }
    for (std::uint32_t i = 0; i < ranks - rank_; ++i) {
      add_input_grad(0);
      add_weight_grad(0);
    }
    for (const int chunk : {1, 0}) {
      while (weights_[chunk] < inputs_[chunk]) add_weight_grad(chunk);
    }
    return std::move(row_);
  }

 private:
  void add(Action action) {
    if (action.micro_batch < shape_.micro_batches) {
      row_.push_back(action);
    } else {
      add_empty(row_, 1);
    }
  }
  void add_forward(int chunk) { add(forward(stage_[chunk], forwards_[chunk]++)); }
  void add_input_grad(int chunk) { add(input_grad(stage_[chunk], inputs_[chunk]++)); }
  void add_weight_grad(int chunk) { add(weight_grad(stage_[chunk], weights_[chunk]++)); }
  void add_backward(int chunk) {
    add_input_grad(chunk);
    add_weight_grad(chunk);
  }

  const ScheduleShape& shape_;
  std::uint32_t rank_;
  Actions row_;
  std::uint32_t stage_[2];
  std::uint32_t forwards_[2] = {0, 0};
  std::uint32_t inputs_[2] = {0, 0};
  std::uint32_t weights_[2] = {0, 0};
};

}  // namespace

std::vector<Actions> zbv(const ScheduleShape& shape) {
  std::vector<Actions> rows;
  for (std::uint32_t rank = 0; rank < shape.ranks(); ++rank) {
    rows.push_back(ZbvRank(shape, rank).run());
  }
  return rows;
}

}  // namespace pipesim::models::schedules
