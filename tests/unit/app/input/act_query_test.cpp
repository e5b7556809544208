// Ops by the name of a call of their group.
#include "app/input/act_query.hpp"

#include <string>

#include "formats/scenario/scenario_writer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

// Rank 0 gives and takes; rank 1 only gives.
const std::string kText = R"yaml(schema: 1
name: half
ranks: 2
reading: contract
groups: {pp: all}
programs:
  do:
    - {compute: first, takes: 1us}
    - name: exchange
      group:
        - {send: pp, to: 1 - rank, bytes: 8B, name: give}
        - {on: 0, recv: pp, from: 1, bytes: 8B, name: "take{2 + 3}"}
)yaml";

}  // namespace

TEST_CASE("a call of a group is told and asked for by its name", "[app][act_query]") {
  const testing::Folder folder;
  const std::string path = folder.write("half.yaml", kText);
  const auto run = command({"run", path});
  CHECK(run.code == 1);
  CHECK(contains(run.out, "Rank 1 never posts the matching recv of rank 0 exchange#1 (give)"));
  const auto json = command({"run", path, "--json"});
  CHECK(contains(json.out, "\"call\": \"give\""));
  const auto why = command({"why", path, "rank 0 take5"});
  CHECK(contains(why.out, "rank 0 exchange#1"));
  CHECK(contains(why.out, "exchange#1 (give)"));
  CHECK(why.out == command({"why", path, "rank 0 exchange#1"}).out);
  // Rank 1 has no such call.
  const auto other = command({"why", path, "rank 1 take5"});
  CHECK(contains(other.err, "there is no rank 1 take5"));
  CHECK(contains(command({"why", path, "rank 1 giv"}).err, "did you mean 'give'?"));
  CHECK(command({"run", path, "--until", "rank 1 give"}).out ==
        command({"run", path, "--until", "rank 1 exchange#1"}).out);
}

TEST_CASE("names of calls are written", "[app][act_query]") {
  const models::TaskGraph graph = testing::scenario_of(kText).graph;
  const std::string written = formats::write_scenario(graph);
  INFO(written);
  CHECK(contains(written, "name: take5"));
  CHECK(models::without_places(testing::scenario_of(written).graph) ==
        models::without_places(graph));
}
