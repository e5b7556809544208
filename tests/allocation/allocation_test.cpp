// Checks that a run with ten times the ops makes no more allocations: its queues grow only to the
// size that they need. The program counts allocations with its own operator new, so it contains
// only this test.
#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "sim/engine.hpp"
#include "sim/plan.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim::sim;

namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size > 0 ? size : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Returns a plan of two ranks, each with a source, an op, a collective over both ranks and a sink.
// The plan has data and control registers of few slots, messages that are gated or immediate, and
// initialization at first use.
Plan plan_of(std::uint32_t ops, ThreadOrder order) {
  PlanBuilder builder(2);
  std::vector<Member> members;
  std::vector<RankId> ranks;
  for (std::uint32_t r = 0; r < 2; ++r) {
    const RankId rank{r};
    ranks.push_back(rank);
    const ThreadId host = builder.add_thread(rank, order);
    const StreamId compute = builder.add_stream(rank, 16);
    const StreamId other = builder.add_stream(rank, 16);
    ActorSpec spec;
    spec.thread = host;
    spec.ops = ops;
    spec.takes = Duration{3 + r};
    spec.stream = compute;
    const ActorId source = builder.add_actor(spec);
    const ActorId op = builder.add_actor(spec);
    spec.immediate = false;
    const ActorId collective = builder.add_actor(spec);
    spec.stream = other;
    spec.launch_overhead = Duration{1};
    const ActorId sink = builder.add_actor(spec);
    builder.add_consumer(builder.add_register(source, {.slots = 2}), op, 1);
    builder.add_consumer(builder.add_register(op, {.slots = 1}), collective, 1);
    builder.add_consumer(builder.add_register(collective, {.slots = 3}), sink, 1);
    builder.add_consumer(builder.add_register(source, {.slots = 5, .control = true}), sink, 1);
    members.push_back({rank, collective});
    if (order == ThreadOrder::kProgram) {
      std::vector<ActorId> program;
      for (std::uint32_t k = 0; k < ops; ++k) {
        program.insert(program.end(), {source, op, collective, sink});
      }
      builder.set_program(host, program);
    }
  }
  builder.add_collective(builder.add_communicator(ranks, true, true), members);
  return builder.build();
}

long allocations_of_a_run(const Plan& plan) {
  const long before = allocations;
  const Outcome outcome = run(plan);
  const long during = allocations - before;
  REQUIRE(outcome.end == RunEnd::kCompleted);
  return during;
}

}  // namespace

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the library's names vary
void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return counted(size);
}
void* operator new[](std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  return counted(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
// Sized operator delete, which libraries compiled by g++ call; clang 14 does not declare it.
void operator delete(void* memory, std::size_t size) noexcept;
void operator delete[](void* memory, std::size_t size) noexcept;
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
// NOLINTEND(readability-inconsistent-declaration-parameter-name)

TEST_CASE("ten times the ops need no allocation more", "[sim][engine]") {
  for (const ThreadOrder order : {ThreadOrder::kArrival, ThreadOrder::kProgram}) {
    const Plan few = plan_of(1'000, order);
    const Plan many = plan_of(10'000, order);
    CHECK(allocations_of_a_run(many) == allocations_of_a_run(few));
  }
}
