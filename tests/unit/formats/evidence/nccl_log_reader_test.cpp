#include "formats/evidence/nccl_log_reader.hpp"

#include <string>

#include "models/postmortem/diagnosis.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;

namespace {

formats::NcclLogReader read(const std::string& text) {
  formats::NcclLogReader reader;
  models::Diagnostics diagnostics;
  REQUIRE(reader.read(text, diagnostics));
  return reader;
}

std::string timeout(int rank, int sequence, const std::string& op, int size = 8) {
  const std::string r = std::to_string(rank);
  return "[rank" + r + "]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:607] [Rank " + r +
         "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" +
         std::to_string(sequence) + ", OpType=" + op + ", NumelIn=" + std::to_string(size) +
         ", NumelOut=" + std::to_string(size) + ", Timeout(ms)=600000) ran for 600061 ms.\n";
}

std::string status(int rank, const std::string& group, int at, int enqueued, int completed) {
  return "[rank" + std::to_string(rank) + "]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:1664] [PG " +
         group + " Rank " + std::to_string(rank) +
         "] Exception (either an error or timeout) detected by watchdog at work: " +
         std::to_string(at) + ", last enqueued NCCL work: " + std::to_string(enqueued) +
         ", last completed NCCL work: " + std::to_string(completed) + ".\n";
}

}  // namespace

TEST_CASE("a rank that wrote and has nothing pending is the root", "[formats][nccl_log_reader]") {
  std::string text = "[rank2]: step 7\n";
  for (const int rank : {0, 1, 3}) {
    text += timeout(rank, 7, "_ALLGATHER_BASE") + status(rank, "1", 7, 9, 6);
  }
  // Of a group that is not the default one only those are members that named it.
  CHECK(models::diagnose(read(text).evidence()).explanation.verdict == sim::Verdict::kLimit);
  text.clear();
  for (const int rank : {0, 1, 3}) {
    text +=
        timeout(rank, 7, "_ALLGATHER_BASE") + status(rank, "ID 0 PG GUID 0(default_pg)", 7, 9, 6);
  }
  auto found = models::diagnose(read("[rank2]: step 7\n" + text).evidence());
  REQUIRE(found.roots.size() == 1);
  CHECK(found.roots.front().rank == 2);
  CHECK(found.pending == 9);
  CHECK(found.ranks[0].at->op == "_all_gather_base pg0");
  CHECK(found.ranks[0].at->act == 7);
  // A rank that wrote nothing at all may be dead.
  found = models::diagnose(read(text).evidence());
  REQUIRE(found.roots.size() == 1);
  CHECK(found.roots.front().reason == models::RootReason::kUnexplained);
  CHECK(found.explanation.verdict == sim::Verdict::kLimit);
}

TEST_CASE("newer lines are read, with the name of the group", "[formats][nccl_log_reader]") {
  const auto evidence =
      read(
          "[rank1]:[E1 P.cpp:1] [PG ID 3 PG GUID 17(tp) Rank 1]  failure detected by watchdog at "
          "work sequence id: 5 PG status: last enqueued work: 6, last completed work: 4\n")
          .evidence();
  REQUIRE(evidence.groups.size() == 1);
  CHECK(evidence.groups[0].name == "17");
  CHECK(evidence.groups[0].description == "tp");
  REQUIRE(evidence.ranks[1].calls.size() == 2);
  CHECK(evidence.ranks[1].calls[0].sequence == 5);
  CHECK(evidence.ranks[1].progress.front().completed == 4);
}

TEST_CASE("works that differ are a mismatch, what is not known is none",
          "[formats][nccl_log_reader]") {
  const auto verdict = [](const std::string& text) {
    return models::diagnose(read(text).evidence()).explanation.verdict;
  };
  const std::string first = timeout(0, 7, "ALLREDUCE") + status(0, "1", 7, 7, 6);
  CHECK(verdict(first + timeout(1, 7, "BROADCAST") + status(1, "1", 7, 7, 6)) ==
        sim::Verdict::kMismatch);
  CHECK(verdict(first + timeout(1, 7, "ALLREDUCE", 9) + status(1, "1", 7, 7, 6)) ==
        sim::Verdict::kMismatch);
  CHECK(verdict(first + status(1, "1", 7, 7, 6)) == sim::Verdict::kLimit);
  CHECK(verdict(timeout(0, 7, "SEND") + status(0, "1", 7, 7, 6)) == sim::Verdict::kLimit);
}

TEST_CASE("communicators that not all create, and links that do not answer, are told",
          "[formats][nccl_log_reader]") {
  const auto notes =
      read(
          "n:1:2 [0] NCCL INFO comm 0x55 rank 0 nranks 3 cudaDev 0 commId 0xab - Init START\n"
          "n:1:2 [1] NCCL INFO comm 0x56 rank 2 nranks 3 cudaDev 1 commId 0xab - Init START\n"
          "n:1:2 [0] NCCL INFO comm 0x55 rank 0 nranks 1 cudaDev 0 commId 0xcd - Init COMPLETE\n"
          "NCCL WARN NET/IB : Got completion from peer 10.0.0.7<5486> with status=12 opcode=0\n"
          "NCCL WARN NET/IB : Got completion from peer 10.0.0.7<5490> with error 12, opcode 0\n")
          .notes();
  REQUIRE(notes.size() == 2);
  CHECK(notes[0] ==
        "Communicator 0xab: 2 of its 3 ranks began to create it, 0 did; not begun, numbered in it: "
        "1");
  CHECK(notes[1] ==
        "NET/IB ended in an error 2 times: status 12 from peer 10.0.0.7 (no answer, after all "
        "retries)");
}

TEST_CASE("what says nothing is refused, and numbers without end do no harm",
          "[formats][nccl_log_reader]") {
  for (const std::string& text :
       {std::string(), std::string("hello\n"), std::string(70'000, 'x')}) {
    formats::NcclLogReader reader;
    models::Diagnostics diagnostics;
    CHECK_FALSE(reader.read(text, diagnostics));
    CHECK(diagnostics.sorted().front().message ==
          "no line of this file is from NCCL or PyTorch's watchdog");
  }
  const auto evidence =
      read(
          "[PG 0 Rank 0] at work: 5, last enqueued NCCL work: 9223372036854775807, last completed "
          "NCCL work: 4\n")
          .evidence();
  CHECK(evidence.ranks[0].calls.size() == 1001);
  std::string many;
  for (int i = 0; i < 3000; ++i) many += timeout(0, i, "ALLREDUCE");
  CHECK(read(many).evidence().ranks[0].calls.size() == 1000);
}
