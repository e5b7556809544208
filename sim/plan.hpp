// The plan: the frozen, flat form of a task graph that the engine runs.
//
// All references are indices into arrays; adjacency is stored as ranges (CSR). A plan stores
// nothing per op, so ten million ops of a thousand actors cost no more than a thousand ops. A
// PlanBuilder makes a plan once; the plan never changes, and any number of runs can share it.
//
// docs/reference/rules.md defines the fields; the numbers in brackets are its sections.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/ids.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// The order in which a host thread takes up its work [2].
enum class ThreadOrder : std::uint8_t {
  kArrival,  // one first-in-first-out inbox of messages
  kProgram,  // a fixed list of ops
};

/// The kind of an op. All roles except kOp are steps of host programs [9].
enum class Role : std::uint8_t {
  kOp,      // runs on its stream, alone or as a member of a named collective
  kCalls,   // on its stream: calls on communicators that progress together [9.3]
  kRecord,  // on its stream: fires an event when it ends [9.2]
  kWait,    // on its stream: holds up the stream until an event has fired
  // Host steps, without a stream [9.1]:
  kWork,
  kSynchronize,  // waits until some streams have finished all ops launched so far
  kAwait,        // waits until an event has fired
  kSet,
  kLock,
  kUnlock,
  kCreate,  // initializes a communicator
  kMeet,    // waits for some streams, then for the hosts of other ranks [9.7]
  kAbort,   // ends the calls of its rank on a communicator, and waits until they are done [9.9]
  kDrain,   // waits until the calls of its rank on a communicator are done [9.9]
  kCount,   // the number of roles
};
inline constexpr std::size_t kRoleCount = static_cast<std::size_t>(Role::kCount);

/// The kind of object that a step names.
enum class Object : std::uint8_t { kNone, kSignal, kLock, kCommunicator, kCount };

/// The facts about a role, for code that handles several roles alike. The engine, the fixed-order
/// run and the wait-for graph handle each role separately.
struct RoleFacts {
  Role kind;
  std::string_view name;  // key or name of such a step in a scenario
  Object object = Object::kNone;
  bool on_host = false;      // whether it is a host step, which has no stream
  bool needs_slot = false;   // whether it needs kernel slots on a device with limited slots [5.3]
  bool fires = false;        // whether it fires its signal; other steps with a signal wait for it
  bool blocks = false;       // whether its host step waits, except for init [9.1]
  bool only_waits = false;   // whether it is a host step without work of its own
  bool awaits_work = false;  // whether its host waits for launched work
  bool orders_threads = false;     // whether it orders the work of several threads
  const char* obstacle = nullptr;  // why such steps rule out a fixed order; nullptr if they do not
};

inline constexpr std::array<RoleFacts, kRoleCount> kRoles = {{
    {.kind = Role::kOp, .name = "compute", .needs_slot = true},
    {.kind = Role::kCalls, .name = "call", .needs_slot = true},
    {.kind = Role::kRecord, .name = "record", .object = Object::kSignal, .fires = true},
    {.kind = Role::kWait, .name = "wait", .object = Object::kSignal},
    {.kind = Role::kWork, .name = "host", .on_host = true},
    {.kind = Role::kSynchronize,
     .name = "synchronize",
     .on_host = true,
     .blocks = true,
     .only_waits = true,
     .awaits_work = true},
    {.kind = Role::kAwait,
     .name = "await",
     .object = Object::kSignal,
     .on_host = true,
     .blocks = true,
     .only_waits = true,
     .awaits_work = true},
    {.kind = Role::kSet, .name = "set", .object = Object::kSignal, .on_host = true, .fires = true},
    {.kind = Role::kLock,
     .name = "lock",
     .object = Object::kLock,
     .on_host = true,
     .blocks = true,
     .only_waits = true,
     .orders_threads = true,
     .obstacle = "threads wait for a lock"},
    {.kind = Role::kUnlock,
     .name = "unlock",
     .object = Object::kLock,
     .on_host = true,
     .orders_threads = true},
    {.kind = Role::kCreate,
     .name = "create",
     .object = Object::kCommunicator,
     .on_host = true,
     .only_waits = true},
    {.kind = Role::kMeet, .name = "meet", .on_host = true, .blocks = true},
    {.kind = Role::kAbort,
     .name = "abort",
     .on_host = true,
     .blocks = true,
     .obstacle = "a rank aborts a communicator"},
    {.kind = Role::kDrain, .name = "drain", .on_host = true, .blocks = true},
}};
static_assert(has_row_per_kind(kRoles), "each role has its row, in their order");

