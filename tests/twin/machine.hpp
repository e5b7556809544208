// The twin's machine: docs/reference/rules.md, sections 2 to 6, 9 and 10, written as plainly as
// possible.
//
// The machine counts nothing that can be kept as an object: a message is an object with a slot
// number, a used credit is an object with the edges that have acknowledged it, a wake-up is an
// entry in a sorted event list. Every state is public, because waits.cpp (section 7) reads all
// states.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// Op `k` (from 0) of an actor.
struct Op {
  int actor = 0;
  int k = 0;

  friend auto operator<=>(const Op&, const Op&) = default;
};

/// Times of an op; a time is -1 until the op is launched, starts or ends.
struct Times {
  std::int64_t launch = -1;
  std::int64_t start = -1;
  std::int64_t end = -1;

  friend auto operator<=>(const Times&, const Times&) = default;
};

enum class MessageKind { kStart, kData, kAcknowledgement };

struct Message {
  MessageKind kind = MessageKind::kStart;
  int to = 0;     // the receiving actor
  int edge = -1;  // edge of data and acknowledgements
  int slot = -1;
};

/// An entry of a stream [5.2]: an op, or one of three kinds of marks.
struct Entry {
  std::optional<Op> op;
  std::optional<Message> acknowledgement;  // acknowledgement of an input used in place [4.4]
  int communicator = -1;                   // communicator whose init waits for this mark [3.3]
  int synchronizes = -1;                   // the thread that waits for the mark [9.1]
};

/// Steps of entering an op, in order [3.2]. Only ops on streams have kLaunchQueue; only other ops
/// have kHost.
enum class Step { kOutsideInput, kInit, kConnection, kOverhead, kLaunchQueue, kHost, kBlocking };

/// Key of a meeting of hosts [9.7], either for a connection or for steps of role kMeet.
struct MeetingKey {
  int step = -1;  // number of the meeting in the plan, for role kMeet
  int communicator = -1;
  int from = -1;  // sender, for sends and recvs
  int to = -1;

  friend auto operator<=>(const MeetingKey&, const MeetingKey&) = default;
};

/// A thread's visit to a meeting: its rank's visit with index `number`.
struct Coming {
  MeetingKey meeting;
  int number = 0;

  friend auto operator<=>(const Coming&, const Coming&) = default;
};

struct MeetingState {
  std::map<int, int> came;                      // number of visits, by rank
  std::vector<std::pair<int, Coming>> waiting;  // blocked threads, longest first
};

/// The log line of a thread that enters an op, or returns from it [3.6].
struct LogLine {
  std::int64_t time = 0;
  Op op;
  bool returns = false;

  friend auto operator<=>(const LogLine&, const LogLine&) = default;
};

/// The op in which a thread is blocked, and the step of entering this op.
struct Blocked {
  Op op;
  Step step = Step::kOutsideInput;
  int communicator = -1;       // kInit: the communicator
  bool link_was_down = false;  // kInit: whether the rank could not arrive [10.4]
  std::int64_t since = 0;      // kInit: when the thread blocked
};

struct ThreadState {
  bool wake_is_due = false;  // whether the event list holds a wake-up of the thread
  bool running = false;      // whether the thread's wake-up runs now
  std::optional<Blocked> blocked;
  std::deque<Message> inbox;     // order arrival: unread messages
  int at = -1;                   // order arrival: the current actor
  int position = 0;              // order program: index of the thread's next op
  int entering = -1;             // actor of the op that the thread launches or does right now
  std::set<int> streams_marked;  // streams with a queued mark of its synchronize step [9.1]
  std::vector<Coming> waits_at;  // meetings at which the thread waits [9.7]
  bool has_come = false;         // whether the thread, in a kMeet step, has arrived at the meeting
  std::int64_t entered = 0;      // when the thread entered its current op

  bool idle() const { return !wake_is_due && !running && !blocked; }
};

/// Launch queue of a stream, or of a device for all its streams [3.4].
struct LaunchQueue {
  std::deque<int> waiters;   // threads that wait, longest first
  std::set<int> place_kept;  // threads that were freed and have not run yet
};

struct StreamState {
  std::deque<Entry> entries;
  LaunchQueue queue;
};

struct CommunicatorState {
  bool exists = false;
  std::set<int> arrived;         // ranks that have arrived
  std::vector<int> blocked;      // blocked threads, longest first
  std::set<int> streams_marked;  // streams whose marks are queued
};

/// State of a device with limits [5.3].
struct DeviceState {
  std::map<Op, int> turn;  // launch number of each op
  std::map<int, std::deque<Op>> hardware_queues;
  std::deque<Op> launch_order;
  std::map<Op, int> holds;  // kernel slots by op
  LaunchQueue queue;        // also used on devices without limits
};

