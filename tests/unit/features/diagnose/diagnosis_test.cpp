// Diagnoses of small hangs with a known culprit. Waits are compared as lines of text.
#include "features/diagnose/diagnosis.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/evidence.hpp"
#include "viz/report/words.hpp"

using namespace pipesim;
using models::CallState;
using models::RootReason;
using testing::EvidenceBuilder;

namespace {

std::string told(const models::Wait& wait) {
  std::string text = viz::party_text(wait.from) + " -" + std::string(sim::facts(wait.kind).name) +
                     "-> " + viz::party_text(wait.to);
  if (wait.needed) text += " for " + viz::op_text(*wait.needed);
  return text;
}

using Lines = std::vector<std::string>;

Lines waits(const models::Diagnosis& diagnosis) {
  Lines lines;
  for (const models::Wait& wait : diagnosis.waits) lines.push_back(told(wait));
  return lines;
}

Lines cycle(const models::Diagnosis& diagnosis) {
  Lines lines;
  for (const models::Wait& wait : diagnosis.explanation.cycle) lines.push_back(told(wait));
  return lines;
}

Lines roots(const models::Diagnosis& diagnosis) {
  Lines lines;
  for (const models::DiagnosisRoot& root : diagnosis.roots) {
    lines.push_back(std::to_string(root.rank) + " " + std::string(reason_name(root.reason)));
  }
  return lines;
}

models::HostStanding host_at(bool waits, bool blocked, const char* at) {
  models::HostStanding host;
  host.waits = waits;
  host.blocked = blocked;
  host.at = at;
  return host;
}

}  // namespace

TEST_CASE("who has not called a collective, and has nothing pending, is a root",
          "[models][diagnosis]") {
  EvidenceBuilder job(3);
  const auto all = job.group("all", {0, 1, 2});
  for (const std::uint32_t rank : {0U, 1U}) job.call(rank, all, 7, "all_reduce");
  const auto found = models::diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kStarved);
  CHECK(found.explanation.cause == models::Cause::kAbsentMember);
  CHECK(roots(found) == Lines{"2 has not called"});
  CHECK(waits(found) == Lines{"rank 0 all_reduce all#7 -peer of a collective-> rank 2",
                              "rank 1 all_reduce all#7 -peer of a collective-> rank 2"});
}

TEST_CASE("two groups in opposite order, where hosts wait, are a cycle", "[models][diagnosis]") {
  EvidenceBuilder job(2);
  const auto dp = job.group("dp", {0, 1});
  const auto tp = job.group("tp", {0, 1});
  job.call(0, dp, 7, "all_reduce");
  job.call(1, tp, 4, "all_reduce");
  const auto found = models::diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kDeadlock);
  CHECK(cycle(found) ==
        Lines{"rank 0 all_reduce dp#7 -peer of a collective-> rank 1 all_reduce tp#4 for "
              "all_reduce dp#7",
              "rank 1 all_reduce tp#4 -peer of a collective-> rank 0 all_reduce dp#7 for "
              "all_reduce tp#4"});
  CHECK(found.roots.empty());
}

TEST_CASE("two groups in opposite order, all called, are a cycle through the order of calls",
          "[models][diagnosis]") {
  EvidenceBuilder job(2);
  const auto dp = job.group("dp", {0, 1});
  const auto tp = job.group("tp", {0, 1});
  job.call(0, dp, 7, "all_reduce");
  job.call(0, tp, 4, "all_reduce");
  job.call(1, tp, 4, "all_reduce");
  job.call(1, dp, 7, "all_reduce");
  const auto found = models::diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kDeadlock);
  CHECK(cycle(found) ==
        Lines{"rank 0 all_reduce dp#7 -peer of a collective-> rank 1 all_reduce dp#7",
              "rank 1 all_reduce dp#7 -order of calls-> rank 1 all_reduce tp#4",
              "rank 1 all_reduce tp#4 -peer of a collective-> rank 0 all_reduce tp#4",
              "rank 0 all_reduce tp#4 -order of calls-> rank 0 all_reduce dp#7"});
}

