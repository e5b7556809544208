// OneFlow's text dump of a compiled graph, `job_<graph>_plan`: its message `Plan` in protobuf's
// text format. Read from it: the tasks, their registers with credits, and who takes what. Fields
// that are not known here are skipped, as there are others in each version.
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

/// Above so many bytes a file is no plan dump.
inline constexpr std::size_t kMaxPlanBytes = std::size_t{512} << 20;

struct PlanRegister {
  std::int64_t id = 0;
  std::int64_t slots = 1;  // its credits, as the plan has them
  bool control = false;
  std::int64_t acts = 0;                    // how often per step it is filled; 0: not said
  std::optional<std::int64_t> in_place_of;  // the register whose memory it reuses
};

struct PlanTask {
  models::Place place;
  std::int64_t id = 0;
  models::OutsideText type;  // "kNormalForward"
  std::uint32_t rank = 0;
  std::int64_t thread = 0;
  std::int64_t order = 0;  // in the graph; less comes first
  std::int64_t parallel_id = 0;
  models::OutsideText op;  // its name; may be empty
  models::OutsideText
      op_type;  // of user ops: "repeat"; of boxing: "kOpTypeAllReduce"; of copies: "H2D"
  models::OutsideText stream_hint;      // "NCCL_COMPUTE_0"
  std::int64_t times = 0;               // of repeat, acc, pack and unpack; 0: not said
  std::vector<std::int64_t> hierarchy;  // of its placement: {2, 2}
  std::vector<PlanRegister> registers;  // that it fills; by their names in the plan
  struct Taken {
    std::int64_t id = 0;
    models::Place place;
  };
  std::vector<Taken> takes;  // registers of other tasks, or of itself
};

struct OneflowPlan {
  std::vector<PlanTask> tasks;  // in the order of the file
};

/// The plan in `text`. Nothing where there are mistakes, which `diagnostics` then has.
std::optional<OneflowPlan> read_oneflow_plan(std::string_view text,
                                             models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