/// Returns the row of `role`.
constexpr const RoleFacts& facts(Role role) { return kRoles[static_cast<std::size_t>(role)]; }

/// Returns the roles with a trait, as bits: the engine tests them for each op, and a table lookup
/// would cost a load.
constexpr std::uint32_t roles_with(bool RoleFacts::*trait) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < kRoleCount; ++i) bits |= kRoles[i].*trait ? 1u << i : 0u;
  return bits;
}
inline constexpr std::uint32_t kHostRoles = roles_with(&RoleFacts::on_host);
inline constexpr std::uint32_t kSlotRoles = roles_with(&RoleFacts::needs_slot);

/// Whether the role is a host step, which has no stream.
constexpr bool on_host(Role role) { return (kHostRoles >> static_cast<unsigned>(role) & 1) != 0; }

/// Whether ops of the role need kernel slots on a device with limited slots [5.3].
constexpr bool needs_slot(Role role) {
  return (kSlotRoles >> static_cast<unsigned>(role) & 1) != 0;
}

/// Outside input for a source that waits for it [3.2]: item i (from 0) arrives at first + i *
/// every.
struct OutsideInput {
  bool waits = false;       // whether the actor needs outside input
  std::uint32_t items = 0;  // number of items that ever arrive; at most Actor::ops
  Duration first;
  Duration every;
};

/// The op number that means "no op".
inline constexpr std::uint32_t kNoOp = 0xffffffff;

/// A wait for another stream: op k starts only after op k + `ahead` of `actor` is done. `actor` is
/// on another stream of the same rank [5.4].
struct After {
  ActorId actor;
  std::uint32_t ahead = 0;
};

/// An actor. Fields are sorted by how often the engine reads them: the fields that each op needs
/// share a cache line.
struct alignas(64) Actor {
  Duration takes;  // time of an op on the stream
  ThreadId thread;
  StreamId stream;
  CollectiveId collective;  // the collective of its ops; not valid: none
  Role role = Role::kOp;
  bool immediate = false;     // whether messages to its own thread leave at launch [5]
  bool blocking = false;      // whether its thread stays in the launch until the op is done [3.5]
  bool in_lines : 1 = false;  // whether its ops join lines [9.3]
  bool waits_for_streams : 1 = false;  // whether its ops can wait for other streams [5.4]
  bool sends_at_launch : 1 = false;    // whether some of its messages leave at launch
  bool sends_at_end : 1 = false;
  bool in_library : 1 = false;  // whether its rank is inside its library during its ops [9.5]
  bool drains : 1 = false;  // kAbort, kDrain, kMeet: whether it names a communicator to drain [9.9]
  // Number of ops that the actor can be ready for: `ops`, plus one for a source that waits for
  // outside input [3.1].
  std::uint32_t wanted = 0;
  std::uint32_t calls = 0;  // kCalls: range in Plan::calls: [calls, calls_end)
  std::uint32_t calls_end = 0;
  StreamId behind;           // ops start only after all earlier launches on this stream end [5.4]
  std::uint32_t afters = 0;  // kOp, kCalls: range in Plan::afters: [afters, afters_end)
  std::uint32_t afters_end = 0;
  std::uint32_t registers = 0;  // range in Plan::registers: [registers, registers_end)
  std::uint32_t registers_end = 0;
  std::uint32_t inputs = 0;  // range in Plan::inputs: [inputs, inputs_end)
  std::uint32_t inputs_end = 0;
  // Fields for launches and for actors with few ops:
  std::uint32_t lines = 0;  // kCalls: range in Plan::actor_lines: [lines, lines_end)
  std::uint32_t lines_end = 0;
  Duration launch_overhead;  // time on the host thread before each launch
  Duration timeout;          // longest wait of a host step; 0: no limit [10.5]
  Duration watchdog;         // shortest timeout of its communicators
  RankId rank;
  std::uint32_t ops = 0;           // number of its ops
  std::uint32_t kernel_slots = 0;  // kOp, kCalls: kernel slots that an op needs on its device [5.3]
  std::uint32_t gang = 1;          // slots that an op takes at a time; divides `kernel_slots`
  bool collects = false;           // kCalls: whether one of its calls is collective and needs slots
  bool unordered = false;  // kCalls: whether it joins no launch order but kSerialCollectives [5.3]
  SignalId signal;         // kRecord, kWait, kAwait, kSet: the signal to fire or to wait for
  LockId lock;             // kLock, kUnlock: the lock
  // kCreate; kMeet: communicator to initialize first, or none. If `drains`: communicator whose
  // calls the step waits for.
  CommunicatorId communicator;
  std::uint32_t times = 0;  // kAwait of a signal that hosts set: number of firings to wait for
  // kSynchronize, kMeet, kDrain, kAbort that waits: range in Plan::synchronized, ascending
  std::uint32_t streams = 0;
  std::uint32_t streams_end = 0;
  std::uint32_t needs = 0;  // kCalls, kMeet: range in Plan::needs: [needs, needs_end)
  std::uint32_t needs_end = 0;
  std::uint32_t dies_at = kNoOp;   // op at whose launch its rank dies instead [10.2]
  std::uint32_t fails_at = kNoOp;  // kOp: op that ends in a device error [10.3]
  OutsideInput input;
};