/// A thread or stream that waits until an event has fired `need` times [9.1, 9.2].
struct Waiter {
  int need = 0;
  int thread = -1;         // the thread of an await
  std::optional<Op> wait;  // or a wait at the head of its stream
};

struct SignalState {
  int fired = 0;
  std::vector<Op> records;  // launched records, in order; firing i comes from records[i]
  std::vector<Waiter> threads;
  std::vector<Waiter> streams;
};

struct LockState {
  std::optional<int> holder;  // thread that holds the lock
  std::deque<int> line;
};

/// Call number `call` of an op, counted from 0.
struct CallRef {
  Op op;
  int call = 0;

  friend auto operator<=>(const CallRef&, const CallRef&) = default;
};

struct CallState {
  bool active = false;
  bool running = false;
  bool done = false;
  std::optional<CallRef> met;  // for a send or recv: the matched call [9.5]
  int hangs_on = -1;           // number of the link on which the call hangs [10.4]
  bool is_short = false;       // whether the recv is larger than its send [9.5]
  bool cut = false;            // whether its peer has aborted the communicator meanwhile [9.9]
};

/// State of the current sequence number on a communicator that is not open [9.4].
struct RoundState {
  std::vector<CallRef> arrived;
  bool mismatched = false;
};

/// Key of a send queue: its communicator, sender and receiver [9.5].
struct ChannelKey {
  int communicator = 0;
  int from = 0;
  int to = 0;

  friend auto operator<=>(const ChannelKey&, const ChannelKey&) = default;
};

/// State of a send queue. A send represents its message. At most one send and one recv are active
/// at a time.
struct ChannelState {
  std::deque<CallRef> messages;
  std::set<CallRef> in_buffer;     // sends that hold buffer steps: they run, or wait as messages
  std::optional<CallRef> send;     // the send that waits for free steps or for a recv
  std::optional<CallRef> receive;  // the recv that has no message and no send yet
  std::deque<std::int64_t> came;   // arrival time of each message, then of the waiting send
};

/// Two ops with calls that do not match [9.4, 9.5].
struct Mismatch {
  bool message = false;  // whether a send and its recv mismatch, not collectives
  Op first;              // the first op to arrive, or the send
  Op second;             // the op that differs from it, or the recv

  friend auto operator<=>(const Mismatch&, const Mismatch&) = default;
};

/// Key of an event in the list [2].
struct EventKey {
  std::int64_t time = 0;
  int priority = 0;
  std::int64_t sequence = 0;

  friend auto operator<=>(const EventKey&, const EventKey&) = default;
};

/// The end of an op (or of all members of a collective), the wake-up of a thread, or the end of
/// calls.
struct Event {
  std::vector<Op> ends = {};
  int wakes = -1;
  std::vector<CallRef> calls = {};
  int round_of = -1;  // the communicator whose collective calls end
  int starts = -1;    // stream whose first op starts; explorer only (see `offers_starts`)
  // Explorer only: queue from which a recv from any rank takes a send.
  std::optional<ChannelKey> taken = {};

  friend auto operator<=>(const Event&, const Event&) = default;
};

/// Cause of a rank's death [10.2, 10.5].
enum class Why {
  kAtATime,
  kAtAnOp,
  kFatalCall,
  kDeviceError,
  kLinkError,
  kWatchdog,
  kTimeout,
  kLauncher,
};

struct Died {
  int rank = 0;
  std::int64_t time = 0;
  bool after_quiescence = false;
  Why why = Why::kAtATime;
  std::optional<Op> op;  // the op in which the rank died, if the rules name one
};

struct RankState {
  bool dead = false;
  bool failed = false;  // whether its devices failed [10.3]; the rank can live on
};

/// Kinds of timers, in the order of [10.5].
enum class TimerKind { kDeath, kLinkError, kWatchdog, kThread, kLauncher };

/// A timer. Timers are not stored: the next one due is derived from the state.
struct Timer {
  std::int64_t time = 0;
  TimerKind kind = TimerKind::kDeath;
  int number = 0;  // index in the list of deaths, or number of a stream, thread or rank
  int rank = 0;    // the rank that dies, or a rank on the host whose ranks die
  std::optional<Op> op;

  friend auto operator<=>(const Timer&, const Timer&) = default;
};

class Machine {
 public:
  explicit Machine(const Spec& plan);

  /// Runs until no event is left, which is the first quiescent state. Throws std::logic_error if
  /// the rules contradict themselves (an acknowledgement out of order, an impossible wait).
  void run();

