// The smallest changes after which a hang is gone: what `pipesim fix` tells. docs/how-to/fix.md
// says what is tried.
//
// A change is told by what it does to the file (formats/edits/patch_writer.hpp), and each is tried
// as the scenario reads with it: what is offered is what was run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/task_graph.hpp"
#include "sim/interleavings/exploration.hpp"

namespace pipesim::models {

/// A parameter of a scenario, as far as other values of it are worth a try. Times are not.
struct Switch {
  std::string name;
  std::string value;                   // the present one
  std::vector<std::string> others;     // of a word or a truth
  std::optional<std::int64_t> number;  // of a number or a size: larger ones are tried
  std::optional<std::int64_t> at_least;
  bool bytes = false;
};

/// One change of a scenario.
struct Change {
  enum class Kind : std::uint8_t {
    kSwitch,          // parameter `what` is `to`
    kStream,          // actor `what` goes to stream `to`; empty: one of its own
    kSlots,           // register `part` of actor `what` has `number` slots
    kCreation,        // communicators are created at the start
    kOrder,           // actor `what` waits for actor `part`, which is at most `number` acts ahead
    kAfter,           // the step at `place` waits for stream `part`
    kBatch,           // the steps at `place` and `second` become one group of calls
    kEager,           // messages of up to `number` bytes on communicator `what` do not wait
    kResident,        // `number` communication kernels have room on a device
    kHardwareQueues,  // a device has `number` queues
    kLaunchQueue,     // `number` launches of a stream can be pending
  };
  Kind kind = Kind::kSwitch;
  std::string what;
  std::string part;
  std::string from;  // what was there, as text
  std::string to;
  std::int64_t before = 0;  // what was there, as a number
  std::int64_t number = 0;
  RankSet on;               // kOrder: the ranks on which it waits; none: all
  Place place;              // of steps of host programs
  Place second;             // kBatch
  std::string second_name;  // kBatch: of its step; `what` is that of the first

  friend bool operator==(const Change&, const Change&) = default;
};

/// The task graph with a change (null: as it is), or nothing where that cannot be told in the
/// scenario or leaves it with mistakes.
using GraphWith = std::function<std::optional<TaskGraph>(const Change*)>;

struct FixOptions {
  std::uint64_t max_states = 5'000;      // of each exploration, see sim::ExploreOptions
  std::uint64_t max_steps = 20'000'000;  // of each exploration
  std::uint32_t walks = 400;             // random orders of each
  std::uint64_t most_acts = 50'000'000;  // of all runs together: what is left is not tried
  const std::atomic<bool>* stop = nullptr;
};

/// A change that lets the run complete, and what it costs.
struct Fix {
  Change change;
  std::vector<Change> same;            // other changes that make the same task graph
  sim::Exploration orders;             // whether it hangs in other orders
  std::optional<std::uint32_t> wait;   // in the cycle: the one that it removes
  std::int64_t time_ns = 0;            // of the run
  std::optional<std::int64_t> memory;  // the most of any rank in it; nothing: there are no sizes
};

/// What there was to fix.
enum class FixCase : std::uint8_t {
  kNothing,         // no order hangs
  kNothingFound,    // none that was looked at does
  kHangs,           // the run does
  kHangsInAnother,  // the run completes, another order does not
};

struct FixReport {
  FixCase found = FixCase::kNothing;
  sim::Exploration before;             // of the scenario as it is, where the run completes
  Explanation explanation;             // of the hang
  std::optional<std::int64_t> memory;  // of the run that hangs, up to where it stands
  std::vector<Fix> fixes;              // the best first
  std::vector<Fix> partial;            // those after which the run completes, and other orders hang
  std::vector<Change> without_use;     // those after which it still hangs
  std::uint32_t unwritten = 0;         // changes that cannot be told in this scenario
  bool stopped = false;                // by FixOptions::stop
  bool out_of_budget = false;          // something was not tried for FixOptions::most_acts
};

/// Looks for the changes. Nothing, with errors, where the scenario as it is cannot be run.
std::optional<FixReport> find_fixes(const std::vector<Switch>& switches, const GraphWith& with,
                                    const FixOptions& options, Diagnostics& diagnostics);

}  // namespace pipesim::models