TEST_CASE("a cycle may go through three groups", "[models][diagnosis]") {
  EvidenceBuilder job(3);
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    const std::uint32_t next = (rank + 1) % 3;
    const auto pair =
        job.group("g" + std::to_string(rank), {std::min(rank, next), std::max(rank, next)});
    job.call(rank, pair, 1, "broadcast");
  }
  const auto found = models::diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kDeadlock);
  CHECK(found.explanation.cycle.size() == 3);
}

TEST_CASE("two ends of a message that stand behind other things are no cycle",
          "[models][diagnosis]") {
  EvidenceBuilder job(3);
  const auto all = job.group("all", {0, 1, 2});
  const auto pp = job.group("pp", {0, 1});
  for (const std::uint32_t rank : {0U, 1U}) {
    job.call(rank, all, 2, "all_reduce");
    job.message(rank, pp, rank == 0, 1 - rank);
  }
  const auto found = models::diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kStarved);
  CHECK(roots(found) == Lines{"2 has not called"});
  CHECK(waits(found) == Lines{"rank 0 all_reduce all#2 -peer of a collective-> rank 2",
                              "rank 0 send to 1 pp#2 -order of calls-> rank 0 all_reduce all#2",
                              "rank 1 all_reduce all#2 -peer of a collective-> rank 2",
                              "rank 1 recv from 0 pp#2 -order of calls-> rank 1 all_reduce all#2"});
}

TEST_CASE("sends that all wait for their receives are a ring", "[models][diagnosis]") {
  EvidenceBuilder job(4);
  const auto pp = job.group("pp", {0, 1, 2, 3});
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U}) job.message(rank, pp, true, (rank + 1) % 4);
  const auto found = models::diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kDeadlock);
  REQUIRE(found.explanation.cycle.size() == 4);
  CHECK(told(found.explanation.cycle[0]) ==
        "rank 0 send to 1 pp#1 -peer of a message-> rank 1 send to 2 pp#1 for recv from 0 pp");
}

TEST_CASE("a call behind another of its stream waits for that", "[models][diagnosis]") {
  EvidenceBuilder job(2);
  const auto all = job.group("all", {0, 1});
  for (const std::uint64_t number : {5U, 6U, 7U}) job.call(0, all, number, "all_reduce");
  job.call(1, all, 4, "all_reduce", CallState::kCompleted);
  const auto found = models::diagnose(job.evidence());
  CHECK(waits(found) == Lines{"rank 0 all_reduce all#5 -peer of a collective-> rank 1",
                              "rank 0 all_reduce all#6 -stream order-> rank 0 all_reduce all#5",
                              "rank 0 all_reduce all#7 -stream order-> rank 0 all_reduce all#5"});
  CHECK(roots(found) == Lines{"1 has not called"});
}

TEST_CASE("a device that marks nothing as done while its peers went on with it is the root",
          "[models][diagnosis]") {
  EvidenceBuilder job(3);
  const auto pair = job.group("pair", {0, 1});
  const auto all = job.group("all", {0, 1, 2});
  job.call(0, pair, 3, "all_gather");
  job.call(0, pair, 4, "all_gather");
  job.call(0, all, 9, "all_reduce");
  job.call(1, pair, 3, "all_gather", CallState::kCompleted);
  job.call(1, pair, 4, "all_gather", CallState::kCompleted);
  for (const std::uint32_t rank : {1U, 2U}) job.call(rank, all, 9, "all_reduce");
  const auto found = models::diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kStarved);
  CHECK(found.explanation.cause == models::Cause::kDeadRank);
  CHECK(roots(found) == Lines{"0 device stopped"});
  CHECK(found.roots.front().peer == 1);
  // The root of a broadcast completes before the other ranks, so its completed call does not show
  // whether they have called.
  EvidenceBuilder other(2);
  const auto two = other.group("two", {0, 1});
  other.call(0, two, 1, "broadcast", CallState::kCompleted);
  other.call(1, two, 1, "broadcast");
  CHECK(roots(models::diagnose(other.evidence())) == Lines{"1 unexplained"});
}

