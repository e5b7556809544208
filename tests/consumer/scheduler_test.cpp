// Tests of a scheduler pass, as in a project that develops such a pass. docs/how-to/library.md
// shows this file.
#include <chrono>
#include <cstdint>
#include <string>

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <pipesim/catch2.hpp>
#include <pipesim/pipesim.hpp>
#include <pipesim/task_graph.hpp>

using namespace pipesim;
using namespace std::chrono_literals;

namespace {

// Returns a job of two ranks. `buffer` passes the output of `loss` to `reduce`, but runs on stream
// `forward`.
Graph step(std::uint32_t slots = 2) {
  GraphBuilder job("step", 2);
  job.micro_batches(3).group("tp").stream("forward").stream("backward");
  job.actor("batch").source(3).slots(3).takes(1us);
  job.actor("table").on(1).source(3).slots(slots).stream("forward").takes(1us);
  job.actor("gather")
      .stream("forward")
      .slots(3)
      .takes(1us)
      .collective("all_gather", "tp")
      .reads("batch")
      .reads("table", {{"on", 1}});
  job.actor("loss").takes(10us).reads("gather");
  job.actor("buffer").stream("forward").takes(1us).reads("loss");
  job.actor("reduce")
      .stream("backward")
      .takes(1us)
      .collective("all_reduce", "tp")
      .reads("buffer")
      .reads("table", {{"on", 1}});
  return job.build();
}

// Moves `buffer` to the stream of its reader: the pass under test.
void move_buffers(models::TaskGraph& graph, models::Diagnostics& diagnostics) {
  const auto buffer = find_actor(graph, "buffer", diagnostics);
  if (!buffer) return;
  for (const models::ActorTemplate& reader : graph.actors) {
    for (const models::ReadTemplate& read : reader.reads) {
      if (read.actor == *buffer) graph.actors[*buffer].stream = reader.stream;
    }
  }
}

// Generates a collective algorithm: two ranks swap their chunks.
std::string all_gather() {
  std::string text =
      R"(<algo name="swap" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" )"
      R"(coll="allgather" inplace="1">)";
  for (const int rank : {0, 1}) {
    const auto step = [](int number, const char* type, int chunk) {
      return "<step s='" + std::to_string(number) + "' type='" + type + "' srcbuf='o' srcoff='" +
             std::to_string(chunk) + "' dstbuf='o' dstoff='" + std::to_string(chunk) +
             "' cnt='1' depid='-1' deps='-1' hasdep='0'/>";
    };
    const std::string own = std::to_string(rank);
    const std::string peer = std::to_string(1 - rank);
    text += "<gpu id='" + own + "' i_chunks='0' o_chunks='2' s_chunks='0'><tb id='0' send='" +
            peer + "' recv='" + peer + "' chan='0'>" + step(0, "s", rank) + step(1, "r", 1 - rank) +
            "</tb></gpu>";
  }
  return text + "</algo>";
}

}  // namespace

TEST_CASE("without the pass the step hangs") {
  CHECK_THAT(run(step()), deadlocks_through("gather", "buffer") && cycle_has(6));
  CHECK_THAT(run(step(3)), completes());
}

TEST_CASE("the pass removes the hang") {
  const Graph graph = run_pass(step(), "move-buffers", move_buffers);
  CHECK_THAT(run(graph), completes() && takes_at_most(40us));
  CHECK(graph == run_passes(step(), "move-to-stream=buffer:stream=backward"));
}

TEST_CASE("the same from a file") {
  CHECK(load_scenario("step.yaml") == step());
  CHECK_THAT(run(load_scenario("step.yaml", {{"slots", "3"}})), completes());
}

TEST_CASE("a generator writes a correct algorithm") {
  const Verification result = verify(all_gather());
  INFO(result.report);
  CHECK(result.correct);
}

TEST_CASE("what a failed test shows", "[.fails]") { REQUIRE_THAT(run(step()), completes()); }
