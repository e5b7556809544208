// Patches applied to the shipped scenarios.
#include <string>

#include "formats/scenario/scenario_writer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

namespace {

std::string patched(const std::string& text, const std::string& patch) {
  models::Diagnostics diagnostics;
  const auto scenario =
      formats::read_scenario(text, {}, diagnostics, {.patches = {{"a patch", patch}}});
  return scenario ? formats::write_scenario(scenario->graph) : testing::text_of(diagnostics);
}

}  // namespace

TEST_CASE("a patch that says nothing leaves every scenario as it is", "[scenarios][patch]") {
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    const std::string text = testing::file_text(path);
    CHECK(patched(text, "patch: 1\n") == formats::write_scenario(testing::load(path).graph));
  }
}

TEST_CASE("a scenario as a patch of itself changes nothing", "[scenarios][patch]") {
  for (const std::string& path : testing::scenario_paths()) {
    INFO(path);
    const std::string text = testing::file_text(path);
    std::string patch = text;
    const std::string schema = "\nschema: 1\n";
    patch.replace(patch.find(schema), schema.size(), "\npatch: 1\n");
    CHECK(patched(text, patch) == formats::write_scenario(testing::load(path).graph));
  }
}
