// The plan: the frozen, flat form of a task graph that the engine runs.
//
// Everything is an index into an array; adjacency is stored as ranges (CSR). A plan holds nothing
// per act, so ten million acts of a thousand actors cost no more than a thousand acts. It is made
// once by a PlanBuilder, never changes, and may be shared by any number of runs.
//
// What the fields mean when the plan runs is docs/reference/rules.md; the numbers in brackets point
// there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/ids.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// In which order a host thread takes up its work [2].
enum class ThreadOrder : std::uint8_t {
  kArrival,  // one first-in-first-out inbox of messages
  kProgram,  // a fixed list of acts
};

/// What an act does. All but kOp are steps of host programs [9].
enum class Role : std::uint8_t {
  kOp,      // runs on its stream, alone or as a member of a named collective
  kCalls,   // on its stream: calls on communicators, which progress together [9.3]
  kRecord,  // on its stream: fires an event when it gets there [9.2]
  kWait,    // on its stream: holds it up until an event has fired
  // On the host, without a stream [9.1]:
  kWork,
  kSynchronize,  // until some streams have done what they were given
  kAwait,        // until an event has fired
  kSet,
  kLock,
  kUnlock,
  kCreate,  // of a communicator
  kMeet,    // after some streams, with the hosts of other ranks [9.7]
};

/// True for the steps that are not put on a stream.
constexpr bool on_host(Role role) { return role >= Role::kWork; }

/// True for the acts that hold one of the slots for what is resident on a device [5.3].
constexpr bool needs_slot(Role role) { return role == Role::kOp || role == Role::kCalls; }

/// Outside input for a source that waits for it [3.2]: item i (from 0) arrives at first + i *
/// every.
struct OutsideInput {
  bool waits = false;       // false: the actor needs no outside input
  std::uint32_t items = 0;  // how many ever arrive; at most Actor::acts
  Duration first;
  Duration every;
};

/// No act.
inline constexpr std::uint32_t kNoAct = 0xffffffff;

/// Act k of an actor starts only once act k + `ahead` of another, on another stream of its rank, is
/// done [5.4].
struct After {
  ActorId actor;
  std::uint32_t ahead = 0;
};

/// Fields in the order of how often the engine reads them: those that each act needs share a cache
/// line.
struct alignas(64) Actor {
  Duration takes;  // on the stream
  ThreadId thread;
  StreamId stream;
  CollectiveId collective;  // not valid: an ordinary op
  Role role = Role::kOp;
  bool immediate = false;     // its messages to its own thread leave at launch, not at the end [5]
  bool blocking = false;      // its thread stays in the launch until the act is done [3.5]
  bool in_lines : 1 = false;  // its acts stand in lines
  bool waits_for_streams : 1 = false;  // its acts may have to wait for other streams
  bool sends_at_launch : 1 = false;    // some of its messages leave then
  bool sends_at_end : 1 = false;
  std::uint32_t wanted = 0;  // acts that it can be ready for: a source that waits for outside input
                             // asks for one item beyond its work [3.1]
  std::uint32_t calls = 0;   // kCalls: range in Plan::calls: [calls, calls_end)
  std::uint32_t calls_end = 0;
  StreamId behind;           // starts only once what was launched there before is done [5.4]
  std::uint32_t afters = 0;  // kOp, kCalls: range in Plan::afters: [afters, afters_end)
  std::uint32_t afters_end = 0;
  std::uint32_t registers = 0;  // range in Plan::registers: [registers, registers_end)
  std::uint32_t registers_end = 0;
  std::uint32_t inputs = 0;  // range in Plan::inputs: [inputs, inputs_end)
  std::uint32_t inputs_end = 0;
  // Of launches, and of few acts:
  std::uint32_t lines = 0;  // kCalls: range in Plan::actor_lines: [lines, lines_end)
  std::uint32_t lines_end = 0;
  Duration launch_overhead;  // on the host thread, before each launch
  Duration timeout;          // of a step of the host; 0: none [10.5]
  Duration watchdog;         // the shortest timeout of the communicators that it uses
  RankId rank;
  std::uint32_t acts = 0;       // how often it acts
  std::uint32_t room = 0;       // kOp, kCalls: slots of its device that it needs [5.3]
  std::uint32_t gang = 1;       // it takes so many at a time, which divides `room`
  bool collects = false;        // kCalls: one of its calls is collective
  SignalId signal;              // kRecord, kWait, kAwait, kSet
  LockId lock;                  // kLock, kUnlock
  CommunicatorId communicator;  // kCreate; kMeet, or none: must exist first
  std::uint32_t times = 0;      // kAwait of a signal that hosts set: how often it must have fired
  std::uint32_t streams = 0;    // kSynchronize, kMeet: range in Plan::synchronized, ascending
  std::uint32_t streams_end = 0;
  std::uint32_t needs = 0;  // kCalls, kMeet: range in Plan::needs: [needs, needs_end)
  std::uint32_t needs_end = 0;
  std::uint32_t dies_at = kNoAct;   // its rank dies instead of the launch of this act [10.2]
  std::uint32_t fails_at = kNoAct;  // kOp: this act ends in an error of the device [10.3]
  OutsideInput input;
};

