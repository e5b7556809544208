#include "features/diagnose/facts_reader.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence_merge.hpp"

using namespace pipesim;
using models::ProcessState;

namespace {

formats::FactsReader facts_in(const std::vector<std::string>& texts) {
  formats::FactsReader reader;
  for (const std::string& text : texts) {
    models::Diagnostics diagnostics;
    INFO(text);
    REQUIRE(reader.read(text, diagnostics, "facts.json"));
  }
  return reader;
}

std::vector<std::string> roots(const models::Evidence& evidence) {
  std::vector<std::string> roots;
  for (const auto& root : models::diagnose(evidence).roots) {
    roots.push_back(std::to_string(root.rank) + " " + std::string(reason_name(root.reason)));
  }
  return roots;
}

}  // namespace

TEST_CASE("a rank whose process is gone is a root, with its exit", "[formats][facts_reader]") {
  const auto facts = facts_in({R"({"pipesim_facts": 1, "host": "node0", "world_size": 3, "ranks": [
      {"rank": 0, "pid": 40, "state": "sleeping"}, {"rank": 1, "pid": 41, "state": "running"}],
      "gone": [{"rank": 2, "pid": 42, "why": "killed by SIGKILL", "exit_code": -9}]})"});
  const models::Evidence& evidence = facts.evidence();
  REQUIRE(evidence.ranks.size() == 3);
  CHECK(evidence.ranks[0].process.state == ProcessState::kNotTold);
  CHECK(evidence.ranks[0].process.name == "process 40 on node0");
  CHECK(evidence.ranks[2].process.reason == "killed by SIGKILL");
  CHECK(evidence.ranks[2].process.name == "process 42 on node0");
  CHECK(roots(evidence) == std::vector<std::string>{"2 died"});
  CHECK(models::diagnose(evidence).explanation.verdict == sim::Verdict::kStarved);
  CHECK(facts.notes().empty());
}

TEST_CASE("a stopped rank is a root", "[formats][facts_reader]") {
  const auto facts = facts_in({R"({"pipesim_facts": 1, "host": "node0", "world_size": 2, "ranks": [
      {"rank": 0, "pid": 40, "state": "stopped"}, {"rank": 1, "pid": 41, "state": "sleeping"}]})"});
  CHECK(roots(facts.evidence()) == std::vector<std::string>{"0 stopped"});
  CHECK(facts.evidence().ranks[0].process.reason ==
        "a signal stopped it; 'kill -CONT 40' lets it continue");
}

TEST_CASE("a stopped process of unknown rank is named by its process", "[formats][facts_reader]") {
  const auto facts = facts_in({R"({"pipesim_facts": 1, "host": "node0", "ranks": [
      {"rank": null, "pid": 40, "state": "sleeping"},
      {"rank": null, "pid": 41, "state": "tracing stop"}]})"});
  CHECK(facts.evidence().ranks.empty());
  const auto found = models::diagnose(facts.evidence());
  CHECK(found.explanation.verdict == sim::Verdict::kStarved);
  REQUIRE(found.unplaced.size() == 1);
  CHECK(found.unplaced.front().name == "process 41 on node0");
  CHECK(found.unplaced.front().reason == "a debugger stopped it");
}

TEST_CASE("facts without a dead or stopped rank decide nothing", "[formats][facts_reader]") {
  const auto facts = facts_in({R"({"pipesim_facts": 1, "host": "n", "world_size": 2, "ranks": [
      {"rank": 0, "pid": 40, "state": "disk sleep", "wchan": "nfs_wait_bit_killable"},
      {"rank": 1, "pid": 41, "state": "sleeping"}]})"});
  CHECK(roots(facts.evidence()).empty());
  CHECK(models::diagnose(facts.evidence()).explanation.verdict == sim::Verdict::kLimit);
  CHECK(facts.notes() ==
        std::vector<models::OutsideText>{
            "The kernel blocks rank 0 (process 40 on n): state D, in nfs_wait_bit_killable"});
}

