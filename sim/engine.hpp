// The event engine: runs a plan to its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/act_times.hpp"
#include "sim/device_reading.hpp"
#include "sim/event.hpp"
#include "sim/fingerprint.hpp"
#include "sim/ids.hpp"
#include "sim/jitter.hpp"
#include "sim/plan.hpp"
#include "sim/state.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// How a plan is run. The result is the same to the byte, except for Outcome::events.
enum class EngineKind : std::uint8_t {
  kAuto,        // in fixed order if possible, else event by event
  kEvents,      // event by event
  kFixedOrder,  // as kAuto, for callers that report if that is impossible
};

/// The progress of a run, for another thread to read.
struct RunProgress {
  std::atomic<std::uint64_t> acts{0};  // of the plan; 0 until the run begins
  std::atomic<std::uint64_t> acts_done{0};
  std::atomic<std::int64_t> time_ns{0};  // simulated
  std::atomic<bool> over{false};

  void tell(std::uint64_t done, std::int64_t time) {
    acts_done.store(done, std::memory_order_relaxed);
    time_ns.store(time, std::memory_order_relaxed);
  }
};

/// Options of a run.
struct RunOptions {
  EngineKind engine = EngineKind::kAuto;
  bool keep_act_times = false;              // fill Outcome::act_times (32 bytes per act)
  bool keep_log = false;                    // fill Outcome::log (48 bytes per act)
  const std::atomic<bool>* stop = nullptr;  // polled; true ends the run
  std::uint64_t max_events =
      std::numeric_limits<std::uint64_t>::max();  // ends the run as `stop` does
  Time until = kEndOfTime;                        // later events do not happen
  ActorId until_actor{};                          // nor those after the moment at which this actor
  std::uint32_t until_k = 0;                      // enters this act
  std::vector<ActorId> last_times_of{};  // actors of which only the last act's times are kept
  // If given, these events happen first, one after the other, each at its time or, if that is past,
  // at once; and host threads do only one thing per event (docs/explanation/check.md).
  const std::vector<Event>* order = nullptr;
  const DeviceReading* reading = nullptr;  // for callers, who change the plan (with_reading)
  Jitter jitter{};                         // how durations vary from act to act
  RunProgress* progress = nullptr;         // updated now and then
};

/// Whether the caller wants the run to end.
inline bool is_stopped(const RunOptions& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

/// A host thread enters an act, or returns from it: rules 3.6.
struct LogEntry {
  Time time;
  ActorId actor;
  std::uint32_t k = 0;
  bool after = false;  // it returns

  friend constexpr bool operator==(const LogEntry&, const LogEntry&) = default;
};

/// How a run came to its end.
enum class RunEnd : std::uint8_t {
  kCompleted,    // every actor did all its acts
  kStuck,        // quiescent with work left
  kTimeLimit,    // the next event lies beyond the end of simulated time
  kUntil,        // or beyond RunOptions::until, or the moment of until_actor
  kInterrupted,  // RunOptions::stop or max_events
};

/// Two acts that met and differ: the first collective call of a round and one that does not match
/// it, or a send and the receive that got its message.
struct Mismatch {
  bool message = false;
  ActorId first;
  std::uint32_t first_k = 0;
  ActorId second;
  std::uint32_t second_k = 0;
  CallId first_call;
  CallId second_call;

  friend constexpr bool operator==(const Mismatch&, const Mismatch&) = default;
};

/// Why a rank died (docs/reference/rules.md, 10.2 and 10.5).
enum class DeathCause : std::uint8_t {
  kAtTime,
  kAtAct,
  kFatalCall,
  kDeviceError,  // an error of its device surfaced
  kLinkError,
  kWatchdog,
  kTimeout,
  kLauncher,
};

struct RankDeath {
  RankId rank;
  Time at;
  DeathCause cause = DeathCause::kAtTime;
  bool after_rest = false;  // the run was quiescent except for timers
  ActorId actor;            // in which act, if in one
  std::uint32_t k = 0;

  friend constexpr bool operator==(const RankDeath&, const RankDeath&) = default;
};

/// An act ended in an error of its device.
struct DeviceError {
  RankId rank;
  Time at;
  ActorId actor;
  std::uint32_t k = 0;

  friend constexpr bool operator==(const DeviceError&, const DeviceError&) = default;
};

struct Outcome {
  Outcome();
  Outcome(const Outcome&);
  Outcome(Outcome&&) noexcept;
  Outcome& operator=(const Outcome&);
  Outcome& operator=(Outcome&&) noexcept;
  ~Outcome();

  RunEnd end = RunEnd::kStuck;
  Time last_progress{0};  // the latest launch, start, end or arrival at a creation
  std::uint64_t acts_done = 0;
  std::uint64_t events = 0;       // how many events were handled: a measure of work, not a result
  std::uint64_t order_steps = 0;  // how many events of RunOptions::order happened
  bool in_fixed_order = false;    // run_in_fixed_order ran it, which handles no events
  RankDigests digests;            // of all ranks of the plan, for Fingerprint
  std::vector<Mismatch> mismatches;  // in the order in which they were found
  std::vector<DeviceError> device_errors;
  std::vector<RankDeath> deaths;  // in order; those with after_rest are the teardown
  State state;                    // at the end, before the teardown
  ActTimesTable act_times;
  std::vector<LogEntry> log;  // in the order in which it was written

  /// All work is done, without a mismatch.
  bool completed() const { return end == RunEnd::kCompleted && mismatches.empty(); }
};

/// Runs `plan` by the rules of docs/reference/rules.md. If EngineKind::kFixedOrder is asked for and
/// is impossible, the event engine runs the plan: then Outcome::in_fixed_order is false. Cost:
/// O(log running ops) per act, and no allocation per event once queues have grown to their final
/// size.
Outcome run(const Plan& plan, const RunOptions& options = {});

}  // namespace pipesim::sim
