// The state of a run: everything that changes, in flat arrays parallel to those of the plan.
//
// A State is plain data: a copy of a State is a copy of the run. The engine, not the State, holds
// the times of pending events. A State suffices to determine, at any moment, who waits for whom.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "sim/assert.hpp"
#include "sim/ids.hpp"
#include "sim/plan.hpp"
#include "sim/ring.hpp"
#include "sim/time.hpp"

namespace pipesim::sim {

/// The stages of an op from ready to launched, in order (docs/reference/rules.md, 3.2). A blocked
/// thread is blocked in one of these stages.
enum class Step : std::uint8_t {
  kNone,  // not blocked
  kOutsideInput,
  kInit,
  kConnection,  // at first use (9.7)
  kOverhead,
  kHostStep,  // the wait of a host step (9.1)
  kLaunchQueue,
  kCompletion,  // launched; the thread blocks until the op is done
};

/// The activity of a thread.
enum class ThreadMode : std::uint8_t {
  kIdle,     // nothing to read
  kWaking,   // a wake is pending
  kRunning,  // running right now
  kBlocked,  // in an op, at a step; a wake may be pending once the step is over
};

/// A message in an inbox: the id of an actor or an edge, with the kind of the message in the top
/// two bits.
class Message {
 public:
  enum class Kind : std::uint32_t { kStart, kData, kAck };

  Message() = default;
  static Message start(ActorId actor) { return Message(Kind::kStart, actor.value); }
  static Message data(EdgeId edge) { return Message(Kind::kData, edge.value); }
  static Message ack(EdgeId edge) { return Message(Kind::kAck, edge.value); }

  Kind kind() const { return static_cast<Kind>(bits_ >> 30); }
  ActorId actor() const { return ActorId{bits_ & kIdMask}; }  // start messages
  EdgeId edge() const { return EdgeId{bits_ & kIdMask}; }     // data and acknowledgements

 private:
  static constexpr std::uint32_t kIdMask = (1u << 30) - 1;
  Message(Kind kind, std::uint32_t id) : bits_((static_cast<std::uint32_t>(kind) << 30) | id) {}

  std::uint32_t bits_ = 0;
};

/// An item in a stream: an op or a mark.
class StreamItem {
 public:
  enum class Kind : std::uint32_t { kOp, kAckMark, kInitMark, kSynchronizeMark };

  StreamItem() = default;
  /// Makes the item of an op. `needed`: for a wait, the number of firings of its signal; for an op
  /// that waits for a stream (5.4), the number of ops done on that stream.
  static StreamItem op(ActorId actor, std::uint32_t needed = 0) {
    StreamItem item(Kind::kOp, actor.value);
    item.needed_ = needed;
    return item;
  }
  static StreamItem ack_mark(EdgeId edge) { return StreamItem(Kind::kAckMark, edge.value); }
  static StreamItem init_mark(CommunicatorId communicator) {
    return StreamItem(Kind::kInitMark, communicator.value);
  }
  static StreamItem synchronize_mark(ThreadId thread) {
    return StreamItem(Kind::kSynchronizeMark, thread.value);
  }

  Kind kind() const { return static_cast<Kind>(bits_ >> 30); }
  ActorId actor() const { return ActorId{bits_ & kIdMask}; }
  EdgeId edge() const { return EdgeId{bits_ & kIdMask}; }
  CommunicatorId communicator() const { return CommunicatorId{bits_ & kIdMask}; }
  ThreadId thread() const { return ThreadId{bits_ & kIdMask}; }
  /// Returns the kind and the target of the item as one number.
  std::uint32_t mark() const { return bits_; }
  std::uint32_t needed() const { return needed_; }

 private:
  static constexpr std::uint32_t kIdMask = (1u << 30) - 1;
  StreamItem(Kind kind, std::uint32_t id) : bits_((static_cast<std::uint32_t>(kind) << 30) | id) {}

