#include "models/result/why.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "models/result/wait_cycle.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/without_command.hpp"

using namespace pipesim;
using namespace pipesim::models;
using testing::command;
using testing::contains;

namespace {

std::string name_of(const WaitParty& party) {
  if (party.kind != sim::WaitNodeKind::kOp) return "";
  return std::to_string(party.rank) + " " + party.op.name + "#" + std::to_string(party.op.number);
}

bool is_closed(const std::vector<Wait>& cycle) {
  return cycle.empty() || name_of(cycle.back().to) == name_of(cycle.front().from);
}

void check_connected(const std::vector<Wait>& waits) {
  for (std::size_t i = 1; i < waits.size(); ++i) {
    CHECK(name_of(waits[i - 1].to) == name_of(waits[i].from));
  }
}

// Returns the ends of wait chains: the ops of the cycle, and the nodes that wait for nothing.
std::vector<std::uint32_t> ends_of(const TaskGraph& graph, const Simulation& run) {
  std::vector<std::uint32_t> ends;
  for (std::uint32_t i = 0; i < run.waits.nodes.size(); ++i) {
    const sim::WaitNode& node = run.waits.nodes[i];
    const bool waits = std::any_of(run.waits.edges.begin(), run.waits.edges.end(),
                                   [&](const sim::WaitEdge& edge) { return edge.from == i; });
    bool on_cycle = false;
    if (node.kind == sim::WaitNodeKind::kOp) {
      const OpInfo op = describe_op(graph, run.lowered, run.outcome.state, node.actor, node.k);
      for (const Wait& wait : run.explanation.cycle) {
        on_cycle |= wait.from.op.actor == node.actor && wait.from.op.name == op.name &&
                    wait.from.op.number == op.number;
      }
    }
    if (!waits || on_cycle) ends.push_back(i);
  }
  return ends;
}

}  // namespace

TEST_CASE("of each stuck op the chain is connected, shortest, and ends",
          "[models][why][scenario]") {
  std::size_t looked_at = 0;
  for (const std::string& path : testing::scenario_paths()) {
    CAPTURE(path);
    const TaskGraph graph = testing::load(path).graph;
    sim::RunOptions options;
    options.keep_op_times = true;
    const Simulation run = testing::simulate(graph, options);
    const std::vector<std::uint32_t> far = distances_to(run.waits, ends_of(graph, run));
    for (std::uint32_t i = 0; i < run.waits.nodes.size(); ++i) {
      const sim::WaitNode& node = run.waits.nodes[i];
      if (node.kind != sim::WaitNodeKind::kOp) continue;
      const Why found = why(graph, run, node.actor, node.k);
      CAPTURE(found.op.rank, found.op.name, found.op.number);
      CHECK_FALSE(found.earlier);
      if (far[i] == kNoIndex) {
        CHECK_FALSE(found.cycle.empty());  // can be another cycle than the one in the report
      } else {
        CHECK(found.chain.size() == far[i]);
      }
      check_connected(found.chain);
      check_connected(found.cycle);
      CHECK(is_closed(found.cycle));
      if (!found.chain.empty() && !found.cycle.empty()) {
        CHECK(name_of(found.chain.back().to) == name_of(found.cycle.front().from));
      }
      ++looked_at;
    }
  }
  CHECK(looked_at > 300);
}

TEST_CASE("why of an op that comes later begins at the next one of its actor", "[models][why]") {
  const auto result = command({"why", "scenarios/swin_2x2x2.yaml", "rank 0 nccl-2108#4"});
  CHECK(result.code == 1);
  CHECK(contains(result.out,
                 "rank 0 nccl-2108#4 is not done (DEADLOCK at 43.6 us): not launched\n"
                 "nccl-2108#1 must finish first: not launched\n"
                 "\n"
                 "It is on a cycle: 10 waits\n"));
}

