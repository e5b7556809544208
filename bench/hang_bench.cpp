// Cost of explaining a hang: the wait-for graph, the explanation, the picture. Items are stuck ops;
// for `all_waits` and pictures, waits.
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/hangs.hpp"
#include "sim/assert.hpp"
#include "viz/pictures/wait_for_dot.hpp"

namespace pipesim::bench {
namespace {

using Hung = HungRun (*)(std::uint32_t);

void sizes(benchmark::internal::Benchmark* made) {
  made->Arg(10'000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);
}

// Caches the run of the last call: a benchmark is called several times until it knows its number of
// iterations.
const HungRun& run_of(const benchmark::State& state, Hung hung) {
  static std::pair<Hung, std::int64_t> of;
  static HungRun made;
  const std::pair now(hung, state.range(0));
  if (of != now) made = hung(static_cast<std::uint32_t>(now.second));
  of = now;
  return made;
}

void note(benchmark::State& state, const HungRun& run) {
  state.SetItemsProcessed(state.iterations() * std::ssize(run.waits.nodes));
  state.counters["stuck"] = static_cast<double>(run.waits.nodes.size());
  state.counters["waits"] = static_cast<double>(run.waits.edges.size());
}

void wait_graph(benchmark::State& state, Hung hung) {
  const HungRun& run = run_of(state, hung);
  for (auto _ : state) {
    const sim::WaitGraph waits = sim::wait_graph(run.lowered.plan, run.outcome.state);
    PIPESIM_CHECK(waits.nodes.size() == run.waits.nodes.size());
  }
  note(state, run);
}
BENCHMARK_CAPTURE(wait_graph, pipeline, hung_pipeline)->Apply(sizes);
BENCHMARK_CAPTURE(wait_graph, ring, hung_ring)->Apply(sizes);

void explanation(benchmark::State& state, Hung hung) {
  const HungRun& run = run_of(state, hung);
  std::size_t cycle = 0;
  for (auto _ : state) cycle = explained(run).cycle.size();
  note(state, run);
  state.counters["cycle"] = static_cast<double>(cycle);
}
BENCHMARK_CAPTURE(explanation, pipeline, hung_pipeline)->Apply(sizes);
BENCHMARK_CAPTURE(explanation, ring, hung_ring)->Apply(sizes);

// Describes each wait, like a picture or `--all`.
void describe_all(benchmark::State& state, Hung hung) {
  const HungRun& run = run_of(state, hung);
  for (auto _ : state) {
    const std::vector<models::Wait> waits = all_waits(run);
    PIPESIM_CHECK(waits.size() == run.waits.edges.size());
  }
  note(state, run);
  state.SetItemsProcessed(state.iterations() * std::ssize(run.waits.edges));
}
BENCHMARK_CAPTURE(describe_all, pipeline, hung_pipeline)->Apply(sizes);

void dot(benchmark::State& state, Hung hung, bool fold) {
  const HungRun& run = run_of(state, hung);
  viz::WaitPicture picture;
  picture.title = "who waits for whom";
  picture.cycle = explained(run).cycle;
  picture.all_waits = all_waits(run);
  picture.fold = fold;
  std::string text;
  for (auto _ : state) {
    text = viz::wait_for_dot(picture);
    PIPESIM_CHECK(!text.empty());
  }
  note(state, run);
  state.SetItemsProcessed(state.iterations() * std::ssize(picture.all_waits));
  state.SetBytesProcessed(state.iterations() * std::ssize(text));
}
BENCHMARK_CAPTURE(dot, folded_pipeline, hung_pipeline, true)->Apply(sizes);
BENCHMARK_CAPTURE(dot, whole_pipeline, hung_pipeline, false)
    ->Arg(1000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipesim::bench

BENCHMARK_MAIN();
