// Builds and explains the wait-for graph. Evidence shows which calls are not done, but not why. The
// graph has the waits that are certain, and the most likely ones if the certain ones explain
// nothing:
//
// 1. A call cannot end while a member of its group has not made it. The call waits for the current
//   call of that member, because its host is assumed to wait for its device. If nothing is pending
//   on the member, the call waits for the rank itself, which is a root.
// 2. The calls of one stream (a group, or a pair of ranks for sends and recvs) complete in order. A
//   later call waits for the first pending call of its stream.
// 3. A call that all members have made waits for the members whose stream has an earlier pending
//   call.
// 4. If the call is first in the stream of each member and still pending, the device of a member is
//   assumed to be blocked in an earlier call of another stream. The edge to this earlier call has
//   its own kind, kCallOrder. If the member's order of calls is unknown, the graph has no such
//   edge, and no edge that depends on which of several calls its host is in. An overtaken call (a
//   later call is done) blocks no other stream.
// 5. If no rule explains a call, the members that may not have made it are suspects; no verdict
//   rests on suspects. If all members made it, the evidence does not explain the hang.
// 6. A member whose process is dead, or failed by itself, is a root. A member whose stack shows it
//   elsewhere before a missing call is also a root, whatever it called before.
//
// A device that stopped with an error marks no call as done. Its peers already have its data and
// continue. The calls of its rank wait only for the device itself.
//
// The edges of rule 3 lead only to calls that are not first in their stream. So a matching send and
// recv that are both queued after other calls form no cycle. Cost: linear in the pending calls
// times the members of their groups.
#include "features/diagnose/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "models/graph/operation.hpp"
#include "sim/wait_graph.hpp"

#include "features/diagnose/blocked_ranks.hpp"
#include "features/diagnose/evidence_calls.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::WaitEdge;
using sim::WaitGraph;
using sim::WaitKind;
using sim::WaitNodeKind;

constexpr std::uint32_t kNone = kNoIndex;

// A stream of a rank: a group and, for sends and recvs that are not coalesced, the other rank.
using StreamKey = std::tuple<std::uint32_t, std::uint32_t>;

/// A call that is not done.
struct Pending {
  std::uint32_t rank = 0;
  std::uint32_t call = 0;             // index in the calls of its rank
  std::uint32_t stream_head = kNone;  // the first pending call of its stream; may be this one
  std::uint32_t before = kNone;       // an earlier call of another stream that may block this one
  bool overtaken = false;             // whether a later call of the rank is done
};

class Diagnoser {
 public:
  explicit Diagnoser(const Evidence& evidence)
      : evidence_(evidence),
        index_(evidence),
        first_of_(evidence.ranks.size() + 1),
        front_(evidence.ranks.size(), kNone),
        stopped_(evidence.ranks.size(), kNone),
        stopped_peer_(evidence.ranks.size()) {}

  Diagnosis run();

