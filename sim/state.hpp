// Everything that changes during a run, in flat arrays beside those of the plan.
//
// A State is plain data: copying it copies the run. Times of pending events are not in it; the
// engine holds those. What is here is enough to say, at any moment, who waits for whom.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/ids.hpp"
#include "sim/plan.hpp"
#include "sim/ring.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// What an act is doing between being ready and being launched, in this order
/// (docs/reference/rules.md, 3.2). A thread that is blocked is blocked in one of these.
enum class Step : std::uint8_t {
  kNone,  // not blocked
  kOutsideInput,
  kCreation,
  kConnection,  // at first use (9.7)
  kOverhead,
  kHostStep,  // what a step of the host waits for (9.1)
  kLaunchQueue,
  kCompletion,  // launched, and blocking until it is done
};

/// What a thread is doing.
enum class ThreadMode : std::uint8_t {
  kIdle,     // nothing to read
  kWaking,   // a wake is pending
  kRunning,  // being run right now
  kBlocked,  // in an act, at a step; a wake may be pending once that is over
};

/// A message in an inbox: an id of what it is about, tagged with its kind in the two top bits.
class Message {
 public:
  enum class Kind : std::uint32_t { kStart, kData, kAck };

  Message() = default;
  static Message start(ActorId actor) { return Message(Kind::kStart, actor.value); }
  static Message data(EdgeId edge) { return Message(Kind::kData, edge.value); }
  static Message ack(EdgeId edge) { return Message(Kind::kAck, edge.value); }

  Kind kind() const { return static_cast<Kind>(bits_ >> 30); }
  ActorId actor() const { return ActorId{bits_ & kIdMask}; }  // of a start message
  EdgeId edge() const { return EdgeId{bits_ & kIdMask}; }     // of the two others

 private:
  static constexpr std::uint32_t kIdMask = (1u << 30) - 1;
  Message(Kind kind, std::uint32_t id) : bits_((static_cast<std::uint32_t>(kind) << 30) | id) {}

  std::uint32_t bits_ = 0;
};

/// What stands in a stream: an act, or a mark.
class StreamItem {
 public:
  enum class Kind : std::uint32_t { kAct, kAckMark, kCreationMark, kSynchronizeMark };

  StreamItem() = default;
  /// `needed`: of a wait how often its signal must have fired; of an act that stays behind a stream
  /// (5.4) how many acts of that must be done.
  static StreamItem act(ActorId actor, std::uint32_t needed = 0) {
    StreamItem item(Kind::kAct, actor.value);
    item.needed_ = needed;
    return item;
  }
  static StreamItem ack_mark(EdgeId edge) { return StreamItem(Kind::kAckMark, edge.value); }
  static StreamItem creation_mark(CommunicatorId communicator) {
    return StreamItem(Kind::kCreationMark, communicator.value);
  }
  static StreamItem synchronize_mark(ThreadId thread) {
    return StreamItem(Kind::kSynchronizeMark, thread.value);
  }

  Kind kind() const { return static_cast<Kind>(bits_ >> 30); }
  ActorId actor() const { return ActorId{bits_ & kIdMask}; }
  EdgeId edge() const { return EdgeId{bits_ & kIdMask}; }
  CommunicatorId communicator() const { return CommunicatorId{bits_ & kIdMask}; }
  ThreadId thread() const { return ThreadId{bits_ & kIdMask}; }
  /// Of a mark: what it is and for whom. An order without a meaning.
  std::uint32_t mark() const { return bits_; }
  std::uint32_t needed() const { return needed_; }

 private:
  static constexpr std::uint32_t kIdMask = (1u << 30) - 1;
  StreamItem(Kind kind, std::uint32_t id) : bits_((static_cast<std::uint32_t>(kind) << 30) | id) {}

  std::uint32_t bits_ = 0;
  std::uint32_t needed_ = 0;
};
static_assert(sizeof(StreamItem) == 8);