/// An output of an actor: `slots` credits, filled once per `acts_per_slot` acts [4].
struct Register {
  ActorId producer;
  std::uint32_t slots = 1;
  std::uint32_t acts_per_slot = 1;
  std::uint32_t drain_every = 0;  // every so many acts all slots must have come back; 0: never
  bool control = false;           // carries no data, only order
  EdgeId in_place;                // the input whose memory this output reuses, if any [4.4]
  std::uint32_t edges = 0;        // range in Plan::edges: [edges, edges_end)
  std::uint32_t edges_end = 0;
};

/// One consumer of a register, which takes one slot per `acts_per_slot` of its acts. Who reads its
/// messages, and on which thread, stands here once more: each message needs it twice, and would go
/// through register and actor for it.
struct alignas(32) Edge {
  RegisterId source;
  ActorId producer;
  ThreadId producer_thread;
  ActorId consumer;
  ThreadId consumer_thread;
  std::uint32_t acts_per_slot = 1;
  bool data_at_launch = false;  // the message to the consumer leaves when the producer launches
  bool ack_at_launch = false;   // the acknowledgement leaves when the consumer launches
  RegisterId in_place;          // the consumer's output that keeps this slot, if any [4.4]
};

struct Stream {
  RankId rank;
  std::uint32_t launch_queue = 1024;  // acts launched and not done before a launch blocks [3.4]
  bool shares_queue = false;          // the queue is that of its device: all its streams' acts
  DeviceId device;                    // not valid: what runs here is done by the host
  std::uint32_t hardware_queue = 0;   // of its device, if that has a limited number of them
  std::uint32_t dependents = 0;       // range in Plan::dependents: [dependents, dependents_end)
  std::uint32_t dependents_end = 0;
};

/// Which calls of a device wait for those that hosts launched before them [5.3].
enum class LaunchOrder : std::uint8_t {
  kNone,
  kImplicit,           // each starts after those before it have started
  kSerial,             // each starts after those before it have ended
  kSerialCollectives,  // the same, of acts with collective calls only
};

/// A device and the room that it has [5.3]. 0: no limit.
struct Device {
  RankId rank;
  std::uint32_t hardware_queues = 0;
  std::uint32_t resident = 0;      // slots, of which acts that run hold their room
  std::uint32_t wanted = 0;        // slots for the first acts of all streams, at most
  std::uint32_t launch_queue = 0;  // acts of all its streams, in place of their queues [3.4]
  LaunchOrder order = LaunchOrder::kNone;
  bool holds_queues = false;   // an act leaves its hardware queue when it ends, not when it starts
  bool any_queue = false;      // which streams share a hardware queue is not known
  bool records_queue = false;  // a record stands in a hardware queue until it starts
  std::uint32_t streams = 0;   // range in Plan::device_streams: [streams, streams_end), ascending
  std::uint32_t streams_end = 0;

  bool ordered() const { return order != LaunchOrder::kNone; }
  bool serial() const { return ordered() && order != LaunchOrder::kImplicit; }
  bool limited() const { return hardware_queues > 0 || resident > 0 || ordered(); }

  /// Whether acts of this role stand in a hardware queue, if there are some.
  bool queues(Role role) const {
    return hardware_queues > 0 && (holds_queues || records_queue || role != Role::kRecord);
  }
  /// Whether an act of this role, which stands in a hardware queue, leaves it when it starts.
  bool leaves_queue_at_start(Role role) const { return !holds_queues && role != Role::kWait; }

  /// The first acts of its streams may be more than have room at the same time.
  bool may_lack_slots() const { return resident > 0 && resident < wanted; }
  /// Of several that may start, but not all, nothing says which does.
  bool starts_freely() const { return may_lack_slots() && !ordered(); }
};

