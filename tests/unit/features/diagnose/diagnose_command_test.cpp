// `pipesim diagnose` from the command line. tests/golden/diagnose_* have whole outputs.
#include <string>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"
#include "tests/support/scenario.hpp"
#include "tests/support/without_command.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

const std::string kDumps = "tests/golden/diagnose_cycle/dumps";

// Returns the dump of one rank in a job of two ranks without pending calls.
std::string healthy(int rank) {
  return R"({"version":"2.9","rank":)" + std::to_string(rank) +
         R"(,"pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}},"entries":[)" +
         R"({"record_id":0,"process_group":["0","default_pg"],"collective_seq_id":1,)" +
         R"("profiling_name":"nccl:barrier","state":"completed"}]})";
}

}  // namespace

TEST_CASE("what evidence says is the exit code", "[app][diagnose_command]") {
  CHECK(command({"diagnose", "flight-recorder", kDumps}).code == 1);
  const testing::Folder folder;
  folder.write("0.json", healthy(0));
  folder.write("1.json", healthy(1));
  const auto good = command({"diagnose", "flight-recorder", folder.path()});
  CHECK(good.code == 0);
  CHECK(contains(good.out, "NOTHING WRONG FOUND   2 ranks, 0 calls not done"));
  const auto one = command({"diagnose", "flight-recorder", folder / "1.json"});
  CHECK(one.code == 3);
  CHECK(contains(one.out,
                 "1.json  UNDECIDED   2 ranks, 0 calls not done   Flight Recorder 2.9\n"
                 "No dump from rank 0\n"));
  CHECK(command({"diagnose", "flight-recorder", folder / "none_7"}).code == 74);
}

TEST_CASE("a dump may come from standard input", "[app][diagnose_command]") {
  const auto ran = command({"diagnose", "flight-recorder", "-"}, healthy(1));
  CHECK(ran.code == 3);
  CHECK(contains(ran.out, "standard input  UNDECIDED"));
}

TEST_CASE("usage of diagnose is checked", "[app][diagnose_command]") {
  CHECK(contains(
      command({"diagnose"}).err,
      "'pipesim diagnose' needs a kind of evidence\n  help: possible values: flight-recorder"));
  CHECK(contains(command({"diagnose", "flight-recorde", "x"}).err,
                 "did you mean 'flight-recorder'?"));
  CHECK(contains(command({"diagnose", "flight-recorder"}).err,
                 "'pipesim diagnose flight-recorder' needs files or folders"));
  CHECK(command({"diagnose", "--help"}).code == 0);
}

TEST_CASE("what is no dump is said, and the rest is read", "[app][diagnose_command]") {
  const testing::Folder folder;
  folder.write("rank_0", healthy(0));
  folder.write("rank_1", "garbage");
  folder.write("rank_2", healthy(0));
  const auto ran = command({"diagnose", "flight-recorder", folder.path()});
  CHECK(ran.code == 3);
  CHECK(contains(ran.err, "rank_1: error[E1103]: byte 0: "));
  CHECK(contains(ran.err, "rank_2: error[E1104]: rank 0 already has a dump: '"));
  CHECK(contains(ran.out, "2 files could not be read: this diagnosis does without them\n"));
  const testing::Folder empty;
  CHECK(command({"diagnose", "flight-recorder", empty.path()}).code == 2);
}

TEST_CASE("stacks of run are read back, and idle threads are not stragglers",
          "[app][diagnose_command]") {
  const std::string stacks = command({"run", "scenarios/swin_2x2x2.yaml", "--stacks"}).out;
  const auto swin = command({"diagnose", "stacks", "-", "--json"}, stacks);
  // All ranks wait, in different places, so the stacks blame no rank.
  CHECK(swin.code == 3);
  CHECK(contains(swin.out, "\"verdict\": \"different waits\""));
  CHECK(contains(swin.out, "\"root_ranks\": []"));
  const std::string alike =
      command({"run", "scenarios/two_groups_opposite_order.yaml", "--stacks"}).out;
  CHECK(command({"diagnose", "stacks", "-"}, alike).code == 3);
  CHECK(contains(command({"diagnose", "boxing", "-", "--dot", "x"}).err,
                 "'--dot', '--draw' and '--html' cannot be used with 'boxing'"));
}