/// An output of an actor, with `slots` slots. Every `ops_per_slot` ops fill one slot [4].
struct Register {
  ActorId producer;
  std::uint32_t slots = 1;
  std::uint32_t ops_per_slot = 1;
  std::uint32_t drain_every = 0;  // interval, in ops, at which all slots must be free; 0: never
  bool control = false;           // whether it carries no data, only order
  EdgeId in_place;                // the input whose memory it reuses, if any [4.4]
  std::uint32_t edges = 0;        // range in Plan::edges: [edges, edges_end)
  std::uint32_t edges_end = 0;
};

/// A consumer of a register; it takes one slot per `ops_per_slot` of its ops. Producer, consumer
/// and their threads are copies from the register and the actors, because the engine needs them
/// twice per message.
struct alignas(32) Edge {
  RegisterId source;
  ActorId producer;
  ThreadId producer_thread;
  ActorId consumer;
  ThreadId consumer_thread;
  std::uint32_t ops_per_slot = 1;
  bool data_at_launch = false;  // whether the message to the consumer leaves at launch
  bool ack_at_launch = false;   // whether the acknowledgement leaves at the consumer's launch
  RegisterId in_place;          // the consumer's output that keeps this slot, if any [4.4]
};

struct Stream {
  RankId rank;
  std::uint32_t launch_queue = 1024;  // maximum number of unfinished launches [3.4]
  bool shares_queue = false;          // whether it uses its device's launch queue
  DeviceId device;                    // not valid: the host does its calls
  std::uint32_t hardware_queue = 0;   // index of its queue on the device, if queues are limited
  std::uint32_t dependents = 0;       // range in Plan::dependents: [dependents, dependents_end)
  std::uint32_t dependents_end = 0;
};

/// The order in which a device starts its ops of role kCalls [5.3].
enum class LaunchOrder : std::uint8_t {
  kNone,
  kImplicit,           // each op starts after all earlier ops have started
  kSerial,             // each op starts after all earlier ops have ended
  kSerialCollectives,  // kSerial, for ops with collective calls only
};

/// A device and its limits [5.3]. 0: no limit.
struct Device {
  RankId rank;
  std::uint32_t hardware_queues = 0;
  std::uint32_t resident = 0;  // number of kernel slots; a running op holds Actor::kernel_slots
  std::uint32_t wanted = 0;    // most slots that the first ops of all its streams can need together
  std::uint32_t launch_queue = 0;  // maximum of unfinished launches; 0: a queue per stream [3.4]
  LaunchOrder order = LaunchOrder::kNone;
  bool holds_queues = false;   // whether an op leaves its hardware queue at its end, not its start
  bool any_queue = false;      // whether the assignment of streams to hardware queues is unknown
  bool records_queue = false;  // whether a record waits in a hardware queue until it starts
  std::uint32_t streams = 0;   // range in Plan::device_streams: [streams, streams_end), ascending
  std::uint32_t streams_end = 0;

