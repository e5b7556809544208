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

/// An argument of a step that gets another value.
struct NewValue {
  std::string key;  // root, bytes, type, repeat
  std::string from;
  std::string to;  // of bytes without a unit

  friend bool operator==(const NewValue&, const NewValue&) = default;
};

/// One change of a scenario.
struct Change {
  enum class Kind : std::uint8_t {
    kSwitch,          // parameter `what` is `to`
    kStream,          // actor `what` goes to stream `to`; empty: one of its own
    kSlots,           // register `part` of actor `what` has `number` slots
    kCreation,        // communicators are created at the start
    kOrder,           // actor `what` waits for actor `part`, which is at most `number` acts ahead
    kResident,        // `number` communication kernels have room on a device
    kHardwareQueues,  // a device has `number` queues
    kLaunchQueue,     // `number` launches of a stream can be pending
    // Of host programs, see models/search/program_changes.hpp:
    kAfter,         // the step at `place` waits for stream `part`
    kBatch,         // the steps at `place` and `second` become one group, where the first is or,
                    // with `behind`, where the second is
    kOneOrder,      // the steps at `places` come in this order, list by list; no place ends a list
    kMove,          // the step at `place` comes before the one at `second` or, with `behind`, after
    kCommunicator,  // the calls at `places` use a communicator of their own, made like `what`
    kEverywhere,    // the step at `place` or, with `behind`, its whole block is on all ranks
    kCopy,          // a copy of the step at `place` comes before or behind the one at `second`
    kOtherEnd,      // the call `part` that the message at `place`, of rank `number`, is matched
                    // with comes before or behind the step at `second`
    kDrop,          // the step at `place` is not done; on the ranks `on`, if there are some
    kValue,         // the step at `place` gets `values`; a loop's number may stand there itself
    kLaunchOrder,   // calls start in launch order
    kMessages,      // a schedule does its messages as `to`
    kRow,           // row `number` of a schedule, from 1, is `to`: action `what` comes before or,
                    // with `behind`, after `second_name`
    kEager,         // messages of up to `number` bytes on communicator `what` do not wait
  };
  Kind kind = Kind::kSwitch;
  std::string what;
  std::string part;
  std::string from;  // what was there, as text
  std::string to;
  std::int64_t before = 0;  // what was there, as a number
  std::int64_t number = 0;
  RankSet on;               // the ranks that it is for; none: all that have it
  Place place;              // of steps of host programs
  Place second;             // of another step
  std::string second_name;  // its name; `what` is that of the first
  bool behind = false;      // see Kind
  std::vector<Place> places;
  std::vector<NewValue> values;
  RankSet has;          // the ranks that have the step, if not all do
  std::string at;       // of a step: where it stands in the user's program
  bool alters = false;  // the job may compute something else with it

  friend bool operator==(const Change&, const Change&) = default;
};

/// The task graph with changes, one after the other (none: as it is), or nothing where they cannot
/// be told in the scenario or leave it with mistakes. The places of each are those of the graph
/// with the changes before it.
using GraphWith = std::function<std::optional<TaskGraph>(const std::vector<Change>&)>;

struct FixOptions {
  std::uint64_t max_states = 5'000;      // of each exploration, see sim::ExploreOptions
  std::uint64_t max_steps = 20'000'000;  // of each exploration
  std::uint32_t walks = 400;             // random orders of each
  std::uint64_t most_acts = 50'000'000;  // of all ranks that are run, of all runs together: what
                                         // is left is not tried
  std::uint32_t max_pairs = 200;         // of changes together, where single ones do not help
  // The first that are not proved are explored again, as `check` does.
  std::uint32_t sure_fixes = 3;
  std::uint64_t max_sure_states = 60'000;
  std::uint64_t max_sure_steps = 2'000'000;
  const std::atomic<bool>* stop = nullptr;
  bool fold = true;  // for tests: false lays out all ranks
};

/// One change, or two together, with which the run completes, and what that costs.
struct Fix {
  std::vector<Change> changes;
  std::vector<Change> same;            // other single changes that make the same task graph
  sim::Exploration orders;             // whether it hangs in other orders
  bool by_buffers = false;             // by NCCL's contract it still can hang
  std::vector<Reading> proved_in;      // none: the program has no readings, or it is not proved
  std::uint32_t variant = 0;           // which of the changes of this kind, the best is 0
  std::vector<std::uint32_t> waits;    // in the cycle: those that it breaks
  std::int64_t time_ns = 0;            // of the run
  std::optional<std::int64_t> memory;  // the most of any rank in it; nothing: there are no sizes
};

/// What there was to fix.
enum class FixCase : std::uint8_t {
  kNothing,         // no order hangs
  kNothingFound,    // none that was looked at does
  kHangs,           // the run does
  kHangsInAnother,  // the run completes, another order does not
  kByBuffers,       // no order hangs, but by NCCL's contract one does
};

struct FixReport {
  FixCase found = FixCase::kNothing;
  Reading reading = Reading::kCold;    // in which it hangs
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
