#include "models/result/timeline.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using namespace pipesim::models;

namespace {

struct Kept {
  TaskGraph graph;
  Simulation run;

  explicit Kept(TaskGraph of) : graph(std::move(of)) {
    sim::RunOptions options;
    options.keep_op_times = true;
    run = testing::simulate(graph, options);
  }

  std::string label(sim::ActorId id, std::uint32_t k) const {
    return op_label(graph, run.lowered, id, k);
  }
};

Kept kept(const std::string& text) { return Kept(testing::scenario_of(text).graph); }

const Lane& lane_of(const Timeline& timeline, std::uint32_t rank, std::string_view name) {
  const auto found =
      std::find_if(timeline.lanes.begin(), timeline.lanes.end(),
                   [&](const Lane& lane) { return lane.rank == rank && lane.name == name; });
  REQUIRE(found != timeline.lanes.end());
  return *found;
}

constexpr const char* kUnevenRanks =
    "schema: 1\nranks: 2\ngroups: {tp: all}\nstreams: {s: {}}\nactors:\n"
    "  a: {stream: s, source: 1, takes: {case: rank, 0: 1us, else: 30us}}\n"
    "  g: {stream: s, reads: [a], takes: 5us, collective: {all_reduce: tp}}\n";

}  // namespace

// The launch takes 1 us. After it, the rank has exited, and no other rank makes progress.
TEST_CASE("a timeline goes on until the last rank ends", "[models][timeline]") {
  const Kept of =
      kept("schema: 1\ndefaults: {launch_overhead: 1us}\nprograms:\n  do:\n    - {exit: 1}\n");
  CHECK(timeline(of.graph, of.run).end_ns == 1'000);
}

TEST_CASE("a collective waits for its peers before it works", "[models][timeline]") {
  const Kept of = kept(kUnevenRanks);
  const Timeline found = timeline(of.graph, of.run);
  CHECK(found.end_ns == 35'000);
  CHECK_FALSE(found.quiescent);
  REQUIRE(found.lanes.size() == 2);  // the launching threads have no slice with a length
  const Lane& lane = lane_of(found, 0, "s");
  REQUIRE(lane.slices.size() == 2);
  CHECK(of.label(lane.slices[0].actor, 0) == "a");
  CHECK(lane.slices[0].kind == WorkKind::kCompute);
  const Slice& g = lane.slices[1];
  CHECK(g.kind == WorkKind::kCollective);
  CHECK(g.begin_ns == 1'000);
  CHECK(g.work_ns == 30'000);
  CHECK(g.end_ns == 35'000);
  CHECK(g.done);
  CHECK(lane_of(found, 1, "s").slices[1].work_ns == 30'000);

  const std::vector<Flow> all = flows(of.run);
  REQUIRE(all.size() == 1);
  CHECK(all[0].kind == Flow::Kind::kCollective);
  // The arrow starts at the rank that started last.
  CHECK(of.run.lowered.plan.actors[all[0].from].rank.value == 1);
  CHECK(of.run.lowered.plan.actors[all[0].to].rank.value == 0);
}

TEST_CASE("a timeline of some ranks has no others", "[models][timeline]") {
  const Kept of = kept(kUnevenRanks);
  TimelineOptions options;
  options.ranks = RankSet({1});
  options.all_of_threads = true;
  const Timeline found = timeline(of.graph, of.run, options);
  for (const Lane& lane : found.lanes) CHECK(lane.rank == 1);
  const auto thread = std::find_if(found.lanes.begin(), found.lanes.end(),
                                   [](const Lane& lane) { return lane.is_thread; });
  REQUIRE(thread != found.lanes.end());
  CHECK(thread->slices.size() == 2);  // both launches
}

TEST_CASE("messages flow from the send to the receive that gets them", "[models][timeline]") {
  const Kept of = kept(
      "schema: 1\nranks: 2\ngroups: {pp: all}\nprograms:\n  do:\n"
      "    - {on: 0, do: [{send: pp, to: 1, name: x, takes: 5us}, {send: pp, to: 1, name: y}]}\n"
      "    - {on: 1, do: [{recv: pp, from: 0, name: p}, {recv: pp, from: 0, name: q}]}\n");
  std::vector<std::string> found;
  for (const Flow& flow : flows(of.run)) {
    CHECK(flow.kind == Flow::Kind::kMessage);
    found.push_back(of.label(flow.from, flow.from_k) + " " + of.label(flow.to, flow.to_k));
  }
  CHECK(found == std::vector<std::string>{"x p", "y q"});
}

TEST_CASE("an op that hangs lasts to the end, and its lane says why", "[models][timeline]") {
  const Kept of = kept(
      "schema: 1\nreading: contract\nranks: 2\ngroups: {tp: all}\nprograms:\n  do:\n"
      "    - {compute: f, takes: 3us}\n"
      "    - {on: 0, do: [{all_reduce: tp, name: late, after: [compute]}]}\n");
  const Timeline found = timeline(of.graph, of.run);
  CHECK(found.quiescent);
  CHECK(found.end_ns == 3'000);
  const Lane& lane = lane_of(found, 0, "nccl tp");
  REQUIRE(lane.slices.size() == 2);
  CHECK(lane.slices[0].kind == WorkKind::kControl);  // the wait for `compute`
  CHECK_FALSE(lane.slices[1].done);
  CHECK(lane.slices[1].work_ns == lane.slices[1].end_ns);
  REQUIRE(lane.stuck.size() == 1);
  REQUIRE(lane.stuck[0].waits.size() == 1);
  CHECK(lane.stuck[0].waits[0].to.kind == sim::WaitNodeKind::kRank);
}

TEST_CASE("what a rank did that died lasts until its death", "[models][timeline]") {
  const Kept of = kept(
      "schema: 1\nranks: 2\nfaults: [{rank: 1, dies: power, at: 4us}]\nprograms:\n"
      "  do: [{compute: f, takes: 30us}]\n");
  const Timeline found = timeline(of.graph, of.run);
  CHECK(lane_of(found, 0, "compute").slices[0].end_ns == 30'000);
  const Slice& slice = lane_of(found, 1, "compute").slices[0];
  CHECK_FALSE(slice.done);
  CHECK(slice.end_ns == 4'000);
}

TEST_CASE("the ops of the cycle stand first in their lanes", "[models][timeline][scenario]") {
  const Kept of(testing::load("scenarios/swin_2x2x2.yaml").graph);
  const Timeline found = timeline(of.graph, of.run);
  const Lane& lane = lane_of(found, 1, "forward");
  REQUIRE(lane.stuck.size() > 3);
  std::vector<std::string> first;
  for (std::size_t i = 0; i < 4; ++i) {
    first.push_back(of.label(lane.stuck[i].actor, lane.stuck[i].k));
  }
  // The ops of `run`'s cycle on rank 1 and on the lane's stream, sorted by micro-batch, then in
  // file order.
  CHECK(first == std::vector<std::string>{"Zeros#2", "Repeat#3", "F1#3", "nccl-1998#3"});
  CHECK(lane.stuck[3].on_cycle);
  CHECK_FALSE(lane.stuck[4].on_cycle);
}

TEST_CASE("the actions of a schedule have the kinds of their letters", "[models][timeline]") {
  const Kept of(testing::load("scenarios/pipeline_zero_bubble.yaml").graph);
  const Timeline found = timeline(of.graph, of.run);
  int looked_at = 0;
  for (const Slice& slice : lane_of(found, 1, "compute").slices) {
    const std::string label = of.label(slice.actor, slice.k);
    const WorkKind expected = label[1] == 'F'   ? WorkKind::kForward
                              : label[1] == 'W' ? WorkKind::kWeightGrad
                                                : WorkKind::kBackward;
    CAPTURE(label);
    CHECK(slice.kind == expected);
    ++looked_at;
  }
  CHECK(looked_at > 0);
}