TEST_CASE("usage of compare is checked, and an end is the same as itself",
          "[app][diagnose_command]") {
  CHECK(testing::without_command(command({"compare", kDumps, kDumps}).out) ==
        kDumps + ": deadlock, 3 ranks; to blame: ranks 0 and 1\n" + kDumps +
            ": deadlock, 3 ranks; to blame: ranks 0 and 1\nThey are stuck in the same place.\n");
  const auto other = command({"compare", kDumps, "scenarios/swin_2x2x2.yaml"});
  CHECK(other.code == 1);
  CHECK(contains(other.out,
                 "They are not stuck in the same place:\n  the numbers of ranks differ\n"));
  CHECK(contains(command({"compare", kDumps}).err, "'pipesim compare' takes two hangs, found 1"));
  CHECK(
      contains(command({"compare", kDumps, kDumps, "--kind", "x"}).err,
               "invalid value 'x' for '--kind'\n  help: possible values: flight-recorder, attach, "
               "nccl-log, oneflow, boxing, stacks"));
  CHECK(command({"compare", kDumps, "none.yaml"}).code == 74);
  CHECK(command({"compare", "--help"}).code == 0);
}

TEST_CASE("the boxings of a model are read back, and its partial sums named",
          "[app][diagnose_command]") {
  const std::string log =
      command({"opt", "scenarios/swin_2x2x2_from_model.yaml", "--explain-boxing"}).out;
  const auto found = command({"diagnose", "boxing", "-"}, log);
  CHECK(found.code == 1);
  // The bias table of each of the 12 blocks has one partial sum.
  CHECK(contains(found.out, ", 12 partial sums from a broadcast\n"));
  CHECK(contains(found.out, "from Repeat-block11-gather_nd-bias_table"));
  CHECK(command({"diagnose", "boxing", "-"}, log.substr(0, log.find('\n') + 1)).code == 0);
  CHECK(command({"diagnose", "boxing", "-"}, "x").code == 2);
}

TEST_CASE("the graph of evidence is drawn, and shown on a page", "[app][diagnose_command]") {
  const testing::Folder folder;
  const std::string svg = folder / "hang.svg";
  const std::string html = folder / "hang.html";
  CHECK(command({"diagnose", "flight-recorder", kDumps, "--draw", svg, "--html", html}).code == 1);
  const std::string picture = testing::file_text(svg);
  CHECK(contains(picture, "dumps: DEADLOCK"));
  CHECK(contains(picture, "<title>rank 0 all_reduce pg1#7</title>"));
  const std::string page = testing::file_text(html);
  CHECK(contains(page, "<title>dumps hangs</title>"));
  // The page data contains the waits and the terminal report.
  CHECK(contains(page, R"("cycle_heading":"The cycle: 2 waits, ranks 0 and 1")"));
  CHECK(contains(page, R"("report":"dumps  DEADLOCK)"));
  CHECK(contains(page, R"("lanes":[])"));
  const auto refused = command({"diagnose", "flight-recorder", kDumps, "--draw", "hang.jpg"});
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "'hang.jpg' has no known picture format"));
}

TEST_CASE("what a log says of collectives is a scenario that hangs alike",
          "[app][diagnose_command]") {
  const testing::Folder folder;
  // Rank 0 runs the forward's collective on its device, rank 1 is blocked in the backward's
  // collective. Each rank waits for the other.
  const std::string scenario = folder / "hang.yaml";
  const auto told = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"diagnose", "oneflow", folder.path(), "--as-scenario",
                                      scenario};
    words.insert(words.end(), more.begin(), more.end());
    return command(words);
  };
  folder.write("rank_0.log",
               "I1122 10:00:00.000000 7 k.cpp:1] before: nccl-f\nI1122 10:00:00.000000 7 k.cpp:1] "
               "after: nccl-f\n");
  folder.write("rank_1.log", "I1122 10:00:00.000000 7 k.cpp:1] before: nccl-b\n");
  const auto without = told({});
  CHECK(contains(without.out, "No scenario was written"));
  const auto with = told({"--group", "0,1"});
  CHECK(with.code == 1);
  const auto ran = command({"run", scenario});
  CHECK(ran.code == 1);
  CHECK(contains(ran.out, "DEADLOCK"));
  CHECK(contains(ran.out, "all_reduce pgnccl_f#1"));
  CHECK(contains(ran.out, "all_reduce pgnccl_b#1"));
  CHECK(command({"test", scenario}).code == 0);
}

