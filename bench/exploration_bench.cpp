// Cost of an answer for all interleavings: plans in which timing decides nothing, plans without
// potential cycles, and plans whose interleavings must be followed. Items are ops; for orders(),
// steps.
#include <cstdint>

#include <benchmark/benchmark.h>

#include "bench/plans.hpp"
#include "sim/assert.hpp"
#include "sim/interleavings/exploration.hpp"

namespace pipesim::bench {
namespace {

// Checks a 1F1B pipeline, which needs only one run. Arguments: stages, micro-batches.
void one_run(benchmark::State& state) {
  const sim::Plan plan = plan_of(one_f_one_b(static_cast<std::uint32_t>(state.range(0)),
                                             static_cast<std::uint32_t>(state.range(1))));
  for (auto _ : state) {
    PIPESIM_CHECK(sim::explore(plan).answer == sim::Answer::kProved);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.op_count));
}
BENCHMARK(one_run)->Args({8, 64})->Args({512, 1024})->Unit(benchmark::kMillisecond);

// Checks chains of four actors with one host thread per rank. Arguments: ranks, ops per actor.
void no_cycle(benchmark::State& state) {
  const sim::Plan plan = actors(static_cast<std::uint32_t>(state.range(0)), 4,
                                static_cast<std::uint32_t>(state.range(1)));
  for (auto _ : state) {
    PIPESIM_CHECK(sim::explore(plan).answer == sim::Answer::kProved);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.op_count));
}
BENCHMARK(no_cycle)->Args({4, 8})->Args({16, 16})->Unit(benchmark::kMillisecond);

// Follows the interleavings of the plan of no_cycle(), up to 2,000 branch points. Arguments: ranks,
// ops per actor.
void orders(benchmark::State& state) {
  const sim::Plan plan = actors(static_cast<std::uint32_t>(state.range(0)), 4,
                                static_cast<std::uint32_t>(state.range(1)));
  sim::ExploreOptions options;
  options.look_for_cycles = false;
  options.max_states = 2000;
  std::uint64_t steps = 0;
  std::uint64_t branch_points = 0;
  for (auto _ : state) {
    const sim::Exploration found = sim::explore(plan, options);
    steps += found.steps;
    branch_points = found.states;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(steps));
  state.counters["branch_points"] = static_cast<double>(branch_points);
}
BENCHMARK(orders)->Args({4, 8})->Args({16, 16})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipesim::bench

BENCHMARK_MAIN();
