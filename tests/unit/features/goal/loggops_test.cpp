// LogGOPS timing of programs small enough to be worked out by hand. tests/twin/loggops_test.cpp
// compares many more programs with a second implementation.
#include "features/goal/loggops.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

#include "features/goal/goal_reader.hpp"

using namespace pipesim;

namespace {

// Parameters of the network: L = 100, o = 10, g = 20, G = 2, O = 1; rendezvous above 50 bytes.
constexpr sim::LogGopsParameters kNetwork = {100, 10, 20, 2, 1, 50};

struct Ran {
  sim::LogGopsProgram program;
  sim::LogGopsOutcome outcome;

  std::int64_t start(std::size_t op) const { return outcome.ops[op].start.ns; }
  std::int64_t done(std::size_t op) const { return outcome.ops[op].done.ns; }
  std::int64_t finish(std::uint32_t rank) const { return outcome.finish[sim::RankId{rank}].ns; }
};

Ran run(const std::string& text, const sim::LogGopsParameters& with = kNetwork) {
  models::Diagnostics diagnostics;
  const auto file = formats::read_goal(text, diagnostics);
  INFO(testing::text_of(diagnostics));
  REQUIRE(file.has_value());
  return {file->program, sim::run(file->program, with)};
}

const std::string kTwo = "num_ranks 2\n";

}  // namespace

TEST_CASE("an eager message takes its time at both ends", "[sim][loggops]") {
  // The send runs from time 0 to 10 + 9. Its first byte arrives at time 110. The recv runs until
  // time 110 + 10 + 9 * 2.
  const Ran ran = run(kTwo +
                      "rank 0 {\na: send 10b to 1\nb: calc 5\nb requires a\n}\n"
                      "rank 1 {\nrecv 10b from 0\n}\n");
  CHECK(ran.outcome.end == sim::RunEnd::kCompleted);
  CHECK(ran.done(0) == 19);
  CHECK(ran.start(1) == 19);
  CHECK(ran.start(2) == 0);
  CHECK(ran.done(2) == 138);
  CHECK(ran.finish(0) == 24);
  CHECK(ran.finish(1) == 138);
}

TEST_CASE("a rendezvous holds what depends on it until the receive is met", "[sim][loggops]") {
  // The message arrives at time 110, and the recv is posted at time 500. Rank 0's send ends only
  // then.
  const Ran ran = run(kTwo +
                      "rank 0 {\na: send 51b to 1\nb: calc 5\nb requires a\nc: calc 1\n}\n"
                      "rank 1 {\nw: calc 500\nr: recv 51b from 0\nr requires w\n}\n");
  CHECK(ran.start(2) == 60);  // an op that does not depend on the send does not wait
  // The cpu of rank 1 computes until time 500, then receives the message for 10 + 50 * 2. The recv
  // is posted at time 500, but after the message takes its turn.
  CHECK(ran.done(0) == 500);
  CHECK(ran.start(1) == 500);
  CHECK(ran.done(4) == 610);
  CHECK(ran.finish(0) == 505);
}

TEST_CASE("cpu and nic must both be free when a send starts", "[sim][loggops]") {
  // The cpu is free at time 19, the nic at time 20 + 9 * 2.
  const Ran ran = run(kTwo +
                      "rank 0 {\nsend 10b to 1\nsend 10b to 1\ncalc 100\n}\n"
                      "rank 1 {\nrecv 10b from 0\nrecv 10b from 0\n}\n");
  CHECK(ran.start(0) == 0);
  CHECK(ran.start(2) == 19);  // last in turn, but without a need for the nic
  CHECK(ran.start(1) == 119);
  CHECK(ran.done(3) == 138);
  CHECK(ran.done(4) == 119 + 110 + 28);
}

TEST_CASE("ops that become free together go by kind, then as they stand", "[sim][loggops]") {
  const Ran ran =
      run("num_ranks 1\nrank 0 {\nx: calc 1\ny: calc 2\nz: send 1b to 0\n"
          "recv 1b from 0\n}\n");
  CHECK(ran.start(2) == 0);
  CHECK(ran.start(0) == 10);
  CHECK(ran.start(1) == 11);
  CHECK(ran.done(3) == 120);
}

TEST_CASE("requires waits for an end, irequires for a start, on another cpu too",
          "[sim][loggops]") {
  const Ran ran =
      run("num_ranks 1\nrank 0 {\nw: calc 7\na: calc 50\na requires w\n"
          "b: calc 1 cpu 1\nb requires a\nc: calc 1 cpu 2\nc irequires a\n}\n");
  CHECK(ran.start(1) == 7);
  CHECK(ran.start(2) == 57);
  CHECK(ran.start(3) == 7);
  CHECK(ran.finish(0) == 58);
}

