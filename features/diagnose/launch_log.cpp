// Diagnoses launch logs. A log shows which ops were launched, and whether a thread is inside a
// launch. The graph has only the waits that follow from these facts. A member that launched or
// entered execution k of a collective waits for the members that have not entered it. Each such
// member is in an earlier launch, or waits in another collective. A log does not show which ranks
// wait for data. So a rank without waits is a root only if no other rank has launched fewer
// iterations.
#include "features/diagnose/launch_log.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "models/result/wait_cycle.hpp"
#include "sim/wait_graph.hpp"

#include "features/diagnose/evidence_calls.hpp"

namespace pipesim::models {
namespace {

using sim::WaitEdge;
using sim::WaitKind;
using sim::WaitNodeKind;

/// An op of a collective in which a rank waits.
struct Waiting {
  std::uint32_t rank;
  std::uint32_t op;      // index in the ops of the rank
  std::uint32_t number;  // execution of the op, from 1
  bool open;
  std::vector<std::uint32_t> missing;  // members that have not entered it
};

class LogDiagnoser {
 public:
  LogDiagnoser(const LaunchLog& log, const LaunchLogHints& hints) : log_(log), hints_(hints) {}

  LaunchLogDiagnosis run();

 private:
  void find_components();
  void find_orders();
  void find_columns();
  void add_standings();
  LoggedProgress progress_of(std::uint32_t rank, std::size_t column) const;
  void find_behind();
  void find_waiting();
  std::optional<std::uint32_t> entered(std::uint32_t rank, const std::string& op) const;
  std::optional<Waiting> waiting_in(std::uint32_t rank, std::uint32_t op) const;
  void build_graph();
  void decide();
  void add_evidence();
  const LoggedOp* find(std::uint32_t rank, const std::string& op) const;
  std::vector<std::uint32_t> members(std::uint32_t rank, const std::string& op) const;
  bool is_collective(const std::string& op) const;
  std::uint32_t stands_at(std::uint32_t rank) const;
  OpInfo describe(std::uint32_t rank, const LoggedOp& op, std::uint32_t number) const;
  Wait describe(const WaitEdge& edge) const;

