// The queue of pending events, with the access patterns of the engine. An item is an event, pushed
// and popped once.
#include <cstdint>

#include <benchmark/benchmark.h>

#include "sim/assert.hpp"
#include "sim/event_queue.hpp"
#include "sim/time.hpp"

namespace pipesim::bench {
namespace {

using sim::Event;
using sim::EventKind;
using sim::EventQueue;
using sim::Priority;

/// A generator of pseudorandom numbers, which are the same in each run.
class Numbers {
 public:
  std::int64_t below(std::int64_t end) {
    seed_ = seed_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((seed_ >> 33) % static_cast<std::uint64_t>(end));
  }

 private:
  std::uint64_t seed_ = 1;
};

EventQueue filled(std::uint32_t pending, Numbers& numbers) {
  EventQueue queue;
  for (std::uint32_t i = 0; i < pending; ++i) {
    queue.push(sim::Time{1 + numbers.below(1000)}, Priority::kDevice, {EventKind::kOpEnds, i});
  }
  return queue;
}

// Measures busy streams whose ops have many different lengths. When an op ends, the next one
// starts.
void different_times(benchmark::State& state) {
  Numbers numbers;
  EventQueue queue = filled(static_cast<std::uint32_t>(state.range(0)), numbers);
  for (auto _ : state) {
    const Event event = queue.pop();
    queue.push(sim::Time{queue.now().ns + 1 + numbers.below(1000)}, Priority::kDevice, event);
  }
  PIPESIM_CHECK(!queue.empty());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(different_times)->Arg(8)->Arg(64)->Arg(1024)->Arg(16'384)->Arg(262'144);

// Measures busy streams whose ops have equal lengths, like a pipeline: the ops of all streams end
// at one instant.
void equal_times(benchmark::State& state) {
  EventQueue queue;
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(state.range(0)); ++i) {
    queue.push(sim::Time{1000}, Priority::kDevice, {EventKind::kOpEnds, i});
  }
  for (auto _ : state) {
    const Event event = queue.pop();
    queue.push(sim::Time{queue.now().ns + 1000}, Priority::kDevice, event);
  }
  PIPESIM_CHECK(queue.now().ns > 0);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(equal_times)->Arg(8)->Arg(64)->Arg(1024)->Arg(16'384)->Arg(262'144);

// Measures ops whose end wakes a host thread, which launches the next op at the same instant. So
// each op has two events: its end, which is a future event, and the wake-up, which is not.
void with_wakes(benchmark::State& state) {
  Numbers numbers;
  EventQueue queue = filled(static_cast<std::uint32_t>(state.range(0)), numbers);
  std::int64_t wakes = 0;
  for (auto _ : state) {
    const Event event = queue.pop();
    if (event.kind == EventKind::kOpEnds) {
      queue.push(queue.now(), Priority::kHost, {EventKind::kThreadWakes, event.target});
      continue;
    }
    ++wakes;
    const sim::Time end{queue.now().ns + 1 + numbers.below(1000)};
    queue.push(end, Priority::kDevice, {EventKind::kOpEnds, event.target});
  }
  // Each end is followed by its wake.
  PIPESIM_CHECK(state.iterations() - 2 * wakes <= state.range(0));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(with_wakes)->Arg(8)->Arg(64)->Arg(1024)->Arg(16'384)->Arg(262'144);

}  // namespace
}  // namespace pipesim::bench

BENCHMARK_MAIN();
