// Results of a sweep do not depend on threads, shards or interruptions. Tests of single runs, such
// as tests/unit/app/output/views_test.cpp, check the result of each run.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/sweep_sums.hpp"

using namespace pipesim;
using testing::command;
using testing::CommandResult;
using testing::contains;

namespace {

using Arguments = std::vector<std::string>;

const char* const kSwin = "scenarios/swin_2x2x2.yaml";

// Arguments of a sweep in which some random timings hang.
const Arguments kSweep = {"sweep",  kSwin,           "--vary",  "acc=2..4",
                          "--vary", "jitter=0,free", "--seeds", "10"};

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Returns the first error line of a command with invalid usage or input.
std::string command_mistake(const Arguments& arguments) {
  const CommandResult result = command(arguments);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  return first_line(result.err);
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("any number of threads gives the same bytes", "[app][sweep]") {
  for (const char* form : {"--json", "--csv=-"}) {
    const CommandResult one = command(with(kSweep, {form, "-j", "1"}));
    CHECK(one.code == 1);
    CHECK(one.err.empty());
    CHECK(command(with(kSweep, {form, "-j", "2"})).out == one.out);
    CHECK(command(with(kSweep, {form, "-j", "7"})).out == one.out);
  }
}

// Without jitter, a few representatives of many identical ranks are simulated; with jitter, all
// ranks.
TEST_CASE("random timings of many equal ranks differ", "[app][sweep]") {
  const char* const text = R"(schema: 1
name: many
ranks: 512
groups: {world: all}
programs:
  do: [{compute: work, takes: 1ms}, {all_reduce: world, bytes: 8MiB, takes: 100us, after: [compute]}, {synchronize: device}]
)";
  CHECK(contains(command({"sweep", "-"}, text).out, "1.1 ms"));
  const CommandResult varied = command({"sweep", "-", "--seeds", "1", "--first-seed", "7"}, text);
  const CommandResult run = command({"run", "-", "--jitter", "10%", "--seed", "7"}, text);
  CHECK_FALSE(contains(varied.out, "1.1 ms"));
  const std::string time = run.out.substr(run.out.find("COMPLETED at ") + 13);
  INFO(run.out << varied.out);
  CHECK(contains(varied.out, time.substr(0, time.find(" ms"))));
}

TEST_CASE("no cell of a sweep is a formula to a spreadsheet", "[app][sweep]") {
  const testing::Folder folder;
  const std::string path =
      folder.write("a.yaml", "schema: 1\nparams: {n: 0}\nactors: {a: {source: n + 2}}\n");
  const std::string csv = command({"sweep", path, "--vary", "n=-1,1", "--csv", "-"}).out;
  CHECK(contains(csv, "\n\"-1\",0,"));
  CHECK(contains(csv, "\n1,0,"));
}

TEST_CASE("a case of a sweep is the run with its settings, jitter and seed", "[app][sweep]") {
  const std::string csv = command({"sweep", kSwin, "--vary", "acc=2..3", "--vary", "jitter=0,50%",
                                   "--seeds", "2", "--first-seed", "8", "--csv", "-"})
                              .out;
  // The CSV has a header, a line per value of acc without jitter, and two seeds per value with
  // jitter.
  CHECK(lines_in(csv) == 7);
  const auto has = [&](const std::string& row, const Arguments& options) {
    const std::string report = command(with({"run", kSwin, "--json"}, options)).out;
    const std::string key = "\"fingerprint\": \"";
    const std::string fingerprint = report.substr(report.find(key) + key.size(), 16);
    const std::size_t at = csv.find(row);
    REQUIRE(at != std::string::npos);
    CHECK(contains(first_line(csv.substr(at)), fingerprint));
  };
  has("2,0,,completed,", {"--set", "acc=2"});
  has("3,0,,deadlock,", {"--set", "acc=3"});
  has("2,50%,8,completed,", {"--set", "acc=2", "--jitter", "50%", "--seed", "8"});
  has("3,50%,9,deadlock,", {"--set", "acc=3", "--jitter", "50%", "--seed", "9"});
}

TEST_CASE("shards in any order become what one sweep finds", "[app][sweep]") {
  const testing::Folder folder;
  const CommandResult whole = command(kSweep);
  Arguments merge = {"sweep", "--merge"};
  for (const char* index : {"5", "1", "7", "3", "6", "2", "4"}) {
    const std::string file = folder / (std::string("part") + index);
    const CommandResult part =
        command(with(kSweep, {"--shard", std::string(index) + "/7", "-o", folder / "part{shard}"}));
    CHECK(part.code == 0);
    CHECK(contains(part.out, "not completed, in " + file + "\n"));
    merge.push_back(file);
  }
  const CommandResult merged = command(merge);
  CHECK(merged.code == 1);
  CHECK(merged.out == whole.out);
  CHECK(command(with(merge, {"--json"})).out == command(with(kSweep, {"--json"})).out);
  std::reverse(merge.begin() + 2, merge.end());
  CHECK(command(merge).out == whole.out);
}

TEST_CASE("the page of a sweep says which settings hang and what made it", "[app][sweep][html]") {
  const testing::Folder folder;
  const auto page = [&](const Arguments& arguments) {
    const std::string path = folder / "page.html";
    const CommandResult result = command(with(arguments, {"--html", path}));
    CHECK(result.out == command(arguments).out);
    return testing::file_text(path);
  };
  const std::string one = page(with(kSweep, {"-j", "1"}));
  CHECK(one == page(with(kSweep, {"-j", "7"})));
  // acc=2 completes in every timing, acc=3 does not.
  CHECK(contains(one, R"(["acc=2","completes",)"));
  CHECK(contains(one,
                 "pipesim sweep scenarios/swin_2x2x2.yaml --vary acc=2..4 --vary "
                 "jitter=0,free --seeds 10"));
  CHECK(contains(one, "queued behind nccl-1998#3"));  // a wait of the cycle

  // A merge of shards has no scenario to run, so the page has only the names of the ops on the
  // cycle.
  for (const char* shard : {"1/2", "2/2"}) {
    command(with(kSweep, {"--shard", shard, "-o", folder / "part{shard}"}));
  }
  const std::string merged = page({"sweep", "--merge", folder / "part1", folder / "part2"});
  CHECK(contains(merged, R"(["acc=2","completes",)"));
  CHECK_FALSE(contains(merged, "queued behind nccl-1998#3"));
  CHECK(contains(merged, "--vary jitter=0,free --seeds 10"));

  const std::string good = page({"sweep", kSwin, "--vary", "acc=1,2"});
  CHECK(contains(good, "2 runs, all complete"));
  CHECK(command({"sweep", kSwin, "--html", folder / "no/such/a.html"}).code == 74);
}

TEST_CASE("the rows of a page are as few as they can be", "[app][sweep][html]") {
  const testing::Folder folder;
  // The job completes if a >= b or c is 2: 21 of 27 settings.
  const std::string path = folder.write("a.yaml", R"(
schema: 1
params: {a: 1, b: 1, c: 1}
ranks: 2
groups: {world: all}
programs:
  - on: all
    do: [{all_reduce: world, when: "rank == 0 or a >= b or c == 2"}]
)");
  const std::string page = folder / "a.html";
  const CommandResult result = command(
      {"sweep", path, "--vary", "a=1..3", "--vary", "b=1..3", "--vary", "c=1..3", "--html", page});
  INFO(result.out << result.err);
  CHECK(result.code == 1);
  const std::string text = testing::file_text(page);
  const std::size_t begin = text.find("\"id\":\"endings\"");
  const std::string endings = text.substr(begin, text.find("\"sorts\"", begin) - begin);
  for (const char* row : {R"(["a=1 b=2,3 c=1,3","A",4,4,4])", R"(["a=2 b=3 c=1,3","A",2,2,2])",
                          R"(["a=3","completes",9,9,0])"}) {
    INFO(endings);
    CHECK(contains(endings, row));
  }
}

TEST_CASE("shards that are not the whole are named", "[app][sweep]") {
  const testing::Folder folder;
  const Arguments sweep = {"sweep", kSwin, "--seeds", "9"};
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    command(with(sweep, {"--shard", shard, "-o", folder / "p{shard}"}));
  }
  command(with(sweep, {"--shard", "1/2", "-o", folder / "half"}));
  command({"sweep", kSwin, "--seeds", "8", "--shard", "2/3", "-o", folder / "other"});
  const auto merged = [&](const Arguments& files) {
    Arguments arguments = {"sweep", "--merge"};
    for (const std::string& file : files) arguments.push_back(folder / file);
    std::string text = command_mistake(arguments);
    for (std::size_t at = text.find(folder / ""); at != std::string::npos;
         at = text.find(folder / "")) {
      text.erase(at, (folder / "").size());
    }
    return text;
  };
  CHECK(merged({"p3"}) == "error[E1303]: 2 of 3 shards are missing: 1 and 2");
  CHECK(merged({"p1", "p3"}) == "error[E1303]: 1 of 3 shards is missing: 2");
  CHECK(merged({"p1", "p2", "p2", "p3"}) == "error[E1303]: shard 2/3 is given twice: p2 and p2");
  CHECK(merged({"p1", "other", "p3"}) == "error[E1303]: p1 and other are not of the same sweep");
  CHECK(merged({"half", "p2"}) == "error[E1303]: half and p2 are not of the same sweep");
  std::string text = testing::file_text(folder / "p2");
  text.erase(text.find('\n') + 1);
  folder.write("p2", text);
  CHECK(merged({"p1", "p2", "p3"}) ==
        "error[E1303]: shard 2/3 is not finished: p2 has 0 of 3 runs; run its command again to "
        "resume");
  CHECK(contains(command_mistake({"sweep", "--merge", kSwin}), "not a sweep file: invalid JSON"));
  CHECK(command({"sweep", "--merge", "no/such"}).code == 74);
}