 private:
  // An edge of the graph before its nodes are numbered. `to` numbers all pending calls, then all
  // ranks, then the unknown cause of each group.
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
    WaitKind kind;
    std::optional<OpInfo> needed;
    bool unsure = false;  // whether `to` may have made the call
  };

  void collect();
  void collect(std::uint32_t rank);
  void pair_messages();
  void find_stopped();
  void find_stopped(std::uint32_t rank);
  void add_waits(std::uint32_t pending);
  /// The members of a call other than its caller. The functions that return them also add waits for
  /// the members that have not made the call.
  struct Members {
    std::vector<std::uint32_t> called;   // pending calls of members that made it
    std::vector<std::uint32_t> unknown;  // members that may have made it
  };
  std::vector<std::uint32_t> possible_senders(std::uint32_t group, std::uint32_t target) const;
  Members message_members(std::uint32_t pending);
  Members collective_members(std::uint32_t pending);
  void add_waits_for_members(std::uint32_t pending);
  void add_wait_for_absent(std::uint32_t pending, std::uint32_t member, const RecordedOp* message);
  bool add_waits_behind(std::uint32_t pending, const Members& members);
  void build_graph();
  void find_message_mismatches();
  void explain();
  void add_standings();
  void describe_roots();
  DiagnosisRoot describe_root(const Root& root) const;
  bool is_suspect(const Root& root, bool unsure) const;
  bool may_start(const Root& root) const;
  void keep_suspects();
  void decide_verdict();
  void set_deadlock_of_all();
  bool is_lost(std::uint32_t rank) const {
    const ProcessState state = evidence_.ranks[rank].process.state;
    return state == ProcessState::kDead || state == ProcessState::kFailed ||
           state == ProcessState::kStopped;
  }
  bool is_elsewhere(std::uint32_t rank) const {
    const std::optional<HostStanding>& host = evidence_.ranks[rank].host;
    return host && !host->waits && !host->may_wait;
  }

  const RecordedCall& call(std::uint32_t pending) const {
    return evidence_.ranks[pending_[pending].rank].calls[pending_[pending].call];
  }
  bool stands_at_one_of(std::uint32_t rank) const;
  StreamKey stream_of(std::uint32_t rank, const RecordedCall& call) const;
  std::uint32_t pending_of(std::uint32_t rank, std::uint32_t call) const;
  Wait describe(const WaitEdge& edge) const;
  std::uint32_t node_of_rank(std::uint32_t rank) const { return pending_count() + rank; }
  std::uint32_t outside(std::size_t group) const {
    return pending_count() + static_cast<std::uint32_t>(evidence_.ranks.size() + group);
  }
  std::uint32_t pending_count() const { return static_cast<std::uint32_t>(pending_.size()); }

  const Evidence& evidence_;
  CallIndex index_;
  std::vector<Pending> pending_;         // pending calls by rank, in call order
  std::vector<std::uint32_t> first_of_;  // [rank]: index of its first call in pending_
  std::vector<std::uint32_t> front_;     // [rank]: index of its current call in pending_
  // [rank]: index in pending_ of the call in which its device stopped.
  std::vector<std::uint32_t> stopped_;
  // [rank]: a peer that got further, and the sequence number of the last call that the peer has
  // done
  std::vector<std::pair<std::uint32_t, std::uint64_t>> stopped_peer_;
  // [pending call, op]: the pending call with the matching send or recv, or kNone.
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> partner_;
  std::map<std::pair<std::uint32_t, std::size_t>, const RecordedOp*> partner_op_;
  std::vector<Edge> edges_;
  std::size_t first_edge_ = 0;  // first edge of the current call
  std::vector<bool> misfits_;   // [group]: whether its calls mismatch
  WaitGraph graph_;
  std::vector<std::optional<OpInfo>> needed_;  // [edge of the graph]: the missing op, if known
  std::vector<bool> unsure_;                   // [edge of the graph]: whether the wait is uncertain
  Diagnosis result_;
};

StreamKey Diagnoser::stream_of(std::uint32_t rank, const RecordedCall& call) const {
  if (!call.messages || call.coalesced || call.ops.empty()) return {call.group, kNone};
  const RecordedOp& op = call.ops.front();
  return {call.group, op.source == rank ? op.target : op.source};
}

void Diagnoser::collect(std::uint32_t rank) {
  const RankEvidence& evidence = evidence_.ranks[rank];
  std::uint64_t last_done = 0;
  for (const RecordedCall& call : evidence.calls) {
    if (call.state == CallState::kCompleted) last_done = std::max(last_done, call.last_record);
  }
  // A dump can omit calls that are done. Gaps in its record numbers then stand for such calls.
  const bool only_active =
      std::all_of(evidence.calls.begin(), evidence.calls.end(),
                  [](const RecordedCall& call) { return call.state != CallState::kCompleted; });
  if (only_active) {
    for (std::size_t i = 1; i < evidence.calls.size(); ++i) {
      const std::uint64_t next = evidence.calls[i].ops.empty()
                                     ? evidence.calls[i].last_record
                                     : evidence.calls[i].ops.front().record;
      if (next > evidence.calls[i - 1].last_record + 1) last_done = next - 1;
    }
  }
  std::map<StreamKey, std::uint32_t> heads;
  std::uint32_t before = kNone;  // the first pending call that was not overtaken
  for (std::uint32_t i = 0; i < evidence.calls.size(); ++i) {
    const RecordedCall& call = evidence.calls[i];
    if (call.state == CallState::kCompleted) continue;
    Pending pending;
    pending.rank = rank;
    pending.call = i;
    const std::uint32_t own = pending_count();
    pending.stream_head = heads.emplace(stream_of(rank, call), own).first->second;
    pending.before = before;
    pending.overtaken = call.last_record < last_done;
    pending_.push_back(pending);
    // The first pending call that was not overtaken can block all later calls of the rank.
    if (!pending.overtaken && before == kNone) {
      before = own;
      front_[rank] = own;
    }
  }
  if (front_[rank] == kNone && first_of_[rank] < pending_count()) front_[rank] = first_of_[rank];
}