  bool ordered() const { return order != LaunchOrder::kNone; }
  bool serial() const { return ordered() && order != LaunchOrder::kImplicit; }
  bool limited() const { return hardware_queues > 0 || resident > 0 || ordered(); }

  /// Whether ops of this role join a hardware queue.
  bool queues(Role role) const {
    return hardware_queues > 0 && (holds_queues || records_queue || role != Role::kRecord);
  }
  /// Whether an op of this role leaves its hardware queue when the op starts.
  bool leaves_queue_at_start(Role role) const { return !holds_queues && role != Role::kWait; }

  /// Whether the first ops of its streams can need more slots than the device has.
  bool may_lack_slots() const { return resident > 0 && resident < wanted; }
  /// Whether the start order is unspecified if not all waiting ops can start.
  bool starts_freely() const { return may_lack_slots() && !ordered(); }
};

/// An event of CUDA or of hosts.
struct Signal {
  StreamId stream;  // stream of its records; not valid: hosts set it

  bool recorded() const { return stream.valid(); }
};

/// The properties of a collective call on which all ranks must agree [9.4]. The caller of the
/// builder chooses the meaning of the numbers.
struct Signature {
  std::uint32_t operation = 0;
  std::uint32_t root = 0;
  std::uint32_t type = 0;
  std::int64_t count = 0;

  friend constexpr bool operator==(const Signature&, const Signature&) = default;
};

/// Whether two collective calls can complete together: hosts do not compare types [9.4].
inline constexpr bool can_meet(const Signature& a, Signature b, bool on_host) {
  if (on_host) b.type = a.type;
  return a == b;
}

enum class CallKind : std::uint8_t { kCollective, kSend, kReceive };

/// The ranks that wait for each other in a collective call [9.4].
enum class Flow : std::uint8_t {
  kAll,       // all ranks for all ranks
  kFromRoot,  // along the ring, starting at the root
  kToRoot,    // along the ring, ending at the root
  kTree,      // down a binomial tree from the root
  kStar,      // each rank and the root for each other
};

/// Whether ranks pass data through the buffers of the next rank.
inline constexpr bool is_ring(Flow flow) {
  return flow == Flow::kFromRoot || flow == Flow::kToRoot;
}

/// A value of Call::peer: the recv takes a send from any rank [9.5].
inline constexpr std::uint32_t kAnyPeer = 0xffffffff;

/// A call on a communicator [9.3]. Sends and recvs use only the signature's count and type.
struct Call {
  Duration takes;
  ActorId actor;
  CommunicatorId communicator;
  CallKind kind = CallKind::kCollective;
  bool buffered = false;         // sends: whether it completes without its recv (buffered)
  bool fatal = false;            // whether its rank dies when the call would be done [10.2]
  Flow flow = Flow::kAll;        // collective calls only
  std::uint8_t steps = 0;        // sends, flows: buffer steps taken; 0: does not fit [9.4, 9.5]
  ChannelId channel;             // sends and recvs only
  LinkId link;                   // sends, recvs: link to the peer, if it can be down [10.4]
  ChainId chain;                 // chain of its op, if calls of the op hold back other calls
  std::uint32_t stage = 0;       // index in its chain; the call waits for all earlier stages
  std::uint32_t member = 0;      // own rank: index in Plan::communicator_ranks
  std::uint32_t peer = 0;        // sends and recvs: index of the other rank; flows: of the root
  std::uint32_t tag = 0;         // sends and recvs: tag of the first op
  std::uint32_t tag_step = 0;    // sends and recvs: increment of the tag per op, modulo 2^32
  std::uint32_t connection = 0;  // collective calls: connection that the first use makes [9.7]
  bool connects_pairs = false;   // collective calls: whether it connects all pairs of ranks [9.7]
  Signature signature;

  bool from_any() const { return kind == CallKind::kReceive && peer == kAnyPeer; }
};

/// The ops of a rank with calls on one communicator, if those ops are on several streams: they run
/// one after another, in launch order [9.3].
struct Line {
  RankId rank;
  CommunicatorId communicator;
};

/// The calls of an op on one communicator, if the calls have several stages [9.3].
struct Chain {
  std::uint32_t calls = 0;  // range in Plan::chained: [calls, calls_end), by stage and id
  std::uint32_t calls_end = 0;
};

