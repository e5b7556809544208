#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/without_command.hpp"

using namespace pipesim;
using testing::command;
using testing::CommandResult;
using testing::contains;

namespace {

const char* const kScenario =
    "schema: 1\nparams: {n: 2}\nstreams: [s, t]\nactors:\n"
    "  a: {stream: s, source: n}\n  b: {stream: t, reads: [a]}\n";

}  // namespace

TEST_CASE("opt prints a scenario that run and opt can read", "[app][opt]") {
  const CommandResult result =
      command({"opt", "-", "--set", "n=3", "--passes", "move-to-stream=b:stream=s"}, kScenario);
  CHECK(result.err == "");
  CHECK(result.code == 0);
  const std::string text = testing::without_command(result.out);
  CHECK(text ==
        "schema: 1\nranks: 1\nstreams: [s, t]\nactors:\n"
        "  a: {stream: s, source: 3}\n  b: {stream: s, reads: [a]}\n");
  CHECK(command({"run", "-"}, result.out).code == 0);
  CHECK(testing::without_command(command({"opt", "-"}, result.out).out) == text);
}

TEST_CASE("opt --print-after-all shows the graph after each pass on standard error", "[app][opt]") {
  const CommandResult result = command(
      {"opt", "-", "--passes", "set-slots=a:slots=2,canonicalize", "--print-after-all"}, kScenario);
  CHECK(result.code == 0);
  const std::string text = testing::without_command(result.out);
  CHECK(result.err ==
        "# after set-slots=a:slots=2\n" + text + "\n# after canonicalize\n" + text + "\n");
}

TEST_CASE("opt --list needs no file and says all options", "[app][opt]") {
  const CommandResult result = command({"opt", "--list"});
  CHECK(result.code == 0);
  CHECK(contains(result.out,
                 "set-slots\n"
                 "  sets the credits of a register\n"
                 "    op=TEXT            the op\n"
                 "    slots=NUMBER       number of slots\n"
                 "    register=TEXT      name of its register (default: out)\n"));
}

TEST_CASE("what is wrong with opt's arguments and input is said, with exit code 2", "[app][opt]") {
  const auto told = [](std::vector<std::string> arguments, const char* input) {
    arguments.insert(arguments.begin(), {"opt", "-"});
    const CommandResult result = command(arguments, input);
    CHECK(result.code == 2);
    CHECK(result.out == "");
    return result.err;
  };
  CHECK(told({"--passes", "sett-slots"}, kScenario) ==
        "--passes:1:1: error[E0703]: unknown pass 'sett-slots'\n  sett-slots\n  ^\n"
        "  help: did you mean 'set-slots'?\n");
  CHECK(told({"--verify-each", "maybe"}, kScenario) ==
        "error[E1504]: invalid value 'maybe' for '--verify-each'\n  help: possible values: on, "
        "off\n");
  CHECK(contains(told({}, "schema: 2\n"), "this pipesim reads schema 1"));
  CHECK(contains(
      told({"--passes", "canonicalize"},
           "schema: 1\nactors:\n  a: {source: 2, carries: [x]}\n"
           "  b: {reads: [{from: a, needs: []}]}\n"),
      "standard input:4:15: error[E0708]: the edge from 'a' to 'b' and its register do not "
      "match"));
  CHECK(command({"opt"}).code == 2);
  CHECK(command({"opt", "/nowhere/to/be/found.yaml"}).code == 74);
}

TEST_CASE("opt shows how a model becomes tasks, and stops where its user says", "[app][opt]") {
  const char* const model =
      "schema: 1\nmodel: {layers: [{name: l, ops: {a: {takes: 1us}}}]}\n"
      "passes: {insert-nccl-logical: {communicators: start}}\n";
  const CommandResult tasks = command({"opt", "-"}, model);
  CHECK(tasks.code == 0);
  CHECK(tasks.err == "");
  CHECK(contains(tasks.out, "  l-a: {phase: forward, stream: COMPUTE, takes: 1us, reads: "));
  CHECK(command({"run", "-"}, tasks.out).out == command({"run", "-"}, model).out);

  const CommandResult steps = command({"opt", "-", "--print-after-all"}, model);
  CHECK(testing::without_command(steps.out) == testing::without_command(tasks.out));
  CHECK(contains(steps.err,
                 "# after pipeline-stages\n"
                 "images: input, forward, stage 0; gives (S(0), B)\n"
                 "l-a: compute, forward, stage 0; reads images as (S(0), B); gives (S(0), B)\n"));
  CHECK(contains(steps.err, "# after insert-nccl-logical:communicators=start\n"));

  // A list of passes without a backward is valid.
  const CommandResult forward =
      command({"opt", "-", "--passes", "build-forward,pipeline-stages,build-tasks"}, model);
  CHECK(forward.code == 0);
  CHECK_FALSE(contains(forward.out, "l-a_grad"));
  const CommandResult early = command({"opt", "-", "--passes", "build-forward"}, model);
  CHECK(early.code == 2);
  CHECK(early.out == "");
  CHECK(early.err ==
        "standard input: error[E0706]: these passes leave a model without tasks\n  help: add "
        "'build-tasks'; --print-after-all shows the ops so far\n");
  const CommandResult none = command({"opt", "-", "--explain-boxing"}, kScenario);
  CHECK(none.code == 2);
  CHECK(none.err ==
        "standard input: error[E1401]: nothing to explain: the scenario has no 'model'\n"
        "  help: see 'pipesim help E1401'\n");
}

TEST_CASE("a name that a spreadsheet takes for a formula is quoted", "[app][opt]") {
  std::string model = testing::file_text("tests/golden/explain_boxing/scenario.yaml");
  const std::string name = "name: block";
  REQUIRE(contains(model, name));
  model.replace(model.find(name), name.size(), "name: \"=block\"");
  const CommandResult result = command({"opt", "-", "--explain-boxing"}, model);
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "\n\"=block0-up\",\"=block0-table\","));
  CHECK_FALSE(contains(result.out, "\n="));
  CHECK_FALSE(contains(result.out, ",="));
}