TEST_CASE("a rank that is behind in a log never comes in its scenario", "[app][diagnose_command]") {
  const testing::Folder folder;
  // Rank 2 has launched nothing of the second micro-batch. Rank 1 has also not entered the
  // collective, but does not lag: it may wait for data, so it is not blamed.
  folder.write("rank_0.log",
               "I1122 10:00:00.000000 7 k.cpp:1] before: F\nI1122 10:00:00.000000 7 k.cpp:1] "
               "after: F\nI1122 10:00:00.000000 7 k.cpp:1] before: nccl\nI1122 10:00:00.000000 7 "
               "k.cpp:1] after: nccl\n"
               "I1122 10:00:00.000000 7 k.cpp:1] before: F\nI1122 10:00:00.000000 7 k.cpp:1] "
               "after: F\nI1122 10:00:00.000000 7 k.cpp:1] before: nccl\nI1122 10:00:00.000000 7 "
               "k.cpp:1] after: nccl\n");
  folder.write("rank_1.log",
               "I1122 10:00:00.000000 7 k.cpp:1] before: F\nI1122 10:00:00.000000 7 k.cpp:1] "
               "after: F\nI1122 10:00:00.000000 7 k.cpp:1] before: nccl\nI1122 10:00:00.000000 7 "
               "k.cpp:1] after: nccl\nI1122 10:00:00.000000 7 k.cpp:1] before: F\nI1122 "
               "10:00:00.000000 7 k.cpp:1] after: F\n");
  folder.write(
      "rank_2.log",
      "I1122 10:00:00.000000 7 k.cpp:1] before: F\nI1122 10:00:00.000000 7 k.cpp:1] after: F\n");
  const std::string scenario = folder / "hang.yaml";
  CHECK(command({"diagnose", "oneflow", folder.path(), "--group", "0-2", "--as-scenario", scenario})
            .code == 1);
  CHECK(contains(testing::file_text(scenario), "expect: {verdict: starved, roots: [2]}"));
  CHECK(command({"test", scenario}).code == 0);
}

TEST_CASE("ends of all kinds are compared", "[app][diagnose_command]") {
  const testing::Folder folder;
  const std::string swin = "scenarios/swin_2x2x2.yaml";
  const std::string log = folder / "swin.log";
  CHECK(command({"run", swin, "--log", log}).code == 1);
  const auto same = command({"compare", swin, log});
  CHECK(testing::without_command(same.out) ==
        swin + ": deadlock, 8 ranks; to blame: ranks 0 and 1\n" + log +
            ": deadlock, 8 ranks; to blame: ranks 0 and 1\n"
            "They are stuck in the same place.\n");
  CHECK(same.code == 0);
  const auto fixed = command({"compare", log, swin, "--set", "bwd_dst_buffer=backward"});
  CHECK(fixed.code == 1);
  CHECK(contains(fixed.out, "  the verdicts differ\n"));
  // The run finishes all four micro-batches, the log only two.
  CHECK(contains(fixed.out,
                 "  rank 0 F3: entered 2 and launched 2 in the log, 4 and 4 in the run\n"));
  // The two logs end in different steps: `compare` compares the positions of ranks, not numbers of
  // launches.
  folder.write("a.log",
               "0: I1122 10:00:00.000000 7 k.cpp:1] before: F\n0: I1122 10:00:00.000000 7 k.cpp:1] "
               "after: F\n0: I1122 10:00:00.000000 7 k.cpp:1] before: nccl\n1: I1122 "
               "10:00:00.000000 7 k.cpp:1] before: F\n");
  folder.write("b.log",
               "0: I1122 10:00:00.000000 7 k.cpp:1] before: F\n0: I1122 10:00:00.000000 7 k.cpp:1] "
               "after: F\n0: I1122 10:00:00.000000 7 k.cpp:1] before: nccl\n0: I1122 "
               "10:00:00.000000 7 k.cpp:1] after: nccl\n"
               "0: I1122 10:00:00.000000 7 k.cpp:1] before: F\n0: I1122 10:00:00.000000 7 k.cpp:1] "
               "after: F\n0: I1122 10:00:00.000000 7 k.cpp:1] before: nccl\n"
               "1: I1122 10:00:00.000000 7 k.cpp:1] before: F\n1: I1122 10:00:00.000000 7 k.cpp:1] "
               "after: F\n1: I1122 10:00:00.000000 7 k.cpp:1] before: nccl\n1: I1122 "
               "10:00:00.000000 7 k.cpp:1] after: nccl\n"
               "1: I1122 10:00:00.000000 7 k.cpp:1] before: F\n");
  folder.write("c.log",
               "0: I1122 10:00:00.000000 7 k.cpp:1] before: F\n1: I1122 10:00:00.000000 7 k.cpp:1] "
               "before: F\n1: I1122 10:00:00.000000 7 k.cpp:1] after: F\n1: I1122 10:00:00.000000 "
               "7 k.cpp:1] before: nccl\n");
  CHECK(command({"compare", folder / "a.log", folder / "b.log"}).code == 0);
  const auto other = command({"compare", folder / "a.log", folder / "c.log"});
  CHECK(other.code == 1);
  CHECK(contains(other.out, "  rank 0 is at nccl and at F\n"));
}

