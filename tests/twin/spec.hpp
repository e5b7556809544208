// A plan in plain words, for the twin: exactly what docs/reference/rules.md, section 1, defines as
// a plan.
//
// The plan shares nothing with sim/, so that an error in sim/plan.cpp cannot hide from the
// comparison. Every item is numbered by its place in its vector; -1 means none. Times are
// nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pipesim::twin {

struct Thread {
  int rank = 0;
  bool program = false;   // order program; otherwise order arrival
  std::vector<int> list;  // program: the actors of its ops, in order
};

struct Stream {
  int rank = 0;
  int launch_queue = 1024;
  int device = -1;
  int hardware_queue = 0;  // number on its device
};

/// The launch order of a device: ops with calls wait for the start, or the end, of calls launched
/// before them [5.3].
enum class Order { kNone, kImplicit, kSerial, kSerialCollectives };

/// Limits of a device; 0: no limit [5.3].
struct Device {
  int rank = 0;
  int hardware_queues = 0;
  int resident = 0;
  Order order = Order::kNone;
  bool holds_queues = false;  // whether each op holds its hardware queue to its end
  int launch_queue = 0;       // shared by all its streams; 0: one queue per stream [3.4]
};

/// An event of section 9; the machine has its own events [2].
struct Signal {
  bool recorded = false;  // whether streams record the event; otherwise hosts set it
};

struct Lock {
  int rank = 0;
};

/// Arrival of outside items. There are `items` items; item i (from 0) arrives at time first + i *
/// every.
struct OutsideInput {
  bool waits = false;
  int items = 0;
  std::int64_t first = 0;
  std::int64_t every = 0;
};

enum class Role {
  kOp,
  kCalls,
  kRecord,
  kWait,
  kWork,
  kSynchronize,
  kAwait,
  kSet,
  kLock,
  kUnlock,
  kCreate,
  kMeet,
  kAbort,
  kDrain,
};

/// Whether a step runs on the host, not on a stream [9.1].
bool on_host(Role role);

enum class CallKind { kCollective, kSend, kReceive };

/// Dependencies of a collective call [9.4].
enum class Flow { kAll, kFromRoot, kToRoot, kTree, kStar };

/// Fields of a call that are compared; sends and recvs compare only count and type.
struct Signature {
  int operation = 0;
  int root = 0;
  std::int64_t count = 0;
  int type = 0;

  friend bool operator==(const Signature&, const Signature&) = default;
};

/// One call on a communicator [9.3].
struct Call {
  int communicator = 0;
  CallKind kind = CallKind::kCollective;
  int peer = -1;  // rank at the other end (-1: from any rank); root of a flow
  bool buffered = false;
  Flow flow = Flow::kAll;
  int steps = 0;                // buffer steps of a rendezvous send [9.5] or a flow
  int connection = 0;           // connection of a collective call [9.7]
  bool connects_pairs = false;  // whether a collective call connects all pairs of ranks [9.7]
  Signature signature;
  std::int64_t tag = 0;       // tag of a send or recv, op 0
  std::int64_t tag_step = 0;  // added to the tag by each op, modulo 2^32
  std::int64_t takes = 0;
  bool fatal = false;
  int link = -1;  // link of a send or recv
};

/// Op k starts only after op k + `ahead` of this actor is done [5.4].
struct After {
  int actor = 0;
  int ahead = 0;
};

struct Actor {
  int thread = 0;
  int stream = 0;  // -1: a host step
  std::int64_t takes = 0;
  std::int64_t launch_overhead = 0;
  int ops = 1;
  bool immediate = true;
  bool blocking = false;
  OutsideInput outside;
  int collective = -1;
  Role role = Role::kOp;
  int signal = -1;                // event of kRecord, kWait, kAwait, kSet
  int times = 0;                  // kAwait of an event that hosts set: number of sets to wait for
  int lock = -1;                  // lock of kLock, kUnlock
  int communicator = -1;          // communicator of kCreate, and perhaps of kMeet
  int drained = -1;               // communicator whose calls kAbort, kDrain, kMeet wait for [9.9]
  int aborted = -1;               // communicator that kAbort aborts [9.9]
  int meeting = -1;               // meeting of kMeet
  std::vector<Call> calls;        // calls of kCalls
  std::vector<int> synchronized;  // streams that kSynchronize and kMeet wait for, ascending
  std::vector<After> afters;      // waits of kOp and kCalls [5.4]
  int behind = -1;                // stream that kOp and kCalls stay behind [5.4]
  int dies_at = -1;               // index of the op instead of which its rank dies; -1: none
  int fails_at = -1;              // index of the kOp op that fails; -1: none
  int kernel_slots = 1;           // kernel slots of kOp and kCalls [5.3]
  int gang = 1;                   // kernel slots that an op takes at once
  bool unordered = false;         // whether kCalls is in no launch order, except for room [5.3]
  std::int64_t timeout = 0;       // timeout of a host step; 0: none
  std::string kind;               // why the generator made the actor; only for statistics and dumps
};

