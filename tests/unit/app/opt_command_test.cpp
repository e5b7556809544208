#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"

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
  CHECK(result.out ==
        "schema: 1\nranks: 1\nstreams: [s, t]\nactors:\n"
        "  a: {stream: s, source: 3}\n  b: {stream: s, reads: [a]}\n");
  CHECK(command({"run", "-"}, result.out).code == 0);
  CHECK(command({"opt", "-"}, result.out).out == result.out);
}

TEST_CASE("opt --print-after-all shows the graph after each pass on standard error", "[app][opt]") {
  const CommandResult result = command(
      {"opt", "-", "--passes", "set-slots=a:slots=2,canonicalize", "--print-after-all"}, kScenario);
  CHECK(result.code == 0);
  CHECK(result.err == "# after set-slots=a:slots=2\n" + result.out + "\n# after canonicalize\n" +
                          result.out + "\n");
}

TEST_CASE("opt --list needs no file and says all options", "[app][opt]") {
  const CommandResult result = command({"opt", "--list"});
  CHECK(result.code == 0);
  CHECK(contains(result.out,
                 "set-slots\n"
                 "  sets the credits of a register\n"
                 "    op=TEXT            whose register\n"
                 "    slots=NUMBER       how many\n"
                 "    register=TEXT      which one (default: out)\n"));
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
        "--passes: error: there is no pass 'sett-slots'\n  help: did you mean 'set-slots'?\n");
  CHECK(told({"--verify-each", "maybe"}, kScenario) ==
        "pipesim: error: --verify-each is on or off, found 'maybe'\n"
        "  help: see 'pipesim --help'\n");
  CHECK(contains(told({}, "schema: 2\n"), "this pipesim reads schema 1"));
  CHECK(contains(told({"--passes", "canonicalize"},
                      "schema: 1\nactors:\n  a: {source: 2, carries: [x]}\n"
                      "  b: {reads: [{from: a, needs: []}]}\n"),
                 "standard input:4:15: error: the edge from 'a' to 'b' and its register do not "
                 "match"));
  CHECK(command({"opt"}).code == 2);
  CHECK(command({"opt", "/nowhere/to/be/found.yaml"}).code == 74);
}
