// `pipesim diff`: the inputs it accepts, and its exit codes.
#include <atomic>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::command;
using testing::CommandResult;
using testing::contains;

namespace {

const std::string kSwin = "scenarios/swin_2x2x2.yaml";
const std::string kSmall = "schema: 1\nparams: {t: 1us}\nactors: {a: {source: 1, takes: t}}\n";

}  // namespace

TEST_CASE("scenario and report of one run are the same", "[app][diff]") {
  const testing::Folder folder;
  const std::string report = folder.write("r.json", command({"run", kSwin, "--json"}).out);
  for (const std::string& a : {kSwin, report}) {
    for (const std::string& b : {kSwin, report}) {
      if (a == b) continue;
      const CommandResult result = command({"diff", a, b});
      INFO(a << " " << b << "\n" << result.out << result.err);
      CHECK(result.code == 0);
      CHECK(contains(result.out, "The same: deadlock at 43.6 us"));
    }
  }
  const std::string other =
      folder.write("o.json", command({"run", kSwin, "--set", "acc=2", "--json"}).out);
  const CommandResult result = command({"diff", report, other});
  CHECK(result.code == 1);
  CHECK(contains(result.out, "verdict      deadlock -> completed"));
  CHECK(contains(result.out, "fingerprint  "));
  CHECK(!contains(result.out, "Where they first differ"));
}

TEST_CASE("the order of declarations is no difference", "[app][diff]") {
  const testing::Folder folder;
  const std::string a = folder.write(
      "a.yaml", "schema: 1\nactors:\n  a: {source: 1, takes: 1us}\n  b: {source: 1, takes: 2us}\n");
  const std::string b = folder.write(
      "b.yaml", "schema: 1\nactors:\n  b: {source: 1, takes: 2us}\n  a: {source: 1, takes: 1us}\n");
  CHECK(command({"diff", a, b}).code == 0);
}

TEST_CASE("one file has two settings", "[app][diff]") {
  const CommandResult result =
      command({"diff", "-", "--set-a", "t=2us", "--set-b", "t=5us"}, kSmall);
  CHECK(result.code == 1);
  CHECK(contains(result.out, "A  standard input --set t=2us\nB  standard input --set t=5us\n"));
  CHECK(contains(result.out, "time     2 us -> 5 us (+3 us, +150.0%)"));
  // A setting for both sides can be overridden for each side.
  CHECK(command({"diff", "-", "--set", "t=5us", "--set-a", "t=5us"}, kSmall).code == 0);
  CHECK(command({"diff", "-", "--set", "t=5us"}, kSmall).code == 2);
  CHECK(command({"diff", "-"}, kSmall).code == 2);
  CHECK(command({"diff"}).code == 2);
  CHECK(command({"diff", "a", "b", "c"}).code == 2);
  CHECK(contains(command({"diff", "-", "--set-a", "t"}, kSmall).err,
                 "'--set-a' needs a name and a value"));
}

TEST_CASE("bad sides are reported with their places", "[app][diff]") {
  const testing::Folder folder;
  const std::string good = folder.write("good.yaml", kSmall);
  const std::string bad = folder.write("bad.yaml", "schema: 1\nactors: {a: {source: x}}\n");
  const std::string json = folder.write("j.json", "{\"schema\": 1, \"fingerprint\": 0}");
  CHECK(command({"diff", good, bad}).code == 2);
  CHECK(contains(command({"diff", good, bad}).err, "bad.yaml:2:22: error[E0306]:"));
  CHECK(contains(command({"diff", json, good}).err,
                 "j.json:1:1: error[E1301]: this report has no 'verdict'"));
  CHECK(command({"diff", good, folder / "missing"}).code == 74);
  CHECK(contains(command({"diff", good, json, "--set-b", "t=1us"}).err,
                 "'--set' only applies to scenarios"));
}

TEST_CASE("a page has both sides beside each other", "[app][diff][html]") {
  const testing::Folder folder;
  const auto page = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "diff");
    const CommandResult without = command(arguments);
    const std::string path = folder / "page.html";
    arguments.insert(arguments.end(), {"--html", path});
    const CommandResult with = command(arguments);
    CHECK(with.code == without.code);
    CHECK(with.out == without.out);
    return testing::file_text(path);
  };
  const std::string other = page({kSwin, "--set-a", "acc=3", "--set-b", "acc=2"});
  CHECK(contains(other, "A and B differ"));
  CHECK(contains(other, "A: a cycle of 10 waits"));
  CHECK(contains(other, "B: no cycle"));
  CHECK(contains(other, R"(["actor","Repeat","times","3","2","line 87","line 87"])"));
  CHECK(contains(other, ": pipesim diff scenarios/swin_2x2x2.yaml --set-a acc=3 --set-b acc=2"));
  // A report names only the ops of the cycle.
  const std::string report = folder.write("r.json", command({"run", kSwin, "--json"}).out);
  const std::string same = page({kSwin, report});
  CHECK(contains(same, "A and B are the same"));
  CHECK(contains(same, R"([10,"rank 0 BdstBuf#1","yes"])"));
  CHECK(command({"diff", kSwin, report, "--html", "-"}).code == 2);
  CHECK(command({"diff", kSwin, report, "--html", folder / "no/such/a.html"}).code == 74);
}

TEST_CASE("interrupted, there is nothing to compare", "[app][diff]") {
  std::atomic<bool> interrupted = true;
  const std::string endless =
      "schema: 1\nparams: {t: 1us}\n"
      "actors: {a: {source: 1000000, takes: t}}\n";
  CHECK(command({"diff", "-", "--set-b", "t=2us"}, endless, &interrupted).code == 130);
}

TEST_CASE("as JSON nothing is left out", "[app][diff]") {
  const CommandResult text = command({"diff", kSwin, "--set-b", "acc=2", "--all"});
  CHECK(!contains(text.out, "(--all)"));
  const CommandResult json = command({"diff", kSwin, "--set-b", "acc=2", "--json"});
  CHECK(json.code == 1);
  CHECK(contains(json.out, "\"same\": false"));
  CHECK(contains(json.out, "\"key\": \"micro_batches\""));
}