void Diagnoser::collect() {
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) {
    first_of_[rank] = pending_count();
    collect(rank);
  }
  first_of_.back() = pending_count();
}

std::uint32_t Diagnoser::pending_of(std::uint32_t rank, std::uint32_t call) const {
  const auto begin = pending_.begin() + first_of_[rank];
  const auto end = pending_.begin() + first_of_[rank + 1];
  const auto at = std::lower_bound(
      begin, end, call, [](const Pending& it, std::uint32_t wanted) { return it.call < wanted; });
  return at != end && at->call == call ? static_cast<std::uint32_t>(at - pending_.begin()) : kNone;
}

namespace {

// An op of a pending call: the index of the call, and the index of the op in the call.
using MessageOp = std::pair<std::uint32_t, std::size_t>;
// Pending sends (0) and recvs (1), by group, sender and receiver.
using MessageEnds = std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>,
                             std::array<std::vector<MessageOp>, 2>>;

// Pairs recvs from any rank with sends that have no other recv.
void match_any_source(MessageEnds& ends) {
  for (auto& [key, sides] : ends) {
    const auto& [group, source, target] = key;
    if (source != kAnyRank) continue;
    for (auto& [other, sends] : ends) {
      const bool fits = std::get<0>(other) == group && std::get<2>(other) == target &&
                        std::get<1>(other) != kAnyRank;
      while (fits && !sides[1].empty() && sends[0].size() > sends[1].size()) {
        sends[1].push_back(sides[1].front());
        sides[1].erase(sides[1].begin());
      }
    }
  }
}

}  // namespace

// Pairs sends with recvs. A send and its recv share no sequence number, so pending sends and recvs
// with the same group, sender and receiver are paired in order.
void Diagnoser::pair_messages() {
  MessageEnds ends;
  for (std::uint32_t i = 0; i < pending_count(); ++i) {
    const RecordedCall& of = call(i);
    for (std::size_t op = 0; op < of.ops.size(); ++op) {
      const RecordedOp& it = of.ops[op];
      if (!it.message) continue;
      const bool receives = it.target == pending_[i].rank;
      ends[{of.group, it.source, it.target}][receives ? 1 : 0].emplace_back(i, op);
    }
  }
  match_any_source(ends);
  for (const auto& [key, sides] : ends) {
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      for (std::size_t i = 0; i < sides[side].size(); ++i) {
        const bool met = i < sides[1 - side].size();
        partner_[sides[side][i]] = met ? sides[1 - side][i].first : kNone;
        if (!met) continue;
        const auto& [other, op] = sides[1 - side][i];
        partner_op_[sides[side][i]] = &call(other).ops[op];
      }
    }
  }
}

void Diagnoser::find_stopped(std::uint32_t rank) {
  for (std::uint32_t i = first_of_[rank]; i < first_of_[rank + 1]; ++i) {
    const RecordedCall& own = call(i);
    const auto needs_all = [](const RecordedOp& op) {
      const auto operation = op.operation();
      return operation && synchronizes_all(*operation);
    };
    const bool all =
        !own.messages && !own.ops.empty() && std::all_of(own.ops.begin(), own.ops.end(), needs_all);
    if (!all || pending_[i].overtaken) continue;
    for (const std::uint32_t member : evidence_.groups[own.group].ranks) {
      // The end of a peer's process can also keep the call from ending.
      if (member == rank || is_lost(member)) continue;
      std::uint32_t theirs = 0;
      const Called called = index_.collective(member, key_of(own), &theirs);
      // A call count alone does not show that the peer made the same call.
      const bool done = (called == Called::kDone && evidence_.ranks[member].complete) ||
                        (called == Called::kYes &&
                         evidence_.ranks[member].calls[theirs].state == CallState::kCompleted);
      if (!done) continue;
      const GroupProgress* progress = index_.progress(member, own.group);
      std::uint64_t came = own.sequence;
      if (progress != nullptr && progress->completed >= static_cast<std::int64_t>(came)) {
        came = static_cast<std::uint64_t>(progress->completed);
      }
      stopped_[rank] = i;
      front_[rank] = i;
      stopped_peer_[rank] = {member, came};
      return;
    }
  }
}

