// How fast plans run. Items are acts: items_per_second is acts per second.
#include <benchmark/benchmark.h>

#include "bench/plans.hpp"
#include "sim/check.hpp"
#include "sim/engine.hpp"

namespace pipesim::bench {
namespace {

void run_plan(benchmark::State& state, const sim::Plan& plan, sim::EngineKind engine) {
  sim::RunOptions options;
  options.engine = engine;
  for (auto _ : state) {
    const sim::Outcome outcome = sim::run(plan, options);
    PIPESIM_CHECK(outcome.end == sim::RunEnd::kCompleted);
    PIPESIM_CHECK(outcome.swept == (engine == sim::EngineKind::kSweep));
    benchmark::DoNotOptimize(outcome.fingerprint);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.act_count));
  state.counters["acts"] = static_cast<double>(plan.act_count);
}

// 1F1B of so many stages and micro-batches. 512 of 1,024 is the work that peers/ gives to other
// simulators.
void one_f_one_b_events(benchmark::State& state) {
  const sim::Plan plan = plan_of(one_f_one_b(static_cast<std::uint32_t>(state.range(0)),
                                             static_cast<std::uint32_t>(state.range(1))));
  run_plan(state, plan, sim::EngineKind::kEvents);
}
BENCHMARK(one_f_one_b_events)
    ->Args({8, 25})
    ->Args({8, 20'000})
    ->Args({512, 32})
    ->Args({512, 1024})
    ->Args({1024, 1600})
    ->Unit(benchmark::kMillisecond);

void one_f_one_b_sweep(benchmark::State& state) {
  const sim::Plan plan = plan_of(one_f_one_b(static_cast<std::uint32_t>(state.range(0)),
                                             static_cast<std::uint32_t>(state.range(1))));
  run_plan(state, plan, sim::EngineKind::kSweep);
}
BENCHMARK(one_f_one_b_sweep)
    ->Args({8, 25})
    ->Args({8, 20'000})
    ->Args({512, 32})
    ->Args({512, 1024})
    ->Args({1024, 1600})
    ->Unit(benchmark::kMillisecond);

// As 512 of 1,024, with one tag for all messages and not one for each.
void one_tag_events(benchmark::State& state) {
  run_plan(state, with_one_tag(plan_of(one_f_one_b(512, 1024))), sim::EngineKind::kEvents);
}
BENCHMARK(one_tag_events)->Unit(benchmark::kMillisecond);

void one_tag_sweep(benchmark::State& state) {
  run_plan(state, with_one_tag(plan_of(one_f_one_b(512, 1024))), sim::EngineKind::kSweep);
}
BENCHMARK(one_tag_sweep)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipesim::bench

BENCHMARK_MAIN();
