// The wait-for graph at the end of a LogGOPS run. Edges are collected in the order of their
// targets, then sorted by their sources.
#include <algorithm>
#include <map>
#include <utility>

#include "sim/match_queue.hpp"

#include "features/goal/loggops.hpp"

namespace pipesim::sim {
namespace {

constexpr std::uint32_t kNoNode = 0xffffffff;

class Waits {
 public:
  Waits(const LogGopsProgram& program, const LogGopsOutcome& outcome)
      : program_(program), out_(outcome) {}

  WaitGraph run() {
    add_nodes();
    add_requirements();
    add_messages();
    number_roots();
    std::stable_sort(graph_.edges.begin(), graph_.edges.end(),
                     [](const WaitEdge& a, const WaitEdge& b) { return a.from < b.from; });
    return std::move(graph_);
  }

 private:
  // Ops per key, last op first.
  using Ops = std::map<MatchKey, std::vector<std::uint32_t>>;

  std::uint32_t count() const { return static_cast<std::uint32_t>(program_.ops.size()); }
  bool started(std::uint32_t op) const { return out_.ops[op].start != kNever; }
  bool done(std::uint32_t op) const { return out_.ops[op].done != kNever; }

  void add_nodes() {
    node_.assign(count(), kNoNode);
    for (std::uint32_t op = 0; op < count(); ++op) {
      if (done(op)) continue;
      node_[op] = static_cast<std::uint32_t>(graph_.nodes.size());
      graph_.nodes.push_back({WaitNodeKind::kOp, ActorId{op}, 0, RankId{program_.ops[op].rank}});
    }
  }

  void add_requirements() {
    for (std::uint32_t op = 0; op < count(); ++op) {
      if (done(op)) continue;
      const std::uint32_t end = program_.dependents_begin[op + 1];
      for (std::uint32_t i = program_.dependents_begin[op]; i < end; ++i) {
        const bool at_start = (program_.dependents[i] & LogGopsProgram::kAtStart) != 0;
        if (at_start && started(op)) continue;
        const std::uint32_t dependent = program_.dependents[i] & ~LogGopsProgram::kAtStart;
        add(node_[dependent], node_[op], at_start ? WaitKind::kIRequires : WaitKind::kRequires);
      }
    }
  }

  void add_messages() {
    for (const LogGopsKind kind : {LogGopsKind::kSend, LogGopsKind::kReceive}) {
      std::vector<std::uint32_t> waiting;
      Ops others;  // ops that have not started
      for (std::uint32_t op = count(); op-- > 0;) {
        const LogGopsOp& what = program_.ops[op];
        if (what.kind == LogGopsKind::kCalculate || out_.ops[op].match != kNoOp) continue;
        if (what.kind == kind && started(op)) waiting.push_back(op);
        if (what.kind != kind && !started(op)) others[key_of(op)].push_back(op);
      }
      std::sort(waiting.begin(), waiting.end(), [&](std::uint32_t a, std::uint32_t b) {
        return out_.ops[a].start != out_.ops[b].start ? out_.ops[a].start < out_.ops[b].start
                                                      : a < b;
      });
      for (const std::uint32_t op : waiting) add_message(op, others);
    }
  }

  MatchKey key_of(std::uint32_t op) const {
    const LogGopsOp& what = program_.ops[op];
    return what.kind == LogGopsKind::kSend ? MatchKey{what.peer, what.rank, what.tag}
                                           : MatchKey{what.rank, what.peer, what.tag};
  }

  // Adds the edge from a waiting send or recv to its peer. A buffered send does not wait, but still
  // uses up the recv that later sends would match.
  void add_message(std::uint32_t op, Ops& others) {
    const MatchKey key = key_of(op);
    const auto best = best_of(key, others);
    if (best != others.end()) {
      const bool any = key.peer == kAnyPeer || key.tag == kAnyTag;
      if (!done(op)) add(node_[op], node_[best->second.back()], WaitKind::kPeerOfMessage, any);
      best->second.pop_back();
      if (best->second.empty()) others.erase(best);
    } else if (!done(op)) {
      const bool sends = program_.ops[op].kind == LogGopsKind::kSend;
      roots_.emplace_back(node_[op], sends ? key.rank : key.peer);
    }
  }

  // Returns, among the entries whose key matches `key`, the entry whose first op comes earliest.
  Ops::iterator best_of(const MatchKey& key, Ops& others) const {
    if (!program_.has_wildcards) return others.find(key);
    auto best = others.end();
    for (auto it = others.lower_bound({key.rank, 0, 0});
         it != others.end() && it->first.rank == key.rank; ++it) {
      const MatchKey& other = it->first;
      const bool fits =
          (key.peer == kAnyPeer || other.peer == kAnyPeer || key.peer == other.peer) &&
          (key.tag == kAnyTag || other.tag == kAnyTag || key.tag == other.tag);
      if (!fits) continue;
      if (best == others.end() || it->second.back() < best->second.back()) best = it;
    }
    return best;
  }

  void add(std::uint32_t from, std::uint32_t to, WaitKind kind, bool any = false) {
    WaitEdge edge;
    edge.from = from;
    edge.to = to;
    edge.kind = kind;
    edge.any_set = any ? ++any_sets_ : 0;
    graph_.edges.push_back(edge);
  }

  // Adds nodes for missing peers: ranks, and last the outside, because kAnyPeer is the largest
  // number.
  void number_roots() {
    std::map<std::uint32_t, std::uint32_t> node_of_rank;
    for (const auto& [from, rank] : roots_) node_of_rank.emplace(rank, 0);
    for (auto& [rank, node] : node_of_rank) {
      node = static_cast<std::uint32_t>(graph_.nodes.size());
      const bool outside = rank == kAnyPeer;
      graph_.nodes.push_back({outside ? WaitNodeKind::kOutside : WaitNodeKind::kRank, ActorId(), 0,
                              outside ? RankId() : RankId{rank}});
    }
    for (const auto& [from, rank] : roots_) {
      add(from, node_of_rank.at(rank), WaitKind::kPeerOfMessage);
    }
  }

  const LogGopsProgram& program_;
  const LogGopsOutcome& out_;
  WaitGraph graph_;
  std::vector<std::uint32_t> node_;                             // node of each op
  std::vector<std::pair<std::uint32_t, std::uint32_t>> roots_;  // node, rank
  std::uint32_t any_sets_ = 0;
};

}  // namespace

WaitGraph wait_graph(const LogGopsProgram& program, const LogGopsOutcome& outcome) {
  return Waits(program, outcome).run();
}

std::vector<ActorId> unreceived(const LogGopsProgram& program, const LogGopsOutcome& outcome) {
  std::vector<ActorId> sends;
  for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
    const bool lost = program.ops[op].kind == LogGopsKind::kSend &&
                      outcome.ops[op].done != kNever && outcome.ops[op].match == kNoOp;
    if (lost) sends.push_back(ActorId{op});
  }
  return sends;
}

}  // namespace pipesim::sim
