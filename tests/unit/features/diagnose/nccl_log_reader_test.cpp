#include "features/diagnose/nccl_log_reader.hpp"

#include <string>

#include "tests/support/catch.hpp"

#include "features/diagnose/diagnosis.hpp"

using namespace pipesim;

namespace {

formats::NcclLogReader timeouts_in(const std::string& text) {
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

TEST_CASE("only a rank whose count is smaller is the root", "[formats][nccl_log_reader]") {
  std::string text = "[rank2]: step 7\n";
  for (const int rank : {0, 1, 3}) {
    text += timeout(rank, 7, "_ALLGATHER_BASE") + status(rank, "1", 7, 9, 6);
  }
  // Only the ranks that name a group are known to be its members, except for the default group.
  CHECK(models::diagnose(timeouts_in(text).evidence()).explanation.verdict == sim::Verdict::kLimit);
  text.clear();
  for (const int rank : {0, 1, 3}) {
    text +=
        timeout(rank, 7, "_ALLGATHER_BASE") + status(rank, "ID 0 PG GUID 0(default_pg)", 7, 9, 6);
  }
  // The line of rank 2 does not show its progress.
  auto found = models::diagnose(timeouts_in("[rank2]: step 7\n" + text).evidence());
  CHECK(found.roots.empty());
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects.front().rank == 2);
  CHECK(found.explanation.verdict == sim::Verdict::kLimit);
  found = models::diagnose(
      timeouts_in(
          text +
          "[rank2]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank "
          "2] Received a dump signal due to a collective timeout from  rank 1 and we will try our "
          "best to dump the debug info. Last enqueued NCCL work: 6, last completed NCCL work: "
          "6.\n")
          .evidence());
  REQUIRE(found.roots.size() == 1);
  CHECK(found.roots.front().rank == 2);
  CHECK(found.pending == 9);
  CHECK(found.ranks[0].at->name == "_all_gather_base pg0");
  CHECK(found.ranks[0].at->number == 7);
  // A rank without any line may be dead.
  found = models::diagnose(timeouts_in(text).evidence());
  CHECK(found.roots.empty());
  REQUIRE(found.suspects.size() == 1);
  CHECK(found.suspects.front().rank == 2);
  CHECK(found.explanation.verdict == sim::Verdict::kLimit);
}

TEST_CASE("the number in [rank9] is that in the job, the one behind Rank that in its group",
          "[formats][nccl_log_reader]") {
  const std::string tail =
      "] Timeout at NCCL work: 5, last enqueued NCCL work: 5, last completed NCCL work: 4.\n";
  const std::string line =
      "[rank9]:[E ProcessGroupNCCL.cpp:1] [PG ID 1 PG GUID 3(tp) Rank 1" + tail;
  auto evidence = timeouts_in(line).evidence();
  REQUIRE(evidence.groups.size() == 1);
  CHECK(evidence.groups[0].ranks == std::vector<std::uint32_t>{9});
  CHECK(evidence.ranks[9].calls.size() == 1);
  // A line without the job rank gets its rank from another line that has both ranks.
  const std::string bare =
      "[PG ID 1 PG GUID 3(tp) Rank 1] ProcessGroupNCCL failed: last enqueued "
      "NCCL work: 5, last completed NCCL work: 4.\n";
  CHECK(timeouts_in(bare).evidence().ranks.size() <= 1);
  CHECK(timeouts_in(bare).notes().size() == 1);
  CHECK(timeouts_in(bare + line).evidence().groups[0].ranks == std::vector<std::uint32_t>{9});
}

TEST_CASE("lines are read as people paste them", "[formats][nccl_log_reader]") {
  const std::string line =
      "[rank3]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, "
      "Timeout(ms)=600000) ran for 600061 milliseconds before timing out.";
  const auto sequence = [](const std::string& text) {
    const auto evidence = timeouts_in(text).evidence();
    REQUIRE(evidence.ranks.size() == 4);
    REQUIRE(evidence.ranks[3].calls.size() == 1);
    CHECK(evidence.ranks[3].calls[0].ops.front().name == "all_reduce");
    return evidence.ranks[3].calls[0].sequence;
  };
  for (const char* label :
       {"", "3: ", "trainer-1  | ", "(Worker pid=12, ip=10.0.0.3) ", "[pod/job-0/main] ",
        "[80746] ", "2025-01-31T10:00:00.123456Z ", "[default3]:", "(Worker[rank=3] pid=12) ",
        "[1,3]<stderr>:", "\x1b[36m(Worker pid=7)\x1b[0m ", "node1.cluster [stderr] "}) {
    INFO(label);
    CHECK(sequence(label + line + "\n") == 1580);
  }
  // A terminal can wrap the line anywhere, even within a number.
  for (const std::size_t width : {60U, 80U, 100U, 135U, 140U}) {
    std::string broken;
    for (std::size_t at = 0; at < line.size(); at += width) broken += line.substr(at, width) + "\n";
    INFO(broken);
    CHECK(sequence(broken) == 1580);
    CHECK(sequence("node4 [stderr] " + broken) == 1580);
  }
  // The number in a launcher's label is not the job rank.
  CHECK(timeouts_in("0: " + line + "\n").evidence().ranks[0].calls.empty());
}

TEST_CASE("a count that is not the number of works is not used", "[formats][nccl_log_reader]") {
  // Sends and recvs also take sequence numbers, so number 241 need not be the collective after 183.
  const auto evidence = timeouts_in(timeout(0, 241, "ALLREDUCE") + status(0, "0", 241, 315, 183) +
                                    status(1, "0", 200, 200, 199))
                            .evidence();
  CHECK(evidence.ranks[0].progress.empty());
  CHECK(evidence.ranks[1].progress.empty());
  for (const auto& root : models::diagnose(evidence).roots) {
    CHECK(root.reason == models::RootReason::kUnexplained);
  }
}

TEST_CASE("reports of the desync, of a barrier and of torchfrtrace name who is missing",
          "[formats][nccl_log_reader]") {
  const auto roots = [](const std::string& text) {
    std::vector<std::uint32_t> ranks;
    for (const auto& root : models::diagnose(timeouts_in(text).evidence()).roots)
      ranks.push_back(root.rank);
    return ranks;
  };
  CHECK(roots("[rank0]:[E ProcessGroupNCCL.cpp:1937] Rank 0\n"
              "\t - [0] Timeout at collective: ALLREDUCE, #9\n"
              "\t - To our best knowledge, the lagging/dead/mismatched ranks are:\n"
              "\t   [2] finished collective #7, but didn't join collective #8 (count from 1)\n"
              "\t - Snapshot of ranks' latest states:\n\t   #7 finished ranks:\n"
              "\t     [2] finished ALLREDUCE\n\t   #9 started ranks:\n"
              "\t     [0, 1] started ALLREDUCE\n") == std::vector<std::uint32_t>{2});
  CHECK(roots("[Rank 0]: Ranks 1, 3 failed to pass monitoredBarrier in 5000 ms\n") ==
        std::vector<std::uint32_t>{1, 3});
  CHECK(roots("Not all ranks joining collective, sequence number: 4\ngroup info: pg:nccl\n"
              "collective: nccl:all_reduce\nmissing ranks: {2}\nexpected ranks: {0, 1, 2}\n") ==
        std::vector<std::uint32_t>{2});
}

TEST_CASE("reports that number ranks in their group name no rank of the job",
          "[formats][nccl_log_reader]") {
  const auto check = [](const std::string& text) {
    const auto found = models::diagnose(timeouts_in(text).evidence());
    CHECK(found.roots.empty());
    CHECK(found.explanation.verdict == sim::Verdict::kStarved);
    REQUIRE(found.unplaced.size() == 1);
    CHECK(found.unplaced.front().name == "rank 1 of a group of rank 4");
  };
  check("[rank4]:[E P.cpp:1] [Rank 0]: Rank 1 failed to pass monitoredBarrier in 5000 ms\n");
  check(
      "[rank4]:[E515 ProcessGroupNCCL.cpp:1937] Rank 0\n"
      "\t - Snapshot of ranks' latest states:\n\t   #7 finished ranks:\n"
      "\t     [1] finished ALLREDUCE\n\t   #9 started ranks:\n"
      "\t     [0, 2] started ALLREDUCE\n");
}

TEST_CASE("calls that TORCH_DISTRIBUTED_DEBUG=DETAIL finds to differ are a mismatch of both sides",
          "[formats][nccl_log_reader]") {
  const auto fingerprint = [](const std::string& op, const std::string& shape) {
    return "CollectiveFingerPrint(SequenceNumber=5, OpType=" + op + ", TensorShape=[" + shape +
           "], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default)))";
  };
  const std::string reduce = fingerprint("ALLREDUCE", "10");
  const std::string broadcast = fingerprint("BROADCAST", "10");
  // Builds a mismatch line. `local` is the group rank whose call is `own`; `peer` is another group
  // rank, with the call `other`.
  const auto line = [](const std::string& head, int local, const std::string& own, int peer,
                       const std::string& other) {
    return head + "RuntimeError: Detected mismatch between collectives on ranks. Rank " +
           std::to_string(local) + " is running collective: " + own + ", but Rank " +
           std::to_string(peer) + " is running collective: " + other + ".\n";
  };
  const auto sides = [](const std::string& text) {
    const auto found = models::diagnose(timeouts_in(text).evidence());
    std::vector<std::vector<std::uint32_t>> result;
    for (const auto& misfit : found.explanation.mismatches) {
      result.push_back(misfit.other_side);
      result.push_back(misfit.ranks);
    }
    CHECK(found.roots.empty());
    return result;
  };
  using Sides = std::vector<std::vector<std::uint32_t>>;
  // The group has ranks 4 and 6, which the lines number 0 and 1.
  const std::string both =
      line("[rank4]: ", 0, reduce, 1, broadcast) + line("[rank6]: ", 1, broadcast, 0, reduce);
  CHECK(sides(both) == Sides{{4}, {6}});
  CHECK(sides("[rank4]: Traceback (most recent call last):\n" + both) == Sides{{4}, {6}});
  // No line gives the job rank of the peer.
  const std::string half = line("[rank4]: ", 0, reduce, 1, broadcast);
  CHECK(sides(half).empty());
  CHECK(
      timeouts_in(half).notes().back() ==
      "Mismatched calls, ranks numbered in their group: rank 0 all_reduce [10] Float#5 and rank 1 "
      "broadcast [10] Float#5");
  // A call on another group is another collective.
  const std::string other = line("[rank0]: ", 0, fingerprint("BARRIER", ""), 1, reduce) +
                            line("[rank2]: ", 1, reduce, 0, fingerprint("BARRIER", ""));
  CHECK(sides(both + other).size() == 4);
  // Calls can also differ in their sizes. Older versions log only each rank's own call.
  CHECK(sides(line("[rank0]: ", 0, reduce, 1, fingerprint("ALLREDUCE", "12")) +
              line("[rank1]: ", 1, fingerprint("ALLREDUCE", "12"), 0, reduce)) == Sides{{0}, {1}});
  const auto old = [&](int rank, const std::string& own) {
    return "Detected mismatch between collectives on ranks. Rank " + std::to_string(rank) +
           " is running inconsistent collective: " + own + "\n";
  };
  CHECK(sides(old(0, reduce) + old(1, broadcast)) == Sides{{0}, {1}});
  // A terminal can wrap the line.
  std::string broken;
  for (std::size_t at = 0; at < both.find('\n'); at += 80) {
    broken += both.substr(at, std::min<std::size_t>(80, both.find('\n') - at)) + "\n";
  }
  CHECK(sides(broken + both.substr(both.find('\n') + 1)) == Sides{{4}, {6}});
}

TEST_CASE("an error of a rank itself, before any timeout, is the reason",
          "[formats][nccl_log_reader]") {
  const std::string traceback =
      "[rank1]: Traceback (most recent call last):\n"
      "[rank1]:   File \"train.py\", line 3, in step\n";
  const std::string waits = timeout(0, 7, "ALLREDUCE") + status(0, "0", 7, 7, 6);
  auto found =
      models::diagnose(timeouts_in(traceback + "[rank1]: KeyError: 'loss'\n" + waits).evidence());
  REQUIRE(found.roots.size() == 1);
  CHECK(found.roots[0].rank == 1);
  CHECK(found.roots[0].reason == models::RootReason::kDied);
  // An error caused by the hang is not a root cause, nor is an error after it.
  found = models::diagnose(
      timeouts_in(traceback + "[rank1]: torch.distributed.DistBackendError: NCCL error\n" + waits)
          .evidence());
  CHECK(found.roots.empty());
  found =
      models::diagnose(timeouts_in(waits + traceback + "[rank1]: KeyError: 'loss'\n").evidence());
  CHECK(found.roots.empty());
}

TEST_CASE("an error after which the rank went on is reported, and blames nobody",
          "[formats][nccl_log_reader]") {
  const std::string text =
      "[default1]:Traceback (most recent call last):\n"
      "[default1]:  File \"train.py\", line 3, in step\n"
      "[default1]:ValueError: loss is NaN in batch 17\n"
      "[default1]:[rank1]: Traceback (most recent call last):\n"
      "[default1]:[rank1]:   File \"train.py\", line 9, in main\n"
      "[default1]:[rank1]:   File \"torch/distributed/distributed_c10d.py\", line 5, in barrier\n"
      "[default1]:[rank1]: RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:78] Timed out "
      "waiting 30000ms for recv operation to complete\n";
  const auto reader = timeouts_in(text);
  CHECK(reader.notes().back() ==
        "Rank 1 raised an error of its own, and went on: ValueError: loss is NaN in batch 17");
  const auto evidence = reader.evidence();
  CHECK(models::diagnose(evidence).roots.empty());
  REQUIRE(evidence.ranks[1].host);
  CHECK(evidence.ranks[1].host->waits);
  CHECK(evidence.ranks[1].host->at == "barrier, called in main (train.py:9)");
}

TEST_CASE("the rank whose process ended first is the root, unless it ended after a timeout",
          "[formats][nccl_log_reader]") {
  const auto roots = [](const std::string& text) {
    std::vector<std::uint32_t> ranks;
    for (const auto& root : models::diagnose(timeouts_in(text).evidence()).roots) {
      if (root.reason == models::RootReason::kDied) ranks.push_back(root.rank);
    }
    return ranks;
  };
  const auto report = [](const std::string& code) {
    return "Root Cause (first observed failure):\n[0]:\n  time      : 2026-12-06_18:40:00\n"
           "  rank      : 2 (local_rank: 2)\n  exitcode  : " +
           code + "\n";
  };
  using Ranks = std::vector<std::uint32_t>;
  CHECK(roots(report("-9 (pid: 7)  (SIGKILL)")) == Ranks{2});
  // A rank that timed out also ends with these codes, so they name no root.
  CHECK(roots(report("-6 (pid: 7)  (SIGABRT)")).empty());
  CHECK(roots(report("1 (pid: 7)")).empty());
  // A timeout at 18:44 is later than the end, one at 18:30 is earlier.
  CHECK(roots(timeout(0, 7, "ALLREDUCE") + report("-9 (pid: 7)")) == Ranks{2});
  std::string earlier = timeout(0, 7, "ALLREDUCE");
  earlier.replace(earlier.find("18:44"), 5, "18:30");
  CHECK(roots(earlier + report("-9 (pid: 7)")).empty());
  // If the rank logs an error of its own, exit code 1 counts as a failure.
  CHECK(
      roots("[rank2]: Traceback (most recent call last):\n[rank2]:   File \"a.py\", line 1, in f\n"
            "[rank2]: KeyError: 3\n" +
            report("1 (pid: 7)")) == Ranks{2});
}

TEST_CASE("sizes of tensors give the size of a group", "[formats][nccl_log_reader]") {
  const std::string line =
      "[rank9]:[E607 23:46:59.2 ProcessGroupNCCL.cpp:689] [Rank 9] Watchdog caught collective "
      "operation timeout: WorkNCCL(SeqNum=7, OpType=_ALLGATHER_BASE, NumelIn=10, NumelOut=160, "
      "Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n";
  const std::string group =
      "[rank9]:[E607 23:46:59.2 ProcessGroupNCCL.cpp:2303] [PG ID 0 PG GUID 0(default_pg) Rank 9]  "
      "failure detected by watchdog at work sequence id: 7 PG status: last enqueued work: 7, last "
      "completed work: 6\n";
  const auto evidence = timeouts_in(line + group).evidence();
  CHECK(evidence.ranks.size() == 16);
  CHECK(models::diagnose(evidence).suspects.size() == 15);
  // The size of a group other than the default group says nothing about the job.
  CHECK(timeouts_in(line).evidence().ranks.size() == 10);
  CHECK(timeouts_in(line).evidence().groups.front().size == 16);
}

TEST_CASE("watchdogs of HCCL and XCCL print the same lines", "[formats][nccl_log_reader]") {
  const std::string nccl = timeout(0, 7, "ALLREDUCE") + status(0, "0", 7, 9, 6);
  const auto of_nccl = timeouts_in(nccl).evidence();
  for (const char* name : {"HCCL", "XCCL"}) {
    std::string text = nccl;
    for (std::size_t at = text.find("NCCL"); at != std::string::npos; at = text.find("NCCL", at)) {
      text.replace(at, 4, name);
    }
    const auto evidence = timeouts_in(text).evidence();
    REQUIRE(evidence.ranks[0].calls.size() == 3);
    CHECK(evidence.ranks[0].calls.front().sequence == of_nccl.ranks[0].calls.front().sequence);
    CHECK(evidence.ranks[0].progress.front().called == 9);
  }
}

TEST_CASE("a fingerprint without tensors garbles that of its peer", "[formats][nccl_log_reader]") {
  const std::string barrier = "CollectiveFingerPrint(SequenceNumber=5OpType=BARRIER)";
  const std::string garbled = "CollectiveFingerPrint(SequenceNumber=0OpType=REDUCE)";
  const std::string reduce =
      "CollectiveFingerPrint(SequenceNumber=5, OpType=ALLREDUCE, TensorShape=[10], "
      "TensorDtypes=Float)";
  const auto line = [](int rank, const std::string& own, const std::string& other) {
    const std::string r = std::to_string(rank);
    return "[rank" + r + "]: RuntimeError: Detected mismatch between collectives on ranks. Rank " +
           r + " is running collective: " + own + ", but Rank " + std::to_string(1 - rank) +
           " is running collective: " + other + ".\n";
  };
  const auto found = models::diagnose(
      timeouts_in(line(0, reduce, garbled) + line(1, barrier, garbled)).evidence());
  REQUIRE(found.explanation.mismatches.size() == 1);
  CHECK(found.explanation.mismatches[0].differences.front() == "all_reduce and barrier");
  // Only rank 1's own call is known.
  const auto reader = timeouts_in(line(1, barrier, garbled));
  CHECK(models::diagnose(reader.evidence()).explanation.mismatches.empty());
  CHECK(reader.notes().back() ==
        "Mismatched calls, ranks numbered in their group: rank 0's call and rank 1 barrier #5");
}

TEST_CASE("torchfrtrace's errors are reported, and blame nobody", "[formats][nccl_log_reader]") {
  const auto reader = timeouts_in(
      "Collective sequence number: 3 has errors\ninternal record id: 2\ngroup info: dp:nccl\n"
      "collective: nccl:all_reduce\nexpected ranks: {0, 1, 2}\ncollective state: scheduled\n"
      "error msg: Culprit rank 0; Error type: COLLECTIVE_TYPE_MISMATCH, Culprit rank 2; Error "
      "type: "
      "COLLECTIVE_TYPE_MISMATCH\n");
  CHECK(reader.notes().back().starts_with(
      "torchfrtrace finds that calls differ in all_reduce dp#3: Culprit rank 0; Error type"));
  CHECK(models::diagnose(reader.evidence()).roots.empty());
}

TEST_CASE("torchfrtrace's table of collectives is read", "[formats][nccl_log_reader]") {
  const std::string frames = "[{'name': 'step', 'filename': '/a.py', 'line': 64}]";
  const auto table = [](const std::string& rows) {
    return "=== FR Trace ===\n--- Groups ---\n id  desc  size\n 0   pg  3\n--- Collectives ---\n  "
           "id  "
           "group_id  pass_check  collective_seq_id  p2p_seq_id  record_id  pg_desc\n" +
           rows + "--- NCCL Calls ---\n  1  0  True  1  0  0  0:pg  nccl:all_reduce  {0}  {1}\n";
  };
  const std::string row = "   2    0  True     7   0    2  0:default_pg  nccl:all_reduce  [[64]]  ";
  for (const std::string& of_frames : {frames, std::string("[]")}) {
    const auto reader = timeouts_in(
        table(row + "[[64]]  {0, 1, 2}  scheduled  " + of_frames + "                  {1}\n"));
    const auto found = models::diagnose(reader.evidence());
    REQUIRE(found.roots.size() == 1);
    CHECK(found.roots.front().rank == 1);
    CHECK(found.roots.front().first.from.op.name == "all_reduce pg0");
    CHECK(reader.evidence().ranks.size() == 3);
  }
  const auto matched = timeouts_in(table(row + "[[64]]  {0, 1, 2}  completed  " + frames + "\n"));
  CHECK(matched.evidence().ranks.empty());
  const std::string differs =
      "   1    0  False    7   0    2  0:default_pg  nccl:all_reduce  [[8]]  ";
  const auto errors = timeouts_in(
      table(differs + "[[8]]  {0, 1}  scheduled  " + frames +
            "     {1: Collective(id=1, collective_name='nccl:broadcast', missing_ranks=None)}\n"));
  CHECK(errors.notes().back().starts_with(
      "torchfrtrace finds that calls differ in all_reduce 0#7: rank 1 called nccl:broadcast"));
  CHECK(models::diagnose(errors.evidence()).roots.empty());
}

TEST_CASE("newer lines are read, with the name of the group", "[formats][nccl_log_reader]") {
  const auto evidence =
      timeouts_in(
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
    return models::diagnose(timeouts_in(text).evidence()).explanation.verdict;
  };
  const std::string first = timeout(0, 7, "ALLREDUCE") + status(0, "1", 7, 7, 6);
  CHECK(verdict(first + timeout(1, 7, "BROADCAST") + status(1, "1", 7, 7, 6)) ==
        sim::Verdict::kMismatch);
  CHECK(verdict(first + timeout(1, 7, "ALLREDUCE", 9) + status(1, "1", 7, 7, 6)) ==
        sim::Verdict::kMismatch);
  CHECK(verdict(first + status(1, "1", 7, 7, 6)) == sim::Verdict::kLimit);
  CHECK(verdict(timeout(0, 7, "SEND") + status(0, "1", 7, 7, 6)) == sim::Verdict::kLimit);
}

TEST_CASE("communicators that not all create, and links that do not answer, are reported",
          "[formats][nccl_log_reader]") {
  const auto notes =
      timeouts_in(
          "n:1:2 [0] NCCL INFO comm 0x55 rank 0 nranks 3 cudaDev 0 commId 0xab - Init START\n"
          "n:1:2 [1] NCCL INFO comm 0x56 rank 2 nranks 3 cudaDev 1 commId 0xab - Init START\n"
          "n:1:2 [0] NCCL INFO comm 0x55 rank 0 nranks 1 cudaDev 0 commId 0xcd - Init COMPLETE\n"
          "NCCL WARN NET/IB : Got completion from peer 10.0.0.7<5486> with status=12 opcode=0\n"
          "NCCL WARN NET/IB : Got completion from peer 10.0.0.7<5490> with error 12, opcode 0\n")
          .notes();
  REQUIRE(notes.size() == 2);
  CHECK(notes[0] ==
        "Communicator 0xab: 2 of 3 ranks started to initialize it, 0 finished; no log line from "
        "rank 1");
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
      timeouts_in(
          "[PG 0 Rank 0] at work: 5, last enqueued NCCL work: 9223372036854775807, last completed "
          "NCCL work: 4\n")
          .evidence();
  CHECK(evidence.ranks[0].calls.size() == 1001);
  std::string many;
  for (int i = 0; i < 3000; ++i) many += timeout(0, i, "ALLREDUCE");
  CHECK(timeouts_in(many).evidence().ranks[0].calls.size() == 1000);
}
