#include "features/diff/graph_difference.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/scenario/keys.hpp"
#include "formats/scenario/scenario.hpp"
#include "formats/scenario/scenario_writer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using namespace pipesim::models;

namespace {

GraphDifference difference(const std::string& before, const std::string& after) {
  return compare_graphs(testing::scenario_of("schema: 1\n" + before).graph,
                        testing::scenario_of("schema: 1\n" + after).graph);
}

std::string keys_of(const TemplateChange& change) {
  std::string text;
  for (const KeyChange& key : change.keys) text += (text.empty() ? "" : "; ") + key.key;
  return text;
}

// Returns the graph of a scenario without its name and places, or nullopt if the scenario has
// errors.
std::optional<TaskGraph> graph_of(const std::string& text) {
  Diagnostics diagnostics;
  std::optional<formats::Scenario> scenario = formats::read_scenario(text, {}, diagnostics);
  if (!scenario || diagnostics.has_errors()) return std::nullopt;
  TaskGraph graph = without_places(std::move(scenario->graph));
  graph.name.clear();
  return graph;
}

// Returns possible values for a key of this type, as written in YAML.
std::vector<std::string> values_of(std::string_view type) {
  std::vector<std::string> values = formats::keys::words_of(type);
  for (const std::string& word : formats::quoted_words(type)) values.push_back(word);
  for (const char* value : {"1", "2", "1us", "2us", "1KiB", "2KiB", "on", "off", "[1us, 2us]"}) {
    values.emplace_back(value);
  }
  return values;
}

}  // namespace

TEST_CASE("places, words for readers and order are no difference", "[models][graph_difference]") {
  CHECK(difference("actors: {a: {source: 1}, b: {reads: [a]}}\n",
                   "about: x\nactors:\n  b: {reads: [a], about: y}\n  a: {source: 1}\n")
            .empty());
  for (const std::string& path : testing::scenario_paths()) {
    const TaskGraph graph = testing::load(path).graph;
    CHECK(compare_graphs(graph, graph).empty());
  }
}

TEST_CASE("actors come, go and change, with both places", "[models][graph_difference]") {
  const GraphDifference found = difference(
      "actors:\n  a: {source: 2, takes: 1us}\n  b: {reads: [a]}\n",
      "actors:\n  c: {reads: [a]}\n  a: {source: 3, takes: {case: rank, 0: 2us, else: 3us}, "
      "slots: 2}\n");
  REQUIRE(found.templates.size() == 3);
  CHECK(found.templates[0].name == "a");
  CHECK(found.templates[0].before == Place{3, 3});
  CHECK(found.templates[0].after == Place{4, 3});
  CHECK(keys_of(found.templates[0]) == "takes; source; slots");
  CHECK(found.templates[1].name == "b");
  CHECK(!found.templates[1].after);
  CHECK(found.templates[2].name == "c");
  CHECK(!found.templates[2].before);
}

TEST_CASE("a read that comes is just that", "[models][graph_difference]") {
  const std::string head = "actors: {a: {source: 1}, b: {source: 1}, c: {reads: [a";
  const GraphDifference found = difference(head + "]}}\n", head + ", b]}}\n");
  REQUIRE(found.templates.size() == 1);
  CHECK(keys_of(found.templates[0]) == "reads b; reads b, per");
  CHECK(!found.templates[0].keys[0].before);
}

