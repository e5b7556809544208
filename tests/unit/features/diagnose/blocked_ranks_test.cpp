#include "features/diagnose/blocked_ranks.hpp"

#include <cstdint>
#include <string>
#include <utility>

#include "tests/support/catch.hpp"
#include "tests/support/evidence.hpp"

#include "features/diagnose/diagnosis.hpp"

using namespace pipesim;
using models::Evidence;
using models::HostStanding;

namespace {

enum class In : std::uint8_t { kCollective, kMessage, kLine };

void place(Evidence& evidence, std::uint32_t rank, In in) {
  HostStanding& host = evidence.ranks[rank].host.emplace();
  host.waits = host.blocked = in != In::kLine;
  host.collective = in == In::kCollective;
  host.message = in == In::kMessage;
  host.in_line = in == In::kLine;
  host.alone = true;
  host.at = in == In::kLine ? "step (a.py:3)" : "recv, called in step (a.py:3)";
  evidence.main_threads[rank].still = true;
}

// Returns three ranks: ranks 0 and 1 are in the third all_reduce, which rank 2 has not called, and
// rank 2 is in a recv.
Evidence job_of_three() {
  testing::EvidenceBuilder job(3);
  const auto all = job.group("0", {0, 1, 2});
  for (const std::uint32_t rank : {0U, 1U}) {
    job.call(rank, all, 3, "all_reduce");
    place(job.evidence(), rank, In::kCollective);
  }
  place(job.evidence(), 2, In::kMessage);
  job.evidence().world_size = 3;
  return job.evidence();
}

}  // namespace

TEST_CASE("if each rank waits for another one, the job is in a deadlock", "[models][diagnosis]") {
  const Evidence job = job_of_three();
  CHECK(models::all_ranks_wait(job));
  const auto found = models::diagnose(job);
  CHECK(found.explanation.verdict == sim::Verdict::kDeadlock);
  CHECK(found.explanation.cause == models::Cause::kCycle);
  CHECK(found.explanation.cycle.empty());
  CHECK(found.roots.empty());
  CHECK(found.suspects.empty());
}

TEST_CASE("a rank that can go on, or is not seen, leaves the job undecided",
          "[models][diagnosis]") {
  const auto waits = [](const auto& change) {
    Evidence job = job_of_three();
    change(job);
    return models::all_ranks_wait(job);
  };
  CHECK(waits([](Evidence&) {}));
  CHECK_FALSE(waits([](Evidence& it) { it.world_size = 0; }));
  CHECK_FALSE(waits([](Evidence& it) { it.world_size = 4; }));
  CHECK_FALSE(waits([](Evidence& it) { it.ranks[0].host.reset(); }));
  CHECK_FALSE(waits([](Evidence& it) { it.ranks[2].host->waits = false; }));
  CHECK_FALSE(waits([](Evidence& it) { it.ranks[2].host->alone = false; }));
  CHECK_FALSE(waits([](Evidence& it) { it.main_threads[1].still = false; }));
  CHECK_FALSE(
      waits([](Evidence& it) { it.ranks[1].process.state = models::ProcessState::kStopped; }));
  // A wait for the device, for the store or for a lock shows no rank.
  CHECK_FALSE(waits([](Evidence& it) { it.ranks[2].host->message = false; }));
  CHECK_FALSE(waits([](Evidence& it) { it.unplaced.emplace_back(); }));
}

TEST_CASE("ranks in one collective that all have called show no deadlock", "[models][diagnosis]") {
  testing::EvidenceBuilder job(2);
  const auto all = job.group("0", {0, 1});
  for (const std::uint32_t rank : {0U, 1U}) {
    job.call(rank, all, 3, "all_reduce");
    place(job.evidence(), rank, In::kCollective);
  }
  job.evidence().world_size = 2;
  CHECK_FALSE(models::all_ranks_wait(job.evidence()));
  // The wait may be for this call, although the line does not say so.
  for (auto& rank : job.evidence().ranks) rank.host->message = true;
  CHECK_FALSE(models::all_ranks_wait(job.evidence()));
  // A group of unknown members has another one if a call of it does not end.
  testing::EvidenceBuilder crossed(2);
  for (const std::uint32_t rank : {0U, 1U}) {
    const auto own = crossed.group(std::to_string(rank + 1), {rank});
    crossed.evidence().groups[own].all_members = false;
    crossed.call(rank, own, 1, "all_reduce");
    place(crossed.evidence(), rank, In::kCollective);
  }
  crossed.evidence().world_size = 2;
  CHECK(models::all_ranks_wait(crossed.evidence()));
  crossed.evidence().ranks[0].complete = false;
  CHECK_FALSE(models::all_ranks_wait(crossed.evidence()));
}

TEST_CASE("the text of a line shows a wait that is not Python", "[models][diagnosis]") {
  struct Case {
    std::string line;
    bool still;
    bool in_futex;
    bool waits;
    bool may_wait;
  };
  for (const Case& it : {
           Case{"for work in works: work.wait()", true, true, true, false},
           Case{"work.wait()", false, true, false, true},
           Case{"work.wait()", true, false, false, true},
           Case{"loss.item()", true, false, false, true},
           Case{"with lock:", true, true, false, false},
           Case{"", true, true, false, true},
           Case{"", true, false, false, false},
           Case{"time.sleep(60)", true, false, false, false},
       }) {
    INFO(it.line);
    Evidence job;
    job.ranks.resize(1);
    place(job, 0, In::kLine);
    job.main_threads[0] = {it.still, it.in_futex, it.line};
    models::add_hidden_waits(job);
    CHECK(job.ranks[0].host->waits == it.waits);
    CHECK(job.ranks[0].host->may_wait == it.may_wait);
    const char* at = it.waits ? "work.wait(), called in step (a.py:3)" : "step (a.py:3)";
    CHECK(job.ranks[0].host->at == at);
  }
}

TEST_CASE("a rank that runs and has yet to join the job is not blamed", "[models][diagnosis]") {
  for (const auto& [call, runs] :
       {std::pair("init_process_group", true), std::pair("init_process_group", false),
        std::pair("_create_c10d_store", true), std::pair("all_reduce", true)}) {
    INFO(call << runs);
    testing::EvidenceBuilder job(2);
    job.call(0, job.group(call, {0, 1}), 1, call);
    place(job.evidence(), 1, In::kLine);
    job.evidence().main_threads[1].runs = runs;
    const auto found = models::diagnose(job.evidence());
    const bool starts = runs && call != std::string("all_reduce");
    CHECK(models::may_start(found) == starts);
    CHECK(found.explanation.verdict == (starts ? sim::Verdict::kLimit : sim::Verdict::kStarved));
    CHECK(found.roots.empty() == starts);
    CHECK(models::call_name(job.evidence().ranks[0].calls[0], job.evidence().groups[0], 0) == call);
  }
}

TEST_CASE("a rank whose line may hide a wait is not blamed", "[models][diagnosis]") {
  for (const bool may_wait : {false, true}) {
    testing::EvidenceBuilder job(2);
    job.call(0, job.group("0", {0, 1}), 3, "all_reduce");
    place(job.evidence(), 1, In::kLine);
    job.evidence().ranks[1].host->may_wait = may_wait;
    const auto found = models::diagnose(job.evidence());
    CHECK(found.roots.size() == (may_wait ? 0U : 1U));
    CHECK(found.suspects.size() == (may_wait ? 1U : 0U));
  }
}
