// The positions of sends and recvs in rows, and the batches that they form. The expectations for
// 1F1B follow the loops of Megatron-LM (megatron/core/pipeline_parallel/schedules.py,
// forward_backward_pipelining_without_interleaving and ..._with_interleaving), written again for
// this test.
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

// Returns the slots of a row, as reports name them.
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

// Megatron-LM's loop with several stages per rank: the chunk of an iteration alone decides its
// sends and recvs.
class Interleaved {
 public:
  Interleaved(std::uint32_t ranks, std::uint32_t chunks, std::uint32_t group, std::uint32_t count,
              bool overlap)
      : ranks_(ranks), chunks_(chunks), group_(group), overlap_(overlap) {
    for (std::uint32_t begin = 0; begin < count; begin += group) {
      for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
        for (std::uint32_t m = begin; m < std::min(begin + group, count); ++m) {
          table_.emplace_back(chunk, m);
        }
      }
    }
  }

  std::vector<std::string> row(std::uint32_t rank) {
    rank_ = rank;
    row_.clear();
    inputs_.assign(chunks_, 0);
    gradients_.assign(chunks_, 0);
    const auto total = static_cast<std::uint32_t>(table_.size());
    std::uint32_t warmup = 2 * (ranks_ - rank - 1) + (chunks_ - 1) * group_;
    const bool all = warmup >= total;
    warmup = std::min(warmup, total);
    if (rank > 0) receive_forward(0);
    exchange();
    for (std::uint32_t k = 0; k < warmup; ++k) {
      forward(k);
      send_forward(k);
      if (k + 1 < total) receive_next_forward(k);
      if (k + 1 < warmup || all) {
        exchange();
        continue;
      }
      if (overlap_) exchange();
      if (!last()) receive_backward(chunks_ - 1);
      exchange();
    }
    for (std::uint32_t k = 0; k < total - warmup; ++k) {
      forward(warmup + k);
      if (overlap_) exchange_forward(warmup + k, total);
      backward(k);
      if (!overlap_) send_and_receive_forward(warmup + k, total);
      send_backward(k);
      receive_next_backward(k, total);
      exchange();
    }
    if (all && !last()) receive_backward(chunks_ - 1);
    exchange();
    for (std::uint32_t k = total - warmup; k < total; ++k) {
      backward(k);
      send_backward(k);
      receive_next_backward(k, total);
      exchange();
    }
    return row_;
  }

 private:
  bool first() const { return rank_ == 0; }
  bool last() const { return rank_ + 1 == ranks_; }
  std::uint32_t chunk(std::uint32_t k, bool forward) const {
    return forward ? table_[k].first : chunks_ - 1 - table_[k].first;
  }
  std::string text(std::uint32_t of, const std::string& word, std::uint32_t m) const {
    return std::to_string(of * ranks_ + rank_) + word + std::to_string(m);
  }
  void forward(std::uint32_t k) { row_.push_back(text(chunk(k, true), "F", table_[k].second)); }
  void backward(std::uint32_t k) { row_.push_back(text(chunk(k, false), "B", table_[k].second)); }
  void send_forward(std::uint32_t k) {
    if (!last() || chunk(k, true) + 1 < chunks_) {
      send_next_ = text(chunk(k, true), "SEND_F", table_[k].second);
    }
  }
  void send_backward(std::uint32_t k) {
    if (!first() || chunk(k, false) > 0) {
      send_previous_ = text(chunk(k, false), "SEND_B", table_[k].second);
    }
  }
  // Sets the recv of the next activation of a chunk.
  void receive_forward(std::uint32_t of) {
    receive_previous_ = text(of, "RECV_F", number(of, inputs_[of]++, true));
  }
  void receive_backward(std::uint32_t of) {
    receive_next_ = text(of, "RECV_B", number(of, gradients_[of]++, false));
  }
  std::uint32_t number(std::uint32_t of, std::uint32_t nth, bool forward) const {
    for (std::uint32_t k = 0;; ++k) {
      if (chunk(k, forward) == of && nth-- == 0) return table_[k].second;
    }
  }
  void receive_next_forward(std::uint32_t k) {
    if (!first()) return receive_forward(chunk(k + 1, true));
    if (k < ranks_ - 1) return;
    const std::uint32_t of = chunk(k - (ranks_ - 1), true);
    if (of + 1 < chunks_) receive_forward(of + 1);
  }
  void receive_next_backward(std::uint32_t k, std::uint32_t total) {
    if (k + 1 == total) return;
    if (!last()) return receive_backward(chunk(k + 1, false));
    if (k < ranks_ - 1) return;
    const std::uint32_t of = chunk(k - (ranks_ - 1), false);
    if (of > 0) receive_backward(of - 1);
  }
  void send_and_receive_forward(std::uint32_t k, std::uint32_t total) {
    send_forward(k);
    if (k + 1 < total) receive_next_forward(k);
  }
  void exchange_forward(std::uint32_t k, std::uint32_t total) {
    send_and_receive_forward(k, total);
    exchange();
  }
  void exchange() {
    std::vector<std::string> all = {send_previous_, receive_previous_, send_next_, receive_next_};
    if (overlap_ && rank_ % 2 == 0) {
      all = {send_next_, receive_previous_, send_previous_, receive_next_};
    } else if (overlap_) {
      all = {receive_previous_, send_next_, receive_next_, send_previous_};
    }
    std::string group;
    for (const std::string& message : all) {
      if (message.empty()) continue;
      if (overlap_) row_.push_back(message);
      group += (group.empty() ? "" : "+") + message;
    }
    if (!overlap_ && !group.empty()) row_.push_back(group);
    for (std::string* part : {&send_previous_, &receive_previous_, &send_next_, &receive_next_}) {
      part->clear();
    }
  }

  std::uint32_t ranks_;
  std::uint32_t chunks_;
  std::uint32_t group_;
  bool overlap_;
  // Chunk and micro-batch, by iteration.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> table_;
  std::uint32_t rank_ = 0;
  std::vector<std::uint32_t> inputs_;  // by chunk: number of received activations
  std::vector<std::uint32_t> gradients_;
  std::string send_previous_;
  std::string receive_previous_;
  std::string send_next_;
  std::string receive_next_;
  std::vector<std::string> row_;
};