/// A register of an actor; the registers of one actor are in the order of Spec::registers.
struct Register {
  int producer = 0;
  int slots = 1;
  int ops_per_slot = 1;  // Np of the rules
  int drain_every = 0;   // number of ops between drains; 0: never
  bool control = false;
  int in_place = -1;  // input of the producer that the register reuses: an index in inputs_of()
};

/// An edge; the edges of a register and the inputs of an actor are in the order of Spec::edges.
struct Edge {
  int reg = 0;
  int consumer = 0;
  int ops_per_slot = 1;  // Nc of the rules
};

struct Member {
  int rank = 0;
  int actor = -1;  // -1: missing
};

struct Collective {
  int communicator = 0;
  std::vector<Member> members;
};

/// A communicator. A link of -1 means no link; a time of 0 means no timeout [10].
struct Communicator {
  std::vector<int> ranks;  // ascending
  bool at_first_use = false;
  bool waits_for_device = false;
  int link = -1;
  std::int64_t timeout = 0;
  std::int64_t init_timeout = 0;
  std::vector<int> links = {};  // link over which each of `ranks` arrives; or empty
  bool connects = false;        // connects for its calls at first use [9.7]
  bool on_host = false;         // hosts run its calls [9.4, 9.5]
  bool in_calls = false;        // calls advance only while their ranks make calls [9.5]
};

/// A meeting for steps of role kMeet [9.7].
struct Meeting {
  std::vector<int> ranks;  // ascending, in the communicator
  int communicator = 0;
};

struct Death {
  int rank = 0;
  std::int64_t at = 0;
};

struct Link {
  int a = 0;  // rank at one end of the link
  int b = 0;
  std::int64_t down = 0;
  std::int64_t retry = 0;  // time until the error; 0: the ranks never notice
};

/// Jitter of durations [11].
struct Timing {
  int permille = 0;
  bool free = false;
  std::uint64_t seed = 0;
};

struct Spec {
  int ranks = 1;
  std::vector<Thread> threads;
  std::vector<Stream> streams;
  std::vector<Actor> actors;
  std::vector<Register> registers;
  std::vector<Edge> edges;
  std::vector<Collective> collectives;
  std::vector<Communicator> communicators;
  std::vector<Meeting> meetings;
  std::vector<Device> devices;
  std::vector<Signal> signals;
  std::vector<Lock> locks;
  std::vector<Death> deaths;
  std::vector<Link> links;
  std::int64_t poll = 0;
  std::int64_t launcher = 0;
  std::vector<int> host_of_rank;  // empty: all on host 0
  Timing timing;
};

/// Returns the item with this number, a plain int; throws if the number is out of range.
template <typename T>
const T& at(const std::vector<T>& items, int number) {
  return items.at(static_cast<std::size_t>(number));
}

template <typename T>
int count_of(const std::vector<T>& items) {
  return static_cast<int>(items.size());
}

/// Return the registers of an actor, the edges of a register, or the input edges of an actor, in
/// order.
std::vector<int> registers_of(const Spec& spec, int actor);
std::vector<int> edges_of(const Spec& spec, int reg);
std::vector<int> inputs_of(const Spec& spec, int actor);

/// Returns the input edge that a register reuses [4.4], or -1.
int in_place_edge(const Spec& spec, int reg);

/// Whether the plan has anything of section 10; without_faults() removes all of it.
bool has_faults(const Spec& spec);
Spec without_faults(Spec spec);

/// Returns "calls", "record" and so on.
std::string text(Role role);

/// Returns the whole plan as text, one item per line.
std::string text(const Spec& spec);

/// Returns the actors with ops that `accepts` accepts.
template <typename Accepts>
std::vector<int> actors_that(const Spec& spec, Accepts accepts) {
  std::vector<int> found;
  for (int a = 0; a < count_of(spec.actors); ++a) {
    if (at(spec.actors, a).ops > 0 && accepts(at(spec.actors, a))) found.push_back(a);
  }
  return found;
}

}  // namespace pipesim::twin
