#include "models/schedules/rounds.hpp"

#include <algorithm>

namespace pipesim::models::schedules {

std::uint32_t per_round(const ScheduleShape& shape) {
  return shape.micro_batches / std::max<std::uint32_t>(1, shape.micro_batches / shape.ranks());
}

std::uint32_t all_ops(const ScheduleShape& shape) { return shape.chunks * shape.micro_batches; }

Actions in_rounds(const ScheduleShape& shape, std::uint32_t rank, const RoundsRule& rule) {
  const std::uint32_t size = per_round(shape);
  const std::uint32_t all = all_ops(shape);
  const std::uint32_t warm_up = std::min(rule.warm_up, all);
  // Returns the micro-batch of the i-th forward and of the i-th backward, from 0.
  const auto micro_batch = [&](std::uint32_t i) {
    return i / (size * shape.chunks) * size + i % size;
  };
  const auto add_forward = [&](Actions& row, std::uint32_t i) {
    row.push_back(forward(i / size % shape.chunks * shape.ranks() + rank, micro_batch(i)));
  };
  const auto backward_stage = [&](std::uint32_t i) {
    return (shape.chunks - 1 - i / size % shape.chunks) * shape.ranks() + rank;
  };
  Actions row;
  add_empty(row, rank);
  std::uint32_t weights = 0;
  const auto add_weight_grad = [&] {
    row.push_back(weight_grad(backward_stage(weights), micro_batch(weights)));
    ++weights;
  };
  for (std::uint32_t i = 0; i < warm_up; ++i) add_forward(row, i);
  if (warm_up > 0 && rule.empty_after_warm_up > 0) {
    add_empty(row, static_cast<std::uint32_t>(rule.empty_after_warm_up));
  }
  for (std::uint32_t i = 0; i < all; ++i) {
    if (warm_up + i < all) {
      add_forward(row, warm_up + i);
    } else if (!rule.split) {
      add_empty(row, 1);
    }
    if (!rule.split) {
      row.push_back(backward(backward_stage(i), micro_batch(i)));
      continue;
    }
    row.push_back(input_grad(backward_stage(i), micro_batch(i)));
    if (i >= rule.delay) add_weight_grad();
  }
  while (rule.split && weights < all) add_weight_grad();
  return row;
}

}  // namespace pipesim::models::schedules