TEST_CASE("facts of several hosts are one job, and ranks of other hosts are named",
          "[formats][facts_reader]") {
  const std::string first =
      R"({"pipesim_facts": 1, "host": "a", "world_size": 3, "ranks": [{"rank": 0, "pid": 7}]})";
  const std::string second =
      R"({"pipesim_facts": 1, "host": "b", "world_size": 3, "ranks": [{"rank": 2, "pid": 7}]})";
  CHECK(facts_in({first}).notes().front().starts_with("No facts about ranks 1 and 2: run"));
  const auto both = facts_in({first, second});
  CHECK(both.notes().front().starts_with("No facts about rank 1: run"));
  CHECK(both.evidence().ranks[0].process.name == "process 7 on a");
  CHECK(both.evidence().ranks[2].process.name == "process 7 on b");
}

TEST_CASE("a rank that another host has found is not gone", "[formats][facts_reader]") {
  const auto facts = facts_in(
      {R"({"pipesim_facts": 1, "host": "a", "world_size": 1, "ranks": [{"rank": 0, "pid": 7}]})",
       R"({"pipesim_facts": 1, "host": "b", "world_size": 1, "gone": [{"rank": 0}]})"});
  CHECK(roots(facts.evidence()).empty());
}

TEST_CASE("facts join the calls of a dump", "[formats][facts_reader]") {
  const auto facts = facts_in({R"({"pipesim_facts": 1, "host": "n", "world_size": 2, "ranks": [
      {"rank": 0, "pid": 40, "state": "sleeping"}], "gone": [{"rank": 1}]})"});
  models::Evidence evidence;
  std::vector<models::OutsideText> notes;
  models::merge_evidence(evidence, facts.evidence(), notes);
  CHECK(notes.empty());
  CHECK(evidence.ranks[1].process.reason == "no process of it is on n");
  const models::KnownJob known = models::known_job(evidence);
  CHECK(known.ranks == 2);
  REQUIRE(known.processes.size() == 1);
  CHECK(known.processes.front().first.pid == "40");
}

TEST_CASE("facts about main threads are kept with what other evidence says",
          "[formats][facts_reader]") {
  const auto facts = facts_in({R"j({"pipesim_facts": 1, "host": "n", "world_size": 2, "ranks": [
      {"rank": 0, "pid": 40, "state": "sleeping", "wchan": "futex_do_wait", "moved": false,
       "line": "work.wait()"},
      {"rank": 1, "pid": 41, "state": "running", "wchan": null, "moved": false, "line": null}]})j"});
  models::Evidence evidence;
  std::vector<models::OutsideText> notes;
  models::merge_evidence(evidence, facts.evidence(), notes);
  models::Evidence calls;
  calls.ranks.resize(2);
  models::merge_evidence(evidence, calls, notes);
  CHECK(evidence.world_size == 2);
  CHECK(evidence.main_threads.at(0).still);
  CHECK(evidence.main_threads.at(0).in_futex);
  CHECK(evidence.main_threads.at(0).line == "work.wait()");
  CHECK_FALSE(evidence.main_threads.at(0).runs);
  CHECK(evidence.main_threads.at(1).runs);
  CHECK_FALSE(evidence.main_threads.at(1).still);
}

TEST_CASE("settings of ranks that do not fit together", "[formats][facts_reader]") {
  const auto notes = [](const std::string& first, const std::string& second) {
    return facts_in({R"({"pipesim_facts": 1, "host": "a", )" + first,
                     R"({"pipesim_facts": 1, "host": "b", )" + second})
        .notes();
  };
  CHECK(notes(R"("world_size": 2, "conflicts": []})", R"("world_size": 2})").empty());
  const auto told = notes(R"("conflicts": ["WORLD_SIZE is 2 and 3"]})", "\"conflicts\": [7]}");
  REQUIRE(told.size() == 1);
  CHECK(told.front() == "WORLD_SIZE is 2 and 3");
  const auto hosts = notes(R"("world_size": 2})", R"("world_size": 3})");
  REQUIRE(hosts.size() == 1);
  CHECK(hosts.front() == "The number of ranks is 3 on b, but 2 on another host: it must be equal");
}

TEST_CASE("other JSON has no facts", "[formats][facts_reader]") {
  for (const std::string text : {"{}", "[1]", "{\"pipesim_facts\": 1", "Thread 7"}) {
    formats::FactsReader reader;
    models::Diagnostics diagnostics;
    INFO(text);
    CHECK_FALSE(reader.read(text, diagnostics, "facts.json"));
    CHECK(diagnostics.has_errors());
  }
}
