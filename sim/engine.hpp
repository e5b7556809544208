// The event engine: runs a plan to its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/device_reading.hpp"
#include "sim/event.hpp"
#include "sim/fingerprint.hpp"
#include "sim/ids.hpp"
#include "sim/jitter.hpp"
#include "sim/op_times.hpp"
#include "sim/plan.hpp"
#include "sim/state.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// The way to run a plan. All kinds give the same result to the byte, except for Outcome::events.
enum class EngineKind : std::uint8_t {
  kAuto,        // in fixed order if possible, else event by event
  kEvents,      // event by event
  kFixedOrder,  // like kAuto, for callers that report if the fixed order is impossible
};

/// The progress of a run, for another thread to read.
struct RunProgress {
  std::atomic<std::uint64_t> ops{0};  // ops of the plan; 0 until the run begins
  std::atomic<std::uint64_t> ops_done{0};
  std::atomic<std::int64_t> time_ns{0};  // simulated time, in nanoseconds
  std::atomic<bool> over{false};

  void tell(std::uint64_t done, std::int64_t time) {
    ops_done.store(done, std::memory_order_relaxed);
    time_ns.store(time, std::memory_order_relaxed);
  }
};

struct RunOptions {
  EngineKind engine = EngineKind::kAuto;
  bool keep_op_times = false;               // whether to fill Outcome::op_times (32 bytes per op)
  bool keep_log = false;                    // whether to fill Outcome::log (48 bytes per op)
  const std::atomic<bool>* stop = nullptr;  // polled; true ends the run
  std::uint64_t max_events =
      std::numeric_limits<std::uint64_t>::max();  // limit that ends the run like `stop`
  Time until = kEndOfTime;               // the run ends before the first event after this time
  ActorId until_actor{};                 // ends the run when a thread enters op `until_k`
  std::uint32_t until_k = 0;             // number of the op of `until_actor`
  std::vector<ActorId> last_times_of{};  // `op_times` keeps only the last op of these actors
  // Events to run first, in this order: each at its own time, or now if that time has passed. If
  // not nullptr, host threads take only one action per event (docs/explanation/check.md).
  const std::vector<Event>* order = nullptr;
  const DeviceReading* reading = nullptr;  // for with_reading(); run() ignores it
  Jitter jitter{};                         // variation of the durations of ops
  RunProgress* progress = nullptr;         // updated from time to time
};

/// Whether the caller has asked to stop the run.
inline bool is_stopped(const RunOptions& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

/// An entry of the log: a host thread enters an op or returns from it (rule 3.6).
struct LogEntry {
  Time time;
  ActorId actor;
  std::uint32_t k = 0;
  bool after = false;  // whether the thread returns from the op

  friend constexpr bool operator==(const LogEntry&, const LogEntry&) = default;
};

/// The way a run ended.
enum class RunEnd : std::uint8_t {
  kCompleted,    // every actor ran all its ops
  kStuck,        // quiescent with work left
  kTimeLimit,    // the next event is after the end of simulated time
  kUntil,        // the next event is after RunOptions::until or the moment of `until_actor`
  kInterrupted,  // RunOptions::stop or `max_events` ended the run
};

/// Two matched ops that differ: a send and its recv, or the first collective call at a sequence
/// number and a call that does not match the first.
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

/// The cause of a rank's death (docs/reference/rules.md, 10.2 and 10.5).
enum class DeathCause : std::uint8_t {
  kAtTime,
  kAtOp,
  kFatalCall,
  kDeviceError,  // its host thread noticed an error of its device
  kLinkError,
  kWatchdog,
  kTimeout,
  kLauncher,
};

struct RankDeath {
  RankId rank;
  Time at;
  DeathCause cause = DeathCause::kAtTime;
  bool after_quiescence = false;  // whether the run was quiescent except for timers
  ActorId actor;                  // the op in which the rank died, if any
  std::uint32_t k = 0;

  friend constexpr bool operator==(const RankDeath&, const RankDeath&) = default;
};

/// An op that ended in an error of its device.
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
  Time last_progress{0};  // time of the latest launch, start, end or arrival at an init
  std::uint64_t ops_done = 0;
  std::uint64_t events = 0;          // number of events handled: a measure of work, not a result
  std::uint64_t order_steps = 0;     // number of events of RunOptions::order that happened
  bool in_fixed_order = false;       // whether the run was in fixed order, without events
  RankDigests digests;               // one per rank of the plan, for Fingerprint
  std::vector<Mismatch> mismatches;  // in the order of detection
  std::vector<DeviceError> device_errors;
  std::vector<RankDeath> deaths;  // in order; deaths with `after_quiescence` are the teardown
  State state;                    // state at the end, before the teardown
  OpTimesTable op_times;
  std::vector<LogEntry> log;  // in the order of writing

  /// Whether all work is done without a mismatch.
  bool completed() const { return end == RunEnd::kCompleted && mismatches.empty(); }
};

/// Runs `plan` by the rules of docs/reference/rules.md. If the fixed order is requested and
/// impossible, the event engine runs the plan, and Outcome::in_fixed_order is false.
/// Cost: O(log running ops) per op, and no allocation per event once queues have reached their
/// final size.
Outcome run(const Plan& plan, const RunOptions& options = {});

}  // namespace pipesim::sim
