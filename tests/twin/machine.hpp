// The twin's machine: docs/reference/rules.md, sections 2 to 6, 9 and 10, as plainly as they can be
// written down.
//
// It counts nothing that can be kept as a thing: messages are objects with a slot number, a credit
// that is out is an object with the edges that have acknowledged it, a wake is an entry in a sorted
// event list. Every state is public, because waits.cpp (section 7) reads all of it.
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

/// Act `k` (from 0) of an actor.
struct Act {
  int actor = 0;
  int k = 0;

  friend auto operator<=>(const Act&, const Act&) = default;
};

/// -1 for what has not happened.
struct Times {
  std::int64_t launch = -1;
  std::int64_t start = -1;
  std::int64_t end = -1;

  friend auto operator<=>(const Times&, const Times&) = default;
};

enum class MessageKind { kStart, kData, kAcknowledgement };

struct Message {
  MessageKind kind = MessageKind::kStart;
  int to = 0;     // the actor it is addressed to
  int edge = -1;  // data and acknowledgements
  int slot = -1;
};

/// What stands in a stream [5.2]: an act, or one of three kinds of marks.
struct Entry {
  std::optional<Act> act;
  std::optional<Message> acknowledgement;  // of an input that is used in place [4.4]
  int communicator = -1;                   // whose creation waits for the devices [3.3]
  int synchronizes = -1;                   // the thread that waits for it [9.1]
};

/// The steps of entering an act, in order [3.2].
/// The launch queue is of steps on streams, the host of the others.
enum class Step {
  kOutsideInput,
  kCreation,
  kConnection,
  kOverhead,
  kLaunchQueue,
  kHost,
  kBlocking
};

/// A meeting of hosts [9.7]: of a connection, or of steps.
struct MeetingKey {
  int step = -1;  // of role kMeet: its number in the plan
  int communicator = -1;
  int from = -1;  // of a message
  int to = -1;

  friend auto operator<=>(const MeetingKey&, const MeetingKey&) = default;
};

/// A thread that came to it as time `number` of its rank.
struct Coming {
  MeetingKey meeting;
  int number = 0;

  friend auto operator<=>(const Coming&, const Coming&) = default;
};

struct MeetingState {
  std::map<int, int> came;                      // of each rank: how often
  std::vector<std::pair<int, Coming>> waiting;  // threads, in the order in which they were blocked
};

/// A thread enters an act, or returns from it [3.6].
struct LogLine {
  std::int64_t time = 0;
  Act act;
  bool returns = false;

  friend auto operator<=>(const LogLine&, const LogLine&) = default;
};

/// In which act, and at which step of it, a thread is blocked.
struct Blocked {
  Act act;
  Step step = Step::kOutsideInput;
  int communicator = -1;       // kCreation: of which
  bool link_was_down = false;  // kCreation: its rank could not arrive [10.4]
  std::int64_t since = 0;      // kCreation, kConnection: when it was blocked there
  std::int64_t heartbeat = 0;  // kConnection: the smallest of those that it waits for
};

struct ThreadState {
  bool wake_is_due = false;  // a wake is in the event list
  bool running = false;      // within its wake
  std::optional<Blocked> blocked;
  std::deque<Message> inbox;     // order arrival
  int at = -1;                   // order arrival: the actor it is at
  int position = 0;              // order program: its next act in the list
  std::set<int> streams_marked;  // that it synchronizes and whose mark has not left [9.1]
  std::vector<Coming> waits_at;  // meetings [9.7]
  bool has_come = false;         // in a step of role kMeet
  std::int64_t entered = 0;      // when it entered the act that it is in

  bool idle() const { return !wake_is_due && !running && !blocked; }
};

/// Of a stream, or of a device for all of its streams [3.4].
struct LaunchQueue {
  std::deque<int> waiters;   // threads that wait for it, longest first
  std::set<int> place_kept;  // threads that were freed and have not run yet
};

struct StreamState {
  std::deque<Entry> entries;
  LaunchQueue queue;
};

struct CommunicatorState {
  bool exists = false;
  std::set<int> arrived;         // ranks
  std::vector<int> blocked;      // threads, in the order in which they were blocked
  std::set<int> streams_marked;  // whose mark has not left
};

/// Only of devices with room [5.3].
struct DeviceState {
  std::map<Act, int> turn;  // in which acts were launched
  std::map<int, std::deque<Act>> hardware_queues;
  std::deque<Act> launch_order;
  std::map<Act, int> holds;  // slots
  LaunchQueue queue;         // also where there is no room to share
};

/// Who waits for an event to have fired `need` times [9.1, 9.2].
struct Waiter {
  int need = 0;
  int thread = -1;          // of an await
  std::optional<Act> wait;  // or a wait on its stream
};