  std::uint32_t bits_ = 0;
  std::uint32_t needed_ = 0;
};
static_assert(sizeof(StreamItem) == 8);

// A stream's queue stores its head directly and the other items in blocks of one cache line, from
// one store for all streams. Hosts run far ahead of their devices, so the queues of a large run
// hold millions of items. A host that launches without a pause gets adjacent blocks, in the order
// in which its device later reads the items, so these blocks share pages.

/// The blocks of all queues. A position is block number * kWords + index of the item in the block.
class StreamBlocks {
 public:
  // Words per block, each of the size of an item.
  static constexpr std::uint32_t kWords = 8;
  // Items per block; the last word is the number of the next block.
  static constexpr std::uint32_t kItems = kWords - 1;

  /// Adds a block that is its own successor, and returns its number.
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

  /// Returns the position of the next item after `position`.
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

/// A first-in-first-out queue. Its blocks form a ring, which the queue keeps and enlarges when
/// full.
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
    if (last_ % StreamBlocks::kWords == StreamBlocks::kItems) make_space(blocks);
    blocks.at(last_++) = item;
  }

  /// Inserts `item` before item `index`, which is not the head. Cost: linear in the queue.
  void insert(StreamBlocks& blocks, std::uint32_t index, StreamItem item) {
    PIPESIM_DCHECK(index > 0 && index <= size_);
    std::uint32_t at = first_;
    for (std::uint32_t i = 1; i < size_; ++i) {
      if (i >= index) std::swap(blocks.at(at), item);
      at = blocks.behind(at);
    }
    push(blocks, item);
  }

  StreamItem pop(StreamBlocks& blocks) {
    PIPESIM_DCHECK(size_ > 0);
    const StreamItem item = head_;
    if (--size_ == 0) return item;
    head_ = blocks.at(first_);
    if (size_ == 1) {
      // Only the head is left, so the block is reused from its start.
      first_ = last_ = first_ - first_ % StreamBlocks::kWords;
    } else {
      first_ = blocks.behind(first_);
    }
    return item;
  }

  /// Prefetches the data for pop(): the items of a long queue were written long ago.
  void prefetch(const StreamBlocks& blocks) const {
    if (size_ > 1) blocks.prefetch(first_);
  }

  /// The items, head first.
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
  // Continues in another block after the last item: a free block of the ring, or a new one.
  [[gnu::noinline]] void make_space(StreamBlocks& blocks) {
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

  // A position that looks like the end of a block.
  static constexpr std::uint32_t kNoBlock = 0xffffffff;

  StreamItem head_;
  std::uint32_t size_ = 0;
  std::uint32_t first_ = kNoBlock;  // position of the item after the head
  std::uint32_t last_ = kNoBlock;   // position for the next item
};

/// A group of `count` consecutive ops of a stream, launched at `time`.
struct Launches {
  Time time = kNever;
  std::uint32_t count = 0;
  std::uint32_t number = 0;  // on a limited device: launch number; each launch has its own entry
};

/// A first-in-first-out queue of threads, linked through ThreadState::next_in_line: a thread is in
/// at most one such queue.
struct ThreadLine {
  ThreadId first;
  ThreadId last;

  bool empty() const { return !first.valid(); }
};

/// A first-in-first-out queue of streams, linked through StreamState::next_in_line.
struct StreamLine {
  StreamId first;
  StreamId last;