TEST_CASE("what was overtaken holds up no other stream", "[models][diagnosis]") {
  EvidenceBuilder job(2);
  const auto pp = job.group("pp", {0, 1});
  const auto dp = job.group("dp", {0, 1});
  job.message(0, pp, false, 1);  // a recv posted early, whose send comes after the all_reduce
  job.call(0, dp, 1, "all_reduce", CallState::kCompleted);
  job.call(0, dp, 2, "all_reduce");
  job.call(1, dp, 1, "all_reduce", CallState::kCompleted);
  job.call(1, dp, 2, "all_reduce");
  const auto found = models::diagnose(job.evidence());
  // Each rank has called the all_reduce, and no pending op precedes it: the recv must not close a
  // cycle.
  CHECK(found.explanation.cycle.empty());
  CHECK(found.explanation.verdict == sim::Verdict::kLimit);
}

TEST_CASE("a rank without a dump is a suspect where nothing else explains a wait",
          "[models][diagnosis]") {
  EvidenceBuilder job(3);
  const auto all = job.group("all", {0, 1, 2});
  for (const std::uint32_t rank : {0U, 1U}) job.call(rank, all, 7, "all_reduce");
  job.no_dump(2);
  auto found = models::diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kLimit);
  CHECK(roots(found).empty());
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects.front().rank == 2);
  CHECK(found.suspects.front().waiting == 2);
  // A rank that is known to be dead is a root cause.
  job.evidence().ranks[2].process.state = models::ProcessState::kDead;
  found = models::diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kStarved);
  CHECK(roots(found) == Lines{"2 died"});
  CHECK(found.suspects.empty());
  // Rank 1 has a dump and has not called: this explains the wait, so rank 2, without a dump, is no
  // suspect.
  EvidenceBuilder other(3);
  const auto group = other.group("all", {0, 1, 2});
  other.call(0, group, 7, "all_reduce");
  other.no_dump(2);
  CHECK(roots(models::diagnose(other.evidence())) == Lines{"1 has not called"});
}

TEST_CASE("a stack says whether who has not called is the root", "[models][diagnosis]") {
  EvidenceBuilder job(2);
  const auto dp = job.group("dp", {0, 1});
  const auto tp = job.group("tp", {0, 1});
  job.call(0, dp, 7, "all_reduce");
  job.call(1, tp, 4, "all_reduce");
  // Rank 1's host is in its own code, not in a wait: the two calls form no cycle, and rank 1 is the
  // root.
  job.evidence().ranks[1].host = host_at(false, false, "load_config (data.py:40)");
  auto found = models::diagnose(job.evidence());
  CHECK(found.explanation.cycle.empty());
  CHECK(roots(found) == Lines{"1 has not called"});
  // Rank 1's host is in a wait that its dump lacks. It may wait for other ranks, so rank 1 is not
  // blamed.
  EvidenceBuilder other(2);
  const auto all = other.group("all", {0, 1});
  other.call(0, all, 7, "all_reduce");
  other.evidence().ranks[1].host = host_at(true, true, "all_gather (c10d.py:1)");
  found = models::diagnose(other.evidence());
  CHECK(roots(found).empty());
  CHECK(found.explanation.verdict == sim::Verdict::kLimit);
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects.front().behind);
}

TEST_CASE("calls that differ are a mismatch, and those of few are the culprits",
          "[models][diagnosis]") {
  EvidenceBuilder job(3);
  const auto all = job.group("all", {0, 1, 2});
  job.call(0, all, 7, "broadcast");
  for (const std::uint32_t rank : {1U, 2U}) job.call(rank, all, 7, "all_reduce");
  const auto found = models::diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kMismatch);
  REQUIRE(found.explanation.mismatches.size() == 1);
  CHECK(found.explanation.mismatches.front().ranks == std::vector<std::uint32_t>{0});
  CHECK(found.explanation.mismatches.front().differences == Lines{"all_reduce and broadcast"});
  REQUIRE(found.checks.size() == 1);
  CHECK(found.checks.front().culprits.front().result.match == models::Match::kType);
}

