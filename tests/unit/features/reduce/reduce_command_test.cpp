// `pipesim reduce` from the command line.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

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

TEST_CASE("what is left of hangs that people have fits on a screen",
          "[app][reduce_command][scenario]") {
  std::vector<std::string> paths = testing::scenario_paths();
  for (const auto& file : std::filesystem::directory_iterator("tests/reports")) {
    paths.push_back(file.path().string());
  }
  int hanging = 0;
  for (const std::string& path : paths) {
    const auto small = command({"reduce", path});
    if (small.code != 0) continue;  // the scenario does not hang
    CAPTURE(path, small.out);
    ++hanging;
    // The number of lines includes the heading and the expectation. Passes generate the names of
    // swin_2x2x2_from_model.
    const bool is_generated = contains(path, "swin_2x2x2_from_model");
    CHECK(std::count(small.out.begin(), small.out.end(), '\n') <= (is_generated ? 40 : 30));
    CHECK(command({"run", "-"}, small.out).code == 1);
  }
  CHECK(hanging >= 48);
}

// Ranks 2 and 3 hang. Ranks 0 and 1 would hang in the same way, three lines below.
TEST_CASE("a hang stays at the lines of the file, if the steps say no other",
          "[app][reduce_command]") {
  const auto small = command({"reduce", "-"}, R"(schema: 1
name: two_places
reading: contract
ranks: 4
groups: {pp: all, world: all}
programs:
  do:
    - {on: rank >= 2, do: [{send: pp, to: 5 - rank, bytes: 8MiB}, {recv: pp, from: 5 - rank, bytes: 8MiB}, {synchronize: device}]}
    - {all_reduce: world, bytes: 8B}
    - {synchronize: device}
    - {on: rank < 2, do: [{send: pp, to: 1 - rank, bytes: 4MiB}, {recv: pp, from: 1 - rank, bytes: 4MiB}]}
)");
  INFO(small.out << small.err);
  CHECK(small.code == 0);
  CHECK(contains(small.out, "bytes: 8MiB"));
  CHECK_FALSE(contains(small.out, "bytes: 4MiB"));
  CHECK_FALSE(contains(small.out, "at:"));
}

TEST_CASE("a long chain of equal layers is kept once", "[app][reduce_command]") {
  const auto small = command({"reduce", "scenarios/swin_2x2x2_from_model.yaml"});
  CHECK(contains(small.out, "# Ops whose names differ only in numbers"));
  // Each kind of op in a layer remains, as do two of the six layers, one after the other.
  for (const char* op : {"-mlp_grad", "-gather_nd_grad", "-qk_grad"}) {
    CHECK(contains(small.out, op));
  }
  CHECK(contains(small.out, "block0-mlp_grad"));
  CHECK_FALSE(contains(small.out, "block3-mlp_grad"));
  // A short cycle stays whole: B0 and B2 are two waits of swin_2x2x2.
  const auto swin = command({"reduce", kSwin});
  CHECK_FALSE(contains(swin.out, "only in numbers"));
}

TEST_CASE("what cannot be reduced is said", "[app][reduce_command]") {
  const auto completes = command({"reduce", kSwin, "--set", "bwd_dst_buffer=backward"});
  CHECK(completes.code == 2);
  CHECK(contains(completes.err, "the scenario does not hang; reduce needs one that does"));
  CHECK(completes.out.empty());
  CHECK(contains(command({"reduce", kSwin, "--json"}).err, "'--json' needs '--output FILE'"));
  CHECK(contains(command({"reduce", "x.goal"}).err, "'pipesim reduce' does not take GOAL files"));
  CHECK(command({"reduce", "none.yaml"}).code == 74);
  CHECK(command({"reduce", "--help"}).code == 0);
}