  bool empty() const { return !first.valid(); }
};

struct ActorState {
  std::uint32_t launched = 0;
  std::uint32_t done = 0;
  std::uint32_t missing = 0;     // number of unmet readiness conditions of the next op
  std::uint32_t calls_left = 0;  // number of calls of the started op that are not done
};

struct RegisterState {
  std::uint32_t free = 0;      // number of free credits
  std::uint32_t returned = 0;  // slots that every edge has acknowledged
  std::uint32_t at_least = 0;  // number of edges that have acknowledged exactly `returned` slots
};

struct EdgeState {
  std::uint32_t available = 0;     // slots that the consumer has counted and not used
  std::uint32_t acknowledged = 0;  // slots whose acknowledgement the producer has counted
};

/// The state of a stream. The fields that each op needs share a cache line. Hosts launch many ops
/// at one moment, so each launch time is stored once.
struct alignas(64) StreamState {
  StreamQueue items;         // head first
  std::uint32_t done = 0;    // ops done since the start
  Time head_start = kNever;  // start of the op at the head; kNever before its start
  Launches launch;           // launch of the ops at the front of `items`
  // The head waits for another stream (5.4): it cannot start before `held_until` ops of `held_by`
  // are done. Not valid: the head does not wait, or the stream is on a limited device.
  StreamId held_by;
  std::uint32_t held_until = 0;
  std::uint32_t unfinished = 0;  // launched ops that are not done, plus places reserved for threads
  ThreadLine waiting;            // threads waiting for a place in the launch queue
  // Fields for launches and for actors with few ops:
  std::uint32_t launched = 0;  // ops launched since the start
  std::uint32_t slots = 0;     // kernel slots that the head holds
  Ring<Launches> later_launches;
  StreamId next_in_line;  // next stream whose head waits for the same event
  bool offered = false;   // whether a start of the head is pending (Stepper)
  // Timers (10.5); kNever: not set.
  Time watchdog = kNever;
  Time link_error = kNever;

  /// Records the launch of an op that is already in `items`.
  void add_launch(Time now) {
    Launches& last = later_launches.empty() ? launch : later_launches.back();
    if (last.count == 0) last.time = now;
    if (last.time == now) {
      ++last.count;
    } else {
      later_launches.push({now, 1});
    }
  }

  /// Records launch `number` of a limited device.
  void add_launch(Time now, std::uint32_t number) {
    if (launch.count == 0) {
      launch = {now, 1, number};
    } else {
      later_launches.push({now, 1, number});
    }
  }

  /// Removes the launch of the op that leaves the head.
  void remove_launch() {
    if (--launch.count == 0 && !later_launches.empty()) launch = later_launches.pop();
  }
};

/// Iterates over the launch times of a stream's ops, first op first.
class LaunchTimes {
 public:
  explicit LaunchTimes(const StreamState& stream) : stream_(stream), now_(stream.launch) {}