struct SignalState {
  int fired = 0;
  std::vector<Act> records;  // launched, in order: fired[i] comes from records[i]
  std::vector<Waiter> threads;
  std::vector<Waiter> streams;
};

struct LockState {
  std::optional<int> holder;  // a thread
  std::deque<int> line;
};

/// Call number `call` of an act.
struct CallRef {
  Act act;
  int call = 0;

  friend auto operator<=>(const CallRef&, const CallRef&) = default;
};

struct CallState {
  bool active = false;
  bool running = false;
  bool done = false;
  std::optional<CallRef> met;  // a send or receive: the other one [9.5]
  int hangs_on = -1;           // a link [10.4]
  bool is_short = false;       // a receive that waits for more than its send had [9.5]
};

/// Of a communicator, one that is not open [9.4].
struct RoundState {
  std::vector<CallRef> arrived;
  bool mismatched = false;
};

/// From a rank to a rank on a communicator [9.5].
struct ChannelKey {
  int communicator = 0;
  int from = 0;
  int to = 0;

  friend auto operator<=>(const ChannelKey&, const ChannelKey&) = default;
};

/// A message is the send that it comes from. At most one send and one receive are active at a time.
struct ChannelState {
  std::deque<CallRef> messages;
  std::set<CallRef> in_buffer;     // sends with steps that run or are messages
  std::optional<CallRef> send;     // waits for room or for a receive
  std::optional<CallRef> receive;  // has neither a message nor met a send
  std::deque<std::int64_t> came;   // when the messages and the send that waits did
};

/// Two acts with calls that do not fit [9.4, 9.5].
struct Mismatch {
  bool message = false;  // else of a collective
  Act first;             // the first of the round, or the send
  Act second;            // the one that differs, or the receive

  friend auto operator<=>(const Mismatch&, const Mismatch&) = default;
};

/// The place of an event in the list [2].
struct EventKey {
  std::int64_t time = 0;
  int priority = 0;
  std::int64_t sequence = 0;

  friend auto operator<=>(const EventKey&, const EventKey&) = default;
};

/// The end of an act (or of all members of a collective), the wake of a thread, or the end of
/// calls.
struct Event {
  std::vector<Act> ends = {};
  int wakes = -1;
  std::vector<CallRef> calls = {};
  int round_of = -1;  // the calls end a round of this communicator
  int starts = -1;    // the first op of this stream, of an explorer only (see `offers_starts`)
  std::optional<ChannelKey> taken = {};  // a receive from any rank takes of it, likewise

  friend auto operator<=>(const Event&, const Event&) = default;
};

/// Why a rank died [10.2, 10.5].
enum class Why {
  kAtATime,
  kAtAnAct,
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
  bool after_rest = false;
  Why why = Why::kAtATime;
  std::optional<Act> act;  // in which it died, where the rules name one
};

struct RankState {
  bool dead = false;
  bool failed = false;  // its devices [10.3]; it may live on
};

/// Kinds of timers in the order of [10.5].
enum class TimerKind { kDeath, kLinkError, kWatchdog, kThread, kLauncher };

/// Timers are not kept but found: what is due next follows from the state.
struct Timer {
  std::int64_t time = 0;
  TimerKind kind = TimerKind::kDeath;
  int number = 0;  // of a death in its list, a stream, a thread or a rank
  int rank = 0;    // that dies, or whose host does
  std::optional<Act> act;

  friend auto operator<=>(const Timer&, const Timer&) = default;
};

class Machine {
 public:
  explicit Machine(const Spec& plan);

  /// Runs until there is no event left: to the first rest. Throws std::logic_error where the rules
  /// contradict themselves (an acknowledgement out of order, a wait that cannot be).
  void run();

  /// The aftermath [10.5] of a run that has not completed.
  void run_on();

  // For an explorer of all orders (orders.hpp), in place of run(): times mean nothing there.
  void begin() { send_start_messages(); }
  std::vector<Event> pending() const;
  void happen(const Event& event);  // one of pending()
  /// On a device with slots and without a launch order any op that may start does [5.5], as an
  /// event of its own.
  bool offers_starts = false;

  // The channels from which a receive from any rank of `to` can take a send [9.5].
  std::vector<ChannelKey> sources(int communicator, int to) const;

