// Hangs with a known culprit, written as scenarios and run: the run must blame the same ranks.
#include "features/diagnose/evidence_writer.hpp"

#include <algorithm>
#include <string>

#include "formats/scenario/scenario.hpp"
#include "models/result/simulation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/evidence.hpp"

using namespace pipesim;
using testing::EvidenceBuilder;

namespace {

// Runs the evidence as a scenario and returns the outcome. Checks that the verdict is that of the
// diagnosis.
models::Explanation run(const models::Evidence& evidence) {
  const models::Diagnosis diagnosis = models::diagnose(evidence);
  const std::string text = formats::write_evidence_scenario(evidence, diagnosis);
  INFO(text);
  models::Diagnostics diagnostics;
  const auto scenario = formats::read_scenario(text, {}, diagnostics, {});
  REQUIRE(scenario);
  const auto simulation = models::simulate(scenario->graph, diagnostics);
  REQUIRE(simulation);
  CHECK(simulation->explanation.verdict == diagnosis.explanation.verdict);
  return simulation->explanation;
}

}  // namespace

TEST_CASE("two groups in opposite order hang, whether hosts wait or not",
          "[formats][evidence_writer]") {
  EvidenceBuilder hosts(2);
  const auto dp = hosts.group("dp", {0, 1});
  const auto tp = hosts.group("tp", {0, 1});
  hosts.call(0, dp, 7, "all_reduce");
  hosts.call(1, tp, 4, "all_reduce");
  CHECK(run(hosts.evidence()).cycle.size() == 4);
  hosts.call(0, tp, 4, "all_reduce");
  hosts.call(1, dp, 7, "all_reduce");
  // Between its two calls, each rank records an event and waits for it.
  CHECK(run(hosts.evidence()).cycle.size() == 8);
}

TEST_CASE("a ring of sends hangs", "[formats][evidence_writer]") {
  EvidenceBuilder job(3);
  const auto pp = job.group("pp", {0, 1, 2});
  for (const std::uint32_t rank : {0U, 1U, 2U}) job.message(rank, pp, true, (rank + 1) % 3);
  CHECK(run(job.evidence()).verdict == sim::Verdict::kDeadlock);
}

TEST_CASE("ranks that never come are the roots", "[formats][evidence_writer]") {
  EvidenceBuilder job(4);
  const auto all = job.group("a name: of anything", {0, 1, 2, 3});
  for (const std::uint32_t rank : {0U, 2U}) {
    job.call(rank, all, 7, "_broadcast_oop").at = "a \"quoted\": place";
  }
  const models::Explanation end = run(job.evidence());
  REQUIRE(end.roots.size() == 2);
  CHECK(end.roots[0].party.rank == 1);
  CHECK(end.roots[1].party.rank == 3);
}

TEST_CASE("calls that differ are a mismatch", "[formats][evidence_writer]") {
  EvidenceBuilder job(2);
  const auto all = job.group("all", {0, 1});
  job.call(0, all, 7, "all_reduce");
  job.call(1, all, 7, "_all_gather_base");
  CHECK(run(job.evidence()).mismatches.size() == 1);
}

TEST_CASE("what is no hang is no scenario", "[formats][evidence_writer]") {
  EvidenceBuilder job(2);
  const auto all = job.group("all", {0, 1});
  for (const std::uint32_t rank : {0U, 1U}) {
    job.call(rank, all, 7, "all_reduce", models::CallState::kCompleted);
  }
  CHECK(formats::write_evidence_scenario(job.evidence(), models::diagnose(job.evidence())).empty());
}