TEST_CASE("stacks are compared with each other, and with what says who is to blame",
          "[app][diagnose_command]") {
  const testing::Folder folder;
  const std::string stacks = "tests/golden/diagnose_stacks/srun.txt";
  CHECK(command({"compare", stacks, stacks}).code == 0);
  // Rank 2 never calls an all_reduce of four ranks: it is the straggler.
  folder.write("job.yaml", R"(
schema: 1
ranks: 4
groups: {world: all}
programs:
  - {on: [0, 1, 3], do: [{all_reduce: world, bytes: 8B}, {synchronize: device}]}
  - {on: 2, do: []}
)");
  const auto alike = command({"compare", folder / "job.yaml", stacks});
  CHECK(alike.code == 0);
  CHECK(contains(alike.out, "odd ones out, 4 ranks; to blame: rank 2\n"));
  folder.write("other.yaml", R"(
schema: 1
ranks: 4
groups: {world: all}
programs:
  - {on: [0, 1, 2], do: [{all_reduce: world, bytes: 8B}, {synchronize: device}]}
  - {on: 3, do: []}
)");
  const auto differs = command({"compare", stacks, folder / "other.yaml"});
  CHECK(differs.code == 1);
  CHECK(contains(differs.out, "  other ranks are to blame\n"));
  CHECK(contains(differs.out, "  ranks 2 and 3 wait in only one of them\n"));
}

TEST_CASE("who stands elsewhere is drawn, and shown on a page", "[app][diagnose_command]") {
  const testing::Folder folder;
  const std::string stacks = "tests/golden/diagnose_stacks/srun.txt";
  const std::string dot = folder / "odd.dot";
  const std::string html = folder / "odd.html";
  CHECK(command({"diagnose", "stacks", stacks, "--dot", dot, "--html", html}).code == 1);
  const std::string graph = testing::file_text(dot);
  CHECK(contains(graph, "srun.txt: odd ones out"));
  CHECK(contains(graph, "rank 2 never calls all_reduce"));
  const std::string page = testing::file_text(html);
  CHECK(contains(page, "load_config (data.py:40)"));
  // In the written scenario, the straggler never makes the call.
  const std::string scenario = folder / "odd.yaml";
  CHECK(command({"diagnose", "stacks", stacks, "--as-scenario", scenario}).code == 1);
  CHECK(contains(testing::file_text(scenario), "expect: {verdict: starved, roots: [2]}"));
  CHECK(command({"test", scenario}).code == 0);
}

