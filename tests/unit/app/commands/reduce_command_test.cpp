// `pipesim reduce`, through the command line.
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

const std::string kSwin = "scenarios/swin_2x2x2.yaml";

}  // namespace

TEST_CASE("the small scenario goes to standard output, and runs", "[app][reduce_command]") {
  const auto small = command({"reduce", kSwin});
  CHECK(small.code == 0);
  CHECK(contains(small.out, "# swin_2x2x2, reduced to the same hang: DEADLOCK, 10 waits"));
  CHECK(contains(small.err, "8 ranks, 29 actors and 460 ops\nbecame 3 ranks, "));
  CHECK(contains(small.err, "Parameters alone get part of the way: --set acc=3\n"));
  const auto ran = command({"run", "-"}, small.out);
  CHECK(ran.code == 1);
  CHECK(contains(ran.out, "The cycle: 10 waits, ranks 0 and 1, micro-batches 1 to 3"));
}

TEST_CASE("with -o a file is written, and it passes as a test", "[app][reduce_command]") {
  const testing::Folder folder;
  const std::string path = folder / "small.yaml";
  const auto told = command({"reduce", kSwin, "--set", "acc=8", "-o", path, "--json"});
  CHECK(told.code == 0);
  CHECK(told.err.empty());
  const auto json = nlohmann::json::parse(told.out);
  CHECK(json["verdict"] == "deadlock");
  CHECK(json["cycle_length"] == 10);
  CHECK(json["before"]["ranks"] == 8);
  CHECK(json["after"]["ranks"] == 3);
  CHECK(json["parameters"] == nlohmann::json({{"acc", 3}}));
  CHECK(json["all_tried"] == true);
  CHECK(command({"test", path}).code == 0);
}

TEST_CASE("what cannot be reduced is said", "[app][reduce_command]") {
  const auto completes = command({"reduce", kSwin, "--set", "bwd_dst_buffer=backward"});
  CHECK(completes.code == 2);
  CHECK(contains(completes.err, "this does not hang: there is nothing to reduce"));
  CHECK(completes.out.empty());
  CHECK(contains(command({"reduce", kSwin, "--json"}).err, "'--json' needs '--output FILE'"));
  CHECK(contains(command({"reduce", "x.goal"}).err, "'pipesim reduce' does not take GOAL files"));
  CHECK(command({"reduce", "none.yaml"}).code == 74);
  CHECK(command({"reduce", "--help"}).code == 0);
}
