// The smallest edits that remove a hang, for `pipesim fix`.
//
// An edit is a patch of the scenario file. Each edit has run exactly as the user applies it,
// because fix runs the patched scenario.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/document/expression.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"
#include "models/result/explanation.hpp"
#include "sim/interleavings/exploration.hpp"

#include "features/fix/edit.hpp"
#include "features/fix/line_changes.hpp"
#include "features/fix/scenario_edits.hpp"

namespace pipesim::models {

struct FixOptions {
  std::uint64_t max_states = 5'000;      // limit per exploration; see ExploreOptions
  std::uint64_t max_steps = 20'000'000;  // limit per exploration
  std::uint32_t walks = 400;             // random interleavings per exploration
  // Limit on the ops of all ranks in all runs together. fix skips edits that would exceed the
  // limit.
  std::uint64_t max_ops = 50'000'000;
  // limit on pairs of edits, which are tried if no single edit helps
  std::uint32_t max_pairs = 200;
  // The first `sure_fixes` unproved fixes are explored again, as `check` does.
  std::uint32_t sure_fixes = 3;
  std::uint64_t max_sure_states = 60'000;
  std::uint64_t max_sure_steps = 2'000'000;
  const std::atomic<bool>* stop = nullptr;
  // Whether to edit calls of programs. For a record, line_changes.hpp changes whole lines of the
  // script instead.
  bool edits_calls = true;
  bool fold = true;  // false: lowers all ranks, for tests
};

/// An edit or a pair of edits with which the run completes, and its cost.
struct Fix {
  std::vector<Edit> edits;
  std::vector<Edit> same;   // other single edits that lead to the same task graph
  std::string patch;        // the patch with the edits, a YAML document
  sim::Exploration orders;  // the exploration of the fixed job
  bool by_buffers = false;  // whether the job can still hang by NCCL's contract
  // Readings of NCCL's rules in which the fix is proved. Also empty if the program has no readings.
  std::vector<NcclMode> proved_in;
  std::uint32_t variant =
      0;  // position among the fixes of its last edit's kind, if that has variants
  std::vector<std::uint32_t> waits;  // broken waits: indices in Explanation::cycle
  std::int64_t time_ns = 0;          // duration of the run
  // Peak memory of any rank in the run, in bytes; nullopt if no sizes are known.
  std::optional<std::int64_t> memory;
};

/// The kind of hang to fix.
enum class FixCase : std::uint8_t {
  kNothing,         // no interleaving hangs
  kNothingFound,    // no explored interleaving hangs
  kSomeWays,        // no interleaving hangs in the ways of the job's choices that were checked
  kHangs,           // the run itself hangs
  kHangsInAnother,  // the run completes, but another interleaving hangs
  kByBuffers,       // no interleaving hangs, but NCCL's contract permits a hang
};

struct FixReport {
  /// Whether the report is about a hang and contains its explanation.
  bool hangs() const {
    return found != FixCase::kNothing && found != FixCase::kNothingFound &&
           found != FixCase::kSomeWays;
  }

  FixCase found = FixCase::kNothing;
  // The settings of the way that hangs, if the job has choices and its default way completes.
  std::string way{};
  NcclMode mode = NcclMode::kCold;  // the reading of the hang
  sim::Exploration before;          // if the unchanged run completes: its exploration
  Explanation explanation;          // the hang
  // Peak memory of any rank in the hanging run, in bytes; nullopt if no sizes are known.
  std::optional<std::int64_t> memory;
  std::vector<Fix> fixes;         // best first
  std::vector<Fix> partial;       // fixes with which the run completes but other interleavings hang
  std::vector<Edit> without_use;  // edits that leave a hang
  std::uint32_t unwritten = 0;    // number of edits that cannot be written in this scenario
  bool stopped = false;           // whether FixOptions::stop ended the search
  std::optional<LineChanges> lines{};  // for a record without a proved change of its script
  bool out_of_budget = false;          // whether FixOptions::max_ops cut the search short
};

/// Searches for fixes of `scenario`, including other values of `parameters`. Returns nullopt, with
/// errors, if the unchanged scenario cannot run.
std::optional<FixReport> find_fixes(const std::vector<formats::Parameter>& parameters,
                                    const formats::EditedScenario& scenario,
                                    const FixOptions& options, Diagnostics& diagnostics);

}  // namespace pipesim::models
