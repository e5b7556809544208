#include "models/result/memory.hpp"

#include <string>

#include "models/result/pipeline_report.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using namespace pipesim::models;

namespace {

std::optional<MemoryReport> report_of(const std::string& text) {
  const TaskGraph graph = testing::scenario_of("schema: 1\n" + text).graph;
  const Simulation run = testing::simulate(graph, {.keep_op_times = true});
  std::optional<MemoryReport> report = memory_report(graph, run.lowered, run.outcome);
  for (const RankMemory& rank : report.value_or(MemoryReport())) {
    CHECK(rank.held <= rank.peak);
    CHECK(rank.peak <= rank.reserved);
  }
  return report;
}

// Returns "held reserved peak time" of each rank, in bytes and nanoseconds.
std::string memory_of(const std::string& text) {
  std::string result;
  const MemoryReport report = report_of(text).value();
  for (const RankMemory& rank : report) {
    result += (result.empty() ? "" : "; ") + std::to_string(rank.held) + " " +
              std::to_string(rank.reserved) + " " + std::to_string(rank.peak) + " " +
              std::to_string(rank.peak_ns);
  }
  return result;
}

}  // namespace

TEST_CASE("without sizes there is nothing to say", "[models][memory]") {
  CHECK(!report_of("actors: {a: {source: 1}}\n"));
  CHECK(report_of("actors: {a: {source: 1, bytes: 0}}\n"));
  const TaskGraph graph =
      testing::scenario_of("schema: 1\nactors: {a: {source: 1, bytes: 1B}}\n").graph;
  const Simulation run = testing::simulate(graph);
  CHECK(!memory_report(graph, run.lowered, run.outcome));  // the run has no op times
}

TEST_CASE("a slot is in use from the launch that fills it until it is given back",
          "[models][memory]") {
  // us      0    1    2    3    4    5    6    7    8    9    10
  // a       #1   #2   #3                                            launched as credits allow
  // b            #1-----------  #2-----------  #3-----------
  // b runs on another stream, so it gives a#1 back at its end, 4 us.
  const std::string head = "actors:\n  a: {source: 3, takes: 1us, bytes: 4B, slots: ";
  const std::string tail = "}\n  b: {reads: [a], takes: 3us, bytes: 1B}\n";
  // All three ops of a are launched at 0; b#1 starts at 1 us.
  CHECK(memory_of(head + "3" + tail) == "0 13 13 1000");
  // a#3 is launched at 4 us into the freed slot: never more than two slots are in use.
  CHECK(memory_of(head + "2" + tail) == "0 9 9 1000");
  // Slots that are never used count as reserved.
  CHECK(memory_of(head + "9" + tail) == "0 37 13 1000");
  // A launch overhead of 1 us launches a#k at k us. b#1 runs from 2 to 5 us.
  CHECK(memory_of(head + "3, launch_overhead: 1us" + tail) == "0 13 13 3000");
}

TEST_CASE("what is acknowledged at launch is given back at launch", "[models][memory]") {
  // The actors share a stream, so messages leave at launch. At 0 us the thread launches a#1 and
  // then b#1, which returns a#1 at once, and so on. A slot is in use until its credit returns.
  const std::string actors =
      "actors:\n  a: {source: 3, stream: s, takes: 1us, bytes: 4B}\n"
      "  b: {reads: [a], stream: s, takes: 3us, bytes: 1B";
  CHECK(memory_of(actors + "}\n") == "0 5 1 1000");
  // If messages are gated, b returns a#1 at its end, 4 us; then a#2 runs.
  CHECK(memory_of(actors + ", messages: gated}\n") == "0 5 5 1000");
}

TEST_CASE("all readers have to give a slot back", "[models][memory]") {
  // us      0    1    2    3    4    5    6    7
  // a       #1   #2                                launched at 0; the slower reader, c, gives back
  // b            #1   #2
  // c            #1-----------  #2-----------
  // At 4 us c#1 gives a#1 back, c#2 is launched, and d#1 takes 10 B, without a reader, until 5 us.
  // Until 7 us c#2 needs a#2; then only the 10 B of d#2 are in use.
  CHECK(memory_of("actors:\n  a: {source: 2, takes: 1us, bytes: 4B, slots: 2}\n"
                  "  b: {reads: [a], takes: 1us}\n  c: {reads: [a], takes: 3us}\n"
                  "  d: {reads: [c], takes: 1us, bytes: 10B}\n") == "0 18 14 4000");
}

