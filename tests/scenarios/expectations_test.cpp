// Every shipped scenario does what it says under `expect:`, in each of the settings it names.
#include <string>

#include "models/measure/expectation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

TEST_CASE("every scenario expects something, in each setting a verdict", "[scenarios]") {
  const std::vector<std::string> paths = testing::scenario_paths();
  REQUIRE(!paths.empty());
  for (const std::string& path : paths) {
    const formats::Scenario scenario = testing::load(path);
    INFO(path);
    REQUIRE(!scenario.expectations.empty());
    for (const models::Expectation& expectation : scenario.expectations) {
      INFO("the expectation in line " << expectation.place.line);
      CHECK(expectation.verdict.has_value());
    }
  }
}

TEST_CASE("every scenario meets its expectations", "[scenarios]") {
  const testing::CommandResult result = testing::command({"test", "scenarios", "--quiet"});
  INFO(result.out);
  CHECK(result.code == 0);
  CHECK(result.err.empty());
}

TEST_CASE("every scenario says in a comment what it shows", "[scenarios]") {
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    CHECK(testing::file_text(path).substr(0, 2) == "# ");
    // The name in the file is that of the file: reports show the one, people type the other.
    CHECK("scenarios/" + testing::load(path).graph.name + ".yaml" == path);
  }
}