TEST_CASE("why of an op that is done says when", "[models][why]") {
  // F0 of rank 1 starts when its input is ready: SRC takes 0.1 us, H2D_in 0.2 us and F0 1 us.
  const auto result = command({"why", "scenarios/swin_2x2x2.yaml", "rank1:F0#1"});
  CHECK(result.code == 0);
  CHECK(testing::without_command(result.out) ==
        "rank 1 F0#1 is done: launched at 300 ns, started at 300 ns, done at 1.3 us\n");
}

TEST_CASE("why tells of mistakes in its op", "[models][why]") {
  const auto said = [](const std::string& op) {
    const auto result = command({"why", "scenarios/swin_2x2x2.yaml", op});
    CHECK(result.code == 2);
    return result.err;
  };
  CHECK(contains(said("rank 0 Fo#1"), "why: there is no rank 0 Fo#1"));
  CHECK(contains(said("rank 0 F0#5"), "why: rank 0 F0 runs 4 times, so there is no #5"));
  CHECK(contains(said("rank 8 F0#1"), "why: unknown rank 8: ranks are 0 to 7"));
  CHECK(contains(said("F0#1"), "why: 'F0' is on ranks 0 to 3"));
  CHECK(contains(said("F0#1"), "say which: 'rank 0 F0#1'"));
  CHECK(contains(said("Fo#1"), "'Fo#1' does not name an op"));
  CHECK(contains(said("Fo#1"), "did you mean 'F0'?"));
}

// The two ranks send first, so neither rank reaches its recv or the step after it.
TEST_CASE("why of a step that its host has not come to begins where the host is", "[models][why]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {pp: all}
programs:
  - do:
      - {send: pp, to: 1 - rank, bytes: 64MiB, at: "p2p.py:181"}
      - {recv: pp, from: 1 - rank, bytes: 64MiB}
  - {on: 1, do: [{compute: last}]}
)";
  for (const char* op : {"rank 1 recv pp", "rank 1 last", "last"}) {
    const auto result = command({"why", "-", op}, text);
    CAPTURE(result.out, result.err);
    CHECK(result.code == 1);
    CHECK(
        contains(result.out,
                 "\nIts host has not reached it yet: it is at send pp#1 (p2p.py:181), launching:"));
    CHECK(contains(result.out, "\nIt is on a cycle: 2 waits\n  1  rank 1  send pp#1"));
  }
  const auto json = command({"why", "-", "last", "--json"}, text);
  CHECK(contains(json.out, "\"host_at\": {\n    \"rank\": 1,\n    \"op\": \"send pp\""));
}

TEST_CASE("why takes an op without its number if it runs once", "[models][why]") {
  const auto of_report = [](const std::string& op) {
    return command({"why", "tests/reports/nccl_479.yaml", op});
  };
  const auto once = of_report("rank 0 send world");
  CHECK(once.code == 1);
  CHECK(testing::without_command(once.out) ==
        testing::without_command(of_report("rank 0 send world#1").out));
  CHECK(contains(of_report("rank 0 sent world").err, "did you mean 'send world'?"));
  const auto often = command({"why", "scenarios/swin_2x2x2.yaml", "rank 0 F0"});
  CHECK(often.code == 2);
  CHECK(contains(often.err, "why: rank 0 F0 runs 4 times"));
  CHECK(contains(often.err, "say which: rank 0 F0#1 to F0#4"));
}

TEST_CASE("why as JSON has the chain and the cycle", "[models][why]") {
  const auto result = command({"why", "scenarios/swin_2x2x2.yaml", "rank 0 F3#3", "--json"});
  CHECK(result.code == 1);
  // F3#3 needs data of nccl-1998#3, which is on the cycle.
  CHECK(contains(result.out, "\"chain\": [\n    {\n      \"rank\": 0,\n      \"op\": \"F3\""));
  CHECK(contains(result.out,
                 "\"circle\": [\n    {\n      \"rank\": 0,\n      \"op\": \"nccl-1998\""));
}