void Diagnoser::find_stopped() {
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) find_stopped(rank);
}

// Whether calls of several streams are pending on the rank and their order is unknown.
bool Diagnoser::stands_at_one_of(std::uint32_t rank) const {
  if (evidence_.ranks[rank].complete) return false;
  const std::uint32_t first = first_of_[rank];
  for (std::uint32_t i = first; i < first_of_[rank + 1]; ++i) {
    if (pending_[i].stream_head != first) return true;
  }
  return false;
}

// Adds the wait of a call for a member that has not made it. `message` is the send or recv without
// a match, or nullptr for a collective.
void Diagnoser::add_wait_for_absent(std::uint32_t pending, std::uint32_t member,
                                    const RecordedOp* message) {
  const WaitKind kind = message != nullptr ? WaitKind::kPeerOfMessage : WaitKind::kPeerOfCollective;
  const bool ends_here = front_[member] == kNone || is_lost(member) || is_elsewhere(member);
  if (!ends_here && stands_at_one_of(member)) {
    edges_.push_back({pending, node_of_rank(member), kind, std::nullopt, true});
    return;
  }
  if (!evidence_.ranks[member].has_dump || ends_here) {
    const std::uint32_t to = node_of_rank(member);
    // Several sends or recvs of one call can wait for one rank; one edge is enough.
    const auto same = [&](const Edge& edge) { return edge.from == pending && edge.to == to; };
    const auto first = edges_.begin() + static_cast<std::ptrdiff_t>(first_edge_);
    const bool known = message != nullptr && std::any_of(first, edges_.end(), same);
    if (!known) edges_.push_back({pending, to, kind, std::nullopt, false});
    return;
  }
  const RecordedCall& wanted = call(pending);
  OpInfo needed = call_info(evidence_, member, wanted);
  needed.stage = OpStage::kNotEntered;
  needed.at.clear();
  if (message != nullptr) {
    RecordedCall other;
    other.group = wanted.group;
    other.messages = true;
    other.sequence = 0;
    other.ops.push_back(*message);
    other.ops.front().name = message->is_send() ? "recv" : "send";
    needed = call_info(evidence_, member, other);
    needed.stage = OpStage::kNotEntered;
  }
  edges_.push_back({pending, front_[member], kind, std::move(needed), false});
}

// Adds the waits of a call for members whose call is queued after another call of its stream, or
// whose device stopped. If there are no such members and all members made the call, assumes that a
// device is blocked in an earlier call of another stream, provided that the order of the rank's
// calls is known. Returns whether it added a wait.
bool Diagnoser::add_waits_behind(std::uint32_t pending, const Members& members) {
  const std::size_t before = edges_.size();
  const std::vector<std::uint32_t>& others = members.called;
  const WaitKind kind =
      call(pending).messages ? WaitKind::kPeerOfMessage : WaitKind::kPeerOfCollective;
  for (const std::uint32_t other : others) {
    if (pending_[other].stream_head == other && stopped_[pending_[other].rank] == kNone) continue;
    edges_.push_back({pending, other, kind, std::nullopt, false});
  }
  const bool all = members.unknown.empty() && evidence_.groups[call(pending).group].all_members;
  if (edges_.size() > before || !all) return edges_.size() > before;
  const auto held = [&](std::uint32_t it) {
    return pending_[it].before != kNone && call(it).state != CallState::kStarted &&
           evidence_.ranks[pending_[it].rank].complete;
  };
  if (held(pending)) {
    edges_.push_back(
        {pending, pending_[pending].before, WaitKind::kCallOrder, std::nullopt, false});
    return true;
  }
  for (const std::uint32_t other : others) {
    if (held(other)) edges_.push_back({pending, other, kind, std::nullopt, false});
  }
  return edges_.size() > before;
}

// Returns the ranks that can send to `target` in a group, as far as the evidence names them.
std::vector<std::uint32_t> Diagnoser::possible_senders(std::uint32_t group,
                                                       std::uint32_t target) const {
  std::vector<std::uint32_t> ranks = evidence_.groups[group].ranks;
  std::erase(ranks, target);
  return ranks;
}