TEST_CASE("an all_to_all that sends more than it receives is a mismatch", "[models][diagnosis]") {
  EvidenceBuilder job(2);
  const auto all = job.group("all", {0, 1});
  for (const std::uint32_t rank : {0U, 1U}) {
    models::RecordedOp& op = job.call(rank, all, 7, "all_to_all").ops.front();
    op.input_sizes = {{8, 2}};
    op.output_sizes = {{rank == 0 ? 10 : 6, 2}};
  }
  CHECK(models::diagnose(job.evidence()).checks.front().result == models::CheckResult::kMatched);
  job.evidence().ranks[1].calls.front().ops.front().output_sizes = {{7, 2}};
  const auto found = models::diagnose(job.evidence());
  CHECK(found.checks.front().result == models::CheckResult::kElementsDiffer);
  CHECK(found.explanation.verdict == sim::Verdict::kMismatch);
}

TEST_CASE("messages of different sizes that met are a mismatch", "[models][diagnosis]") {
  EvidenceBuilder job(2);
  const auto pp = job.group("pp", {0, 1});
  job.message(0, pp, true, 1).ops.front().input_sizes = {{4}};
  job.message(1, pp, false, 0).ops.front().output_sizes = {{5}};
  const auto found = models::diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kMismatch);
  REQUIRE(found.explanation.mismatches.size() == 1);
  CHECK(found.explanation.mismatches.front().message);
  CHECK(found.explanation.mismatches.front().differences == Lines{"sizes 4 and 5"});
}

TEST_CASE("a job in which everything is done has nothing wrong", "[models][diagnosis]") {
  EvidenceBuilder job(2);
  const auto all = job.group("all", {0, 1});
  for (const std::uint32_t rank : {0U, 1U}) {
    job.call(rank, all, 7, "all_reduce", CallState::kCompleted);
  }
  CHECK(models::diagnose(job.evidence()).explanation.verdict == sim::Verdict::kCompleted);
  job.no_dump(1);
  CHECK(models::diagnose(job.evidence()).explanation.verdict == sim::Verdict::kLimit);
}

TEST_CASE("evidence with gaps, or a host that waits, never shows that nothing is wrong",
          "[models][diagnosis]") {
  const auto verdict = [](const auto& change) {
    testing::EvidenceBuilder job(2);
    const auto all = job.group("0", {0, 1});
    for (const std::uint32_t rank : {0U, 1U}) {
      job.call(rank, all, 1, "all_reduce", CallState::kCompleted);
    }
    change(job.evidence());
    return diagnose(job.evidence()).explanation.verdict;
  };
  CHECK(verdict([](models::Evidence&) {}) == sim::Verdict::kCompleted);
  CHECK(verdict([](models::Evidence& it) { add_gap(it, "no sends"); }) == sim::Verdict::kLimit);
  for (const bool waits : {true, false}) {
    CHECK(verdict([&](models::Evidence& it) { it.ranks[0].host = host_at(waits, true, "recv"); }) ==
          sim::Verdict::kLimit);
  }
  CHECK(verdict([](models::Evidence& it) {
          it.ranks[0].host = host_at(false, false, "step (train.py:3)");
        }) == sim::Verdict::kCompleted);
}

TEST_CASE("each group has its own unknown cause", "[models][diagnosis]") {
  testing::EvidenceBuilder job(2);
  for (const std::uint32_t rank : {0U, 1U}) {
    const auto own = job.group("", {rank});
    job.evidence().groups[own].all_members = false;
    job.call(rank, own, 7, rank == 0 ? "reduce_scatter" : "all_to_all");
  }
  const auto found = diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kLimit);
  REQUIRE(found.roots.size() == 2);
  CHECK(found.roots[0].waiting == 1);
  CHECK(found.roots[1].rank == 1);
}

