// The context exchange as sends and recvs in a ring (TransformerEngine's
// flash_attn_p2p_communicate). The comments derive the times by hand.
#include "models/schedules/ring_exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::mistakes_in;

namespace {

// Returns a job with a forward of 8 us and a backward of 10 us, whose ranks share a sequence.
std::string job(const std::string& parallel, const std::string& collectives,
                const std::string& more = "") {
  return "schema: 1\nparallel: {" + parallel +
         "}\nschedule:\n  kind: gpipe\n  micro_batches: 1\n  forward: 8us\n  input_grad: 5us\n"
         "  weight_grad: 5us\n  messages: edge\n  collectives:\n" +
         collectives + more;
}

std::string ring(const std::string& in, const std::string& more) {
  return "    - {call: ring_exchange, over: context, in: " + in + more + "}\n";
}

std::int64_t end_us(const std::string& text) {
  const models::Simulation run = testing::simulate(testing::scenario_of(text).graph);
  REQUIRE(run.outcome.end == sim::RunEnd::kCompleted);
  return run.outcome.last_progress.ns / 1000;
}

bool hangs(const std::string& text) {
  return testing::simulate(testing::scenario_of(text).graph).outcome.end == sim::RunEnd::kStuck;
}

const std::string kFour = "context: 4";

}  // namespace

TEST_CASE("exchanges run beside the blocks of an attention", "[models][ring_exchange]") {
  // us        0    1    2    3    4    5    6    7    8    9   10   11
  // blocks    1-------       2--------      3--------      4--------
  // exchanges 1-------------|2-------------|3-------------|
  // Three exchanges of 3 us, and blocks of 2 us: block k + 1 waits for exchange k. Backward 10 us.
  CHECK(end_us(job(kFour, ring("forward", ", takes: 3us"))) == 11 + 10);
  // Exchanges shorter than a block are hidden.
  CHECK(end_us(job(kFour, ring("forward", ", takes: 2us"))) == 8 + 10);
  // The backward has four exchanges, because gradients go all the way around: 4 * 3 us, and the
  // last of five blocks of 2 us.
  CHECK(end_us(job(kFour, ring("backward", ", takes: 3us"))) == 8 + 12 + 2);
  // The forward waits for a collective at once, between two halves: 4 + 9 + 4 us.
  CHECK(end_us(job(kFour, "    - {call: all_gather, over: context, in: forward, takes: 9us}\n")) ==
        17 + 10);
  // An explicit `times` sets the number of exchanges: with one exchange, blocks take 4 us.
  CHECK(end_us(job(kFour, ring("forward", ", times: 1, takes: 9us"))) == 9 + 4 + 10);
  // A single rank has no peer to exchange with.
  CHECK(end_us(job("context: 1", ring("forward", ", takes: 3us"))) == 8 + 10);
}

TEST_CASE("each layer has its own blocks, behind those of the layer before",
          "[models][ring_exchange]") {
  // If a stage has two layers, the forward takes 2 * 11 us, the backward 20 us.
  CHECK(end_us(job(kFour, ring("forward", ", takes: 3us"), "  layers: 2\n")) == 22 + 20);
  // Exchanges and collectives follow the order of the list, layer by layer.
  const std::string both = ring("forward", ", takes: 3us") +
                           "    - {call: all_reduce, over: context, in: forward, takes: 1us}\n";
  const models::TaskGraph graph = testing::scenario_of(job(kFour, both, "  layers: 2\n")).graph;
  std::vector<std::string> calls;
  for (const models::ActorTemplate& actor : graph.actors) {
    if (!actor.step->calls.empty()) calls.push_back(actor.name);
  }
  CHECK(calls == std::vector<std::string>{"ring_exchange 1 of 0F", "ring_exchange 2 of 0F",
                                          "ring_exchange 3 of 0F", "all_reduce 4 of 0F",
                                          "ring_exchange 5 of 0F", "ring_exchange 6 of 0F",
                                          "ring_exchange 7 of 0F", "all_reduce 8 of 0F"});
}

