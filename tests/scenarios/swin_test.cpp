// The hang for which pipesim was written, compared with independent sources: the table of the
// engineers in libai issue 232, and an independent reconstruction of the timeline. No number comes
// from pipesim.
#include <array>
#include <map>
#include <string>
#include <vector>

#include "models/result/expectation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

namespace {

using namespace pipesim;
using testing::Settings;

const std::string kSwinFile = "scenarios/swin_2x2x2.yaml";

const models::ActorCounts& counts(const models::Explanation& explanation, std::uint32_t rank,
                                  const std::string& op) {
  for (const models::ActorCounts& actor : explanation.ranks.at(rank).actors) {
    if (actor.name == op) return actor;
  }
  throw std::runtime_error("rank " + std::to_string(rank) + " has no " + op);
}

std::string verdict(const Settings& settings) {
  return models::verdict_name(testing::explain(kSwinFile, settings).verdict);
}

}  // namespace

TEST_CASE("the Swin scenario hangs with the end state that was seen on the cluster",
          "[scenarios][swin]") {
  const models::Explanation swin = testing::explain(kSwinFile);
  CHECK(swin.verdict == sim::Verdict::kDeadlock);
  CHECK(swin.time_ns == 43'600);

  SECTION("rank 0: two forwards, the third inside nccl-1998; of the backward only the buffer op") {
    CHECK(counts(swin, 0, "F3").done == 2);
    CHECK(counts(swin, 0, "nccl-1998").launched == 3);
    CHECK(counts(swin, 0, "nccl-1998").started == 3);
    CHECK(counts(swin, 0, "nccl-1998").done == 2);
    CHECK(counts(swin, 0, "BdstBuf").launched == 1);
    CHECK(counts(swin, 0, "BdstBuf").started == 0);
    CHECK(counts(swin, 0, "BdstBuf").done == 0);
    CHECK(counts(swin, 0, "B0").done == 0);
    CHECK(counts(swin, 0, "B0").launched == 0);
  }
  SECTION("rank 1: two forwards, the third in the middle; the first backward stops at nccl-2108") {
    CHECK(counts(swin, 1, "F3").done == 2);
    CHECK(counts(swin, 1, "F0").done == 3);
    CHECK(counts(swin, 1, "Repeat").done == 2);
    CHECK(counts(swin, 1, "B0").done == 1);
    // "before" without "after" in the log: entered, not launched.
    CHECK(counts(swin, 1, "nccl-2108").entered == 1);
    CHECK(counts(swin, 1, "nccl-2108").launched == 0);
    CHECK(counts(swin, 1, "BdstBuf").done == 2);
  }
  SECTION("ranks 2 and 3: all four forwards, two backwards") {
    for (const std::uint32_t rank : {2u, 3u}) {
      CHECK(counts(swin, rank, "F3").done == 4);
      CHECK(counts(swin, rank, "B2").done == 2);
      CHECK(counts(swin, rank, "Repeat").done == 4);
    }
  }
  SECTION("ranks 4 and 5: two forwards, two backwards") {
    for (const std::uint32_t rank : {4u, 5u}) {
      CHECK(counts(swin, rank, "G2").done == 2);
      CHECK(counts(swin, rank, "H2").done == 2);
    }
  }
  SECTION("ranks 6 and 7: three forwards, of the fourth only the buffer op; two backwards") {
    for (const std::uint32_t rank : {6u, 7u}) {
      CHECK(counts(swin, rank, "G2").done == 3);
      CHECK(counts(swin, rank, "FdstBuf").launched == 4);
      CHECK(counts(swin, rank, "H1").launched == 3);
      CHECK(counts(swin, rank, "H1").done == 2);
      CHECK(counts(swin, rank, "H2").done == 2);
    }
  }
  SECTION("GPUs 0, 6 and 7 stand at 100%, the others at 0") {
    std::vector<std::uint32_t> spinning;
    for (const models::RankReport& rank : swin.ranks) {
      if (rank.spins) spinning.push_back(rank.rank);
    }
    CHECK(spinning == std::vector<std::uint32_t>{0, 6, 7});
  }
}

TEST_CASE("the progress of each rank is reported in forwards and backwards", "[scenarios][swin]") {
  const models::Explanation swin = testing::explain(kSwinFile);
  // Numbers of finished forwards and backwards by rank, from the table of the issue.
  const std::array<std::array<std::uint32_t, 2>, 8> table = {
      {{2, 0}, {2, 0}, {4, 2}, {4, 2}, {2, 2}, {2, 2}, {3, 2}, {3, 2}}};
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    INFO("rank " << rank);
    const std::vector<models::Progress>& progress = swin.ranks.at(rank).progress;
    REQUIRE(progress.size() == 2);
    CHECK(progress[0].what == "forward");
    CHECK(progress[0].done == table[rank][0]);
    CHECK(progress[1].what == "backward");
    CHECK(progress[1].done == table[rank][1]);
  }
  CHECK(swin.ranks[0].progress[0].stuck->name == "nccl-1998");
  CHECK(swin.ranks[0].progress[1].stuck->name == "BdstBuf");
  CHECK(swin.ranks[1].progress[1].stuck->name == "nccl-2108");
  CHECK(swin.ranks[1].progress[1].stuck->step == sim::Step::kInit);
  CHECK(swin.ranks[6].progress[0].stuck->name == "FdstBuf");
}

