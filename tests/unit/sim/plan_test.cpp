// Layout of the plans that the builder makes, and the plans that it refuses. A failed check ends
// the program, so each refused plan is built in a separate process.
#include "sim/plan.hpp"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"

using namespace pipesim::sim;

namespace {

// Returns a builder. Rank 0 has streams 0 to 3, rank 1 has stream 4; each rank has a program.
// Actors 0, 1 and 2 have three ops each, on streams 0, 1 and 2. Actor 3 has two ops on stream 3,
// and actor 4 is on rank 1. Actor 5 records an event on stream 3, actor 6 is a step of the host,
// and actor 7 makes a communicator call on stream 3.
PlanBuilder some_builder() {
  PlanBuilder builder(2);
  for (const std::uint32_t rank : {0U, 1U}) {
    builder.add_thread(RankId{rank}, ThreadOrder::kProgram);
  }
  for (const std::uint32_t rank : {0U, 0U, 0U, 0U, 1U}) builder.add_stream(RankId{rank}, 1024);
  const SignalId signal = builder.add_signal();
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> counts = {
      {0, 3}, {1, 3}, {2, 3}, {3, 2}, {4, 3}};
  for (const auto& [stream, ops] : counts) {
    ActorSpec spec;
    spec.thread = ThreadId{stream == 4 ? 1U : 0U};
    spec.stream = StreamId{stream};
    spec.ops = ops;
    builder.add_actor(spec);
  }
  for (const Role role : {Role::kRecord, Role::kWork, Role::kCalls}) {
    StepSpec spec;
    spec.role = role;
    spec.thread = ThreadId{0};
    if (role != Role::kWork) spec.stream = StreamId{3};
    if (role == Role::kRecord) spec.signal = signal;
    builder.add_step(spec);
  }
  const CommunicatorId communicator = builder.add_communicator({RankId{0}}, false, false);
  CallSpec call;
  call.communicator = communicator;
  builder.add_call(call);
  return builder;
}

Plan built(PlanBuilder& builder) {
  std::vector<ActorId> ops;
  for (const auto& [actor, count] : std::vector<std::pair<std::uint32_t, int>>{
           {0, 3}, {1, 3}, {2, 3}, {3, 2}, {5, 1}, {6, 1}, {7, 1}}) {
    ops.insert(ops.end(), static_cast<std::size_t>(count), ActorId{actor});
  }
  builder.set_program(ThreadId{0}, ops);
  builder.set_program(ThreadId{1}, {ActorId{4}, ActorId{4}, ActorId{4}});
  return builder.build();
}

// Whether a check of the builder fails in `action`.
template <typename Action>
bool fails(Action action) {
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(2);
    PlanBuilder builder = some_builder();
    action(builder);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE((WIFEXITED(status) ? WEXITSTATUS(status) == 0 : WTERMSIG(status) == SIGABRT));
  return WIFSIGNALED(status);
}

bool refuses_after(std::uint32_t actor, std::uint32_t other, std::uint32_t ahead) {
  return fails(
      [&](PlanBuilder& builder) { builder.add_after(ActorId{actor}, ActorId{other}, ahead); });
}

bool refuses_behind(std::uint32_t actor, std::uint32_t stream) {
  return fails([&](PlanBuilder& builder) { builder.set_behind(ActorId{actor}, StreamId{stream}); });
}

std::vector<std::uint32_t> dependents_of(const Plan& plan, std::uint32_t stream) {
  std::vector<std::uint32_t> found;
  const Stream& of = plan.streams[StreamId{stream}];
  for (std::uint32_t i = of.dependents; i < of.dependents_end; ++i) {
    found.push_back(plan.dependents[i].value);
  }
  return found;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> afters_of(const Plan& plan,
                                                               std::uint32_t actor) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  const Actor& of = plan.actors[ActorId{actor}];
  for (std::uint32_t i = of.afters; i < of.afters_end; ++i) {
    found.emplace_back(plan.afters[i].actor.value, plan.afters[i].ahead);
  }
  return found;
}

}  // namespace

TEST_CASE("an actor waits for actors of other streams of its rank", "[sim][plan]") {
  CHECK_FALSE(refuses_after(0, 1, 0));
  CHECK_FALSE(refuses_after(7, 0, 0));
  CHECK_FALSE(refuses_after(7, 0, 2));
  CHECK_FALSE(refuses_after(3, 0, 1));
  CHECK(refuses_after(5, 0, 0));  // records an event
  CHECK(refuses_after(6, 0, 0));  // a step of the host
  CHECK(refuses_after(7, 6, 0));  // `other` is a step of the host
  CHECK(refuses_after(0, 4, 0));  // `other` is on another rank
  CHECK(refuses_after(0, 0, 0));  // `other` is on the same stream
  CHECK(refuses_after(7, 3, 0));
}

