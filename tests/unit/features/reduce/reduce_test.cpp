// Reductions of small jobs. Each smallest job is derived by hand: what the hang needs, and nothing
// else.
#include "features/reduce/reduce.hpp"

#include <string>
#include <vector>

#include "formats/scenario/scenario_writer.hpp"
#include "models/graph/graph_edit.hpp"
#include "models/graph/keep_ranks.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using namespace pipesim::models;

namespace {

std::optional<TaskGraph> read(const std::string& text, const ParameterValues& values) {
  Diagnostics unheard;
  auto scenario = formats::read_scenario(text, values, unheard);
  if (!scenario) return std::nullopt;
  return std::move(scenario->graph);
}

std::optional<Reduction> reduced(const std::string& text, Diagnostics& diagnostics,
                                 const ReduceOptions& options = {}) {
  const auto scenario = formats::read_scenario(text, {}, diagnostics);
  if (!scenario) throw std::runtime_error(testing::text_of(diagnostics));
  return reduce(
      scenario->graph, scenario->parameters,
      [&](const ParameterValues& values) { return read(text, values); },
      [](const TaskGraph& graph, bool brief) -> std::optional<Written> {
        std::string written = formats::write_scenario(
            graph, brief ? formats::ScenarioForm::kBrief : formats::ScenarioForm::kExact);
        auto again = read(written, {});
        if (!again) return std::nullopt;
        return Written{std::move(written), std::move(*again)};
      },
      options, diagnostics);
}

Reduction reduced(const std::string& text) {
  Diagnostics diagnostics;
  auto result = reduced(text, diagnostics);
  if (!result) throw std::runtime_error(testing::text_of(diagnostics));
  return std::move(*result);
}

// Ranks 0 and 1 call two collectives in opposite orders, and wait for the device after each call.
// The rest is not needed: work, a third rank, and a group that all ranks call in the same way.
const std::string kOpposite = R"(
schema: 1
reading: contract
ranks: 4
groups: {a: [[0, 1]], b: [[0, 1]], world: all}
programs:
  - on: [0, 1, 2, 3]
    do:
      - {compute: warm up, takes: 5us}
      - {all_reduce: world, bytes: 8B}
      - {synchronize: device}
  - on: 0
    do: [{all_reduce: a, bytes: 4KiB, takes: 9us}, {synchronize: device}, {all_reduce: b, bytes: 4KiB}]
  - on: 1
    do: [{all_reduce: b, bytes: 4KiB}, {synchronize: device}, {all_reduce: a, bytes: 4KiB}]
  - on: [2, 3]
    do: [{compute: other, takes: 3us}]
)";

}  // namespace

TEST_CASE("of two collectives in opposite order these are left", "[models][reduce]") {
  const Reduction small = reduced(kOpposite);
  CHECK(small.before.ranks == 4);
  // Two ranks remain, each with a call, a wait for the device, and the other call. The second call
  // is never reached, but without it the peer's call would lack a rank.
  CHECK(small.after == JobSize{2, 6, 6});
  CHECK(small.explanation.verdict == sim::Verdict::kDeadlock);
  CHECK(small.explanation.cycle.size() == 4);
  for (const ActorTemplate& actor : small.graph.actors) CHECK(actor.takes == Expr());
  CHECK(small.graph.groups.size() == 2);
  CHECK_FALSE(small.stopped);
}

TEST_CASE("parameters come first, and the smallest that hang alike are reported",
          "[models][reduce]") {
  // Each rank sends to the next rank and then receives. Such a ring hangs at any length, so two
  // ranks remain. Iterations after the first are never reached.
  const Reduction small = reduced(R"(
schema: 1
params: {n: {default: 6, at_least: 2}, rounds: 5, kernels: 3}
ranks: n
groups: {ring: all}
communicators: {named: {ring: {group: ring, eager: 0B}}}
programs:
  - do:
      - {repeat: kernels, do: [{compute: k, takes: 1us}]}
      - repeat: rounds
        do:
          - {send: ring, to: "(rank + 1) % n", bytes: 1MiB}
          - {recv: ring, from: "(rank + n - 1) % n", bytes: 1MiB}
)");
  CHECK(small.before.ranks == 6);
  CHECK(small.after == JobSize{2, 2, 4});
  CHECK(small.parameters == ParameterValues{{"n", "2"}, {"rounds", "1"}, {"kernels", "0"}});
}

