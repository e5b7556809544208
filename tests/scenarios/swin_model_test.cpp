// The Swin hang that OneFlow's passes make from the model, compared with the hand-written scenario:
// each rank's progress, the cycle (once each chain of ops is merged) and the verdict for each fix
// are the same.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "models/result/expectation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

namespace {

using namespace pipesim;
using testing::Settings;

const std::string kByHand = "scenarios/swin_2x2x2.yaml";
const std::string kFromModel = "scenarios/swin_2x2x2_from_model.yaml";

std::string verdict(const std::string& path, const Settings& settings) {
  return models::verdict_name(testing::explain(path, settings).verdict);
}

// Returns the actor of the hand-written scenario that contains an op of the model, for a rank of
// stage 0; the whole cycle is on stage 0.
std::string by_hand(const std::string& op) {
  const auto is = [&op](const std::string& part) { return op.find(part) != std::string::npos; };
  const bool backward = is("_grad");
  if (is("Buffer-block6-qk_grad-stage0")) return "BdstBuf";
  if (is("Zeros-")) return "Zeros";
  if (is("Repeat-")) return "Repeat";
  if (is("NCCL-")) return backward ? "nccl-2108" : "nccl-1998";
  if (is("-mlp")) return backward ? "B0" : "F3";
  if (is("-gather_nd")) return backward ? "B2" : "F1";
  if (is("-qk")) return backward ? "B2" : "F0";
  return op;
}

struct Step {
  std::uint32_t rank;
  std::string op;
  std::uint32_t number;
  sim::WaitKind kind;

  friend bool operator==(const Step&, const Step&) = default;
};

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << "rank " << step.rank << " " << step.op << "#" << step.number;
}

// Returns the waits of the cycle, with the names of the hand-written scenario.
std::vector<Step> cycle(const models::Explanation& run) {
  std::vector<Step> steps;
  for (const models::Wait& wait : run.cycle) {
    steps.push_back({wait.from.rank, by_hand(wait.from.op.name), wait.from.op.number, wait.kind});
  }
  return steps;
}

}  // namespace

TEST_CASE("the Swin model gets as far on each rank as the hand-written scenario",
          "[scenarios][swin]") {
  const models::Explanation hand = testing::explain(kByHand);
  const models::Explanation model = testing::explain(kFromModel);
  CHECK(model.verdict == sim::Verdict::kDeadlock);
  REQUIRE(model.ranks.size() == 8);
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    INFO("rank " << rank);
    const auto& expected = hand.ranks[rank].progress;
    const auto& found = model.ranks[rank].progress;
    REQUIRE(found.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK(found[i].what == expected[i].what);
      CHECK(found[i].done == expected[i].done);
      CHECK(found[i].expected == expected[i].expected);
    }
    CHECK(model.ranks[rank].spins == hand.ranks[rank].spins);
  }
}

TEST_CASE("the cycle of the Swin model is that of the hand-written scenario, chain by chain",
          "[scenarios][swin]") {
  using sim::WaitKind;
  const models::Explanation model = testing::explain(kFromModel);
  std::vector<Step> found = cycle(model);
  // The backward of the blocks on rank 1 is one chain of data waits: from the gradient of the first
  // block's table back to the collective of the last block.
  const auto is_chain = [](const Step& step) {
    return step.rank == 1 && step.kind == WaitKind::kData && step.number == 1;
  };
  const auto begin = std::find_if(found.begin(), found.end(), is_chain);
  const auto end = std::find_if_not(begin, found.end(), is_chain);
  REQUIRE(begin != found.end());
  CHECK(begin->op == "B2");
  found.erase(begin + 1, end);
  CHECK(found == cycle(testing::explain(kByHand)));
  CHECK(model.cycle_is_shortest);
}

TEST_CASE("the buffer on the wrong stream is what the passes leave behind", "[scenarios][swin]") {
  const models::TaskGraph graph = testing::load(kFromModel).graph;
  const auto stream_of = [&graph](const std::string& name) {
    for (const models::ActorTemplate& actor : graph.actors) {
      if (actor.name == name) return graph.streams.at(actor.stream).name;
    }
    return std::string("no such actor");
  };
  CHECK(stream_of("Buffer-block6-qk_grad-stage0") == "COMPUTE");
  CHECK(stream_of("NCCL-(*S1)2(*B)-block0-gather_nd") == "COMPUTE");
  CHECK(stream_of("block5-mlp_grad") == "NCCL_COMPUTE_0");
  CHECK(stream_of("NCCL-(*S1)2(*B)-block5-mlp_grad") == "NCCL_COMPUTE_0");
  CHECK(stream_of("NCCL-(*S1)2(*B)-block7-mlp_grad") == "COMPUTE");
}

TEST_CASE("each fix of the Swin hang has the same verdict on the model", "[scenarios][swin]") {
  struct Pair {
    formats::Setting hand;
    formats::Setting model;
  };
  for (const std::string acc : {"4", "8"}) {
    const std::vector<Pair> pairs = {
        {{"bwd_dst_buffer", "backward"}, {"buffer_stream", "reader"}},
        {{"bwd_dst_buffer", "own"}, {"buffer_stream", "PIPELINE_BUFFER"}},
        {{"forward_stream", "own"}, {"first_subgraph", "NCCL_COMPUTE"}},
        {{"repeat_ctrl_credits", acc}, {"repeat_control_slots", "0"}},
        {{"nccl_use_compute_stream", "off"}, {"nccl_use_compute_stream", "off"}},
        {{"zeros_on_rank_0", "on"}, {"zeros", "all"}},
        {{"comm_creation", "start"}, {"communicators", "start"}},
        {{"comm_creation_waits_for_device", "on"}, {"comm_creation_waits_for_device", "on"}},
        {{"nccl_messages", "immediate"}, {"nccl_messages", "immediate"}},
        {{"nccl_messages", "immediate"}, {"nccl_messages", "auto"}},
    };
    for (const Pair& pair : pairs) {
      INFO("acc " << acc << ", " << pair.model.first << "=" << pair.model.second);
      CHECK(verdict(kFromModel, {{"acc", acc}, pair.model}) ==
            verdict(kByHand, {{"acc", acc}, pair.hand}));
    }
  }
}

TEST_CASE("the Swin model completes with one or two micro-batches and hangs with more",
          "[scenarios][swin]") {
  for (const char* acc : {"1", "2", "3", "4", "8", "16"}) {
    INFO("acc " << acc);
    CHECK(verdict(kFromModel, {{"acc", acc}}) == verdict(kByHand, {{"acc", acc}}));
  }
}

TEST_CASE("with an optimizer the Swin model also hangs, and with its fix completes",
          "[scenarios][swin]") {
  CHECK(verdict(kFromModel, {{"optimizer", "on"}}) == "deadlock");
  CHECK(verdict(kFromModel, {{"optimizer", "on"}, {"first_subgraph", "NCCL_COMPUTE"}}) ==
        "completed");
  CHECK(verdict(kFromModel, {{"optimizer", "on"}, {"nccl_use_compute_stream", "off"}}) ==
        "completed");
}
