// The smallest changes that remove a hang, for `pipesim fix`. docs/how-to/fix.md lists the kinds of
// changes.
//
// A change is an edit of the scenario file (features/fix/patch_writer.hpp). fix runs the edited
// scenario, so fix has run each change exactly as the user applies it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "models/result/explanation.hpp"
#include "sim/interleavings/exploration.hpp"

namespace pipesim::models {

/// A parameter of a scenario with other values that are worth a try. Times and bandwidths are
/// excluded.
struct Switch {
  std::string name;
  std::string value;                // the current value
  std::vector<std::string> others;  // other values of an enumeration or a boolean
  // The current value of a number or size. fix tries larger values and, for a number, smaller ones.
  std::optional<std::int64_t> number;
  std::optional<std::int64_t> at_least;
  bool bytes = false;
};

/// A new value for an argument of a step.
struct NewValue {
  std::string key;  // "root", "bytes", "type" or "repeat"
  std::string from;
  std::string to;  // new value; bytes have no unit

  friend bool operator==(const NewValue&, const NewValue&) = default;
};

/// One change of a scenario.
struct Change {
  enum class Kind : std::uint8_t {
    kSwitch,    // sets parameter `what` to `to`
    kStream,    // moves actor `what` to stream `to`; empty: to its own stream
    kSlots,     // gives register `part` of actor `what` `number` slots
    kInit,      // initializes communicators at the start
    kOrder,     // makes actor `what` wait for actor `part`, which runs at most `number` ops ahead
    kResident,  // gives each device `number` kernel slots for communication
    kHardwareQueues,  // gives each device `number` hardware queues
    kLaunchQueue,     // allows `number` pending launches per stream
    // For host programs, see features/fix/program_changes.hpp:
    kAfter,  // makes the step at `place` wait for stream `part`
    // Merges the steps at `place` and `second` into one group, at the first or, if `behind`, at the
    // second step.
    kBatch,
    // Puts the steps at `places` in this order, list by list; an empty place ends a list.
    kOneOrder,
    // Moves the step at `place` before the step at `second` or, if `behind`, after that step.
    kMove,
    kCommunicator,  // gives the calls at `places` a new communicator `to`, made like `part`
    kEverywhere,    // runs the step at `place` or, if `behind`, its whole block on all ranks
    kCopy,          // copies the step at `place` before or, if `behind`, after the step at `second`
    // Adds a call of kind `part` ("send" or "recv") that matches the call of rank `number` at
    // `place`. The new call goes before or, if `behind`, after the step at `second`.
    kOtherEnd,
    kDrop,  // drops the step at `place`, on the ranks `on` (empty: on all)
    // Gives the step at `place` the arguments `values`; for a repeat count, `place` can be the
    // place of the number.
    kValue,
    kLaunchOrder,  // starts calls in launch order
    kMessages,     // makes a schedule send its messages as `to`
    // Replaces row `number` (from 1) of a schedule by `to`: action `what` moves before or, if
    // `behind`, after `second_name`.
    kRow,
    kBuffer,  // buffers messages of up to `number` bytes on communicator `what`
  };
  Kind kind = Kind::kSwitch;
  std::string what;
  std::string part;
  std::string from;  // the old value, as text
  std::string to;
  std::int64_t before = 0;  // the old value, as a number
  std::int64_t number = 0;
  RankSet on;               // the ranks to change; empty: all ranks that have the step
  Place place;              // position of a step of a host program
  Place second;             // position of a second step
  std::string second_name;  // name of the second step; `what` is the name of the first
  bool behind = false;      // see Kind
  std::vector<Place> places;
  std::vector<NewValue> values;
  RankSet has;          // ranks that have the step, if not all do
  std::string at;       // line of the step in the user's program
  bool alters = false;  // whether the job may then compute something else

  friend bool operator==(const Change&, const Change&) = default;
};

/// Applies `changes` to the task graph in order (none: unchanged). Returns nullopt if the changes
/// cannot be written in the scenario or make the scenario invalid. The places of each change refer
/// to the graph after the previous changes.
using GraphWith = std::function<std::optional<TaskGraph>(const std::vector<Change>&)>;

struct FixOptions {
  std::uint64_t max_states = 5'000;      // limit per exploration, see ExploreOptions
  std::uint64_t max_steps = 20'000'000;  // limit per exploration
  std::uint32_t walks = 400;             // random interleavings per exploration
  // Limit on the ops of all ranks in all runs together. fix skips changes that would exceed the
  // limit.
  std::uint64_t max_ops = 50'000'000;
  std::uint32_t max_pairs = 200;  // limit on pairs of changes, tried if single changes do not help
  // The first `sure_fixes` unproved fixes are explored again, as `check` does.
  std::uint32_t sure_fixes = 3;
  std::uint64_t max_sure_states = 60'000;
  std::uint64_t max_sure_steps = 2'000'000;
  const std::atomic<bool>* stop = nullptr;
  bool fold = true;  // false: lowers all ranks, for tests
};

/// A change, or a pair of changes, with which the run completes, and the cost.
struct Fix {
  std::vector<Change> changes;
  std::vector<Change> same;  // other single changes that lead to the same task graph
  sim::Exploration orders;   // the exploration of the fixed job
  bool by_buffers = false;   // whether the job can still hang by NCCL's contract
  // Readings in which the fix is proved; empty also if the program has no readings.
  std::vector<NcclMode> proved_in;
  std::uint32_t variant = 0;         // position among fixes of one kind of program change; else 0
  std::vector<std::uint32_t> waits;  // indices of the broken waits in Explanation::cycle
  std::int64_t time_ns = 0;          // end of the run
  // Peak memory of any rank in the run, in bytes; nullopt if no sizes are known.
  std::optional<std::int64_t> memory;
};

/// The kind of hang to fix.
enum class FixCase : std::uint8_t {
  kNothing,         // no interleaving hangs
  kNothingFound,    // no explored interleaving hangs
  kHangs,           // the run itself hangs
  kHangsInAnother,  // the run completes, but another interleaving hangs
  kByBuffers,       // no interleaving hangs, but NCCL's contract permits a hang
};

struct FixReport {
  FixCase found = FixCase::kNothing;
  NcclMode mode = NcclMode::kCold;  // the reading of the hang
  sim::Exploration before;          // exploration of the unchanged scenario, if its run completes
  Explanation explanation;          // the hang
  // Peak memory of any rank in the hanging run, in bytes; nullopt if no sizes are known.
  std::optional<std::int64_t> memory;
  std::vector<Fix> fixes;    // best first
  std::vector<Fix> partial;  // fixes with which the run completes but other interleavings hang
  std::vector<Change> without_use;  // changes that leave a hang
  std::uint32_t unwritten = 0;      // number of changes that cannot be written in this scenario
  bool stopped = false;             // whether FixOptions::stop ended the search
  bool out_of_budget = false;       // whether FixOptions::max_ops cut the search short
};

/// Searches for fixes. Returns nullopt, with errors, if the unchanged scenario cannot be run.
std::optional<FixReport> find_fixes(const std::vector<Switch>& switches, const GraphWith& with,
                                    const FixOptions& options, Diagnostics& diagnostics);

}  // namespace pipesim::models
