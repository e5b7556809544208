#include "formats/evidence/ras_reader.hpp"

#include <string>
#include <vector>

#include "models/postmortem/diagnosis.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

formats::RasReader read(const std::vector<std::string>& texts) {
  formats::RasReader reader;
  for (const std::string& text : texts) {
    models::Diagnostics diagnostics;
    INFO(text);
    REQUIRE(reader.read(text, diagnostics));
  }
  return reader;
}

std::vector<std::uint32_t> roots(const formats::RasReader& reader, bool hangs = false) {
  std::vector<std::uint32_t> ranks;
  for (const auto& root : models::diagnose(reader.evidence(hangs)).roots)
    ranks.push_back(root.rank);
  return ranks;
}

// Of four ranks; `parties` are the lines below the sentence.
std::string report(const std::string& parties) {
  return "NCCL version 2.28.3 compiled with CUDA 12.8\n\nCommunicators... "
         "(0.00s)\n=============\n\n"
         "Group  Comms  Nodes  Ranks  Ranks  Ranks  Status  Errors\n"
         "    0      1      1      4      4      4  RUNNING  MISMATCH\n\nWarnings\n========\n\n"
         "#0-0 (ab12) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n" +
         parties;
}

}  // namespace

TEST_CASE("the side with the smaller count lags, whichever is listed", "[formats][ras_reader]") {
  const auto behind = read({report(
      "  3 ranks have launched up to operation 9\n"
      "  Rank 2 has launched up to operation 4 -- GPU 2 managed by process 31 on node n0\n")});
  CHECK(roots(behind) == std::vector<std::uint32_t>{2});
  CHECK(behind.evidence(false).ranks[2].process.name == "process 31 on n0, GPU 2");
  const auto ahead = read({report(
      "  2 ranks have launched up to operation 4\n  2 ranks have launched up to operation 9\n"
      "  Rank 0 -- GPU 0 managed by process 30 on node n0\n"
      "  Rank 1 -- GPU 1 managed by process 31 on node n0\n")});
  CHECK(roots(ahead) == std::vector<std::uint32_t>{2, 3});
}

TEST_CASE("a difference of one launch counts once it stays, or the job hangs",
          "[formats][ras_reader]") {
  const std::string text = report(
      "  3 ranks have launched up to operation 5\n  Rank 2 has launched up to operation 4 -- GPU 2 "
      "managed by process 31 on node n0\n");
  CHECK(roots(read({text})).empty());
  CHECK(roots(read({text}), true) == std::vector<std::uint32_t>{2});
  CHECK(roots(read({text, text})) == std::vector<std::uint32_t>{2});
  CHECK(read({text}).notes().front().find("may pass by itself") != std::string::npos);
}

TEST_CASE("members that are not listed are not guessed", "[formats][ras_reader]") {
  const auto reader = read({report(
      "  2 ranks have launched up to operation 4\n  2 ranks have launched up to operation 9\n")});
  CHECK(roots(reader).empty());
  CHECK(reader.notes().front().find("does not list which") != std::string::npos);
}

TEST_CASE("JSON has all counts; smaller communicators are joined by process",
          "[formats][ras_reader]") {
  const auto rank = [](int number, int pid, int count) {
    return R"({"rank":)" + std::to_string(number) + R"(,"host":"n0","pid":)" + std::to_string(pid) +
           R"(,"cuda_dev":0,"collective_counts":{"AllReduce":)" + std::to_string(count) + "}}";
  };
  const std::string world = R"({"hash":"0x1","size":4,"ranks":[)" + rank(0, 10, 5) + "," +
                            rank(1, 11, 5) + "," + rank(2, 12, 5) + "," + rank(3, 13, 5) + "]}";
  const std::string pair =
      R"({"hash":"0x2","size":2,"ranks":[)" + rank(0, 12, 9) + "," + rank(1, 13, 4) + "]}";
  CHECK(roots(read({R"({"communicators":[)" + world + "," + pair + "]}"})) ==
        std::vector<std::uint32_t>{3});
  const auto good = read({R"({"communicators":[)" + world + "]}"});
  CHECK(roots(good).empty());
  CHECK(good.notes().front().find("RAS sees nothing wrong") == 0);
}

TEST_CASE("dead processes are roots, silent ones are asked for", "[formats][ras_reader]") {
  const auto reader = read(
      {"Communicators... (0.002s)\n=============\n\nNo communicator data collected!\n\nErrors\n"
       "======\n\nDEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
       "  Process 41 on node n1 managing GPU 3\n"});
  const auto found = models::diagnose(reader.evidence(false));
  CHECK(found.explanation.verdict == sim::Verdict::kStarved);
  CHECK(reader.evidence(false).lost_processes.front().name == "process 41 on n1, GPU 3");
  const auto status = [](const char* dead) {
    return std::string(R"({"communicators":[{"hash":"0x1","size":2,"ranks":[],"missing_ranks":[)"
                       R"({"rank":1,"host":"n0","pid":7,"status":{"considered_dead":)") +
           dead + "}}]}]}";
  };
  CHECK(roots(read({status("true")})) == std::vector<std::uint32_t>{1});
  CHECK(roots(read({status("false")})).empty());
}

TEST_CASE("what is no report says so", "[formats][ras_reader]") {
  for (const std::string& text : {std::string(), std::string("hello\n"), std::string("{}"),
                                  std::string("{\"communicators\":3}"), std::string("{")}) {
    formats::RasReader reader;
    models::Diagnostics diagnostics;
    CHECK_FALSE(reader.read(text, diagnostics));
    CHECK(diagnostics.has_errors());
  }
}
