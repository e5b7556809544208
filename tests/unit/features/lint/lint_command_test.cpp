#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/without_command.hpp"

#include "features/lint/lint.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

const char* const kSuspect = R"(schema: 1
params: {slots: 1}
actors:
  a: {source: 4, slots: 2, registers: {ctrl: {control: on, slots: slots}}}
  b: {reads: [a], after: [a.ctrl]}
)";

}  // namespace

TEST_CASE("lint: exit code, place, rule and page", "[app][lint]") {
  const auto result = command({"lint", "-"}, kSuspect);
  CHECK(result.code == 1);
  CHECK(result.err.empty());
  CHECK(contains(result.out, "standard input:4:40: suspect: control register 'ctrl' of 'a' has"));
  CHECK(contains(result.out, "[control-credits]\n"));
  CHECK(contains(result.out, "\n  see docs/reference/lint.md#control-credits\n"));
  CHECK(contains(result.out, "\nstandard input: 1 finding\n"));
}

TEST_CASE("lint: settings and rules that are ignored", "[app][lint]") {
  const auto set = command({"lint", "-", "--set", "slots=2"}, kSuspect);
  CHECK(set.code == 0);
  CHECK(testing::without_command(set.out) == "standard input: no findings\n");
  CHECK(command({"lint", "-", "--ignore", "control-credits"}, kSuspect).code == 0);
  CHECK(command({"lint", "-", "--ignore", "partial-sum"}, kSuspect).code == 1);
  const auto unknown = command({"lint", "-", "--ignore", "control-credit"}, kSuspect);
  CHECK(unknown.code == 2);
  CHECK(contains(
      unknown.err,
      "invalid value 'control-credit' for '--ignore'\n  help: did you mean 'control-credits'?"));
}

TEST_CASE("lint: what cannot be looked at", "[app][lint]") {
  const auto broken = command({"lint", "-"}, "schema: 1\nactors: {a: {source: 1, reads: [b]}}\n");
  CHECK(broken.code == 2);
  CHECK(broken.out.empty());
  CHECK(contains(broken.err, "error[E0401]: unknown actor 'b'"));
  const auto uneven = command({"lint", "-"}, R"(schema: 1
actors: {a: {source: 3}, b: {source: 2}, c: {reads: [a, b]}}
)");
  CHECK(uneven.code == 2);
  CHECK(contains(uneven.err, "error[E0602]:"));
  CHECK(command({"lint", "there_is_no_such_file.yaml"}).code == 74);
  CHECK(command({"lint", "a.goal"}).code == 2);
}

TEST_CASE("lint: the list has every rule", "[app][lint]") {
  const auto result = command({"lint", "--list"});
  CHECK(result.code == 0);
  for (const models::LintRule& rule : models::lint_rules()) {
    CHECK(contains(result.out, std::string(rule.name) + " "));
  }
}