/// The number of steps in a channel's buffer [9.5]: NCCL_STEPS.
inline constexpr std::uint32_t kChannelSteps = 8;

/// The path of sends from one rank to another (or to itself) on a communicator [9.5]. The channel
/// of recvs from any rank has no sends; its recvs take the sends of its source channels.
struct Channel {
  CommunicatorId communicator;
  std::uint32_t from = 0;  // indices in Plan::communicator_ranks, or kAnyPeer
  std::uint32_t to = 0;
  ChannelId any;              // channel of recvs from any rank that can take these sends
  std::uint32_t sources = 0;  // range in Plan::sources: [sources, sources_end), by rank
  std::uint32_t sources_end = 0;
};

struct Thread {
  RankId rank;
  ThreadOrder order = ThreadOrder::kArrival;
  std::uint32_t program = 0;  // range in Plan::program: [program, program_end)
  std::uint32_t program_end = 0;
  ActorId first_actor;          // base of the actor numbers in `program`
  ActorId first_actor_of_rank;  // base of the actor numbers in the fingerprint [8]
};

/// A member of a collective: its rank, and its actor unless the member is missing.
struct Member {
  RankId rank;
  ActorId actor;
};

struct Collective {
  CommunicatorId communicator;
  Duration takes;             // longest time of its members
  std::uint32_t members = 0;  // range in Plan::members: [members, members_end)
  std::uint32_t members_end = 0;
};

enum class MeetingKind : std::uint8_t {
  kMessage,     // the first send from one rank to another
  kCollective,  // the first collective call of a connection
  kHosts,       // a host step of role kMeet
};

/// A point where the hosts of several ranks wait for each other, any number of times [9.7].
struct Meeting {
  MeetingKind kind = MeetingKind::kHosts;
  CommunicatorId communicator;
  std::uint32_t ranks = 0;  // range in Plan::meeting_ranks: [ranks, ranks_end), ascending
  std::uint32_t ranks_end = 0;
  std::uint32_t users = 0;  // range in Plan::meeting_users: its actors, by rank and id
  std::uint32_t users_end = 0;
};

/// A meeting that an op needs. Among ops with equal `join`, only the first to run joins the
/// meeting.
struct Need {
  MeetingId meeting;
  std::uint32_t member = 0;    // own rank: index in Plan::meeting_ranks
  std::uint32_t join = kNoOp;  // index in State::joined; kNoOp: every op joins (role kMeet)
};

struct MeetingUser {
  ActorId actor;
  std::uint32_t join = kNoOp;  // see Need
};

struct Communicator {
  bool at_first_use = false;      // whether it is initialized at first use, not at the start [3.3]
  bool waits_for_device = false;  // whether its init waits for the members' devices
  bool connects = false;          // whether peers connect at their first use [9.7]
  bool open = false;              // whether ranks can be at different sequence numbers [9.4]
  bool on_host = false;           // whether hosts do its calls (gloo, MPI) [9.4, 9.5]
  bool in_calls = false;          // whether calls advance only while their ranks make some [9.5]
  LinkId link;                    // link of its collectives, if it can be down [10.4]
  Duration timeout;               // watchdog timeout of ops that use it [10.5]; 0: none
  Duration init_timeout;
  std::uint32_t ranks = 0;  // range in Plan::communicator_ranks: [ranks, ranks_end), ascending
  std::uint32_t ranks_end = 0;
  std::uint32_t size = 0;   // number of its ranks in the job; a plan can contain fewer
  std::uint32_t users = 0;  // range in Plan::communicator_users: its actors, by rank and id
  std::uint32_t users_end = 0;
};

/// A link between two ranks that fails at a given time [10.4].
struct Link {
  RankId first;
  RankId second;
  Time down;       // time of the failure
  Duration retry;  // delay until ops on the link get an error; 0: never
};

/// The death of a rank at a given time [10.2].
struct Death {
  RankId rank;
  Time at;
};

/// The timeouts of the runtime [10.5].
struct Timeouts {
  Duration poll;                    // period of the watchdog's checks; 0: it checks at any time
  Duration launcher;                // delay from a death to the end of its host; 0: never
  std::vector<std::uint32_t> host;  // host of each rank; required with a launcher
};

