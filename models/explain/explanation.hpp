// Why a run ended as it did, in the terms of the task graph: what every report shows.
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

/// How far an act has come. `Step` says more of one that was entered.
enum class ActStage : std::uint8_t { kNotEntered, kEntered, kLaunched, kStarted, kDone };

/// One act, as reports name it.
struct ActInfo {
  sim::ActorId actor;
  std::uint32_t rank = 0;
  std::string op;
  std::uint32_t act = 0;          // from 1; 0: of a real job, not known
  std::uint32_t micro_batch = 0;  // from 1; 0: none
  std::string stream;             // of a step of the host: its thread
  std::string thread;
  OutsideText at;                     // where it stands in the user's program, if that is known
  OutsideText statement;              // what stands there, of an op of a GOAL file
  bool in_program = false;            // its thread does a fixed list of acts
  bool collective = false;            // its device waits for peers by polling
  bool on_host = false;               // on no stream
  bool implied = false;               // a part of what `after` means, which no user wrote
  std::optional<sim::CallKind> call;  // of a step that makes just one, or of the one it is about
  bool from_any = false;              // a recv that takes the message of any rank
  std::string call_name;              // of a call of a group that has a name
  ActStage stage = ActStage::kNotEntered;
  sim::Step step = sim::Step::kNone;  // kEntered: what its thread is blocked in
  std::string name;                   // how a recorded script counts it; empty: `op` and `act`
  bool of_group = false;              // of a recorded script: `stream` is that of a group
};

/// One end of a wait.
struct WaitParty {
  sim::WaitNodeKind kind = sim::WaitNodeKind::kAct;
  ActInfo act;             // kAct
  std::uint32_t rank = 0;  // kAct and kRank
};

/// `from` waits for `to`.
struct Wait {
  WaitParty from;
  WaitParty to;
  sim::WaitKind kind = sim::WaitKind::kData;
  std::string reg;                // the register of a data or credit wait
  bool control = false;           // that register carries only order
  std::optional<ActInfo> needed;  // the act that must happen, where `to` only stands before it
  bool any = false;               // one of several, of which one suffices
  std::string link;               // of a failed link: which, "infiniband between a and b"
  std::string lock;               // of a wait for a lock: its name
  std::string holder;             // and the thread that holds it
};

/// Two acts that met and do not fit together.
struct Misfit {
  bool message = false;          // a send and a receive; else two collective calls
  bool other_operation = false;  // two collective calls of different operations
  ActInfo first;
  ActInfo second;
  std::vector<std::uint32_t> ranks;  // all whose act differs in the same way, second's first
  /// Of evidence: all whose act is as `first`, where nothing says which side is wrong.
  std::vector<std::uint32_t> other_side;
  std::vector<std::string> differences;  // "all_reduce and broadcast", "8 MiB and 64 MiB"
  std::string sizes;                     // that of them which is about sizes
  std::string outcome;                   // of a message between hosts: what gloo makes of the sizes
};

/// That a rank died, and how people would tell it.
struct DeathReport {
  std::uint32_t rank = 0;
  std::int64_t time_ns = 0;
  sim::DeathCause cause = sim::DeathCause::kAtTime;
  std::string what;           // "segfault", of what the scenario says; the link, of a link error
  bool after_rest = false;    // a guard ended it when nothing else could happen any more
  std::optional<ActInfo> in;  // the act that it died in
};

/// An act ended in an error of its device.
struct DeviceErrorReport {
  std::uint32_t rank = 0;
  std::int64_t time_ns = 0;
  std::string what;
  ActInfo in;
};

/// Where a chain of waits ends that closes no cycle.
struct Root {
  WaitParty party;            // a rank that never comes, or the outside
  Wait first;                 // the first of the waits that lead straight to it
  std::uint32_t waiting = 0;  // acts that wait for it, straight or through others
  // Of a rank that makes no collective call that `first` waits for: how many it has made on the
  // communicator, and the most that another has.
  std::string communicator;
  std::uint32_t made = 0;
  std::uint32_t others_made = 0;
  // The first call that the rank of `first` makes and this one does not, by their programs: the one
  // that waits may be a later one that is like it.
  std::optional<ActInfo> missing;
  std::optional<ActInfo> before;  // what the rank does in its place; none: nothing more
  std::string group;              // how a recorded script calls the communicator; may be empty
};

/// Cycles that differ only in their ranks.
struct CycleClass {
  std::vector<Wait> first;                        // the first of them
  std::vector<std::vector<std::uint32_t>> ranks;  // of each, ascending
};