TEST_CASE("an interrupted sweep goes on where it stopped", "[app][sweep]") {
  const testing::Folder folder;
  const std::string file = folder / "runs";
  const std::string whole = command(kSweep).out;
  const Arguments kept = with(kSweep, {"-o", file, "-j", "2"});
  std::atomic<bool> interrupted{true};
  const CommandResult stopped = command(kept, "", &interrupted);
  CHECK(stopped.code == 130);
  CHECK(stopped.out.empty());
  CHECK(stopped.err == "interrupted: 0 of 33 runs are done; they are in " + file +
                           ", and the same command resumes from there\n");
  CHECK(command(kept).out == whole);
  const std::string finished = testing::file_text(file);
  CHECK(lines_in(finished) == 34);
  // The sweep resumes wherever the file was truncated.
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, finished.find('\n') + 1,
                                 finished.size() / 2, finished.size() - 1, finished.size()}) {
    folder.write("runs", finished.substr(0, size));
    CHECK(command(kept).out == whole);
    CHECK(testing::file_text(file) == finished);
  }
  CHECK(command({"sweep", "--merge", file}).out == whole);
  const CommandResult lost = command(kSweep, "", &interrupted);
  CHECK(lost.err == "interrupted: 0 of 33 runs are done; with -o FILE they would have been kept\n");
}

