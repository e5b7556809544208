// The outputs of `run` in addition to its report.
#include "app/output/views.hpp"

#include <atomic>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "app/version.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::command;
using testing::CommandResult;
using testing::contains;
using testing::Folder;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

const std::string kHang = "scenarios/swin_2x2x2.yaml";
const std::string kLong = "schema: 1\nactors: {a: {source: 1000000, takes: 1us}}\n";

}  // namespace

// Each launch takes 2 us. Rank 0 launches the kernel from 0 to 2 us and takes the first lock from 2
// to 4 us. At 4 us it enters the second lock step, for the lock that it holds itself: "before"
// without "after". The log omits the end of the kernel at 11 us. Rank 1 reads from 0 to 5 us. Rank
// 0's line precedes rank 1's line at 0 us, because rank 0's thread got its start message first.
TEST_CASE("the log has a line before and after each launch", "[app][views]") {
  const std::string scenario =
      "schema: 1\nranks: 2\ngroups: {g: all}\ndefaults: {launch_overhead: 2us}\nprograms:\n"
      "  - {on: 0, do: [{compute: k, takes: 9us, at: \"train.py:7 main\"}, {lock: l}, {lock: l}]}\n"
      "  - {on: 1, thread: io, do: [{host: read, takes: 5us}]}\n";
  const CommandResult result = command({"run", "-", "--log", "-"}, scenario);
  CHECK(result.code == 1);
  CHECK(result.err.empty());
  CHECK(result.out ==
        "0.000 us [node0:0] main before: k#1, stream compute, at train.py:7 main\n"
        "0.000 us [node0:1] io before: read#1\n"
        "2.000 us [node0:0] main after: k#1, stream compute, at train.py:7 main\n"
        "2.000 us [node0:0] main before: lock l#1\n"
        "4.000 us [node0:0] main after: lock l#1\n"
        "4.000 us [node0:0] main before: lock l.2#1\n"
        "5.000 us [node0:1] io after: read#1\n");
}

TEST_CASE("a log is written for all ranks, for each, or printed", "[app][views]") {
  const Folder folder;
  const std::string all = folder / "all.log";
  const std::string logs = folder / "new/logs";
  const CommandResult result = command({"run", kHang, "--log", all, "--log-dir", logs});
  CHECK(result.out == command({"run", kHang}).out);
  const std::string merged = testing::file_text(all);
  CHECK(merged == command({"run", kHang, "--log", "-"}).out);
  // The log of a rank has the rank's lines of the merged log, in the same order. The times of all
  // lines start in the same column.
  std::map<std::string, std::string> by_rank;
  for (const std::string& line : lines_of(merged)) {
    const std::size_t colon = line.find(':');
    std::string& lines = by_rank[line.substr(colon + 1, line.find(']') - colon - 1)];
    lines += line;
    lines += '\n';
  }
  CHECK(by_rank.size() == 8);
  for (const auto& [rank, lines] : by_rank) {
    CHECK(testing::file_text(std::string(logs).append("/rank_").append(rank).append(".log")) ==
          lines);
  }
  // The hanging op has a "before" without an "after": rank 1 is in a communicator init.
  CHECK(contains(by_rank["1"], "before: nccl-2108#1,"));
  CHECK(!contains(by_rank["1"], "after: nccl-2108#1,"));
  CHECK(!contains(by_rank["0"], "nccl-2108#1"));
}

TEST_CASE("only one thing goes to standard output", "[app][views]") {
  const std::vector<std::vector<std::string>> prints = {
      {"--json"}, {"--stacks"}, {"--log", "-"}, {"--trace", "-"}, {"--timeline"}};
  for (std::size_t a = 0; a < prints.size(); ++a) {
    for (std::size_t b = a + 1; b < prints.size(); ++b) {
      std::vector<std::string> arguments = {"run", kHang};
      arguments.insert(arguments.end(), prints[a].begin(), prints[a].end());
      arguments.insert(arguments.end(), prints[b].begin(), prints[b].end());
      const CommandResult result = command(arguments);
      CHECK(result.code == 2);
      CHECK(contains(result.err, "cannot be used together"));
    }
  }
  CHECK(command({"run", kHang, "--log-dir", "README.md"}).code == 74);
  CHECK(command({"run", kHang, "--log", "no/such/folder/x"}).code == 74);
  CHECK(command({"run", kHang, "--trace", "no/such/folder/x"}).code == 74);
}

TEST_CASE("an interrupted run reports how far it came", "[app][views]") {
  const std::atomic<bool> interrupted{true};
  const CommandResult report = command({"run", "-"}, kLong, &interrupted);
  CHECK(report.code == 130);
  CHECK(contains(report.out, "LIMIT (interrupted)"));
}

TEST_CASE("a run in a timing of its own says so", "[app][views]") {
  const std::vector<std::string> run = {"run", kHang, "--jitter", "50%", "--seed", "3"};
  const CommandResult found = command(run);
  CHECK(found.code == 1);
  CHECK(contains(found.out, "Durations vary by up to 50%: seed 3\n"));
  CHECK_FALSE(found.out == command({"run", kHang, "--jitter", "50%", "--seed", "4"}).out);
  CHECK(found.out == command(run).out);
  CHECK(contains(command({"run", kHang, "--jitter", "free", "--json"}).out,
                 "\"jitter\": \"free\",\n  \"seed\": 0,\n"));
}

