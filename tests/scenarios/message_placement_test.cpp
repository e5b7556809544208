// The positions of recvs in schedules, and the sends and recvs that are exchanged together:
// PyTorch's deferral, and Megatron-LM's batches, overlap and exchange of shapes. The expected rows
// are derived from the sources of PyTorch and Megatron-LM.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

#include "features/check/nccl_modes.hpp"

using namespace pipesim;
using sim::Answer;

namespace {

std::string schedule(const std::string& kind, int stages, int micro_batches,
                     const std::string& more) {
  return "schema: 1\nschedule: {kind: " + kind + ", stages: " + std::to_string(stages) +
         ", micro_batches: " + std::to_string(micro_batches) + ", message: 1GiB, " + more + "}\n";
}

// Returns the row of a rank, with a space between slots.
std::string row_of(const std::string& text, std::size_t rank) {
  const models::TaskGraph graph = testing::scenario_of(text).graph;
  const models::Actions& row = graph.pipeline->schedule.ranks[rank];
  std::string result;
  for (std::size_t i = 0; i < row.size(); i = models::slot_end(row, i)) {
    result += (i > 0 ? " " : "") + models::slot_text(row, i);
  }
  return result;
}

bool is_proved(const std::string& text) {
  const models::NcclModesReport report =
      models::check_nccl_modes(testing::scenario_of(text).graph, {});
  return report.answer == models::JobAnswer::kProved;
}

bool hangs(const std::string& text) {
  const models::NcclModesReport report =
      models::check_nccl_modes(testing::scenario_of(text).graph, {});
  return report.answer == models::JobAnswer::kHangCertain;
}

}  // namespace

TEST_CASE("deferred recvs stand before their use, and before sends to a later rank",
          "[scenarios][schedules]") {
  // The deferral of pytorch#188833 alone: rank 0 sends its second forward before it receives, while
  // rank 1 sends.
  const std::string rows = R"(schema: 1
schedule:
  message: 1GiB
  partial: on
  rows:
    - 0F0,0SEND_F0,0F1,0SEND_F1,2RECV_F0,2F0,2RECV_F1,2F1
    - 1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1
)";
  CHECK(hangs(rows));
  const std::string in_turn = R"(schema: 1
schedule:
  message: 1GiB
  partial: on
  message_order: in_turn
  rows:
    - 0F0,0SEND_F0,2RECV_F0,0F1,0SEND_F1,2F0,2RECV_F1,2F1
    - 1RECV_F0,1RECV_F1,1F0,1SEND_F0,1F1,1SEND_F1
)";
  std::string deferred = in_turn;
  deferred.replace(deferred.find("in_turn"), 7, "deferred");
  // On rank 0, the first recv stays before the send to rank 1; on rank 1, the second recv moves.
  CHECK(row_of(deferred, 0) == "0F0 0SEND_F0 0F1 2RECV_F0 0SEND_F1 2F0 2RECV_F1 2F1");
  CHECK(row_of(deferred, 1) == "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1");
  CHECK(is_proved(deferred));
}

TEST_CASE("deferred recvs leave no cycle of two ranks", "[scenarios][schedules]") {
  const auto with = [](const char* kind, int ranks, const char* messages) {
    return schedule(kind, 2 * ranks, 8,
                    std::string("chunks: 2, message_order: deferred, messages: ") + messages);
  };
  for (const char* kind : {"interleaved_1f1b", "looped_bfs"}) {
    INFO(kind);
    CHECK(is_proved(with(kind, 2, "pg")));
    CHECK(is_proved(with(kind, 4, "pair")));
  }
  for (const char* kind : {"gpipe", "1f1b", "zb1p"}) {
    INFO(kind);
    CHECK(is_proved(schedule(kind, 4, 8, "message_order: deferred")));
  }
  // If four ranks share one communicator, waits form a cycle. Rank 3's first forward to rank 0
  // comes before its second recv, for which rank 2's second send waits. Rank 2's third recv is
  // queued behind this send, and so on to rank 0, whose recv from rank 3 comes after all its
  // forwards.
  CHECK(hangs(with("looped_bfs", 4, "pg")));
}