TEST_CASE("runs that are in the file are not run again", "[app][sweep]") {
  const testing::Folder folder;
  const Arguments kept = {"sweep", kSwin, "--seeds", "3", "-o", folder / "runs"};
  command(kept);
  std::string text = testing::file_text(folder / "runs");
  const std::string before = "\"deadlock\",\"time_ns\":";
  text.replace(text.find(before), before.size(), "\"starved\",\"time_ns\":");
  CHECK(text.find("\"starved\"") != std::string::npos);
  folder.write("runs", text);
  CHECK(contains(command_mistake(kept), ":2:1: error[E1301]: this line is damaged"));
  folder.write("runs", testing::with_right_sums(text));
  CHECK(contains(command(kept).out, "1 run: starved, cycle:"));
}

TEST_CASE("the file of another sweep is left alone", "[app][sweep]") {
  const testing::Folder folder;
  const std::string file = folder / "runs";
  command({"sweep", kSwin, "--seeds", "3", "-o", file});
  const std::string text = testing::file_text(file);
  const std::string has = file + ":1:1: error[E1302]: this file has runs of ";
  CHECK(command_mistake({"sweep", kSwin, "--seeds", "4", "-o", file}) ==
        has + "other variables, seeds or jitter");
  CHECK(command_mistake({"sweep", kSwin, "--seeds", "3", "--set", "acc=2", "-o", file}) ==
        has + "other settings (--set)");
  CHECK(command_mistake({"sweep", "scenarios/buffer_on_the_wrong_stream.yaml", "--seeds", "3", "-o",
                         file}) == has + "another scenario, or of an earlier version of this one");
  CHECK(command_mistake({"sweep", kSwin, "--seeds", "3", "--shard", "1/2", "-o", file}) ==
        has + "shard 1/1");
  CHECK(testing::file_text(file) == text);
  std::string foreign = text;
  foreign.replace(foreign.find("\"case\":2"), 8, "\"case\":7");
  folder.write("runs", testing::with_right_sums(foreign));
  CHECK(command_mistake({"sweep", kSwin, "--seeds", "3", "-o", file}) ==
        file + ":1:1: error[E1302]: run 7 does not belong to this sweep");
  folder.write("runs", "mine\n");
  CHECK(contains(command_mistake({"sweep", kSwin, "-o", file}), "not a sweep file: invalid JSON"));
  CHECK(testing::file_text(file) == "mine\n");
  CHECK(command({"sweep", kSwin, "-o", folder / "no/such"}).code == 74);
}

