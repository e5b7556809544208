// Text of scenarios that importers build key by key.
#include "formats/scenario/scenario_text.hpp"

#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using formats::ScenarioMap;
using formats::ScenarioText;
using formats::YamlDocument;
using formats::YamlNode;
using formats::YamlValue;

namespace {

// Draws nested values of all kinds, lengths and ways to be quoted.
class DrawnValue : testing::Draws {
 public:
  explicit DrawnValue(std::uint64_t seed) : Draws(seed) {}

  YamlNode map(int depth) {
    YamlNode node = YamlNode::map();
    const int size = below(6);
    for (int i = 0; i < size; ++i) node.add(word() + std::to_string(i), value(depth));
    return node;
  }

 private:
  std::string word() {
    return pick<const char*>({"a", "all_reduce", "null", "train.py:11 x", "tab\t\"q\" \\",
                              "na\u00efve \u2028 \u0085", "", "a name that is rather long"});
  }
  YamlNode value(int depth) {
    switch (depth > 0 ? below(8) : below(3)) {
      case 0:
        return YamlNode::value(pick<const char*>({"4 * kernel", "-1", "on", "a[0]"}));
      case 1:
        return chance(4) ? YamlNode::nothing() : YamlNode::text(word());
      case 2:
        return YamlNode::text(word());
      case 3:
      case 4:
        return map(depth - 1);
      case 5: {
        std::vector<YamlNode> items;
        const int size = below(30);
        for (int i = 0; i < size; ++i) items.push_back(value(depth - 1));
        return YamlNode::made(items.size(), [items](std::size_t index) { return items[index]; });
      }
      default: {
        YamlNode list = chance(3) ? YamlNode::lines() : YamlNode::list();
        const int size = below(30);
        for (int i = 0; i < size; ++i) list.add(value(chance(2) ? 0 : depth - 1));
        return list;
      }
    }
  }
};

// Describes a value with the places and quotes of all its parts.
std::string described(const YamlValue& value) {
  std::string text = std::to_string(static_cast<int>(value.kind())) + " " +
                     std::to_string(value.place().line) + ":" +
                     std::to_string(value.place().column) + (value.quoted() ? " q " : " ") +
                     std::string(value.text()) + "\n";
  value.for_each_item([&](const YamlValue& item) { text += described(item); });
  return text + ".\n";
}

}  // namespace

TEST_CASE("the tree of a value to write is the one that is read from its text") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    YamlNode top = DrawnValue(seed).map(4);
    top.add("section", DrawnValue(seed + 1000).map(2));
    const std::string text = top.document({"section"});
    INFO("seed " << seed << "\n" << text);
    models::Diagnostics diagnostics;
    const auto read = YamlDocument::parse(text, diagnostics);
    const auto made = top.tree({"section"});
    REQUIRE(read);
    REQUIRE(made);
    REQUIRE(described(made->root()) == described(read->root()));
  }
}

TEST_CASE("a tree beyond the limits of documents is not made") {
  YamlNode deep = YamlNode::map();
  for (int i = 0; i < 101; ++i) {
    YamlNode outer = YamlNode::map();
    outer.add("a", std::move(deep));
    deep = std::move(outer);
  }
  CHECK_FALSE(deep.tree({}));
}

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
