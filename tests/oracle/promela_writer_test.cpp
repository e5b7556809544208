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
  CHECK(has_line(text, "threads = 1"));
  CHECK(has_line(text, "acts = 6"));
  CHECK(has_line(text, "stream_limit = 3"));
  CHECK(has_line(text, "actor_limit = 4, 2"));
  // The actors need no outside input and are in no collective.
  CHECK(has_line(text, "actor_items = -, -"));
  CHECK(has_line(text, "actor_collective = -, -"));
  CHECK(has_line(text, "actor_starts = 1, 0"));
  CHECK(has_line(text, "register_slots = 5"));
  CHECK(has_line(text, "register_acts = 2"));
  // The producer is immediate and on the consumer's thread; the consumer is not immediate.
  CHECK(has_line(text, "edge_data_at_launch = 1"));
  CHECK(has_line(text, "edge_ack_at_launch = 0"));
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
  CHECK(has_line(promela_tables(plan), "call_steps = 3, 0"));
}

TEST_CASE("it is said why a plan cannot be written in Promela") {
  CHECK(promela_obstacle(two_actors().build()).empty());

  sim::PlanBuilder faulty = two_actors();
  faulty.add_death(RankId{0}, sim::Time{5});
  CHECK(promela_obstacle(faulty.build()) == "it has faults or timeouts");
}

}  // namespace pipesim::formats
