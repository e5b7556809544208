#include "models/result/hang_signature.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using namespace pipesim::models;

namespace {

HangSignature signature_of(const std::string& path, const testing::Settings& settings = {}) {
  const formats::Scenario scenario = testing::load(path, settings);
  const Simulation run = testing::simulate(scenario.graph);
  return hang_signature(scenario.graph, run.lowered, run.explanation);
}

const std::string kSwin = "scenarios/swin_2x2x2.yaml";

}  // namespace

TEST_CASE("a hang is the same with more micro-batches", "[models][hang_signature]") {
  const HangSignature four = signature_of(kSwin);
  CHECK(four.hangs());
  CHECK(four == signature_of(kSwin, {{"acc", "8"}}));
  // The cycle of this hang has ten waits; no two waits are equal.
  CHECK(four.waits.size() == 10);
}

TEST_CASE("another cycle, or none, is another hang", "[models][hang_signature]") {
  const HangSignature swin = signature_of(kSwin);
  CHECK_FALSE(swin == signature_of("scenarios/two_groups_opposite_order.yaml"));
  const HangSignature fixed = signature_of(kSwin, {{"bwd_dst_buffer", "backward"}});
  CHECK_FALSE(fixed.hangs());
  CHECK_FALSE(swin == fixed);
}

// The two reports are about a pair of ranks that send first, but at different lines of different
// programs.
TEST_CASE("the same calls of other lines are another hang", "[models][hang_signature]") {
  const HangSignature one = signature_of("tests/reports/nccl_479.yaml");
  HangSignature other = signature_of("tests/reports/nccl_783.yaml");
  CHECK(one.hangs());
  CHECK(one.verdict == other.verdict);
  CHECK(one.cause == other.cause);
  CHECK_FALSE(one == other);
}

TEST_CASE("a rank that dies is not one that never comes", "[models][hang_signature]") {
  const HangSignature dies = signature_of("scenarios/rank_segfault.yaml");
  CHECK(dies.hangs());
  CHECK_FALSE(dies == signature_of("scenarios/infiniband_not_connected.yaml"));
}
