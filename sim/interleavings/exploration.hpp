// All interleavings of a plan: whether any of them hangs (docs/explanation/check.md).
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

/// How an interleaving ends.
enum class OrderEnd : std::uint8_t { kCompletes, kHangs };

enum class Answer : std::uint8_t {
  kProved,        // no interleaving hangs
  kHangPossible,  // one does; whether others complete may be unknown
  kHangCertain,   // all do
  kMismatch,      // all complete, with calls that do not match
  kUndecided,     // none was found to hang, and not all were seen
};

/// How the answer was found.
enum class Method : std::uint8_t {
  kOneRun,       // timing decides nothing in this plan: one run is enough
  kNoCycle,      // no cycle of waits is possible (see potential_cycles)
  kExploration,  // all interleavings that differ in effect were followed
  kSearch,       // not all were: the answer was known or the budget ran out
};

/// The progress of an exploration, for another thread to read.
struct ExploreProgress {
  std::atomic<std::uint64_t> states{0};
  std::atomic<std::uint64_t> steps{0};
};

struct ExploreOptions {
  std::uint64_t max_states = 200'000;  // branch points that are remembered
  // Branch points after a hang is known. What is left then is whether others complete.
  std::uint64_t max_states_after_hang = 5'000;
  std::uint64_t max_steps = 100'000'000;
  std::uint32_t walks = 64;  // random interleavings that are tried first
  // For tests: false follows all interleavings, and false does not look for potential cycles.
  bool reduce = true;
  bool look_for_cycles = true;
  // For tests: false takes the devices as the plan has them, whatever is not settled about them.
  bool open_devices = true;
  std::uint64_t max_queue_runs = 2'000;     // ways to share hardware queues that are tried
  const std::atomic<bool>* stop = nullptr;  // polled; true ends the exploration
  ExploreProgress* progress = nullptr;      // updated now and then
};

/// What an answer takes for granted, or what decides it, that nothing promises or nobody measured.
struct RestsOn {
  bool room = false;             // which collectives of a device can run at the same time
  bool queues = false;           // which streams share a hardware queue
  std::uint64_t queue_runs = 0;  // ways to share them that were tried
  bool all_queue_runs = false;   // there are no others
  bool records = false;          // that a record holds no hardware queue
  bool launches = false;         // whether the streams of a device share a launch queue
};

struct Exploration {
  Answer answer = Answer::kUndecided;
  Method method = Method::kSearch;
  const char* timing = nullptr;  // why timing may matter (see determinacy_obstacle)
  bool stopped = false;          // by ExploreOptions::stop
  bool hang_found = false;
  bool completion_found = false;
  RestsOn rests_on;
  DeviceReading reading;      // under which `hang`, or the usual run, hangs
  std::vector<Event> hang;    // the shortest interleaving found that hangs: for RunOptions::order
  std::uint64_t states = 0;   // branch points that were remembered
  std::uint64_t budget = 0;   // of branch points, if it ended the search; else 0
  std::uint64_t steps = 0;    // events, of all interleavings together
  std::uint64_t orders = 0;   // interleavings that were followed to their end
  std::uint64_t longest = 0;  // the most steps of an interleaving
};

/// Whether `plan` can hang, and whether it must. The answer holds for all timings: each act,
/// launch, wait for outside input and wake of a thread may take any finite time. Timeouts are left
/// out, since any of them can be outlasted; a plan with faults is answered by one run with its own
/// times, which can only show a hang. Cost: one run if timing decides nothing; otherwise up to the
/// budget of `options`. Each branch point takes 16 bytes, and each on the way to the present state
/// a copy of the run's state. `usual` is the run with the plan's own times, if the caller has it.
/// Of what nothing promises of devices, the worst is assumed: see DeviceReading.
Exploration explore(const Plan& plan, const ExploreOptions& options = {},
                    const Outcome* usual = nullptr);

/// The same without a copy of `plan`, which is changed meanwhile and as before in the end: of large
/// plans, a copy is most of the memory.
Exploration explore_in_place(Plan& plan, const ExploreOptions& options = {},
                             const Outcome* usual = nullptr);

/// The same of the devices as the plan has them.
Exploration explore_as_planned(const Plan& plan, const ExploreOptions& options = {},
                               const Outcome* usual = nullptr);

}  // namespace pipesim::sim