TEST_CASE("all evidence in a folder is put together", "[app][diagnose_command]") {
  const testing::Folder folder;
  // Rank 1 made 6 calls, the other ranks 7. The stack of rank 1 shows that it is elsewhere.
  std::string log;
  for (const int rank : {0, 1, 2}) {
    const std::string counts = rank == 1
                                   ? "Last enqueued NCCL work: 6, last completed NCCL work: 6."
                                   : "Timeout at NCCL work: 7, last enqueued NCCL work: 7, last "
                                     "completed NCCL work: 6.";
    log += fmt::format("[rank{0}]:[E P.cpp:1] [PG ID 0 PG GUID 0(default_pg) Rank {0}] {1}\n", rank,
                       counts);
  }
  folder.write("e/job.log", log);
  folder.write("e/stacks/1.txt",
               "Process 41: python train.py\nThread 41 (active): \"MainThread\"\n"
               "    load_config (data.py:40)\n    <module> (train.py:1)\n");
  folder.write("e/notes.md", "nothing\n");
  const auto found = command({"diagnose", folder / "e", "--why"});
  CHECK(found.code == 1);
  CHECK(contains(found.out,
                 "e  HANGS   3 ranks, 2 calls not done   NCCL log, stacks\n"
                 "The job waits for rank 1, whose host is in load_config (data.py:40).\n1 file is "
                 "no evidence: not used\n"));
  CHECK(contains(found.out, "rank 1's host is in load_config (data.py:40)"));
  CHECK(contains(found.out, "\nWhy:\n"));
  CHECK(contains(found.out, "e/job.log:1"));
  CHECK(contains(found.out, "stacks/1.txt:2"));
  // diagnose reports a single kind of evidence as the command for this kind does.
  CHECK(contains(command({"diagnose", folder / "e/job.log"}).out, "NCCL log"));
  CHECK(command({"diagnose", folder / "e/notes.md"}).code == 2);
}

namespace {

// Returns the line that NCCL logs for a call on the only communicator. Rank `rank` is process 40 +
// `rank` on host n0.
std::string nccl_call(int rank, const std::string& op, const std::string& label = "") {
  const std::string r = std::to_string(rank);
  return label + "n0:4" + r + ":9 [" + r + "] NCCL INFO " + op +
         ": opCount 0 sendbuff 0x1 recvbuff 0x2 count 4 datatype 7 op 0 root 0 comm 0x5" + r +
         " [nranks=2] stream 0x9\n";
}

std::string nccl_init(int rank, const std::string& label = "") {
  const std::string r = std::to_string(rank);
  return label + "n0:4" + r + ":9 [" + r + "] NCCL INFO comm 0x5" + r + " rank " + r +
         " nranks 2 cudaDev " + r + " busId 0 commId 0xab - Init COMPLETE\n";
}

}  // namespace

TEST_CASE("what NCCL writes of calls is a scenario that hangs alike", "[app][diagnose_command]") {
  const testing::Folder folder;
  const std::string calls = nccl_init(0) + nccl_init(1) + nccl_call(0, "AllReduce") +
                            nccl_call(1, "AllReduce") + nccl_call(0, "AllGather");
  // Without a timeout, rank 1 may only be late.
  const auto open = command({"diagnose", folder.write("calls.log", calls)});
  CHECK(open.code == 3);
  CHECK(contains(open.out, "look at rank 1 first"));
  const std::string log = folder.write(
      "job.log", calls +
                     "[rank0]:[E1206 18:44:12.7 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog "
                     "caught collective operation timeout: WorkNCCL(SeqNum=2, "
                     "OpType=ALLGATHER, NumelIn=4, NumelOut=8, Timeout(ms)=600000) ran for "
                     "600061 milliseconds before timing out.\n");
  const std::string scenario = folder / "hang.yaml";
  const auto found = command({"diagnose", log, "--as-scenario", scenario});
  CHECK(found.code == 1);
  CHECK(contains(found.out, "The job waits for rank 1.\n"));
  CHECK(contains(found.out, "Next:\n  py-spy dump --pid 41, on n0: where is rank 1?\n"));
  CHECK(command({"test", scenario}).code == 0);
  CHECK(contains(command({"run", scenario}).out, "Rank 1 never calls all_gather comm_0xab#1"));
}