TEST_CASE("an actor waits for ops that come", "[sim][plan]") {
  CHECK(refuses_after(0, 1, 1));
  CHECK(refuses_after(0, 3, 0));
  CHECK(refuses_after(3, 0, 2));
  CHECK(refuses_after(3, 0, 0xffffffff));
  CHECK(refuses_after(7, 0, 3));
}

TEST_CASE("an actor stays behind another stream of its rank", "[sim][plan]") {
  CHECK_FALSE(refuses_behind(0, 3));
  CHECK_FALSE(refuses_behind(7, 0));
  CHECK(refuses_behind(0, 0));
  CHECK(refuses_behind(0, 4));
  CHECK(refuses_behind(5, 0));
  CHECK(refuses_behind(6, 0));
}

// Actor 2 waits for stream 1 and then for actor 0; actors 1, 3 (twice) and 7 wait for stream 0.
TEST_CASE("each stream knows the streams on which ops wait for it", "[sim][plan]") {
  PlanBuilder builder = some_builder();
  builder.add_after(ActorId{3}, ActorId{0}, 1);
  builder.add_after(ActorId{2}, ActorId{1}, 0);
  builder.add_after(ActorId{3}, ActorId{0}, 0);
  builder.add_after(ActorId{1}, ActorId{0}, 0);
  builder.set_behind(ActorId{0}, StreamId{1});
  builder.set_behind(ActorId{7}, StreamId{0});
  const Plan plan = built(builder);
  CHECK(dependents_of(plan, 0) == std::vector<std::uint32_t>{1, 3});
  CHECK(dependents_of(plan, 1) == std::vector<std::uint32_t>{0, 2});
  for (const std::uint32_t stream : {2U, 3U, 4U}) CHECK(dependents_of(plan, stream).empty());
  using Afters = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  CHECK(afters_of(plan, 3) == Afters{{0, 1}, {0, 0}});
  CHECK(afters_of(plan, 2) == Afters{{1, 0}});
  CHECK(afters_of(plan, 0).empty());
  for (const std::uint32_t actor : {0U, 1U, 2U, 3U, 7U}) {
    CHECK(plan.actors[ActorId{actor}].waits_for_streams);
  }
  for (const std::uint32_t actor : {4U, 5U, 6U}) {
    CHECK_FALSE(plan.actors[ActorId{actor}].waits_for_streams);
  }
}

TEST_CASE("threads that do the same with actors of their own share a program", "[sim][plan]") {
  PlanBuilder builder(3);
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const ThreadId thread = builder.add_thread(RankId{rank}, ThreadOrder::kProgram);
    const StreamId stream = builder.add_stream(RankId{rank}, 4);
    ActorSpec spec;
    spec.thread = thread;
    spec.stream = stream;
    spec.ops = 2;
    const ActorId a = builder.add_actor(spec);
    const ActorId b = builder.add_actor(spec);
    // The last rank has another order.
    builder.set_program(thread, rank < 2 ? std::vector{b, a, a, b} : std::vector{b, a, b, a});
  }
  const Plan plan = builder.build();
  CHECK(plan.program.size() == 8);
  std::vector<std::uint32_t> ops;
  for (const Thread& thread : plan.threads) {
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      ops.push_back(plan.op(thread, i).value);
    }
  }
  CHECK(ops == std::vector<std::uint32_t>{1, 0, 0, 1, 3, 2, 2, 3, 5, 4, 5, 4});
}

TEST_CASE("each role has its own name, and the engine's bits agree with its row", "[plan]") {
  std::set<std::string_view> names;
  for (const RoleFacts& row : kRoles) {
    CHECK_FALSE(row.name.empty());
    CHECK(names.insert(row.name).second);
    CHECK(on_host(row.kind) == row.on_host);
    CHECK(needs_slot(row.kind) == row.needs_slot);
  }
}

TEST_CASE("only steps of the host block their host", "[plan]") {
  for (const RoleFacts& row : kRoles) {
    INFO(row.name);
    if (row.blocks || row.only_waits || row.awaits_work) CHECK(row.on_host);
    if (row.needs_slot) CHECK_FALSE(row.on_host);
    if (row.fires) CHECK(row.object == Object::kSignal);
  }
}
