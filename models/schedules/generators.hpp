// Generators of well-known schedules. Each generator names the source of its rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/schedule.hpp"

namespace pipesim::models {

enum class ScheduleKind : std::uint8_t {
  kGpipe,
  k1f1b,
  kInterleaved1f1b,
  kLoopedBfs,
  kZb1p,
  kInterleavedZeroBubble,
  kZbH2,
  kZbv,
  kZbvGreedy,
  kVHalf,
  kVMin,
  kDualPipeV,
  kDualPipe,
  kChimera,
};

/// Convert between kinds of schedules and their names (gpipe, 1f1b, ...).
std::optional<ScheduleKind> find_schedule_kind(std::string_view name);
std::vector<std::string> schedule_kind_names();
const char* schedule_kind_name(ScheduleKind kind);

/// Durations that a schedule can depend on: actions of a stage, and a send.
struct ScheduleCosts {
  std::int64_t forward_ns = 1;
  std::int64_t input_grad_ns = 1;
  std::int64_t weight_grad_ns = 1;
  std::int64_t message_ns = 0;
};

/// The parameters of a schedule.
struct ScheduleShape {
  ScheduleKind kind = ScheduleKind::k1f1b;
  std::uint32_t stages = 1;         // slices of the model; at least 1
  std::uint32_t micro_batches = 1;  // total over both directions; at least 1
  std::uint32_t chunks = 1;         // stages on each rank; at least 1
  // Micro-batches that a chunk of interleaved 1F1B takes in a row, as in Megatron-LM; 0: as in
  // PyTorch.
  std::uint32_t group = 0;
  bool combined = false;  // whether a forward and a backward run as one, if `group` is set
  ScheduleCosts costs = {};

  std::uint32_t ranks() const { return stages / chunks; }
};

/// Returns the default number of stages per rank.
std::uint32_t usual_chunks(ScheduleKind kind);

/// Whether schedules of this kind depend on ScheduleShape::costs.
bool follows_costs(ScheduleKind kind);

/// Returns the reason why no schedule can have this shape; an empty string if one can.
std::string shape_problem(const ScheduleShape& shape);

/// Returns the schedule without sends and recvs. `shape` must have no problem.
Schedule make_schedule(const ScheduleShape& shape);

namespace schedules {

/// Return the rows of a schedule. Each family of schedules has its own source file. `shape` must
/// have no problem.
std::vector<Actions> gpipe(const ScheduleShape& shape);
std::vector<Actions> one_f_one_b(const ScheduleShape& shape);
std::vector<Actions> looped_bfs(const ScheduleShape& shape);
std::vector<Actions> interleaved(const ScheduleShape& shape);
std::vector<Actions> zero_bubble(const ScheduleShape& shape);  // ZB1P, also interleaved
std::vector<Actions> zb_h2(const ScheduleShape& shape);
std::vector<Actions> zbv(const ScheduleShape& shape);
std::vector<Actions> zbv_greedy(const ScheduleShape& shape);
std::vector<Actions> v_half(const ScheduleShape& shape);
std::vector<Actions> v_min(const ScheduleShape& shape);
std::vector<Actions> dual_pipe_v(const ScheduleShape& shape);
std::vector<Actions> dual_pipe(const ScheduleShape& shape);
std::vector<Actions> chimera(const ScheduleShape& shape);

inline Action forward(std::uint32_t stage, std::uint32_t m) {
  return {ActionKind::kForward, false, stage, m};
}
inline Action backward(std::uint32_t stage, std::uint32_t m) {
  return {ActionKind::kBackward, false, stage, m};
}
inline Action input_grad(std::uint32_t stage, std::uint32_t m) {
  return {ActionKind::kInputGrad, false, stage, m};
}
inline Action weight_grad(std::uint32_t stage, std::uint32_t m) {
  return {ActionKind::kWeightGrad, false, stage, m};
}

}  // namespace schedules
}  // namespace pipesim::models