  const LaunchLog& log_;
  const LaunchLogHints& hints_;
  std::vector<std::map<std::string, std::uint32_t>> index_;  // [rank]: the index of each op
  std::uint32_t most_ = 0;                                   // maximum number of launches of any op
  // [rank]: its stage; ranks that share ops are in one stage.
  std::vector<std::uint32_t> component_;
  std::map<std::uint32_t, std::vector<std::string>> order_;  // ops of each stage, in order
  std::vector<std::vector<std::string>> column_ops_;         // ops of each column
  std::vector<Waiting> waiting_;
  sim::WaitGraph graph_;
  std::vector<std::optional<OpInfo>> needed_;  // [edge]: the missing op, if known
  LaunchLogDiagnosis result_;
};

const LoggedOp* LogDiagnoser::find(std::uint32_t rank, const std::string& op) const {
  const auto at = index_[rank].find(op);
  return at == index_[rank].end() ? nullptr : &log_.ranks[rank].ops[at->second];
}

// Groups ranks into stages. The ranks of a stage share op names, but a rank that hangs early has
// fewer ops.
void LogDiagnoser::find_components() {
  component_.resize(log_.ranks.size());
  std::iota(component_.begin(), component_.end(), 0U);
  const auto root = [&](std::uint32_t rank) {
    while (component_[rank] != rank) rank = component_[rank];
    return rank;
  };
  std::map<std::string, std::uint32_t> first;
  for (std::uint32_t rank = 0; rank < log_.ranks.size(); ++rank) {
    for (const LoggedOp& op : log_.ranks[rank].ops) {
      const std::uint32_t other = root(first.emplace(op.name, rank).first->second);
      const std::uint32_t own = root(rank);
      component_[std::max(own, other)] = std::min(own, other);
    }
  }
  for (std::uint32_t rank = 0; rank < log_.ranks.size(); ++rank) component_[rank] = root(rank);
}

// Orders the ops of each stage: takes the order of the rank with the most ops, and appends the ops
// that only other ranks have.
void LogDiagnoser::find_orders() {
  std::map<std::uint32_t, std::vector<std::uint32_t>> ranks;
  for (std::uint32_t rank = 0; rank < log_.ranks.size(); ++rank) {
    ranks[component_[rank]].push_back(rank);
  }
  for (auto& [component, of] : ranks) {
    std::stable_sort(of.begin(), of.end(), [&](std::uint32_t a, std::uint32_t b) {
      return log_.ranks[a].ops.size() > log_.ranks[b].ops.size();
    });
    std::vector<std::string>& order = order_[component];
    std::set<std::string> known;
    for (const std::uint32_t rank : of) {
      for (const LoggedOp& op : log_.ranks[rank].ops) {
        if (known.insert(op.name).second) order.push_back(op.name);
      }
    }
  }
}

void LogDiagnoser::find_columns() {
  for (const auto& [name, ops] : hints_.phases) {
    result_.columns.push_back(name);
    column_ops_.push_back(ops);
  }
  if (!result_.columns.empty()) return;
  // Each stream is a column. If the logs name no streams, a single column has all ops.
  std::vector<std::string> names;
  for (const LoggedRank& rank : log_.ranks) {
    for (const LoggedOp& op : rank.ops) {
      if (!op.stream.empty() && std::find(names.begin(), names.end(), op.stream) == names.end()) {
        names.push_back(op.stream);
      }
    }
  }
  if (names.empty()) names.emplace_back("all ops");
  const bool by_stream = names.front() != "all ops";
  for (const std::string& name : names) {
    result_.columns.push_back(name);
    std::vector<std::string>& ops = column_ops_.emplace_back();
    for (const auto& [component, order] : order_) {
      for (const std::string& op : order) {
        const bool is_in =
            !by_stream ||
            std::any_of(log_.ranks.begin(), log_.ranks.end(), [&](const LoggedRank& rank) {
              return std::any_of(rank.ops.begin(), rank.ops.end(), [&](const LoggedOp& it) {
                return it.name == op && it.stream == name;
              });
            });
        if (is_in) ops.push_back(op);
      }
    }
  }
}

LoggedProgress LogDiagnoser::progress_of(std::uint32_t rank, std::size_t column) const {
  LoggedProgress progress;
  progress.column = column;
  progress.rounds = kNoIndex;
  // The column's ops that this stage has, in the order of the column.
  const std::vector<std::string>& of_stage = order_.at(component_[rank]);
  std::vector<std::string> ops;
  for (const std::string& op : column_ops_[column]) {
    if (std::find(of_stage.begin(), of_stage.end(), op) != of_stage.end()) ops.push_back(op);
  }
  for (const std::string& name : ops) {
    const LoggedOp* op = find(rank, name);
    progress.rounds = std::min(progress.rounds, op == nullptr ? 0 : op->launched);
  }
  progress.expected = ops.empty() ? 0 : most_;
  if (ops.empty()) progress.rounds = 0;
  if (progress.rounds == progress.expected) return progress;
  for (const std::string& name : ops) {
    const LoggedOp* op = find(rank, name);
    const bool launched = op != nullptr && op->launched > progress.rounds;
    if (launched && progress.next.empty()) progress.launched = name;
    if (!launched && progress.next.empty()) {
      progress.next = name;
      progress.open = op != nullptr && op->entered > progress.rounds;
    }
  }
  return progress;
}

void LogDiagnoser::add_standings() {
  for (std::uint32_t rank = 0; rank < log_.ranks.size(); ++rank) {
    LoggedStanding standing;
    standing.rank = rank;
    standing.has_log = log_.ranks[rank].has_log;
    if (standing.has_log) {
      for (std::size_t column = 0; column < column_ops_.size(); ++column) {
        LoggedProgress progress = progress_of(rank, column);
        if (progress.expected > 0) standing.progress.push_back(std::move(progress));
      }
      standing.rounds = kNoIndex;
      for (const LoggedProgress& progress : standing.progress) {
        standing.rounds = std::min(standing.rounds, progress.rounds);
      }
      if (standing.progress.empty()) standing.rounds = 0;
      for (const LoggedThread& thread : log_.ranks[rank].threads) {
        for (const std::uint32_t op : thread.open) {
          const LoggedOp& it = log_.ranks[rank].ops[op];
          result_.open.push_back(describe(rank, it, it.entered));
        }
      }
    }
    result_.ranks.push_back(std::move(standing));
  }
}

void LogDiagnoser::find_behind() {
  std::uint32_t least = kNoIndex;
  std::uint32_t most = 0;
  for (const LoggedStanding& rank : result_.ranks) {
    if (!rank.has_log) continue;
    least = std::min(least, rank.rounds);
    most = std::max(most, rank.rounds);
  }
  for (const LoggedStanding& rank : result_.ranks) {
    if (rank.has_log && rank.rounds == least && least < most) result_.behind.push_back(rank.rank);
  }
}

bool LogDiagnoser::is_collective(const std::string& op) const {
  if (hints_.collectives.count(op) > 0) return true;
  if (hints_.only_these) return false;
  std::string lower = op;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower.find("nccl") != std::string::npos;
}

// Returns the group of `rank` in the collective `op`; empty if it is unknown.
std::vector<std::uint32_t> LogDiagnoser::members(std::uint32_t rank, const std::string& op) const {
  if (!is_collective(op)) return {};
  const auto own = hints_.collectives.find(op);
  const auto& groups = own != hints_.collectives.end() ? own->second : hints_.groups;
  for (const std::vector<std::uint32_t>& group : groups) {
    if (std::find(group.begin(), group.end(), rank) != group.end()) return group;
  }
  return {};
}

// Returns the number of times that `rank` entered `op`; nullopt if the rank has no log.
std::optional<std::uint32_t> LogDiagnoser::entered(std::uint32_t rank,
                                                   const std::string& op) const {
  if (rank >= log_.ranks.size() || !log_.ranks[rank].has_log) return std::nullopt;
  const LoggedOp* it = find(rank, op);
  return it == nullptr ? 0 : it->entered;
}

// Finds the first execution of `op` that a member has not entered. Later executions wait for the
// same members.
std::optional<Waiting> LogDiagnoser::waiting_in(std::uint32_t rank, std::uint32_t op) const {
  const LoggedOp& own = log_.ranks[rank].ops[op];
  const std::vector<std::uint32_t> group = members(rank, own.name);
  std::uint32_t least = own.entered;
  for (const std::uint32_t member : group) {
    least = std::min(least, entered(member, own.name).value_or(least));
  }
  if (least == own.entered) return std::nullopt;
  Waiting waiting{rank, op, least + 1, least + 1 > own.launched, {}};
  for (const std::uint32_t member : group) {
    if (entered(member, own.name).value_or(waiting.number) < waiting.number) {
      waiting.missing.push_back(member);
    }
  }
  return waiting;
}

void LogDiagnoser::find_waiting() {
  for (std::uint32_t rank = 0; rank < log_.ranks.size(); ++rank) {
    const LoggedRank& of = log_.ranks[rank];
    std::vector<Waiting> own;
    for (std::uint32_t op = 0; op < of.ops.size(); ++op) {
      if (!members(rank, of.ops[op].name).empty()) result_.has_groups = true;
      if (auto waiting = waiting_in(rank, op)) own.push_back(std::move(*waiting));
    }
    // Sorts the op whose launch blocks a thread first, because this op blocks the rank.
    std::stable_sort(own.begin(), own.end(),
                     [](const Waiting& a, const Waiting& b) { return a.open && !b.open; });
    waiting_.insert(waiting_.end(), own.begin(), own.end());
  }
}

std::uint32_t LogDiagnoser::stands_at(std::uint32_t rank) const {
  const auto at = std::find_if(waiting_.begin(), waiting_.end(),
                               [&](const Waiting& it) { return it.rank == rank; });
  return at == waiting_.end() ? kNoIndex : static_cast<std::uint32_t>(at - waiting_.begin());
}

void LogDiagnoser::build_graph() {
  struct Edge {
    std::uint32_t from;
    std::uint32_t to;
    std::optional<OpInfo> needed;
  };
  std::vector<Edge> edges;
  std::set<std::uint32_t> ends;  // ranks at which waits end
  const auto count = static_cast<std::uint32_t>(waiting_.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const Waiting& waiting = waiting_[i];
    const LoggedOp& op = log_.ranks[waiting.rank].ops[waiting.op];
    for (const std::uint32_t member : waiting.missing) {
      const std::uint32_t at = stands_at(member);
      if (at != kNoIndex) {
        OpInfo needed = describe(member, op, waiting.number);
        needed.stage = OpStage::kNotEntered;
        edges.push_back({i, at, std::move(needed)});
        continue;
      }
      // Unless the member has launched the fewest iterations, it is assumed to wait for data, which
      // logs do not show.
      const bool is_behind =
          std::find(result_.behind.begin(), result_.behind.end(), member) != result_.behind.end();
      if (is_behind) edges.push_back({i, count + member, std::nullopt});
      if (is_behind) ends.insert(member);
    }
  }
  std::map<std::uint32_t, std::uint32_t> node;
  for (std::uint32_t i = 0; i < count; ++i) {
    node[i] = i;
    graph_.nodes.push_back({WaitNodeKind::kOp, sim::ActorId{i}, waiting_[i].number - 1,
                            sim::RankId{waiting_[i].rank}});
  }
  for (const std::uint32_t rank : ends) {
    node[count + rank] = static_cast<std::uint32_t>(graph_.nodes.size());
    sim::WaitNode end;
    end.kind = WaitNodeKind::kRank;
    end.rank = sim::RankId{rank};
    graph_.nodes.push_back(end);
  }
  for (Edge& edge : edges) {
    WaitEdge it;
    it.from = edge.from;
    it.to = node[edge.to];
    it.kind = WaitKind::kPeerOfCollective;
    graph_.edges.push_back(it);
    needed_.push_back(std::move(edge.needed));
  }
}

OpInfo LogDiagnoser::describe(std::uint32_t rank, const LoggedOp& op, std::uint32_t number) const {
  OpInfo info;
  info.rank = rank;
  info.name = op.name;
  info.number = number;
  info.stream = op.stream.empty() ? op.thread : op.stream;
  info.thread = op.thread;
  info.collective = is_collective(op.name);
  if (number <= op.launched) {
    info.stage = OpStage::kLaunched;
  } else if (number <= op.entered) {
    info.stage = OpStage::kEntered;
  }
  return info;
}

Wait LogDiagnoser::describe(const WaitEdge& edge) const {
  Wait wait = wait_of(graph_, edge, [this](sim::ActorId actor) {
    const Waiting& waiting = waiting_[actor.value];
    return describe(waiting.rank, log_.ranks[waiting.rank].ops[waiting.op], waiting.number);
  });
  wait.needed = needed_[static_cast<std::size_t>(&edge - graph_.edges.data())];
  return wait;
}

void LogDiagnoser::decide() {
  Explanation& explanation = result_.explanation;
  const bool ends = graph_.nodes.size() > waiting_.size();
  const bool has_cycle = !find_cycle(graph_).edges.empty();
  std::set<std::uint32_t> roots;
  if (ends || has_cycle) {
    explain_waits(
        graph_, [this](const WaitEdge& edge) { return describe(edge); }, true, explanation);
    for (const Wait& wait : explanation.cycle) roots.insert(wait.from.rank);
    for (const Root& root : explanation.roots) {
      if (explanation.cycle.empty()) roots.insert(root.party.rank);
    }
  } else if (!result_.behind.empty() && result_.has_groups) {
    explanation.verdict = sim::Verdict::kStarved;
    explanation.cause = Cause::kAbsentMember;
    roots.insert(result_.behind.begin(), result_.behind.end());
  } else if (!result_.behind.empty() || !waiting_.empty() || !result_.open.empty()) {
    // No verdict is safe without groups, because a rank may launch fewer ops if it has less to do.
    explanation.verdict = sim::Verdict::kLimit;
  }
  result_.roots.assign(roots.begin(), roots.end());
}

// Converts the waits to evidence. A rank that neither waits nor is blamed is assumed to wait for
// data. Its log does not show such a wait, so the rank counts as a rank without a log.
void LogDiagnoser::add_evidence() {
  Evidence& evidence = result_.evidence;
  evidence.name = log_.name;
  evidence.format = log_.format;
  evidence.ranks.resize(log_.ranks.size());
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::uint32_t> group_of;
  for (const Waiting& waiting : waiting_) {
    const std::string& name = log_.ranks[waiting.rank].ops[waiting.op].name;
    std::vector<std::uint32_t> group = members(waiting.rank, name);
    std::sort(group.begin(), group.end());
    const auto [at, is_new] =
        group_of.emplace(std::pair(name, group), static_cast<std::uint32_t>(group_of.size()));
    if (is_new) evidence.groups.push_back({name, "", std::move(group)});
    RankEvidence& rank = evidence.ranks[waiting.rank];
    RecordedCall call;
    call.group = at->second;
    call.sequence = waiting.number;
    call.ops.emplace_back();
    call.ops.front().record = call.last_record = rank.calls.size();
    call.ops.front().name = name;
    rank.calls.push_back(std::move(call));
    for (const std::uint32_t member : evidence.groups[at->second].ranks) {
      if (!is_new || member >= evidence.ranks.size()) continue;
      const std::int64_t least = waiting.number - 1;
      const bool lacks = entered(member, name).value_or(0) < waiting.number;
      evidence.ranks[member].progress.push_back(
          {at->second, lacks ? least : waiting.number, least, least, false, {}});
    }
  }
  for (std::uint32_t rank = 0; rank < evidence.ranks.size(); ++rank) {
    const bool is_root = std::binary_search(result_.roots.begin(), result_.roots.end(), rank);
    evidence.ranks[rank].has_dump = is_root || !evidence.ranks[rank].calls.empty();
  }
}

LaunchLogDiagnosis LogDiagnoser::run() {
  for (const LoggedRank& rank : log_.ranks) {
    std::map<std::string, std::uint32_t>& index = index_.emplace_back();
    for (std::uint32_t op = 0; op < rank.ops.size(); ++op) {
      index.emplace(rank.ops[op].name, op);
      most_ = std::max(most_, rank.ops[op].launched);
    }
  }
  find_components();
  find_orders();
  find_columns();
  add_standings();
  find_behind();
  find_waiting();
  build_graph();
  decide();
  add_evidence();
  for (const WaitEdge& edge : graph_.edges) result_.waits.push_back(describe(edge));
  return std::move(result_);
}

}  // namespace

LaunchLogDiagnosis diagnose(const LaunchLog& log, const LaunchLogHints& hints) {
  return LogDiagnoser(log, hints).run();
}

}  // namespace pipesim::models