// Finds the pending calls that match the sends and recvs of a call.
Diagnoser::Members Diagnoser::message_members(std::uint32_t pending) {
  const RecordedCall& own = call(pending);
  Members members;
  for (std::size_t op = 0; op < own.ops.size(); ++op) {
    const RecordedOp& it = own.ops[op];
    std::uint32_t member = it.source == pending_[pending].rank ? it.target : it.source;
    const auto partner = partner_.find({pending, op});
    if (partner == partner_.end()) continue;
    if (partner->second != kNone) {
      members.called.push_back(partner->second);
      continue;
    }
    if (member == kAnyRank) {
      const std::vector<std::uint32_t> senders = possible_senders(own.group, it.target);
      if (senders.size() != 1) {
        members.unknown.insert(members.unknown.end(), senders.begin(), senders.end());
        continue;
      }
      member = senders.front();
    }
    const RankEvidence& other = evidence_.ranks[member];
    const bool is_known = is_lost(member) || (other.has_dump && other.complete);
    if (is_known) {
      RecordedOp message = it;
      if (message.source == kAnyRank) message.source = member;
      add_wait_for_absent(pending, member, &message);
    } else {
      members.unknown.push_back(member);
    }
  }
  return members;
}

Diagnoser::Members Diagnoser::collective_members(std::uint32_t pending) {
  const RecordedCall& own = call(pending);
  Members members;
  for (const std::uint32_t member : evidence_.groups[own.group].ranks) {
    if (member == pending_[pending].rank) continue;
    std::uint32_t theirs = 0;
    const Called called = index_.collective(member, key_of(own), &theirs);
    const std::uint32_t other = called == Called::kYes ? pending_of(member, theirs) : kNone;
    if (other != kNone) members.called.push_back(other);
    const bool lost = called == Called::kUnknown && is_lost(member);
    if (called == Called::kNo || lost) add_wait_for_absent(pending, member, nullptr);
    if (called == Called::kUnknown && !lost) members.unknown.push_back(member);
  }
  return members;
}

// Adds the waits of the first call of a stream.
void Diagnoser::add_waits_for_members(std::uint32_t pending) {
  const RecordedCall& own = call(pending);
  const std::size_t before = edges_.size();
  const Members members = own.messages ? message_members(pending) : collective_members(pending);
  if (edges_.size() > before || add_waits_behind(pending, members)) return;
  for (const std::uint32_t member : members.unknown) {
    edges_.push_back({pending, node_of_rank(member),
                      own.messages ? WaitKind::kPeerOfMessage : WaitKind::kPeerOfCollective,
                      std::nullopt, true});
  }
  if (!members.unknown.empty() || misfits_[own.group]) return;
  edges_.push_back({pending, outside(own.group), WaitKind::kOutsideInput, std::nullopt, false});
}

void Diagnoser::add_waits(std::uint32_t pending) {
  first_edge_ = edges_.size();
  const std::uint32_t rank = pending_[pending].rank;
  if (stopped_[rank] == pending) {
    edges_.push_back({pending, node_of_rank(rank), WaitKind::kDeadRank, std::nullopt, false});
  } else if (stopped_[rank] != kNone) {
    edges_.push_back({pending, stopped_[rank], WaitKind::kCallOrder, std::nullopt, false});
  } else if (pending_[pending].stream_head != pending) {
    edges_.push_back(
        {pending, pending_[pending].stream_head, WaitKind::kStreamOrder, std::nullopt, false});
  } else {
    add_waits_for_members(pending);
  }
}

// Builds the graph. Ranks and unknown causes are nodes only if a call waits for them.
void Diagnoser::build_graph() {
  for (std::uint32_t i = 0; i < pending_count(); ++i) add_waits(i);
  std::vector<std::uint32_t> node(outside(evidence_.groups.size()), kNone);
  for (const Edge& edge : edges_) node[edge.to] = 0;
  for (std::uint32_t i = 0; i < node.size(); ++i) {
    if (i >= pending_count() && node[i] == kNone) continue;
    node[i] = static_cast<std::uint32_t>(graph_.nodes.size());
    sim::WaitNode it;
    if (i < pending_count()) {
      it.actor = ActorId{i};
      it.rank = sim::RankId{pending_[i].rank};
    } else if (i < outside(0)) {
      it.kind = WaitNodeKind::kRank;
      it.rank = sim::RankId{i - pending_count()};
    } else {
      it.kind = WaitNodeKind::kOutside;
    }
    graph_.nodes.push_back(it);
  }
  for (const Edge& edge : edges_) {
    WaitEdge it;
    it.from = node[edge.from];
    it.to = node[edge.to];
    it.kind = edge.kind;
    graph_.edges.push_back(it);
    needed_.push_back(edge.needed);
    unsure_.push_back(edge.unsure);
  }
}