/// An event.
struct Signal {
  StreamId stream;  // on which it is recorded; not valid: hosts set it

  bool recorded() const { return stream.valid(); }
};

/// What all ranks must agree on in a collective call [9.4]. The numbers mean what the caller of the
/// builder decides.
struct Signature {
  std::uint32_t operation = 0;
  std::uint32_t root = 0;
  std::uint32_t type = 0;
  std::int64_t count = 0;

  friend constexpr bool operator==(const Signature&, const Signature&) = default;
};

/// Whether collective calls end together: hosts do not look at types [9.4].
inline constexpr bool can_meet(const Signature& a, Signature b, bool on_host) {
  if (on_host) b.type = a.type;
  return a == b;
}

enum class CallKind : std::uint8_t { kCollective, kSend, kReceive };

/// Which ranks wait for which in a collective call [9.4].
enum class Flow : std::uint8_t {
  kAll,       // all for all
  kFromRoot,  // along the ring, from the root on
  kToRoot,    // along the ring, to the root
  kTree,      // down a binomial tree, from the root on
  kStar,      // each with the root
};

/// Whether ranks pass on what is in the buffers of the next one.
inline constexpr bool is_ring(Flow flow) {
  return flow == Flow::kFromRoot || flow == Flow::kToRoot;
}

/// Instead of a peer: a receive takes the message of any rank [9.5].
inline constexpr std::uint32_t kAnyPeer = 0xffffffff;

/// A call on a communicator [9.3]. Sends and receives use count and type of the signature only.
struct Call {
  Duration takes;
  ActorId actor;
  CommunicatorId communicator;
  CallKind kind = CallKind::kCollective;
  bool eager = false;       // of a send
  bool fatal = false;       // its rank dies when it would be done [10.2]
  Flow flow = Flow::kAll;   // of a collective call
  std::uint8_t steps = 0;   // of a send or a flow: of a buffer; 0: it does not fit [9.4, 9.5]
  ChannelId channel;        // of a send or receive
  LinkId link;              // of a send or receive: what its message goes over, if that can be down
  ChainId chain;            // of its act, if calls of it hold others back
  std::uint32_t stage = 0;  // in its chain: it waits until the calls of the stage before are done
  std::uint32_t member = 0;      // its own rank: index in Plan::communicator_ranks
  std::uint32_t peer = 0;        // of a send or receive: likewise; of a flow: the root
  std::uint32_t tag = 0;         // of a send or receive: of its first act,
  std::uint32_t tag_step = 0;    // and what is added with each act, modulo 2^32
  std::uint32_t connection = 0;  // of a collective call: what its first use connects [9.7]
  Signature signature;

  bool from_any() const { return kind == CallKind::kReceive && peer == kAnyPeer; }
};

/// The acts of a rank with calls on a communicator, if those are on several streams: they run one
/// after the other, in the order of their launches [9.3].
struct Line {
  RankId rank;
  CommunicatorId communicator;
};

/// The calls of an act on one communicator, if they are of several stages [9.3].
struct Chain {
  std::uint32_t calls = 0;  // range in Plan::chained: [calls, calls_end), by stage and id
  std::uint32_t calls_end = 0;
};

/// The steps of a channel's buffer [9.5]: NCCL_STEPS.
inline constexpr std::uint32_t kChannelSteps = 8;

/// Carries the messages of one rank to one other (or itself) on a communicator [9.5]. That of the
/// receives from any rank carries none: they take theirs from its sources.
struct Channel {
  CommunicatorId communicator;
  std::uint32_t from = 0;  // indices in Plan::communicator_ranks, or kAnyPeer
  std::uint32_t to = 0;
  ChannelId any;              // that of receives from any rank, of which this is a source
  std::uint32_t sources = 0;  // range in Plan::sources: [sources, sources_end), by rank
  std::uint32_t sources_end = 0;
};

struct Thread {
  RankId rank;
  ThreadOrder order = ThreadOrder::kArrival;
  std::uint32_t program = 0;  // range in Plan::program: [program, program_end)
  std::uint32_t program_end = 0;
  ActorId first_actor;          // what the program counts from
  ActorId first_actor_of_rank;  // what the fingerprint counts from [8]
};

/// A member of a collective: its rank and, unless it never comes, the actor that stands for it.
struct Member {
  RankId rank;
  ActorId actor;
};

struct Collective {
  CommunicatorId communicator;
  Duration takes;             // the longest of its members
  std::uint32_t members = 0;  // range in Plan::members: [members, members_end)
  std::uint32_t members_end = 0;
};

