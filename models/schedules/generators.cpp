#include "models/schedules/generators.hpp"

#include <algorithm>
#include <array>

#include "sim/assert.hpp"

namespace pipesim::models {
namespace {

struct KindEntry {
  ScheduleKind kind;
  const char* name;
  std::uint32_t usual_chunks;
  bool chunks_are_fixed;
  std::vector<Actions> (*make)(const ScheduleShape& shape);
};

constexpr std::array kScheduleKinds = {
    KindEntry{ScheduleKind::kGpipe, "gpipe", 1, true, schedules::gpipe},
    KindEntry{ScheduleKind::k1f1b, "1f1b", 1, true, schedules::one_f_one_b},
    KindEntry{ScheduleKind::kInterleaved1f1b, "interleaved_1f1b", 2, false, schedules::interleaved},
    KindEntry{ScheduleKind::kLoopedBfs, "looped_bfs", 2, false, schedules::looped_bfs},
    KindEntry{ScheduleKind::kZb1p, "zb1p", 1, true, schedules::zero_bubble},
    KindEntry{ScheduleKind::kInterleavedZeroBubble, "interleaved_zero_bubble", 2, false,
              schedules::zero_bubble},
    KindEntry{ScheduleKind::kZbH2, "zb_h2", 1, true, schedules::zb_h2},
    KindEntry{ScheduleKind::kZbv, "zbv", 2, true, schedules::zbv},
    KindEntry{ScheduleKind::kZbvGreedy, "zbv_greedy", 2, true, schedules::zbv_greedy},
    KindEntry{ScheduleKind::kVHalf, "v_half", 2, true, schedules::v_half},
    KindEntry{ScheduleKind::kVMin, "v_min", 2, true, schedules::v_min},
    KindEntry{ScheduleKind::kDualPipeV, "dualpipe_v", 2, true, schedules::dual_pipe_v},
    KindEntry{ScheduleKind::kDualPipe, "dualpipe", 1, true, schedules::dual_pipe},
    KindEntry{ScheduleKind::kChimera, "chimera", 1, true, schedules::chimera},
};

constexpr std::uint32_t kMaxSearched = 1 << 18;

const KindEntry& entry(ScheduleKind kind) {
  const auto* found = std::find_if(kScheduleKinds.begin(), kScheduleKinds.end(),
                                   [&](const KindEntry& item) { return item.kind == kind; });
  PIPESIM_CHECK(found != kScheduleKinds.end());
  return *found;
}

bool goes_both_ways(ScheduleKind kind) {
  return kind == ScheduleKind::kDualPipe || kind == ScheduleKind::kChimera;
}

std::string number(std::uint32_t value) { return std::to_string(value); }

std::string both_ways_problem(const ScheduleShape& shape) {
  const std::string name = schedule_kind_name(shape.kind);
  const std::uint32_t p = shape.stages;
  const std::uint32_t m = shape.micro_batches;
  if (p % 2 != 0) return name + " needs an even number of stages, found " + number(p);
  if (m % 2 != 0) {
    return name +
           " runs half of the micro-batches in each direction, so it needs an even number, found " +
           number(m);
  }
  if (shape.kind == ScheduleKind::kDualPipe && m < 2 * p) {
    return name + " needs at least twice as many micro-batches as stages: " + number(2 * p) +
           ", found " + number(m);
  }
  if (shape.kind == ScheduleKind::kChimera && m > p && m % p != 0) {
    return name + " repeats a unit of as many micro-batches as there are stages, and " + number(p) +
           " does not divide " + number(m);
  }
  return {};
}

// Whether the generator of this kind searches for the place of each action. Schedules of these
// kinds have at most kMaxSearched forwards.
bool is_searched(ScheduleKind kind) {
  return kind == ScheduleKind::kZbvGreedy || kind == ScheduleKind::kVHalf ||
         kind == ScheduleKind::kVMin;
}

// Returns the reason why Megatron-LM rejects the groups
// (forward_backward_pipelining_with_interleaving); empty if it accepts them.
std::string group_problem(const ScheduleShape& shape) {
  const std::string name = schedule_kind_name(shape.kind);
  if (shape.kind != ScheduleKind::kInterleaved1f1b) {
    return "only interleaved_1f1b takes its micro-batches in groups, found " + name;
  }
  if (shape.group < shape.ranks() || shape.group > shape.micro_batches) {
    return "a group has at least as many micro-batches as there are ranks, " +
           number(shape.ranks()) + ", and at most all " + number(shape.micro_batches) + ", found " +
           number(shape.group);
  }
  const std::uint32_t rest = shape.micro_batches % shape.group;
  if (rest > 0 && rest < shape.ranks()) {
    return "the last group has " + number(rest) + " of " + number(shape.micro_batches) +
           " micro-batches, fewer than there are ranks, " + number(shape.ranks());
  }
  return {};
}

}  // namespace

std::optional<ScheduleKind> find_schedule_kind(std::string_view name) {
  for (const KindEntry& item : kScheduleKinds) {
    if (name == item.name) return item.kind;
  }
  return std::nullopt;
}

std::vector<std::string> schedule_kind_names() {
  std::vector<std::string> names;
  for (const KindEntry& item : kScheduleKinds) names.emplace_back(item.name);
  return names;
}

const char* schedule_kind_name(ScheduleKind kind) { return entry(kind).name; }

std::uint32_t usual_chunks(ScheduleKind kind) { return entry(kind).usual_chunks; }

bool follows_costs(ScheduleKind kind) { return kind == ScheduleKind::kZbvGreedy; }

std::string shape_problem(const ScheduleShape& shape) {
  const KindEntry& kind = entry(shape.kind);
  const std::string name = kind.name;
  if (kind.chunks_are_fixed && shape.chunks != kind.usual_chunks) {
    return name + " has " + number(kind.usual_chunks) + " chunk" +
           (kind.usual_chunks == 1 ? "" : "s") + " on each rank, found " + number(shape.chunks);
  }
  if (shape.stages % shape.chunks != 0) {
    return number(shape.stages) + " stages cannot be divided into " + number(shape.chunks) +
           " chunks on each rank";
  }
  if (goes_both_ways(shape.kind)) return both_ways_problem(shape);
  if (is_searched(shape.kind) && std::uint64_t{shape.stages} * shape.micro_batches > kMaxSearched) {
    return name + " is found by a search, for at most " + number(kMaxSearched) +
           " forwards, and there are more";
  }
  if (shape.group > 0) return group_problem(shape);
  const std::uint32_t rounds = std::max<std::uint32_t>(1, shape.micro_batches / shape.ranks());
  const bool in_rounds = shape.kind == ScheduleKind::kInterleaved1f1b ||
                         shape.kind == ScheduleKind::kZb1p ||
                         shape.kind == ScheduleKind::kInterleavedZeroBubble;
  if (in_rounds && shape.micro_batches % rounds != 0) {
    return name + " on " + number(shape.ranks()) + " ranks takes its micro-batches in " +
           number(rounds) + " rounds, but " + number(shape.micro_batches) +
           " is not divisible by that";
  }
  if (shape.kind == ScheduleKind::kDualPipeV && shape.micro_batches < shape.stages) {
    return name + " needs at least as many micro-batches as stages: " + number(shape.stages) +
           ", found " + number(shape.micro_batches);
  }
  return {};
}

Schedule make_schedule(const ScheduleShape& shape) {
  PIPESIM_CHECK(shape_problem(shape).empty());
  Schedule schedule;
  schedule.pipelines = goes_both_ways(shape.kind) ? 2 : 1;
  schedule.stages = shape.stages * schedule.pipelines;
  schedule.micro_batches = shape.micro_batches / schedule.pipelines;
  schedule.ranks = entry(shape.kind).make(shape);
  Diagnostics mistakes;
  const bool valid = validate(schedule, mistakes);
  PIPESIM_CHECK(valid);
  return schedule;
}

}  // namespace pipesim::models
