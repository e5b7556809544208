#include "features/diff/report_file.hpp"

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

TEST_CASE("scenarios and reports are told apart", "[formats][report_file]") {
  CHECK_FALSE(looks_like_report("# x\nschema: 1\n"));
  CHECK_FALSE(looks_like_report("{schema: 1, actors: {a: {source: 1}}}"));
  CHECK_FALSE(looks_like_report(""));
  CHECK(looks_like_report("\n {\n  \"schema\": 1,\n \"fingerprint\": \"0\""));
}

TEST_CASE("what is no report is refused", "[formats][report_file]") {
  const std::string good = report_of("scenarios/buffer_on_the_right_stream.yaml");
  CHECK(mistake_in("{") == "1:2: truncated report: it ends too early\n");
  CHECK(mistake_in("[1e999]") == "1:1: invalid report: a number is too large\n");
  CHECK(mistake_in("[]") == "0:0: this report has no 'schema'\n");
  CHECK(mistake_in("{\"schema\": 2}") == "0:0: this pipesim reads reports of schema 1, found 2\n");
  CHECK(mistake_in("{\"schema\": -1}").substr(0, 29) == "0:0: 'schema' must be an inte");
  const auto with = [&](const std::string& part, const std::string& by) {
    std::string text = good;
    const std::size_t at = text.find(part);
    REQUIRE(at != std::string::npos);
    return text.replace(at, part.size(), by);
  };
  CHECK(mistake_in(with("\"cycle\": []", "\"cycle\": 7")) == "0:0: 'cycle' must be a list\n");
  CHECK(mistake_in(with("\"cycle\": []", "\"cycle\": [7]")).substr(0, 29) ==
        "0:0: this report has no 'rank");
  CHECK(mistake_in(with("\"verdict\": ", "\"verdict\": 3, \"x\": ")) ==
        "0:0: 'verdict' must be a string\n");
  CHECK(mistake_in(with("\"fingerprint\": \"", "\"fingerprint\": \"zz")) ==
        "0:0: a fingerprint has 16 hexadecimal digits\n");
}
