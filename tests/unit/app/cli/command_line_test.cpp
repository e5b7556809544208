#include "app/cli/command_line.hpp"

#include <atomic>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/without_command.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

using Result = testing::CommandResult;

const std::string kSmall = "schema: 1\nactors: {a: {source: 1, takes: 1us}}\n";

}  // namespace

TEST_CASE("without a command the help goes to the error stream", "[app][command_line]") {
  const Result result = command({});
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(contains(result.err, "Usage: pipesim COMMAND"));
}

TEST_CASE("help and version are answers", "[app][command_line]") {
  CHECK(contains(command({"--help"}).out, "run"));
  CHECK(command({"--help"}).code == 0);
  CHECK(command({"help", "run"}).out == command({"run", "--help"}).out);
  CHECK(contains(command({"run", "--help"}).out, "--set NAME=VALUE"));
  const std::string version = command({"--version"}).out;
  CHECK(version.substr(0, 8) == "pipesim ");
  for (const char* line : {"\ncommit: ", "\ncompiler: ", "\nlibraries: Boost "})
    CHECK(contains(version, line));
}

TEST_CASE("misspelt commands and options are reported with the nearest", "[app][command_line]") {
  CHECK(contains(command({"rnu"}).err,
                 "error[E1501]: unknown command 'rnu'\n  help: did you mean 'run'?"));
  CHECK(contains(command({"run", "--jsn", "x"}).err, "did you mean '--json'?"));
  CHECK(command({"run", "--jsn", "x"}).code == 2);
  // The command line has no abbreviations: a prefix that is unique today can become ambiguous
  // tomorrow.
  CHECK(command({"run", "--js", "x"}).code == 2);
}

TEST_CASE("a usage error names the help that says more", "[app][command_line]") {
  const auto help = [](const std::vector<std::string>& arguments) {
    const std::string text = command(arguments).err;
    return text.substr(text.find("  help: "));
  };
  CHECK(help({"nosuch"}) == "  help: 'pipesim --help' lists the commands\n");
  CHECK(help({"help", "nosuch"}) == "  help: 'pipesim --help' lists the commands\n");
  for (const std::string name : {"run", "draw", "sweep", "new", "completion"}) {
    CHECK(help({name, "--zzzzzzz"}) == "  help: 'pipesim " + name + " --help' lists the options\n");
  }
}

TEST_CASE("usage mistakes of run have their own words", "[app][command_line]") {
  CHECK(contains(command({"run"}).err, "'pipesim run' needs a file"));
  CHECK(contains(command({"run", "a", "b"}).err, "takes one file, found 2"));
  CHECK(contains(command({"run", "a", "--set", "x"}).err,
                 "'--set' needs a name and a value, found 'x'"));
  CHECK(contains(command({"run", "a", "--color", "green"}).err,
                 "possible values: auto, always, never"));
  CHECK(command({"run"}).code == 2);
}

TEST_CASE("a dash is standard input", "[app][command_line]") {
  const Result good = command({"run", "-"}, kSmall);
  CHECK(good.code == 0);
  CHECK(contains(good.out, "COMPLETED at 1 us"));
  const Result bad = command({"run", "-"}, "schema: 2\n");
  CHECK(bad.code == 2);
  CHECK(contains(bad.err,
                 "standard input:1:9: error[E0108]: this pipesim reads schema 1, found '2'"));
}

TEST_CASE("files that cannot be read or written exit with 74", "[app][command_line]") {
  CHECK(command({"run", "no/such/file.yaml"}).code == 74);
  CHECK(contains(command({"run", "no/such/file.yaml"}).err, "No such file or directory"));
  CHECK(command({"run", "scenarios"}).code == 2);  // this folder is not a record
  const Result result = command({"run", "-", "--dot", "no/such/folder/x.dot"}, kSmall);
  CHECK(result.code == 74);
  CHECK(result.out.empty());
}

TEST_CASE("a stream that cannot be written to is no success", "[app][command_line]") {
  std::istringstream in(kSmall);
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  CHECK(app::run_command_line({"run", "-"}, {in, out, err}) == 74);
}

TEST_CASE("the exit code tells a hang from a completed run", "[app][command_line]") {
  CHECK(command({"run", "scenarios/buffer_on_the_wrong_stream.yaml"}).code == 1);
  CHECK(command({"run", "scenarios/buffer_on_the_right_stream.yaml"}).code == 0);
}

TEST_CASE("colour is there only where it is asked for", "[app][command_line]") {
  const std::string file = "scenarios/buffer_on_the_wrong_stream.yaml";
  CHECK(!contains(command({"run", file}).out, "\033["));
  CHECK(contains(command({"run", file, "--color", "always"}).out, "\033[31;1mDEADLOCK"));
}

TEST_CASE("the option params lists what --set can set", "[app][command_line]") {
  const Result result = command({"run", "scenarios/swin_2x2x2.yaml", "--params"});
  CHECK(result.code == 0);
  CHECK(contains(result.out, "bwd_dst_buffer"));
  CHECK(contains(result.out, "forward, backward, own"));
  CHECK(contains(command({"run", "-", "--params"}, kSmall).out, "no parameters"));
}