TEST_CASE("what works in place holds no memory of its own", "[models][memory]") {
  // us      0    1    2    3    4    5    6
  // a       #1   #2
  // b            #1   #2                       in place: a's slot is b's output
  // c                 #1------  #2------       b#1 is given back at 4 us, and with it a#1
  const std::string actors =
      "actors:\n  a: {source: 2, slots: 2, takes: 1us, bytes: 4B}\n"
      "  b: {reads: [a], slots: 2, takes: 1us, bytes: 100B";
  const std::string reader = "}\n  c: {reads: [b], takes: 2us}\n";
  CHECK(memory_of(actors + ", in_place: on" + reader) == "0 8 8 0");
  // Not in place: b#1 from 1 us, b#2 from 2 us, when a#1 is given back; a#2 is still in use.
  CHECK(memory_of(actors + reader) == "0 208 204 2000");
  // In place without a reader: b gives the slot back at its own end.
  CHECK(memory_of(actors + ", in_place: on}\n") == "0 8 8 0");
  // A source has no input whose memory it could reuse.
  CHECK(memory_of("actors: {a: {source: 1, takes: 1us, in_place: on, bytes: 3B}}\n") == "0 3 3 0");
}

TEST_CASE("rates: a slot is in use for all ops that fill it", "[models][memory]") {
  // us      0    1    2    3    4    5    6    7    8
  // a       #1        #2        #3             one slot, given back at the end of the sum's op
  // sum          #1        #2        #3        one slot for ops 1 and 2, used since 1 us
  // b                           #1--------     gives the slot back at 6 us, when sum#3 can start
  CHECK(memory_of("actors:\n  a: {source: 4, takes: 1us, bytes: 1B}\n"
                  "  sum: {kind: accumulate, times: 2, reads: [a], takes: 1us, bytes: 8B}\n"
                  "  b: {reads: [sum], takes: 2us}\n") == "0 9 9 1000");
  // An unpack reads the slot in 5 pieces, and returns the slot with the last piece, at 6 us: after
  // b was launched at 5.5 us.
  CHECK(memory_of("actors:\n  a: {source: 1, takes: 1us, bytes: 8B}\n"
                  "  cut: {kind: unpack, times: 5, reads: [a], takes: 1us}\n"
                  "  late: {source: 1, takes: 5500ns}\n"
                  "  b: {reads: [late], takes: 1us, bytes: 2B}\n") == "0 10 10 5500");
}

TEST_CASE("what nobody reads is in use while it is filled", "[models][memory]") {
  // Two ops of 2 us each are launched at 0 us: the actor has one slot, not two.
  CHECK(memory_of("actors: {a: {source: 2, stream: s, takes: 2us, bytes: 5B}}\n") == "0 5 5 0");
}

TEST_CASE("memory is that of the producer's rank, and may depend on it", "[models][memory]") {
  const std::string found = memory_of(
      "ranks: 2\nmemory: 100B * (rank + 1)\nactors:\n"
      "  a: {on: 0, source: 1, takes: 1us, bytes: {case: rank, 0: 7B, else: 9B}}\n"
      "  b: {on: 1, reads: [{from: a, rank: 0}], takes: 2us}\n");
  CHECK(found == "100 107 107 0; 200 200 200 0");
}

TEST_CASE("what hangs keeps what it holds", "[models][memory]") {
  // Rank 1 has no b, so the collective never ends. b keeps a#1, and the third op finds no credit.
  const std::string found = memory_of(
      "ranks: 2\ngroups: {tp: all}\nactors:\n"
      "  a: {source: 3, slots: 2, takes: 1us, bytes: 4B}\n"
      "  b: {on: 0, reads: [a], takes: 1us, bytes: 1B, collective: {all_reduce: tp}}\n"
      "  c: {on: 0, reads: [b]}\n");
  CHECK(found.substr(0, found.find(';')) == "0 9 9 1000");
}

TEST_CASE("a schedule's activations and weights are in the same figure", "[models][memory]") {
  // 1F1B on 2 ranks: the first holds 2 micro-batches, the last 1. F 1 us, B 2 us.
  // us      0    1    2    3    4    5    6 ...
  // rank 0  F0   F1        B0-------
  // rank 1       F0   B0-------
  const std::string schedule =
      "schedule: {kind: 1f1b, stages: 2, micro_batches: 4, forward: 1us, activation: 10B, weights: "
      "3B}\n";
  CHECK(memory_of(schedule) == "3 23 23 1000; 3 13 13 1000");
  // An actor is added to the schedule: both of its slots are full at the schedule's peak.
  CHECK(memory_of("memory: 1000B\n" + schedule +
                  "actors: {a: {on: 0, source: 2, slots: 2, takes: 1us, bytes: 100B}, b: {on: 0, "
                  "reads: [a], takes: 9us}}\n") == "1003 1223 1223 1000; 1003 1013 1013 1000");
}