/// `count` consecutive acts of a stream were launched at `time`.
struct Launches {
  Time time = kNever;
  std::uint32_t count = 0;
  std::uint32_t number = 0;  // on a limited device, where each launch has one of its own
};

/// A first-in-first-out line of threads, linked through ThreadState::next_in_line: a thread stands
/// in at most one.
struct ThreadLine {
  ThreadId first;
  ThreadId last;

  bool empty() const { return !first.valid(); }
};

/// The same for streams, through StreamState::next_in_line.
struct StreamLine {
  StreamId first;
  StreamId last;

  bool empty() const { return !first.valid(); }
};

struct ActorState {
  std::uint32_t launched = 0;
  std::uint32_t done = 0;
  std::uint32_t missing = 0;     // conditions of readiness that the next act lacks
  std::uint32_t calls_left = 0;  // of the act that has started: calls that are not done
};

struct RegisterState {
  std::uint32_t free = 0;      // credits
  std::uint32_t returned = 0;  // slots that every edge has acknowledged
  std::uint32_t at_least = 0;  // how many edges have acknowledged just `returned` slots
};

struct EdgeState {
  std::uint32_t available = 0;     // slots for the consumer, counted
  std::uint32_t acknowledged = 0;  // slots, as the producer has counted
};

/// What each act needs shares a cache line. Hosts launch many acts at one moment, so each time of
/// launches is kept once.
struct alignas(64) StreamState {
  Ring<StreamItem> items;    // the head first
  Time head_start = kNever;  // of the act at the head; kNever while it may not start
  Launches launch;           // of the first acts
  std::uint32_t done = 0;    // acts, since the start
  // Of a head that waits for other streams (5.4): it cannot start before so many acts of this one
  // are done. Not valid: it does not wait, or the stream is on a limited device.
  StreamId held_by;
  std::uint32_t held_until = 0;
  bool offered = false;          // a start of the head is pending (Stepper)
  std::uint32_t unfinished = 0;  // acts launched and not done, and places kept for threads
  std::uint32_t launched = 0;    // acts, since the start
  std::uint32_t slots = 0;       // of its device, that the head holds
  Ring<Launches> later_launches;
  ThreadLine waiting;     // for a place in the launch queue
  StreamId next_in_line;  // of a signal for which the wait at its head waits
  // Timers (10.5); kNever: none is set.
  Time watchdog = kNever;
  Time link_error = kNever;

  void push_act(StreamItem act, Time now) {
    items.push(act);
    Launches& last = later_launches.empty() ? launch : later_launches.back();
    if (last.count == 0) last.time = now;
    if (last.time == now) {
      ++last.count;
    } else {
      later_launches.push({now, 1});
    }
  }

  /// On a limited device: launch `number` there.
  void push_act(StreamItem act, Time now, std::uint32_t number) {
    items.push(act);
    if (launch.count == 0) {
      launch = {now, 1, number};
    } else {
      later_launches.push({now, 1, number});
    }
  }

  /// Takes the act at the head.
  StreamItem pop_act() {
    if (--launch.count == 0 && !later_launches.empty()) launch = later_launches.pop();
    return items.pop();
  }
};

/// Goes along the acts of a stream, from the first on, with the times of their launches.
class LaunchTimes {
 public:
  explicit LaunchTimes(const StreamState& stream) : stream_(stream), now_(stream.launch) {}

  /// Of the next act. Only while there is one.
  Time next() {
    if (now_.count == 0) now_ = stream_.later_launches[later_++];
    --now_.count;
    return now_.time;
  }

 private:
  const StreamState& stream_;
  Launches now_;
  std::uint32_t later_ = 0;
};