sim::Verdict verdict_of(const std::string& text) {
  return testing::simulate(testing::scenario_of(text).graph).explanation.verdict;
}

}  // namespace

TEST_CASE("batches of 1F1B are those of Megatron-LM", "[models][message_order]") {
  std::size_t sizes = 0;
  for (std::uint32_t stages = 2; stages <= 9; ++stages) {
    for (std::uint32_t micro_batches = 1; micro_batches < stages + 8; ++micro_batches) {
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
  CHECK(sizes == 100);
}

TEST_CASE("messages of interleaved 1F1B are those of Megatron-LM", "[models][message_order]") {
  std::size_t sizes = 0;
  std::size_t mismatches = 0;
  const auto check = [&](std::uint32_t ranks, std::uint32_t chunks, std::uint32_t group,
                         std::uint32_t micro_batches, const std::string& messages) {
    INFO(ranks << " ranks, " << chunks << " chunks, groups of " << group << " of " << micro_batches
               << " micro-batches, " << messages);
    const std::string text =
        "schema: 1\nreading: contract\nschedule: {kind: interleaved_1f1b, stages: " +
        std::to_string(ranks * chunks) + ", chunks: " + std::to_string(chunks) +
        ", micro_batches: " + std::to_string(micro_batches) +
        ", micro_batch_group: " + std::to_string(group) + ", message: 1GiB, messages: " + messages +
        "}\n";
    const models::TaskGraph graph = testing::scenario_of(text).graph;
    Interleaved megatron(ranks, chunks, group, micro_batches, messages == "overlap");
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      CHECK(slots_of(graph.pipeline->schedule.ranks[rank]) == megatron.row(rank));
    }
    // Megatron-LM refuses two ranks without overlap, "to avoid having multiple p2p sends and recvs
    // between same 2 ranks per communication batch": a gradient would match the recv of an
    // activation.
    const sim::Verdict verdict = testing::simulate(graph).explanation.verdict;
    if (ranks > 2 || messages == "overlap") CHECK(verdict == sim::Verdict::kCompleted);
    if (verdict == sim::Verdict::kMismatch) ++mismatches;
    ++sizes;
  };
  for (std::uint32_t ranks = 2; ranks <= 5; ++ranks) {
    for (std::uint32_t chunks = 2; chunks <= 3; ++chunks) {
      for (std::uint32_t group = ranks; group <= ranks + 2; ++group) {
        // The last group of micro-batches has one micro-batch per rank, or is full.
        for (const std::uint32_t count : {group, group + ranks, 3 * group}) {
          check(ranks, chunks, group, count, "batch");
          check(ranks, chunks, group, count, "overlap");
        }
      }
    }
  }
  CHECK(sizes == 144);
  CHECK(mismatches > 0);
}

TEST_CASE("one by one, two neighbors that both send or both receive first hang",
          "[models][message_order]") {
  for (const std::string mode : {"contract", "cold"}) {
    const std::string head = "reading: " + mode + "\n";
    CHECK(verdict_of(head + scenario(4, 8, "message_order: send_first")) ==
          sim::Verdict::kDeadlock);
    CHECK(verdict_of(head + scenario(4, 8, "message_order: recv_first")) ==
          sim::Verdict::kDeadlock);
    CHECK(verdict_of(head + scenario(4, 8, "messages: batch")) == sim::Verdict::kCompleted);
    CHECK(verdict_of(head + scenario(4, 8, "message_order: in_turn")) == sim::Verdict::kCompleted);
    // If each direction has its own communicator, no send waits for a send in the other direction.
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
