// `check` on jobs whose parameters have a `choice`: it checks several settings of each job.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/inline_scenario.hpp"

#include "features/check/checked_ways.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

// Returns the settings of every way, one string per way.
std::vector<std::string> ways_of(const std::string& params, std::uint32_t ranks) {
  const std::string text = "schema: 1\nranks: " + std::to_string(ranks) + "\nparams: {" + params +
                           "}\nprograms: {do: [{compute: a}]}\n";
  app::JobChoices choices(testing::scenario_of(text));
  std::vector<std::string> ways;
  while (const auto settings = choices.next()) {
    std::string way;
    for (const auto& [name, value] : *settings) {
      way += fmt::format("{}{}={}", way.empty() ? "" : ", ", name, value);
    }
    ways.push_back(way);
  }
  CHECK(choices.count() == ways.size());
  return ways;
}

using Ways = std::vector<std::string>;

// Returns a job of three ranks that call all_reduce unless they skip it. `choice` decides whether
// the ranks skip the call together or each for itself.
std::string job(const std::string& choice, const std::string& when = "not skips") {
  return "schema: 1\nname: job\nranks: 3\ngroups: {g: all}\n"
         "params: {skips: {default: off, choice: " +
         choice +
         "}}\n"
         "programs: {do: [{when: " +
         when + ", all_reduce: g, bytes: 4B}, {synchronize: device}]}\n";
}

}  // namespace

TEST_CASE("each choice is made both ways, few at a time first", "[app][check]") {
  CHECK(ways_of("a: {default: off, choice: each_rank}", 2) ==
        Ways{"a=off", "a=rank == 0", "a=rank == 1", "a=on"});
  CHECK(ways_of("a: {default: off, choice: all_ranks}, b: {default: on, choice: all_ranks}", 2) ==
        Ways{"a=off, b=on", "a=on, b=on", "a=off, b=off", "a=on, b=off"});
  // The scenario's own setting comes first, whatever its value.
  CHECK(ways_of("a: {default: rank == 2, choice: each_rank}", 3) ==
        Ways{"a=rank == 2", "a=rank != 1", "a=rank != 0", "a=off", "a=on", "a=rank == 0",
             "a=rank == 1", "a=rank != 2"});
  CHECK(ways_of("a: {default: off}", 3) == Ways{""});
}

TEST_CASE("a choice of more ranks than are counted", "[app][check]") {
  const std::string text =
      "schema: 1\nranks: 100\nparams: {a: {default: off, choice: each_rank}}\n"
      "programs: {do: [{compute: a}]}\n";
  app::JobChoices choices(testing::scenario_of(text));
  CHECK(!choices.count());
  CHECK(choices.next()->front().second == "off");
  CHECK(choices.next()->front().second == "rank == 0");
}

TEST_CASE("check tries all ways and names the one that hangs", "[app][check]") {
  const testing::Folder folder;
  const std::string each = folder.write("each.yaml", job("each_rank"));
  const auto hangs = command({"check", each});
  CHECK(hangs.code == 1);
  CHECK(contains(hangs.out, "HANG POSSIBLE"));
  CHECK(contains(hangs.out,
                 "choices         --set 'skips=rank == 0' (way 2 of 8, fewest changes first)"));
  CHECK(contains(hangs.out, "Rank 0 never joins"));
  // `run` accepts the setting that check names.
  CHECK(command({"run", each}).code == 0);
  CHECK(command({"run", each, "--set", "skips=rank == 0"}).code == 1);
  CHECK(command({"run", each, "--set", "skips=on"}).code == 0);

  const std::string together = folder.write("together.yaml", job("all_ranks"));
  const auto proved = command({"check", together});
  CHECK(proved.code == 0);
  CHECK(contains(proved.out, "PROVED"));
  CHECK(contains(proved.out, "choices         all 2 ways were checked"));
  // --set fixes a choice; check no longer varies it.
  const auto set = command({"check", each, "--set", "skips=rank == 1"});
  CHECK(set.code == 1);
  CHECK(!contains(set.out, "choices"));
  CHECK(contains(command({"check", each, "--json"}).out, "\"shown\": \"--set 'skips=rank == 0'\""));
}