TEST_CASE("a run can be stopped at a time or when an op is entered", "[app][command_line]") {
  // The thread launches a#1 and a#2 at 0, because launches do not block. Each runs for 1 us, so a#1
  // is done at 1 us.
  const std::string scenario = "schema: 1\nactors: {a: {source: 4, slots: 2, takes: 1us}}\n";
  const auto until = [&](const std::string& when) {
    return command({"run", "-", "--until", when}, scenario);
  };
  CHECK(until("1us").code == 3);
  CHECK(contains(until("1us").out, "LIMIT (until) at 1 us   1 rank, 1 of 4 ops done"));
  CHECK(contains(until("1999ns").out, "1 of 4 ops done"));
  CHECK(contains(until("rank0:a#1").out, "LIMIT (until) at 0 ns   1 rank, 0 of 4 ops done"));
  // A stop time after the end of the run has no effect.
  CHECK(contains(until("1s").out, "COMPLETED at 4 us"));
  CHECK(until("rank0:a#5").code == 2);
  CHECK(contains(until("rank0:a#5").err, "rank 0 a runs 4 times, so there is no #5"));
  CHECK(contains(until("rank0:b#1").err, "there is no rank 0 b#1"));
  CHECK(contains(until("rank7:a#1").err, "unknown rank 7: ranks are 0 to 0"));
  CHECK(until("rank0:a").code == 2);
  CHECK(contains(until("rank0:a").err, "say which"));
  const auto in_schedule = [](const std::string& at) {
    return command({"run", "scenarios/pipeline_1f1b.yaml", "--until", at});
  };
  CHECK(contains(in_schedule("rank 0 0F").err, "say which: rank 0 0F0 to 0F7"));
  CHECK(testing::without_command(in_schedule("rank 0 0F3").out) ==
        testing::without_command(in_schedule("rank 0 0F3#1").out));
  CHECK(in_schedule("rank 0 0F3").err.empty());
  // The spelling of reports, "rank 0 a#1", works as well.
  CHECK(testing::without_command(until("rank 0 a#1").out) ==
        testing::without_command(until("rank0:a#1").out));
  for (const char* nonsense : {"12", ""}) {
    INFO(nonsense);
    CHECK(until(nonsense).code == 2);
    CHECK(contains(until(nonsense).err, "for '--until'\n  help: expected a time"));
  }
  for (const char* nonsense :
       {"rank0", "rankx:a#1", "rank0:a#0", "rank0:#1", "rank 0", "rank", "-1us"}) {
    INFO(nonsense);
    CHECK(until(nonsense).code == 2);
    CHECK(contains(until(nonsense).err, "does not name an op\n"));
    CHECK(contains(until(nonsense).err, "help: a time is a number with a unit"));
  }
  const std::string stuck =
      "schema: 1\nactors: {a: {kind: wait_and_send_ids, source: 1, "
      "waits_for_input: {items: 0}}, b: {reads: [a]}}\n";
  const Result missed = command({"run", "-", "--until", "rank0:b#1"}, stuck);
  CHECK(contains(missed.err, "rank 0 b#1 is never entered"));
  CHECK(missed.code == 1);
  CHECK(contains(missed.out, "HANGS (missing input) at "));
  // --until can name the op that a rank hangs in.
  const Result inside = command({"run", "-", "--until", "rank0:a#1"}, stuck);
  CHECK(inside.err.empty());
  CHECK(testing::without_command(inside.out) ==
        testing::without_command(command({"run", "-"}, stuck).out));
}

TEST_CASE("stacks show where each thread stands, as py-spy does", "[app][command_line]") {
  const std::string scenario =
      "schema: 1\nranks: 2\ngroups: {g: all}\nprograms:\n  - {on: 0, do: [{barrier: g, at: "
      "\"train.py:7 main\"}]}\n  - {on: 1, thread: io, do: [{host: read}]}\n";
  const Result result = command({"run", "-", "--stacks"}, scenario);
  CHECK(result.code == 1);
  CHECK(result.out ==
        "Process 0: rank 0 of standard input\n\nThread 1 (idle): \"main\"\n"
        "    barrier hosts of g#1 (started) (pipesim)\n    main (train.py:7)\n\n"
        "Process 1: rank 1 of standard input\n\nThread 1 (idle): \"io\"\n"
        "    <finished> (pipesim)\n");
  CHECK(command({"run", "-", "--stacks", "--json"}, scenario).code == 2);
}

TEST_CASE("texts from a file cannot give orders to a terminal", "[app][command_line]") {
  const std::string scenario =
      "schema: 1\nranks: 2\ngroups: {g: all}\nparams: {p: {default: 1, about: "
      "\"a\\e[31m\\nb\\n\"}}\n"
      "programs:\n  - {on: 0, do: [{barrier: g, at: \"a\\e[31m b\"}]}\n";
  for (const char* option : {"--color=never", "--stacks", "--json", "--params"}) {
    INFO(option);
    const Result result = command({"run", "-", option}, scenario);
    CHECK(result.err.empty());
    CHECK(!contains(result.out, "\x1b"));
  }
  CHECK(contains(command({"run", "-", "--params"}, scenario).out, "a?[31m b\n"));
  const Result wrong = command({"run", "-"}, "schema: 1\nname: {\"\\e\": 1}\n\"\\e\": 1\n");
  CHECK(wrong.code == 2);
  CHECK(!contains(wrong.err, "\x1b"));
}

TEST_CASE("an interrupted run reports the state reached and exits with 130",
          "[app][command_line]") {
  std::istringstream in("schema: 1\nactors: {a: {source: 1000000, takes: 1us}}\n");
  std::ostringstream out;
  std::ostringstream err;
  const std::atomic<bool> interrupted{true};
  CHECK(app::run_command_line(
            {"run", "-"}, {.in = in, .out = out, .err = err, .interrupted = &interrupted}) == 130);
  CHECK(contains(out.str(), "LIMIT (interrupted)"));
}

TEST_CASE("a picture replaces the file as a whole", "[app][command_line]") {
  const testing::Folder folder;
  const std::string path = folder / "graph.dot";
  command({"run", "scenarios/buffer_on_the_wrong_stream.yaml", "--dot", path});
  CHECK(std::filesystem::file_size(path) > 100);
  // The folder holds only the file, no half-written temporary file.
  CHECK(folder.files() == 1);
}
