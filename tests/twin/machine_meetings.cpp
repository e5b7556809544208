// Initialization of communicators [3.3] and meetings of hosts [9.7] in machine.hpp.
#include <algorithm>
#include <utility>
#include <vector>

#include "tests/twin/machine.hpp"

namespace pipesim::twin {

// [3.3] Communicator initialization ---------------------------------------------------------------

bool Machine::all_arrived(int c) const {
  return at(communicators, c).arrived.size() == at(spec.communicators, c).ranks.size();
}

/// Returns the first communicator that the op must initialize, also for [9.1] and [9.3].
std::optional<int> Machine::missing_communicator(Op op) const {
  std::vector<int> needed;
  const Actor& its_actor = actor(op.actor);
  if (its_actor.collective >= 0) {
    needed.push_back(at(spec.collectives, its_actor.collective).communicator);
  }
  if (its_actor.communicator >= 0) needed.push_back(its_actor.communicator);
  for (const Call& call : its_actor.calls) needed.push_back(call.communicator);
  for (int c : needed) {
    if (!at(communicators, c).exists) return c;
  }
  return std::nullopt;
}

bool Machine::blocks_for_init(int t, Op op) {
  while (const std::optional<int> missing = missing_communicator(op)) {
    if (blocks_for_communicator(t, op, *missing)) return true;
  }
  return false;
}

bool Machine::blocks_for_communicator(int t, Op op, int c) {
  CommunicatorState& communicator = communicator_state(c);
  const bool arrives = arrive_at_init(t, c);
  if (communicator.exists) return false;
  if (arrives) communicator.blocked.push_back(t);
  thread_state(t).blocked = Blocked{op, Step::kInit, c, !arrives, now};
  return true;
}

/// Lets the thread's rank arrive at an initialization. Returns whether the rank could arrive.
bool Machine::arrive_at_init(int t, int c) {
  CommunicatorState& communicator = communicator_state(c);
  const int rank = at(spec.threads, t).rank;
  if (link_is_down(arrival_link_of(c, rank))) {
    branches.insert(communicator.arrived.contains(rank) ? "10.4 second thread cannot arrive"
                                                        : "10.4 rank cannot arrive");
    return false;
  }
  last_progress = now;
  const bool is_first_of_its_rank = communicator.arrived.insert(rank).second;
  if (!is_first_of_its_rank) branches.insert("3.3 second thread of a rank");
  if (is_first_of_its_rank && all_arrived(c)) complete_arrivals(c);
  return true;
}

/// Handles the last arrival: initializes the communicator, or puts marks on the streams.
void Machine::complete_arrivals(int c) {
  if (has_dead_rank(c)) {
    branches.insert("10.2 the last rank arrives and one is dead");
    return;
  }
  const std::vector<int>& its_ranks = at(spec.communicators, c).ranks;
  CommunicatorState& communicator = communicator_state(c);
  if (at(spec.communicators, c).waits_for_device) {
    for (int s = 0; s < count_of(spec.streams); ++s) {
      const bool is_of_it = std::find(its_ranks.begin(), its_ranks.end(),
                                      at(spec.streams, s).rank) != its_ranks.end();
      if (!is_of_it || !first_op(s)) continue;
      Entry mark;
      mark.communicator = c;
      stream_state(s).entries.push_back(mark);
      communicator.streams_marked.insert(s);
    }
    branches.insert(communicator.streams_marked.empty() ? "3.3 no device to wait for"
                                                        : "3.3 waits for devices");
  }
  if (communicator.streams_marked.empty()) finish_init(c);
}

void Machine::finish_init(int c) {
  CommunicatorState& communicator = communicator_state(c);
  if (has_dead_rank(c)) {
    branches.insert("10.2 the last mark leaves and a rank is dead");
    return;
  }
  communicator.exists = true;
  for (int t : communicator.blocked) wake_soon(t);
  communicator.blocked.clear();
}

// [9.7] Meetings of hosts -------------------------------------------------------------------------

std::vector<int> Machine::ranks_of(const MeetingKey& meeting) const {
  if (meeting.step >= 0) return at(spec.meetings, meeting.step).ranks;
  if (meeting.from >= 0) return {meeting.from, meeting.to};
  return at(spec.communicators, meeting.communicator).ranks;
}

/// Returns the meetings of all sends and recvs of a rank on a communicator, by sender and receiver.
std::set<MeetingKey> Machine::pairs_of(int communicator, int rank) const {
  std::set<MeetingKey> found;
  for (int a = 0; a < count_of(spec.actors); ++a) {
    for (const Call& call : actor(a).calls) {
      const bool is_message = call.kind != CallKind::kCollective && call.peer >= 0;
      if (call.communicator != communicator || !is_message || call.peer == rank_of(a)) continue;
      const bool sends = call.kind == CallKind::kSend;
      const MeetingKey pair{-1, communicator, sends ? rank_of(a) : call.peer,
                            sends ? call.peer : rank_of(a)};
      if (pair.from == rank || pair.to == rank) found.insert(pair);
    }
  }
  return found;
}

/// Returns the meetings in which an actor's ops connect, each with its connection, in order and
/// without duplicates.
std::vector<std::pair<MeetingKey, int>> Machine::connections_of(int a, bool of_messages) const {
  std::vector<std::pair<MeetingKey, int>> found;
  const auto add = [&](const std::pair<MeetingKey, int>& connection) {
    const bool is_new = std::find(found.begin(), found.end(), connection) == found.end();
    if (is_new && ranks_of(connection.first).size() > 1) found.push_back(connection);
  };
  for (const Call& call : actor(a).calls) {
    if (!at(spec.communicators, call.communicator).connects) continue;
    if (call.connects_pairs && of_messages) {
      branches.insert("9.7 connects all pairs");
      for (const MeetingKey& pair : pairs_of(call.communicator, rank_of(a))) add({pair, 0});
    }
    if ((call.kind != CallKind::kCollective) != of_messages) continue;
    std::pair<MeetingKey, int> connection{{-1, call.communicator}, call.connection};
    if (of_messages) {
      const bool sends = call.kind == CallKind::kSend;
      if (call.peer == rank_of(a)) continue;
      connection.first.from = sends ? rank_of(a) : call.peer;
      connection.first.to = sends ? call.peer : rank_of(a);
      connection.second = 0;
    }
    add(connection);
  }
  return found;
}

bool Machine::blocks_for_connections(int t, Op op) {
  for (const bool of_messages : {true, false}) {
    const int rank = rank_of(op.actor);
    std::vector<Coming> comings;
    for (const auto& [meeting, connection] : connections_of(op.actor, of_messages)) {
      int& number = connections[{meeting, {rank, connection}}];
      if (number == 0) {
        number = come(meeting, rank);
      } else if (number > times_met(meeting)) {
        branches.insert("9.7 second thread of a rank");
        last_progress = now;
      }
      comings.push_back({meeting, number});
    }
    if (blocks_at_meetings(t, comings)) {
      branches.insert(of_messages ? "9.7 first message" : "9.7 first collective");
      if (thread_state(t).waits_at.size() > 1) branches.insert("9.7 several at once");
      thread_state(t).blocked = Blocked{op, Step::kConnection};
      return true;
    }
  }
  return false;
}

/// Whether a step of role kMeet, whose streams are done, blocks its thread.
bool Machine::blocks_for_meeting(int t, Op op) {
  const MeetingKey meeting{actor(op.actor).meeting};
  thread_state(t).has_come = true;
  const int number = come(meeting, rank_of(op.actor));
  if (!blocks_at_meetings(t, {{meeting, number}})) return false;
  branches.insert("9.7 step waits");
  thread_state(t).blocked = Blocked{op, Step::kHost};
  return true;
}

/// Counts one more visit of a rank. Returns the number of its visits.
int Machine::come(const MeetingKey& meeting, int rank) {
  last_progress = now;
  const int number = ++meetings[meeting].came[rank];
  free_those_that_met(meeting);
  return number;
}

bool Machine::blocks_at_meetings(int t, const std::vector<Coming>& comings) {
  std::vector<Coming>& waits = thread_state(t).waits_at;
  waits.clear();
  for (const Coming& coming : comings) {
    if (coming.number <= times_met(coming.meeting)) continue;
    waits.push_back(coming);
    meetings[coming.meeting].waiting.emplace_back(t, coming);
  }
  return !waits.empty();
}

int Machine::times_come(const MeetingKey& meeting, int rank) const {
  const auto state = meetings.find(meeting);
  if (state == meetings.end()) return 0;
  const auto found = state->second.came.find(rank);
  return found == state->second.came.end() ? 0 : found->second;
}

/// Returns how often the ranks have met. A dead rank ends the meetings; earlier meetings count.
int Machine::times_met(const MeetingKey& meeting) const {
  const auto found = met.find(meeting);
  return found == met.end() ? 0 : found->second;
}

void Machine::free_those_that_met(const MeetingKey& meeting) {
  int all_came = -1;
  for (int rank : ranks_of(meeting)) {
    if (is_dead(rank)) {
      branches.insert("9.7 a dead rank");
      return;
    }
    const int came = times_come(meeting, rank);
    all_came = all_came < 0 ? came : std::min(all_came, came);
  }
  met[meeting] = all_came;
  MeetingState& state = meetings[meeting];
  std::vector<std::pair<int, Coming>> remaining;
  for (const auto& [t, coming] : std::exchange(state.waiting, {})) {
    if (coming.number > all_came) {
      remaining.emplace_back(t, coming);
      continue;
    }
    std::vector<Coming>& waits = thread_state(t).waits_at;
    std::erase(waits, coming);
    if (waits.empty()) wake_soon(t);
  }
  state.waiting = remaining;
}

/// Whether the actor's next op visits the meeting again.
bool Machine::will_come(int a, const MeetingKey& meeting) const {
  if (meeting.step >= 0) return actor(a).meeting == meeting.step;
  for (const auto& [key, connection] : connections_of(a, meeting.from >= 0)) {
    const auto found = connections.find({key, {rank_of(a), connection}});
    const bool is_new = found == connections.end() || found->second == 0;
    if (key == meeting && is_new) return true;
  }
  return false;
}

}  // namespace pipesim::twin
