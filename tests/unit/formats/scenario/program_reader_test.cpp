#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/sanitized.hpp"

using namespace pipesim;
using models::Explanation;
using sim::Verdict;
using testing::explanation_of;
using testing::mistakes_in;

namespace {

const std::string kTwo = "schema: 1\nranks: 2\ngroups: {g: all, h: all}\n";

std::string program_mistakes(const std::string& steps, const std::string& top = {}) {
  return mistakes_in(kTwo + top + "programs: {do: [" + steps + "]}\n");
}

Explanation run_program(const std::string& steps, const std::string& top = {}) {
  return explanation_of(kTwo + top + "programs: {do: [" + steps + "]}\n");
}

}  // namespace

TEST_CASE("a group of which nothing is left is no step", "[formats][program_reader]") {
  CHECK(program_mistakes("{group: []}") == "4:25: this group has no calls\n");
  CHECK(program_mistakes("{group: g}") == "4:25: 'group' must be a list of calls, found 'g'\n");
  CHECK(program_mistakes("{group: [{compute: a}]}")
            .find("a group can only contain collectives, 'send' and 'recv', found 'compute'") !=
        std::string::npos);
  CHECK(run_program("{group: [~], after: [compute]}, {compute: a}").ops_expected == 2);
  CHECK(run_program("{group: [{all_reduce: g, when: off}]}, {compute: a}").ops_expected == 2);
  CHECK(run_program("{group: [{case: p, on: {all_reduce: g}, off: ~}]}, {compute: a}",
                    "params: {p: off}\n")
            .ops_expected == 2);
}