enum class MeetingKind : std::uint8_t {
  kMessage,     // the first message from one rank to another
  kCollective,  // the first collective call of a connection
  kHosts,       // of role kMeet
};

/// Where hosts of several ranks wait for each other, again and again [9.7].
struct Meeting {
  MeetingKind kind = MeetingKind::kHosts;
  CommunicatorId communicator;
  std::uint32_t ranks = 0;  // range in Plan::meeting_ranks: [ranks, ranks_end), ascending
  std::uint32_t ranks_end = 0;
  std::uint32_t users = 0;  // range in Plan::meeting_users: the actors that come, by rank and id
  std::uint32_t users_end = 0;
};

/// A meeting that an act needs. Acts with the same `join` come to it once together: the first.
struct Need {
  MeetingId meeting;
  std::uint32_t member = 0;     // its own rank: index in Plan::meeting_ranks
  std::uint32_t join = kNoAct;  // index in State::joined; kNoAct: each act comes, of role kMeet
};

struct MeetingUser {
  ActorId actor;
  std::uint32_t join = kNoAct;  // see Need
};

struct Communicator {
  bool at_first_use = false;      // else it exists from the start [3.3]
  bool waits_for_device = false;  // creation also waits for what the members' devices have queued
  bool connects = false;          // messages and collectives connect at first use [9.7]
  bool open = false;              // ranks may leave a seq that others have not reached [9.4]
  bool on_host = false;           // hosts do its calls [9.4, 9.5]
  LinkId link;                    // what its collectives run over, if that can be down [10.4]
  Duration timeout;               // of acts that use it: the watchdog's [10.5]; 0: none
  Duration creation_timeout;
  Duration heartbeat;       // of threads that connect at first use [10.5]; 0: none
  std::uint32_t ranks = 0;  // range in Plan::communicator_ranks: [ranks, ranks_end), ascending
  std::uint32_t ranks_end = 0;
  std::uint32_t size = 0;   // how many ranks it has in the job, of which a plan may have a few
  std::uint32_t users = 0;  // range in Plan::communicator_users: its actors, by rank and id
  std::uint32_t users_end = 0;
};

/// A link between two ranks that stops working [10.4].
struct Link {
  RankId first;
  RankId second;
  Time down;       // from then on
  Duration retry;  // after which whoever uses it has an error; 0: never
};

/// A rank dies at a time [10.2].
struct Death {
  RankId rank;
  Time at;
};

/// The timers of a runtime [10.5].
struct Guards {
  Duration poll;                    // the watchdog looks at multiples of it; 0: at any time
  Duration launcher;                // so long after a death it ends the host's ranks; 0: never
  std::vector<std::uint32_t> host;  // of each rank; needed with a launcher
};

/// See the head of this file. All members are ranges of ids or plain numbers.
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
  std::vector<CallId> chained;            // grouped by chain
  IdVector<ChannelId, Channel> channels;  // those that calls use
  std::vector<ChannelId> sources;         // grouped by channel from any rank
  IdVector<LinkId, Link> links;           // that can be down
  IdVector<MeetingId, Meeting> meetings;
  std::vector<EdgeId> inputs;               // grouped by consumer
  std::vector<std::uint32_t> program;       // of each act the actor, see act()
  std::vector<Member> members;              // grouped by collective
  std::vector<RankId> communicator_ranks;   // grouped by communicator
  std::vector<LinkId> arrival_links;        // beside communicator_ranks: over it a rank arrives
  std::vector<ActorId> communicator_users;  // grouped by communicator
  std::vector<StreamId> device_streams;     // grouped by device
  std::vector<StreamId> synchronized;       // grouped by actor
  std::vector<LineId> actor_lines;          // grouped by actor
  std::vector<After> afters;                // grouped by actor
  std::vector<Need> needs;                  // grouped by actor, in the order of MeetingKind
  std::vector<RankId> meeting_ranks;        // grouped by meeting
  std::vector<MeetingUser> meeting_users;   // likewise
  std::uint32_t join_count = 0;             // of different Need::join
  std::vector<StreamId> dependents;         // of each stream: with acts that wait for it, ascending
  std::vector<Death> deaths;
  Guards guards;
  bool open = false;            // some communicator is
  bool faulty = false;          // something of docs/reference/rules.md, 10, can happen
  std::uint64_t act_count = 0;  // of all actors together

  IdRange<RegisterId> registers_of(ActorId actor) const {
    return {actors[actor].registers, actors[actor].registers_end};
  }
  IdRange<EdgeId> edges_of(RegisterId reg) const {
    return {registers[reg].edges, registers[reg].edges_end};
  }
  IdRange<CallId> calls_of(ActorId actor) const {
    return {actors[actor].calls, actors[actor].calls_end};
  }

  /// Whether acts of the actor stand in the launch order of `device`.
  bool in_order(const Device& device, ActorId id) const {
    const Actor& actor = actors[id];
    if (!device.ordered() || actor.role != Role::kCalls) return false;
    return device.order != LaunchOrder::kSerialCollectives || actor.collects;
  }

  /// Whether the actor is in the line.
  bool is_in(ActorId id, LineId line) const {
    const Actor& actor = actors[id];
    for (std::uint32_t i = actor.lines; i < actor.lines_end; ++i) {
      if (actor_lines[i] == line) return true;
    }
    return false;
  }

  /// What `thread` does at place `i` of `program`, which is in its range. Threads that do the same
  /// with actors of their own have one range.
  ActorId act(const Thread& thread, std::uint32_t i) const {
    return ActorId{thread.first_actor.value + program[i]};
  }
};

