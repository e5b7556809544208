// The schedules that people know by name. Each generator says where its rule comes from.
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

/// The schedule of this name (gpipe, 1f1b, ...), and all names.
std::optional<ScheduleKind> find_schedule_kind(std::string_view name);
std::vector<std::string> schedule_kind_names();
const char* schedule_kind_name(ScheduleKind kind);

/// Times that a schedule may follow: those of a stage, and of a message.
struct ScheduleCosts {
  std::int64_t forward_ns = 1;
  std::int64_t input_grad_ns = 1;
  std::int64_t weight_grad_ns = 1;
  std::int64_t message_ns = 0;
};

/// What makes a schedule of one kind differ from another of that kind.
struct ScheduleShape {
  ScheduleKind kind = ScheduleKind::k1f1b;
  std::uint32_t stages = 1;         // the model is cut into so many; at least 1
  std::uint32_t micro_batches = 1;  // in all, both ways together; at least 1
  std::uint32_t chunks = 1;         // stages on each rank; at least 1
  std::uint32_t group = 0;          // interleaved 1F1B as Megatron's: micro-batches that a chunk
                                    // takes in a row; 0: as PyTorch's
  bool combined = false;            // of that: a forward and a backward run as one
  ScheduleCosts costs = {};

  std::uint32_t ranks() const { return stages / chunks; }
};

/// Stages per rank where nobody says how many.
std::uint32_t usual_chunks(ScheduleKind kind);

/// It is another one for other costs.
bool follows_costs(ScheduleKind kind);

/// Why there is no such schedule; empty if there is.
std::string shape_problem(const ScheduleShape& shape);

/// The schedule, without messages. `shape` has no problem.
Schedule make_schedule(const ScheduleShape& shape);

namespace schedules {

/// One family per file. `shape` has no problem; only the rows of ranks are made.
std::vector<Actions> gpipe(const ScheduleShape& shape);
std::vector<Actions> one_f_one_b(const ScheduleShape& shape);
std::vector<Actions> looped_bfs(const ScheduleShape& shape);
std::vector<Actions> interleaved(const ScheduleShape& shape);
std::vector<Actions> zero_bubble(const ScheduleShape& shape);  // also those that are interleaved
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