Wait Diagnoser::describe(const WaitEdge& edge) const {
  Wait wait = wait_of(graph_, edge, [this](ActorId actor) {
    return call_info(evidence_, pending_[actor.value].rank, call(actor.value));
  });
  wait.needed = needed_[static_cast<std::size_t>(&edge - graph_.edges.data())];
  return wait;
}

// Compares the first send or recv of each pair of ranks with its match, if the pairing is certain.
void Diagnoser::find_message_mismatches() {
  for (const auto& [key, other] : partner_op_) {
    const auto& [pending, op] = key;
    const RecordedOp& own = call(pending).ops[op];
    const std::uint32_t rank = pending_[pending].rank;
    const bool usable = own.source == rank && other->source == rank &&
                        stopped_[own.source] == kNone && stopped_[own.target] == kNone &&
                        pending_[pending].stream_head == pending;
    const std::uint32_t theirs = partner_.at(key);
    if (!usable || pending_[theirs].stream_head != theirs) continue;
    const MatchResult match = match_ops(own, *other, 2);
    if (match.match == Match::kFull) continue;
    Misfit misfit;
    misfit.message = true;
    misfit.first = call_info(evidence_, rank, call(pending));
    misfit.second = call_info(evidence_, own.target, call(theirs));
    misfit.ranks = {own.target};
    misfit.differences = {match.difference};
    misfits_[call(pending).group] = true;
    result_.explanation.mismatches.push_back(std::move(misfit));
  }
}

void Diagnoser::explain() {
  Explanation& explanation = result_.explanation;
  const bool mismatch = !explanation.mismatches.empty();
  if (pending_count() > 0) {
    const bool hangs_itself =
        std::any_of(explanation.mismatches.begin(), explanation.mismatches.end(),
                    [](const Misfit& misfit) { return !misfit.message; });
    explain_waits(
        graph_, [this](const WaitEdge& edge) { return describe(edge); }, !hangs_itself,
        explanation);
  }
  describe_roots();
  if (mismatch) {
    explanation.verdict = sim::Verdict::kMismatch;
    explanation.cause = Cause::kMismatch;
  } else {
    decide_verdict();
  }
}

void Diagnoser::decide_verdict() {
  Explanation& explanation = result_.explanation;
  const bool any_dump = std::any_of(evidence_.ranks.begin(), evidence_.ranks.end(),
                                    [](const RankEvidence& rank) { return rank.has_dump; });
  const bool all_dumps =
      std::all_of(evidence_.ranks.begin(), evidence_.ranks.end(),
                  [](const RankEvidence& rank) { return rank.has_dump && rank.complete; });
  const bool told = std::any_of(
      result_.roots.begin(), result_.roots.end(),
      [](const DiagnosisRoot& root) { return root.reason != RootReason::kUnexplained; });
  const bool blocked =
      std::any_of(evidence_.ranks.begin(), evidence_.ranks.end(),
                  [](const RankEvidence& rank) { return rank.host && rank.host->blocked; });
  const bool nothing =
      pending_count() == 0 && (!any_dump || !all_dumps || blocked || !evidence_.gaps.empty());
  const bool unexplained = pending_count() > 0 && explanation.cycle.empty() && !told;
  const bool absent = std::any_of(
      result_.checks.begin(), result_.checks.end(),
      [](const CollectiveCheck& check) { return check.result == CheckResult::kNotAllJoined; });
  const auto has_unplaced = [&](ProcessState state) {
    return std::any_of(result_.unplaced.begin(), result_.unplaced.end(),
                       [&](const ProcessStanding& process) { return process.state == state; });
  };
  const bool lost =
      has_unplaced(ProcessState::kDead) || has_unplaced(ProcessState::kStopped) ||
      std::any_of(result_.roots.begin(), result_.roots.end(), [](const auto& root) {
        return root.reason == RootReason::kDied || root.reason == RootReason::kStopped;
      });
  const bool behind = has_unplaced(ProcessState::kBehind);
  if (lost && explanation.cycle.empty()) {
    explanation.verdict = sim::Verdict::kStarved;
    explanation.cause = Cause::kDeadRank;
  } else if (behind || (pending_count() == 0 && absent)) {
    explanation.verdict = sim::Verdict::kStarved;
    explanation.cause = Cause::kAbsentMember;
  } else if (nothing || unexplained) {
    explanation.verdict = sim::Verdict::kLimit;
    explanation.cause = Cause::kNone;
    if (all_ranks_wait(evidence_)) set_deadlock_of_all();
  }
}

