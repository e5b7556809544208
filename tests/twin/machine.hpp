// The twin's machine: docs/rules.md, sections 2 to 6, as plainly as they can be written down.
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

/// What stands in a stream [5.2]: an act, or one of two kinds of marks.
struct Entry {
  std::optional<Act> act;
  std::optional<Message> acknowledgement;  // of an input that is used in place [4.4]
  int communicator = -1;                   // whose creation waits for the devices [3.3]
};

/// The steps of entering an act, in order [3.2].
enum class Step { kOutsideInput, kCreation, kOverhead, kLaunchQueue, kBlocking };

/// In which act, and at which step of it, a thread is blocked.
struct Blocked {
  Act act;
  Step step = Step::kOutsideInput;
};

struct ThreadState {
  bool wake_is_due = false;  // a wake is in the event list
  bool running = false;      // within its wake
  std::optional<Blocked> blocked;
  std::deque<Message> inbox;  // order arrival
  int at = -1;                // order arrival: the actor it is at
  int position = 0;           // order program: its next act in the list

  bool idle() const { return !wake_is_due && !running && !blocked; }
};

struct StreamState {
  std::deque<Entry> entries;
  std::deque<int> waiters;   // threads that wait for the launch queue, longest first
  std::set<int> place_kept;  // threads that were freed and have not run yet
};

struct CommunicatorState {
  bool exists = false;
  std::set<int> arrived;         // ranks
  std::vector<int> blocked;      // threads, in the order in which they were blocked
  std::set<int> streams_marked;  // whose mark has not left
};

/// The place of an event in the list [2].
struct EventKey {
  std::int64_t time = 0;
  int priority = 0;
  std::int64_t sequence = 0;

  friend auto operator<=>(const EventKey&, const EventKey&) = default;
};

/// Either the end of an act (or of all members of a collective), or the wake of a thread.
struct Event {
  std::vector<Act> ends;
  int wakes = -1;
};

class Machine {
 public:
  explicit Machine(const Spec& spec);

  /// Runs until there is no event left. Throws std::logic_error where the rules contradict
  /// themselves (an acknowledgement out of order, a wait that cannot be).
  void run();

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
  std::optional<int> next_in_program(int thread) const;  // an actor
  bool all_arrived(int communicator) const;

  const Actor& actor(int a) const { return at(spec.actors, a); }
  const Register& reg(int r) const { return at(spec.registers, r); }
  const Edge& edge(int e) const { return at(spec.edges, e); }
  int producer_of(int e) const { return reg(edge(e).reg).producer; }

  const Spec& spec;
  std::vector<std::vector<int>> registers_of_actor;
  std::vector<std::vector<int>> inputs_of_actor;
  std::vector<std::vector<int>> edges_of_register;

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
  /// Which rare ways of the rules this run took, for the statistics of the tests.
  std::set<std::string> branches;

 private:
  void send_start_messages();
  void add_wake(std::int64_t time, int thread);
  void wake(int thread);
  void run_arrival(int thread);
  void run_program(int thread);

  // Entering an act. Each step returns whether the thread is blocked by it.
  bool enter(int thread, Act act, Step first);
  bool resume(int thread);
  bool blocks_for_outside_input(int thread, Act act);
  bool blocks_for_creation(int thread, Act act);
  bool blocks_for_overhead(int thread, Act act);
  bool blocks_for_launch_queue(int thread, Act act);
  void launch(int thread, Act act);

  void complete_arrivals(int communicator);
  void finish_creation(int communicator);

  std::vector<Message> messages_of(Act act) const;
  bool leaves_at_launch(const Message& message) const;
  void deliver(const Message& message);
  void count(const Message& message);
  void count_acknowledgement(const Message& message);
  void acknowledge_in_place(int reg, int slot);

  void start(Act act);
  void start_head(int stream);
  void end(Act act);

  ThreadState& thread_state(int t) { return threads.at(static_cast<std::size_t>(t)); }
  StreamState& stream_state(int s) { return streams.at(static_cast<std::size_t>(s)); }
  CommunicatorState& communicator_state(int c) {
    return communicators.at(static_cast<std::size_t>(c));
  }

  std::map<EventKey, Event> events_;
  std::int64_t next_sequence_ = 0;
};

/// Throws std::logic_error(text) unless `condition`.
void must(bool condition, const std::string& text);

}  // namespace pipesim::twin