TEST_CASE("more ways than are tried are undecided", "[app][check]") {
  const testing::Folder folder;
  // Only the last of the 8 ways hangs: rank 0 skips the call, the other two ranks do not.
  const std::string path = folder.write(
      "late.yaml",
      "schema: 1\nname: job\nranks: 3\n"
      "groups: {g: all}\nparams:\n  a: {default: off, choice: all_ranks}\n"
      "  b: {default: off, choice: all_ranks}\n  c: {default: off, choice: all_ranks}\n"
      "programs: {do: [{when: not (a and b and c and rank == 0), all_reduce: g, bytes: 4B},"
      " {synchronize: device}]}\n");
  const auto few = command({"check", path, "--ways", "7"});
  CHECK(few.code == 3);
  CHECK(contains(few.out, "UNDECIDED"));
  CHECK(contains(few.out, "choices         only 7 of 8 ways were checked"));
  const auto all = command({"check", path, "--ways", "8"});
  CHECK(all.code == 1);
  CHECK(contains(all.out, "--set 'a=on' --set 'b=on' --set 'c=on' (way 8 of 8"));
}

TEST_CASE("an order that hangs has its choice", "[app][check]") {
  const testing::Folder folder;
  const std::string each = folder.write("each.yaml", job("each_rank"));
  const auto hangs = command({"check", each, "--json"});
  CHECK(hangs.code == 1);
  CHECK(contains(command({"run", each, "--params"}).out, "skips"));
  CHECK(contains(command({"run", each, "--params", "--set", "skips=rank == 1"}).out, "rank == 1"));
}

TEST_CASE("a choice is on or off", "[app][check]") {
  CHECK(testing::mistakes_in("schema: 1\nparams: {a: {default: 3, choice: each_rank}}\n"
                             "programs: {do: [{compute: a}]}\n") ==
        "2:34: a choice is between on and off, but 'a' is a number\n");
  CHECK(testing::mistakes_in("schema: 1\nparams: {a: {default: off, choice: rank}}\n"
                             "programs: {do: [{compute: a}]}\n") ==
        "2:36: expected one of each_rank, all_ranks, found 'rank'\n");
  // Only a choice per rank can have a default that depends on the rank.
  for (const std::string more : {"", ", choice: all_ranks"}) {
    const std::string found = testing::mistakes_in("schema: 1\nparams: {a: {default: rank == 0" +
                                                   more + "}}\nprograms: {do: [{compute: a}]}\n");
    CHECK_FALSE(found.empty());
  }
}

TEST_CASE("reports say which backend was assumed", "[app][check]") {
  const testing::Folder folder;
  const auto job_with = [&](const std::string& top) {
    return folder.write("backend.yaml", "schema: 1\nname: job\nranks: 2\ngroups: {g: all}\n" + top +
                                            "programs: {do: [{all_reduce: g, bytes: 4B}, "
                                            "{synchronize: device}]}\n");
  };
  const auto of = [&](const std::string& name, const std::string& path) {
    return nlohmann::json::parse(command({name, path, "--json"}).out);
  };
  for (const char* name : {"run", "check"}) {
    INFO(name);
    const auto legacy = of(name, job_with("backend: nccl-legacy\n"));
    CHECK(legacy["backend"] == "nccl-legacy");
    CHECK(legacy["device_id"] == false);
    const auto bound = of(name, job_with("backend: nccl2\ndevice_id: on\n"));
    CHECK(bound["backend"] == "nccl2");
    CHECK(bound["device_id"] == true);
    const auto only_bound = of(name, job_with("device_id: on\n"));
    CHECK(only_bound["backend"].is_null());
    CHECK(only_bound["device_id"] == true);
    const auto neither = of(name, job_with(""));
    CHECK_FALSE(neither.contains("backend"));
    CHECK_FALSE(neither.contains("device_id"));
  }
}

TEST_CASE("a hang of equal ranks is found with a few, and shown of all", "[app][check]") {
  const testing::Folder folder;
  const auto path = folder.write(
      "crossing.yaml",
      "schema: 1\nname: crossing\nranks: 64\ngroups: {tp: {size: 8}, dp: {size: 8, stride: 8}}\n"
      "programs:\n  do:\n    - {all_reduce: tp, bytes: 8MiB, takes: 100us}\n"
      "    - {all_reduce: dp, bytes: 8MiB, takes: 100us, when: rank != 3}\n"
      "    - {synchronize: device}\n");
  const auto text = command({"check", path}).out;
  CHECK(contains(text, "64 ranks, 191 ops"));
  CHECK(contains(text, "Rank 3 never joins the communicator of all_reduce dp#1"));
  // The output equals that with --all, except for the command and the list of all waits.
  const auto all = command({"check", path, "--all"}).out;
  const auto whole = all.substr(0, all.find("\nAll waits"));
  CHECK(text.substr(0, whole.size()) == whole);
  const auto report = nlohmann::json::parse(command({"check", path, "--json"}).out);
  CHECK(report["hang"]["ranks"].size() == 64);
}