/// The data of a plan, see the head of this file.
struct Plan {
  Plan();
  Plan(const Plan&);
  Plan(Plan&&) noexcept;
  Plan& operator=(const Plan&);
  Plan& operator=(Plan&&) noexcept;
  ~Plan();

  std::uint32_t rank_count = 0;
  IdVector<ThreadId, Thread> threads;
  IdVector<StreamId, Stream> streams;
  IdVector<ActorId, Actor> actors;
  IdVector<RegisterId, Register> registers;  // grouped by producer
  IdVector<EdgeId, Edge> edges;              // grouped by register
  IdVector<CollectiveId, Collective> collectives;
  IdVector<CommunicatorId, Communicator> communicators;
  IdVector<DeviceId, Device> devices;
  IdVector<SignalId, Signal> signals;
  IdVector<LockId, RankId> locks;
  IdVector<CallId, Call> calls;  // grouped by actor
  IdVector<ChainId, Chain> chains;
  IdVector<LineId, Line> lines;
  std::vector<CallId> chained;            // calls of each chain, by stage and id
  IdVector<ChannelId, Channel> channels;  // channels used by calls
  std::vector<ChannelId> sources;         // sources of each channel of recvs from any rank
  IdVector<LinkId, Link> links;           // links that can be down
  IdVector<MeetingId, Meeting> meetings;
  std::vector<EdgeId> inputs;               // edges that each actor consumes
  std::vector<std::uint32_t> program;       // by op of a program: offset of its actor, see op()
  std::vector<Member> members;              // members of each collective
  std::vector<RankId> communicator_ranks;   // ranks of each communicator, ascending
  std::vector<LinkId> arrival_links;        // by communicator_ranks: link from the rank to the init
  std::vector<ActorId> communicator_users;  // actors that use each communicator
  std::vector<StreamId> device_streams;     // streams of each device
  std::vector<StreamId> synchronized;       // streams that each host step waits for
  std::vector<LineId> actor_lines;          // lines that the ops of each actor join
  std::vector<After> afters;                // waits of each actor for other streams
  std::vector<Need> needs;                  // meetings that each actor needs, by MeetingKind
  std::vector<RankId> meeting_ranks;        // ranks of each meeting, ascending
  std::vector<MeetingUser> meeting_users;   // actors that join each meeting
  std::uint32_t join_count = 0;             // number of distinct Need::join
  std::vector<StreamId> dependents;         // for each stream: the streams that wait for it
  std::vector<Death> deaths;
  Timeouts timeouts;
  bool open = false;           // whether some communicator is open
  bool in_calls = false;       // whether some communicator is `in_calls` [9.5]
  bool faulty = false;         // whether faults or timeouts (rules.md, 10) can occur
  bool aborts = false;         // whether some step aborts a communicator [9.9]
  std::uint64_t op_count = 0;  // number of ops of all actors

  IdRange<RegisterId> registers_of(ActorId actor) const {
    return {actors[actor].registers, actors[actor].registers_end};
  }
  IdRange<EdgeId> edges_of(RegisterId reg) const {
    return {registers[reg].edges, registers[reg].edges_end};
  }
  IdRange<CallId> calls_of(ActorId actor) const {
    return {actors[actor].calls, actors[actor].calls_end};
  }

  /// Whether ops of the actor join the launch order of `device`.
  bool in_order(const Device& device, ActorId id) const {
    const Actor& actor = actors[id];
    if (!device.ordered() || actor.role != Role::kCalls) return false;
    return device.order == LaunchOrder::kSerialCollectives ? actor.collects : !actor.unordered;
  }

  /// Whether the actor's ops join `line`.
  bool is_in(ActorId id, LineId line) const {
    const Actor& actor = actors[id];
    for (std::uint32_t i = actor.lines; i < actor.lines_end; ++i) {
      if (actor_lines[i] == line) return true;
    }
    return false;
  }

  /// Returns the actor of op `i` of `thread`; `i` is an index in Plan::program. Threads with equal
  /// programs on different actors share a range.
  ActorId op(const Thread& thread, std::uint32_t i) const {
    return ActorId{thread.first_actor.value + program[i]};
  }
};

