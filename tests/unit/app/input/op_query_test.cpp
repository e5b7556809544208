// Selects ops by the name of a call in their group.
#include "app/input/op_query.hpp"

#include <string>

#include "formats/scenario/scenario_writer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/without_command.hpp"

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

TEST_CASE("a call of a group is shown and found by its name", "[app][op_query]") {
  const testing::Folder folder;
  const std::string path = folder.write("half.yaml", kText);
  const auto run = command({"run", path});
  CHECK(run.code == 1);
  CHECK(contains(run.out, "Rank 1 never posts the matching recv of rank 0's exchange#1 (give)"));
  const auto json = command({"run", path, "--json"});
  CHECK(contains(json.out, "\"call\": \"give\""));
  const auto why = command({"why", path, "rank 0 take5"});
  CHECK(contains(why.out, "rank 0 exchange#1"));
  CHECK(contains(why.out, "exchange#1 (give)"));
  const auto same = [](const testing::CommandResult& a, const testing::CommandResult& b) {
    return testing::without_command(a.out) == testing::without_command(b.out);
  };
  CHECK(same(why, command({"why", path, "rank 0 exchange#1"})));
  // Rank 1 has no such call.
  const auto other = command({"why", path, "rank 1 take5"});
  CHECK(contains(other.err, "there is no rank 1 take5"));
  CHECK(contains(command({"why", path, "rank 1 giv"}).err, "did you mean 'give'?"));
  CHECK(same(command({"run", path, "--until", "rank 1 give"}),
             command({"run", path, "--until", "rank 1 exchange#1"})));
  // Only rank 0 has the call `take5`.
  CHECK(same(command({"run", path, "--until", "take5"}),
             command({"run", path, "--until", "rank 0 exchange#1"})));
  CHECK(same(command({"why", path, "take5"}), why));
  CHECK(contains(command({"run", path, "--until", "tak5"}).err, "did you mean 'take5'?"));
  CHECK(
      contains(command({"run", path, "--until", "exchange"}).err, "say which: 'rank 0 exchange'"));
  CHECK(contains(command({"run", path, "--until", "12"}).err, "invalid value '12' for '--until'"));
}

TEST_CASE("pictures are of ranks and of sets of ranks", "[app][draw]") {
  const testing::Folder folder;
  const std::string path =
      folder.write("sets.yaml",
                   "schema: 1\nname: sets\nranks: 4\nsets: {ends: [0, 3]}\ngroups: {tp: [1, 2]}\n"
                   "programs: {do: [{compute: a, takes: \"10us + rank * 1us\"}]}\n");
  const auto picture = [&](const std::string& ranks) {
    const std::string file = folder / "picture.dot";
    const auto drawn = command({"draw", path, "--what", "tasks", "-o", file, "--ranks", ranks});
    INFO(drawn.err);
    CHECK(drawn.code == 0);
    const std::string text = testing::file_text(file);
    // Removes the footer, which repeats --ranks as typed.
    return text.substr(0, text.find("pipesim draw"));
  };
  CHECK(picture("ends") == picture("0,3"));
  CHECK(picture("tp,0") == picture("0..2"));
  CHECK(picture("tp") != picture("ends"));
  const auto wrong = command({"draw", path, "-o", folder / "x.svg", "--ranks", "0,end"});
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "did you mean 'ends'?"));
}

TEST_CASE("names of calls are written", "[app][op_query]") {
  const models::TaskGraph graph = testing::scenario_of(kText).graph;
  const std::string written = formats::write_scenario(graph);
  INFO(written);
  CHECK(contains(written, "name: take5"));
  CHECK(models::without_places(testing::scenario_of(written).graph) ==
        models::without_places(graph));
}