TEST_CASE("reports of RAS and stacks are joined with NCCL's own lines by process",
          "[app][diagnose_command]") {
  const testing::Folder folder;
  // Ranks 0 and 1 of a tensor-parallel group are ranks 6 and 7 of the job.
  const std::string calls = nccl_init(0, "[rank6]: ") + nccl_call(0, "AllReduce", "[rank6]: ") +
                            nccl_init(1, "[rank7]: ");
  const auto member = [](int rank, int count) {
    return R"({"rank":)" + std::to_string(rank) + R"(,"host":"n0","pid":4)" + std::to_string(rank) +
           R"(,"cuda_dev":)" + std::to_string(rank) + R"(,"collective_counts":{"AllReduce":)" +
           std::to_string(count) + "}}";
  };
  const std::string group =
      R"({"hash":"0xab","size":2,"ranks":[)" + member(0, 9) + "," + member(1, 4) + "]}";
  const std::string other =
      R"({"hash":"0xcd","size":2,"ranks":[{"rank":0,"host":"n1","pid":50,"cuda_dev":0},)"
      R"({"rank":1,"host":"n1","pid":51,"cuda_dev":1}]})";
  folder.write("ras/ras.json", R"({"communicators":[)" + group + "," + other + "]}");
  const auto alone = command({"diagnose", folder / "ras"});
  CHECK(alone.code == 1);
  CHECK(contains(alone.out, "Rank 1 of communicator ab (process 41 on n0, GPU 1) is behind;"));
  CHECK(contains(alone.out, "py-spy dump --pid 41, on n0: where is rank 1 of communicator ab"));
  folder.write("both/ras.json", testing::file_text(folder / "ras/ras.json"));
  folder.write("both/job.log", calls);
  CHECK(contains(command({"diagnose", folder / "both"}).out, "The job waits for rank 7.\n"));
  // A stack names only its process. In a job of two ranks, all processes are known.
  folder.write("pair/job.log", nccl_init(0) + nccl_call(0, "AllReduce") + nccl_init(1));
  folder.write(
      "pair/stacks.txt",
      "Process 41: python t.py\nThread 41 (active): \"MainThread\"\n    load (data.py:4)\n");
  CHECK(
      contains(command({"diagnose", folder / "pair"}).out, "rank 1's host is in load (data.py:4)"));
}

TEST_CASE("accounts of launches and boxings end with the next command", "[app][diagnose_command]") {
  const std::string logs = "I1122 10:00:00.000000 7 k.cpp:1] before: nccl-f\n";
  const testing::Folder folder;
  folder.write("rank_0.log", logs);
  folder.write("rank_1.log", "I1122 10:00:00.000000 7 k.cpp:1] before: nccl-b\n");
  const auto open = command({"diagnose", "oneflow", folder.path()});
  CHECK(contains(open.out, "Next:\n  pipesim diagnose oneflow ... --group RANKS"));
  const auto cycle = command({"diagnose", "oneflow", folder.path(), "--group", "0,1"});
  CHECK(contains(cycle.out, "Next:\n  pipesim diagnose ... --as-scenario hang.yaml"));
  const auto json = command({"diagnose", "oneflow", folder.path(), "--group", "0,1", "--json"});
  CHECK(contains(json.out, "\"next\": [\n    \"pipesim diagnose"));
  const std::string log =
      command({"opt", "scenarios/swin_2x2x2_from_model.yaml", "--explain-boxing"}).out;
  CHECK(contains(command({"diagnose", "boxing", "-"}, log).out,
                 "Next:\n  pipesim diagnose oneflow LOGS"));
}

TEST_CASE("unknown versions of the Flight Recorder are read with a warning",
          "[app][diagnose_command]") {
  std::string dump = healthy(1);
  dump.replace(dump.find("2.9"), 3, "3.0");
  const auto found = command({"diagnose", "flight-recorder", "-"}, dump);
  CHECK(found.code == 3);
  CHECK(contains(found.err, "warning[E1102]: unknown version '3.0' of the Flight Recorder"));
}

TEST_CASE("boxings are data too", "[app][diagnose_command]") {
  const std::string log =
      command({"opt", "scenarios/swin_2x2x2_from_model.yaml", "--explain-boxing"}).out;
  const auto json = command({"diagnose", "boxing", "-", "--json"}, log);
  CHECK(json.code == 1);
  CHECK(contains(json.out, "\"verdict\": \"partial sums from broadcasts\""));
  CHECK(contains(json.out, "\"from_op\": \"Repeat-block11-gather_nd-bias_table\""));
  CHECK(contains(
      command({"compare", "tests/golden/diagnose_stacks/srun.txt", "x", "--kind", "boxing"}).err,
      "a boxing log does not say how a job ends"));
}
