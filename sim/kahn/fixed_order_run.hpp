// The run of fixed_order.hpp, for the sources fixed_order*.cpp only.
//
// fixed_order.cpp         setup, threads, streams, results
// fixed_order_calls.cpp   calls on communicators, and meetings of hosts
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "sim/engine.hpp"
#include "sim/ready_set.hpp"
#include "sim/ring.hpp"

namespace pipesim::sim {

// Nearly all acts of a large plan are of these kinds, which take a single step.
enum class Short : std::uint8_t {
  kNone,
  kCompute,
  kSend,     // eager
  kReceive,  // of messages that are eager
};

inline constexpr std::uint32_t kNone = 0xffffffff;

// How many acts a thread reads ahead in its program: two cache lines.
inline constexpr std::uint32_t kAhead = 32;

// What each act needs of its actor, in a cache line.
struct Op {
  Role role = Role::kOp;
  Short kind = Short::kNone;
  bool blocking = false;
  bool plain_entry = true;  // no input and no overhead comes before its launch
  bool is_collective = false;
  bool joins = false;  // its next act is the first that may have to wait for hosts of other ranks
  bool keeps_all = false;  // the times of all of its acts
  StreamId stream;
  StreamId behind;
  std::uint32_t done = 0;
  std::uint32_t call = 0;  // range in Plan::calls
  std::uint32_t call_end = 0;
  std::uint32_t afters = 0;  // range in Plan::afters
  std::uint32_t afters_end = 0;
  std::uint32_t ends = kNone;  // where the ends of its acts are kept
  ChannelId channel;           // kSend, kReceive
  std::int64_t takes = 0;
  ActTimes* times = nullptr;  // where those of its next act are kept
};
static_assert(sizeof(Op) <= 64);

// What a thread does next with the act that it is at.
enum class Stage : std::uint8_t { kEnter, kJoin, kEntered, kStart, kRunning };

struct ThreadRun {
  std::uint32_t next = 0;  // in Plan::program
  std::uint32_t end = 0;
  std::uint32_t first_actor = 0;
  std::uint32_t first_actor_of_rank = 0;
  std::int64_t now = 0;
  RankDigest digest;
  Stage stage = Stage::kEnter;
  std::uint32_t calls_left = 0;  // of the act
  std::uint32_t meeting = 0;     // kMeet: as which time of its rank it has come; 0: not yet
  std::int64_t enter = 0;        // of the act
  std::int64_t launch = 0;
  std::int64_t start = 0;
  std::int64_t finish = 0;
};

struct StreamRun {
  std::int64_t end = 0;                // of the last act
  bool limited = false;                // one of these queues can be full:
  std::uint32_t queue = kNone;         // where its launch queue is kept, if that can be full
  std::uint32_t slot = 0;              // of that, for the next act
  std::uint32_t device_queue = kNone;  // likewise, that of its device
};

// The launch queue of a device. Of more acts than have room, as many as have end last: the first of
// these ends makes room for the next.
struct DeviceQueueRun {
  std::uint32_t room = 0;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> latest;
};

// The ends of the acts of an actor for which others wait. If a single one waits for them in order,
// those that it has passed are dropped.
struct KeptEnds {
  Ring<std::int64_t> ends;
  std::uint32_t first = 0;  // the act of the first of them
  bool in_order = true;
};

// A message on its way, or a send that waits for the matching receive.
struct Arrival {
  std::int64_t time = 0;
  CallId call;
  std::uint32_t k = 0;
};

// A message that left the buffer when its receive took it.
struct Taken {
  std::int64_t time = 0;
  std::uint32_t steps = 0;
};

struct ChannelRun {
  Ring<Arrival> messages;
  Ring<Taken> taken;        // the last ones
  std::uint32_t steps = 0;  // that `messages` hold
  ThreadId waiting;         // kReceive: for the next message
  bool is_short = true;     // all its sends and receives are of a short kind
  bool alike = true;        // the n-th message always fits the n-th receive
  Arrival sender;           // not eager; its call is invalid if there is none
  Arrival receiver;
};

// The stage of a chain of calls that is under way.
struct ChainRun {
  std::uint32_t next = 0;
  std::uint32_t left = 0;
  std::int64_t latest = 0;  // when it began, or a call of it ended
};

struct RoundRun {
  std::uint32_t arrived = 0;
  std::int64_t latest = 0;
  std::int64_t takes = 0;
  CallId first;
};

struct CreationRun {
  std::uint32_t arrived = 0;
  std::int64_t latest = 0;
  std::vector<ThreadId> waiting;
};

struct MeetingRun {
  struct Gathering {
    std::uint32_t arrived = 0;
    std::int64_t latest = 0;
  };
  std::vector<Gathering> gatherings;  // one after the other
  std::vector<ThreadId> waiting;
};

struct SignalRun {
  std::uint32_t fired = 0;
  std::int64_t last = 0;
  std::vector<std::int64_t> times;  // of one that hosts set
  std::vector<ThreadId> waiting;
};

class FixedOrderRun {
 public:
  FixedOrderRun(const Plan& plan, const RunOptions& options);

