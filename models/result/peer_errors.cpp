#include "models/result/peer_errors.hpp"

#include <algorithm>
#include <optional>
#include <set>

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::RankId;
using sim::WaitEdge;
using sim::WaitNode;
using sim::WaitNodeKind;

using Ranks = std::set<std::uint32_t>;

// A rank's process, and its calls of gloo.
struct Process {
  bool ended = false;
  bool raised = false;
  std::optional<std::uint32_t> call;  // node of the call in which a host waits
  Ranks peers;                        // ranks that this call needs
  std::size_t living_peers = 0;
  bool certain = true;  // whether an error of this call ends the main thread
  Ranks pending;        // other ranks that its collectives need; the process waits for these
  std::size_t living_pending = 0;
};

class Finder {
 public:
  Finder(const TaskGraph& graph, const Lowered& lowered, const sim::State& state,
         const sim::WaitGraph& waits)
      : graph_(graph), lowered_(lowered), plan_(lowered.plan), state_(state), waits_(waits) {}

  std::vector<PeerError> run();

 private:
  bool of_gloo(sim::CallId call) const {
    const ActorId actor = plan_.calls[call].actor;
    const StepTemplate& step = *graph_.actors[lowered_.actor_template[actor]].step;
    const CallTemplate& from = step.calls[call.value - plan_.actors[actor].calls];
    return graph_.communicators[from.communicator].is_gloo;
  }
  // Whether a wait is that of a call of gloo for another rank.
  bool is_of_gloo(const WaitEdge& edge) const {
    return edge.call.valid() && of_gloo(edge.call) &&
           waits_.nodes[edge.to].kind != WaitNodeKind::kOutside;
  }
  void find_ends();
  void abort_short_recvs();
  void find_calls();
  void find_call(std::uint32_t rank, sim::ThreadId thread);
  void follow(std::uint32_t node, Process& process, std::set<std::uint32_t>& seen) const;
  void find_pending();
  void tell_peers(std::uint32_t ended);
  void raise(std::uint32_t rank, std::uint32_t peer);
  void end(std::uint32_t rank) {
    processes_[rank].ended = true;
    ended_.push_back(rank);
  }
  void add_doubtful();
  void add(PeerError::Kind kind, std::uint32_t rank, ActorId actor, std::uint32_t k,
           std::uint32_t peer);

  const TaskGraph& graph_;
  const Lowered& lowered_;
  const sim::Plan& plan_;
  const sim::State& state_;
  const sim::WaitGraph& waits_;
  std::vector<Process> processes_{};    // [rank]
  std::vector<std::uint32_t> ended_{};  // ranks whose processes have ended, in order
  std::vector<Ranks> needed_by_{};      // [rank]: ranks whose calls need it
  std::vector<PeerError> result_{};
};

std::vector<PeerError> Finder::run() {
  processes_.resize(plan_.rank_count);
  needed_by_.resize(plan_.rank_count);
  find_ends();
  abort_short_recvs();
  if (ended_.empty()) return {};
  find_calls();
  find_pending();
  std::size_t told = 0;
  while (told < ended_.size()) tell_peers(ended_[told++]);
  add_doubtful();
  return std::move(result_);
}

void Finder::find_ends() {
  std::vector<bool> works(plan_.rank_count, false);
  for (const sim::ThreadId id : ids_of(plan_.threads)) {
    const sim::Thread& thread = plan_.threads[id];
    const sim::ThreadState& at = state_.threads[id];
    const bool finished = thread.order == sim::ThreadOrder::kProgram &&
                          at.mode != sim::ThreadMode::kBlocked &&
                          thread.program + at.next_op == thread.program_end;
    if (!finished) works[thread.rank.value] = true;
  }
  for (std::uint32_t rank = 0; rank < plan_.rank_count; ++rank) {
    if (!works[rank] || state_.health[RankId{rank}] == sim::Health::kDead) end(rank);
  }
}

// gloo aborts the process of a recv that is smaller than its message.
void Finder::abort_short_recvs() {
  for (const sim::CallId call : ids_of(plan_.calls)) {
    if (state_.calls[call] != sim::CallStage::kShort || !of_gloo(call)) continue;
    const ActorId actor = plan_.calls[call].actor;
    const std::uint32_t rank = plan_.actors[actor].rank.value;
    if (processes_[rank].ended) continue;
    end(rank);
    add(PeerError::Kind::kAborts, rank, actor, state_.actors[actor].done, rank);
  }
}

// Finds the call of each rank whose error can end the rank.
void Finder::find_calls() {
  std::vector<std::uint32_t> threads(plan_.rank_count, 0);
  for (const sim::ThreadId id : ids_of(plan_.threads)) {
    const std::uint32_t rank = plan_.threads[id].rank.value;
    if (state_.threads[id].mode != sim::ThreadMode::kBlocked || processes_[rank].ended) continue;
    ++threads[rank];
    if (!processes_[rank].call) find_call(rank, id);
  }
  for (std::uint32_t rank = 0; rank < plan_.rank_count; ++rank) {
    const bool threaded = graph_.recorded != nullptr && graph_.recorded->threaded.contains(rank);
    if (threads[rank] > 1 || threaded) processes_[rank].certain = false;
  }
}