  /// Returns the launch time of the next op, which must exist.
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
  ActorId at;  // the current actor; if blocked, the thread is blocked in its op
  ThreadMode mode = ThreadMode::kIdle;
  Step step = Step::kNone;
  std::uint32_t next_op = 0;  // programs: index of the next op
  // kAwait: number of firings to wait for; kMeet: number of the awaited arrival.
  std::uint32_t needed = 0;
  std::uint32_t marks = 0;  // kSynchronize, kMeet, kDrain, kAbort: number of marks in streams
  std::uint32_t unmet = 0;  // number of meetings to wait for
  ThreadId next_in_line;
  // Timers (10.5): of the current host step, and of the communicator init that blocks the thread.
  Time step_timeout = kNever;
  Time init_timeout = kNever;
  LinkId cut_off;  // failed link to a communicator init: the thread is blocked there forever
};

struct CommunicatorState {
  bool exists = false;
  std::uint32_t ranks_arrived = 0;
  std::uint32_t marks = 0;  // number of marks still in streams, if its init waits for devices
  ThreadLine blocked;       // threads blocked in its init
  // State of the current sequence number (9.4):
  std::uint32_t in_round = 0;  // number of members that have arrived
  bool mismatched = false;
  CallId first;               // first call to arrive
  std::uint32_t stalled = 0;  // number of arrived calls in State::stalled
  bool broken = false;        // whether some rank has aborted the communicator (9.9)
};

/// A call of op `k`: a send whose message no recv has taken, or the first call at a sequence
/// number.
struct Sent {
  CallId call;
  std::uint32_t k = 0;
};

/// A sequence number of an open communicator (9.4), until all ranks have arrived.
struct Round {
  Sent first;                 // first call to arrive
  std::uint32_t arrived = 0;  // number of ranks that have arrived
  std::uint32_t in_flow = 0;  // length of the prefix of the flow that has arrived
  bool mismatched = false;    // whether it can never complete
};

/// The sequence numbers of an open communicator at which some ranks have arrived.
struct Rounds {
  std::uint32_t passed = 0;   // number of sequence numbers before the first of `rounds`
  std::vector<Round> rounds;  // one per sequence number, in order
};

/// The state of a meeting (9.7).
struct MeetingState {
  struct Waiter {
    ThreadId thread;
    std::uint32_t needed = 0;  // the thread waits until `met` reaches this number
  };
  std::uint32_t met = 0;      // number of times that all ranks have met
  std::uint32_t arrived = 0;  // number of ranks that have arrived more than `met` times
  std::vector<Waiter> blocked;
};

struct SignalState {
  std::uint32_t recorded = 0;  // number of launched records
  std::uint32_t fired = 0;
  ThreadLine threads;  // threads that await the signal
  StreamLine streams;  // streams whose head waits for the signal
};

struct LockState {
  ThreadId holder;
  ThreadLine waiting;
};

/// The kernel slots and queues of a limited device. A queue holds the stream of each op, in launch
/// order.
struct DeviceState {
  std::vector<Ring<StreamId>> hardware_queues;
  Ring<StreamId> launch_order;
  std::uint32_t resident = 0;  // number of slots held by ops
  std::uint32_t launches = 0;  // number of launches since the start
  // The launch queue of the device, see StreamState.
  std::uint32_t unfinished = 0;
  ThreadLine waiting;
};

enum class CallStage : std::uint8_t {
  kInactive,  // its op has not started, or another call of the op holds it back
  kActive,    // waits for peers
  kMet,       // has met its peers; some rank is not inside its library (9.5)
  kRunning,
  kHangs,  // runs forever on a link that is down (10.4)
  kShort,  // a recv that never ends, because its send had too little or too much data (9.5)
  kCut,    // never ends, because a rank aborted the communicator while the call ran (9.9)
  kDone,   // done, until the next op starts
};

/// The health of a rank (10.2, 10.3).
enum class Health : std::uint8_t {
  kSound,
  kFailed,  // nothing on its streams makes progress
  kDead,
};

/// The current stage of a chain (9.3).
struct ChainState {
  std::uint32_t next = 0;  // index in Plan::chained of the first call of the next stage
  std::uint32_t left = 0;  // number of calls of the stage that are not done
};

struct ChannelState {
  Ring<Sent> messages;
  std::uint32_t steps = 0;  // number of buffer steps held by running sends and messages
  CallId sender;            // active send that waits for buffer space or for its recv
  CallId receiver;          // active recv without a message
  // Fields for sources of recvs from any rank:
  Ring<Time> came;            // arrival times of its messages and of its active send
  bool offered = false;       // whether an event that takes its next message is pending (Stepper)
  std::uint32_t stalled = 0;  // number of calls in State::stalled, if a send and a recv have met
};

/// The state of a run; see the top of this file.
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
  StreamBlocks blocks;  // items of all stream queues
  IdVector<ThreadId, ThreadState> threads;
  IdVector<CollectiveId, std::uint32_t> members_started;  // members started in the current instance
  IdVector<CollectiveId, std::uint8_t> hangs;             // 1: hangs on a link that is down (10.4)
  IdVector<CommunicatorId, CommunicatorState> communicators;
  IdVector<SignalId, SignalState> signals;
  IdVector<LockId, LockState> locks;
  IdVector<DeviceId, DeviceState> devices;
  IdVector<CallId, CallStage> calls;
  IdVector<ChannelId, ChannelState> channels;
  IdVector<ChainId, ChainState> chains;
  IdVector<LineId, Ring<StreamId>> lines;  // stream of each op, in launch order
  IdVector<MeetingId, MeetingState> meetings;
  std::vector<std::uint32_t> came;    // by Plan::meeting_ranks: number of arrivals
  std::vector<std::uint32_t> joined;  // by Need::join: number of the arrival; 0: none
  std::vector<std::uint8_t> arrived;  // by Plan::communicator_ranks: 1 if arrived at the init
  std::vector<CallId> in_round;       // by Plan::communicator_ranks: the arrived call
  // 1 if the rank has aborted the communicator (9.9), in the order of Plan::communicator_ranks.
  // Empty if the plan has no aborts.
  std::vector<std::uint8_t> aborted;
  // Open communicators only; empty if the plan has none.
  IdVector<CommunicatorId, Rounds> rounds;
  std::vector<std::uint32_t> seqs;  // by Plan::communicator_ranks: sequence numbers reached
  IdVector<RankId, Health> health;
  // Calls that have met their peers and wait until this rank is inside its library (9.5). Empty if
  // the plan has no such calls.
  IdVector<RankId, std::vector<CallId>> stalled;