  // What the rules call by name; all of it is asked by waits.cpp as well.
  bool ready(int actor) const;                            // [3.1]
  bool waits_beyond_its_work(int actor) const;            // [3.1]
  int credits_free(int reg) const;                        // [3.1]
  bool has_edges(int reg) const;                          // [1]
  bool was_launched(Act act) const;                       // [3.5]
  bool is_done(Act act) const;                            // [5.2]
  bool leaves_at_launch(int sender, int receiver) const;  // [5.1]
  int reused_by(int edge) const;  // the register with edges that keeps this input [4.4], or -1
  std::optional<Act> first_act(int stream) const;
  /// Those that share the launch queue of a stream [3.4].
  std::vector<int> streams_of_queue(int stream) const;
  std::optional<int> next_in_program(int thread) const;  // an actor
  bool all_arrived(int communicator) const;
  int arrival_link_of(int communicator, int rank) const;       // [10.4], or -1
  std::optional<int> missing_communicator(Act act) const;      // the first that it has to create
  std::vector<int> ranks_of(const MeetingKey& meeting) const;  // [9.7]
  bool will_come(int actor, const MeetingKey& meeting) const;  // its next act, to a new time
  int times_come(const MeetingKey& meeting, int rank) const;
  bool has_room(int stream) const;  // on a limited device [5.3]
  bool needs_slot(Act act) const;
  bool in_launch_order(Act act) const;
  bool in_hardware_queue(Act act) const;              // joins one
  std::vector<Act> not_first_in_line(Act act) const;  // those that are, in its lines [9.3]
  int free_slots(int device) const;
  bool can_take_slots(Act act) const;
  std::vector<Act> awaited_by(Act act) const;                // of its pairs, not done [5.4]
  std::optional<Act> last_that_it_is_behind(Act act) const;  // not done [5.4]
  bool was_started(Act act) const { return was_launched(act) && times.at(act).start >= 0; }
  CallState call_state(CallRef ref) const;
  bool is_open(int communicator) const;  // [9.4]
  bool fit(CallRef first, CallRef other) const;
  const std::vector<CallRef>& arrived_with(CallRef ref) const;
  std::set<int> ranks_waited_for(CallRef ref) const;
  bool is_dead(int rank) const { return at(ranks, rank).dead; }
  bool has_stopped(int rank) const { return at(ranks, rank).dead || at(ranks, rank).failed; }

  const Actor& actor(int a) const { return at(spec.actors, a); }
  const Register& reg(int r) const { return at(spec.registers, r); }
  const Edge& edge(int e) const { return at(spec.edges, e); }
  int producer_of(int e) const { return reg(edge(e).reg).producer; }
  int rank_of(int a) const { return at(spec.threads, actor(a).thread).rank; }
  const Call& call_of(CallRef ref) const { return at(actor(ref.act.actor).calls, ref.call); }

  const Spec& spec;
  std::vector<std::vector<int>> registers_of_actor;
  std::vector<std::vector<int>> inputs_of_actor;
  std::vector<std::vector<int>> edges_of_register;
  std::vector<std::set<int>> dependents_of_stream;  // streams [5.4]

  std::int64_t now = 0;
  std::int64_t last_progress = 0;
  std::map<Act, Times> times;  // of the acts that were launched
  std::vector<int> launched;   // how many acts of each actor
  std::vector<int> done;
  std::vector<ThreadState> threads;
  std::vector<StreamState> streams;
  std::vector<CommunicatorState> communicators;
  std::vector<std::set<int>> available;  // of each edge: the slots that its consumer may use
  /// Of each register: the slots that hold a credit, with the edges that have acknowledged them.
  std::vector<std::map<int, std::set<int>>> slots_out;
  std::vector<DeviceState> devices;
  std::vector<SignalState> signals;
  std::vector<LockState> locks;
  std::vector<RoundState> rounds;  // of each communicator
  // Of each open communicator, and of each of its seqs: who has arrived, in order.
  std::map<int, std::vector<std::vector<CallRef>>> seqs;
  std::map<ChannelKey, ChannelState> channels;
  /// Of a rank on a communicator: the acts with calls there that were launched and are not done.
  std::map<std::pair<int, int>, std::deque<Act>> lines;
  std::map<MeetingKey, MeetingState> meetings;
  std::map<MeetingKey, int> met;  // how often
  /// As which time a rank has come to connect, by what it connects there [9.7].
  std::map<std::pair<MeetingKey, std::pair<int, int>>, int> connections;
  std::map<Act, std::vector<CallState>> calls;  // of the acts that have started
  std::map<Act, int> needs;                     // of each `wait`: how often its event must fire
  /// Of acts that stay behind a stream: what stood there when they were launched [5.4].
  std::map<Act, std::vector<Act>> stays_behind;
  std::vector<Mismatch> mismatches;
  std::vector<RankState> ranks;
  std::vector<Died> deaths;           // in the order in which they happened
  std::map<Act, int> acts_that_hang;  // of collectives, and on which link [10.4]
  std::vector<LogLine> log;
  /// Which rare ways of the rules this run took, for the statistics of the tests.
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

