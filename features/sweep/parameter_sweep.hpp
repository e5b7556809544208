// A sweep over parameters: one scenario with all combinations of some settings, each with many
// timings. This file has the cases to run, their results, and a summary.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/explanation.hpp"
#include "models/result/folded_run.hpp"
#include "sim/engine.hpp"
#include "sim/fingerprint.hpp"
#include "sim/jitter.hpp"

namespace pipesim::models {

/// The swept variable for timing variation; all other variables are parameters.
inline constexpr const char* kJitterVariable = "jitter";

/// A swept variable: a parameter of the scenario, or kJitterVariable.
struct SweptVariable {
  std::string name;
  std::vector<std::string> values;  // as users write them; distinct, at least one

  friend bool operator==(const SweptVariable&, const SweptVariable&) = default;
};

/// Parses "acc=1..8", "acc=1..9:2", "t=1ms..5ms", "s=a,b,7..9": a list of values and ranges. The
/// ends of a range are whole numbers, both included, with the same unit or none. After an error,
/// returns nullopt and sets `problem`.
std::optional<SweptVariable> parse_variable(const std::string& text, std::string& problem);

/// Formats values as parse_variable() reads them: "1..8,16".
std::string values_text(const std::vector<std::string>& values);

/// All cases of a sweep.
struct ParameterGrid {
  std::vector<SweptVariable> variables;  // the last changes fastest
  std::string jitter = "0";              // jitter of all points if no variable is kJitterVariable
  std::uint64_t seeds = 1;
  std::uint64_t first_seed = 0;

  friend bool operator==(const ParameterGrid&, const ParameterGrid&) = default;
};

/// One value per variable. The cases of a point differ only in their seed.
struct SweepPoint {
  std::vector<std::string> values;  // by variable
  sim::Jitter jitter;               // without the seed
  // Index in SweepCases::combinations, equal for points that differ only in jitter.
  std::size_t combination = 0;
  std::uint64_t first_case = 0;
  std::uint64_t cases = 0;  // number of cases; 1 without jitter, because the seed has no effect
};

/// The maximum number of cases in a sweep.
inline constexpr std::uint64_t kMaxCases = 10'000'000;

/// The expanded grid: cases are numbered point by point, and seed by seed within a point.
struct SweepCases {
  std::vector<SweepPoint> points;
  std::vector<std::size_t> combinations;  // index of the first point of each combination
  std::uint64_t count = 0;

  const SweepPoint& point_of(std::uint64_t number) const;

  /// Returns the jitter of a case, including its seed.
  sim::Jitter jitter_of(const ParameterGrid& grid, std::uint64_t number) const;
};

/// Expands `grid`. If a jitter is invalid or the grid has more than kMaxCases cases, returns
/// nullopt and sets `problem`.
std::optional<SweepCases> lay_out(const ParameterGrid& grid, std::string& problem);

/// The recorded result of a run.
struct CaseResult {
  sim::Verdict verdict = sim::Verdict::kCompleted;
  std::int64_t time_ns = 0;  // time of the last progress
  std::uint64_t ops_done = 0;
  std::uint64_t ops_expected = 0;
  std::uint64_t fingerprint = 0;
  // Peak of the rank that needs the most memory, if sizes are known.
  std::optional<std::int64_t> peak_bytes;
  std::string why;  // cause of the hang, see reason_of(); empty: the run completes

  friend bool operator==(const CaseResult&, const CaseResult&) = default;
};

/// Runs a case of `graph`, which is lowered to `lowered`. Returns nullopt if `stop` ended the run.
std::optional<CaseResult> run_case(const TaskGraph& graph, const Lowered& lowered,
                                   const sim::Jitter& jitter, const std::atomic<bool>* stop);

/// Runs a folded job with the scenario's own durations. Returns nullopt unless the representative
/// ranks decide the result (see run_folded()).
std::optional<CaseResult> run_case_folded(const TaskGraph& graph, FoldedJob job,
                                          const std::atomic<bool>* stop);

/// Minimum, median and maximum. At least half of the numbers are at most `middle`, the lower
/// median.
struct Spread {
  std::int64_t least = 0;
  std::int64_t middle = 0;
  std::int64_t most = 0;

  friend constexpr bool operator==(const Spread&, const Spread&) = default;
};

/// Returns the spread of `numbers`; nullopt if there are none.
std::optional<Spread> spread_of(std::vector<std::int64_t> numbers);

/// The runs of a point that hang in the same way.
struct HangCount {
  std::size_t hang = 0;  // index in SweepSummary::hangs
  std::uint64_t count = 0;
  std::uint64_t first_case = 0;
};

inline constexpr std::size_t kVerdicts = 6;

struct PointSummary {
  std::uint64_t runs = 0;
  std::array<std::uint64_t, kVerdicts> by_verdict{};  // number of runs, by sim::Verdict
  std::optional<Spread> makespan_ns;                  // times of the completed runs
  std::optional<Spread> stopped_ns;        // times of the last progress of all other runs
  std::optional<std::int64_t> peak_bytes;  // maximum over all runs
  std::vector<HangCount> hangs;

  std::uint64_t not_completed() const { return runs - by_verdict[0]; }
};

/// A distinct hang of the sweep.
struct DistinctHang {
  sim::Verdict verdict = sim::Verdict::kDeadlock;
  std::string why;
  std::uint64_t count = 0;
  std::uint64_t first_case = 0;
};

struct SweepSummary {
  std::vector<PointSummary> points;  // same indices as SweepCases::points
  std::vector<DistinctHang> hangs;   // sorted by first case
  std::uint64_t not_completed = 0;
};

/// Summarizes `results`, which has one entry per case.
SweepSummary summarize(const SweepCases& cases, const std::vector<CaseResult>& results);

}  // namespace pipesim::models
