// `pipesim test`: the tests it finds, their results, and its output.
#include <atomic>
#include <filesystem>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/without_command.hpp"

using namespace pipesim;
using testing::command;
using testing::CommandResult;
using testing::contains;
using testing::file_text;

namespace {

const std::string kTestHead = "schema: 1\nparams: {n: 3}\nactors: {a: {source: n, takes: 2us}}\n";

std::string good(const std::string& expect) { return kTestHead + "expect: " + expect + "\n"; }

// Returns the output with the folder's path replaced by `.`.
std::string shown(std::string text, const testing::Folder& folder) {
  for (std::size_t at = text.find(folder.path()); at != std::string::npos;
       at = text.find(folder.path())) {
    text.replace(at, folder.path().size(), ".");
  }
  return text;
}

}  // namespace

TEST_CASE("a folder stands for the scenarios below it, in order", "[app][test]") {
  const testing::Folder folder;
  folder.write("b.yaml", good("{time: 6us}"));
  folder.write("a/c.yml", good("[{time: 6us}, {with: {n: 2}, time: 4us}]"));
  folder.write("a/other.yaml", "this: is no scenario\n");
  folder.write("a/notes.txt", good("{time: 7us}"));
  folder.write(".hidden/d.yaml", good("{time: 7us}"));
  folder.write("none.yaml", kTestHead);
  const CommandResult result = command({"test", folder.path()});
  CHECK(testing::without_command(shown(result.out, folder)) ==
        "passed   ./a/c.yml\n"
        "passed   ./a/c.yml [n=2]\n"
        "passed   ./b.yaml\n"
        "skipped  ./none.yaml: no 'expect'\n"
        "3 passed, 0 failed, 1 skipped\n");
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  // A file counts once. A file named on the command line is tested whatever its content.
  const CommandResult twice =
      command({"test", folder / "b.yaml", folder / "a/../b.yaml", folder / "a/other.yaml"});
  CHECK(contains(twice.out, "1 passed, 0 failed, 1 bad\n"));
  CHECK(twice.code == 2);
  // A file without expectations also counts as bad: it must not seem to pass.
  const CommandResult untested = command({"test", folder / "none.yaml", folder / "b.yaml"});
  CHECK(contains(untested.out, "nothing to test: the scenario has no 'expect'"));
  CHECK(contains(untested.out, "1 passed, 0 failed, 1 bad\n"));
  CHECK(untested.code == 2);
}

TEST_CASE("the exit code says what is worst", "[app][test]") {
  const testing::Folder folder;
  const std::string fine = folder.write("fine.yaml", good("{time: 6us}"));
  const std::string wrong = folder.write("wrong.yaml", good("{time: 7us}"));
  const std::string bad = folder.write("bad.yaml", "schema: 1\nactors: {a: {source: x}}\n");
  const std::string setting = folder.write("s.yaml", good("{with: {n: 2us}, time: 6us}"));
  const std::string graph = folder.write("g.yaml", good("{with: {n: 0 - 1}, time: 6us}"));
  CHECK(command({"test", fine}).code == 0);
  CHECK(command({"test", fine, wrong}).code == 1);
  CHECK(command({"test", fine, wrong, bad}).code == 2);
  CHECK(command({"test", setting}).code == 2);
  CHECK(command({"test", graph}).code == 2);
  CHECK(command({"test", bad, wrong, folder / "missing.yaml", fine}).code == 74);
  CHECK(contains(command({"test", folder / "missing.yaml"}).out, "No such file"));
  CHECK(contains(command({"test", bad}).out, ":2:22: error[E0306]: unknown parameter 'x'"));
  CHECK(command({"test", folder / "missing"}).code == 74);
  CHECK(command({"test", "-"}, good("{time: 6us}")).code == 0);
}

TEST_CASE("nothing to test is a mistake", "[app][test]") {
  const testing::Folder empty;
  CHECK(contains(command({"test", empty.path()}).err, "no scenarios found"));
  CHECK(command({"test", empty.path()}).code == 2);
  // A folder whose scenarios have no expectations also counts as bad.
  const testing::Folder folder;
  folder.write("a.yaml", kTestHead);
  const CommandResult one = command({"test", folder.path()});
  CHECK(contains(one.err,
                 "nothing to test: the only scenario has no 'expect'\n"
                 "  help: say what should happen: 'expect: {verdict: completed}'"));
  CHECK(one.code == 2);
  folder.write("b.yaml", kTestHead);
  const CommandResult two = command({"test", folder.path(), "--junit", folder / "out.xml"});
  CHECK(contains(two.err, "nothing to test: none of the 2 scenarios has an 'expect'"));
  CHECK(two.code == 2);
  folder.write("c.yaml", good("{time: 6us}"));
  CHECK(command({"test", folder.path()}).code == 0);
}

TEST_CASE("a filter is a regular expression on names", "[app][test]") {
  const testing::Folder folder;
  folder.write("f.yaml", good("[{time: 6us}, {with: {n: 2}, time: 4us}, {with: {n: 12}}]"));
  CHECK(contains(command({"test", folder.path(), "--filter", "n=2"}).out, "1 passed, 0 failed\n"));
  CHECK(contains(command({"test", folder.path(), "-k", "n=.?2\\]"}).out, "2 passed, 0 failed\n"));
  CHECK(command({"test", folder.path(), "-k", "zzz"}).code == 2);
  CHECK(contains(command({"test", folder.path(), "-k", "zzz"}).err, "--filter matches no test"));
  CHECK(contains(command({"test", "-k", "("}).err, "invalid value '(' for '--filter'"));
}