TEST_CASE("Megatron-LM's batches are its steady state's", "[scenarios][schedules]") {
  // forward_backward_pipelining_without_interleaving on rank 1 of 3: one forward of warm-up, then
  // send_forward_recv_backward and send_backward_recv_forward in turn.
  CHECK(row_of(schedule("1f1b", 3, 4, "messages: batch"), 1) ==
        "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1+1RECV_B0 1B0 1SEND_B0+1RECV_F2 1F2 "
        "1SEND_F2+1RECV_B1 1B1 1SEND_B1+1RECV_F3 1F3 1SEND_F3+1RECV_B2 1B2 1SEND_B2 1RECV_B3 1B3 "
        "1SEND_B3");
  CHECK(is_proved(schedule("1f1b", 4, 8, "messages: batch")));
  // Follows _p2p_ops, without batches: both ranks of a pair send first, each in its own order.
  CHECK(row_of(schedule("1f1b", 3, 4, "messages: overlap"), 1) ==
        "1RECV_F0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1 1RECV_B0 1B0 1RECV_F2 1SEND_B0 1F2 "
        "1SEND_F2 1RECV_B1 1B1 1RECV_F3 1SEND_B1 1F3 1SEND_F3 1RECV_B2 1B2 1SEND_B2 1RECV_B3 1B3 "
        "1SEND_B3");
  CHECK(is_proved(schedule("1f1b", 4, 8, "messages: overlap")));
}

TEST_CASE("in a pipeline of two ranks, Megatron-LM's second one sends over WORLD",
          "[scenarios][schedules]") {
  const auto with = [](int stages, const std::string& messages, const std::string& more) {
    return "groups: {world: all}\n" + schedule("1f1b", stages, 4, "messages: " + messages + more);
  };
  const models::TaskGraph graph = testing::scenario_of(with(2, "overlap", "")).graph;
  const auto communicator_of = [&](std::uint32_t rank, const std::string& name) {
    const auto found = std::find_if(graph.actors.begin(), graph.actors.end(),
                                    [&](const models::ActorTemplate& actor) {
                                      return actor.name == name && actor.on.contains(rank);
                                    });
    REQUIRE(found != graph.actors.end());
    return graph.communicators[found->step->calls.front().communicator].name;
  };
  CHECK(communicator_of(0, "0SEND_F") == "pipeline");
  CHECK(communicator_of(1, "1RECV_F") == "pipeline");
  CHECK(communicator_of(1, "1SEND_B") == "world");
  CHECK(communicator_of(0, "0RECV_B") == "world");
  CHECK(is_proved(with(2, "overlap", "")));
  // The gradients are reduced over WORLD during the last backward: on rank 1 before its send, on
  // rank 0 after its recv.
  const std::string reduced =
      ", collectives: [{call: all_reduce, over: world, in: last_backward, takes: 1us}]";
  CHECK(hangs(with(2, "overlap", reduced)));
  CHECK(!hangs(with(2, "batch", reduced)));
  CHECK(!hangs(with(4, "overlap", reduced)));
}

TEST_CASE("an exchange of shapes is a batch for which the host waits", "[scenarios][schedules]") {
  const std::string text = schedule("1f1b", 3, 4, "messages: batch, shape_exchange: on");
  const models::TaskGraph graph = testing::scenario_of(text).graph;
  const auto found = std::find_if(graph.actors.begin(), graph.actors.end(),
                                  [](const models::ActorTemplate& actor) {
                                    return actor.name == "shapes of 1SEND_F1+1RECV_B0";
                                  });
  REQUIRE(found != graph.actors.end());
  CHECK(found->blocking);
  REQUIRE(found->step->calls.size() == 2);
  CHECK(found->step->calls[0].bytes.value(1) == 24);
  CHECK(is_proved(text));
  CHECK(testing::explanation_of(text).verdict == sim::Verdict::kCompleted);
}

TEST_CASE("keys of a schedule's messages that contradict each other", "[scenarios][schedules]") {
  CHECK(testing::mistakes_in(schedule("1f1b", 2, 2, "shape_exchange: on"))
            .find("'shape_exchange' needs 'messages: batch'") != std::string::npos);
  CHECK(testing::mistakes_in(schedule("1f1b", 2, 2, "messages: batch, message_order: deferred"))
            .find("cannot be used with the messages of Megatron-LM") != std::string::npos);
}