/// What a caller says of an actor; the builder works out the rest.
struct ActorSpec {
  ThreadId thread;
  StreamId stream;
  Duration takes;
  Duration launch_overhead;
  std::uint32_t acts = 1;
  bool immediate = true;
  bool blocking = false;
  OutsideInput input;
  std::uint32_t room = 1;
  std::uint32_t gang = 1;
};

/// A step of a host program, see Role.
struct StepSpec {
  Role role = Role::kWork;
  ThreadId thread;
  StreamId stream;  // of the roles that have one
  Duration launch_overhead;
  std::uint32_t acts = 1;
  bool blocking = false;  // of the roles that have a stream
  OutsideInput input;
  SignalId signal;
  LockId lock;
  CommunicatorId communicator;
  std::uint32_t times = 0;
  Duration timeout;  // of a step of the host
  MeetingId meeting;
  std::uint32_t room = 1;  // kCalls
  std::uint32_t gang = 1;  // likewise
};

struct CallSpec {
  CommunicatorId communicator;
  CallKind kind = CallKind::kCollective;
  RankId peer;  // of a send or receive (not valid: from any rank); of a flow the root
  bool eager = false;
  Flow flow = Flow::kAll;  // of a collective call
  std::uint8_t steps = 0;  // of a send or a flow; at most kChannelSteps
  Signature signature;
  std::uint32_t connection = 0;  // of a collective call
  std::uint32_t tag = 0;
  std::uint32_t tag_step = 0;
  Duration takes;
  LinkId link;  // of a send or receive
  bool fatal = false;
};

/// What a caller says of a device, see Device.
struct DeviceSpec {
  std::uint32_t hardware_queues = 0;
  std::uint32_t resident = 0;
  LaunchOrder order = LaunchOrder::kNone;
  bool holds_queues = false;
  bool any_queue = false;
  std::uint32_t launch_queue = 0;
};

/// What can go wrong with a communicator, see Communicator.
struct CommunicatorFaults {
  LinkId link;
  Duration timeout;
  Duration creation_timeout;
  Duration heartbeat;
  std::vector<LinkId> arrival_links;  // of its ranks, ascending; may be empty
};

struct RegisterSpec {
  std::uint32_t slots = 1;
  std::uint32_t acts_per_slot = 1;
  std::uint32_t drain_every = 0;
  bool control = false;
};

/// Makes plans. Its input must be valid (lowering has reported the user's mistakes); invalid input
/// is a bug of the caller and ends the program with a failed check.
/// Ids of threads, streams, actors, collectives and communicators are given in the order of the
/// calls. Registers and edges get their ids in build(), grouped and otherwise in that same order.
class PlanBuilder {
 public:
  /// An output of an actor as the builder knows it before build().
  struct Output {
    std::uint32_t index = 0;
  };

  explicit PlanBuilder(std::uint32_t rank_count);

  ThreadId add_thread(RankId rank, ThreadOrder order);
  StreamId add_stream(RankId rank, std::uint32_t launch_queue);

  /// Streams are put on devices in the order of the calls, which is their index there.
  DeviceId add_device(RankId rank, const DeviceSpec& spec);
  void put_on_device(StreamId stream, DeviceId device);

  SignalId add_signal();
  LockId add_lock(RankId rank);

