// A plan in plain words, for the twin: what docs/reference/rules.md, section 1, says a plan is, and
// no more.
//
// It shares nothing with sim/, so that a mistake in sim/plan.cpp cannot hide from the comparison.
// Everything is numbered by its place in its vector; -1 names nothing. Times are nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pipesim::twin {

struct Thread {
  int rank = 0;
  bool program = false;   // false: order arrival
  std::vector<int> list;  // program: the actors of its acts, in order
};

struct Stream {
  int rank = 0;
  int launch_queue = 1024;
  int device = -1;
  int hardware_queue = 0;  // which one of its device
};

/// Which acts with calls wait for those launched before them to start, or to end [5.3].
enum class Order { kNone, kImplicit, kSerial, kSerialCollectives };

/// 0: no limit [5.3].
struct Device {
  int rank = 0;
  int hardware_queues = 0;
  int resident = 0;
  Order order = Order::kNone;
  bool holds_queues = false;  // to the end of each act
  int launch_queue = 0;       // of all its streams; 0: each has its own [3.4]
};

/// What section 9 calls an event; the machine has events of its own [2].
struct Signal {
  bool recorded = false;  // false: set by hosts
};

struct Lock {
  int rank = 0;
};

/// Item i (from 0) arrives at first + i * every; `items` of them ever do.
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
};

/// Whether a step is not put on a stream [9.1].
bool on_host(Role role);

enum class CallKind { kCollective, kSend, kReceive };

/// Of a collective call [9.4].
enum class Flow { kAll, kFromRoot, kToRoot, kTree, kStar };

/// Of a send or receive only count and type.
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
  int peer = -1;  // rank, of a send or receive (-1: from any rank); the root of a flow
  bool eager = false;
  Flow flow = Flow::kAll;
  int steps = 0;       // of a send that is not eager [9.5], or of a flow
  int connection = 0;  // of a collective call [9.7]
  Signature signature;
  std::int64_t tag = 0;       // of a send or receive: of its act 0,
  std::int64_t tag_step = 0;  // and what each act adds, modulo 2^32
  std::int64_t takes = 0;
  bool fatal = false;
  int link = -1;  // of a send or receive
};

/// Act k starts only once act k + `ahead` of this actor is done [5.4].
struct After {
  int actor = 0;
  int ahead = 0;
};

struct Actor {
  int thread = 0;
  int stream = 0;  // -1: a step on the host
  std::int64_t takes = 0;
  std::int64_t launch_overhead = 0;
  int acts = 1;
  bool immediate = true;
  bool blocking = false;
  OutsideInput outside;
  int collective = -1;
  Role role = Role::kOp;
  int signal = -1;                // kRecord, kWait, kAwait, kSet
  int times = 0;                  // kAwait of a signal that hosts set
  int lock = -1;                  // kLock, kUnlock
  int communicator = -1;          // kCreate; kMeet, or none
  int meeting = -1;               // kMeet
  std::vector<Call> calls;        // kCalls
  std::vector<int> synchronized;  // kSynchronize, kMeet: streams, ascending
  std::vector<After> afters;      // kOp, kCalls
  int behind = -1;                // kOp, kCalls: a stream [5.4]
  int dies_at = -1;               // an act; -1: never
  int fails_at = -1;              // kOp
  int room = 1;                   // kOp, kCalls: slots [5.3]
  int gang = 1;                   // it takes so many at a time
  std::int64_t timeout = 0;       // of a step of the host; 0: none
  std::string kind;               // why the generator made it; only statistics and dumps look at it
};

/// The registers of an actor are ordered as they stand in Spec::registers.
struct Register {
  int producer = 0;
  int slots = 1;
  int acts_per_slot = 1;  // Np
  int drain_every = 0;    // 0: never
  bool control = false;
  int in_place = -1;  // which input of the producer it reuses, counted in inputs_of()
};

/// The edges of a register and the inputs of an actor are ordered as they stand in Spec::edges.
struct Edge {
  int reg = 0;
  int consumer = 0;
  int acts_per_slot = 1;  // Nc
};

struct Member {
  int rank = 0;
  int actor = -1;  // -1: never comes
};

struct Collective {
  int communicator = 0;
  std::vector<Member> members;
};

/// Of faults and guards [10] -1 is none of a link, and 0 none of a time.
struct Communicator {
  std::vector<int> ranks;  // ascending
  bool at_first_use = false;
  bool waits_for_device = false;
  int link = -1;
  std::int64_t timeout = 0;
  std::int64_t creation_timeout = 0;
  std::vector<int> links = {};  // of each of `ranks`, over which it arrives; or empty
  bool connects = false;        // its calls, at first use [9.7]
  std::int64_t heartbeat = 0;   // of threads that connect
  bool on_host = false;         // hosts do its calls [9.4, 9.5]
};

/// For steps of role kMeet [9.7].
struct Meeting {
  std::vector<int> ranks;  // ascending, of the communicator
  int communicator = 0;
};

struct Death {
  int rank = 0;
  std::int64_t at = 0;
};

struct Link {
  int a = 0;  // a rank
  int b = 0;
  std::int64_t down = 0;
  std::int64_t retry = 0;  // 0: nobody notices
};

/// How durations vary [11].
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
  std::vector<int> host_of_rank;  // or empty: all on host 0
  Timing timing;
};

/// The item of that number. Numbers are plain ints here, and out of range throws.
template <typename T>
const T& at(const std::vector<T>& items, int number) {
  return items.at(static_cast<std::size_t>(number));
}

template <typename T>
int count_of(const std::vector<T>& items) {
  return static_cast<int>(items.size());
}

/// The registers of an actor, the edges of a register, the input edges of an actor: in order.
std::vector<int> registers_of(const Spec& spec, int actor);
std::vector<int> edges_of(const Spec& spec, int reg);
std::vector<int> inputs_of(const Spec& spec, int actor);

/// The input edge that a register reuses [4.4], or -1.
int in_place_edge(const Spec& spec, int reg);

/// Whether anything of section 10 is in the plan, and the same plan without.
bool has_faults(const Spec& spec);
Spec without_faults(Spec spec);

/// "calls", "record" and so on.
std::string text(Role role);

/// The whole plan as text, one thing per line.
std::string text(const Spec& spec);

/// The actors that are accepted and have something to do.
template <typename Accepts>
std::vector<int> actors_that(const Spec& spec, Accepts accepts) {
  std::vector<int> found;
  for (int a = 0; a < count_of(spec.actors); ++a) {
    if (at(spec.actors, a).acts > 0 && accepts(at(spec.actors, a))) found.push_back(a);
  }
  return found;
}

}  // namespace pipesim::twin
