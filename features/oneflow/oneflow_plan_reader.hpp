// Reads OneFlow's text dump of a compiled graph, `job_<graph>_plan`: its message `Plan` in
// protobuf's text format. Reads the tasks, their registers with credits, and the consumers of
// registers. Skips unknown fields, because each version has other fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/outside_text.hpp"

namespace pipesim::formats {

/// The maximum size of a plan dump, in bytes.
inline constexpr std::size_t kMaxPlanBytes = std::size_t{512} << 20;

struct PlanRegister {
  std::int64_t id = 0;
  std::int64_t slots = 1;  // credits, as in the plan
  bool control = false;
  std::int64_t ops = 0;  // number of times that it is filled per step; 0: not given
  std::optional<std::int64_t> in_place_of;  // the register whose memory it reuses
};

struct PlanTask {
  models::Place place;
  std::int64_t id = 0;
  models::OutsideText type;  // task type: "kNormalForward"
  std::uint32_t rank = 0;
  std::int64_t thread = 0;
  std::int64_t order = 0;  // position in the graph; smaller comes first
  std::int64_t parallel_id = 0;
  models::OutsideText op;           // op name; may be empty
  models::OutsideText op_type;      // user op: "repeat"; boxing: "kOpTypeAllReduce"; copy: "H2D"
  models::OutsideText stream_hint;  // such as "NCCL_COMPUTE_0"
  std::int64_t times = 0;           // count of a repeat, acc, pack or unpack; 0: not given
  std::vector<std::int64_t> hierarchy;  // dimensions of its placement: {2, 2}
  std::vector<PlanRegister> registers;  // produced registers, by their names in the plan
  struct Taken {
    std::int64_t id = 0;
    models::Place place;
  };
  std::vector<Taken> takes;  // registers that it consumes, of other tasks or its own
};

struct OneflowPlan {
  std::vector<PlanTask> tasks;  // in file order
};

/// Reads the plan in `text`. Returns nullopt after mistakes, which `diagnostics` lists.
std::optional<OneflowPlan> read_oneflow_plan(std::string_view text,
                                             models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
