#include "bench/plans.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/graph/pipeline.hpp"
#include "models/schedules/generators.hpp"
#include "models/schedules/schedule_lowering.hpp"
#include "sim/assert.hpp"

namespace pipesim::bench {
namespace {

using models::Action;
using models::ActionKind;

/// Reorders the actions of rank 0 so that rank 0 waits for a gradient that cannot arrive. Keeps the
/// order if `hang` is kNone.
void make_hang(models::Actions& row, std::uint32_t micro_batches, Hang hang) {
  if (hang == Hang::kAtStart) {
    const Action send{ActionKind::kSendForward, false, 0, 0};
    const Action receive{ActionKind::kRecvBackward, false, 0, 0};
    const auto to = std::find(row.begin(), row.end(), send);
    const auto from = std::find(to, row.end(), receive);
    PIPESIM_CHECK(from != row.end());
    std::rotate(to, from, from + 1);
  } else if (hang == Hang::kAtEnd) {
    const Action send{ActionKind::kSendForward, false, 0, micro_batches - 1};
    const auto from = std::find(row.begin(), row.end(), send);
    PIPESIM_CHECK(from != row.end());
    std::rotate(from, from + 1, row.end());
  }
}

sim::Plan chains(std::uint32_t ranks, std::uint32_t length, std::uint32_t ops, bool stuck) {
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
      spec.ops = ops;
      const sim::ActorId actor = builder.add_actor(spec);
      if (i == 0) first[rank] = actor;
      const auto output = builder.add_register(actor, {2, 1, 0, false});
      if (i > 0) builder.add_consumer(before, actor, 1);
      before = output;
    }
    last[rank] = before;
  }
  // The first actor of the next rank reads the output of the last actor of this rank.
  for (std::uint32_t rank = 0; rank + 1 < ranks; ++rank) {
    builder.add_consumer(last[rank], first[rank + 1], 1);
  }
  if (stuck) {
    sim::ActorSpec spec;
    spec.thread = builder.add_thread({0}, sim::ThreadOrder::kArrival);
    spec.stream = builder.add_stream({0}, 1024);
    spec.ops = ops;
    const sim::ActorId never = builder.add_actor(spec);
    builder.add_consumer(builder.add_register(never, {1, 1, 0, false}), never, 1);
    builder.add_consumer(builder.add_register(first[0], {ops / 2, 1, 0, false}), never, 1);
  }
  return builder.build();
}

}  // namespace

models::TaskGraph one_f_one_b(std::uint32_t stages, std::uint32_t micro_batches, Hang hang) {
  models::Diagnostics diagnostics;
  models::ScheduleShape shape;
  shape.kind = models::ScheduleKind::k1f1b;
  shape.stages = stages;
  shape.micro_batches = micro_batches;
  auto schedule = models::add_send_recv(models::make_schedule(shape), diagnostics);
  PIPESIM_CHECK(schedule.has_value());
  make_hang(schedule->ranks[0], micro_batches, hang);
  models::Pipeline pipeline;
  pipeline.schedule = std::move(*schedule);
  pipeline.costs.assign(stages, {1'000'000, 1'000'000, 1'000'000, 0, 0});
  pipeline.messages =
      hang == Hang::kAtStart ? models::MessageModel::kPg : models::MessageModel::kDir;
  models::TaskGraph graph;
  graph.ranks = stages;
  const bool good = models::add_pipeline(std::move(pipeline), graph, diagnostics);
  PIPESIM_CHECK(good);
  return graph;
}

models::Lowered lowered(const models::TaskGraph& graph) {
  models::Diagnostics diagnostics;
  auto made = models::lower(graph, diagnostics);
  PIPESIM_CHECK(made.has_value());
  return std::move(*made);
}

sim::Plan plan_of(const models::TaskGraph& graph) { return lowered(graph).plan; }

sim::Plan with_one_tag(sim::Plan plan) {
  for (sim::Call& call : plan.calls) {
    call.tag = 0;
    call.tag_step = 0;
  }
  return plan;
}

sim::Plan actors(std::uint32_t ranks, std::uint32_t length, std::uint32_t ops) {
  return chains(ranks, length, ops, false);
}

sim::Plan stuck_actors(std::uint32_t ranks, std::uint32_t length, std::uint32_t ops) {
  return chains(ranks, length, ops, true);
}

sim::Outcome hang_of(const sim::Plan& plan) {
  sim::RunOptions options;
  options.engine = sim::EngineKind::kEvents;
  sim::Outcome outcome = sim::run(plan, options);
  PIPESIM_CHECK(outcome.end == sim::RunEnd::kStuck);
  return outcome;
}

}  // namespace pipesim::bench