  /// Runs the teardown [10.5] of a run that has not completed.
  void run_on();

  // Functions for an explorer of all interleavings (orders.hpp), instead of run(). Times have no
  // meaning for an explorer.
  void begin() { send_start_messages(); }
  std::vector<Event> pending() const;
  void happen(const Event& event);  // one of pending()
  /// Whether the start of an op on a device with slots and without a launch order [5.5] is a
  /// separate event.
  bool offers_starts = false;

  // Returns the queues from which a recv of rank `to` from any rank can take a send [9.5].
  std::vector<ChannelKey> sources(int communicator, int to) const;

  // Terms of the rules, which waits.cpp also uses.
  bool ready(int actor) const;                            // [3.1]
  bool waits_beyond_its_work(int actor) const;            // [3.1]
  int credits_free(int reg) const;                        // [3.1]
  bool has_edges(int reg) const;                          // [1]
  bool was_launched(Op op) const;                         // [3.5]
  bool is_done(Op op) const;                              // [5.2]
  bool leaves_at_launch(int sender, int receiver) const;  // [5.1]
  int reused_by(int edge) const;  // the register with edges that reuses this input [4.4], or -1
  std::optional<Op> first_op(int stream) const;
  /// Returns the streams that share the launch queue of a stream [3.4].
  std::vector<int> streams_of_queue(int stream) const;
  std::optional<int> next_in_program(int thread) const;  // actor of the next op
  bool all_arrived(int communicator) const;
  int arrival_link_of(int communicator, int rank) const;  // link [10.4], or -1
  // Returns the first communicator that the op must initialize.
  std::optional<int> missing_communicator(Op op) const;
  std::vector<int> ranks_of(const MeetingKey& meeting) const;  // [9.7]
  bool will_come(int actor, const MeetingKey& meeting) const;  // whether the next op comes to it
  int times_come(const MeetingKey& meeting, int rank) const;
  bool is_on_limited_device(int stream) const;  // whether the stream is on a limited device [5.3]
  bool needs_slot(Op op) const;
  bool in_launch_order(Op op) const;
  bool in_hardware_queue(Op op) const;  // whether the op joins a hardware queue
  // Returns the first ops of the op's lines, except the op itself [9.3].
  std::vector<Op> not_first_in_line(Op op) const;
  int free_slots(int device) const;
  bool can_take_slots(Op op) const;
  std::vector<Op> awaited_by(Op op) const;  // ops of its `afters` that are not done [5.4]
  // Returns the last op that `op` stays behind and that is not done [5.4].
  std::optional<Op> last_that_it_is_behind(Op op) const;
  bool was_started(Op op) const { return was_launched(op) && times.at(op).start >= 0; }
  CallState call_state(CallRef ref) const;
  bool is_open(int communicator) const;  // [9.4]
  bool fit(CallRef first, CallRef other) const;
  const std::vector<CallRef>& arrived_with(CallRef ref) const;
  std::set<int> ranks_waited_for(CallRef ref) const;
  bool is_library_step(int actor) const;  // whether the step is inside its rank's library [9.5]
  bool is_dead(int rank) const { return at(ranks, rank).dead; }
  bool has_stopped(int rank) const { return at(ranks, rank).dead || at(ranks, rank).failed; }

  const Actor& actor(int a) const { return at(spec.actors, a); }
  const Register& reg(int r) const { return at(spec.registers, r); }
  const Edge& edge(int e) const { return at(spec.edges, e); }
  int producer_of(int e) const { return reg(edge(e).reg).producer; }
  int rank_of(int a) const { return at(spec.threads, actor(a).thread).rank; }
  const Call& call_of(CallRef ref) const { return at(actor(ref.op.actor).calls, ref.call); }

  const Spec& spec;
  std::vector<std::vector<int>> registers_of_actor;
  std::vector<std::vector<int>> inputs_of_actor;
  std::vector<std::vector<int>> edges_of_register;
  std::vector<std::set<int>> dependents_of_stream;  // by stream: streams that can wait for it [5.4]