  // Entering an act. Each step returns whether the thread is blocked by it.
  bool enter(int thread, Act act, Step first);
  bool resume(int thread);
  bool blocks_for_outside_input(int thread, Act act);
  bool blocks_for_creation(int thread, Act act);
  bool blocks_for_communicator(int thread, Act act, int communicator);
  bool arrive_at_creation(int thread, int communicator);
  bool blocks_for_connections(int thread, Act act);
  bool blocks_at_meetings(int thread, const std::vector<Coming>& comings);
  std::vector<std::pair<MeetingKey, int>> connections_of(int actor, bool of_messages) const;
  int times_met(const MeetingKey& meeting) const;
  int come(const MeetingKey& meeting, int rank);
  void free_those_that_met(const MeetingKey& meeting);
  bool blocks_for_meeting(int thread, Act act);
  bool blocks_for_overhead(int thread, Act act);
  LaunchQueue& queue_of(int stream);
  bool blocks_for_launch_queue(int thread, Act act);
  void launch(int thread, Act act);
  void put_on_stream(Act act);

  void complete_arrivals(int communicator);
  void finish_creation(int communicator);

  std::vector<Message> messages_of(Act act) const;
  bool leaves_at_launch(const Message& message) const;
  void deliver(const Message& message);
  void count(const Message& message);
  void count_acknowledgement(const Message& message);
  void acknowledge_in_place(int reg, int slot);

  void start(Act act);
  void start_op(Act act);
  void start_if_it_may(Act act);
  void start_head(int stream);
  void leave(const Entry& mark, int stream);
  void end(Act act);
  void run_for(std::int64_t duration, Event event);

  // Room on a device. These and those up to events of streams are in machine_steps.cpp.
  void join_device(Act act);
  void take_room(Act act);
  void give_room_back(Act act);
  bool has_room_to_start(Act act) const;
  std::optional<Act> next_on_device(int device) const;
  std::vector<Act> may_start_on_device(int device) const;
  bool offers(int device) const;
  void take_slots(Act act);
  void start_on_device(int stream);

  // Waiting for other streams.
  bool may_start(Act act) const;
  std::set<int> dependents_of(int stream) const;
  void start_dependents(int stream);
  void note_dependent(Act act);  // for the statistics

  // Host programs.
  bool blocks_on_host(int thread, Act act);
  bool blocks_for_streams(int thread, Act act);
  bool blocks_for_signal(int thread, Act act);
  bool blocks_for_lock(int thread, int lock);
  void unlock(int lock);
  void note_launch(Act act);
  void start_wait(Act act);
  void fire(int signal);

  // Calls on communicators. These are in machine_calls.cpp.
  void start_calls(Act act);
  int stage_of(CallRef ref) const;
  bool is_held_back(CallRef ref) const;
  std::vector<std::pair<int, int>> lines_of(int actor) const;
  void leave_lines(Act act);
  void start_in_lines(Act act);
  void activate_calls(Act act);
  void activate(CallRef ref);
  void run_calls(const std::vector<CallRef>& together, int round_of, std::int64_t less = 0);
  int steps_held(const ChannelState& channel) const;
  bool has_room_in_buffer(CallRef send);
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

  // Faults and guards. These are in machine_faults.cpp.
  void die(int rank, Why why, std::optional<Act> act);
  bool dies_instead(int thread, Act act);
  bool sees_error(int thread, Act act);
  bool needs_device(Act act) const;
  void fail(int rank);
  bool waits_for_device(int thread) const;
  std::vector<int> ranks_in(const Event& event) const;
  bool is_stopped_by_faults(const Event& event);
  bool link_is_down(int link) const;
  bool has_dead_rank(int communicator) const;
  bool hangs(int link, std::int64_t takes, const std::vector<Act>& together);
  int link_of(const std::vector<CallRef>& together, int round_of) const;
  std::int64_t polled(std::int64_t time) const;
  std::optional<Timer> next_timer() const;
  void add_watchdogs(std::vector<Timer>& timers) const;
  void add_thread_timers(std::vector<Timer>& timers) const;
  std::int64_t timeout_of(Act act) const;
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
    return calls.at(ref.act).at(static_cast<std::size_t>(ref.call));
  }

  std::map<EventKey, Event> events_;
  std::int64_t next_sequence_ = 0;
  bool rested_ = false;
  std::set<int> deaths_come_;       // of the list
  std::vector<Timer> link_errors_;  // also of ranks that are dead by now
  std::vector<Timer> launchers_;    // those that have not fired
};

/// "at a time", "launcher" and so on.
std::string text(Why why);

/// Throws std::logic_error(text) unless `condition`.
void must(bool condition, const std::string& text);

}  // namespace pipesim::twin
