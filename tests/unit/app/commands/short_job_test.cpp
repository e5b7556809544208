// The most common job, in a short file: Megatron's 4 x 2 job of docs/reference/schedules.md. The
// comments derive the numbers by hand.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/result/pipeline_report.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::contains;

namespace {

// Returns the YAML after "This is Megatron's 4 x 2 job" in docs/reference/schedules.md.
std::string job() {
  const std::string page = testing::file_text("docs/reference/schedules.md");
  const std::string fence = "```yaml\n";
  const std::size_t about = page.find("Megatron's 4 x 2 job");
  REQUIRE(about != std::string::npos);
  const std::size_t begin = page.find(fence, about) + fence.size();
  return page.substr(begin, page.find("```\n", begin) - begin);
}

// Returns job() without data-parallel replicas: pipeline 4 x tensor 2.
std::string job_of_8() {
  std::string text = job();
  const std::string data = ", data: 2";
  REQUIRE(contains(text, data));
  text.erase(text.find(data), data.size());
  return text;
}

using Lists = std::vector<std::vector<std::uint32_t>>;

Lists lists_of(const models::TaskGraph& graph, const std::string& name) {
  const auto group = std::find_if(graph.groups.begin(), graph.groups.end(),
                                  [&](const models::Group& it) { return it.name == name; });
  return group == graph.groups.end() ? Lists() : group->lists;
}

// Counts the calls of a rank by communicator; sends and recvs count as "messages".
std::map<std::string, std::uint32_t> calls_of(const models::TaskGraph& graph,
                                              const models::Lowered& lowered, std::uint32_t rank) {
  std::map<std::string, std::uint32_t> result;
  for (const sim::ActorId id : sim::ids_of(lowered.plan.actors)) {
    const sim::Actor& actor = lowered.plan.actors[id];
    if (actor.rank.value != rank) continue;
    const models::ActorTemplate& from = graph.actors[lowered.actor_template[id]];
    for (const models::CallTemplate& call : from.step->calls) {
      const bool collective = call.kind == sim::CallKind::kCollective;
      const std::uint32_t communicator = call.communicator;
      const std::uint32_t group = graph.communicators[communicator].group;
      result[collective ? graph.groups[group].name : "messages"] += actor.ops;
    }
  }
  return result;
}

}  // namespace

TEST_CASE("short job: the page shows it in at most 15 lines", "[app][short_job]") {
  const std::string text = job();
  INFO(text);
  CHECK(std::count(text.begin(), text.end(), '\n') <= 15);
  CHECK(contains(text, "parallel: {pipeline: 4, tensor: 2, data: 2}"));
  for (const std::string& scenario : {text, job_of_8()}) {
    const auto run = testing::command({"run", "-"}, scenario);
    INFO(run.out << run.err);
    CHECK(run.code == 0);
    CHECK(contains(run.out, "COMPLETED at "));
    const auto check = testing::command({"check", "-"}, scenario);
    INFO(check.out << check.err);
    CHECK(check.code == 0);
    CHECK(contains(check.out, "PROVED: no interleaving hangs"));
  }
}

TEST_CASE("short job: ranks, groups and calls", "[app][short_job]") {
  // Megatron's order tp-dp-pp: ranks that differ in the tensor dimension are adjacent, then data,
  // then pipeline.
  const models::TaskGraph graph = testing::scenario_of(job()).graph;
  CHECK(graph.ranks == 16);
  CHECK(lists_of(graph, "tensor") ==
        Lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}});
  CHECK(lists_of(graph, "data") ==
        Lists{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
  CHECK(lists_of(graph, "pipeline") ==
        Lists{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}});
  models::Diagnostics diagnostics;
  const auto lowered = models::lower(graph, diagnostics);
  REQUIRE(lowered.has_value());
  for (std::uint32_t rank = 0; rank < 16; ++rank) {
    auto calls = calls_of(graph, *lowered, rank);
    // 32 layers on 4 stages are 8 layers per stage, each with 2 sums in its forward and 2 in its
    // backward, for 8 micro-batches. In the last backward, each layer reduces its gradients once.
    CHECK(calls["tensor"] == 8 * 8 * (2 + 2));
    CHECK(calls["data"] == 8);
    // The all-reduce of the loss or of the norm runs once.
    CHECK(calls["pipeline"] == 1);
    // One activation and one gradient per micro-batch and neighbor; the first and last stage have
    // one neighbor.
    const bool end = rank < 4 || rank >= 12;
    CHECK(calls["messages"] == 8 * 2 * (end ? 1 : 2));
    CHECK(calls.size() == 4);
  }
}

TEST_CASE("short job: pipeline 4 x tensor 2", "[app][short_job]") {
  const models::TaskGraph graph = testing::scenario_of(job_of_8()).graph;
  CHECK(graph.ranks == 8);
  CHECK(lists_of(graph, "tensor") == Lists{{0, 1}, {2, 3}, {4, 5}, {6, 7}});
  CHECK(lists_of(graph, "pipeline") == Lists{{0, 2, 4, 6}, {1, 3, 5, 7}});
  sim::RunOptions options;
  options.keep_op_times = true;
  const models::Simulation run = testing::simulate(graph, options);
  const auto report = models::pipeline_report(graph, run.lowered, run.outcome);
  REQUIRE(report.has_value());
  REQUIRE(report->ranks.size() == 8);
  // A forward is 8 layers of 500 us with 2 sums of 120 us each. A backward takes twice the compute
  // time, with the same number of sums.
  const std::int64_t forward = 8 * (500 + 2 * 120);
  const std::int64_t backward = 8 * (2 * 500 + 2 * 120);
  for (const auto& rank : report->ranks) CHECK(rank.busy_ns == 8 * (forward + backward) * 1000);
}