TEST_CASE("tests of one setting have numbers", "[app][test]") {
  const testing::Folder folder;
  folder.write("f.yaml",
               good("[{time: 6us}, {verdict: completed}, {with: {n: 2}}, {with: {n: 2}}]"));
  CHECK(testing::without_command(shown(command({"test", folder.path()}).out, folder)) ==
        "passed   ./f.yaml\npassed   ./f.yaml #2\npassed   ./f.yaml [n=2]\n"
        "passed   ./f.yaml [n=2] #2\n4 passed, 0 failed\n");
}

TEST_CASE("any number of threads prints the same", "[app][test]") {
  const auto same = [](const std::vector<std::string>& arguments, const char* many) {
    const auto with = [&](const char* jobs) {
      std::vector<std::string> all = arguments;
      all.insert(all.end(), {"--jobs", jobs});
      return command(all);
    };
    const CommandResult one = with("1");
    const CommandResult several = with(many);
    CHECK(one.out == several.out);
    CHECK(one.code == several.code);
  };
  same({"test", "scenarios", "--junit", "-"}, "8");
  const testing::Folder folder;
  for (const std::string name : {"a", "b", "c", "d"}) {
    folder.write(name + "_fails.yaml", good("{time: 7us}"));
    folder.write(name + "_has_errors.yaml", good("{time: soon}"));
  }
  same({"test", "scenarios", folder.path()}, "3");
  CHECK(command({"test", "-j", "0"}).code == 2);
  CHECK(command({"test", "-j", "many"}).code == 2);
}

TEST_CASE("update puts exact figures into the file and nothing else", "[app][test]") {
  const testing::Folder folder;
  const std::string before =
      "# What it shows.\r\n" + good(
                                   "\n  # two\n  - {verdict: completed, time: 7us}   # slow\n"
                                   "  - with: {n: 2}\n    time:  '9 ms'\n");
  std::string after = before;
  after.replace(after.find("7us"), 3, "6us");
  after.replace(after.find("9 ms"), 4, "4us");
  const std::string file = folder.write("u.yaml", before);
  const CommandResult result = command({"test", file, "--update"});
  CHECK(result.code == 0);
  CHECK(contains(result.out, "updated  "));
  CHECK(contains(result.out, "  updated, line 7: expected time 7 us, found 6 us\n"));
  CHECK(contains(result.out, "0 passed, 2 updated, 0 failed\n"));
  CHECK(file_text(file) == after);
  const CommandResult again = command({"test", file, "--update"});
  CHECK(contains(again.out, "2 passed, 0 failed\n"));
  CHECK(file_text(file) == after);
}

TEST_CASE("update takes another end over only when asked", "[app][test]") {
  const testing::Folder folder;
  const std::string before = good("{verdict: deadlock, time: 1us, cycle_length: 4}");
  const std::string file = folder.write("v.yaml", before);
  const CommandResult refused = command({"test", file, "--update"});
  CHECK(refused.code == 1);
  CHECK(contains(refused.out, "help: a verdict is only updated with --update-verdicts"));
  CHECK(file_text(file) == before);
  CHECK(command({"test", file, "--update-verdicts"}).code == 0);
  CHECK(file_text(file) == good("{verdict: completed, time: 6us, cycle_length: 0}"));
  CHECK(command({"test", "-", "--update"}).code == 2);
}

TEST_CASE("what cannot be updated stays failed and says so", "[app][test]") {
  const testing::Folder folder;
  const std::string before = good("{time: 3 * 3us, order: [b#1]}");
  const std::string file = folder.write("r.yaml", before);
  const CommandResult result = command({"test", file, "--update"});
  CHECK(result.code == 1);
  CHECK(contains(result.out,
                 "help: not updated: not a plain value, or shared by tests with different"));
  CHECK(file_text(file) == before);
}

TEST_CASE("interrupted, it says what was not run", "[app][test]") {
  std::atomic<bool> interrupted = true;
  const CommandResult result =
      command({"test", "scenarios", "-q", "-k", "swin_2x2x2.yaml$"}, "", &interrupted);
  CHECK(result.code == 130);
  CHECK(testing::without_command(result.out) ==
        "not run  scenarios/swin_2x2x2.yaml: interrupted\n0 passed, 0 failed, 1 not run\n");
}

TEST_CASE("quiet lists only what did not pass", "[app][test]") {
  const testing::Folder folder;
  folder.write("f.yaml", good("[{time: 6us}, {with: {n: 2}, time: 5us}]"));
  const CommandResult result = command({"test", folder.path(), "-q"});
  CHECK(testing::without_command(shown(result.out, folder)) ==
        "FAILED   ./f.yaml [n=2]\n"
        "./f.yaml:4:44: error[E0903]: expected time 5 us, found 4 us\n"
        "  expect: [{time: 6us}, {with: {n: 2}, time: 5us}]\n"
        "                                             ^\n"
        "  help: see 'pipesim help E0903'\n"
        "  to rerun: pipesim run ./f.yaml --set n=2\n"
        "1 passed, 1 failed\n");
}
