#include "tests/oracle/promela_writer.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace pipesim::formats {
namespace {

using sim::RankId;
using sim::ThreadOrder;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

/// Builds two actors on one thread: actor 0 runs four ops and fills a slot every two, actor 1 takes
/// the slot with each of its two ops.
sim::PlanBuilder two_actors() {
  sim::PlanBuilder builder(1);
  sim::ActorSpec spec;
  spec.thread = builder.add_thread(RankId{0}, ThreadOrder::kArrival);
  spec.stream = builder.add_stream(RankId{0}, 3);
  spec.ops = 4;
  const sim::ActorId producer = builder.add_actor(spec);
  spec.ops = 2;
  spec.immediate = false;
  const sim::ActorId consumer = builder.add_actor(spec);
  sim::RegisterSpec output;
  output.slots = 5;
  output.ops_per_slot = 2;
  builder.add_consumer(builder.add_register(producer, output), consumer, 1);
  return builder;
}

}  // namespace

TEST_CASE("the tables of a plan say what the plan says") {
  const std::string text = promela_tables(two_actors().build());
  CHECK(has_line(text, "hidden NUMBER threads = 1;"));
  CHECK(has_line(text, "hidden short acts = 6;"));
  CHECK(has_line(text, "hidden short stream_limit[STREAMS] = {3};"));
  CHECK(has_line(text, "hidden NUMBER actor_limit[ACTORS] = {4, 2};"));
  // The value 255 means none: the actors need no outside input and are in no collective.
  CHECK(has_line(text, "hidden NUMBER actor_items[ACTORS] = {255, 255};"));
  CHECK(has_line(text, "hidden NUMBER actor_collective[ACTORS] = {255, 255};"));
  CHECK(has_line(text, "hidden NUMBER actor_starts[ACTORS] = {1, 0};"));
  CHECK(has_line(text, "hidden NUMBER register_slots[REGISTERS] = {5};"));
  CHECK(has_line(text, "hidden NUMBER register_acts[REGISTERS] = {2};"));
  // The producer is immediate and on the consumer's thread; the consumer is not immediate.
  CHECK(has_line(text, "hidden NUMBER edge_data_at_launch[EDGES] = {1};"));
  CHECK(has_line(text, "hidden NUMBER edge_ack_at_launch[EDGES] = {0};"));
  CHECK(has_line(text, "hidden NUMBER call_kind[CALLS] = {0};"));  // Promela has no empty arrays
}

TEST_CASE("sends that end in buffers have their steps in Promela") {
  sim::PlanBuilder builder(2);
  const sim::CommunicatorId both = builder.add_communicator({RankId{0}, RankId{1}}, false, false);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    sim::StepSpec step;
    step.role = sim::Role::kCalls;
    step.thread = builder.add_thread(RankId{rank}, ThreadOrder::kProgram);
    step.stream = builder.add_stream(RankId{rank}, 4);
    const sim::ActorId id = builder.add_step(step);
    sim::CallSpec call;
    call.communicator = both;
    call.kind = rank == 0 ? sim::CallKind::kSend : sim::CallKind::kReceive;
    call.peer = RankId{1 - rank};
    call.steps = rank == 0 ? 3 : 0;
    builder.add_call(call);
    builder.set_program(step.thread, {id});
  }
  const sim::Plan plan = builder.build();
  CHECK(promela_obstacle(plan).empty());
  CHECK(has_line(promela_tables(plan), "hidden NUMBER call_steps[CALLS] = {3, 0};"));
}

TEST_CASE("it is said why a plan cannot be written in Promela") {
  CHECK(promela_obstacle(two_actors().build()).empty());

  sim::PlanBuilder faulty = two_actors();
  faulty.add_death(RankId{0}, sim::Time{5});
  CHECK(promela_obstacle(faulty.build()) == "it has faults or timeouts");

  sim::PlanBuilder large = two_actors();
  for (int i = 0; i < 250; ++i) large.add_thread(RankId{0}, ThreadOrder::kArrival);
  CHECK(promela_obstacle(large.build()) == "it is too large for SPIN");

  sim::PlanBuilder long_run(1);  // numbers are bytes
  sim::ActorSpec spec;
  spec.thread = long_run.add_thread(RankId{0}, ThreadOrder::kArrival);
  spec.stream = long_run.add_stream(RankId{0}, 2);
  spec.ops = 300;
  long_run.add_actor(spec);
  CHECK(promela_obstacle(long_run.build()) == "it is too large for SPIN");
}

}  // namespace pipesim::formats