// Reports a deadlock whose cycle is not known: there is no rank to blame.
void Diagnoser::set_deadlock_of_all() {
  Explanation& explanation = result_.explanation;
  explanation.verdict = sim::Verdict::kDeadlock;
  explanation.cause = Cause::kCycle;
  explanation.roots.clear();
  result_.roots.clear();
  result_.suspects.clear();
}

// Describes the roots. The example for a root is a direct wait, preferably a certain one. Among
// equally certain waits, a wait in a collective is preferred, because other ranks also wait in the
// collective.
void Diagnoser::describe_roots() {
  std::vector<std::uint32_t> first(graph_.nodes.size(), kNone);
  for (std::uint32_t i = 0; i < graph_.edges.size(); ++i) {
    std::uint32_t& known = first[graph_.edges[i].to];
    const auto rank_of_edge = [&](std::uint32_t edge) {
      return std::tuple(static_cast<bool>(unsure_[edge]),
                        graph_.edges[edge].kind == WaitKind::kPeerOfMessage);
    };
    const bool better = known == kNone || rank_of_edge(i) < rank_of_edge(known);
    if (better) known = i;
  }
  std::uint32_t node = pending_count();  // nodes of ranks and unknown causes follow all calls
  std::vector<Root> roots;
  for (Root& root : result_.explanation.roots) {
    const std::uint32_t edge = first[node++];
    root.first = describe(graph_.edges[edge]);
    if (is_suspect(root, unsure_[edge])) {
      const bool behind = !unsure_[edge];
      const RecordedCall& first_call = call(root.first.from.op.actor.value);
      result_.suspects.push_back({root.party.rank, behind, may_start(root), root.waiting,
                                  root.first, first_call.group, first_call.place});
      continue;
    }
    result_.roots.push_back(describe_root(root));
    roots.push_back(std::move(root));
  }
  result_.explanation.roots = std::move(roots);
  // Adds dead and stopped ranks, which are roots even if no call is known to wait for them. Also
  // adds failed ranks if no call is pending.
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) {
    const auto is_told = [&](const DiagnosisRoot& root) { return root.rank == rank; };
    const bool told = std::any_of(result_.roots.begin(), result_.roots.end(), is_told);
    const ProcessState state = evidence_.ranks[rank].process.state;
    const bool failed = state == ProcessState::kFailed && pending_count() > 0;
    if (told || !is_lost(rank) || failed) continue;
    DiagnosisRoot root;
    root.reason = state == ProcessState::kStopped ? RootReason::kStopped : RootReason::kDied;
    root.rank = rank;
    result_.roots.push_back(std::move(root));
  }
  keep_suspects();
}

DiagnosisRoot Diagnoser::describe_root(const Root& root) const {
  DiagnosisRoot told;
  told.rank = root.party.rank;
  told.waiting = root.waiting;
  told.first = root.first;
  const RecordedCall& first_call = call(root.first.from.op.actor.value);
  told.group = first_call.group;
  told.place = first_call.place;
  if (root.party.kind == WaitNodeKind::kOutside) {
    told.reason = RootReason::kUnexplained;
    told.rank = root.first.from.rank;
  } else if (is_lost(root.party.rank)) {
    const bool stopped = evidence_.ranks[root.party.rank].process.state == ProcessState::kStopped;
    told.reason = stopped ? RootReason::kStopped : RootReason::kDied;
  } else if (root.first.kind == WaitKind::kDeadRank) {
    told.reason = RootReason::kDeviceStopped;
    std::tie(told.peer, told.peer_came) = stopped_peer_[root.party.rank];
  }
  return told;
}

// Whether a rank that runs has yet to join the job, so that the others need not wait for ever.
bool Diagnoser::may_start(const Root& root) const {
  const auto thread = evidence_.main_threads.find(root.party.rank);
  if (thread == evidence_.main_threads.end() || !thread->second.runs) return false;
  const RecordedCall& first = call(root.first.from.op.actor.value);
  return !first.ops.empty() && (first.ops.front().name == "init_process_group" ||
                                first.ops.front().name == "_create_c10d_store");
}