TEST_CASE("a host step takes its time after its launch overhead", "[formats][program_reader]") {
  CHECK(run_program("{host: h, takes: 3us, launch_overhead: 1us}").time_ns == 4'000);
  CHECK(run_program("{host: h, launch_overhead: 1us, takes: 3us}").time_ns == 4'000);
  CHECK(run_program("{host: h, takes: 3us}", "defaults: {launch_overhead: 1us}\n").time_ns ==
        3'000);
}

TEST_CASE("a call of a group may be on some ranks only", "[formats][program_reader]") {
  // Rank 0 sends, rank 1 receives, and rank 2 has no call in the group.
  const Explanation found = explanation_of(
      "schema: 1\nreading: contract\nranks: 3\ngroups: {g: all}\nprograms: {do: [{group: [{send: "
      "g, to: rank + 1, on: "
      "0}, {recv: g, from: rank - 1, on: 1, takes: 2us}]}, {compute: a, after: [nccl g]}]}\n");
  CHECK(found.verdict == Verdict::kCompleted);
  CHECK(found.time_ns == 2'000);
  CHECK(found.ranks[2].actors.size() + 1 == found.ranks[0].actors.size());
}

TEST_CASE("loops and blocks that come to more than anybody writes are refused",
          "[formats][program_reader]") {
  // The loops have 100,000 x 100,000 iterations without an op.
  for (const char* body : {"", "{compute: a, when: off}"}) {
    if (pipesim::testing::kSanitized) continue;  // the limit takes a minute to reach
    CHECK(program_mistakes(
              std::string("{repeat: 100000, index: i, do: [{repeat: 100000, index: j, do: [") +
              body + "]}]}")
              .find("the programs have more than 1000000 steps to read") != std::string::npos);
  }
  // Many calls of blocks are in tests/golden/errors_of_large_programs.test. A chain of 60 is fine.
  std::string chain = "blocks:\n";
  for (int i = 0; i < 60; ++i) {
    chain += "  a" + std::to_string(i) + ": [{call: a" + std::to_string(i + 1) + "}]\n";
  }
  CHECK(run_program("{call: a0}", chain + "  a60: [{compute: x}]\n").verdict ==
        Verdict::kCompleted);
}

TEST_CASE("a loop that would be laid out in gigabytes is refused", "[formats][program_reader]") {
  CHECK(
      program_mistakes("{repeat: 1000000000, do: [{compute: a}]}") ==
      "4:43: the programs have more than 100000000 ops with this one: 'a' runs 1000000000 times on "
      "rank 0\n");
  // An empty step adds no op in any number of iterations.
  CHECK(run_program(
            "{repeat: 4000000000, do: [{repeat: 4000000000, do: [{on: [], do: [{compute: a}]}]}]}, "
            "{compute: b}")
            .ops_expected == 2);
  CHECK(run_program("{repeat: 2, do: [{compute: a}, {repeat: 3, do: [{compute: b}]}]}")
            .ops_expected == 16);
}

TEST_CASE("a barrier of a group is one of the hosts, whatever else uses the group",
          "[formats][program_reader]") {
  const std::string steps =
      "{on: 0, do: [{all_reduce: g}]}, {barrier: g}, {on: 1, do: [{all_reduce: g}]}";
  CHECK(run_program(steps, "reading: contract\n").verdict == Verdict::kCompleted);
  // On a named communicator, a barrier is a call that is matched with the all-reduce of the other
  // rank.
  CHECK(run_program(steps, "communicators: {named: {g: {group: g}}}\n").verdict ==
        Verdict::kMismatch);
}

TEST_CASE("a barrier of a group is a call where the backend is NCCL", "[formats][program_reader]") {
  const std::string steps =
      "{on: 0, do: [{all_reduce: g}]}, {barrier: g}, {on: 1, do: [{all_reduce: g}]}";
  for (const char* backend : {"nccl2", "nccl-legacy", "nccl-lazy"}) {
    INFO(backend);
    CHECK(run_program(steps, "backend: " + std::string(backend) + "\n").verdict ==
          Verdict::kMismatch);
  }
  for (const char* backend : {"gloo", "mpi"}) {
    INFO(backend);
    CHECK(run_program("{barrier: g}, {all_reduce: g}", "backend: " + std::string(backend) + "\n")
              .verdict == Verdict::kCompleted);
  }
}

TEST_CASE("calls of the host run on no stream", "[formats][program_reader]") {
  const std::string why =
      "calls of the host run on no stream\n  gloo and MPI wait for the stream that writes the "
      "data, "
      "then call on the host: for 'stream: compute', write {synchronize: compute} before the "
      "call\n";
  CHECK(program_mistakes("{all_reduce: c}",
                         "communicators: {named: {c: {group: g, host: on, stream: compute}}}\n") ==
        "4:57: " + why);
  CHECK(program_mistakes("{barrier: g, stream: x}") == "4:38: " + why);
}

// Rank 1 makes a send of 5 us at 20 us, so a step that waits for rank 0's recv starts at 25 us.
TEST_CASE("behind the stream of a group is behind those of its pairs",
          "[formats][program_reader]") {
  const auto time_ns = [](const std::string& step, const std::string& other) {
    return explanation_of(
               "schema: 1\nreading: contract\nbackend: nccl-legacy\nranks: 3\n"
               "groups: {pp: all, dp: all}\nprograms:\n  - {on: 0, do: [{recv: pp, from: 1}, " +
               step +
               "]}\n  - {on: 1, do: [{host: late, takes: 20us}, {send: pp, to: 0, "
               "takes: 5us}]}\n  - {on: 2, do: [" +
               other + "]}\n")
        .time_ns;
  };
  CHECK(time_ns("{compute: k, takes: 1us, behind: nccl pp}", "") == 26'000);
  CHECK(time_ns("{compute: k, takes: 1us, behind: nccl dp}", "") == 25'000);
  CHECK(time_ns("{send: pp, to: 2, takes: 1us, behind: nccl pp}", "{recv: pp, from: 0}") == 26'000);
  CHECK(time_ns("{send: pp, to: 2, takes: 1us}", "{recv: pp, from: 0}") == 25'000);
  CHECK(time_ns("{group: [{send: pp, to: 2, takes: 1us}], behind: nccl pp}",
                "{group: [{recv: pp, from: 0}]}") == 26'000);
}

TEST_CASE("an event is on one stream, also where pairs have their own",
          "[formats][program_reader]") {
  const auto with = [](const std::string& step, const std::string& backend) {
    return program_mistakes("{recv: g, from: 1, on: 0}, {send: g, to: 0, on: 1}, " + step,
                            "backend: " + backend + "\n");
  };
  const std::string record = "{record: e, stream: nccl g}, {wait: e}";
  CHECK(with(record, "nccl2").empty());
  CHECK(
      with(record, "nccl-legacy") ==
      "5:69: 'record e' is on stream 'nccl g', but with this backend messages of two ranks have a "
      "stream of their own\n  for what comes after all of them, write 'after: [nccl g]' there; "
      "for those of two ranks, 'stream: nccl g 0-1' here\n");
  CHECK(with("{record: e}, {wait: e, stream: nccl g}", "nccl-lazy")
            .find("write 'stream: nccl g 0-1' here, for each pair of ranks") != std::string::npos);
  CHECK(with("{record: e, stream: nccl g 0-1}, {wait: e}", "nccl-legacy").empty());
  CHECK(with("{record: e, stream: nccl h}, {wait: e}", "nccl-legacy").empty());
}

TEST_CASE("streams that nothing is put on are misspelt", "[formats][program_reader]") {
  CHECK(program_mistakes("{compute: a}, {synchronize: comput}") ==
        "4:45: no step uses stream 'comput'\n  did you mean 'compute'?\n");
  CHECK(program_mistakes("{compute: a, after: [ncl g]}, {all_reduce: g}") ==
        "4:38: no step uses stream 'ncl g'\n  did you mean 'nccl g'?\n");
  // A step or call that is absent now can exist with other parameters or groups.
  CHECK(program_mistakes(
            "{compute: a, after: [copies, nccl g]}, {compute: b, stream: copies, when: off}")
            .empty());
  CHECK(program_mistakes(
            "{all_reduce: c}",
            "streams: [compute, comm]\ncommunicators: {named: {c: {group: g, stream: com}}}\n") ==
        "5:47: unknown stream 'com'\n  did you mean 'comm'?\n  the scenario lists its streams "
        "under 'streams'\n");
}

TEST_CASE("the stream of a communicator's calls may be named before the first of them",
          "[formats][program_reader]") {
  const std::string steps = "{compute: a, after: [nccl g]}, {all_reduce: g}, {synchronize: nccl g}";
  CHECK(run_program(steps).verdict == Verdict::kCompleted);
  CHECK(run_program(steps, "streams: {compute: {}}\n").verdict == Verdict::kCompleted);
  CHECK(program_mistakes("{compute: a, after: [nccl x]}", "streams: {compute: {}}\n")
            .find("unknown stream 'nccl x'") != std::string::npos);
}

TEST_CASE("events that are recorded nowhere are misspelt", "[formats][program_reader]") {
  CHECK(program_mistakes("{compute: a}, {record: event}, {await: evnt}") ==
        "4:56: event 'evnt' is never recorded\n  did you mean 'event'?\n");
  CHECK(program_mistakes("{wait: e}, {compute: a}") == "4:24: event 'e' is never recorded\n");
  CHECK(program_mistakes("{record: e, when: off}, {wait: e}").empty());
}

TEST_CASE("what has to be the same on all ranks is not smuggled past them by a block",
          "[formats][program_reader]") {
  const auto with = [](const std::string& step) {
    return program_mistakes("{call: b, with: {n: rank + 1}}", "blocks: {b: [" + step + "]}\n");
  };
  const std::string told = "this depends on the rank, but must be the same on every rank\n";
  CHECK(with("{get: key, times: n}").find(told) != std::string::npos);
  CHECK(with("{compute: a, numbers: [n, 1]}").find(told) != std::string::npos);
  // A value that can differ between ranks can also come from a block.
  CHECK(with("{repeat: n, do: [{compute: a}]}").empty());
  CHECK(with("{compute: a, when: n > 1}").empty());
  CHECK(with("{case: n, 1: {compute: a}, else: {compute: b}}").empty());
  CHECK(with("{compute: a, takes: n * 1us}").empty());
  CHECK(with("{compute: a, takes: {case: n, 1: 2us, else: 1us}}").empty());
}

TEST_CASE("a wrong number is reported at its own place", "[formats][program_reader]") {
  CHECK(program_mistakes("{compute: a, takes: -1us}") ==
        "4:37: the time it takes is -1000 ns on rank 0, but must be at least 0 ns\n");
  CHECK(program_mistakes("{send: g, to: rank + 7, bytes: 4B - 5B}") ==
        "4:31: the other rank is 7 on rank 0, but must be at most 1\n"
        "4:48: the size is -1 bytes on rank 0, but must be at least 0 bytes\n");
  CHECK(program_mistakes("{compute: a}", "device: {resident: -1}\n") ==
        "4:20: the number of resident kernels is -1 on rank 0, but must be at least 0\n");
  CHECK(program_mistakes("{compute: a}", "defaults: {launch_queue: 0}\n") ==
        "4:26: the launch queue is 0 on rank 0, but must be at least 1\n");
  CHECK(program_mistakes("{input: a, items: 2, every: 1/0 * 1s}") ==
        "4:35: the number of inputs is 2 on rank 0, but must be at most 1\n"
        "4:45: the time between inputs on rank 0: division by zero\n");
  CHECK(mistakes_in(
            "schema: 1\nranks: 2\ngroups: {g: 0}\nprograms: {on: 0, do: [{send: g, to: 1}]}\n") ==
        "4:38: rank 1 is not in the list of group 'g' that rank 0 is in\n");
}

TEST_CASE("names in blocks and loops are those that expressions can use",
          "[formats][program_reader]") {
  CHECK(program_mistakes("{repeat: 2, index: rank, do: [{compute: a}]}")
            .find("4:36: 'rank' cannot be the name of a parameter") == 0);
  const std::string top = "blocks: {b: [{compute: a, takes: time}]}\n";
  CHECK(program_mistakes("{call: b, with: {time: 1us, rank: 2}}", top)
            .find("5:45: 'rank' cannot be the name") == 0);
  CHECK(program_mistakes("{call: b, with: {time: 1us, tim: 2us}}", top) ==
        "5:45: block 'b' does not use 'tim'\n  did you mean 'time'?\n");
  // A block can use the argument in the blocks that it calls.
  CHECK(program_mistakes(
            "{call: a, with: {time: 1us}}",
            "blocks: {a: [{call: b}], b: [{compute: c, takes: time}, {call: d}], d: []}\n")
            .empty());
  // An error in the call's arguments is reported once, however often the block uses the argument.
  CHECK(program_mistakes("{call: b, with: {time: 1u}}", top).find("5:41: unknown unit 'u'") == 0);
  CHECK(program_mistakes("{call: b, with: {time: [1us]}}", top) ==
        "5:40: expected a value, found a list\n");
  CHECK(run_program("{call: b, with: {time: {case: rank, 0: 1us, else: 2us}}}", top).time_ns ==
        2'000);
  CHECK(program_mistakes("{call: b}, {call: b}", "blocks: {b: [{compute: a, takes: x}]}\n") ==
        "4:34: unknown parameter 'x'\n  known here: rank, ranks\n");
}

TEST_CASE("a block may be given words and choices", "[formats][program_reader]") {
  const std::string top =
      "params: {m: {one_of: [x, y], default: y}, p: on}\n"
      "blocks: {b: [{compute: $n, takes: t}, {case: n, x: {compute: b}, else: ~}]}\n";
  CHECK(run_program("{call: b, with: {n: x, t: {case: p, on: 2us, off: 1us}}}", top).time_ns ==
        2'000);
  CHECK(run_program("{call: b, with: {n: x, t: 0}}", top).ops_expected == 4);
  CHECK(run_program("{call: b, with: {n: m, t: 0}}", top).ops_expected == 2);
}

TEST_CASE("a choice by rank may stand where a block has left ranks that choose alike",
          "[formats][program_reader]") {
  // Ranks 0 and 2 use stream `even`, ranks 1 and 3 stream `odd`, whatever encloses the step.
  const std::string step =
      "{compute: a, takes: 1us, stream: {case: rank % 2, 0: even, 1: odd}}, {synchronize: {case: "
      "rank % 2, 0: even, 1: odd}}";
  const auto ops = [&](const std::string& steps) {
    const Explanation found = explanation_of(
        "schema: 1\nranks: 4\ngroups: {p: {size: 2}, q: "
        "{size: 2, stride: 2}}\nprograms: {do: [" +
        steps + "]}\n");
    CHECK(found.verdict == Verdict::kCompleted);
    std::vector<std::uint64_t> done;
    for (const models::RankReport& rank : found.ranks) {
      std::uint64_t sum = 0;
      for (const models::ActorCounts& actor : rank.actors) {
        if (actor.name.rfind("synchronize", 0) != 0) sum += actor.done;
      }
      done.push_back(sum);
    }
    return done;
  };
  using Done = std::vector<std::uint64_t>;
  CHECK(ops("{on: [0, 2], do: [" + step + "]}") == Done{1, 0, 1, 0});
  CHECK(ops("{on: 3, do: [" + step + "]}") == Done{0, 0, 0, 1});
  CHECK(ops("{on: 'rank in [0, 2..3]', do: [" + step + "]}") == Done{1, 0, 1, 1});
  CHECK(ops("{on: 'if(2 in [1..2], 1, 2)..3', do: [" + step + "]}") == Done{0, 1, 1, 1});
  CHECK(ops("{when: rank % 2 == 1, do: [" + step + "]}") == Done{0, 1, 0, 1});
  CHECK(ops("{repeat: 2 + rank, do: [" + step + "]}") == Done{2, 3, 4, 5});
  CHECK(ops("{repeat: 1 + rank, index: i, do: [" + step + "]}") == Done{1, 2, 3, 4});
  // A choice nested in a case of another choice applies to the ranks that the outer case leaves.
  CHECK(ops("{case: rank < 2, on: {compute: a, stream: {case: rank, 0: x, 1: y}}, off: {on: 3, "
            "do: [{compute: b, stream: {case: rank, 3: z, else: w}}]}}") == Done{1, 1, 0, 1});
  CHECK(ops("{case: rank / 2, 0: {case: rank, 0: {compute: a}, 1: ~}, 1: {on: 2, do: {case: "
            "rank, 2: [{compute: b}, {compute: c}], else: ~}}}") == Done{1, 0, 2, 0});
  // A condition can use `rank` and still be the same on all ranks.
  CHECK(ops("{case: rank * 0, 0: {compute: a}, else: ~}") == Done{1, 1, 1, 1});
  CHECK(ops("{case: rank > 3, on: {compute: a}, off: ~}") == Done{0, 0, 0, 0});
  CHECK(ops("{on: rank > 3, do: [{case: rank, 0: {compute: a}, else: ~}]}") == Done{0, 0, 0, 0});
  // A choice of the communicator can be the same on all ranks of the step.
  CHECK(ops("{on: [0, 2], do: [{all_reduce: {case: rank % 2, 0: q, else: p}}]}") ==
        Done{1, 0, 1, 0});
}

TEST_CASE("names of streams have no expressions in them", "[formats][program_reader]") {
  const std::string found = program_mistakes("{compute: a, stream: \"s{rank}\"}");
  CHECK(found.find("the stream name 's{rank}' has braces, but only the names of steps may contain "
                   "expressions") != std::string::npos);
  CHECK(found.find("stream: {case: rank, 0: s0, else: s1}") != std::string::npos);
  CHECK(run_program("{compute: a, stream: {case: rank, 0: s0, else: s1}}").ops_expected == 2);
}

TEST_CASE("sets of ranks by name stand in the memory of devices, too",
          "[formats][program_reader]") {
  const std::string sets = "sets: {small: [1]}\nmemory: if(rank in small, 2GiB, 4GiB)\n";
  CHECK(program_mistakes("{compute: a}", sets).empty());
  const auto graph = testing::scenario_of(kTwo + sets + "programs: {do: [{compute: a}]}\n").graph;
  REQUIRE(graph.memory.has_value());
  CHECK(graph.memory->value(0) == std::int64_t{4} << 30);
  CHECK(graph.memory->value(1) == std::int64_t{2} << 30);
}

TEST_CASE("where a list belongs a choice may pick it", "[formats][program_reader]") {
  const std::string top = "params: {p: off}\n";
  CHECK(run_program("{do: {case: p, on: [{compute: a}], else: []}}, {compute: b}", top)
            .ops_expected == 2);
  CHECK(
      run_program("{do: {case: p, on: [{compute: a}], else: ~}}, {compute: b}", top).ops_expected ==
      2);
  CHECK(run_program("{compute: a, after: {case: p, on: [compute], else: ~}}", top).ops_expected ==
        2);
  CHECK(program_mistakes("{do: ~}") == "4:22: 'do' must be a list of steps, found nothing\n");
}

TEST_CASE("what a step of the host names is a name", "[formats][program_reader]") {
  CHECK(program_mistakes("{input: [], items: 1}") == "4:25: expected a name, found a list\n");
  CHECK(program_mistakes("{await: [e]}") == "4:25: expected a name, found a list\n");
  CHECK(program_mistakes("{synchronize: []}") ==
        "4:31: 'synchronize' needs a stream, or 'device' for all streams\n");
  CHECK(program_mistakes("{set: key$rank}")
            .find("'key$rank': a key must have the same name on all ranks") != std::string::npos);
  // `device` means all streams of the device, whatever else the list names.
  CHECK(run_program(
            "{compute: a, takes: 2us}, {compute: b, stream: x}, {synchronize: [x, device]}, {host: "
            "c, "
            "takes: 1us}")
            .time_ns == 3'000);
}

TEST_CASE("no two steps of a rank have one name", "[formats][program_reader]") {
  const auto names = [](const std::string& steps) {
    std::string all;
    const Explanation found = run_program(steps);
    for (const models::ActorCounts& actor : found.ranks[0].actors) all += actor.name + " ";
    return all;
  };
  CHECK(names("{compute: a}, {compute: a.2}, {compute: a}") == "a a.2 a.3 ");
  CHECK(names("{compute: a}, {compute: a}, {compute: a.2}") == "a a.2 a.2.2 ");
  CHECK(names("{compute: a}, {compute: a.02}, {compute: a}, {compute: a}") == "a a.02 a.2 a.3 ");
}

TEST_CASE("names have no control characters, which a terminal would act on",
          "[formats][program_reader]") {
  const std::string told = "a name cannot contain line breaks or other control characters\n";
  CHECK(program_mistakes("{compute: \"a\\e[31mb\"}") == "4:27: " + told);
  CHECK(program_mistakes("{all_reduce: g, name: \"x\\ny\"}") == "4:39: " + told);
  CHECK(program_mistakes("{compute: \"a\\0\"}, {set: \"\\x9b\"}") ==
        "4:27: " + told + "4:41: " + told);
  CHECK(program_mistakes("{send: g, to: 1, on: 0, tag: \"\\x7f\"}") == "4:46: " + told);
  CHECK(program_mistakes("{compute: a}", "params: {p: {one_of: [\"a\\t\"], default: \"a\\t\"}}\n")
            .find(told) != std::string::npos);
  CHECK(mistakes_in("schema: 1\nactors: {\"a\\eb\": {source: 1}}\n").find("2:10: " + told) == 0);
  CHECK(program_mistakes("{compute: \"\u00e4\u20ac\"}").empty());
}

TEST_CASE("a misspelt key of a call is reported with the nearest that there is",
          "[formats][programs]") {
  // Unknown keys are reported only after the whole step is read, because the keys of calls are read
  // deeper down.
  const std::string text =
      "schema: 1\nranks: 2\ngroups: {g: all}\nprograms:\n  do: [{all_reduce: g, byts: 4B}]\n";
  CHECK(mistakes_in(text).find("'byts'") != std::string::npos);
  CHECK(mistakes_in(text).find("bytes") != std::string::npos);
}

TEST_CASE("mistakes in the parts of an all_to_all", "[formats][program_reader]") {
  const auto mistakes = [](const std::string& keys) {
    return mistakes_in(
        "schema: 1\nranks: 3\ngroups: {g: [0, 1]}\nprograms:\n  - on: 0..1\n"
        "    do: [{all_to_all: g, " +
        keys + "}]\n");
  };
  CHECK(mistakes("splits: [1KiB, 2KiB]").empty());
  CHECK(mistakes("splits: [1KiB]") ==
        "6:34: 'splits' must have a size for each of the 2 ranks of group 'g', found 1\n");
  CHECK(mistakes("splits: [1KiB, 2KiB], bytes: 3KiB")
            .find("6:34: 'splits' and 'bytes' cannot be used together") == 0);
  CHECK(mistakes("splits: [\"rank * 1KiB - 1KiB\", 1KiB]")
            .find("a part of 'splits' must be at least 0B; on rank 0 it is not") !=
        std::string::npos);
}

TEST_CASE("rounds of a loop in which a step is the same are counted through",
          "[formats][program_reader]") {
  // Rank 0 runs 16 forwards, and rank 1 receives 10 of them.
  const Explanation found = run_program(
      "{on: 0, do: [{repeat: 2, index: j, do: [{repeat: 8, index: i, do: [{compute: fwd, takes: "
      "1us, phase: forward, after: [nccl g]}, {send: g, to: 1, after: [compute]}]}]}]}, "
      "{on: 1, do: [{repeat: 10, do: [{recv: g, from: 0}]}]}",
      "reading: contract\n");
  CHECK(found.verdict == Verdict::kStarved);
  const models::RankReport& sender = found.ranks[0];
  CHECK(sender.actors.size() == 6);  // fwd, send, and two actors for each `after`
  CHECK(sender.progress[0].what == "forward");
  CHECK(sender.progress[0].done == 11);
  CHECK(sender.progress[0].expected == 16);
}

TEST_CASE("rounds of a loop that differ have steps of their own", "[formats][program_reader]") {
  const Explanation found = run_program(
      "{on: 0, do: [{repeat: 6, index: i, do: [{compute: 'F{i % 2}', takes: 'if(i % 2 == 0, 1us, "
      "2us)', phase: forward}, {compute: odd, when: i % 2 == 1, takes: 1us * i}]}]}");
  std::vector<std::pair<std::string, std::uint32_t>> ops;
  for (const auto& actor : found.ranks[0].actors) ops.emplace_back(actor.name, actor.done);
  CHECK(ops == std::vector<std::pair<std::string, std::uint32_t>>{
                   {"F0", 3}, {"F1", 3}, {"odd", 1}, {"odd.2", 1}, {"odd.3", 1}});
  CHECK(found.ranks[0].progress[0].done == 6);
  CHECK(found.ranks[0].progress[0].expected == 6);
  CHECK(found.time_ns == 3 * 1'000 + 3 * 2'000 + 9 * 1'000);
}

TEST_CASE("names have expressions in braces", "[formats][program_reader]") {
  const Explanation found = run_program("{compute: a, name: 'F{n + 1}of{w}x'}",
                                        "params: {n: 3, w: {default: up, one_of: [up, down]}}\n");
  CHECK(found.ranks[0].actors[0].name == "F4ofupx");
  CHECK(program_mistakes("{compute: a, name: 'F{1'}") ==
        "4:36: '{' without '}' in the name 'F{1'\n");
  CHECK(program_mistakes("{compute: a, name: 'F{m}'}") ==
        "4:39: unknown parameter 'm'\n  known here: rank, ranks\n");
  CHECK(program_mistakes("{compute: a, name: 'F{rank}'}") ==
        "4:39: a name must be the same on every rank: reports say the rank anyway\n");
}

TEST_CASE("what a step is may depend on the rank", "[formats][program_reader]") {
  // The condition of a step depends on the rank: rank 0 sends, rank 1 receives.
  CHECK(run_program(
            "{send: g, to: 1, when: rank == 0, takes: 1us}, {recv: g, from: 0, when: rank > 0, "
            "takes: 1us}")
            .verdict == Verdict::kCompleted);
  // The number of iterations depends on the rank: rank 0 has two, rank 1 four.
  const Explanation loops = run_program(
      "{repeat: 2 + 2 * rank, do: [{compute: a}]}, {repeat: rank, index: i, do: [{compute: b, "
      "takes: 1us * i}]}");
  CHECK(loops.ranks[0].actors[0].expected == 2);
  CHECK(loops.ranks[1].actors[0].expected == 4);
  CHECK(loops.ranks[0].actors.size() == 1);
  CHECK(loops.ranks[1].actors.size() == 2);
  // A rank that never reaches a step does not have the step, so the missing rank 2 is not an error.
  CHECK(
      run_program(
          "{repeat: 1 - rank, do: [{send: g, to: rank + 1}]}, {repeat: rank, do: [{recv: g, from: "
          "rank - 1}]}")
          .verdict == Verdict::kCompleted);
  // The communicator and stream of a call depend on the rank: the ranks call in opposite orders,
  // which hangs.
  const std::string calls =
      "{all_reduce: {case: rank, 0: g, else: h}, stream: {case: rank % 2, 0: s, 1: t}}, "
      "{all_reduce: {case: rank, 0: h, else: g}, stream: {case: rank % 2, 0: s, 1: t}}";
  CHECK(run_program(calls, "streams: {s: {}, t: {}}\n").verdict == Verdict::kDeadlock);
  // The step itself depends on the rank.
  CHECK(run_program("{case: rank, 0: {send: g, to: 1}, 1: {recv: g, from: 0}}").verdict ==
        Verdict::kCompleted);
  CHECK(program_mistakes("{compute: a, when: 1 / rank == 1}") ==
        "4:36: on rank 0: division by zero\n");
  CHECK(program_mistakes("{repeat: rank - 1, do: []}") ==
        "4:26: 'repeat' must be between 0 and 4294967295, found -1\n");
}

TEST_CASE("calls of a group have names", "[formats][program_reader]") {
  // Each rank sends first; only rank 0 receives.
  const std::string steps =
      "{name: exchange, group: [{send: g, to: 1 - rank, bytes: 1GiB, name: give},"
      " {on: 0, recv: g, from: 1, bytes: 1GiB, name: \"take{1 + 1}\"}]}";
  const Explanation hang = run_program(steps, "reading: contract\n");
  CHECK(hang.verdict == Verdict::kStarved);
  REQUIRE(!hang.roots.empty());
  CHECK(hang.roots[0].first.from.op.name == "exchange");
  CHECK(hang.roots[0].first.from.op.call_name == "give");
  CHECK(program_mistakes("{group: [{send: g, to: 1, name: \"{i}\"}]}")
            .find("unknown parameter 'i'") != std::string::npos);
}

TEST_CASE("sets may name groups, and expressions sets", "[formats][program_reader]") {
  const std::string head =
      "schema: 1\nranks: 6\nsets: {b: 0, all_of_a: [a, 5], a_and_b: [all_of_a, b]}\n"
      "groups: {a: [1, 3], b: [2, 4], c: [b, 5]}\n";
  const auto on = [&](const std::string& when) {
    const auto scenario =
        testing::scenario_of(head + "programs: {do: [{when: \"" + when + "\", compute: x}]}\n");
    return scenario.graph.actors[0].on;
  };
  CHECK(on("rank in a") == models::RankSet({1, 3}));
  CHECK(on("rank in all_of_a") == models::RankSet({1, 3, 5}));
  CHECK(on("rank in b") == models::RankSet({0}));  // the set b, not the group b
  CHECK(on("rank in c") == models::RankSet({0, 5}));
  CHECK(on("rank not in [a, 4..5]") == models::RankSet({0, 2}));
  CHECK(mistakes_in(head + "programs: {do: [{when: rank in aa, compute: x}]}\n") ==
        "5:32: unknown set of ranks 'aa'\n  did you mean 'a'?\n");
  // Sets cannot refer to each other in a cycle.
  CHECK(
      testing::contains(mistakes_in("schema: 1\nranks: 2\nsets: {x: y, y: x}\nprograms: {do: []}"),
                        "unknown set of ranks 'y'"));
  // Parameters are read before the ranks are known.
  CHECK(testing::contains(
      mistakes_in("schema: 1\nranks: 2\nparams: {odd: {default: rank in a, choice: each_rank}}\n"
                  "groups: {a: 1}\nprograms: {do: [{compute: x}]}\n"),
      "sets and groups are read after this; use numbers here"));
}

TEST_CASE("ranks in very many pieces are for 'on'", "[formats][program_reader]") {
  std::string set = "0";
  for (int rank = 1; rank <= 40; ++rank) set += ", " + std::to_string(rank * rank);
  const std::string head = "schema: 1\nranks: 1601\nsets: {squares: [" + set + "]}\n";
  const auto with = [&](const std::string& key) {
    return head + "programs: {do: [{" + key + "squares, compute: x}]}\n";
  };
  CHECK(mistakes_in(with("when: rank in ")).empty());
  for (int rank = 41; rank <= 110; ++rank) set += ", " + std::to_string(rank * rank);
  const std::string large = "schema: 1\nranks: 12101\nsets: {squares: [" + set + "]}\n";
  CHECK(mistakes_in(large + "programs: {do: [{on: squares, compute: x}]}\n").empty());
  CHECK(testing::contains(
      mistakes_in(large + "programs: {do: [{when: rank in squares, compute: x}]}\n"),
      "these ranks are 110 pieces, and an expression can have at most 100"));
}

TEST_CASE("the name of a group is the set of its ranks", "[formats][program_reader]") {
  const std::string head =
      "schema: 1\nranks: 4\nsets: {b: 0}\n"
      "groups: {a: [1, 3], b: [[2], [3]], c: [b, a]}\n";
  const auto on = [&](const std::string& name) {
    const auto scenario =
        testing::scenario_of(head + "programs: {do: [{on: " + name + ", compute: x}]}\n");
    return scenario.graph.actors[0].on;
  };
  CHECK(on("a") == models::RankSet({1, 3}));
  CHECK(on("[a, 0]") == models::RankSet({0, 1, 3}));
  CHECK(on("b") == models::RankSet({0}));  // the set b, not the group b
  CHECK(on("c") == models::RankSet({0, 1, 3}));
  CHECK(mistakes_in(head + "programs: {do: [{on: aa, compute: x}]}\n") ==
        "5:22: unknown set of ranks 'aa'\n  did you mean 'a'?\n");
  // Groups also name ranks in faults and expectations, and so do the groups that `parallel` makes.
  const auto fault = testing::scenario_of(
      "schema: 1\nparallel: {tensor: 2, data: 2}\ngroups: {last: [2, 3]}\n"
      "programs: {do: [{compute: x}]}\nfaults: [{rank: last, dies: gone, at: 1us}]\n"
      "expect: {verdict: crashed, idle: {on: tensor, at_most: 100%}}\n");
  CHECK(fault.graph.faults.ranks[0].ranks == models::RankSet({2, 3}));
  CHECK(fault.expectations[0].idle[0].on == models::RankSet::range(0, 4));
}

TEST_CASE("a recv from any rank is a step on a communicator of the host",
          "[formats][program_reader]") {
  const std::string host = "communicators: {named: {h: {group: h, host: on}}}\n";
  const std::string recv = "{recv: h, from: any, bytes: 8B, on: 0}";
  const std::string send = "{send: h, to: 0, bytes: 8B, on: 1}";
  CHECK(run_program(recv + ", " + send, host).verdict == Verdict::kCompleted);
  // Rank 1 does not send: rank 0's recv waits for a missing rank.
  const Explanation alone = run_program(recv, host);
  CHECK(alone.verdict == Verdict::kStarved);
  CHECK(testing::contains(program_mistakes("{recv: g, from: any, bytes: 8B, on: 0}"),
                          "NCCL has no recv from any rank: 'g' is not a communicator of the host"));
  CHECK(testing::contains(program_mistakes("{group: [" + recv + "]}", host),
                          "a recv from any rank cannot be in a group"));
  CHECK(mistakes_in("schema: 1\nranks: 1\nbackend: gloo\ngroups: {g: all}\n"
                    "programs: {do: [{recv: g, from: any}]}\n") ==
        "5:17: rank 0 has no other rank in its list of group 'g' to receive from\n");
}
