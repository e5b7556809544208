// Reading of a scenario: YAML, all checks, and the task graph. Items are actors or steps;
// bytes_per_second refers to the text.
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/texts.hpp"
#include "sim/assert.hpp"

namespace pipesim::bench {
namespace {

void read(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    const models::TaskGraph graph = graph_of(text);
    PIPESIM_CHECK(graph.actors.size() >= static_cast<std::size_t>(state.range(0)));
    benchmark::DoNotOptimize(graph.ranks);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
  state.counters["bytes"] = static_cast<double>(text.size());
}

// Reads a scenario of actors. Argument: number of actors; each actor reads the previous one.
void read_actors(benchmark::State& state) {
  read(state, actor_text(8, static_cast<std::uint32_t>(state.range(0)), 4, false));
}
BENCHMARK(read_actors)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);

// Reads a scenario with a program. Argument: number of steps.
void read_program(benchmark::State& state) {
  read(state, program_text(8, static_cast<std::uint32_t>(state.range(0))));
}
BENCHMARK(read_program)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pipesim::bench

BENCHMARK_MAIN();
