#include "features/sweep/sweep_file.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/sweep_sums.hpp"

using namespace pipesim;
using formats::SweepFile;
using formats::SweepHead;
using models::CaseResult;

namespace {

SweepHead head() {
  SweepHead head;
  head.made_by = "1.2.3";
  head.path = "some/where.yaml";
  head.name = "x";
  head.scenario = 0xbeef;
  head.settings = {{"w", "a b"}};
  head.grid = {{{"acc", {"1", "2"}}, {"jitter", {"0", "10%"}}}, "0", 400, 7};
  head.shard = {2, 3};
  return head;
}

CaseResult hang() {
  CaseResult result;
  result.verdict = sim::Verdict::kDeadlock;
  result.time_ns = 43'600;
  result.ops_done = 284;
  result.ops_expected = 460;
  result.fingerprint = 0xffffffffffffffff;
  result.peak_bytes = 1024;
  result.why = "cycle: \"a\", b";
  return result;
}

SweepFile read(const std::string& text) {
  models::Diagnostics diagnostics;
  const auto file = formats::read_sweep_file(text, diagnostics);
  CAPTURE(testing::text_of(diagnostics));
  REQUIRE(file.has_value());
  return *file;
}

std::string file_mistake(const std::string& text) {
  models::Diagnostics diagnostics;
  CHECK_FALSE(formats::read_sweep_file(text, diagnostics).has_value());
  return testing::text_of(diagnostics);
}

}  // namespace

TEST_CASE("the file of a sweep is lines that people can read", "[formats][sweep_file]") {
  CHECK(formats::sweep_head_line(head()) ==
        R"({"pipesim_sweep":2,"made_by":"1.2.3","path":"some/where.yaml","name":"x",)"
        R"("scenario":"000000000000beef","settings":[["w","a b"]],)"
        R"("variables":[{"name":"acc","values":["1","2"]},{"name":"jitter","values":["0","10%"]}],)"
        R"("jitter":"0","seeds":400,"first_seed":7,"shard":[2,3],"sum":"aff39011a4e245e4"})"
        "\n");
  CHECK(
      formats::sweep_case_line(4, hang()) ==
      R"({"case":4,"verdict":"deadlock","time_ns":43600,"acts":[284,460],)"
      R"("fingerprint":"ffffffffffffffff","peak_bytes":1024,"why":"cycle: \"a\", b","sum":"59c6a6861e881578"})"
      "\n");
}

TEST_CASE("what was written is read, in whatever order it stands", "[formats][sweep_file]") {
  CaseResult limit;
  limit.verdict = sim::Verdict::kLimit;
  const std::string text = formats::sweep_head_line(head()) + formats::sweep_case_line(4, hang()) +
                           formats::sweep_case_line(1, limit) + formats::sweep_case_line(4, hang());
  const SweepFile file = read(text);
  CHECK(file.head.same_sweep(head()));
  CHECK(file.head.path == head().path);
  CHECK(file.head.name == "x");
  CHECK(file.head.shard == head().shard);
  CHECK(file.whole_bytes == text.size());
  REQUIRE(file.cases.size() == 2);
  CHECK(file.cases[0] == std::pair<std::uint64_t, CaseResult>(1, limit));
  CHECK(file.cases[1] == std::pair<std::uint64_t, CaseResult>(4, hang()));
}

TEST_CASE("a last line that was torn off does not count", "[formats][sweep_file]") {
  const std::string whole = formats::sweep_head_line(head()) + formats::sweep_case_line(1, hang());
  const std::string last = formats::sweep_case_line(4, hang());
  for (std::size_t size = 0; size < last.size(); ++size) {
    const SweepFile file = read(whole + last.substr(0, size));
    CHECK(file.cases.size() == 1);
    CHECK(file.whole_bytes == whole.size());
  }
}

TEST_CASE("what is no sweep is refused where it stands", "[formats][sweep_file]") {
  const std::string first = formats::sweep_head_line(head());
  const auto with = [&](const std::string& part, const std::string& by) {
    std::string text = first;
    return text.replace(text.find(part), part.size(), by);
  };
  CHECK(file_mistake("") == "1:1: not a sweep file: its first line is missing or incomplete\n");
  CHECK(file_mistake(first.substr(0, 40)) ==
        "1:1: not a sweep file: its first line is missing or incomplete\n");
  CHECK(file_mistake("schema: 1\n") == "1:1: not a sweep file: invalid JSON\n");
  CHECK(file_mistake("[1]\n") == "1:1: not a sweep file: it has no 'pipesim_sweep'\n");
  CHECK(file_mistake(with("\"pipesim_sweep\":2", "\"pipesim_sweep\":1")) ==
        "1:1: this pipesim reads sweeps of schema 2, found 1\n");
  for (const auto& [part, by] :
       {std::pair("beef", "bee"), std::pair("[2,3]", "[4,3]"), std::pair("[2,3]", "[0,3]"),
        std::pair("[2,3]", "[2,1000001]"), std::pair("400", "\"400\""), std::pair("400", "4e2"),
        std::pair("400", "26888888888888888888887"), std::pair("400", "-400"),
        std::pair("[2,3]", "[4294967298,3]"), std::pair("[\"w\",\"a b\"]", "[\"w\"]")}) {
    CHECK(file_mistake(testing::with_right_sums(with(part, by))) ==
          "1:1: this line does not describe a sweep\n");
  }
  CHECK(file_mistake(testing::with_right_sums(first + formats::sweep_case_line(1, hang()) +
                                              "{\"case\":2}\n")) ==
        "3:1: this line is not a run of a sweep\n");
  CHECK(file_mistake(first + formats::sweep_case_line(1, hang()) +
                     formats::sweep_case_line(1, CaseResult())) ==
        "1:1: two results of run 1 differ\n");
}

TEST_CASE("a line that was changed is refused", "[formats][sweep_file]") {
  const std::string head_line = formats::sweep_head_line(head());
  const std::string line = formats::sweep_case_line(4, hang());
  const std::string damaged = "this line is damaged: its checksum does not match\n";
  for (std::size_t at = 0; at + 1 < line.size(); ++at) {
    std::string changed = line;
    changed[at] = changed[at] == '7' ? '8' : '7';
    CHECK(file_mistake(head_line + changed) == "2:1: " + damaged);
  }
  std::string other_head = head_line;
  other_head.replace(other_head.find("400"), 3, "401");
  CHECK(file_mistake(other_head + line) == "1:1: " + damaged);
  CHECK(file_mistake(head_line + "\n") == "2:1: " + damaged);
}

TEST_CASE("sweeps of other things are others", "[formats][sweep_file]") {
  const auto differs = [](auto change) {
    SweepHead other = head();
    change(other);
    return !other.same_sweep(head());
  };
  CHECK(differs([](SweepHead& other) { other.made_by = "1.2.4"; }));
  CHECK(differs([](SweepHead& other) { other.scenario = 1; }));
  CHECK(differs([](SweepHead& other) { other.settings.clear(); }));
  CHECK(differs([](SweepHead& other) { other.grid.seeds = 401; }));
  CHECK(differs([](SweepHead& other) { other.grid.variables[0].values = {"1", "3"}; }));
  CHECK(differs([](SweepHead& other) { other.shard.count = 4; }));
  CHECK_FALSE(differs([](SweepHead& other) { other.shard.index = 1; }));
  CHECK_FALSE(differs([](SweepHead& other) { other.path = "else.yaml"; }));
  // The FNV-1a hash of "a", as its authors publish it.
  CHECK(formats::text_hash("a") == 0xaf63dc4c8601ec8c);
}
