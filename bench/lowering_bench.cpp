// Lowering of a task graph to a plan. Items are the entries of the plan: ops for a schedule, whose
// plan lists its ops; actors for a graph of actors, whose ops take no memory.
#include <cstddef>
#include <cstdint>
#include <utility>

#include <benchmark/benchmark.h>

#include "bench/plans.hpp"
#include "bench/texts.hpp"
#include "sim/assert.hpp"

namespace pipesim::bench {
namespace {

std::uint32_t argument(const benchmark::State& state, std::size_t index) {
  return static_cast<std::uint32_t>(state.range(index));
}

void pipelines(benchmark::internal::Benchmark* made) {
  made->Args({8, 22})
      ->Args({8, 22'727})
      ->Args({512, 32})
      ->Args({512, 1024})
      ->Args({1024, 163})
      ->Unit(benchmark::kMillisecond);
}

// Makes a 1F1B schedule, its sends and recvs, and the host programs of the task graph. Arguments:
// stages, micro-batches. Items are ops.
void make_schedule(benchmark::State& state) {
  const std::uint64_t ops = 6ULL * argument(state, 0) * argument(state, 1);
  for (auto _ : state) {
    const models::TaskGraph graph = one_f_one_b(argument(state, 0), argument(state, 1));
    PIPESIM_CHECK(graph.pipeline.has_value());
    benchmark::DoNotOptimize(graph.ranks);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(ops));
}
BENCHMARK(make_schedule)->Apply(pipelines);

// Caches the graph of the last call: a benchmark is called several times until it knows its number
// of iterations.
const models::TaskGraph& pipeline(std::uint32_t stages, std::uint32_t micro_batches) {
  static std::pair<std::uint32_t, std::uint32_t> of;
  static models::TaskGraph made;
  const std::pair now(stages, micro_batches);
  if (of != now) made = one_f_one_b(stages, micro_batches);
  of = now;
  return made;
}

// Lowers the graph of make_schedule(). Arguments: stages, micro-batches.
void lower_schedule(benchmark::State& state) {
  const models::TaskGraph& graph = pipeline(argument(state, 0), argument(state, 1));
  std::uint64_t ops = 0;
  for (auto _ : state) {
    const models::Lowered made = lowered(graph);
    PIPESIM_CHECK(made.plan.rank_count == graph.ranks);
    ops = made.plan.op_count;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(ops));
  state.counters["acts"] = static_cast<double>(ops);
}
BENCHMARK(lower_schedule)->Apply(pipelines);

void lower_graph(benchmark::State& state, const models::TaskGraph& graph) {
  std::size_t actors = 0;
  for (auto _ : state) {
    const models::Lowered made = lowered(graph);
    actors = made.plan.actors.size();
    PIPESIM_CHECK(actors >= std::size_t{graph.ranks} * graph.actors.size());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(actors));
  state.counters["actors"] = static_cast<double>(actors);
}

// Sets the sizes of the graphs: ranks, actors per rank.
void graphs(benchmark::internal::Benchmark* made) {
  made->Args({8, 128})
      ->Args({8, 12'800})
      ->Args({1024, 100})
      ->Args({16'384, 8})
      ->Args({8, 128'000})
      ->Args({1024, 1000})
      ->Args({16'384, 64})
      ->Unit(benchmark::kMillisecond);
}

void lower_actors(benchmark::State& state) {
  lower_graph(state, graph_of(actor_text(argument(state, 0), argument(state, 1), 100, false)));
}
BENCHMARK(lower_actors)->Apply(graphs);

void lower_programs(benchmark::State& state) {
  lower_graph(state, graph_of(program_text(argument(state, 0), argument(state, 1))));
}
BENCHMARK(lower_programs)->Apply(graphs);

// Graphs of many ranks take up to a minute.
BENCHMARK(make_schedule)->Args({4096, 40})->Args({16'384, 10})->Unit(benchmark::kMillisecond);
BENCHMARK(lower_schedule)->Args({4096, 40})->Args({16'384, 10})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipesim::bench

BENCHMARK_MAIN();