  /// Returns the state before the first event.
  static State initial(const Plan& plan);

  /// Whether the actor's thread is blocked before the launch of the actor's next op.
  bool in_launch(const Plan& plan, ActorId actor) const {
    const ThreadState& thread = threads[plan.actors[actor].thread];
    return thread.mode == ThreadMode::kBlocked && thread.step != Step::kCompletion &&
           thread.at == actor;
  }

  /// Returns the number of the actor's ops that its thread has entered.
  std::uint32_t entered(const Plan& plan, ActorId actor) const {
    return actors[actor].launched + (in_launch(plan, actor) ? 1 : 0);
  }

  /// Returns the number of the actor's ops that have started.
  std::uint32_t started(const Plan& plan, ActorId actor) const {
    const StreamId id = plan.actors[actor].stream;
    if (!id.valid()) return actors[actor].done;
    const StreamState& stream = streams[id];
    const bool head = !stream.items.empty() && stream.head_start != kNever &&
                      stream.items.front().kind() == StreamItem::Kind::kOp &&
                      stream.items.front().actor() == actor;
    return actors[actor].done + (head ? 1 : 0);
  }

  /// Returns the items of a stream, head first.
  StreamQueue::Items items_of(StreamId id) const { return {streams[id].items, blocks}; }

  /// Returns the number (from 0) of the op at position `at` of the stream, counted per actor.
  std::uint32_t op_at(StreamId id, const StreamQueue::Items::Iterator& at) const;

  /// Returns the sequence number's state for an active collective call on an open communicator.
  const Round& round_of(const Call& call) const;

  /// Returns the position of a member along the flow; the root is first or last.
  static std::uint32_t place_in(const Plan& plan, const Round& round, std::uint32_t member);

  /// Whether the buffer of `to` has space for the active call of `from`, after everything that
  /// `from` has sent to `to` and `to` has not taken.
  bool has_space(const Plan& plan, const Call& from, std::uint32_t to) const;

  /// waits_for(): whether an active call on an open communicator waits for member `other`.
  /// waits_for_none(): whether it waits for no member and can run; calls of flow kAll then run
  /// together.
  bool waits_for(const Plan& plan, const Call& call, std::uint32_t other) const;
  bool waits_for_none(const Plan& plan, const Call& call) const;

  /// Returns the index, in its stream, of the n-th op of a line.
  std::uint32_t item_in_line(const Plan& plan, LineId line, std::uint32_t n) const;

  /// Whether the register's readiness condition holds for op `k` of its producer.
  static bool register_allows(const Register& reg, const RegisterState& state, std::uint32_t k) {
    if (k % reg.ops_per_slot != 0) return true;  // the group holds its credit already
    if (reg.drain_every > 0 && k % reg.drain_every == 0) return state.free == reg.slots;
    return state.free > 0;
  }
};

}  // namespace pipesim::sim
