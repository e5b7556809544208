// A sweep over parameters: one scenario in all combinations of some settings, and each of those in
// many timings. What has to be run, what came of each run, and what that says of them together.
//
// (Not sim/fixed_order.hpp, which is a way to run one plan.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/explain/folded_run.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "sim/engine.hpp"
#include "sim/fingerprint.hpp"
#include "sim/jitter.hpp"

namespace pipesim::models {

/// The variable that is no parameter: how much durations vary.
inline constexpr const char* kJitterVariable = "jitter";

/// What a sweep varies: a parameter of the scenario, or kJitterVariable.
struct SweptVariable {
  std::string name;
  std::vector<std::string> values;  // as users write them; each once, at least one

  friend bool operator==(const SweptVariable&, const SweptVariable&) = default;
};

/// "acc=1..8", "acc=1..9:2", "t=1ms..5ms", "s=a,b,7..9": a list of values and ranges, whose ends
/// are whole numbers with the same unit or none, and belong to it. Nothing where `text` is none;
/// `problem` then says why.
std::optional<SweptVariable> parse_variable(const std::string& text, std::string& problem);

/// All that a sweep runs.
struct ParameterGrid {
  std::vector<SweptVariable> variables;  // the last changes fastest
  std::string jitter = "0";              // where no variable is kJitterVariable
  std::uint64_t seeds = 1;
  std::uint64_t first_seed = 0;

  friend bool operator==(const ParameterGrid&, const ParameterGrid&) = default;
};

/// A value of each variable. Its cases differ in their seed.
struct SweepPoint {
  std::vector<std::string> values;  // by variable
  sim::Jitter jitter;               // but for the seed
  std::size_t combination = 0;      // of parameters: points that differ in jitter alone share it
  std::uint64_t first_case = 0;
  std::uint64_t cases = 0;  // one where nothing varies: all seeds would be alike
};

/// The most cases of a sweep.
inline constexpr std::uint64_t kMaxCases = 10'000'000;

/// The grid laid out: cases are numbered point by point, and in a point seed by seed.
struct SweepCases {
  std::vector<SweepPoint> points;
  std::vector<std::size_t> combinations;  // of each the first point
  std::uint64_t count = 0;

  const SweepPoint& point_of(std::uint64_t number) const;

  /// The timing of a case.
  sim::Jitter jitter_of(const ParameterGrid& grid, std::uint64_t number) const;
};

/// Nothing where a jitter is none or there are more than kMaxCases; `problem` then says so.
std::optional<SweepCases> lay_out(const ParameterGrid& grid, std::string& problem);

/// What is kept of a run.
struct CaseResult {
  sim::Verdict verdict = sim::Verdict::kCompleted;
  std::int64_t time_ns = 0;  // of the last progress
  std::uint64_t acts_done = 0;
  std::uint64_t acts_expected = 0;
  std::uint64_t fingerprint = 0;
  std::optional<std::int64_t> peak_bytes;  // of the rank that needs most, where sizes are known
  std::string why;                         // it does not complete, see reason_of(); empty: it does

  friend bool operator==(const CaseResult&, const CaseResult&) = default;
};

/// Runs a case of `graph`, laid out as `lowered`. Nothing where `stop` ended it.
std::optional<CaseResult> run_case(const TaskGraph& graph, const Lowered& lowered,
                                   const sim::Jitter& jitter, const std::atomic<bool>* stop);

/// The same in the scenario's own durations, with few ranks for all. Nothing unless these can be
/// run so (see run_folded()).
std::optional<CaseResult> run_case_folded(const TaskGraph& graph, FoldedJob job,
                                          const std::atomic<bool>* stop);

/// Of some numbers: the middle one is that of which half, rounded up, are not larger.
struct Spread {
  std::int64_t least = 0;
  std::int64_t middle = 0;
  std::int64_t most = 0;

  friend constexpr bool operator==(const Spread&, const Spread&) = default;
};

/// Nothing of no numbers.
std::optional<Spread> spread_of(std::vector<std::int64_t> numbers);

/// Runs that do not complete in the same way.
struct HangCount {
  std::size_t hang = 0;  // in SweepSummary::hangs
  std::uint64_t count = 0;
  std::uint64_t first_case = 0;
};

inline constexpr std::size_t kVerdicts = 6;

struct PointSummary {
  std::uint64_t runs = 0;
  std::array<std::uint64_t, kVerdicts> by_verdict{};  // by sim::Verdict
  std::optional<Spread> makespan_ns;                  // of those that completed
  std::optional<Spread> stopped_ns;                   // last progress of the others
  std::optional<std::int64_t> peak_bytes;             // of the run that needs most
  std::vector<HangCount> hangs;

  std::uint64_t not_completed() const { return runs - by_verdict[0]; }
};

/// A way in which runs of the sweep do not complete.
struct DistinctHang {
  sim::Verdict verdict = sim::Verdict::kDeadlock;
  std::string why;
  std::uint64_t count = 0;
  std::uint64_t first_case = 0;
};

struct SweepSummary {
  std::vector<PointSummary> points;  // as in SweepCases
  std::vector<DistinctHang> hangs;   // by their first case
  std::uint64_t not_completed = 0;
};

/// `results` of all cases, by number.
SweepSummary summarize(const SweepCases& cases, const std::vector<CaseResult>& results);

}  // namespace pipesim::models