TEST_CASE("messages go with the rank at their other end", "[models][reduce]") {
  // Four ranks in a line, each of which passes data to the next rank; only ranks 2 and 3 send to
  // each other first.
  const Reduction small = reduced(R"(
schema: 1
ranks: 4
groups: {pp: all}
communicators: {named: {pp: {group: pp, eager: 0B}}}
programs:
  - on: [1, 2, 3]
    do: [{recv: pp, from: rank - 1, bytes: 1MiB}]
  - on: [0, 1]
    do: [{send: pp, to: rank + 1, bytes: 1MiB}]
  - on: [2]
    do: [{recv: pp, from: 3, bytes: 1MiB}, {send: pp, to: 3, bytes: 1MiB}]
  - on: [3]
    do: [{send: pp, to: 2, bytes: 1MiB}]
)");
  // Each of the two remaining ranks receives before it sends.
  CHECK(small.before.ranks == 4);
  CHECK(small.after == JobSize{2, 4, 4});
}

TEST_CASE("what does not hang is an error", "[models][reduce]") {
  Diagnostics diagnostics;
  CHECK_FALSE(reduced("schema: 1\nactors: {A: {source: 1}}\n", diagnostics).has_value());
  CHECK(testing::text_of(diagnostics) ==
        "0:0: the scenario does not hang; reduce needs one that does\n");
}

TEST_CASE("a search that is stopped leaves what it had", "[models][reduce]") {
  const std::atomic<bool> stop = true;
  ReduceOptions options;
  options.stop = &stop;
  Diagnostics diagnostics;
  const auto small = reduced(kOpposite, diagnostics, options);
  REQUIRE(small);  // a run this short is never interrupted
  CHECK(small->stopped);
  CHECK(small->after == small->before);
}

TEST_CASE("a search that ends early leaves what it had", "[models][reduce]") {
  ReduceOptions options;
  options.max_ops = 1;
  Diagnostics diagnostics;
  const auto small = reduced(kOpposite, diagnostics, options);
  REQUIRE(small);
  CHECK(small->out_of_budget);
  CHECK(small->after == small->before);
  CHECK(small->explanation.verdict == sim::Verdict::kDeadlock);
}

TEST_CASE("no rank and no actor of a reduced scenario can go alone", "[models][reduce][scenario]") {
  int hanging = 0;
  for (const std::string& path : testing::scenario_paths()) {
    CAPTURE(path);
    const formats::Scenario scenario = testing::load(path);
    const Simulation end = testing::simulate(scenario.graph);
    const HangSignature shape = hang_signature(scenario.graph, end.lowered, end.explanation);
    if (!shape.hangs()) continue;
    ++hanging;
    const Reduction small = reduced(testing::file_text(path));
    const HangSignature hang =
        hang_signature(scenario.graph, end.lowered, end.explanation, small.layers);
    const auto hangs_alike = [&](const TaskGraph& graph) {
      Diagnostics unheard;
      const auto run = simulate(graph, unheard);
      return run && hang_signature(graph, run->lowered, run->explanation, small.layers) == hang;
    };
    CHECK(hangs_alike(small.graph));
    CHECK(small.after.ops <= small.before.ops);
    for (std::uint32_t i = 0; i < small.graph.actors.size(); ++i) {
      const auto& step = small.graph.actors[i].step;
      if (step && step->implied) continue;  // the wait of an `after` goes with its step
      TaskGraph less = small.graph;
      std::vector<bool> keep(less.actors.size(), true);
      keep[i] = false;
      keep_actors(less, keep);
      CAPTURE(small.graph.actors[i].name);
      CHECK_FALSE(hangs_alike(less));
    }
    for (std::uint32_t rank = 0; rank < small.graph.ranks && small.graph.ranks > 1; ++rank) {
      TaskGraph less = small.graph;
      std::vector<std::uint32_t> kept;
      for (std::uint32_t other = 0; other < less.ranks; ++other) {
        if (other != rank) kept.push_back(other);
      }
      keep_ranks(less, RankSet(std::move(kept)));
      CAPTURE(rank);
      CHECK_FALSE(hangs_alike(less));
    }
  }
  CHECK(hanging >= 14);
}