TEST_CASE("mistakes in values are reported before anything is run", "[app][sweep]") {
  const auto of = [](const Arguments& options) {
    return command_mistake(with({"sweep", kSwin}, options));
  };
  const std::string file = std::string(kSwin) + ": error";
  CHECK(of({"--vary", "ac=1..3"}) == file + "[E0306]: --vary ac=1: unknown parameter");
  CHECK(of({"--vary", "acc=0..3"}) == file + "[E0307]: --vary acc=0: must be at least 1");
  CHECK(of({"--vary", "acc=1,2,x"}) == file + "[E0307]: --vary acc=x: unknown parameter 'x'");
  CHECK(of({"--vary", "bwd_dst_buffer=own,forwrd"}) ==
        file +
            "[E0307]: --vary bwd_dst_buffer=forwrd: 'forwrd' is not one of forward, backward, own");
  CHECK(of({"--set", "jitter=10%"}) == file + "[E0306]: --set jitter=10%: unknown parameter");
  const testing::Folder folder;
  folder.write("own.yaml", "schema: 1\nparams: {jitter: 3}\nactors: {a: {source: jitter}}\n");
  CHECK(command_mistake({"sweep", folder / "own.yaml", "--vary", "jitter=0,10%"}) ==
        (folder / "own.yaml") +
            ": error[E1504]: --vary jitter: ambiguous, since the scenario has a parameter of this "
            "name");
  CHECK(command({"sweep", folder / "own.yaml", "--set", "jitter=2", "--seeds", "2"}).code == 0);
  folder.write("bad.yaml",
               "schema: 1\nparams: {n: 2}\nactors: {a: {source: 1, takes: 3us - n * 1us}}\n");
  const CommandResult bad = command({"sweep", folder / "bad.yaml", "--vary", "n=2..5"});
  CHECK(bad.code == 2);
  CHECK(contains(bad.err, "bad.yaml:3:"));
  CHECK(contains(bad.err, "with n=4\n"));
  CHECK_FALSE(contains(bad.err, "with n=5"));
}

TEST_CASE("usage mistakes of sweep have their own words", "[app][sweep]") {
  const auto of = [](const Arguments& options) {
    return command_mistake(with({"sweep", kSwin}, options))
        .substr(std::string("error[E1504]: ").size());
  };
  CHECK(of({"--vary", "acc"}) == "--vary: expected NAME=VALUES, found 'acc'");
  CHECK(of({"--vary", "acc=1", "--vary", "acc=2"}) == "'--vary acc' is given twice");
  CHECK(of({"--vary", "acc=1", "--set", "acc=2"}) ==
        "'--vary acc' and '--set acc' cannot be used together");
  CHECK(of({"--vary", "jitter=10"}) == "invalid value '10' for '--vary jitter'");
  CHECK(of({"--seeds", "0"}) == "invalid value '0' for '--seeds'");
  CHECK(of({"--seeds", "many"}) == "invalid value 'many' for '--seeds'");
  CHECK(of({"--seeds", "10000000", "--vary", "acc=1..2"}) ==
        "this is more than 10000000 runs: too many for one sweep");
  CHECK(of({"--shard", "1/2"}) == "'--shard' needs '--output FILE'");
  CHECK(of({"--shard", "1/2", "-o", "-"}) == "'--output' cannot write to standard output");
  CHECK(of({"--shard", "1/2", "-o", "x", "--json"}) ==
        "'--json' and '--shard' cannot be used together");
  CHECK(of({"--shard", "1/2", "-o", "x", "--html", "y"}) ==
        "'--html' and '--shard' cannot be used together");
  CHECK(of({"--html", "-"}) == "'--html' cannot write to standard output");
  CHECK(of({"--json", "--csv", "-"}) == "'--json' and '--csv -' cannot be used together");
  CHECK(of({"--merge", "--seeds", "3"}) == "'--merge' and '--seeds' cannot be used together");
  CHECK(command_mistake({"sweep", "--merge"}) ==
        "error[E1503]: '--merge' needs the outputs of all shards");
  CHECK(contains(command_mistake({"sweep", "x.goal"}), "'pipesim sweep' does not take GOAL files"));
}

TEST_CASE("without seeds and jitter a sweep runs each setting once", "[app][sweep]") {
  const CommandResult result = command({"sweep", kSwin, "--vary", "acc=1..2"});
  CHECK(result.code == 0);
  CHECK(contains(result.out, "swin_2x2x2  2 runs: all complete\n\n"));
  const CommandResult timed = command({"sweep", kSwin, "--vary", "acc=1..2", "--seeds", "3"});
  CHECK(contains(timed.out, "Timings: seeds 0 to 2; durations vary by up to 10%\n"));
}

TEST_CASE("a verdict that says why is not said twice", "[app][sweep]") {
  const std::string out = command({"sweep", "scenarios/deepspeed_loss_broadcast.yaml"}).out;
  CHECK(contains(out,
                 "  A  1 run: mismatch: total_loss\n"
                 "     pipesim run scenarios/deepspeed_loss_broadcast.yaml\n"));
}