  std::optional<Outcome> run();

 private:
  void make_op(ActorId id);
  void make_channels();
  void make_short(ActorId id);
  void keep_ends();
  void limit_queues();
  void keep_times();

  void go_on(ThreadId id);
  bool short_step(ThreadId id, ThreadRun& thread, ActorId actor, Op& op);
  bool step(ThreadId id, ThreadRun& thread, ActorId actor, Op& op);
  bool enter(ThreadId id, ThreadRun& thread, ActorId actor, Op& op);
  bool join(ThreadId id, ThreadRun& thread, ActorId actor, Op& op);
  bool create(ThreadId id, ThreadRun& thread, const Actor& actor);
  bool create(ThreadId id, ThreadRun& thread, CommunicatorId communicator);
  bool connect(ThreadId id, ThreadRun& thread, const Actor& actor);
  bool meet(ThreadId id, ThreadRun& thread, const Actor& actor);
  void come(MeetingId id, std::uint32_t number, std::int64_t time);
  bool has_met(ThreadId thread, MeetingId id, std::uint32_t number, std::int64_t& time);
  bool host_step(ThreadId id, ThreadRun& thread, const Actor& actor);
  bool await(ThreadId id, ThreadRun& thread, const Actor& actor);
  bool start(ThreadRun& thread, const Op& op);
  bool find_start(const ThreadRun& thread, const Op& op, std::int64_t& launch, std::int64_t& start);
  bool wait_for_acts(const Op& op, std::int64_t& start);
  std::int64_t when_room(const StreamRun& stream, std::int64_t time) const;
  void take_room(StreamRun& stream, std::int64_t end);
  void begin(ThreadRun& thread, ActorId id, Op& op);
  void begin_collective(ThreadRun& thread, ActorId id);
  void begin_stage(ChainId id);
  void activate(CallId id, std::int64_t time);
  void arrive(CallId id, std::int64_t time);
  void receive(CallId id, std::int64_t time);
  bool has_room(const ChannelRun& channel, CallId send, std::int64_t& time) const;
  void run_buffered(CallId send, std::uint32_t k, std::int64_t time);
  void meet(ChannelId id);
  bool fits(const Arrival& sent, const Arrival& received) const;
  void end_call(CallId id, std::int64_t time);
  void end_act(ThreadRun& thread, ActorId id, Op& op);
  void record(ThreadRun& thread, ActorId id, Op& op, const ActTimes& times);
  void fire(SignalId id, std::int64_t time);

  void queue(ThreadId id);
  bool on_turn(ThreadId id) const { return id == turn_; }
  std::int64_t sum(std::int64_t time, std::int64_t takes) {
    const Time end = later(Time{time}, Duration{takes});
    failed_ = failed_ || end == kEndOfTime;
    return end.ns;
  }
  State final_state() const;

  const Plan& plan_;
  const RunOptions& options_;
  IdVector<ActorId, Op> ops_;
  IdVector<ThreadId, ThreadRun> threads_;
  IdVector<StreamId, StreamRun> streams_;
  IdVector<ChannelId, ChannelRun> channels_;
  IdVector<ChainId, ChainRun> chains_;
  IdVector<CommunicatorId, RoundRun> rounds_;
  IdVector<CommunicatorId, CreationRun> creations_;
  IdVector<CollectiveId, RoundRun> collectives_;
  IdVector<MeetingId, MeetingRun> meetings_;
  std::vector<std::uint32_t> came_;    // as in State
  std::vector<std::uint32_t> joined_;  // likewise
  IdVector<SignalId, SignalRun> signals_;
  std::vector<KeptEnds> ends_;                     // of actors that others wait for
  std::vector<std::vector<std::int64_t>> queues_;  // the ends of the acts that fill one, in turn
  std::vector<DeviceQueueRun> device_queues_;
  std::vector<CallId> round_calls_;  // beside Plan::communicator_ranks: the call in the round
  ReadySet queue_;                   // threads that can go on
  ThreadId turn_;
  bool failed_ = false;
  std::uint64_t acts_done_ = 0;
  std::int64_t last_ = 0;
  ActTimesTable act_times_;
};

}  // namespace pipesim::sim