  std::int64_t now = 0;
  std::int64_t last_progress = 0;
  std::map<Op, Times> times;  // times of launched ops
  std::vector<int> launched;  // number of launched ops, by actor
  std::vector<int> done;
  std::vector<ThreadState> threads;
  std::vector<StreamState> streams;
  std::vector<CommunicatorState> communicators;
  std::vector<std::set<int>> available;  // by edge: slots that the consumer can use
  /// The slots that hold a credit, by register, each with the edges that have acknowledged the
  /// slot.
  std::vector<std::map<int, std::set<int>>> slots_out;
  std::vector<DeviceState> devices;
  std::vector<SignalState> signals;
  std::vector<LockState> locks;
  std::vector<RoundState> rounds;  // by communicator
  // The calls that have arrived, in order, by open communicator and sequence number.
  std::map<int, std::vector<std::vector<CallRef>>> seqs;
  std::map<ChannelKey, ChannelState> channels;
  /// Launched ops that are not done, by communicator of their calls and by rank.
  std::map<std::pair<int, int>, std::deque<Op>> lines;
  std::map<MeetingKey, MeetingState> meetings;
  std::map<MeetingKey, int> met;  // number of times that the ranks have met
  /// The number of the visit with which a rank connects, by meeting and (rank, connection) [9.7].
  std::map<std::pair<MeetingKey, std::pair<int, int>>, int> connections;
  std::map<Op, std::vector<CallState>> calls;  // call states of ops that have started
  std::set<std::pair<int, int>> aborted;       // communicators and ranks that aborted them [9.9]
  std::map<Op, int> needs;                     // number of firings that a `wait` op needs
  /// The ops that an op stays behind: those on the other stream at its launch [5.4].
  std::map<Op, std::vector<Op>> stays_behind;
  std::vector<Mismatch> mismatches;
  std::vector<RankState> ranks;
  std::vector<Died> deaths;         // sorted by time
  std::map<Op, int> ops_that_hang;  // by op of a collective: link on which it hangs [10.4]
  std::vector<LogLine> log;
  /// Calls that have met their peers and do not advance [9.5]. The calls in `waiting` wait until
  /// their ranks enter their libraries.
  struct Stalled {
    std::vector<CallRef> waiting;
    std::vector<CallRef> together;
    int round_of = -1;
  };
  std::vector<Stalled> stalled;
  /// Rare branches of the rules that this run took, for the statistics of the tests.
  mutable std::set<std::string> branches;

 private:
  void send_start_messages();
  void happen_now(const Event& event);
  void add_wake(std::int64_t time, int thread);
  void wake_soon(int thread);
  std::int64_t varied(int w1, int w2, std::int64_t w3, std::int64_t plain) const;
  int number_of(const CallRef& ref) const;
  void wake(int thread);
  void run_arrival(int thread);
  void run_program(int thread);

  // Steps of entering an op. Each function returns whether its step blocks the thread.
  bool enter(int thread, Op op, Step first);
  bool resume(int thread);
  bool blocks_for_outside_input(int thread, Op op);
  bool blocks_for_init(int thread, Op op);
  bool blocks_for_communicator(int thread, Op op, int communicator);
  bool arrive_at_init(int thread, int communicator);
  bool blocks_for_connections(int thread, Op op);
  bool blocks_at_meetings(int thread, const std::vector<Coming>& comings);
  std::set<MeetingKey> pairs_of(int communicator, int rank) const;
  std::vector<std::pair<MeetingKey, int>> connections_of(int actor, bool of_messages) const;
  int times_met(const MeetingKey& meeting) const;
  int come(const MeetingKey& meeting, int rank);
  void free_those_that_met(const MeetingKey& meeting);
  bool blocks_for_meeting(int thread, Op op);
  bool blocks_for_calls(int thread, Op op);
  void abort(int communicator, int rank);
  void abandon(CallRef ref);
  void cut(CallRef ref);
  void finish_call(CallRef ref);
  bool is_void(const Event& event) const;
  bool is_broken(int communicator) const;
  bool aborts_ended(Op op) const;
  bool blocks_for_overhead(int thread, Op op);
  LaunchQueue& queue_of(int stream);
  bool blocks_for_launch_queue(int thread, Op op);
  void launch(int thread, Op op);
  void put_on_stream(Op op);

  void complete_arrivals(int communicator);
  void finish_init(int communicator);

  std::vector<Message> messages_of(Op op) const;
  bool leaves_at_launch(const Message& message) const;
  void deliver(const Message& message);
  void count(const Message& message);
  void count_acknowledgement(const Message& message);
  void acknowledge_in_place(int reg, int slot);

  void start(Op op);
  void start_op(Op op);
  void start_if_it_may(Op op);
  void start_head(int stream);
  void leave(const Entry& mark, int stream);
  void end(Op op);
  void run_for(std::int64_t duration, Event event);

  // Limits of a device. machine_steps.cpp has this section and the next ones, up to events of
  // streams.
  void join_device(Op op);
  void leave_queues_at_start(Op op);
  void leave_device(Op op);
  bool can_start_on_device(Op op) const;
  std::optional<Op> next_on_device(int device) const;
  std::vector<Op> may_start_on_device(int device) const;
  bool offers(int device) const;
  void take_slots(Op op);
  void start_on_device(int stream);