// Finds the call of gloo in which a host thread waits, directly or through `await`.
void Finder::find_call(std::uint32_t rank, sim::ThreadId thread) {
  const ActorId at = state_.threads[thread].at;
  const bool launched = state_.threads[thread].step == sim::Step::kCompletion;
  const WaitNode own{WaitNodeKind::kOp, at, state_.actors[at].launched - (launched ? 1 : 0),
                     RankId{rank}};
  const auto found = std::lower_bound(waits_.nodes.begin(), waits_.nodes.end(), own);
  if (found == waits_.nodes.end() || *found != own) return;
  std::set<std::uint32_t> seen;
  Process& process = processes_[rank];
  follow(static_cast<std::uint32_t>(found - waits_.nodes.begin()), process, seen);
  for (const std::uint32_t peer : process.peers) needed_by_[peer].insert(rank);
  process.living_peers = process.peers.size();
}

// Follows the waits of a node within its rank to calls of gloo, and notes their peers.
void Finder::follow(std::uint32_t node, Process& process, std::set<std::uint32_t>& seen) const {
  if (!seen.insert(node).second) return;
  auto edge =
      std::lower_bound(waits_.edges.begin(), waits_.edges.end(), node,
                       [](const WaitEdge& each, std::uint32_t from) { return each.from < from; });
  for (; edge != waits_.edges.end() && edge->from == node; ++edge) {
    const WaitNode& to = waits_.nodes[edge->to];
    if (to.kind == WaitNodeKind::kOp && to.rank == waits_.nodes[node].rank) {
      // If this is one of several waits, the call needs one of gloo's workers.
      process.certain = process.certain && edge->any_set == 0;
      follow(edge->to, process, seen);
    } else if (is_of_gloo(*edge) && !plan_.calls[edge->call].from_any()) {
      if (!process.call) process.call = node;
      process.peers.insert(to.rank.value);
    }
  }
}

// Finds the ranks that the collectives of each rank need, also of those that no host waits for.
void Finder::find_pending() {
  for (const WaitEdge& edge : waits_.edges) {
    if (!is_of_gloo(edge) || plan_.calls[edge.call].kind != sim::CallKind::kCollective) continue;
    const std::uint32_t rank = waits_.nodes[edge.from].rank.value;
    const std::uint32_t peer = waits_.nodes[edge.to].rank.value;
    if (peer == rank || !processes_[rank].pending.insert(peer).second) continue;
    needed_by_[peer].insert(rank);
    ++processes_[rank].living_pending;
  }
}

// Lets the ranks raise that wait only for ended ones.
void Finder::tell_peers(std::uint32_t ended) {
  for (const std::uint32_t rank : needed_by_[ended]) {
    Process& process = processes_[rank];
    if (process.ended) continue;
    if (process.pending.contains(ended)) --process.living_pending;
    if (process.peers.contains(ended) && --process.living_peers == 0 && process.certain) {
      raise(rank, ended);
    }
    if (process.raised && process.living_pending == 0) end(rank);
  }
}

void Finder::raise(std::uint32_t rank, std::uint32_t peer) {
  const WaitNode& in = waits_.nodes[*processes_[rank].call];
  processes_[rank].raised = true;
  add(PeerError::Kind::kRaises, rank, in.actor, in.k, peer);
}

// Adds the ranks that may raise: they wait for an ended rank, and for something else.
void Finder::add_doubtful() {
  for (std::uint32_t rank = 0; rank < plan_.rank_count; ++rank) {
    const Process& process = processes_[rank];
    if (process.ended || process.raised) continue;
    const auto peer = std::find_if(process.peers.begin(), process.peers.end(),
                                   [&](std::uint32_t other) { return processes_[other].ended; });
    if (peer == process.peers.end()) continue;
    const WaitNode& in = waits_.nodes[*process.call];
    add(PeerError::Kind::kMayRaise, rank, in.actor, in.k, *peer);
  }
}

void Finder::add(PeerError::Kind kind, std::uint32_t rank, ActorId actor, std::uint32_t k,
                 std::uint32_t peer) {
  result_.push_back({kind, rank, peer, describe_op(graph_, lowered_, state_, actor, k)});
}

}  // namespace

std::vector<PeerError> peer_errors(const TaskGraph& graph, const Lowered& lowered,
                                   const sim::State& state, const sim::WaitGraph& waits) {
  const bool any = std::any_of(graph.communicators.begin(), graph.communicators.end(),
                               [](const auto& communicator) { return communicator.is_gloo; });
  if (!any) return {};
  return Finder(graph, lowered, state, waits).run();
}

}  // namespace pipesim::models