TEST_CASE("a rank sends to the next of its group and receives from the one before it",
          "[models][ring_exchange]") {
  // Ranks that share a sequence are two apart: 0 2 4 and 1 3 5, and in the next stage 6 8 10 and 7
  // 9 11.
  const models::TaskGraph graph = testing::scenario_of(job("pipeline: 2, context: 3, tensor: 2",
                                                           ring("forward", ", bytes: 1MiB")))
                                      .graph;
  const auto found = std::find_if(graph.actors.begin(), graph.actors.end(), [](const auto& actor) {
    return actor.name == "ring_exchange 1 of 0F";
  });
  REQUIRE(found != graph.actors.end());
  REQUIRE(found->step->calls.size() == 2);
  const models::CallTemplate& send = *found->step->calls.begin();
  const models::CallTemplate& receive = *(found->step->calls.begin() + 1);
  CHECK(send.kind == sim::CallKind::kSend);
  CHECK(receive.kind == sim::CallKind::kReceive);
  CHECK(send.bytes.value(0) == 1024 * 1024);
  const std::vector<std::int64_t> next = {2, 3, 4, 5, 0, 1, 8, 9, 10, 11, 6, 7};
  for (std::uint32_t rank = 0; rank < 12; ++rank) {
    CHECK(send.peer->value(rank) == next[rank]);
    CHECK(receive.peer->value(static_cast<std::uint32_t>(next[rank])) == rank);
  }
}

TEST_CASE("sends before recvs in a ring wait for each other", "[models][ring_exchange]") {
  for (const std::string parallel : {"context: 2", "context: 4", "pipeline: 2, context: 3"}) {
    const auto text = [&](const std::string& order) {
      return job(parallel,
                 ring("forward", ", takes: 1us" + order) + ring("backward", ", takes: 1us" + order),
                 "reading: contract\n");
    };
    CHECK_FALSE(hangs(text("")));
    CHECK_FALSE(hangs(text(", order: batch")));
    CHECK(hangs(text(", order: send_first")));
    CHECK(hangs(text(", order: recv_first")));
  }
}

TEST_CASE("exchanges are on the stream that the user names", "[models][ring_exchange]") {
  std::string text = job(kFour, ring("forward", ", takes: 3us"));
  text.replace(text.find("over: context"), 13, "over: kv");
  text += "communicators: {named: {kv: {group: context, stream: cp_stream}}}\n";
  const models::TaskGraph graph = testing::scenario_of(text).graph;
  std::uint32_t exchanges = 0;
  for (const models::ActorTemplate& actor : graph.actors) {
    if (actor.step->calls.empty()) continue;
    CHECK(graph.streams[actor.stream].name == "cp_stream");
    ++exchanges;
  }
  CHECK(exchanges == 3);
  CHECK(end_us(text) == 11 + 10);
}

TEST_CASE("an exchange among the ops of a layer runs beside the next", "[models][ring_exchange]") {
  const std::string text = R"yaml(schema: 1
parallel: {context: 3}
schedule:
  kind: gpipe
  micro_batches: 1
  ops:
    forward:
      - {compute: qkv, takes: 1us}
      - {call: ring_exchange, over: context, name: kv1, takes: 3us}
      - {compute: block1, takes: 2us}
      - {call: ring_exchange, over: context, name: kv2, takes: 3us}
      - {compute: block2, takes: 2us}
      - {compute: block3, takes: 2us}
      - {compute: mlp, takes: 4us}
    backward:
      - {compute: all, takes: 5us}
)yaml";
  // qkv 0-1 us; block1 1-3 during kv1 1-4; block2 4-6 during kv2 4-7; block3 7-9, mlp 9-13,
  // backward 13-18.
  CHECK(end_us(text) == 18);
  std::string crossed = text + "reading: contract\n";
  crossed.replace(crossed.find("takes: 3us"), 10, "order: send_first");
  CHECK(hangs(crossed));
  // The last op of a forward is also waited for: 1 + 2 + 3 us, and the backward.
  CHECK(end_us(R"yaml(schema: 1
parallel: {context: 2}
schedule:
  kind: gpipe
  micro_batches: 1
  ops:
    forward: [{compute: a, takes: 1us}, {call: ring_exchange, over: context, takes: 5us},
              {compute: b, takes: 2us}]
    backward: [{compute: all, takes: 5us}]
)yaml") == 1 + 5 + 5);
}

TEST_CASE("what a ring cannot be is reported in one sentence", "[models][ring_exchange]") {
  CHECK(mistakes_in(job(kFour, ring("step", ""))) ==
        "11:48: a ring exchange must be within a forward or a backward\n"
        "  say 'in: forward' or 'in: backward'\n");
  CHECK(mistakes_in(
            job(kFour, "    - {call: all_gather, over: context, in: forward, order: batch}\n")) ==
        "11:61: 'order' needs 'call: ring_exchange'\n"
        "  a collective has no send and no recv: leave it out\n");
  std::string uneven = job(kFour, ring("forward", "")) + "groups: {odd: [[0, 1, 3]]}\n";
  uneven.replace(uneven.find("over: context"), 13, "over: odd");
  CHECK(mistakes_in(uneven) ==
        "11:35: a ring exchange needs evenly spaced ranks, and those of 'odd' are not\n"
        "  use a group of 'parallel', such as 'context'\n");
}