struct ThreadState {
  Ring<Message> inbox;
  ActorId at;  // the actor that it is at, or is blocked in
  ThreadMode mode = ThreadMode::kIdle;
  Step step = Step::kNone;
  std::uint32_t next_act = 0;  // of a program: index from its begin
  std::uint32_t needed = 0;    // kAwait: how often the signal must have fired; kMeet: met
  std::uint32_t marks = 0;     // kSynchronize, kMeet: those still in streams
  std::uint32_t unmet = 0;     // meetings that it waits for
  ThreadId next_in_line;
  // Timers (10.5): of the step of the host that it is in, and of the creation that blocks it.
  Time step_timeout = kNever;
  Time creation_timeout = kNever;
  LinkId cut_off;  // over which it could not arrive at a creation: it is blocked there forever
};

struct CommunicatorState {
  bool exists = false;
  std::uint32_t ranks_arrived = 0;
  std::uint32_t marks = 0;  // of a creation that waits for devices, still in streams
  ThreadLine blocked;       // in its creation
  // The round of collective calls that is under way (9.4):
  std::uint32_t in_round = 0;  // members that have arrived
  bool mismatched = false;
  CallId first;  // that arrived
};

/// Call of act `k`: of a message that no receive has taken yet, or the first in a round.
struct Sent {
  CallId call;
  std::uint32_t k = 0;
};

/// A seq of an open communicator (9.4), until all ranks have arrived.
struct Round {
  Sent first;                 // to arrive
  std::uint32_t arrived = 0;  // ranks
  std::uint32_t in_flow = 0;  // ranks that have arrived, from the first of the flow on
  bool mismatched = false;    // then it stays
};

/// The seqs of an open communicator at which some ranks have arrived.
struct Rounds {
  std::uint32_t passed = 0;   // seqs before these
  std::vector<Round> rounds;  // one after the other
};

/// Of a meeting (9.7).
struct MeetingState {
  struct Waiter {
    ThreadId thread;
    std::uint32_t needed = 0;  // until the ranks have met so often
  };
  std::uint32_t met = 0;      // how often all ranks have come
  std::uint32_t arrived = 0;  // ranks that have come more often
  std::vector<Waiter> blocked;
};

struct SignalState {
  std::uint32_t recorded = 0;  // launches of its records
  std::uint32_t fired = 0;
  ThreadLine threads;  // that await it
  StreamLine streams;  // that a wait at their head holds up
};

struct LockState {
  ThreadId holder;
  ThreadLine waiting;
};

/// The room of a limited device. Queues hold a stream for each act, in the order of launches.
struct DeviceState {
  std::vector<Ring<StreamId>> hardware_queues;
  Ring<StreamId> launch_order;
  std::uint32_t resident = 0;  // slots that acts hold
  std::uint32_t launches = 0;  // since the start
  // Of its launch queue, see StreamState.
  std::uint32_t unfinished = 0;
  ThreadLine waiting;
};

enum class CallStage : std::uint8_t {
  kInactive,  // its act has not started, or another call of the act holds it back
  kActive,    // waits for peers
  kRunning,
  kHangs,  // on a link that is down: it runs forever (10.4)
  kShort,  // a receive whose send was smaller: it waits for more, forever (9.5)
  kDone,   // until its act is done
};

/// The health of a rank (10.2, 10.3).
enum class Health : std::uint8_t {
  kSound,
  kFailed,  // nothing moves on its streams any more
  kDead,
};

/// The stage of a chain that is under way (9.3).
struct ChainState {
  std::uint32_t next = 0;  // in Plan::chained: the first call of the stage after it
  std::uint32_t left = 0;  // calls of it that are not done
};

struct ChannelState {
  Ring<Sent> messages;
  std::uint32_t steps = 0;  // of the buffer, that running sends and messages hold
  CallId sender;            // active: it waits for room in the buffer or for its receive
  CallId receiver;          // active, without a message
  // Of a source of receives from any rank:
  Ring<Time> came;       // when its messages and its active sender did
  bool offered = false;  // that it is taken next is pending (Stepper)
};

/// Described at the top of this file.
class State {
 public:
  State();
  State(const State&);
  State(State&&) noexcept;
  State& operator=(const State&);
  State& operator=(State&&) noexcept;
  ~State();

