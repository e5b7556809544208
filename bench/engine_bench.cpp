// Speed of running plans. An item is an op, so items_per_second is ops per second.
//
// Sizes: 1,000 to 3 million ops, then ten million ops, then growing plans of up to 100 million ops.
// The pipelines of 16,384 ranks come last, because making their plans takes minutes.
#include <cstdint>
#include <map>
#include <tuple>

#include <benchmark/benchmark.h>

#include "bench/plans.hpp"
#include "sim/assert.hpp"
#include "sim/engine.hpp"

namespace pipesim::bench {
namespace {

using sim::EngineKind;
using sim::RunEnd;

void run_plan(benchmark::State& state, const sim::Plan& plan, EngineKind engine,
              RunEnd end = RunEnd::kCompleted) {
  sim::RunOptions options;
  options.engine = engine;
  std::uint64_t ops = 0;
  for (auto _ : state) {
    const sim::Outcome outcome = sim::run(plan, options);
    PIPESIM_CHECK(outcome.end == end);
    PIPESIM_CHECK(outcome.in_fixed_order ==
                  (engine == EngineKind::kFixedOrder && end == RunEnd::kCompleted));
    ops = outcome.ops_done;
    benchmark::DoNotOptimize(outcome.digests);
  }
  PIPESIM_CHECK((ops == plan.op_count) == (end == RunEnd::kCompleted));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(ops));
  state.counters["acts"] = static_cast<double>(ops);
}

// Returns the plan of a 1F1B pipeline. Caches the plan, because a benchmark is called several times
// until it knows its number of iterations, and making a plan of many ranks takes far longer than
// running it.
const sim::Plan& pipeline(const benchmark::State& state, Hang hang = Hang::kNone) {
  static std::map<std::tuple<std::int64_t, std::int64_t, Hang>, sim::Plan> made;
  const auto [found, is_new] = made.try_emplace({state.range(0), state.range(1), hang});
  if (is_new) {
    found->second = plan_of(one_f_one_b(static_cast<std::uint32_t>(state.range(0)),
                                        static_cast<std::uint32_t>(state.range(1)), hang));
  }
  return found->second;
}

// Sets the sizes of 1F1B: stages and micro-batches. The simulators of peers/ get the work of 512
// stages and 1,024 micro-batches.
void small_pipelines(benchmark::internal::Benchmark* made) {
  made->Args({8, 22})
      ->Args({8, 22'727})
      ->Args({512, 32})
      ->Args({512, 1024})
      ->Args({1024, 163})
      ->Unit(benchmark::kMillisecond);
}

void large_pipelines(benchmark::internal::Benchmark* made) {
  made->Args({8, 227'270})->Args({1024, 1628})->Unit(benchmark::kMillisecond);
}

// Sets the sizes of growing pipelines: 512 stages with more and more micro-batches, up to 100
// million ops.
void growing_pipelines(benchmark::internal::Benchmark* made) {
  made->Args({512, 33})
      ->Args({512, 326})
      ->Args({512, 3'255})
      ->Args({512, 32'550})
      ->Unit(benchmark::kMillisecond);
}

void growing_chains(benchmark::internal::Benchmark* made) {
  made->Args({512, 8, 24})
      ->Args({512, 8, 244})
      ->Args({512, 8, 2'441})
      ->Args({512, 8, 24'414})
      ->Unit(benchmark::kMillisecond);
}

void pipelines_of_many_ranks(benchmark::internal::Benchmark* made) {
  made->Args({16'384, 10})->Args({16'384, 102})->Unit(benchmark::kMillisecond);
}

void one_f_one_b_events(benchmark::State& state) {
  run_plan(state, pipeline(state), EngineKind::kEvents);
}

void one_f_one_b_fixed_order(benchmark::State& state) {
  run_plan(state, pipeline(state), EngineKind::kFixedOrder);
}

// Runs pipelines in which all sends and recvs have the same tag instead of their own tags.
void one_tag_events(benchmark::State& state) {
  run_plan(state, with_one_tag(pipeline(state)), EngineKind::kEvents);
}

void one_tag_fixed_order(benchmark::State& state) {
  run_plan(state, with_one_tag(pipeline(state)), EngineKind::kFixedOrder);
}

// Runs pipelines that hang at the end: only the last micro-batch does not complete.
void hang_events(benchmark::State& state) {
  run_plan(state, pipeline(state, Hang::kAtEnd), EngineKind::kEvents, RunEnd::kStuck);
}

// Runs pipelines that hang with the fixed-order engine. It detects the hang, and the event engine
// runs the plan again from the start.
void hang_fixed_order(benchmark::State& state) {
  run_plan(state, pipeline(state, Hang::kAtEnd), EngineKind::kFixedOrder, RunEnd::kStuck);
}

sim::Plan chains_of(const benchmark::State& state, bool stuck) {
  const auto ranks = static_cast<std::uint32_t>(state.range(0));
  const auto length = static_cast<std::uint32_t>(state.range(1));
  const auto ops = static_cast<std::uint32_t>(state.range(2));
  return stuck ? stuck_actors(ranks, length, ops) : actors(ranks, length, ops);
}

// Sets the sizes of chains of actors: ranks, actors per rank, ops per actor.
void small_chains(benchmark::internal::Benchmark* made) {
  made->Args({8, 8, 16})
      ->Args({8, 8, 15'625})
      ->Args({1024, 8, 122})
      ->Args({16'384, 8, 8})
      ->Args({16, 4096, 16})
      ->Unit(benchmark::kMillisecond);
}

void large_chains(benchmark::internal::Benchmark* made) {
  made->Args({8, 8, 156'250})
      ->Args({1024, 8, 1220})
      ->Args({16'384, 8, 76})
      ->Unit(benchmark::kMillisecond);
}

void actors_events(benchmark::State& state) {
  run_plan(state, chains_of(state, false), EngineKind::kEvents);
}

// Runs chains of actors that hang after half of the ops.
void stuck_actors_events(benchmark::State& state) {
  run_plan(state, chains_of(state, true), EngineKind::kEvents, RunEnd::kStuck);
}

BENCHMARK(one_f_one_b_events)->Apply(small_pipelines);
BENCHMARK(one_f_one_b_fixed_order)->Apply(small_pipelines);
BENCHMARK(one_tag_events)->Apply(small_pipelines);
BENCHMARK(one_tag_fixed_order)->Apply(small_pipelines);
BENCHMARK(hang_events)->Apply(small_pipelines);
BENCHMARK(hang_fixed_order)->Apply(small_pipelines);
BENCHMARK(actors_events)->Apply(small_chains);
BENCHMARK(stuck_actors_events)->Apply(small_chains);

// Plans of ten million ops.
BENCHMARK(one_f_one_b_events)->Apply(large_pipelines);
BENCHMARK(one_f_one_b_fixed_order)->Apply(large_pipelines);
BENCHMARK(one_tag_events)->Apply(large_pipelines);
BENCHMARK(one_tag_fixed_order)->Apply(large_pipelines);
BENCHMARK(hang_events)->Apply(large_pipelines);
BENCHMARK(hang_fixed_order)->Apply(large_pipelines);
BENCHMARK(actors_events)->Apply(large_chains);
BENCHMARK(stuck_actors_events)->Apply(large_chains);

// Growth of the cost with size. The largest plan takes 2.4 GB.
BENCHMARK(one_f_one_b_events)->Apply(growing_pipelines);
BENCHMARK(one_f_one_b_fixed_order)->Apply(growing_pipelines);
BENCHMARK(actors_events)->Apply(growing_chains);

// Plans of 16,384 ranks, which take minutes to make.
BENCHMARK(one_f_one_b_events)->Apply(pipelines_of_many_ranks);
BENCHMARK(one_f_one_b_fixed_order)->Apply(pipelines_of_many_ranks);
BENCHMARK(one_tag_events)->Apply(pipelines_of_many_ranks);
BENCHMARK(one_tag_fixed_order)->Apply(pipelines_of_many_ranks);
BENCHMARK(hang_events)->Apply(pipelines_of_many_ranks);
BENCHMARK(hang_fixed_order)->Apply(pipelines_of_many_ranks);

}  // namespace
}  // namespace pipesim::bench

BENCHMARK_MAIN();
