#include "pipesim/run.hpp"

#include <algorithm>
#include <mutex>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "library/graph_data.hpp"
#include "models/result/expectation.hpp"
#include "models/result/memory.hpp"
#include "models/result/pipeline_report.hpp"
#include "models/result/remedies.hpp"
#include "models/result/simulation.hpp"
#include "viz/pictures/wait_for_dot.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"

namespace pipesim {
namespace {

static_assert(static_cast<int>(Verdict::kCompleted) == static_cast<int>(sim::Verdict::kCompleted) &&
              static_cast<int>(Verdict::kDeadlock) == static_cast<int>(sim::Verdict::kDeadlock) &&
              static_cast<int>(Verdict::kStarved) == static_cast<int>(sim::Verdict::kStarved) &&
              static_cast<int>(Verdict::kMismatch) == static_cast<int>(sim::Verdict::kMismatch) &&
              static_cast<int>(Verdict::kCrashed) == static_cast<int>(sim::Verdict::kCrashed) &&
              static_cast<int>(Verdict::kLimit) == static_cast<int>(sim::Verdict::kLimit));

Op op_of(const models::WaitParty& party) {
  Op op;
  op.text = viz::party_text(party);
  op.rank = party.rank;
  if (party.kind != sim::WaitNodeKind::kOp) return op;
  const models::OpInfo& info = party.op;
  op.rank = info.rank;
  op.name = info.name;
  op.number = info.number;
  op.micro_batch = info.micro_batch;
  op.stream = info.stream;
  op.state = viz::stage_text(info);
  return op;
}

Wait wait_of(const models::Wait& wait) {
  Wait result{op_of(wait.from), op_of(wait.to), std::string(sim::facts(wait.kind).name), {}};
  result.text = fmt::format("{} {}", result.from.text, viz::wait_text(wait));
  return result;
}

Root root_of(const models::Root& root) {
  Root result{viz::party_text(root.party), std::nullopt, root.waiting};
  if (root.party.kind == sim::WaitNodeKind::kRank) result.rank = root.party.rank;
  return result;
}

RankState rank_of(const models::RankReport& rank) {
  RankState result{rank.rank, rank.spins, rank.dead, {}};
  for (const models::Progress& progress : rank.progress) {
    result.progress.push_back({progress.what, progress.done, progress.expected});
  }
  return result;
}

}  // namespace

struct Result::Data {
  Data(Graph of, models::Simulation run) : graph(std::move(of)), simulation(std::move(run)) {
    const models::Explanation& from = simulation.explanation;
    for (const models::Wait& wait : from.cycle) cycle.push_back(wait_of(wait));
    for (const models::Root& root : from.roots) roots.push_back(root_of(root));
    for (const models::RankReport& rank : from.ranks) ranks.push_back(rank_of(rank));
  }

  const viz::Report& report() const {
    std::call_once(is_reported, [this] {
      const models::TaskGraph& of = graph.task_graph();
      const models::Explanation& why = simulation.explanation;
      reported.emplace(
          viz::Report{of,
                      why,
                      models::find_misplacements(of, simulation),
                      models::find_remedies(of, simulation),
                      {},
                      models::pipeline_report(of, simulation.lowered, simulation.outcome),
                      models::memory_report(of, simulation.lowered, simulation.outcome)});
    });
    return *reported;
  }

  Graph graph;
  models::Simulation simulation;
  std::vector<Wait> cycle;
  std::vector<Root> roots;
  std::vector<RankState> ranks;
  mutable std::once_flag is_reported;
  mutable std::optional<viz::Report> reported;
};

std::string verdict_name(Verdict verdict) {
  return models::verdict_name(static_cast<sim::Verdict>(verdict));
}

Verdict Result::verdict() const {
  return static_cast<Verdict>(data_->simulation.explanation.verdict);
}

std::string Result::cause() const {
  return models::cause_name(data_->simulation.explanation.cause);
}

std::chrono::nanoseconds Result::time() const {
  return std::chrono::nanoseconds(data_->simulation.explanation.time_ns);
}

std::uint64_t Result::ops_done() const { return data_->simulation.explanation.ops_done; }

std::uint64_t Result::ops_expected() const { return data_->simulation.explanation.ops_expected; }

std::uint64_t Result::fingerprint() const { return data_->simulation.explanation.fingerprint; }

const std::vector<Wait>& Result::cycle() const { return data_->cycle; }

bool Result::cycle_goes_through(const std::string& op) const {
  return std::any_of(data_->cycle.begin(), data_->cycle.end(),
                     [&](const Wait& wait) { return wait.from.name == op; });
}

const std::vector<Root>& Result::roots() const { return data_->roots; }

const std::vector<RankState>& Result::ranks() const { return data_->ranks; }

std::string Result::text() const { return viz::text_report(data_->report(), {}); }

std::string Result::json() const { return viz::json_report(data_->report()); }

std::string Result::dot() const {
  const models::TaskGraph& graph = data_->graph.task_graph();
  const models::Simulation& run = data_->simulation;
  viz::WaitPicture picture;
  picture.title = graph.name + ": who waits for whom";
  picture.cycle = run.explanation.cycle;
  for (const sim::WaitEdge& edge : run.waits.edges) {
    picture.all_waits.push_back(
        models::describe_wait(graph, run.lowered, run.outcome.state, run.waits, edge));
  }
  return viz::wait_for_dot(picture);
}

const Graph& Result::graph() const { return data_->graph; }

std::ostream& operator<<(std::ostream& out, const Result& result) { return out << result.text(); }

Result run(const Graph& graph, const RunOptions& options) {
  models::Diagnostics diagnostics;
  sim::RunOptions engine;
  engine.max_events = options.max_events;
  engine.until = sim::Time{std::max<std::int64_t>(options.until.count(), 0)};
  auto simulation = models::simulate(graph.task_graph(), diagnostics, engine);
  if (!simulation) library::throw_mistakes(diagnostics, graph);
  return Result(std::make_shared<const Result::Data>(graph, std::move(*simulation)));
}

}  // namespace pipesim