  IdVector<ActorId, ActorState> actors;
  IdVector<RegisterId, RegisterState> registers;
  IdVector<EdgeId, EdgeState> edges;
  IdVector<StreamId, StreamState> streams;
  IdVector<ThreadId, ThreadState> threads;
  IdVector<CollectiveId, std::uint32_t> members_started;  // of the instance that is under way
  IdVector<CollectiveId, std::uint8_t> hangs;             // on a link that is down (10.4)
  IdVector<CommunicatorId, CommunicatorState> communicators;
  IdVector<SignalId, SignalState> signals;
  IdVector<LockId, LockState> locks;
  IdVector<DeviceId, DeviceState> devices;
  IdVector<CallId, CallStage> calls;
  IdVector<ChannelId, ChannelState> channels;
  IdVector<ChainId, ChainState> chains;
  IdVector<LineId, Ring<StreamId>> lines;  // a stream for each act, in the order of launches
  IdVector<MeetingId, MeetingState> meetings;
  std::vector<std::uint32_t> came;    // beside Plan::meeting_ranks: how often
  std::vector<std::uint32_t> joined;  // by Need::join: as which time of its rank; 0: not yet
  std::vector<std::uint8_t> arrived;  // beside Plan::communicator_ranks
  std::vector<CallId> in_round;       // likewise: the call that has arrived in the round
  // Of open communicators; empty if the plan has none.
  IdVector<CommunicatorId, Rounds> rounds;
  std::vector<std::uint32_t> seqs;  // beside Plan::communicator_ranks: at how many it has arrived
  IdVector<RankId, Health> health;

  /// The state before anything has happened.
  static State initial(const Plan& plan);

  /// True if the thread is in the launch of the next act of `actor`, which is not launched yet.
  bool in_launch(const Plan& plan, ActorId actor) const {
    const ThreadState& thread = threads[plan.actors[actor].thread];
    return thread.mode == ThreadMode::kBlocked && thread.step != Step::kCompletion &&
           thread.at == actor;
  }

  /// How many acts its host thread has begun to launch.
  std::uint32_t entered(const Plan& plan, ActorId actor) const {
    return actors[actor].launched + (in_launch(plan, actor) ? 1 : 0);
  }

  /// How many acts have come to the head of their stream and found room there.
  std::uint32_t started(const Plan& plan, ActorId actor) const {
    const StreamId id = plan.actors[actor].stream;
    if (!id.valid()) return actors[actor].done;
    const StreamState& stream = streams[id];
    const bool head = !stream.items.empty() && stream.head_start != kNever &&
                      stream.items.front().kind() == StreamItem::Kind::kAct &&
                      stream.items.front().actor() == actor;
    return actors[actor].done + (head ? 1 : 0);
  }

  /// The round of a collective call that has arrived at an open communicator and is active.
  const Round& round_of(const Call& call) const;

  /// How far a member is along the flow of a round: the root is the first, or the last.
  static std::uint32_t place_in(const Plan& plan, const Round& round, std::uint32_t member);

  /// Whether what `from` has sent to `to` and that has not taken leaves room for its active call.
  bool has_room(const Plan& plan, const Call& from, std::uint32_t to) const;

  /// Whether such a call has to wait for another member; for none: it may run, unless its flow is
  /// kAll: then all run together.
  bool waits_for(const Plan& plan, const Call& call, std::uint32_t other) const;
  bool waits_for_none(const Plan& plan, const Call& call) const;

  /// Which item of its stream the n-th act of a line is.
  std::uint32_t item_in_line(const Plan& plan, LineId line, std::uint32_t n) const;

  /// True if the register's side of readiness holds for act `k` of its producer.
  static bool register_allows(const Register& reg, const RegisterState& state, std::uint32_t k) {
    if (k % reg.acts_per_slot != 0) return true;  // the group holds its credit already
    if (reg.drain_every > 0 && k % reg.drain_every == 0) return state.free == reg.slots;
    return state.free > 0;
  }
};

}  // namespace pipesim::sim