TEST_CASE("the help of check has all answers", "[app][check]") {
  const std::string help = command({"help", "check"}).out;
  for (const char* answer :
       {"proved", "runs by buffers", "no hang", "hang possible", "hang certain", "undecided"}) {
    INFO(answer);
    CHECK(contains(help, "  " + std::string(answer) + "  "));
  }
}

// Rank 2 exchanges no bytes with rank 0 and joins late: it first waits for a send from rank 0,
// which is queued behind rank 0's exchange.
TEST_CASE("an answer rests on what happens to empty parts", "[app][check]") {
  const testing::Folder folder;
  const auto exchange = [&](const std::string& top, const std::string& part) {
    const std::string before =
        "{all_to_all: ep, splits: [1KiB, 1KiB, 1KiB]}, {send: pp, to: 2, bytes: 1GiB, on: 0}, "
        "{recv: pp, from: 0, bytes: 1GiB, on: 2}, {synchronize: device}";
    const std::string call = "{all_to_all: ep, splits: [\"if(rank == 2, " + part +
                             ", 1KiB)\", 1KiB, \"if(rank == 0, " + part + ", 1KiB)\"]}";
    return folder.write(
        "exchange.yaml",
        "schema: 1\nname: exchange\nranks: 3\ngroups: {ep: all, pp: [0, 2]}\n" + top +
            "programs:\n  do:\n    - do: [" + before +
            "]\n"
            "    - on: 0\n      do: [" +
            call +
            ", {send: pp, to: 2, bytes: 1GiB, after: [nccl ep]}]\n"
            "    - on: 1\n      do: [" +
            call +
            "]\n"
            "    - on: 2\n      do: [{recv: pp, from: 0, bytes: 1GiB}, {synchronize: nccl pp}, " +
            call + "]\n    - {synchronize: device}\n");
  };
  const auto rests_on = [](const std::string& path, const std::string& answer) {
    const auto report = nlohmann::json::parse(command({"check", path, "--json"}).out);
    CHECK(report["answer"] == answer);
    std::string lines;
    if (!report.contains("rests_on")) return lines;
    for (const auto& line : report["rests_on"]) {
      const auto text = line.get<std::string>();
      if (contains(text, "all_to_all")) lines += text;
    }
    return lines;
  };
  CHECK(rests_on(exchange("", "0B"), "proved") ==
        "an empty part of an all_to_all is not sent, as in PyTorch up to 2.14; nccl2, the default "
        "since 2.15, sends it; otherwise this can hang (from PyTorch's source; not measured)");
  CHECK(rests_on(exchange("backend: nccl2\n", "0B"), "hang certain") ==
        "an empty part of an all_to_all is sent, and its recv waits for it, as in PyTorch 2.15 and "
        "later; otherwise this does not hang (from PyTorch's source; not measured)");
  // If no part is empty, every rank waits for every rank, in any version.
  CHECK(rests_on(exchange("", "1B"), "hang certain").empty());
}

// Every explored interleaving ends in a mismatch. check reports this without spending its whole
// budget on the search for an interleaving that completes.
TEST_CASE("a hang that is known is not followed up to the budget", "[app][check]") {
  const std::string path = "scenarios/megatron_expert_overlap_hang.yaml";
  const auto report = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"check", path, "--reading", "cold", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const auto result = command(arguments);
    CHECK(result.code == 1);
    return nlohmann::json::parse(result.out);
  };
  const auto usual = report({});
  CHECK(usual["answer"] == "hang possible");
  CHECK(usual["some_complete"] == false);
  CHECK(usual["forks"] == 5'000);
  CHECK(usual["max_forks"] == 5'000);
  const auto longer = report({"--states", "6000"});
  CHECK(longer["answer"] == "hang possible");
  CHECK(longer["forks"] == 6'000);
  CHECK(longer["max_forks"] == 6'000);
  CHECK(longer["hang"] == usual["hang"]);
  CHECK(contains(command({"check", path, "--reading", "cold"}).out, "5,000 branch points"));
}

TEST_CASE("mismatched calls that complete are not said to hang", "[app][check]") {
  const auto found = command({"check", "-"},
                             "schema: 1\nname: sizes\nranks: 2\ngroups: {g: all}\n"
                             "undecided: {proved: the script read a clock}\nprograms:\n  do:\n"
                             "    - {when: rank == 0, send: g, to: 1, bytes: 8B}\n"
                             "    - {when: rank == 1, recv: g, from: 0, bytes: 4B}\n");
  CHECK(contains(found.out, "UNDECIDED: the script read a clock"));
  CHECK(contains(found.out, "timing has no effect here; none hangs\n"));
}
