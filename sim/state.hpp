// Everything that changes during a run, in flat arrays beside those of the plan.
//
// A State is plain data: copying it copies the run. Times of pending events are not in it; the
// engine holds those. What is here is enough to say, at any moment, who waits for whom.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "sim/assert.hpp"
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

// The queues of streams keep their heads at hand, and what is behind a head in blocks of a cache
// line, which come from one store for all streams. Hosts run far ahead of their devices, so that
// the queues of a large run hold millions of items: in blocks, those of a rank lie side by side, in
// the order in which it launched and will need them, and share pages.

/// The blocks of all queues. A position is the number of a block, times kWords, plus that of an
/// item in it.
class StreamBlocks {
 public:
  static constexpr std::uint32_t kWords = 8;           // of the size of an item
  static constexpr std::uint32_t kItems = kWords - 1;  // the last word says which block follows

  /// A new block, which follows itself.
  std::uint32_t add() {
    const auto block = static_cast<std::uint32_t>(blocks_.size());
    blocks_.emplace_back();
    blocks_.back().next = block;
    return block;
  }

  StreamItem& at(std::uint32_t position) {
    return blocks_[position / kWords].items[position % kWords];
  }
  const StreamItem& at(std::uint32_t position) const {
    return blocks_[position / kWords].items[position % kWords];
  }
  std::uint32_t& next(std::uint32_t block) { return blocks_[block].next; }

  /// The position behind this one: that of an item, whatever it was before.
  std::uint32_t behind(std::uint32_t position) const {
    ++position;
    return position % kWords < kItems ? position : blocks_[position / kWords].next * kWords;
  }

  void prefetch(std::uint32_t position) const { __builtin_prefetch(&blocks_[position / kWords]); }

 private:
  struct alignas(64) Block {
    std::array<StreamItem, kItems> items;
    std::uint32_t next = 0;
  };
  static_assert(sizeof(Block) == 64);

  std::vector<Block> blocks_;
};

/// A first-in-first-out queue. Its blocks form a ring, which it keeps and enlarges when it is full.
class StreamQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }

  const StreamItem& front() const {
    PIPESIM_DCHECK(size_ > 0);
    return head_;
  }

  void push(StreamBlocks& blocks, StreamItem item) {
    if (++size_ == 1) {
      head_ = item;
      return;
    }
    if (last_ % StreamBlocks::kWords == StreamBlocks::kItems) make_room(blocks);
    blocks.at(last_++) = item;
  }

  StreamItem pop(StreamBlocks& blocks) {
    PIPESIM_DCHECK(size_ > 0);
    const StreamItem item = head_;
    if (--size_ == 0) return item;
    head_ = blocks.at(first_);
    if (size_ == 1) {
      // None is behind the head: the block is used from its start.
      first_ = last_ = first_ - first_ % StreamBlocks::kWords;
    } else {
      first_ = blocks.behind(first_);
    }
    return item;
  }

  /// Fetches what pop() needs. An item of a long queue was written long ago.
  void prefetch(const StreamBlocks& blocks) const {
    if (size_ > 1) blocks.prefetch(first_);
  }

  /// The items, the head first.
  class Items {
   public:
    class Iterator {
     public:
      using iterator_category = std::input_iterator_tag;
      using value_type = StreamItem;
      using difference_type = std::ptrdiff_t;
      using pointer = const StreamItem*;
      using reference = StreamItem;

      Iterator(const Items& items, std::uint32_t index)
          : items_(&items), index_(index), position_(items.queue_->first_) {}
      StreamItem operator*() const {
        return index_ == 0 ? items_->queue_->head_ : items_->blocks_->at(position_);
      }
      Iterator& operator++() {
        if (index_++ > 0) position_ = items_->blocks_->behind(position_);
        return *this;
      }
      bool operator==(const Iterator& other) const { return index_ == other.index_; }

     private:
      const Items* items_;
      std::uint32_t index_;
      std::uint32_t position_;
    };

    Items(const StreamQueue& queue, const StreamBlocks& blocks)
        : queue_(&queue), blocks_(&blocks) {}
    Iterator begin() const { return Iterator(*this, 0); }
    Iterator end() const { return Iterator(*this, queue_->size_); }

   private:
    const StreamQueue* queue_;
    const StreamBlocks* blocks_;
  };

 private:
  // Behind the last item comes another block: a free one of the ring, or a new one.
  [[gnu::noinline]] void make_room(StreamBlocks& blocks) {
    if (last_ == kNoBlock) {
      first_ = last_ = blocks.add() * StreamBlocks::kWords;
      return;
    }
    const std::uint32_t block = last_ / StreamBlocks::kWords;
    std::uint32_t next = blocks.next(block);
    if (next == first_ / StreamBlocks::kWords) {
      next = blocks.add();
      blocks.next(next) = blocks.next(block);
      blocks.next(block) = next;
    }
    last_ = next * StreamBlocks::kWords;
  }

  // Looks like the end of a block.
  static constexpr std::uint32_t kNoBlock = 0xffffffff;

  StreamItem head_;
  std::uint32_t size_ = 0;
  std::uint32_t first_ = kNoBlock;  // position of the item behind the head
  std::uint32_t last_ = kNoBlock;   // position for the next item
};

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
  StreamQueue items;         // the head first
  std::uint32_t done = 0;    // acts, since the start
  Time head_start = kNever;  // of the act at the head; kNever while it may not start
  Launches launch;           // of the first acts
  // Of a head that waits for other streams (5.4): it cannot start before so many acts of this one
  // are done. Not valid: it does not wait, or the stream is on a limited device.
  StreamId held_by;
  std::uint32_t held_until = 0;
  std::uint32_t unfinished = 0;  // acts launched and not done, and places kept for threads
  ThreadLine waiting;            // for a place in the launch queue
  // Of launches, and of few acts:
  std::uint32_t launched = 0;  // acts, since the start
  std::uint32_t slots = 0;     // of its device, that the head holds
  Ring<Launches> later_launches;
  StreamId next_in_line;  // of a signal for which the wait at its head waits
  bool offered = false;   // a start of the head is pending (Stepper)
  // Timers (10.5); kNever: none is set.
  Time watchdog = kNever;
  Time link_error = kNever;

  /// An act is launched, which is in `items`.
  void add_launch(Time now) {
    Launches& last = later_launches.empty() ? launch : later_launches.back();
    if (last.count == 0) last.time = now;
    if (last.time == now) {
      ++last.count;
    } else {
      later_launches.push({now, 1});
    }
  }

  /// On a limited device: launch `number` there.
  void add_launch(Time now, std::uint32_t number) {
    if (launch.count == 0) {
      launch = {now, 1, number};
    } else {
      later_launches.push({now, 1, number});
    }
  }

  /// The act at the head leaves `items`.
  void remove_launch() {
    if (--launch.count == 0 && !later_launches.empty()) launch = later_launches.pop();
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
  StreamBlocks blocks;  // of their items
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

  /// What stands in the stream.
  StreamQueue::Items items_of(StreamId id) const { return {streams[id].items, blocks}; }

  /// Which act (from 0) of its actor the item `at` of the stream is.
  std::uint32_t act_at(StreamId id, const StreamQueue::Items::Iterator& at) const;

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