  // Waiting for other streams.
  bool may_start(Op op) const;
  std::set<int> dependents_of(int stream) const;
  void start_dependents(int stream);
  void note_dependent(Op op);  // for the statistics of the tests

  // Host programs.
  bool blocks_on_host(int thread, Op op);
  bool blocks_for_streams(int thread, Op op);
  bool blocks_for_signal(int thread, Op op);
  bool blocks_for_lock(int thread, int lock);
  void unlock(int lock);
  void note_launch(Op op);
  void start_wait(Op op);
  void fire(int signal);

  // Calls on communicators; in machine_calls.cpp.
  void start_calls(Op op);
  int stage_of(CallRef ref) const;
  bool is_held_back(CallRef ref) const;
  std::vector<std::pair<int, int>> lines_of(int actor) const;
  void leave_lines(Op op);
  void start_in_lines(Op op);
  void activate_calls(Op op);
  void activate(CallRef ref);
  void run_calls(const std::vector<CallRef>& together, int round_of, std::int64_t less = 0);
  bool is_inside_library(int thread) const;
  bool is_stalled(const std::vector<CallRef>& together, int round_of);
  void enter_library(Op op);
  int steps_held(const ChannelState& channel) const;
  bool has_space_in_buffer(CallRef send);
  void run_into_buffer(CallRef send);
  void take(CallRef send, CallRef receive);
  void end_call(CallRef ref);
  void arrive(CallRef ref);
  void arrive_in_open(CallRef ref);
  std::vector<int> ring_of(const Call& first) const;
  std::set<int> sources_of(const std::vector<CallRef>& seq, int rank) const;
  std::set<int> sinks_of(const std::vector<CallRef>& seq, int rank) const;
  int steps_under_way(int communicator, int from, int to) const;
  ChannelState& channel_of(CallRef ref);
  void activate_send(CallRef ref);
  void come(CallRef send);
  void look_for_source(int communicator, int to);
  void take_source(const ChannelKey& source);
  void activate_receive(CallRef ref);
  void meet(CallRef send, CallRef receive);
  void put_message(CallRef ref);
  bool wants_more(CallRef send, CallRef receive) const;
  std::int64_t tag_of(CallRef ref) const;
  void compare(CallRef send, CallRef receive);

  // Faults and timeouts; in machine_faults.cpp.
  void die(int rank, Why why, std::optional<Op> op);
  bool dies_instead(int thread, Op op);
  bool sees_error(int thread, Op op);
  bool needs_device(Op op) const;
  void fail(int rank);
  bool waits_for_device(int thread) const;
  std::vector<int> ranks_in(const Event& event) const;
  bool is_stopped_by_faults(const Event& event);
  bool link_is_down(int link) const;
  bool has_dead_rank(int communicator) const;
  bool hangs(int link, std::int64_t takes, const std::vector<Op>& together);
  int link_of(const std::vector<CallRef>& together, int round_of) const;
  std::int64_t polled(std::int64_t time) const;
  std::optional<Timer> next_timer() const;
  void add_watchdogs(std::vector<Timer>& timers) const;
  void add_thread_timers(std::vector<Timer>& timers) const;
  std::int64_t timeout_of(Op op) const;
  void fire_timer(const Timer& timer);

  ThreadState& thread_state(int t) { return threads.at(static_cast<std::size_t>(t)); }
  StreamState& stream_state(int s) { return streams.at(static_cast<std::size_t>(s)); }
  CommunicatorState& communicator_state(int c) {
    return communicators.at(static_cast<std::size_t>(c));
  }
  SignalState& signal_state(int s) { return signals.at(static_cast<std::size_t>(s)); }
  LockState& lock_state(int l) { return locks.at(static_cast<std::size_t>(l)); }
  RoundState& round_state(int c) { return rounds.at(static_cast<std::size_t>(c)); }
  CallState& change_call(CallRef ref) {
    return calls.at(ref.op).at(static_cast<std::size_t>(ref.call));
  }

  std::map<EventKey, Event> events_;
  std::int64_t next_sequence_ = 0;
  bool rested_ = false;
  std::set<int> deaths_come_;       // indices of deaths in the list that have happened
  std::vector<Timer> link_errors_;  // includes link errors of ranks that are dead by now
  std::vector<Timer> launchers_;    // launchers that have not fired
};

/// Returns "at a time", "launcher" and so on.
std::string text(Why why);

/// Throws std::logic_error(text) unless `condition`.
void must(bool condition, const std::string& text);

}  // namespace pipesim::twin