TEST_CASE("the cycle of the Swin hang is the known one of ten waits and nothing else",
          "[scenarios][swin]") {
  const models::Explanation swin = testing::explain(kSwinFile);
  using sim::WaitKind;
  struct Step {
    std::uint32_t rank;
    std::string op;
    std::uint32_t number;
    WaitKind kind;
  };
  // The chain of waits in the reconstruction, starting at its first op in the order (rank, file,
  // op).
  const std::vector<Step> known = {
      {0, "nccl-1998", 3, WaitKind::kPeerOfCollective},
      {1, "nccl-1998", 3, WaitKind::kData},
      {1, "F1", 3, WaitKind::kData},
      {1, "Repeat", 3, WaitKind::kCreditControl},
      {1, "Zeros", 2, WaitKind::kCreditData},
      {1, "B2", 1, WaitKind::kData},
      {1, "nccl-2108", 1, WaitKind::kCommunicatorInit},
      {0, "nccl-2108", 1, WaitKind::kData},
      {0, "B0", 1, WaitKind::kData},
      {0, "BdstBuf", 1, WaitKind::kStreamOrder},
  };
  REQUIRE(swin.cycle.size() == known.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    INFO("wait " << i + 1);
    const models::Wait& wait = swin.cycle[i];
    CHECK(wait.from.rank == known[i].rank);
    CHECK(wait.from.op.name == known[i].op);
    CHECK(wait.from.op.number == known[i].number);
    CHECK(wait.from.op.micro_batch == known[i].number);
    CHECK(wait.kind == known[i].kind);
    const models::Wait& next = swin.cycle[(i + 1) % known.size()];
    CHECK(wait.to.rank == next.from.rank);
    CHECK(wait.to.op.name == next.from.op.name);
    CHECK(wait.to.op.number == next.from.op.number);
  }
  CHECK(swin.cycle_is_shortest);
}

TEST_CASE("the Swin step completes with one or two micro-batches and hangs with more",
          "[scenarios][swin]") {
  CHECK(verdict({{"acc", "1"}}) == "completed");
  CHECK(verdict({{"acc", "2"}}) == "completed");
  CHECK(testing::explain(kSwinFile, {{"acc", "2"}}).time_ns == 37'500);
  for (const char* acc : {"3", "4", "8", "16"}) {
    INFO("acc " << acc);
    CHECK(verdict({{"acc", acc}}) == "deadlock");
  }
}

TEST_CASE("each known fix of the Swin hang lets it complete", "[scenarios][swin]") {
  for (const std::string acc : {"4", "8"}) {
    const std::vector<formats::Setting> fixes = {{"bwd_dst_buffer", "backward"},
                                                 {"bwd_dst_buffer", "own"},
                                                 {"forward_stream", "own"},
                                                 {"repeat_ctrl_credits", acc},
                                                 {"nccl_use_compute_stream", "off"}};
    for (const formats::Setting& fix : fixes) {
      INFO("acc " << acc << ", " << fix.first << "=" << fix.second);
      CHECK(verdict({{"acc", acc}, fix}) == "completed");
    }
  }
}

TEST_CASE("what was suspected in the Swin hang and is not its cause does not remove it",
          "[scenarios][swin]") {
  // Without a communicator init in the cycle, the two collectives of the backward wait for each
  // other on their streams instead: the cycle stays.
  CHECK(verdict({{"comm_creation", "start"}}) == "deadlock");
  CHECK(verdict({{"comm_creation_waits_for_device", "on"}}) == "deadlock");
  CHECK(verdict({{"nccl_messages", "immediate"}}) == "deadlock");
  // If all ranks have a zeros op, no rank runs ahead.
  CHECK(verdict({{"zeros_on_rank_0", "on"}}) == "completed");
}

TEST_CASE("every parameter that the Swin scenario promises is there", "[scenarios][swin]") {
  const formats::Scenario swin = testing::load(kSwinFile);
  std::map<std::string, std::string> defaults;
  for (const formats::Parameter& parameter : swin.parameters) {
    defaults[parameter.name] = formats::to_text(parameter.value);
  }
  const std::map<std::string, std::string> promised = {
      {"acc", "4"},
      {"bwd_dst_buffer", "forward"},
      {"forward_stream", "shared"},
      {"repeat_ctrl_credits", "1"},
      {"zeros_slots", "1"},
      {"zeros_on_rank_0", "off"},
      {"comm_creation", "first_use"},
      {"comm_creation_waits_for_device", "off"},
      {"nccl_messages", "gated"},
      {"nccl_use_compute_stream", "on"},
      {"t_F0", "1us"},
      {"t_F1", "1us"},
      {"t_nccl_1998", "1us"},
      {"t_F3", "3us"},
      {"t_B0", "1us"},
      {"t_nccl_2108", "1us"},
      {"t_B2", "3us"},
      {"t_G0", "3us"},
      {"t_G1", "1us"},
      {"t_G2", "2us"},
      {"t_H0", "3us"},
      {"t_H1", "1us"},
      {"t_H2", "2us"},
      {"t_copy", "300ns"},
      {"t_SRC", "100ns"},
      {"t_H2D_in", "200ns"},
  };
  for (const auto& [name, value] : promised) {
    INFO(name);
    CHECK(defaults[name] == value);
  }
}
