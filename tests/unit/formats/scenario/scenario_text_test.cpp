// Text of scenarios that importers build key by key.
#include "formats/scenario/scenario_text.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using formats::ScenarioMap;
using formats::ScenarioText;
using formats::YamlNode;

TEST_CASE("top-level keys have their usual order, whatever the order of addition") {
  ScenarioText scenario("job");
  YamlNode steps = YamlNode::list();
  steps.add(ScenarioMap("send", "pp").number("to", 1).value("bytes", "8B").optional_text("at", ""));
  steps.add(ScenarioMap("synchronize", "device"));
  scenario.add_program(0, std::move(steps));
  scenario.add_program(1, YamlNode::list());
  scenario.set_any("communicators", ScenarioMap());
  scenario.add("groups", "pp", formats::rank_list({0, 1}));
  scenario.set_ranks(2);
  CHECK_FALSE(scenario.has("communicators"));
  const std::string text = scenario.take_text();
  CHECK(text == R"(schema: 1
name: job
ranks: 2
groups:
  pp: [0, 1]
programs:
  - {on: 0, do: [{send: pp, to: 1, bytes: 8B}, {synchronize: device}]}
)");
  CHECK(testing::scenario_of(text).graph.actors.size() == 2);
}

TEST_CASE("names that need no quotes are made of letters, digits and '_'") {
  CHECK(formats::plain_name("mesh.tp 0:x") == "mesh_tp_0_x");
}

TEST_CASE("the peer of a call has the key of its operation") {
  CHECK(formats::peer_key(models::Operation::kSend) == std::string("to"));
  CHECK(formats::peer_key(models::Operation::kReceive) == std::string("from"));
  CHECK(formats::peer_key(models::Operation::kBroadcast) == std::string("root"));
}