  /// Thread and stream must be of one rank, which becomes the actor's.
  ActorId add_actor(const ActorSpec& spec);

  /// A step. One of role kCalls gets its calls by add_call. The `record`s of a signal must be on
  /// one stream, and a signal is either recorded or set.
  ActorId add_step(const StepSpec& spec);

  /// Appends a call to the last step that was added. All calls of a rank on one communicator must
  /// be on one stream.
  void add_call(const CallSpec& spec);

  /// The streams that the last step that was added synchronizes, in any order.
  void set_synchronized(std::vector<StreamId> streams);

  /// Act k of `actor` starts only once act k + `ahead` of `other` is done, or what was launched on
  /// `stream` before it. Of the roles kOp and kCalls; what is waited for is on another stream of
  /// the same rank, and `other` has as many acts.
  void add_after(ActorId actor, ActorId other, std::uint32_t ahead);
  void set_behind(ActorId actor, StreamId stream);

  /// `slots`, `acts_per_slot` at least 1.
  Output add_register(ActorId producer, const RegisterSpec& spec);

  /// Registers of one actor keep the order of the add_register calls, consumers of one register
  /// and inputs of one actor the order of the add_consumer calls.
  void add_consumer(Output output, ActorId consumer, std::uint32_t acts_per_slot);

  /// The last input that was added to the producer of `output` lends it its memory [4.4]. Both
  /// must have one slot per act.
  void set_in_place(Output output);

  CommunicatorId add_communicator(std::vector<RankId> ranks, bool at_first_use,
                                  bool waits_for_device);

  /// In the job it has more ranks, for which those of the plan stand.
  void set_size(CommunicatorId id, std::uint32_t ranks);

  /// Its messages and collective calls connect at first use [9.7].
  void connect_at_first_use(CommunicatorId id) { plan_.communicators[id].connects = true; }

  /// Hosts do its calls, which differ in what they make of sizes and types [9.4, 9.5].
  void set_on_host(CommunicatorId id) { plan_.communicators[id].on_host = true; }

  /// For steps of role kMeet, of some ranks of the communicator.
  MeetingId add_meeting(CommunicatorId communicator, std::vector<RankId> ranks);

  LinkId add_link(const Link& link);
  void set_communicator_faults(CommunicatorId id, const CommunicatorFaults& faults);
  void add_death(RankId rank, Time at);

  /// The act, from 0, at which the actor's rank dies; or which ends in an error, of an op.
  void set_dies_at(ActorId actor, std::uint32_t act);
  void set_fails_at(ActorId actor, std::uint32_t act);
  void set_guards(Guards guards);

  /// Members in the order of the group. An actor may be a member of one collective.
  CollectiveId add_collective(CommunicatorId communicator, std::vector<Member> members);

  /// How many acts all programs have, at most: their memory is taken at once.
  void reserve_programs(std::size_t acts) { plan_.program.reserve(acts); }

  /// The acts of a thread of order kProgram, in order: each of its actors as often as it acts. Once
  /// for each such thread.
  void set_program(ThreadId thread, const std::vector<ActorId>& acts);

  /// The plan. The builder is empty afterwards.
  Plan build();

 private:
  struct PendingRegister {
    ActorId producer;
    RegisterSpec spec;
    std::uint32_t in_place = kNone;  // index of a pending consumer
  };
  struct PendingConsumer {
    std::uint32_t output;
    ActorId consumer;
    std::uint32_t acts_per_slot;
  };
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::vector<RegisterId> lay_out_registers();
  std::vector<EdgeId> lay_out_edges(const std::vector<RegisterId>& register_ids);
  void lay_out_inputs(const std::vector<EdgeId>& edge_ids);
  void lay_out_users();
  std::uint32_t member_of(CommunicatorId id, RankId rank) const;
  void lay_out_devices();
  void lay_out_afters();
  void lay_out_channels();
  void lay_out_sources(ChannelId any);
  void chain_calls();
  void chain_calls_of(ActorId actor);
  void lay_out_lines();
  void set_watchdogs();
  void sum_up_actors();
  void check_programs() const;

  Plan plan_;
  std::vector<PendingRegister> registers_;
  std::vector<PendingConsumer> consumers_;
  std::vector<std::pair<ActorId, After>> afters_;
  std::vector<std::pair<ActorId, MeetingId>> meets_;
  std::unordered_multimap<std::size_t, ThreadId> programs_;  // by hash: threads with different ones
};

}  // namespace pipesim::sim