/// The input for an actor; the builder derives the other fields.
struct ActorSpec {
  ThreadId thread;
  StreamId stream;
  Duration takes;
  Duration launch_overhead;
  std::uint32_t ops = 1;
  bool immediate = true;
  bool blocking = false;
  OutsideInput input;
  std::uint32_t kernel_slots = 1;
  std::uint32_t gang = 1;
};

/// A step of a host program, see Role.
struct StepSpec {
  Role role = Role::kWork;
  ThreadId thread;
  StreamId stream;  // roles with a stream only
  Duration launch_overhead;
  std::uint32_t ops = 1;
  bool blocking = false;  // roles with a stream only
  OutsideInput input;
  SignalId signal;
  LockId lock;
  CommunicatorId communicator;
  bool drains = false;  // kMeet: whether it waits for the communicator's calls; kAbort: the same
  std::uint32_t times = 0;
  Duration timeout;  // host steps only
  MeetingId meeting;
  std::uint32_t kernel_slots = 1;  // kCalls only
  std::uint32_t gang = 1;          // kCalls only
  bool unordered = false;          // kCalls only
};

struct CallSpec {
  CommunicatorId communicator;
  CallKind kind = CallKind::kCollective;
  RankId peer;  // sends and recvs: the other rank (not valid: from any rank); flows: the root
  bool buffered = false;
  Flow flow = Flow::kAll;  // collective calls only
  std::uint8_t steps = 0;  // sends and flows; at most kChannelSteps
  Signature signature;
  std::uint32_t connection = 0;  // collective calls only
  bool connects_pairs = false;   // collective calls only
  std::uint32_t tag = 0;
  std::uint32_t tag_step = 0;
  Duration takes;
  LinkId link;  // sends and recvs only
  bool fatal = false;
};

/// The input for a device, see Device.
struct DeviceSpec {
  std::uint32_t hardware_queues = 0;
  std::uint32_t resident = 0;
  LaunchOrder order = LaunchOrder::kNone;
  bool holds_queues = false;
  bool any_queue = false;
  std::uint32_t launch_queue = 0;
};

/// The faults of a communicator, see Communicator.
struct CommunicatorFaults {
  LinkId link;
  Duration timeout;
  Duration init_timeout;
  std::vector<LinkId> arrival_links;  // one per rank of the communicator, ascending; can be empty
};

struct RegisterSpec {
  std::uint32_t slots = 1;
  std::uint32_t ops_per_slot = 1;
  std::uint32_t drain_every = 0;
  bool control = false;
};

/// Makes plans. The input must be valid: lowering reports the user's mistakes. Invalid input is a
/// bug of the caller and ends the program with a failed check.
///
/// Ids of threads, streams, actors, collectives and communicators follow the order of the calls.
/// Registers and edges get their ids in build(), grouped, and within a group in the order of the
/// calls.
class PlanBuilder {
 public:
  /// An output of an actor before build().
  struct Output {
    std::uint32_t index = 0;
  };

  explicit PlanBuilder(std::uint32_t rank_count);

  ThreadId add_thread(RankId rank, ThreadOrder order);
  StreamId add_stream(RankId rank, std::uint32_t launch_queue);

  /// Adds a device without streams. The order of the put_on_device() calls determines the index of
  /// a stream on its device.
  DeviceId add_device(RankId rank, const DeviceSpec& spec);
  void put_on_device(StreamId stream, DeviceId device);

  SignalId add_signal();

  /// Adds a lock. `rank` is the first rank of the process that shares it.
  LockId add_lock(RankId rank);

  /// Adds an actor. Its thread and its stream must belong to one rank, which becomes the actor's
  /// rank.
  ActorId add_actor(const ActorSpec& spec);

  /// Adds a step. add_call() adds the calls of a step of role kCalls. All `record`s of a signal
  /// must be on one stream, and a signal is either recorded or set.
  ActorId add_step(const StepSpec& spec);

  /// Appends a call to the last step added, which must have role kCalls.
  void add_call(const CallSpec& spec);

  /// Sets the streams that the most recently added step waits for, in any order.
  void set_synchronized(std::vector<StreamId> streams);

  /// Adds a wait of `actor`, of role kOp or kCalls, for another stream of the same rank.
  /// add_after(): op k waits for op k + `ahead` of `other`; `other` must have all these ops.
  /// set_behind(): each op waits for all earlier launches on `stream`.
  void add_after(ActorId actor, ActorId other, std::uint32_t ahead);
  void set_behind(ActorId actor, StreamId stream);

