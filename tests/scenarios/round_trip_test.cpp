// A task graph that is written and read again is equal to the original, and runs in the same way.
#include <string>
#include <vector>

#include "formats/scenario/scenario_writer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

TEST_CASE("every scenario and setting, written and read again, is the same", "[scenarios]") {
  for (const std::string& path : testing::scenario_paths()) {
    std::vector<testing::Settings> all = {{}};
    for (const models::Expectation& expectation : testing::load(path).expectations) {
      all.push_back(expectation.with);
    }
    for (const testing::Settings& settings : all) {
      models::TaskGraph graph = testing::load(path, settings).graph;
      graph.pipeline.reset();  // the writer writes its programs instead
      const std::string text = formats::write_scenario(graph);
      INFO(path << "\n" << text);
      const models::TaskGraph again = testing::scenario_of(text).graph;
      CHECK(models::without_places(again) == models::without_places(graph));
      CHECK(formats::write_scenario(again) == text);
      CHECK(testing::simulate(again).explanation.fingerprint ==
            testing::simulate(graph).explanation.fingerprint);
    }
  }
}
