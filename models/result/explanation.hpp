// The explanation of how a run ended, in terms of the task graph: the data of all reports.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"
#include "models/outside_text.hpp"
#include "sim/engine.hpp"
#include "sim/wait_graph.hpp"

namespace pipesim::models {

/// The progress of an op. `Step` gives details for kEntered.
enum class OpStage : std::uint8_t { kNotEntered, kEntered, kLaunched, kStarted, kDone };

/// An op in the terms of reports.
struct OpInfo {
  sim::ActorId actor;
  std::uint32_t rank = 0;
  std::string name;
  std::uint32_t number = 0;       // number of the op, from 1; 0: unknown, in a real job
  std::uint32_t micro_batch = 0;  // number of the micro-batch, from 1; 0: none
  std::string stream;             // stream of the op; for a host step, its thread
  std::string thread;
  OutsideText at;           // line in the user's program, if known
  OutsideText statement;    // source text of an op in a GOAL file
  bool in_program = false;  // whether the thread runs a fixed list of ops
  bool collective = false;  // whether the device polls for peers
  bool on_host = false;     // whether the op has no stream
  bool implied = false;     // whether the op implements an `after` and is not a step of the user
  std::optional<sim::CallKind> call;  // kind of the step's only call, or of the call in question
  bool from_any = false;              // whether a recv accepts a send from any rank
  std::string call_name;              // name of a call within a group, if any
  OpStage stage = OpStage::kNotEntered;
  sim::Step step = sim::Step::kNone;  // kEntered: the step that blocks the thread
  std::string recorded_name;          // name in a recorded script; empty: `name` and `number`
  bool of_group = false;              // whether `stream` is a group's stream in a recorded script
};

/// One end of a wait.
struct WaitParty {
  sim::WaitNodeKind kind = sim::WaitNodeKind::kOp;
  OpInfo op;               // kOp: the op
  std::uint32_t rank = 0;  // kOp and kRank: the rank
};

/// A wait of `from` for `to`.
struct Wait {
  WaitParty from;
  WaitParty to;
  sim::WaitKind kind = sim::WaitKind::kData;
  std::string reg;       // register of a data or credit wait
  bool control = false;  // whether the register carries only order, no data
  // The op that `from` needs, if `to` is only a step on the way to that op.
  std::optional<OpInfo> needed;
  bool any = false;    // whether the wait is one of several alternatives
  std::string link;    // failed link: "infiniband between a and b, which is down"
  std::string lock;    // name of the awaited lock
  std::string holder;  // thread that holds the lock
};

/// A pair of ops that are matched with each other but differ.
struct Misfit {
  bool message = false;          // whether the ops are a send and a recv; else two collective calls
  bool other_operation = false;  // whether the collective calls have different operations
  OpInfo first;
  OpInfo second;
  // Ranks that differ in the same way, the rank of `second` first.
  std::vector<std::uint32_t> ranks;
  /// In a diagnosis of a real job: ranks whose op is like `first`, if the wrong side is unknown.
  std::vector<std::uint32_t> other_side;
  // Differences in words: "all_reduce and broadcast", "8 MiB and 64 MiB".
  std::vector<std::string> differences;
  std::string sizes;    // the entry of `differences` about sizes
  std::string outcome;  // effect of different sizes, for a send and a recv on the host
};

/// The death of a rank.
struct DeathReport {
  std::uint32_t rank = 0;
  std::int64_t time_ns = 0;
  sim::DeathCause cause = sim::DeathCause::kAtTime;
  std::string what;  // the scenario's word, such as "segfault"; for a link error, the link
  // Whether the rank was killed after the run was quiescent, for example by its watchdog.
  bool after_quiescence = false;
  std::optional<OpInfo> in;  // op in which the rank died
};

/// A device error that ended an op.
struct DeviceErrorReport {
  std::uint32_t rank = 0;
  std::int64_t time_ns = 0;
  std::string what;
  OpInfo in;
};

/// The error of a rank after a run, under gloo: its peers have ended, or a message is too large.
struct PeerError {
  enum class Kind : std::uint8_t { kAborts, kRaises, kMayRaise };

  Kind kind = Kind::kRaises;
  std::uint32_t rank = 0;
  std::uint32_t peer = 0;  // the rank whose process has ended; kAborts: `rank` itself
  OpInfo in;
};

/// The end of a chain of waits outside any cycle.
struct Root {
  WaitParty party;            // a rank that never arrives, or the outside
  Wait first;                 // first direct wait for the root
  std::uint32_t waiting = 0;  // number of ops that wait for the root, directly or indirectly
  // For a missing collective call: the number of calls this rank made on the communicator, and the
  // maximum of the other ranks.
  std::string communicator;
  std::uint32_t made = 0;
  std::uint32_t others_made = 0;
  // The first call that the rank of `first` makes and this rank's program lacks. The call that
  // waits in `first` is this call or a later one.
  std::optional<OpInfo> missing;
  std::optional<OpInfo> before;  // this rank's call in place of `missing`; none: no further calls
  std::string group;             // name of the communicator in a recorded script; can be empty
};

/// Cycles that differ only in their ranks.
struct CycleClass {
  std::vector<Wait> first;                        // first cycle of the class
  std::vector<std::vector<std::uint32_t>> ranks;  // ranks of each cycle, ascending
};

/// The progress of a rank in a phase, a stream or a host thread. `Of` says what `done` and
/// `expected` count.
struct Progress {
  enum class Of : std::uint8_t {
    kPhase,          // iterations that every actor has completed
    kStream,         // ops
    kStreamOfSteps,  // ops of host programs
    kHost,           // steps of a host thread that runs a program
    kOps,            // ops with their own order: of a GOAL file or of a thread block
  };

