#include "features/diff/report_file.hpp"

#include <algorithm>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"
#include "viz/report/json_report.hpp"

using namespace pipesim;
using namespace pipesim::formats;

namespace {

std::string report_of(const std::string& path, const testing::Settings& settings = {}) {
  const Scenario scenario = testing::load(path, settings);
  const models::Simulation run = testing::simulate(scenario.graph);
  return viz::json_report({scenario.graph, run.explanation, {}, {}, {}, {}, {}});
}

std::string mistake_in(const std::string& text) {
  models::Diagnostics diagnostics;
  CHECK(!read_report(text, diagnostics));
  return testing::text_of(diagnostics);
}

}  // namespace

TEST_CASE("a report that was written says what the run said", "[formats][report_file]") {
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    const std::string text = report_of(path);
    CHECK(looks_like_report(text));
    models::Diagnostics diagnostics;
    const auto found = read_report(text, diagnostics);
    REQUIRE(found);
    CHECK(*found == models::end_figures(testing::explain(path)));
  }
}

TEST_CASE("scenarios and reports are distinguished", "[formats][report_file]") {
  CHECK_FALSE(looks_like_report("# x\nschema: 1\n"));
  CHECK_FALSE(looks_like_report("{schema: 1, actors: {a: {source: 1}}}"));
  CHECK_FALSE(looks_like_report(""));
  CHECK(looks_like_report("\n {\n  \"schema\": 1,\n \"fingerprint\": \"0\""));
}

TEST_CASE("what is no report is refused", "[formats][report_file]") {
  const std::string good = report_of("scenarios/buffer_on_the_right_stream.yaml");
  CHECK(mistake_in("{") == "1:2: truncated report: it ends too early\n");
  CHECK(mistake_in("[1e999]") == "1:2: invalid report: a number is too large\n");
  CHECK(mistake_in("[]") == "1:1: this report has no 'schema'\n");
  CHECK(mistake_in("{\"schema\": 2}") == "1:12: this pipesim reads reports of schema 1, found 2\n");
  CHECK(mistake_in("{\"schema\": -1}").substr(0, 30) == "1:12: 'schema' must be an inte");
  // Replaces `part` of a good report with `by`, whose byte `at` is wrong. Returns whether the error
  // at this byte begins with `message`.
  const auto tells = [&](const std::string& part, const std::string& by, std::size_t at,
                         const std::string& message) {
    std::string text = good;
    const std::size_t begin = text.find(part);
    REQUIRE(begin != std::string::npos);
    text.replace(begin, part.size(), by);
    const std::string before = text.substr(0, begin + at);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t column = before.size() - before.rfind('\n');
    const std::string found = mistake_in(text);
    CAPTURE(found);
    return found.starts_with(std::to_string(line) + ":" + std::to_string(column) + ": " + message);
  };
  CHECK(tells("\"cycle\": []", "\"cycle\": 7", 9, "'cycle' must be a list\n"));
  CHECK(tells("\"cycle\": []", "\"cycle\": [7]", 10, "this report has no 'rank"));
  CHECK(tells("\"verdict\": ", "\"verdict\": 3, \"x\": ", 11, "'verdict' must be a string\n"));
  CHECK(tells("\"fingerprint\": \"", "\"fingerprint\": \"zz", 15,
              "a fingerprint has 16 hexadecimal digits\n"));
}