  /// Adds an output of `producer`. `slots` and `ops_per_slot` are at least 1.
  Output add_register(ActorId producer, const RegisterSpec& spec);

  /// Adds a consumer. Registers of one actor keep the order of the add_register() calls; consumers
  /// of a register and inputs of an actor keep the order of the add_consumer() calls.
  void add_consumer(Output output, ActorId consumer, std::uint32_t ops_per_slot);

  /// Makes `output` reuse the memory of the last input added to its producer [4.4]. The output and
  /// the input must have one slot per op.
  void set_in_place(Output output);

  CommunicatorId add_communicator(std::vector<RankId> ranks, bool at_first_use,
                                  bool waits_for_device);

  /// Sets the number of ranks in the job; the plan contains only representatives.
  void set_size(CommunicatorId id, std::uint32_t ranks);

  /// Makes sends, recvs and collective calls on the communicator connect at first use [9.7].
  void connect_at_first_use(CommunicatorId id) { plan_.communicators[id].connects = true; }

  /// Marks the communicator's calls as host calls, with different checks of sizes and types [9.4,
  /// 9.5].
  void set_on_host(CommunicatorId id) { plan_.communicators[id].on_host = true; }

  /// Makes calls on the communicator advance only while their ranks are in such calls [9.5].
  void set_in_calls(CommunicatorId id) { plan_.communicators[id].in_calls = plan_.in_calls = true; }

  /// Adds a meeting of `ranks` for steps of role kMeet. The ranks belong to the communicator.
  MeetingId add_meeting(CommunicatorId communicator, std::vector<RankId> ranks);

  LinkId add_link(const Link& link);
  void set_communicator_faults(CommunicatorId id, const CommunicatorFaults& faults);
  void add_death(RankId rank, Time at);

  /// set_dies_at(): sets the op (from 0) at which the actor's rank dies. set_fails_at(): sets the
  /// op that ends in a device error.
  void set_dies_at(ActorId actor, std::uint32_t op);
  void set_fails_at(ActorId actor, std::uint32_t op);
  void set_timeouts(Timeouts timeouts);

  /// Adds a collective with members in group order. An actor can be a member of one collective.
  CollectiveId add_collective(CommunicatorId communicator, std::vector<Member> members);

  /// Reserves memory for the ops of all programs; `ops` is their maximum number.
  void reserve_programs(std::size_t ops) { plan_.program.reserve(ops); }

  /// Sets the ops of a thread of order kProgram, in order: each of its actors appears `ops` times.
  /// Must be called once for each such thread.
  void set_program(ThreadId thread, const std::vector<ActorId>& ops);

  /// Returns the plan and empties the builder.
  Plan build();

 private:
  struct PendingRegister {
    ActorId producer;
    RegisterSpec spec;
    std::uint32_t in_place = kNone;  // index of a pending consumer, or kNone
  };
  struct PendingConsumer {
    std::uint32_t output;
    ActorId consumer;
    std::uint32_t ops_per_slot;
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::vector<RegisterId> lay_out_registers();
  std::vector<EdgeId> lay_out_edges(const std::vector<RegisterId>& register_ids);
  void lay_out_inputs(const std::vector<EdgeId>& edge_ids);
  void lay_out_users();
  void lay_out_drained();
  std::uint32_t member_of(CommunicatorId id, RankId rank) const;
  void lay_out_devices();
  void lay_out_afters();
  void lay_out_channels();
  void lay_out_sources(ChannelId any);
  void chain_calls();
  void chain_calls_of(ActorId actor);
  void lay_out_lines();
  void set_watchdogs();
  void find_library_steps();
  void sum_up_actors();
  void check_programs() const;

  Plan plan_;
  std::vector<PendingRegister> registers_;
  std::vector<PendingConsumer> consumers_;
  std::vector<std::pair<ActorId, After>> afters_;
  std::vector<std::pair<ActorId, MeetingId>> meets_;
  std::vector<ActorId> drains_;  // steps that wait for calls on their communicator
  // One thread per distinct program, keyed by the hash of the program.
  std::unordered_multimap<std::size_t, ThreadId> programs_;
};

}  // namespace pipesim::sim
