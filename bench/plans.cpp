#include "bench/plans.hpp"

#include <utility>
#include <vector>

#include "models/lowering.hpp"
#include "models/pipeline.hpp"
#include "models/schedule_lowering.hpp"
#include "models/schedules/generators.hpp"
#include "sim/check.hpp"

namespace pipesim::bench {

models::TaskGraph one_f_one_b(std::uint32_t stages, std::uint32_t micro_batches) {
  models::Diagnostics diagnostics;
  models::ScheduleShape shape;
  shape.kind = models::ScheduleKind::k1f1b;
  shape.stages = stages;
  shape.micro_batches = micro_batches;
  auto schedule = models::add_send_recv(models::make_schedule(shape), diagnostics);
  PIPESIM_CHECK(schedule.has_value());
  models::Pipeline pipeline;
  pipeline.schedule = std::move(*schedule);
  pipeline.stages.assign(stages, {1'000'000, 1'000'000, 1'000'000, 0, 0});
  models::TaskGraph graph;
  graph.ranks = stages;
  const bool good = models::add_pipeline(std::move(pipeline), graph, diagnostics);
  PIPESIM_CHECK(good);
  return graph;
}

sim::Plan plan_of(const models::TaskGraph& graph) {
  models::Diagnostics diagnostics;
  auto lowered = models::lower(graph, diagnostics);
  PIPESIM_CHECK(lowered.has_value());
  return std::move(lowered->plan);
}

sim::Plan with_one_tag(sim::Plan plan) {
  for (sim::Call& call : plan.calls) {
    call.tag = 0;
    call.tag_step = 0;
  }
  return plan;
}

namespace {

sim::Plan chains(std::uint32_t ranks, std::uint32_t length, std::uint32_t acts, bool stuck) {
  sim::PlanBuilder builder(ranks);
  std::vector<sim::PlanBuilder::Output> last(ranks);
  std::vector<sim::ActorId> first(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const sim::ThreadId thread = builder.add_thread({rank}, sim::ThreadOrder::kArrival);
    const sim::StreamId stream = builder.add_stream({rank}, 1024);
    sim::PlanBuilder::Output before;
    for (std::uint32_t i = 0; i < length; ++i) {
      sim::ActorSpec spec;
      spec.thread = thread;
      spec.stream = stream;
      spec.takes = {1000 + 10 * i};
      spec.acts = acts;
      const sim::ActorId actor = builder.add_actor(spec);
      if (i == 0) first[rank] = actor;
      const auto output = builder.add_register(actor, {2, 1, 0, false});
      if (i > 0) builder.add_consumer(before, actor, 1);
      before = output;
    }
    last[rank] = before;
  }
  // The first actor of the next rank reads what the last of this one gives. Where it is stuck, the
  // first rank waits for the last: nobody begins.
  for (std::uint32_t rank = 0; rank + 1 < ranks; ++rank) {
    builder.add_consumer(last[rank], first[rank + 1], 1);
  }
  if (stuck) builder.add_consumer(last[ranks - 1], first[0], 1);
  return builder.build();
}

}  // namespace

sim::Plan actors(std::uint32_t ranks, std::uint32_t length, std::uint32_t acts) {
  return chains(ranks, length, acts, false);
}

sim::Plan stuck_actors(std::uint32_t ranks, std::uint32_t length, std::uint32_t acts) {
  return chains(ranks, length, acts, true);
}

}  // namespace pipesim::bench