TEST_CASE("mistakes of timings have words of their own", "[app][views]") {
  const auto mistake = [](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"run", kHang};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const CommandResult result = command(arguments);
    CHECK(result.code == 2);
    return result.err.substr(0, result.err.find('\n'));
  };
  CHECK(mistake({"--jitter", "10"}) == "error[E1504]: invalid value '10' for '--jitter'");
  CHECK(mistake({"--seed", "3"}) == "error[E1506]: '--seed' needs '--jitter'");
  CHECK(mistake({"--jitter", "10%", "--seed", "-3"}) ==
        "error[E1504]: invalid value '-3' for '--seed'");
}

// The command at the end lets a reader reproduce the report, whichever command made it.
TEST_CASE("each report ends with the command that made it", "[app][views]") {
  const Folder folder;
  const std::string hang = "tests/golden/goal_deadlock/ring.goal";
  const std::string algorithms = "tests/golden/verify_samples/";
  // The words of each command, and additional options that only name output files.
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> commands = {
      {{"run", kHang}, {"--dot", folder / "a.dot"}},
      {{"run", kHang, "--set", "acc=2", "--patch", "PATCH"}, {"--log-dir", folder / "logs"}},
      {{"run", kHang, "--reading", "cold", "--until", "20us", "--jitter", "10%", "--seed", "3"},
       {"--trace", folder / "trace.json"}},
      {{"run", hang, "--loggops", "L=1000"}, {}},
      {{"check", kHang, "--set", "acc=2", "--states", "10"}, {"--dot", folder / "b.dot"}},
      {{"diff", kHang, "--set-b", "acc=2"}, {}},
      {{"reduce", "scenarios/buffer_on_the_wrong_stream.yaml"}, {"-o", folder / "small.yaml"}},
      {{"lint", kHang, "--ignore", "partial-sum"}, {}},
      {{"why", kHang, "rank 7 H2#4"}, {}},
      {{"compare", kHang, kHang, "--set", "acc=2"}, {}},
      {{"compare", "tests/golden/compare_record/record", "tests/golden/compare_record/later"}, {}},
      {{"opt", kHang, "--passes", "canonicalize"}, {}},
      {{"test", "scenarios/rank_segfault.yaml", "--quiet"}, {"--junit", folder / "a.xml"}},
      {{"verify", algorithms + "pair.xml"}, {}},
      {{"verify", algorithms + "too_few_slots.xml", "--bytes", "64MiB"}, {}},
      {{"fix", "scenarios/buffer_on_the_wrong_stream.yaml"}, {}},
      {{"diagnose", "tests/golden/diagnose_cycle/dumps"}, {"--color", "never"}},
  };
  const std::string patch = folder.write("patch.yaml", "patch: 1\nset: {acc: 2}\n");
  const auto ends_with_command = [](const std::string& text, const std::string& words,
                                    const std::string& before) {
    // Joins the lines of a wrapped footer.
    std::string last;
    for (const std::string& line : lines_of(text)) {
      const bool follows = line.starts_with("  ") && !last.empty();
      last = follows ? last + line.substr(1) : line;
    }
    CHECK(last == before + "pipesim " + app::version() + ": pipesim " + words);
  };
  for (const auto& [given, written] : commands) {
    std::vector<std::string> words = given;
    std::string shown;
    for (std::string& word : words) {
      if (word == "PATCH") {
        // Reports show only the file name of a path: the path may be from another machine.
        shown += " patch.yaml";
        word = patch;
        continue;
      }
      const bool quoted = word.find(' ') != std::string::npos;
      shown += (shown.empty() ? "" : " ") + (quoted ? "'" + word + "'" : word);
    }
    words.insert(words.end(), written.begin(), written.end());
    CAPTURE(shown);
    const CommandResult result = command(words);
    CAPTURE(result.err);
    // Requires the exit code of a verdict, not of an error.
    REQUIRE((result.code < 2 || result.code == 3));
    ends_with_command(result.out, shown, given.front() == "opt" ? "# " : "");
  }
}

TEST_CASE("pages and reports as JSON have the command that made them", "[app][views]") {
  const Folder folder;
  const std::string version = std::string("pipesim ") + app::version() + ": pipesim ";
  const std::string page = folder / "page.html";
  const std::string made = version + "run " + kHang + " --until 20us --jitter 10%";
  const CommandResult report =
      command({"run", kHang, "--until", "20us", "--jitter", "10%", "--json", "--html", page});
  CHECK(contains(report.out, "\n  \"made_by\": \"" + made + "\",\n"));
  CHECK(contains(testing::file_text(page), "\"made_by\":\"" + made + "\""));
  command({"check", kHang, "--states", "10", "--html", page});
  CHECK(contains(testing::file_text(page),
                 "\"made_by\":\"" + version + "check " + kHang + " --states 10\""));
  command({"diff", kHang, "--set-b", "acc=2", "--html", page});
  CHECK(contains(testing::file_text(page),
                 "\"made_by\":\"" + version + "diff " + kHang + " --set-b acc=2\""));
}