/// How far a rank came in one of the phases that its actors name, or in one of its streams.
struct Progress {
  enum class Of : std::uint8_t {
    kPhase,          // rounds in which every actor is done
    kStream,         // acts
    kStreamOfSteps,  // acts, of steps of host programs
    kHost,           // calls of a host thread that runs a program
    kOps,            // ops in an order of their own: of a GOAL file, of a thread block
  };

  std::string what;  // the phase, the stream, or the thread
  Of of = Of::kPhase;
  std::uint32_t done = 0;
  std::uint32_t expected = 0;
  std::optional<ActInfo> stuck;  // phases: the first act of the next round that is not done
  std::optional<Wait> wait;      // and what it waits for first
  std::string name;              // how a recorded script calls the stream; empty: `what`

  /// What the act waits for says more than its stage.
  bool tells_wait() const {
    return wait && stuck &&
           (stuck->stage == ActStage::kNotEntered || stuck->stage == ActStage::kLaunched);
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

/// Where a host thread stands.
struct ThreadReport {
  std::string name;
  bool finished = false;      // it has no work left
  bool blocked = false;       // it can do nothing until something else happens
  std::optional<ActInfo> at;  // the act that it is in or comes to next; none: it waits for messages
};

struct RankReport {
  std::uint32_t rank = 0;
  bool spins = false;  // a started collective waits for its peers: the device looks 100% busy
  bool dead = false;   // when the run came to rest
  std::optional<std::int64_t> finish_ns;  // of a GOAL file: until when it is busy, if all is done
  std::vector<Progress> progress;
  std::vector<ThreadReport> threads;
  std::vector<ActorCounts> actors;
};

/// What decided the verdict.
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

/// The cause that a root is, if it decides.
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
  std::int64_t time_ns = 0;  // the last progress
  std::uint64_t acts_done = 0;
  std::uint64_t acts_expected = 0;
  std::uint64_t fingerprint = 0;
  std::vector<Wait> cycle;  // each one's `to` is the next one's `from`
  bool cycle_is_shortest = true;
  std::uint32_t cycle_groups = 0;  // groups of acts that wait for each other in circles
  std::vector<std::vector<Wait>> other_cycles;  // the shortest of other groups, at most 100
  std::vector<CycleClass> cycle_classes;        // of several groups: of the cycles of all
  std::vector<Root> roots;
  std::vector<Misfit> mismatches;  // in the order in which they were found
  std::vector<DeviceErrorReport> device_errors;
  std::vector<DeathReport> deaths;  // in their order
  std::uint32_t stuck = 0;          // acts in the wait-for graph
  std::uint32_t collateral = 0;     // those that are on no cycle of these; some may wait for a root
  std::vector<std::uint32_t> collateral_by_distance;  // [d]: d + 1 waits away from the next cycle
  std::vector<RankReport> ranks;
  bool crossing_first_sends = false;  // two that wait for each other, on a communicator of two
  bool registered_send = false;       // one that waits, and would not if it were not registered
  bool destroys = false;              // a rank that waits where it destroys a communicator
};

/// Fills in what follows from the waits of a run that has come to rest with work left: `stuck`,
/// roots, cycle, collateral; and verdict and cause, as far as these decide. Without
/// `look_for_cycle`, what looks like a cycle is none. `copies`, if given: by rank, as how many its
/// acts count.
void explain_waits(const sim::WaitGraph& waits,
                   const std::function<Wait(const sim::WaitEdge&)>& describe, bool look_for_cycle,
                   Explanation& result, const std::vector<std::uint32_t>* copies = nullptr);

/// How many acts of `waits` there are. `copies`: as for explain_waits().
std::uint32_t stuck_acts(const sim::WaitGraph& waits, const std::vector<std::uint32_t>* copies);

/// Explains the end of a run of `lowered`, made from `graph`. `waits` is the wait-for graph of that
/// end, empty if the run completed. `copies`: as for explain_waits().
Explanation explain(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome,
                    const sim::WaitGraph& waits,
                    const std::vector<std::uint32_t>* copies = nullptr);

/// The act of a node of kind kAct, as reports name it.
ActInfo describe_act(const TaskGraph& graph, const Lowered& lowered, const sim::State& state,
                     sim::ActorId actor, std::uint32_t k);

/// An edge of the wait-for graph, as reports tell it.
Wait describe_wait(const TaskGraph& graph, const Lowered& lowered, const sim::State& state,
                   const sim::WaitGraph& waits, const sim::WaitEdge& edge);

}  // namespace pipesim::models