TEST_CASE("a recv from any rank waits for the only possible sender, or accuses nobody",
          "[models][diagnosis]") {
  for (const std::uint32_t ranks : {2U, 3U}) {
    testing::EvidenceBuilder job(ranks);
    const auto all = job.group(
        "0", ranks == 2 ? std::vector<std::uint32_t>{0, 1} : std::vector<std::uint32_t>{0, 1, 2});
    job.message(0, all, false, models::kAnyRank);
    for (std::uint32_t rank = 1; rank < ranks; ++rank) job.call(rank, all, 2, "all_reduce");
    const auto found = diagnose(job.evidence());
    CHECK(found.explanation.verdict ==
          (ranks == 2 ? sim::Verdict::kDeadlock : sim::Verdict::kLimit));
    CHECK(found.roots.empty());
    CHECK(found.ranks[0].at->name == "recv from any pg0");
  }
  // A pending send without a recv of its own may match the recv from any rank.
  testing::EvidenceBuilder job(3);
  const auto all = job.group("0", {0, 1, 2});
  job.message(0, all, false, models::kAnyRank);
  job.message(2, all, true, 0);
  for (const models::Wait& wait : diagnose(job.evidence()).waits) {
    CHECK(wait.to.kind != sim::WaitNodeKind::kRank);
  }
}

TEST_CASE("a number alone does not show that a device stopped", "[models][diagnosis]") {
  // Rank 1 counts call 3 as done, but its evidence does not show which call this was.
  testing::EvidenceBuilder job(2);
  const auto all = job.group("0", {0, 1});
  job.call(0, all, 3, "_reduce_scatter_base");
  job.call(1, all, 6, "all_gather");
  for (const std::uint32_t rank : {0U, 1U}) job.evidence().ranks[rank].complete = false;
  job.evidence().ranks[0].progress = {{all, 6, -1, 2, false, {}}};
  job.evidence().ranks[1].progress = {{all, 6, -1, 5, false, {}}};
  for (const auto& root : diagnose(job.evidence()).roots) {
    CHECK(root.reason == models::RootReason::kUnexplained);
  }
}

TEST_CASE("a failed rank is a root if no other call shows the hang", "[models][diagnosis]") {
  testing::EvidenceBuilder job(2);
  job.no_dump(0);
  job.no_dump(1);
  job.evidence().ranks[1].process.state = models::ProcessState::kFailed;
  const auto found = diagnose(job.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kStarved);
  REQUIRE(found.roots.size() == 1);
  CHECK(found.roots[0].rank == 1);
}

TEST_CASE("a call that a dead peer has done shows no stopped device", "[models][diagnosis]") {
  testing::EvidenceBuilder job(3);
  const auto all = job.group("0", {0, 1, 2});
  job.call(0, all, 1, "all_reduce", CallState::kCompleted);
  job.call(1, all, 1, "all_reduce", CallState::kCompleted);
  job.call(2, all, 1, "all_reduce", CallState::kStarted);
  CHECK(roots(models::diagnose(job.evidence())) == Lines{"2 device stopped"});
  for (const std::uint32_t rank : {0U, 1U}) {
    job.evidence().ranks[rank].process.state = models::ProcessState::kDead;
  }
  CHECK(roots(models::diagnose(job.evidence())) == Lines{"2 unexplained", "0 died", "1 died"});
}

TEST_CASE("a job of 4096 ranks is diagnosed at once", "[models][diagnosis]") {
  constexpr std::uint32_t kRanks = 4096;
  EvidenceBuilder job(kRanks);
  std::vector<std::uint32_t> all(kRanks);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) all[rank] = rank;
  const auto world = job.group("world", all);
  for (std::uint32_t rank = 0; rank + 1 < kRanks; ++rank) {
    for (const std::uint64_t number : {1U, 2U, 3U}) job.call(rank, world, number, "all_reduce");
  }
  const auto found = models::diagnose(job.evidence());
  CHECK(roots(found) == Lines{"4095 has not called"});
  CHECK(found.roots.front().waiting == (kRanks - 1) * 3);
}