TEST_CASE("messages are matched in order, and wildcards take the first that fits",
          "[sim][loggops]") {
  const Ran ran = run(
      "num_ranks 3\nrank 0 {\nsend 1b to 2 tag 4\n}\nrank 1 {\nw: calc 5\ns: send 1b to 2 tag 5\n"
      "s requires w\nt: send 1b to 2 tag 5\nt requires s\n}\n"
      "rank 2 {\nw: calc 1000\na: recv 1b from 1 tag 5\na requires w\nb: recv 1b from -1 tag 5\n"
      "b requires a\nc: recv 1b from -1 tag -1\nc requires b\n}\n");
  CHECK(ran.outcome.end == sim::RunEnd::kCompleted);
  CHECK(ran.outcome.ops[5].match == 2);
  CHECK(ran.outcome.ops[6].match == 3);
  CHECK(ran.outcome.ops[7].match == 0);
}

TEST_CASE("two large messages head to head hang in a cycle", "[sim][loggops]") {
  const std::string text = kTwo +
                           "rank 0 {\ns: send 51b to 1\nr: recv 51b from 1\nr requires s\n}\n"
                           "rank 1 {\ns: send 51b to 0\nr: recv 51b from 0\nr requires s\n}\n";
  const Ran ran = run(text);
  CHECK(ran.outcome.end == sim::RunEnd::kStuck);
  const sim::WaitGraph graph = sim::wait_graph(ran.program, ran.outcome);
  REQUIRE(graph.nodes.size() == 4);
  REQUIRE(graph.edges.size() == 4);
  const std::vector<std::uint32_t> to = {3, 0, 1, 2};
  for (std::uint32_t i = 0; i < 4; ++i) {
    CHECK(graph.edges[i].from == i);
    CHECK(graph.edges[i].to == to[i]);
    CHECK(graph.edges[i].kind ==
          (i % 2 == 0 ? sim::WaitKind::kPeerOfMessage : sim::WaitKind::kRequires));
  }
  sim::LogGopsParameters eager = kNetwork;
  eager.eager_bytes = 51;
  CHECK(run(text, eager).outcome.end == sim::RunEnd::kCompleted);
}

TEST_CASE("an eager message takes the receive that a later one waits for", "[sim][loggops]") {
  const Ran ran = run(kTwo +
                      "rank 0 {\na: send 1b to 1\nb: send 51b to 1\nb requires a\n}\n"
                      "rank 1 {\nr: recv 1b from 0\nr requires r\n}\n");
  const sim::WaitGraph graph = sim::wait_graph(ran.program, ran.outcome);
  REQUIRE(graph.edges.size() == 2);
  CHECK(graph.nodes[graph.edges[0].to].kind == sim::WaitNodeKind::kRank);
  CHECK(graph.nodes[graph.edges[0].to].rank == sim::RankId{1});
  CHECK(graph.edges[1].from == graph.edges[1].to);
  CHECK(sim::unreceived(ran.program, ran.outcome) == std::vector<sim::ActorId>{sim::ActorId{0}});
}

TEST_CASE("a message of no bytes is counted as one byte less than one", "[sim][loggops]") {
  const Ran ran = run(kTwo +
                      "rank 0 {\nsend 0b to 1\nsend 0b to 1\n}\nrank 1 {\nrecv 0b from 0\n"
                      "recv 0b from 0\n}\n");
  CHECK(ran.done(0) == 9);
  CHECK(ran.start(1) == 18);
  CHECK(ran.done(2) == 119);  // of two parallel ops, the op of 1 ns
}

TEST_CASE("the end of time ends a run", "[sim][loggops]") {
  const std::string most = "4611686018427387904";
  const Ran ran = run("num_ranks 1\nrank 0 {\ncalc " + most + "\ncalc " + most + "\ncalc 1\n}\n");
  CHECK(ran.outcome.end == sim::RunEnd::kTimeLimit);
  CHECK(run(kTwo + "rank 0 {\nsend " + most + "b to 1\n}\nrank 1 {\n}\n").outcome.end ==
        sim::RunEnd::kTimeLimit);
}

TEST_CASE("many ops that wait for one cpu are no work of their square", "[sim][loggops]") {
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (int i = 0; i < 200'000; ++i) text += "calc 1\n";
  CHECK(run(text + "}\n").finish(0) == 200'000);
}

TEST_CASE("a run of a program tells how far it is", "[sim][loggops]") {
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (int i = 0; i < 10'000; ++i) text += "calc 1\n";
  models::Diagnostics diagnostics;
  const auto file = formats::read_goal(text + "}\n", diagnostics);
  REQUIRE(file.has_value());
  sim::RunProgress progress;
  sim::run(file->program, kNetwork, {.progress = &progress});
  CHECK(progress.ops == 10'000);
  // Progress is reported every 4,096 events; each calculation makes at most two.
  CHECK(progress.ops_done >= 10'000 - 4'096);
  CHECK(progress.time_ns > 0);
  CHECK(progress.over);
}