TEST_CASE("values that differ by rank are compared rank by rank", "[models][graph_difference]") {
  const std::string head = "ranks: 4\nactors: {a: {source: 1, takes: ";
  CHECK(difference(head + "{case: rank, 0: 1us, else: 1us}}}\n", head + "1us}}\n").empty());
  const GraphDifference found =
      difference(head + "1us}}\n", head + "{case: rank, 2: 5us, else: 1us}}}\n");
  REQUIRE(found.templates.size() == 1);
  const KeyValue after = found.templates[0].keys.at(0).after.value();
  REQUIRE(after.numbers.size() == 2);
  CHECK(after.numbers[1].first == 5'000);
  CHECK(after.numbers[1].second == std::vector<std::uint32_t>{2});
}

TEST_CASE("programs differ from a step on", "[models][graph_difference]") {
  const std::string first = "{compute: f, takes: 1us}";
  const std::string second = "{compute: g, takes: 1us}";
  const GraphDifference found = difference("programs: {do: [" + first + ", " + second + "]}\n",
                                           "programs: {do: [" + second + ", " + first + "]}\n");
  REQUIRE(found.templates.size() == 1);
  CHECK(found.templates[0].what == "thread");
  CHECK(keys_of(found.templates[0]) == "program, from step 1 on");
}

TEST_CASE("what is no template is compared, too", "[models][graph_difference]") {
  const std::string actors = "actors: {a: {source: 1}}\n";
  const GraphDifference found =
      difference("ranks: 2\ngroups: {g: all}\n" + actors,
                 "ranks: 4\ngroups: {g: {size: 2}}\ndevice: {resident: 2}\ncluster: {hosts: 2, "
                 "devices: 2}\n" +
                     actors);
  REQUIRE(found.top.size() > 2);
  CHECK(found.top[0].key == "ranks");
  CHECK(found.top[1].key == "device resident");
  CHECK(found.top[2].key == "cluster hosts");
  CHECK(found.templates.at(0).what == "group");
}

TEST_CASE("tensors, sizes and the rate of a kind are compared", "[models][graph_difference]") {
  const std::string head = "actors:\n  a: {source: 4, carries: ";
  const GraphDifference carries =
      difference(head + "[x, y]}\n  b: {reads: [{from: a, needs: [x]}]}\n",
                 head + "[y, x, z]}\n  b: {reads: [{from: a, needs: []}]}\n");
  REQUIRE(carries.templates.size() == 2);
  CHECK(keys_of(carries.templates[0]) == "carries");
  CHECK(carries.templates[0].keys[0].after.value().text == "x, y, z");
  CHECK(keys_of(carries.templates[1]) == "reads a, needs");
  CHECK(carries.templates[1].keys[0].after.value().text == "none");
  // Another order of the same tensors is not a difference; missing tensor names are one.
  CHECK(difference(head + "[x, y]}\n", head + "[y, x]}\n").empty());
  CHECK(!difference(head + "[x]}\n", "actors:\n  a: {source: 4}\n").empty());

  const GraphDifference sizes = difference(
      "actors: {a: {source: 1, bytes: 1KiB}}\n",
      "memory: 1GiB\nactors: {a: {source: 1, bytes: 2KiB, registers: {r: {bytes: 1B}}}}\n");
  CHECK(sizes.top.at(0).key == "memory");
  CHECK(keys_of(sizes.templates.at(0)).substr(0, 12) == "bytes of out");

  const std::string reader = "actors:\n  a: {source: 4}\n  b: {kind: unpack, reads: [a], times: ";
  const GraphDifference times = difference(reader + "2}\n", reader + "3}\n");
  REQUIRE(times.templates.size() == 1);
  CHECK(keys_of(times.templates[0]) == "times; reads a, per");
}

TEST_CASE("communicators differ in every key", "[models][graph_difference]") {
  const auto scenario = [](const std::string& keys) {
    return "ranks: 2\ngroups: {g: all}\ncommunicators: {named: {c: {group: g" + keys +
           "}}}\nprograms: {do: [{all_reduce: c, bytes: 1KiB, takes: 1us}]}\n";
  };
  for (const std::string key :
       {"ctas: 8", "registered: on", "p2p_channels: 4", "p2p_channels_per_peer: 2"}) {
    const GraphDifference found = difference(scenario(""), scenario(", " + key));
    INFO(key);
    REQUIRE(found.templates.size() == 1);
    CHECK(found.templates[0].what == "communicator");
    CHECK(keys_of(found.templates[0]) == key.substr(0, key.find(':')));
  }
}

// Tries each key of the scenario format with several values. If the graphs differ, compare_graphs()
// must report a difference, and a written scenario must read back as the same graph.
TEST_CASE("no key that changes the task graph is forgotten", "[models][graph_difference]") {
  std::map<std::string_view, const formats::KeyTable*> tables;
  for (const formats::KeyTable* table : formats::keys::all_tables()) tables[table->name] = table;
  // Keys whose values change no graph here: names without a use, and keys without an effect in
  // these scenarios. No step of another actor is behind the implied one, nothing overlaps, a single
  // stage sends nothing, and a slow link is not down.
  const std::set<std::string> without_effect = {"scenario phases",
                                                "scenario locks",
                                                "event_step implied",
                                                "call_step implied",
                                                "schedule layers",
                                                "schedule overlapped",
                                                "schedule_rows layers",
                                                "schedule_rows partial",
                                                "schedule_rows overlapped",
                                                "schedule_rows message",
                                                "schedule_rows message_takes",
                                                "schedule_rows messages",
                                                "link_fault down"};
  // Tables of structs that the writer writes completely.
  const std::set<std::string_view> described = {
      "stream",        "communicators", "communicator", "device",     "actor",
      "register",      "read",          "collective",   "link_class", "link_fault",
      "outside_input", "port_fault",    "denied_fault", "rank_fault", "timeouts"};
  std::set<std::string> compared;
  const std::string probes = testing::file_text("tests/support/schema_probes.txt");
  for (std::size_t at = 0; at < probes.size(); at = probes.find('\n', at) + 1) {
    const std::string line = probes.substr(at, probes.find('\n', at) - at);
    const std::size_t space = line.find(' ');
    const formats::KeyTable& table = *tables.at(line.substr(0, space));
    const std::string probe = line.substr(space + 1);
    const auto filled = [&](const std::string& with) {
      return graph_of(std::string(probe).replace(probe.find('@'), 1, with));
    };
    const std::optional<TaskGraph> plain = filled("");
    for (const formats::Key* key : table.all()) {
      const std::string name = line.substr(0, space) + " " + std::string(key->name);
      if (without_effect.count(name) > 0) continue;
      std::vector<std::pair<std::string, TaskGraph>> graphs;
      if (plain) graphs.emplace_back("", *plain);
      for (const std::string& value : values_of(key->type)) {
        const std::string text = std::string(key->name) + ": " + value;
        if (auto graph = filled(text)) graphs.emplace_back(text, std::move(*graph));
      }
      for (std::size_t i = 1; i < graphs.size(); ++i) {
        if (graphs[i].second == graphs[i - 1].second) continue;
        INFO(probe << "\n" << graphs[i - 1].first << "\n" << graphs[i].first);
        CHECK_FALSE(compare_graphs(graphs[i - 1].second, graphs[i].second).empty());
        compared.insert(name);
        if (described.count(table.name) == 0) continue;
        const auto again = graph_of(formats::write_scenario(graphs[i].second));
        CHECK((again && compare_graphs(*again, graphs[i].second).empty()));
      }
    }
  }
  // Most keys change the graph with one of their values.
  CHECK(compared.size() > 150);
}