TEST_CASE("weights that FSDP gathers are in use until they are resharded", "[models][memory]") {
  // One rank with four stages, of 1 B each, gathers 100, 200, 300 and 400 B. F 1 us, B 2 us. Three
  // are gathered ahead (PyTorch's _add_unshard_reshard):
  //   0U 1U 2U 0F0 | 0R 3U 1F0 2F0 3F0 3B0 | 3R 0U 2B0 | 2R 1B0 | 1R 0B0 | 0R
  // Activations take 10 B each from F to B.
  const std::string stages =
      "schedule: {kind: looped_bfs, stages: 4, chunks: 4, micro_batches: 1, forward: 1us, "
      "activation: 10B, weights: 1B, unsharded: 100B * (stage + 1)}\n";
  // At 1 us, 200 + 300 + 400 B are in use; 3F0 starts at 3 us, with four activations.
  CHECK(memory_of(stages) == "4 944 944 3000");
  const TaskGraph graph = testing::scenario_of("schema: 1\n" + stages).graph;
  const Simulation run = testing::simulate(graph, {.keep_op_times = true});
  const MemoryUse use = memory_over_time(graph, run.lowered, run.outcome);
  CHECK(use.ranks.front() == std::vector<MemoryStep>{{0, 4 + 600 + 10},
                                                     {1'000, 4 + 900 + 20},
                                                     {2'000, 4 + 900 + 30},
                                                     {3'000, 4 + 900 + 40},
                                                     {6'000, 4 + 600 + 30},   // 3B0, 3R, 0U
                                                     {8'000, 4 + 300 + 20},   // 2B0, 2R
                                                     {10'000, 4 + 100 + 10},  // 1B0, 1R
                                                     {12'000, 4}});           // 0B0, 0R
  // The report of the schedule has the same numbers, also if gathers take time.
  for (const std::string extra : {"",
                                  "collectives: [{call: all_gather, over: world, in: unshard, "
                                  "takes: 500ns}], "}) {
    const std::string text = "schema: 1\nranks: 1\ngroups: {world: all}\nschedule: {" + extra +
                             stages.substr(stages.find('{') + 1);
    const TaskGraph job = testing::scenario_of(text).graph;
    const Simulation ran = testing::simulate(job, {.keep_op_times = true});
    CHECK(pipeline_report(job, ran.lowered, ran.outcome)->ranks[0].peak_bytes == 944);
    CHECK(memory_report(job, ran.lowered, ran.outcome)->front().peak == 944);
  }
  // In the tail of a schedule, a parameter that is dropped but not gathered was gathered before the
  // start.
  CHECK(memory_of("schedule: {partial: on, rows: ['0B1,0RESHARD'], forward: 1us, unsharded: 5B, "
                  "activation: 2B}\n") == "0 7 7 0");
  CHECK(testing::mistakes_in("schema: 1\nschedule:\n  unsharded: 1B\n  rows: ['0F0,0SEND_F0,"
                             "0RECV_B0,0B0', '1RECV_F0,1F0,1B0,1SEND_B0']\n") ==
        "3:14: 'unsharded' needs UNSHARD in the rows, which have sends and recvs already\n"
        "  add 0UNSHARD and 0RESHARD there, or leave out the sends and recvs\n");
}

TEST_CASE("for schedules that is what their report says", "[models][memory]") {
  for (const char* kind : {"gpipe", "1f1b", "zb1p", "zbv", "dualpipe_v", "dualpipe", "chimera"}) {
    const std::string text = "schema: 1\nschedule: {kind: " + std::string(kind) +
                             ", stages: 8, micro_batches: 16, activation: 3MiB, weights: 5MiB}\n";
    CAPTURE(text);
    const TaskGraph graph = testing::scenario_of(text).graph;
    const Simulation run = testing::simulate(graph, {.keep_op_times = true});
    const MemoryReport memory = memory_report(graph, run.lowered, run.outcome).value();
    const PipelineReport report = pipeline_report(graph, run.lowered, run.outcome).value();
    REQUIRE(memory.size() == report.ranks.size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
      CHECK(memory[i].peak == report.ranks[i].peak_bytes);
      CHECK(memory[i].reserved == memory[i].peak);
    }
  }
}

TEST_CASE("mistakes about sizes have their places", "[models][memory]") {
  const auto mistakes = [](const std::string& text) {
    return testing::mistakes_in("schema: 1\n" + text);
  };
  CHECK(
      mistakes("actors: {a: {source: 1, bytes: 5}}\n") ==
      "2:32: expected a size, found '5'\n  a size needs a unit: B, KiB, MiB, GiB, kB, MB or GB\n");
  CHECK(mistakes("actors: {a: {source: 1, bytes: 0B - 5B}}\n") ==
        "2:32: the size of a slot is -5 bytes on rank 0, but must be at least 0 bytes\n");
  CHECK(mistakes("actors: {a: {source: 1, registers: {c: {control: on, bytes: 4B}}}}\n") ==
        "2:61: the control register 'c' of 'a' carries no data, so it has no size\n");
  CHECK(mistakes("actors: {a: {source: 1, slots: 1000, bytes: 2000000GiB}}\n") ==
        "2:45: with the slots of 'a' rank 0 holds more than 1024 PiB\n");
  CHECK(mistakes("memory: 1B / rank\nactors: {a: {source: 1}}\n") ==
        "2:9: the memory held all the time on rank 0: division by zero\n");
}
