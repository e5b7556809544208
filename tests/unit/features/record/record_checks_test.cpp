// Findings that pipesim derives from a record before it runs the record.
#include "features/record/record_checks.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/record.hpp"

#include "features/record/record_doubts.hpp"

using namespace pipesim;
using testing::record_of;

namespace {

const std::string kHere = "{\"def\": \"l\", \"at\": \"a.py:1\", \"call\": \"f\"}\n";
const std::string kThere = "{\"def\": \"l\", \"at\": \"b.py:2\", \"call\": \"g\"}\n";

std::string call(const std::string& op, const std::string& keys) {
  return "{\"call\": \"" + op + "\", \"g\": \"g0\", \"n\": 1, \"l\": \"l\", " + keys + "}\n";
}

std::string findings(const models::Record& record) {
  std::string text;
  for (const models::RecordFinding& finding : models::check_record(record)) {
    text += finding.message + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("calls that fit and come from different lines are reported", "[models][record_checks]") {
  const std::string reduce = call("all_reduce", "\"bytes\": 4");
  CHECK(findings(record_of("gloo", {kHere + reduce, kHere + reduce})).empty());
  CHECK(findings(record_of("gloo", {kHere + reduce, kThere + reduce})) ==
        "all_reduce #1 on the world group meets from different lines: rank 0 from a.py:1 f; rank 1 "
        "from b.py:2 g\n");
  // The calls do not match, but this is no finding: the run reports the mismatch.
  CHECK(findings(record_of("gloo", {kHere + reduce, kThere + call("all_reduce", "\"bytes\": 8")}))
            .empty());
}

TEST_CASE("calls that nobody made meet nobody", "[models][record_checks]") {
  const std::string rest = "{\"end\": \"cut\", \"why\": \"rest\"}\n";
  const std::string reduce = call("all_reduce", "\"bytes\": 4, \"sync\": true");
  const std::string makes =
      "{\"def\": \"g1\", \"group\": \"1\", \"ranks\": [0, 1]}\n"
      "{\"new_group\": \"g1\", \"key\": 1}\n";
  const std::string other =
      "{\"def\": \"g2\", \"group\": \"1\", \"ranks\": [0, 2]}\n"
      "{\"new_group\": \"g2\", \"key\": 1}\n";
  auto record = record_of("gloo", {kHere + makes + rest, kHere + rest, kHere + other + rest});
  models::add_later_calls(record);
  CHECK(findings(record) ==
        "new_group is called in different orders: as number 1, rank 0 makes the group [0, 1], and "
        "rank 2 makes the group [0, 2]\n");
  auto lines = record_of("gloo", {kHere + reduce + rest, kThere + reduce + rest, kHere + rest});
  models::add_later_calls(lines);
  CHECK(findings(lines) ==
        "all_reduce #1 on the world group meets from different lines: rank 0 from a.py:1 f; rank 1 "
        "from b.py:2 g\n");
}

TEST_CASE("a root may have a line of its own", "[models][record_checks]") {
  const std::string root_0 = call("broadcast", "\"bytes\": 4, \"root\": 0");
  const std::string root_1 = call("broadcast", "\"bytes\": 4, \"root\": 1");
  const auto of = [&](const std::string& cast) {
    return findings(record_of("gloo", {kHere + cast, kThere + cast, kThere + cast}));
  };
  CHECK(of(root_0).empty());
  CHECK_FALSE(of(root_1).empty());
}

TEST_CASE("splits are compared pair by pair", "[models][record_checks]") {
  const auto splits = [](const std::string& to, const std::string& from) {
    return kHere +
           call("all_to_all", "\"bytes\": 12, \"to\": [" + to + "], \"from\": [" + from + "]");
  };
  CHECK(findings(record_of("gloo", {splits("4, 8", "4, 0"), splits("0, 12", "8, 12")})).empty());
  CHECK(findings(record_of("gloo", {splits("4, 8", "4, 0"), splits("0, 12", "9, 12")})) ==
        "splits of all_to_all #1 on the world group disagree: rank 0 gives 8 bytes to rank "
        "1 (a.py:1 f), which expects 9 (a.py:1 f)\n");
}

TEST_CASE("groups under one number have the same members", "[models][record_checks]") {
  const auto makes = [](const std::string& ranks, const std::string& key) {
    return "{\"def\": \"g1\", \"group\": \"1\", \"ranks\": [" + ranks +
           "]}\n{\"new_group\": \"g1\"" + key + "}\n";
  };
  const std::string numbered = ", \"key\": 1";
  const auto clash = record_of("gloo", {makes("0", numbered), makes("0, 1", numbered)});
  CHECK(models::clashing_new_groups(clash) ==
        std::map<std::int64_t, std::vector<std::uint32_t>>{{1, {0, 1}}});
  CHECK(findings(clash) ==
        "new_group is called in different orders: as number 1, rank 0 makes the group [0], and "
        "rank 1 makes the group [0, 1]\n");
  CHECK_FALSE(testing::is_proved(clash, "gloo"));
  // If no rank is in both groups, timing decides which addresses a rank reads.
  CHECK_FALSE(models::only_disjoint_groups_clash(clash));
  CHECK(models::record_doubts(clash, models::RecordRules::kOwn, {}).hang.empty());
  const auto disjoint = record_of("gloo", {makes("0, 1", numbered), makes("0, 1", numbered),
                                           makes("2, 3", numbered), makes("2, 3", numbered)});
  CHECK(models::only_disjoint_groups_clash(disjoint));
  CHECK_FALSE(testing::is_proved(disjoint, "gloo"));
  CHECK(models::record_doubts(disjoint, models::RecordRules::kOwn, {}).hang.empty());
  CHECK_FALSE(models::record_doubts(disjoint, models::RecordRules::kOwn, {}).possible.empty());
  CHECK(findings(record_of("gloo", {makes("0, 1", numbered), makes("0, 1", numbered)})).empty());
  // A group name that is made from the ranks cannot clash.
  CHECK(findings(record_of("gloo", {makes("0", ""), makes("0, 1", "")})).empty());
}