  std::string what;  // name of the phase, stream or thread
  Of of = Of::kPhase;
  std::uint32_t done = 0;
  std::uint32_t expected = 0;
  // Next blocked op; for a phase, the first unfinished op of its next iteration.
  std::optional<OpInfo> stuck;
  std::optional<Wait> wait;  // first wait of `stuck`
  std::string name;          // name of the stream in a recorded script; empty: `what`

  /// Whether the wait of `stuck` is more informative than its stage.
  bool tells_wait() const {
    return wait && stuck &&
           (stuck->stage == OpStage::kNotEntered || stuck->stage == OpStage::kLaunched);
  }
};

struct ActorCounts {
  std::string name;
  std::uint32_t entered = 0;
  std::uint32_t launched = 0;
  std::uint32_t started = 0;
  std::uint32_t done = 0;
  std::uint32_t expected = 0;
};

/// The position of a host thread in its program.
struct ThreadReport {
  std::string name;
  bool finished = false;     // whether the thread has no work left
  bool blocked = false;      // whether the thread needs another event to continue
  std::optional<OpInfo> at;  // current or next op; none: the thread waits for messages
};

struct RankReport {
  std::uint32_t rank = 0;
  // Whether a started collective, send or recv waits for peers: the device then looks 100% busy.
  bool spins = false;
  bool dead = false;  // whether the rank is dead at the end of the run
  // End of the rank's work in a GOAL file, if all ops are done.
  std::optional<std::int64_t> finish_ns;
  std::vector<Progress> progress;
  std::vector<ThreadReport> threads;
  std::vector<ActorCounts> actors;
};

/// The cause of the verdict.
enum class Cause : std::uint8_t {
  kNone,
  kMismatch,
  kCycle,
  kDeadRank,
  kFailedLink,
  kAbsentMember,
  kOutsideInput,
  kLimit,
  kUntil,
  kInterrupted
};

/// Returns the cause of the verdict, if `root` decides the verdict.
Cause cause_of(const Root& root);

struct Explanation {
  Explanation();
  Explanation(const Explanation&);
  Explanation(Explanation&&) noexcept;
  Explanation& operator=(const Explanation&);
  Explanation& operator=(Explanation&&) noexcept;
  ~Explanation();

  sim::Verdict verdict = sim::Verdict::kCompleted;
  Cause cause = Cause::kNone;
  std::int64_t time_ns = 0;  // time of the last progress
  std::uint64_t ops_done = 0;
  std::uint64_t ops_expected = 0;
  std::uint64_t fingerprint = 0;
  std::vector<Wait> cycle;  // the cycle to show; `to` of each wait is `from` of the next wait
  bool cycle_is_shortest = true;
  std::uint32_t cycle_groups = 0;  // number of groups of ops that wait for one another in cycles
  std::vector<std::vector<Wait>> other_cycles;  // the shortest cycles of other groups, at most 100
  // Classes of the cycles of all groups; empty for a single group.
  std::vector<CycleClass> cycle_classes;
  std::vector<Root> roots;
  std::vector<Misfit> mismatches;  // in order of detection
  std::vector<DeviceErrorReport> device_errors;
  std::vector<DeathReport> deaths;  // in order of occurrence
  std::vector<PeerError> peer_errors;
  std::uint32_t stuck = 0;  // number of ops in the wait-for graph
  // Number of blocked ops outside the cycles; some may wait for a root.
  std::uint32_t collateral = 0;
  // Numbers of blocked ops by distance: entry d counts the ops that are d + 1 waits away from the
  // nearest cycle.
  std::vector<std::uint32_t> collateral_by_distance;
  std::vector<RankReport> ranks;
  // Whether the verdict depends on crossing first sends, on a communicator of two ranks.
  bool crossing_first_sends = false;
  // Whether the verdict depends on a send that waits only because its buffer is registered.
  bool registered_send = false;
  // Whether the verdict depends on a rank that waits in destroying, or in suspending or resuming, a
  // communicator.
  bool destroys = false;
  bool suspends = false;
};

/// Evaluates the waits of a quiescent run with work left. Sets `stuck`, roots, cycle and
/// collateral, verdict and cause; after a mismatch, the caller replaces verdict and cause. Without
/// `look_for_cycle`, reports no cycle. `copies`, if given: for each rank, the number of ranks that
/// the rank represents.
void explain_waits(const sim::WaitGraph& waits,
                   const std::function<Wait(const sim::WaitEdge&)>& describe, bool look_for_cycle,
                   Explanation& result, const std::vector<std::uint32_t>* copies = nullptr);

/// Returns the number of ops in `waits`. `copies`: as for explain_waits().
std::uint32_t stuck_ops(const sim::WaitGraph& waits, const std::vector<std::uint32_t>* copies);

/// Explains the end of a run of `lowered`, made from `graph`. `waits` is the wait-for graph at the
/// end, empty if the run completed. `copies`: as for explain_waits().
Explanation explain(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome,
                    const sim::WaitGraph& waits,
                    const std::vector<std::uint32_t>* copies = nullptr);

/// Describes op `k` of `actor` for reports.
OpInfo describe_op(const TaskGraph& graph, const Lowered& lowered, const sim::State& state,
                   sim::ActorId actor, std::uint32_t k);

/// Describes an edge of the wait-for graph for reports.
Wait describe_wait(const TaskGraph& graph, const Lowered& lowered, const sim::State& state,
                   const sim::WaitGraph& waits, const sim::WaitEdge& edge);

}  // namespace pipesim::models
