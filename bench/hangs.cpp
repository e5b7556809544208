#include "bench/hangs.hpp"

#include <iterator>
#include <utility>

#include "bench/plans.hpp"
#include "bench/texts.hpp"
#include "sim/assert.hpp"

namespace pipesim::bench {
namespace {

HungRun run_of(models::TaskGraph graph, std::uint32_t stuck) {
  HungRun run;
  run.graph = std::move(graph);
  run.lowered = lowered(run.graph);
  run.outcome = hang_of(run.lowered.plan);
  run.waits = sim::wait_graph(run.lowered.plan, run.outcome.state);
  PIPESIM_CHECK(run.waits.nodes.size() >= stuck, {"stuck", std::ssize(run.waits.nodes)});
  return run;
}

}  // namespace

HungRun hung_pipeline(std::uint32_t stuck) {
  constexpr std::uint32_t kMicroBatches = 256;
  // Each rank has launched its computes, two per micro-batch, and all sends and recvs that fit into
  // the stream: four per micro-batch, except on the first and the last rank.
  constexpr std::uint32_t kPerStage = 2 * kMicroBatches + 4 * kMicroBatches;
  models::TaskGraph graph = one_f_one_b(2 + stuck / kPerStage, kMicroBatches, Hang::kAtStart);
  // In a fresh job, the hosts would block in their first sends.
  graph.nccl_mode = models::NcclMode::kContract;
  return run_of(std::move(graph), stuck);
}

HungRun hung_ring(std::uint32_t stuck) {
  constexpr std::uint32_t kRanks = 8;
  return run_of(graph_of(actor_text(kRanks, stuck / kRanks, 4, true)), stuck);
}

models::Explanation explained(const HungRun& run) {
  models::Explanation explanation = models::explain(run.graph, run.lowered, run.outcome, run.waits);
  PIPESIM_CHECK(explanation.verdict == sim::Verdict::kDeadlock);
  PIPESIM_CHECK(!explanation.cycle.empty());
  return explanation;
}

std::vector<models::Wait> all_waits(const HungRun& run) {
  std::vector<models::Wait> waits;
  waits.reserve(run.waits.edges.size());
  for (const sim::WaitEdge& edge : run.waits.edges) {
    waits.push_back(
        models::describe_wait(run.graph, run.lowered, run.outcome.state, run.waits, edge));
  }
  return waits;
}

}  // namespace pipesim::bench