// Whether the root is only a suspect: the rank may have made the call, or its stack shows a wait,
// or it may be blocked in an earlier call, or it still starts.
bool Diagnoser::is_suspect(const Root& root, bool unsure) const {
  if (root.party.kind == WaitNodeKind::kOutside) return false;
  const std::uint32_t rank = root.party.rank;
  if (is_lost(rank) || root.first.kind == WaitKind::kDeadRank) return false;
  const std::optional<HostStanding>& host = evidence_.ranks[rank].host;
  return unsure || may_start(root) ||
         (host ? host->waits || host->may_wait : evidence_.ranks[rank].may_wait);
}

// Drops the suspects whose stack shows a wait, unless all suspects wait. Drops all suspects if
// there is a root, a cycle or a mismatch.
void Diagnoser::keep_suspects() {
  std::vector<Suspect>& suspects = result_.suspects;
  const bool told = std::any_of(
      result_.roots.begin(), result_.roots.end(),
      [](const DiagnosisRoot& root) { return root.reason != RootReason::kUnexplained; });
  const Explanation& explanation = result_.explanation;
  const bool decided = told || !explanation.cycle.empty() || !explanation.mismatches.empty();
  if (decided) suspects.clear();
  // A rank that has launched as many collectives as the others has called what they wait for.
  if (evidence_.launched_alike) {
    std::erase_if(suspects, [](const Suspect& suspect) { return !suspect.behind; });
  }
  for (const ProcessStanding& process : evidence_.unplaced) {
    const bool is_lost =
        process.state == ProcessState::kDead || process.state == ProcessState::kStopped;
    if (!decided || is_lost) result_.unplaced.push_back(process);
  }
  // If no call is pending, reports processes that never answered.
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) {
    const auto is_there = [&](const Suspect& suspect) { return suspect.rank == rank; };
    const bool there = std::any_of(suspects.begin(), suspects.end(), is_there);
    const bool silent = evidence_.ranks[rank].process.state == ProcessState::kSilent;
    if (silent && !there && pending_count() == 0)
      suspects.push_back({rank, false, false, 0, {}, kNoIndex, {}});
  }
  const auto waits = [&](const Suspect& suspect) {
    const std::optional<HostStanding>& host = evidence_.ranks[suspect.rank].host;
    return host && host->waits;
  };
  if (!std::all_of(suspects.begin(), suspects.end(), waits)) std::erase_if(suspects, waits);
}

void Diagnoser::add_standings() {
  result_.ranks.reserve(evidence_.ranks.size());
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) {
    RankStanding standing;
    standing.rank = rank;
    standing.has_dump = evidence_.ranks[rank].has_dump;
    standing.pending = first_of_[rank + 1] - first_of_[rank];
    if (front_[rank] != kNone) standing.at = call_info(evidence_, rank, call(front_[rank]));
    for (std::uint32_t i = first_of_[rank]; i < first_of_[rank + 1]; ++i) {
      standing.spins = standing.spins || call(i).state == CallState::kStarted;
    }
    result_.ranks.push_back(std::move(standing));
  }
  result_.groups = group_standings(evidence_);
}

Diagnosis Diagnoser::run() {
  result_.checks = check_collectives(evidence_, index_);
  collect();
  pair_messages();
  find_stopped();
  misfits_.resize(evidence_.groups.size());
  result_.explanation.mismatches = find_misfits(evidence_, result_.checks, misfits_);
  find_message_mismatches();
  build_graph();
  result_.pending = pending_count();
  result_.explanation.ops_expected = pending_count();
  explain();
  for (const WaitEdge& edge : graph_.edges) result_.waits.push_back(describe(edge));
  add_standings();
  return std::move(result_);
}

}  // namespace

std::string_view reason_name(RootReason reason) {
  switch (reason) {
    case RootReason::kNotCalled:
      return "has not called";
    case RootReason::kDeviceStopped:
      return "device stopped";
    case RootReason::kDied:
      return "died";
    case RootReason::kStopped:
      return "stopped";
    case RootReason::kUnexplained:
      break;
  }
  return "unexplained";
}

Diagnosis diagnose(const Evidence& evidence) { return Diagnoser(evidence).run(); }

bool may_start(const Diagnosis& diagnosis) {
  return !diagnosis.suspects.empty() &&
         std::all_of(diagnosis.suspects.begin(), diagnosis.suspects.end(),
                     [](const Suspect& suspect) { return suspect.starts; });
}

}  // namespace pipesim::models
