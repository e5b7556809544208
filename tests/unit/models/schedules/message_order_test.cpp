// Where sends and receives stand in rows, and which of them are a batch. What is expected of 1F1B
// follows the loops of Megatron-LM (megatron/core/pipeline_parallel/schedules.py,
// forward_backward_pipelining_without_interleaving), written down again here.
#include <algorithm>
#include <string>
#include <vector>

#include "models/graph/schedule.hpp"
#include "models/schedules/schedule_lowering.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::mistakes_in;

namespace {

std::string scenario(std::uint32_t stages, std::uint32_t micro_batches, const std::string& more) {
  return "schema: 1\nschedule: {kind: 1f1b, stages: " + std::to_string(stages) +
         ", micro_batches: " + std::to_string(micro_batches) + ", message: 1GiB, " + more + "}\n";
}

// The slots of all rows, as reports name them.
std::vector<std::string> slots_of(const models::Actions& row) {
  std::vector<std::string> slots;
  for (std::size_t i = 0; i < row.size(); i = models::slot_end(row, i)) {
    slots.push_back(models::slot_text(row, i));
  }
  return slots;
}

class Megatron {
 public:
  Megatron(std::uint32_t stages, std::uint32_t rank) : stages_(stages), rank_(rank) {}

  std::vector<std::string> row(std::uint32_t micro_batches) {
    const std::uint32_t warmup = std::min(stages_ - rank_ - 1, micro_batches);
    const std::uint32_t remaining = micro_batches - warmup;
    for (std::uint32_t i = 0; i < warmup; ++i) {
      if (!first()) add("RECV_F", i);
      add("F", i);
      add("SEND_F", i);
    }
    if (remaining > 0 && !first()) add("RECV_F", warmup);
    for (std::uint32_t i = 0; i < remaining; ++i) {
      add("F", warmup + i);
      if (!last()) row_.push_back(text("SEND_F", warmup + i) + "+" + text("RECV_B", i));
      add("B", i);
      if (first()) continue;
      row_.push_back(text("SEND_B", i));
      if (i + 1 < remaining) row_.back() += "+" + text("RECV_F", warmup + i + 1);
    }
    for (std::uint32_t i = remaining; i < micro_batches; ++i) {
      if (!last()) add("RECV_B", i);
      add("B", i);
      if (!first()) add("SEND_B", i);
    }
    return row_;
  }

 private:
  bool first() const { return rank_ == 0; }
  bool last() const { return rank_ + 1 == stages_; }
  std::string text(const std::string& word, std::uint32_t micro_batch) const {
    return std::to_string(rank_) + word + std::to_string(micro_batch);
  }
  void add(const std::string& word, std::uint32_t micro_batch) {
    row_.push_back(text(word, micro_batch));
  }

  std::uint32_t stages_;
  std::uint32_t rank_;
  std::vector<std::string> row_;
};

sim::Verdict verdict_of(const std::string& text) {
  return testing::simulate(testing::scenario_of(text).graph).explanation.verdict;
}

}  // namespace

TEST_CASE("batches of 1F1B are those of Megatron-LM", "[models][message_order]") {
  std::size_t sizes = 0;
  for (std::uint32_t stages = 2; stages <= 9; ++stages) {
    for (std::uint32_t micro_batches = stages; micro_batches < stages + 8; ++micro_batches) {
      INFO(stages << " stages, " << micro_batches << " micro-batches");
      const std::string text = scenario(stages, micro_batches, "messages: batch");
      const models::TaskGraph graph = testing::scenario_of(text).graph;
      for (std::uint32_t rank = 0; rank < stages; ++rank) {
        CHECK(slots_of(graph.pipeline->schedule.ranks[rank]) ==
              Megatron(stages, rank).row(micro_batches));
      }
      CHECK(testing::simulate(graph).explanation.verdict == sim::Verdict::kCompleted);
      ++sizes;
    }
  }
  CHECK(sizes == 64);
}

TEST_CASE("one by one, two neighbors that both send or both receive first hang",
          "[models][message_order]") {
  for (const std::string reading : {"contract", "cold"}) {
    const std::string head = "reading: " + reading + "\n";
    CHECK(verdict_of(head + scenario(4, 8, "message_order: send_first")) ==
          sim::Verdict::kDeadlock);
    CHECK(verdict_of(head + scenario(4, 8, "message_order: recv_first")) ==
          sim::Verdict::kDeadlock);
    CHECK(verdict_of(head + scenario(4, 8, "messages: batch")) == sim::Verdict::kCompleted);
    CHECK(verdict_of(head + scenario(4, 8, "message_order: in_turn")) == sim::Verdict::kCompleted);
    // A communicator for each direction: nothing is in line behind a message of the other.
    CHECK(verdict_of(head + scenario(4, 8, "message_order: send_first, messages: edge")) ==
          sim::Verdict::kCompleted);
  }
  const auto row = [](const std::string& order) {
    const std::string text = scenario(2, 2, "message_order: " + order);
    return slots_of(testing::scenario_of(text).graph.pipeline->schedule.ranks[0]);
  };
  using Row = std::vector<std::string>;
  CHECK(row("send_first") ==
        Row{"0F0", "0SEND_F0", "0F1", "0SEND_F1", "0RECV_B0", "0B0", "0RECV_B1", "0B1"});
  CHECK(row("recv_first") ==
        Row{"0F0", "0SEND_F0", "0F1", "0RECV_B0", "0SEND_F1", "0B0", "0RECV_B1", "0B1"});
}

TEST_CASE("rows with messages keep their order", "[models][message_order]") {
  const std::string text =
      "schema: 1\nschedule:\n  rows:\n    - '0F0,0SEND_F0,0RECV_B0,0B0'\n"
      "    - '1RECV_F0,1F0,1B0,1SEND_B0'\n  message_order: send_first";
  CHECK(mistakes_in(text).find(
            "the rows have sends and recvs already, which 'message_order' cannot move") !=
        std::string::npos);
}

TEST_CASE("messages of Megatron-LM have an order of their own", "[models][message_order]") {
  for (const std::string order : {"deferred", "send_first", "recv_first"}) {
    const std::string text = scenario(2, 2, "messages: batch, message_order: " + order);
    CHECK(mistakes_in(text).find("cannot be used with the messages of Megatron-LM") !=
          std::string::npos);
  }
}

TEST_CASE("ranks with several stages receive as their peers send", "[models][message_order]") {
  const auto with = [](const std::string& order) {
    return "schema: 1\nschedule: {kind: interleaved_1f1b, stages: 4, micro_batches: 4, "
           "message_order: " +
           order + "}\n";
  };
  for (const std::string order : {"send_first", "recv_first"}) {
    CHECK(mistakes_in(with(order)) ==
          "2:80: this 'message_order' is for schedules with one stage on each rank, and here ranks "
          "have several\n  leave it out, or say 'message_order: in_turn'\n");
  }
  CHECK(verdict_of(with("in_turn")) == sim::Verdict::kCompleted);
}
