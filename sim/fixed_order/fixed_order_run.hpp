// The run of fixed_order.hpp, for the source files fixed_order*.cpp only.
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

// The kinds of ops that run in a single step; nearly all ops of a large pipeline have such a kind.
enum class Short : std::uint8_t {
  kNone,
  kCompute,
  kSend,     // a single buffered send
  kReceive,  // a single recv of a buffered message
};

inline constexpr std::uint32_t kNone = 0xffffffff;

// Number of program entries that a thread prefetches: two cache lines.
inline constexpr std::uint32_t kAhead = 32;

// The fields of an actor that each op needs, in one cache line.
struct Op {
  Role role = Role::kOp;
  Short kind = Short::kNone;
  bool blocking = false;
  bool plain_entry = true;  // whether neither input nor overhead precedes the launch
  bool is_collective = false;
  bool joins = false;      // whether its next op is its first and can wait for other hosts
  bool keeps_all = false;  // whether the times of all its ops are kept
  StreamId stream;
  StreamId behind;
  std::uint32_t done = 0;
  std::uint32_t call = 0;  // range in Plan::calls: [call, call_end)
  std::uint32_t call_end = 0;
  std::uint32_t afters = 0;  // range in Plan::afters: [afters, afters_end)
  std::uint32_t afters_end = 0;
  std::uint32_t ends = kNone;  // index in FixedOrderRun::ends_, or kNone
  ChannelId channel;           // kSend, kReceive
  std::int64_t takes = 0;
  OpTimes* times = nullptr;  // where to store the times of its next op
};
static_assert(sizeof(Op) <= 64);

// The next action of a thread in its current op.
enum class Stage : std::uint8_t { kEnter, kJoin, kEntered, kStart, kRunning };

struct ThreadRun {
  std::uint32_t next = 0;  // index in Plan::program
  std::uint32_t end = 0;
  std::uint32_t first_actor = 0;
  std::uint32_t first_actor_of_rank = 0;
  std::int64_t now = 0;
  RankDigest digest;
  Stage stage = Stage::kEnter;
  std::uint32_t calls_left = 0;  // calls of the current op that are not done
  std::uint32_t meeting = 0;     // kMeet: arrival number of its rank; 0 if it has not arrived
  std::int64_t enter = 0;        // times of the current op
  std::int64_t launch = 0;
  std::int64_t start = 0;
  std::int64_t finish = 0;
};

struct StreamRun {
  std::int64_t end = 0;                // end of the last op
  bool limited = false;                // whether one of the queues below can be full
  std::uint32_t queue = kNone;         // index of its launch queue if it can be full, else kNone
  std::uint32_t slot = 0;              // index in the launch queue for the next op
  std::uint32_t device_queue = kNone;  // index of the launch queue of its device, or kNone
};

// The launch queue of a device. `latest` holds the latest `limit` ends of ops, the earliest of
// which frees the place for the next op.
struct DeviceQueueRun {
  std::uint32_t limit = 0;
  std::priority_queue<std::int64_t, std::vector<std::int64_t>, std::greater<>> latest;
};

// The times at which an actor's ops end, for other ops that wait for these ends. If a single actor
// waits for the ends in order, past ends are dropped.
struct KeptEnds {
  Ring<std::int64_t> ends;
  std::uint32_t first = 0;  // number of the op whose end is first in `ends`
  bool in_order = true;
};

// A message in transit, or a send or recv that waits.
struct Arrival {
  std::int64_t time = 0;
  CallId call;
  std::uint32_t k = 0;
};

// A message that left the buffer when its recv took it.
struct Taken {
  std::int64_t time = 0;
  std::uint32_t steps = 0;
};

struct ChannelRun {
  Ring<Arrival> messages;
  Ring<Taken> taken;        // the most recently taken messages
  std::uint32_t steps = 0;  // buffer steps held by `messages`
  ThreadId waiting;         // kReceive: thread that waits for the next message
  bool is_short = true;     // whether all its sends and recvs have a kind other than Short::kNone
  bool alike = true;        // whether the n-th message always matches the n-th recv
  Arrival sender;           // send that waits; its call is not valid if there is none
  Arrival receiver;
};

// The current stage of a chain of calls.
struct ChainRun {
  std::uint32_t next = 0;
  std::uint32_t left = 0;
  std::int64_t latest = 0;  // latest of its start and the ends of its calls
};

struct RoundRun {
  std::uint32_t arrived = 0;
  std::int64_t latest = 0;
  std::int64_t takes = 0;
  CallId first;
};

struct InitRun {
  std::uint32_t arrived = 0;
  std::int64_t latest = 0;
  std::vector<ThreadId> waiting;
};

struct MeetingRun {
  struct Gathering {
    std::uint32_t arrived = 0;
    std::int64_t latest = 0;
  };
  std::vector<Gathering> gatherings;  // one per time that the ranks meet, in order
  std::vector<ThreadId> waiting;
};

struct SignalRun {
  std::uint32_t fired = 0;
  std::int64_t last = 0;
  std::vector<std::int64_t> times;  // times of all firings, if hosts set the event
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
  bool wait_for_ops(const Op& op, std::int64_t& start);
  std::int64_t when_place_is_free(const StreamRun& stream, std::int64_t time) const;
  void take_place(StreamRun& stream, std::int64_t end);
  void begin(ThreadRun& thread, ActorId id, Op& op);
  void begin_collective(ThreadRun& thread, ActorId id);
  void begin_stage(ChainId id);
  void activate(CallId id, std::int64_t time);
  void arrive(CallId id, std::int64_t time);
  void receive(CallId id, std::int64_t time);
  bool has_space(const ChannelRun& channel, CallId send, std::int64_t& time) const;
  void run_buffered(CallId send, std::uint32_t k, std::int64_t time);
  void meet(ChannelId id);
  bool fits(const Arrival& sent, const Arrival& received) const;
  void end_call(CallId id, std::int64_t time);
  void end_op(ThreadRun& thread, ActorId id, Op& op);
  void record(ThreadRun& thread, ActorId id, Op& op, const OpTimes& times);
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
  IdVector<CommunicatorId, InitRun> inits_;
  IdVector<CollectiveId, RoundRun> collectives_;
  IdVector<MeetingId, MeetingRun> meetings_;
  std::vector<std::uint32_t> came_;    // like State::came
  std::vector<std::uint32_t> joined_;  // like State::joined
  IdVector<SignalId, SignalRun> signals_;
  std::vector<KeptEnds> ends_;                     // ends of ops that other ops wait for
  std::vector<std::vector<std::int64_t>> queues_;  // ends of the ops in each queue, as a ring
  std::vector<DeviceQueueRun> device_queues_;
  std::vector<CallId> round_calls_;  // the arrived call, parallel to Plan::communicator_ranks
  ReadySet queue_;                   // threads that can continue
  ThreadId turn_;
  bool failed_ = false;
  std::uint64_t ops_done_ = 0;
  std::int64_t last_ = 0;
  OpTimesTable op_times_;
};

}  // namespace pipesim::sim
