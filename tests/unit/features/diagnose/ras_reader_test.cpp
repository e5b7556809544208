#include "features/diagnose/ras_reader.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"

#include "features/diagnose/diagnosis.hpp"

using namespace pipesim;

namespace {

formats::RasReader ras_in(const std::vector<std::string>& texts) {
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

// Returns a report on four ranks with different operation counts; `parties` are the lines that give
// the counts.
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
  const auto behind = ras_in({report(
      "  3 ranks have launched up to operation 9\n"
      "  Rank 2 has launched up to operation 4 -- GPU 2 managed by process 31 on node n0\n")});
  CHECK(roots(behind) == std::vector<std::uint32_t>{2});
  CHECK(behind.evidence(false).ranks[2].process.name == "process 31 on n0, GPU 2");
  CHECK(
      behind.notes().front() ==
      "Communicator ab12: its rank 2 is behind in AllReduce, at 4; 3 ranks have launched up to 9");
  const auto ahead = ras_in({report(
      "  2 ranks have launched up to operation 4\n  2 ranks have launched up to operation 9\n"
      "  Rank 0 -- GPU 0 managed by process 30 on node n0\n"
      "  Rank 1 -- GPU 1 managed by process 31 on node n0\n")});
  CHECK(roots(ahead) == std::vector<std::uint32_t>{2, 3});
}

TEST_CASE("a report is found in the log of a job", "[formats][ras_reader]") {
  const std::string clean = report(
      "  3 ranks have launched up to operation 9\n"
      "  Rank 2 has launched up to operation 4 -- GPU 2 managed by process 31 on node n0\n");
  // Lines of the job, in all places, that look a little like those of a report.
  std::string log = "NCCL version 2.28.3+cuda12.8\nRank 1 joined\n12 0.5 loss\n# epoch (1)\n";
  const std::string of_job =
      "0: [3] 17 steps\n 4 1 8 8 8 8\nRank 3 waits\nProcess 3 is busy\n#1 (now)\n";
  for (std::size_t begin = 0; begin < clean.size();) {
    const std::size_t end = clean.find('\n', begin) + 1;
    const std::string line = clean.substr(begin, end - begin);
    log += "0: " + line + (line.find("Group") == std::string::npos ? of_job : "");
    begin = end;
  }
  const auto found = ras_in({log});
  CHECK(roots(found) == std::vector<std::uint32_t>{2});
  CHECK(found.evidence(false).ranks.size() == 4);
  CHECK(found.notes() == ras_in({clean}).notes());
  // The log is evidence, too.
  const testing::Folder folder;
  const std::string timeout =
      "[rank0]:[E1 P.cpp:1] [Rank 0] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for "
      "600029 milliseconds before timing out.\n";
  const auto both = testing::command({"diagnose", folder.write("job.log", timeout + log)});
  INFO(both.out << both.err);
  CHECK(both.code == 1);
  CHECK(testing::contains(both.out, "The job waits for rank 2."));
  CHECK(testing::contains(both.out, "NCCL log, NCCL RAS"));
}

TEST_CASE("a difference of one launch counts once it stays, or the job hangs",
          "[formats][ras_reader]") {
  const std::string text = report(
      "  3 ranks have launched up to operation 5\n  Rank 2 has launched up to operation 4 -- GPU 2 "
      "managed by process 31 on node n0\n");
  CHECK(roots(ras_in({text})).empty());
  CHECK(roots(ras_in({text}), true) == std::vector<std::uint32_t>{2});
  CHECK(roots(ras_in({text, text})) == std::vector<std::uint32_t>{2});
  CHECK(ras_in({text}).notes().front().find("may clear by itself") != std::string::npos);
}

TEST_CASE("members that are not listed are not guessed", "[formats][ras_reader]") {
  const auto reader = ras_in({report(
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
  CHECK(roots(ras_in({R"({"communicators":[)" + world + "," + pair + "]}"})) ==
        std::vector<std::uint32_t>{3});
  const auto good = ras_in({R"({"communicators":[)" + world + "]}"});
  CHECK(roots(good).empty());
  CHECK(good.notes().front().find("RAS sees nothing wrong") == 0);
}

TEST_CASE("dead processes are roots, silent ones are asked for", "[formats][ras_reader]") {
  const auto reader = ras_in(
      {"Communicators... (0.002s)\n=============\n\nNo communicator data collected!\n\nErrors\n"
       "======\n\nDEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
       "  Process 41 on node n1 managing GPU 3\n"});
  const auto found = models::diagnose(reader.evidence(false));
  CHECK(found.explanation.verdict == sim::Verdict::kStarved);
  CHECK(reader.evidence(false).unplaced.front().name == "process 41 on n1, GPU 3");
  const auto status = [](const char* dead) {
    return std::string(R"({"communicators":[{"hash":"0x1","size":2,"ranks":[],"missing_ranks":[)"
                       R"({"rank":1,"host":"n0","pid":7,"status":{"considered_dead":)") +
           dead + "}}]}]}";
  };
  CHECK(roots(ras_in({status("true")})) == std::vector<std::uint32_t>{1});
  CHECK(roots(ras_in({status("false")})).empty());
}

namespace {

// Returns a member of a communicator, in JSON.
std::string member(int rank, int pid, int count, const std::string& host = "n0") {
  return R"({"rank":)" + std::to_string(rank) + R"(,"host":")" + host + R"(","pid":)" +
         std::to_string(pid) + R"(,"cuda_dev":0,"collective_counts":{"AllReduce":)" +
         std::to_string(count) + "}}";
}

std::string communicator(const std::string& hash, int size, const std::string& members) {
  return R"({"hash":"0x)" + hash + R"(","size":)" + std::to_string(size) + R"(,"ranks":[)" +
         members + "]}";
}

std::string communicators(const std::string& list) { return R"({"communicators":[)" + list + "]}"; }

std::vector<std::string> unplaced(const models::Evidence& evidence) {
  std::vector<std::string> names;
  for (const auto& process : models::diagnose(evidence).unplaced) names.push_back(process.name);
  return names;
}

// Two communicators of two ranks, as two tensor-parallel groups have them; rank 1 of the second
// communicator lags.
const std::string kPairs =
    communicators(communicator("a", 2, member(0, 10, 5) + "," + member(1, 11, 5)) + "," +
                  communicator("b", 2, member(0, 12, 9) + "," + member(1, 13, 4)));

}  // namespace

TEST_CASE("the rank in a communicator is that in the job only where it spans the job",
          "[formats][ras_reader]") {
  const auto reader = ras_in({kPairs});
  CHECK(roots(reader).empty());
  CHECK(unplaced(reader.evidence(false)) ==
        std::vector<std::string>{"rank 1 of communicator b (process 13 on n0, GPU 0)"});
  CHECK(models::diagnose(reader.evidence(false)).explanation.verdict == sim::Verdict::kStarved);
  // The summary counts 8 GPUs, but the communicator has only 4 ranks.
  const std::string lagging =
      "  3 ranks have launched up to operation 9\n"
      "  Rank 2 has launched up to operation 4 -- GPU 2 managed by process 31 on node n0\n";
  const std::string summary =
      "Job summary\n===========\n\n  Nodes  Processes  GPUs  Processes  GPUs\n"
      "(total)   per node  per process    (total)  (total)\n      1  8  1  8  8\n\n";
  std::string part = report(lagging);
  part.insert(part.find("Communicators..."), summary);
  CHECK(roots(ras_in({part})).empty());
  CHECK(unplaced(ras_in({part}).evidence(false)) ==
        std::vector<std::string>{"rank 2 of communicator ab12 (process 31 on n0, GPU 2)"});
  // Without the table, the size of the communicator is known, but not the size of the job.
  const std::string headless = part.substr(part.find("Warnings"));
  CHECK(roots(ras_in({headless})).empty());
  CHECK(unplaced(ras_in({headless}).evidence(false)).size() == 1);
}

TEST_CASE("processes whose rank is known by other evidence are joined by it",
          "[formats][ras_reader]") {
  const auto job = [](std::vector<std::pair<models::ProcessId, std::uint32_t>> processes) {
    return models::KnownJob{std::move(processes), 4};
  };
  const auto both = models::diagnose(
      ras_in({kPairs}).evidence(false, job({{{"n0", "12", "0"}, 3}, {{"n0", "13", "0"}, 2}})));
  REQUIRE(both.roots.size() == 1);
  CHECK(both.roots.front().rank == 2);
  // The report does not show which ranks wait for the process.
  const auto named = [&](std::vector<std::pair<models::ProcessId, std::uint32_t>> processes) {
    const auto evidence = ras_in({kPairs}).evidence(false, job(std::move(processes)));
    CHECK(models::diagnose(evidence).roots.empty());
    REQUIRE(unplaced(evidence).size() == 1);
    return unplaced(evidence).front();
  };
  const std::string rank = "rank 2 (process 13 on n0, GPU 0)";
  const std::string member = "rank 1 of communicator b (process 13 on n0, GPU 0)";
  CHECK(named({{{"n0", "13", "0"}, 2}}) == rank);
  CHECK(named({{{"n0.cluster", "13", ""}, 2}}) == rank);
  // An address can belong to any host, so the process id must be unique.
  CHECK(named({{{"10.0.0.1", "13", "0"}, 2}}) == rank);
  CHECK(named({{{"10.0.0.1", "13", "0"}, 2}, {{"10.0.0.2", "13", "0"}, 3}}) == member);
  CHECK(named({{{"n1", "13", "0"}, 2}}) == member);
  CHECK(named({{{"n0", "13", "1"}, 2}}) == member);
}

TEST_CASE("communicators that span the job and number it differently name no rank",
          "[formats][ras_reader]") {
  const std::string straight = communicator("a", 2, member(0, 10, 9) + "," + member(1, 11, 4));
  const std::string turned = communicator("b", 2, member(1, 10, 9) + "," + member(0, 11, 9));
  CHECK(roots(ras_in({communicators(straight)})) == std::vector<std::uint32_t>{1});
  const auto both = ras_in({communicators(straight + "," + turned)});
  CHECK(roots(both).empty());
  CHECK(unplaced(both.evidence(false)) ==
        std::vector<std::string>{"rank 1 of communicator a (process 11 on n0, GPU 0)"});
  // RAS sees two ranks of a job of four.
  CHECK(roots(ras_in({communicators(straight)})).size() == 1);
  models::KnownJob four;
  four.ranks = 4;
  CHECK(models::diagnose(ras_in({communicators(straight)}).evidence(false, four)).roots.empty());
}

TEST_CASE("a process that is reported dead has the rank that an earlier report gave it",
          "[formats][ras_reader]") {
  std::string missing = report("");
  missing +=
      "\nErrors\n======\n\n#0-0 (ab12) INCOMPLETE\n  Missing communicator data from 1 rank\n"
      "  Rank 3 -- GPU 3 managed by process 41 on node n0\n";
  const std::string dead =
      "Communicators... (0.002s)\n\nErrors\n======\n\nDEAD\n  1 job process is considered dead "
      "(unreachable via the RAS network)\n  Process 41 on node n0 managing GPU 3\n";
  CHECK(roots(ras_in({missing, dead})) == std::vector<std::uint32_t>{3});
  // One file holds both reports.
  CHECK(roots(ras_in({missing + dead})) == std::vector<std::uint32_t>{3});
  CHECK(roots(ras_in({dead})).empty());
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
