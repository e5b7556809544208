// `pipesim run FILE.goal` from the command line. tests/golden/goal_* have whole outputs.
#include "features/goal/goal_command.hpp"

#include <fstream>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

const std::string kProgram =
    "num_ranks 2\nrank 0 {\nsend 100b to 1\n}\nrank 1 {\nrecv 100b from 0\n}\n";

}  // namespace

TEST_CASE("a GOAL file runs, from standard input where --loggops says what it is",
          "[app][goal_command]") {
  const testing::Folder folder;
  const std::string path = folder / "pair.goal";
  std::ofstream(path, std::ios::binary) << kProgram;
  const auto ran = command({"run", path});
  CHECK(ran.code == 0);
  CHECK(ran.err.empty());
  // Rank 0 takes 1500 ns; rank 1 takes 1500 + 2500 ns, then 1500 + 99 * 6 ns.
  CHECK(contains(ran.out, "pair  COMPLETED at 6.094 us   2 ranks, 2 of 2 ops done\n"));
  CHECK(contains(ran.out, "0     1500 ns\n1     6094 ns\n"));
  CHECK(contains(command({"run", "-", "--loggops", "L=0,o=0,g=0,G=1"}, kProgram).out,
                 "0     0 ns\n1     99 ns\n"));
  CHECK(contains(command({"run", path, "--json"}).out, "\"finish_ns\": 6094"));
  CHECK(command({"run", folder / "none.goal"}).code == 74);
}

TEST_CASE("an interrupted run says so", "[app][goal_command]") {
  std::string text = "num_ranks 1\nrank 0 {\n";
  for (int i = 0; i < 10'000; ++i) text += "calc 1\n";
  const std::atomic<bool> interrupted{true};
  const auto ran = command({"run", "-", "--loggops", "L=1"}, text + "}\n", &interrupted);
  CHECK(ran.code == 130);
  CHECK(contains(ran.out, "LIMIT (interrupted) at"));
}

TEST_CASE("parameters of LogGOPS are checked", "[app][goal_command]") {
  const auto problem = [](const std::string& text) {
    sim::LogGopsParameters parameters;
    return app::read_loggops(text, parameters);
  };
  sim::LogGopsParameters parameters;
  CHECK(app::read_loggops("G=1,S=0,o=3,O=4,g=5,L=6", parameters).empty());
  CHECK(parameters.latency_ns == 6);
  CHECK(parameters.overhead_ns == 3);
  CHECK(parameters.gap_ns == 5);
  CHECK(parameters.gap_per_byte_ns == 1);
  CHECK(parameters.overhead_per_byte_ns == 4);
  CHECK(parameters.eager_bytes == 0);
  CHECK(problem("l=5") == "unknown LogGOPS parameter 'l'; they are L, o, g, G, O and S");
  CHECK(problem("") == "unknown LogGOPS parameter ''; they are L, o, g, G, O and S");
  CHECK(problem("L=5,L=6") == "'L' is given twice");
  CHECK(problem("L") == "'L' must be an integer from 0 to 1000000000000 nanoseconds, found ''");
  CHECK(problem("S=1k") == "'S' must be an integer from 0 to 1000000000000 bytes, found '1k'");
  CHECK(problem("g=-1") ==
        "'g' must be an integer from 0 to 1000000000000 nanoseconds, found '-1'");
}

TEST_CASE("options of scenarios are refused for GOAL files, and the other way round",
          "[app][goal_command]") {
  const auto refused = command({"run", "x.goal", "--set", "a=1"});
  CHECK(refused.code == 2);
  CHECK(
      refused.err ==
      "error[E1505]: '--set' cannot be used with a GOAL file\n  help: a GOAL file takes --loggops, "
      "--json, --dot, --all and --color\n");
  for (const char* option : {"--params", "--stacks"}) {
    CHECK(command({"run", "x.goal", option}).code == 2);
  }
  for (const char* option : {"--until", "--engine", "--log", "--log-dir", "--schedule"}) {
    CHECK(command({"run", "x.goal", option, "x"}).code == 2);
  }
  CHECK(command({"run", "x.yaml", "--loggops", "L=1"}).err ==
        "error[E1505]: '--loggops' is for GOAL files\n  help: names of GOAL files end in .goal\n");
}
