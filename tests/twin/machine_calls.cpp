// Calls on communicators [9.3 to 9.5] in machine.hpp, in the order of these sections.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tests/twin/machine.hpp"

namespace pipesim::twin {

// [9.3] Calls on communicators --------------------------------------------------------------------

CallState Machine::call_state(CallRef ref) const {
  const auto found = calls.find(ref.op);
  return found == calls.end() ? CallState() : at(found->second, ref.call);
}

void Machine::start_calls(Op op) {
  calls[op] = std::vector<CallState>(actor(op.actor).calls.size());
  activate_calls(op);
}

bool Machine::is_held_back(CallRef ref) const {
  for (int i = 0; i < count_of(actor(ref.op.actor).calls); ++i) {
    const CallRef other{ref.op, i};
    if (call_of(other).communicator != call_of(ref).communicator) continue;
    if (stage_of(other) < stage_of(ref) && !call_state(other).done) return true;
  }
  return false;
}

/// Returns the stage of a call among the calls of its op on its communicator. Each collective call
/// has its own stage; the sends and recvs follow, one stage per epoch.
int Machine::stage_of(CallRef ref) const {
  const Call& call = call_of(ref);
  int collectives_before = 0;
  int collectives = 0;
  int epoch = 0;
  for (int i = 0; i < count_of(actor(ref.op.actor).calls); ++i) {
    const Call& other = call_of({ref.op, i});
    if (other.communicator != call.communicator) continue;
    if (other.kind == CallKind::kCollective) {
      ++collectives;
      if (i < ref.call) ++collectives_before;
    } else if (i < ref.call && other.kind == call.kind && other.peer == call.peer) {
      ++epoch;
    }
  }
  return call.kind == CallKind::kCollective ? collectives_before : collectives + epoch;
}

/// Returns the lines of an actor, in the order of its calls. A line is a communicator with the
/// actor's rank, if the rank's calls on the communicator are on several streams.
std::vector<std::pair<int, int>> Machine::lines_of(int a) const {
  std::vector<std::pair<int, int>> found;
  for (const Call& call : actor(a).calls) {
    const std::pair<int, int> line{call.communicator, rank_of(a)};
    std::set<int> its_streams;
    for (int other = 0; other < count_of(spec.actors); ++other) {
      if (rank_of(other) != rank_of(a)) continue;
      for (const Call& its : actor(other).calls) {
        if (its.communicator == call.communicator) its_streams.insert(actor(other).stream);
      }
    }
    const bool is_new = std::find(found.begin(), found.end(), line) == found.end();
    if (its_streams.size() > 1 && is_new) found.push_back(line);
  }
  return found;
}

std::vector<Op> Machine::not_first_in_line(Op op) const {
  std::vector<Op> firsts;
  for (const std::pair<int, int>& line : lines_of(op.actor)) {
    if (lines.at(line).front() != op) firsts.push_back(lines.at(line).front());
  }
  return firsts;
}

void Machine::leave_lines(Op op) {
  for (const std::pair<int, int>& line : lines_of(op.actor)) {
    must(lines.at(line).front() == op, "ends without being the first of its line");
    lines.at(line).pop_front();
  }
}

/// Starts the next op, if it may start, of each line that `op` has left.
void Machine::start_in_lines(Op op) {
  for (const std::pair<int, int>& line : lines_of(op.actor)) {
    if (lines.at(line).empty()) continue;
    const Op next = lines.at(line).front();
    const int s = actor(next.actor).stream;
    if (first_op(s) == next && !was_started(next)) branches.insert("9.3 next of a line");
    if (is_on_limited_device(s)) {
      start_on_device(s);
    } else if (first_op(s) == next && !was_started(next)) {
      start_if_it_may(next);
    }
  }
}

void Machine::activate_calls(Op op) {
  for (int i = 0; i < count_of(actor(op.actor).calls); ++i) {
    const CallRef ref{op, i};
    if (call_state(ref).active) continue;
    if (is_held_back(ref)) {
      branches.insert("9.3 call is held back");
      continue;
    }
    change_call(ref).active = true;
    activate(ref);
  }
}

void Machine::activate(CallRef ref) {
  if (aborted.contains({call_of(ref).communicator, rank_of(ref.op.actor)})) {
    branches.insert("9.9 call on an aborted communicator");
    change_call(ref).running = true;
    return run_for(0, Event{{}, -1, {ref}, -1});
  }
  switch (call_of(ref).kind) {
    case CallKind::kCollective:
      return arrive(ref);
    case CallKind::kSend:
      return activate_send(ref);
    case CallKind::kReceive:
      return activate_receive(ref);
  }
}

/// Runs calls together, for the time of the longest call; the calls end in the given order.
void Machine::run_calls(const std::vector<CallRef>& together, int round_of, std::int64_t less) {
  std::int64_t takes = 0;
  std::vector<Op> ops;
  for (const CallRef& ref : together) {
    takes = std::max(takes, call_of(ref).takes);
    change_call(ref).running = true;
    ops.push_back(ref.op);
  }
  takes = std::max<std::int64_t>(0, takes - less);
  const CallRef* counts = &together.front();  // of a pair, the send counts
  for (const CallRef& ref : together) {
    const bool smaller = rank_of(ref.op.actor) < rank_of(counts->op.actor);
    if (round_of >= 0 && smaller) counts = &ref;
  }
  takes = varied(1, number_of(*counts), counts->op.k, takes);
  const int link = link_of(together, round_of);
  if (hangs(link, takes, ops)) {
    for (const CallRef& ref : together) change_call(ref).hangs_on = link;
    return;
  }
  run_for(takes, Event{{}, -1, together, round_of});
}

bool Machine::is_library_step(int a) const {
  const auto is_of_library = [this](const Call& call) {
    return at(spec.communicators, call.communicator).in_calls;
  };
  const auto is_stream_of_library = [&](int s) {
    return std::any_of(spec.actors.begin(), spec.actors.end(), [&](const Actor& its_actor) {
      return its_actor.stream == s &&
             std::any_of(its_actor.calls.begin(), its_actor.calls.end(), is_of_library);
    });
  };
  const Actor& step = actor(a);
  if (step.role == Role::kSynchronize) {
    return !step.synchronized.empty() &&
           std::all_of(step.synchronized.begin(), step.synchronized.end(), is_stream_of_library);
  }
  if (step.role == Role::kAwait) {
    return std::any_of(spec.actors.begin(), spec.actors.end(), [&](const Actor& record) {
      return record.role == Role::kRecord && record.signal == step.signal &&
             is_stream_of_library(record.stream);
    });
  }
  return std::any_of(step.calls.begin(), step.calls.end(), is_of_library);
}

/// Whether a thread is blocked inside its library, or is about to be.
bool Machine::is_inside_library(int t) const {
  const ThreadState& thread = at(threads, t);
  if (thread.blocked) {
    const bool inside =
        thread.blocked->step == Step::kBlocking || thread.blocked->step == Step::kHost;
    return inside && is_library_step(thread.blocked->op.actor);
  }
  if (thread.entering < 0) return false;
  const Actor& step = actor(thread.entering);
  return is_library_step(thread.entering) && (step.blocking || on_host(step.role));
}

/// Whether calls that have met cannot advance, because a rank is not inside its library.
bool Machine::is_stalled(const std::vector<CallRef>& together, int round_of) {
  if (!at(spec.communicators, call_of(together.front()).communicator).in_calls) return false;
  std::vector<CallRef> waiting;
  for (const CallRef& ref : together) {
    bool inside = false;
    for (int t = 0; t < count_of(threads); ++t) {
      inside =
          inside || (at(spec.threads, t).rank == rank_of(ref.op.actor) && is_inside_library(t));
    }
    if (!inside) waiting.push_back(ref);
  }
  if (waiting.empty()) return false;
  branches.insert(round_of >= 0 ? "9.5 a round is stalled" : "9.5 a pair is stalled");
  stalled.push_back({waiting, together, round_of});
  return true;
}

/// Lets the stalled calls of a rank advance before the rank launches or does `op`.
void Machine::enter_library(Op op) {
  if (!is_library_step(op.actor)) return;
  std::vector<Stalled> still;
  std::vector<Stalled> advance;
  for (Stalled& each : stalled) {
    std::erase_if(each.waiting,
                  [&](const CallRef& ref) { return rank_of(ref.op.actor) == rank_of(op.actor); });
    (each.waiting.empty() ? advance : still).push_back(each);
  }
  stalled = still;
  for (const Stalled& each : advance) {
    branches.insert("9.5 a stalled call advances");
    run_calls(each.together, each.round_of);
  }
}

/// Ends the run of a call.
void Machine::end_call(CallRef ref) {
  const Call& call = call_of(ref);
  if (aborted.contains({call.communicator, rank_of(ref.op.actor)})) return finish_call(ref);
  if (call.kind == CallKind::kSend && (call.buffered || call.steps > 0)) put_message(ref);
  change_call(ref).running = false;
  if (call.kind == CallKind::kReceive && call_state(ref).met &&
      wants_more(*call_state(ref).met, ref)) {
    branches.insert("9.5 receive is larger than the send that it met");
    change_call(ref).is_short = true;
    change_call(ref).met.reset();
    return;
  }
  finish_call(ref);
}

void Machine::finish_call(CallRef ref) {
  change_call(ref).running = false;
  change_call(ref).hangs_on = -1;
  change_call(ref).done = true;
  last_progress = now;
  activate_calls(ref.op);
  const std::vector<CallState>& all = calls.at(ref.op);
  if (std::all_of(all.begin(), all.end(), [](const CallState& state) { return state.done; })) {
    end(ref.op);
  }
}

// [9.4] Collective calls match by sequence number -------------------------------------------------

void Machine::arrive(CallRef ref) {
  const int c = call_of(ref).communicator;
  if (is_open(c)) return arrive_in_open(ref);
  RoundState& round = round_state(c);
  for (const CallRef& other : round.arrived) {
    must(rank_of(other.op.actor) != rank_of(ref.op.actor), "a rank arrives twice in a round");
  }
  round.arrived.push_back(ref);
  const CallRef first = round.arrived.front();
  if (call_of(ref).signature != call_of(first).signature) {
    round.mismatched = round.mismatched || !fit(first, ref);
    mismatches.push_back({false, first.op, ref.op});
  }
  if (round.mismatched || round.arrived.size() < at(spec.communicators, c).ranks.size()) return;
  std::vector<CallRef> all = round.arrived;
  std::sort(all.begin(), all.end(), [this](const CallRef& left, const CallRef& right) {
    return rank_of(left.op.actor) < rank_of(right.op.actor);
  });
  if (!is_stalled(all, c)) run_calls(all, c);
}

/// Whether a call can join the sequence number that `first` began.
bool Machine::fit(CallRef first, CallRef other) const {
  Signature own = call_of(other).signature;
  if (at(spec.communicators, call_of(first).communicator).on_host) {
    if (own.type != call_of(first).signature.type) branches.insert("9.4 types differ on hosts");
    own.type = call_of(first).signature.type;
  }
  return own == call_of(first).signature;
}

bool Machine::is_open(int communicator) const {
  for (const Actor& its_actor : spec.actors) {
    for (const Call& call : its_actor.calls) {
      if (call.communicator == communicator && call.flow != Flow::kAll) return true;
    }
  }
  return false;
}

/// Returns the calls that have arrived at the sequence number of `ref`.
const std::vector<CallRef>& Machine::arrived_with(CallRef ref) const {
  for (const std::vector<CallRef>& seq : seqs.at(call_of(ref).communicator)) {
    if (std::find(seq.begin(), seq.end(), ref) != seq.end()) return seq;
  }
  throw std::logic_error("a call has not arrived");
}

namespace {

bool has_arrived(const Machine& machine, const std::vector<CallRef>& seq, int rank) {
  return std::any_of(seq.begin(), seq.end(),
                     [&](const CallRef& ref) { return machine.rank_of(ref.op.actor) == rank; });
}

bool fits_together(const Machine& machine, const std::vector<CallRef>& seq) {
  return std::all_of(seq.begin(), seq.end(),
                     [&](const CallRef& ref) { return machine.fit(seq.front(), ref); });
}

}  // namespace

/// Returns the ring of ranks, starting at a broadcast's root or ending at a reduce's root.
std::vector<int> Machine::ring_of(const Call& first) const {
  std::vector<int> ring = at(spec.communicators, first.communicator).ranks;
  const auto root = std::find(ring.begin(), ring.end(), first.peer);
  must(root != ring.end(), "a root that is not a member");
  std::rotate(ring.begin(), first.flow == Flow::kToRoot ? std::next(root) : root, ring.end());
  return ring;
}

namespace {

/// Returns the sources of a rank in the tree, which follows a broadcast: in each step, every rank
/// with the data passes it to one more rank.
std::set<int> sources_in_tree(const std::vector<int>& order, int rank) {
  std::map<int, int> parent;
  for (std::size_t have = 1; have < order.size(); have *= 2) {
    for (std::size_t i = 0; i < have && have + i < order.size(); ++i) {
      parent[order[have + i]] = order[i];
    }
  }
  std::set<int> sources;
  for (const auto& [child, its_parent] : parent) {
    if (its_parent == rank) sources.insert(child);
  }
  for (auto up = parent.find(rank); up != parent.end(); up = parent.find(up->second)) {
    sources.insert(up->second);
  }
  return sources;
}

}  // namespace

std::set<int> Machine::sources_of(const std::vector<CallRef>& seq, int rank) const {
  const Call& first = call_of(seq.front());
  const std::vector<int>& members = at(spec.communicators, first.communicator).ranks;
  const std::set<int> all(members.begin(), members.end());
  if (first.flow == Flow::kStar) branches.insert("9.4 star");
  if (first.flow == Flow::kTree) branches.insert("9.4 tree");
  if (first.flow == Flow::kStar) return rank == first.peer ? all : std::set<int>{first.peer};
  if (first.flow == Flow::kTree) return sources_in_tree(ring_of(first), rank);
  if (first.flow == Flow::kAll || first.steps == 0) return all;
  const std::vector<int> ring = ring_of(first);
  return {ring.begin(), std::find(ring.begin(), ring.end(), rank)};
}

std::set<int> Machine::sinks_of(const std::vector<CallRef>& seq, int rank) const {
  const Call& first = call_of(seq.front());
  if (first.flow != Flow::kFromRoot && first.flow != Flow::kToRoot) return {};
  const std::vector<int> ring = ring_of(first);
  const auto own = std::find(ring.begin(), ring.end(), rank);
  return std::next(own) == ring.end() ? std::set<int>() : std::set<int>{*std::next(own)};
}

/// Returns the total steps of the calls at which `from` has arrived and `to` has not.
int Machine::steps_under_way(int communicator, int from, int to) const {
  int steps = 0;
  for (const std::vector<CallRef>& seq : seqs.at(communicator)) {
    if (!has_arrived(*this, seq, from) || has_arrived(*this, seq, to)) continue;
    if (sinks_of(seq, from).contains(to)) steps += call_of(seq.front()).steps;
  }
  return steps;
}

std::set<int> Machine::ranks_waited_for(CallRef ref) const {
  constexpr int kSteps = 8;
  const std::vector<CallRef>& seq = arrived_with(ref);
  const int rank = rank_of(ref.op.actor);
  std::set<int> waited_for;
  for (int source : sources_of(seq, rank)) {
    if (!has_arrived(*this, seq, source)) waited_for.insert(source);
  }
  for (int sink : sinks_of(seq, rank)) {
    if (steps_under_way(call_of(ref).communicator, rank, sink) > kSteps) waited_for.insert(sink);
  }
  return waited_for;
}

void Machine::arrive_in_open(CallRef ref) {
  const int c = call_of(ref).communicator;
  const std::vector<int>& members = at(spec.communicators, c).ranks;
  std::vector<std::vector<CallRef>>& all = seqs[c];
  auto seq = std::find_if(all.begin(), all.end(), [&](const std::vector<CallRef>& its) {
    return !has_arrived(*this, its, rank_of(ref.op.actor));
  });
  if (seq == all.end()) seq = all.insert(all.end(), std::vector<CallRef>());
  seq->push_back(ref);
  const CallRef first = seq->front();
  if (call_of(ref).signature != call_of(first).signature) {
    branches.insert("9.4 mismatch on an open communicator");
    mismatches.push_back({false, first.op, ref.op});
  }
  if (is_broken(c)) return;
  const bool together = call_of(first).flow == Flow::kAll;
  if (together && seq->size() == members.size() && fits_together(*this, *seq)) {
    branches.insert("9.4 all together on an open communicator");
    std::vector<CallRef> in_order = *seq;
    std::sort(in_order.begin(), in_order.end(), [this](const CallRef& a, const CallRef& b) {
      return rank_of(a.op.actor) < rank_of(b.op.actor);
    });
    return run_calls(in_order, c);
  }
  std::map<int, CallRef> waiting;
  for (const std::vector<CallRef>& its : all) {
    const bool open = call_of(its.front()).flow != Flow::kAll && fits_together(*this, its);
    for (const CallRef& other : its) {
      const CallState state = call_state(other);
      if (open && !state.running && !state.done && calls.contains(other.op)) {
        waiting.emplace(rank_of(other.op.actor), other);
      }
    }
  }
  for (const auto& [rank, other] : waiting) {
    if (!ranks_waited_for(other).empty()) continue;
    const bool early = arrived_with(other).size() < members.size();
    branches.insert(early ? "9.4 runs before all have arrived" : "9.4 runs alone");
    run_calls({other}, -1);
  }
}

// [9.5] Sends and recvs match by order ------------------------------------------------------------

ChannelState& Machine::channel_of(CallRef ref) {
  const Call& call = call_of(ref);
  const int own = rank_of(ref.op.actor);
  return call.kind == CallKind::kSend ? channels[{call.communicator, own, call.peer}]
                                      : channels[{call.communicator, call.peer, own}];
}

void Machine::activate_send(CallRef ref) {
  ChannelState& channel = channel_of(ref);
  must(!channel.send, "two sends of a channel are active");
  if (call_of(ref).buffered) {
    run_calls({ref}, -1);
  } else if (call_of(ref).steps > 0 && has_space_in_buffer(ref)) {
    run_into_buffer(ref);
  } else if (channel.receive) {
    branches.insert("9.5 receive waits for a send");
    const CallRef receive = *std::exchange(channel.receive, std::nullopt);
    meet(ref, receive);
  } else {
    channel.send = ref;
    come(ref);
  }
}

void Machine::activate_receive(CallRef ref) {
  ChannelState& channel = channel_of(ref);
  must(!channel.receive, "two receives of a channel are active");
  const Call& call = call_of(ref);
  if (call.peer < 0) {
    channel.receive = ref;
    return look_for_source(call.communicator, rank_of(ref.op.actor));
  }
  if (!channel.came.empty()) channel.came.pop_front();
  if (!channel.messages.empty()) {
    branches.insert("9.5 message waits for a receive");
    if (channel.send) branches.insert("9.5 message goes before a send that waits");
    const CallRef send = channel.messages.front();
    channel.messages.pop_front();
    take(send, ref);
  } else if (channel.send) {
    branches.insert("9.5 send waits for a receive");
    const CallRef send = *std::exchange(channel.send, std::nullopt);
    meet(send, ref);
  } else {
    channel.receive = ref;
  }
}

/// Records when a send begins to wait or is buffered, and looks for a recv from any rank.
void Machine::come(CallRef send) {
  channel_of(send).came.push_back(now);
  look_for_source(call_of(send).communicator, call_of(send).peer);
}

std::vector<ChannelKey> Machine::sources(int communicator, int to) const {
  std::vector<ChannelKey> found;
  for (const auto& [key, channel] : channels) {
    const bool own = key.communicator == communicator && key.to == to && key.from >= 0;
    if (own && (channel.send || !channel.messages.empty())) found.push_back(key);
  }
  return found;
}

/// Picks the source of a recv from any rank: the earliest send, or the smallest rank among equals.
void Machine::look_for_source(int communicator, int to) {
  const auto any = channels.find({communicator, -1, to});
  if (any == channels.end() || !any->second.receive || offers_starts) return;
  std::optional<std::pair<std::int64_t, ChannelKey>> first;
  const std::vector<ChannelKey> all = sources(communicator, to);
  for (const ChannelKey& key : all) {
    const std::pair<std::int64_t, ChannelKey> coming{channels.at(key).came.front(), key};
    if (!first || coming < *first) first = coming;
  }
  if (!first) return branches.insert("9.5 receive from any rank waits"), void();
  branches.insert(all.size() > 1 ? "9.5 receive from any rank has several sources"
                                 : "9.5 receive from any rank has one source");
  take_source(first->second);
}

void Machine::take_source(const ChannelKey& source) {
  const CallRef receive =
      *std::exchange(channels.at({source.communicator, -1, source.to}).receive, std::nullopt);
  ChannelState& channel = channels.at(source);
  channel.came.pop_front();
  if (channel.messages.empty()) {
    const CallRef send = *std::exchange(channel.send, std::nullopt);
    return meet(send, receive);
  }
  const CallRef send = channel.messages.front();
  channel.messages.pop_front();
  take(send, receive);
}

void Machine::meet(CallRef send, CallRef receive) {
  must(call_of(send).steps == 0, "a send that fits into the buffer meets its receive");
  compare(send, receive);
  change_call(send).met = receive;
  change_call(receive).met = send;
  if (!is_stalled({send, receive}, -1)) run_calls({send, receive}, -1);
}

/// Queues a buffered send that ends as a message, or gives the message to the waiting recv.
void Machine::put_message(CallRef ref) {
  ChannelState& channel = channel_of(ref);
  if (!channel.receive) {
    channel.messages.push_back(ref);
    return come(ref);
  }
  branches.insert("9.5 receive waits for a message");
  must(channel.messages.empty(), "a receive waits though there is a message");
  const CallRef receive = *std::exchange(channel.receive, std::nullopt);
  take(ref, receive);
}

/// Lets a recv take a message; a buffered message leaves its buffer.
void Machine::take(CallRef send, CallRef receive) {
  ChannelState& channel = channel_of(send);
  compare(send, receive);
  change_call(receive).is_short = wants_more(send, receive);
  if (call_state(receive).is_short) {
    branches.insert("9.5 receive is larger than its message");
  } else {
    run_calls({receive}, -1, call_of(send).steps > 0 ? call_of(send).takes : 0);
  }
  if (channel.in_buffer.erase(send) == 0 || !channel.send) return;
  const CallRef next = *channel.send;
  if (call_of(next).steps == 0 || !has_space_in_buffer(next)) return;
  branches.insert("9.5 send gets room");
  channel.send.reset();
  run_into_buffer(next);
}

/// Whether a recv wants more bytes than its send has or, on a host, has too little space for the
/// send.
bool Machine::wants_more(CallRef send, CallRef receive) const {
  const std::int64_t sent = call_of(send).signature.count;
  const std::int64_t wanted = call_of(receive).signature.count;
  if (!at(spec.communicators, call_of(receive).communicator).on_host) return sent < wanted;
  if (sent != wanted) branches.insert("9.5 sizes differ on hosts");
  return wanted < sent;
}

int Machine::steps_held(const ChannelState& channel) const {
  int steps = 0;
  for (const CallRef& send : channel.in_buffer) steps += call_of(send).steps;
  return steps;
}

bool Machine::has_space_in_buffer(CallRef send) {
  constexpr int kSteps = 8;
  const bool fits = steps_held(channel_of(send)) + call_of(send).steps <= kSteps;
  if (!fits) branches.insert("9.5 send waits for room");
  return fits;
}

void Machine::run_into_buffer(CallRef send) {
  channel_of(send).in_buffer.insert(send);
  run_calls({send}, -1);
}

std::int64_t Machine::tag_of(CallRef ref) const {
  const Call& call = call_of(ref);
  return (call.tag + ref.op.k * call.tag_step) % (std::int64_t{1} << 32);
}

void Machine::compare(CallRef send, CallRef receive) {
  const Call& sent = call_of(send);
  const Call& wanted = call_of(receive);
  if (sent.signature.count == wanted.signature.count &&
      sent.signature.type == wanted.signature.type && tag_of(send) == tag_of(receive)) {
    return;
  }
  mismatches.push_back({true, send.op, receive.op});
}

}  // namespace pipesim::twin
