// Exploration of all interleavings of a plan: whether any of them hangs
// (docs/explanation/check.md).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/device_reading.hpp"
#include "sim/engine.hpp"
#include "sim/event.hpp"
#include "sim/plan.hpp"

namespace pipesim::sim {

/// The outcome of an interleaving.
enum class OrderEnd : std::uint8_t { kCompletes, kHangs };

enum class Answer : std::uint8_t {
  kProved,        // no interleaving hangs
  kHangPossible,  // some interleaving hangs; other interleavings may complete
  kHangCertain,   // every interleaving hangs
  kMismatch,      // every interleaving completes, with calls that do not match
  kUndecided,     // no hang found, but some interleavings were not followed
};

/// The method that produced the answer.
enum class Method : std::uint8_t {
  kOneRun,       // timing decides nothing in this plan: one run is enough
  kNoCycle,      // no cycle of waits is possible (see potential_cycles)
  kExploration,  // all interleavings with different effects were followed
  kSearch,       // some interleavings were not followed: the answer was known or the budget ran out
};

/// The progress of an exploration, for another thread to read.
struct ExploreProgress {
  std::atomic<std::uint64_t> states{0};
  std::atomic<std::uint64_t> steps{0};
};

struct ExploreOptions {
  std::uint64_t max_states = 200'000;  // maximum number of remembered branch points
  // Maximum number of further branch points after the first hang, to find out whether other
  // interleavings complete.
  std::uint64_t max_states_after_hang = 5'000;
  std::uint64_t max_steps = 100'000'000;
  std::uint32_t walks = 64;  // number of random interleavings that are tried first
  // For tests: `reduce` = false follows all interleavings; `look_for_cycles` = false skips the
  // search for potential cycles.
  bool reduce = true;
  bool look_for_cycles = true;
  // For tests: false uses the devices exactly as the plan describes them, even if the plan leaves
  // their behavior open.
  bool open_devices = true;
  std::uint64_t max_queue_runs = 2'000;     // maximum number of hardware-queue assignments to try
  const std::atomic<bool>* stop = nullptr;  // polled; true ends the exploration
  ExploreProgress* progress = nullptr;      // updated from time to time
};

/// The undocumented or unmeasured device behavior that an answer assumes or depends on.
struct RestsOn {
  bool slots = false;            // whether the number of collectives that run at once matters
  bool queues = false;           // whether the assignment of streams to hardware queues matters
  std::uint64_t queue_runs = 0;  // number of assignments that were tried
  bool all_queue_runs = false;   // whether these are all assignments
  bool records = false;          // whether it matters if records occupy a hardware queue
  bool launches = false;  // whether it matters if the streams of a device share a launch queue
};

struct Exploration {
  Answer answer = Answer::kUndecided;
  Method method = Method::kSearch;
  const char* timing = nullptr;  // reason why timing may matter (see determinacy_obstacle)
  bool stopped = false;          // whether ExploreOptions::stop ended the search
  bool hang_found = false;
  bool completion_found = false;
  RestsOn rests_on;
  DeviceReading reading;      // reading under which `hang`, or the usual run, hangs
  std::vector<Event> hang;    // shortest hanging interleaving found, for RunOptions::order
  std::uint64_t states = 0;   // number of remembered branch points
  std::uint64_t budget = 0;   // limit of branch points, if the limit ended the search; else 0
  std::uint64_t steps = 0;    // events of all interleavings together
  std::uint64_t orders = 0;   // number of interleavings followed to their end
  std::uint64_t longest = 0;  // number of steps of the longest interleaving
};

/// Decides whether `plan` can hang, and whether it must. The answer holds for all timings: each op,
/// launch, wait for outside input and wake of a thread can take any finite time. Timeouts are
/// ignored, because an op can always outlast them. A plan with faults gets a single run with its
/// own times, which can only show a hang.
///
/// Cost: one run if timing decides nothing, otherwise up to the budget of `options`. Each branch
/// point takes 16 bytes; each branch point on the current path also takes a copy of the run's
/// state. `usual` is the run with the plan's own times, if the caller has one. Assumes the worst
/// about undocumented device behavior: see DeviceReading.
Exploration explore(const Plan& plan, const ExploreOptions& options = {},
                    const Outcome* usual = nullptr);

/// Returns the result of explore() without a copy of `plan`, to save memory for large plans.
/// Changes `plan` and restores it at the end.
Exploration explore_in_place(Plan& plan, const ExploreOptions& options = {},
                             const Outcome* usual = nullptr);

/// Returns the result of explore() for devices that behave exactly as the plan describes them.
Exploration explore_as_planned(const Plan& plan, const ExploreOptions& options = {},
                               const Outcome* usual = nullptr);

}  // namespace pipesim::sim
