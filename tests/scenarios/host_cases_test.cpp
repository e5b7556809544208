// Small programs for the rules of hosts: locks of processes, loads of kernels, progress of MPI,
// connections of pairs, copy engines. Each hang has a control that completes. The expectations
// follow from the rules by hand (docs/explanation/models.md names the sources); the shorthand of a
// case is that of its rule: `S1`, `R0` a send to 1 and a recv from 0, `i` before a call that does
// not block, `w` its wait, `AR` an all_reduce, `A2A` an all_to_all.
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/rank_programs.hpp"
#include "tests/support/scenario.hpp"

#include "features/check/kernel_loads.hpp"
#include "features/check/nccl_modes.hpp"

using namespace pipesim;
using testing::group;
using testing::joined;
using testing::recv;
using testing::reduce;
using testing::scenario;
using testing::send;

namespace {

struct HostCase {
  std::string what;
  std::string text;
  std::string answer;
};

std::string answer_of(models::TaskGraph graph, models::NcclMode mode) {
  graph.nccl_mode = mode;
  models::add_context_locks(graph);
  models::Diagnostics diagnostics;
  const auto lowered = models::lower(graph, diagnostics);
  if (!lowered) return testing::text_of(diagnostics);
  switch (sim::explore(lowered->plan, {}).answer) {
    case sim::Answer::kProved:
      return "completes";
    case sim::Answer::kHangPossible:
      return "may hang";
    case sim::Answer::kHangCertain:
      return "hangs";
    case sim::Answer::kMismatch:
      return "mismatch";
    case sim::Answer::kUndecided:
      break;
  }
  return "undecided";
}

void check_all(const std::vector<HostCase>& cases, models::NcclMode mode) {
  for (const HostCase& one : cases) {
    INFO(one.what << "\n" << one.text);
    CHECK(answer_of(testing::scenario_of(one.text).graph, mode) == one.answer);
  }
}

// Two ranks with NCCL on 'pp' and MPI on 'mpi'. Sends that may end in another order use MPI on
// 'back'.
std::string of_mpi(const std::string& zero, const std::string& one,
                   const std::string& progress = "in_calls") {
  const std::string library = "{group: pp, host: on, eager: 64KiB, progress: " + progress + "}";
  return scenario(
      {zero, one}, "pp: all",
      "communicators: {creation: start, named: {mpi: " + library + ", back: " + library + "}}\n");
}

const std::string kLarge = "1MiB";
const std::string kSmall = "4KiB";
const std::string kWait = "{synchronize: mpi}";  // MPI_Wait
const std::string kSync = "{synchronize: nccl pp}";
const std::string kWaitForX = "{synchronize: nccl x}";

std::string isend(int to, const std::string& bytes) {
  return "{send: mpi, to: " + std::to_string(to) + ", bytes: " + bytes + ", blocking: off}";
}

std::string irecv(int from, const std::string& bytes) {
  return "{recv: mpi, from: " + std::to_string(from) + ", bytes: " + bytes + ", blocking: off}";
}

}  // namespace

TEST_CASE("host cases: MPI progresses inside its calls", "[scenarios][cases]") {
  const std::string nccl_send = send(1, "pp", "1GiB");
  const std::string receiver = joined({recv(0, "mpi", kLarge), recv(0, "pp", "1GiB")});
  const std::string small = joined({recv(0, "mpi", kSmall), recv(0, "pp", "1GiB")});
  const std::string cross_0 = joined({send(1, "mpi", kLarge), recv(1, "mpi", kLarge)});
  const std::string cross_1 = joined({send(0, "mpi", kLarge), recv(0, "mpi", kLarge)});
  check_all(
      {
          {"r0: MPI iS1, NCCL S1, sync, w; r1: MPI R0, NCCL R0",
           of_mpi(joined({isend(1, kLarge), nccl_send, kSync, kWait}), receiver), "hangs"},
          {"the same below the eager limit",
           of_mpi(joined({isend(1, kSmall), nccl_send, kSync, kWait}), small), "completes"},
          {"a send that blocks",
           of_mpi(joined({send(1, "mpi", kLarge), nccl_send, kSync}), receiver), "completes"},
          {"w before sync", of_mpi(joined({isend(1, kLarge), nccl_send, kWait, kSync}), receiver),
           "completes"},
          {"without sync, until the next call of MPI",
           of_mpi(joined({isend(1, kLarge), nccl_send, kWait}), receiver), "completes"},
          {"a library that advances by itself",
           of_mpi(joined({isend(1, kLarge), nccl_send, kSync, kWait}), receiver, "always"),
           "completes"},
          {"r0: S1, NCCL S1; r1: iR0, NCCL R0, sync, w: the receiver does not progress",
           of_mpi(joined({send(1, "mpi", kLarge), nccl_send}),
                  joined({irecv(0, kLarge), recv(0, "pp", "1GiB"), kSync, kWait})),
           "hangs"},
          {"w before sync",
           of_mpi(joined({send(1, "mpi", kLarge), nccl_send}),
                  joined({irecv(0, kLarge), recv(0, "pp", "1GiB"), kWait, kSync})),
           "completes"},
          {"r0: S1, R1; r1: S0, R0", of_mpi(cross_0, cross_1), "hangs"},
          {"r0: iS1, R1, w; r1: iS0, R0, w",
           of_mpi(joined({isend(1, kLarge), recv(1, "back", kLarge), kWait}),
                  joined({"{send: back, to: 0, bytes: 1MiB, blocking: off}", recv(0, "mpi", kLarge),
                          "{synchronize: back}"})),
           "completes"},
          // A put is a recv that the target has posted before: it needs the target's progress.
          {"r0: put 1, flush; r1: outside of MPI until r0 has flushed",
           of_mpi(joined({send(1, "mpi", kLarge), "{set: flushed}"}),
                  joined({irecv(0, kLarge), "{get: flushed}", kWait})),
           "hangs"},
          {"r1 calls MPI first",
           of_mpi(joined({send(1, "mpi", kLarge), "{set: flushed}"}),
                  joined({irecv(0, kLarge), kWait, "{get: flushed}"})),
           "completes"},
          {"another call of MPI after the recv lets the isend advance, one before does not",
           of_mpi(joined({isend(1, kLarge), isend(1, kSmall), nccl_send, kSync, kWait}),
                  joined({recv(0, "mpi", kLarge), recv(0, "mpi", kSmall), recv(0, "pp", "1GiB")})),
           "may hang"},
      },
      models::NcclMode::kReal);
}

TEST_CASE("host cases: an asynchronous collective of MPI progresses in calls",
          "[scenarios][cases]") {
  const std::string iall = "{all_reduce: mpi, bytes: 8B, blocking: off}";
  const std::string all = "{all_reduce: mpi, bytes: 8B}";
  const std::string zero = joined({iall, send(1, "pp", "1GiB"), kSync, kWait});
  check_all({{"r0: iAR, NCCL S1, sync, w; r1: AR, NCCL R0",
              of_mpi(zero, joined({all, recv(0, "pp", "1GiB")})), "hangs"},
             {"r1: iAR, NCCL R0, w", of_mpi(zero, joined({iall, recv(0, "pp", "1GiB"), kWait})),
              "completes"}},
            models::NcclMode::kReal);
}

TEST_CASE("host cases: MPI_Comm_dup is a collective of its communicator", "[scenarios][cases]") {
  const std::string dup = "{split: mpi, name: MPI_Comm_dup}";
  const std::string all = "{all_reduce: mpi, bytes: 8B}";
  check_all({{"r0: dup, AR; r1: AR, dup", of_mpi(joined({dup, all}), joined({all, dup})), "hangs"},
             {"in one order", of_mpi(joined({dup, all}), joined({dup, all})), "completes"},
             {"beside messages in any order",
              of_mpi(joined({dup, send(1, "mpi", kSmall)}), joined({dup, recv(0, "mpi", kSmall)})),
              "completes"}},
            models::NcclMode::kReal);
}

TEST_CASE("host cases: an all_to_all connects all pairs", "[scenarios][cases]") {
  const auto with = [](const std::string& first) {
    const std::string begin = first.empty() ? "" : first + ", {synchronize: device}, ";
    return scenario({begin + joined({send(1), reduce("pp")}),
                     begin + joined({reduce("pp"), "{synchronize: nccl pp}", recv(0)})},
                    "pp: all", "communicators: {creation: start}\n");
  };
  // Once the ranks are connected, NCCL buffers the small send.
  check_all(
      {{"cold: r0: S1, AR; r1: AR, R0", with(""), "hangs"},
       {"after an A2A", with("{all_to_all: pp, bytes: 8B}"), "completes"},
       {"after an all_reduce", with(reduce("pp")), "hangs"},
       {"after an A2A on copy engines", with("{all_to_all: pp, bytes: 8B, ctas: 0}"), "hangs"},
       {"after an A2A of parts to this rank",
        with("{all_to_all: pp, splits: [\"if(rank == 0, 0B, 4B)\", 4B]}"), "completes"},
       {"after an A2A without a part for this rank", with("{all_to_all: pp, splits: [4B, 0B]}"),
        "hangs"}},
      models::NcclMode::kCold);
  // Sends and recvs connect no collective.
  const auto messages = [](const std::string& connect) {
    return scenario({joined({send(1), "{synchronize: device}", connect, reduce("x"), reduce("pp")}),
                     joined({recv(0), "{synchronize: device}", connect, reduce("pp"),
                             "{synchronize: nccl pp}", reduce("x")})},
                    "pp: all, x: all", "communicators: {creation: start}\n");
  };
  CHECK(answer_of(testing::scenario_of(messages("{host: nothing}")).graph,
                  models::NcclMode::kCold) == "hangs");
}

TEST_CASE("host cases: an all_to_all makes its hosts meet all others", "[scenarios][cases]") {
  // Rank 0's host waits in its first send for rank 1, which has called the all_to_all.
  const std::string all = "{all_to_all: pp, bytes: 12B}";
  check_all({{"r0: S1, A2A; r1: A2A, R0; r2: A2A",
              scenario({joined({send(1), all}), joined({all, recv(0)}), all}, "pp: all",
                       "communicators: {creation: start}\n"),
              "completes"},
             {"r2 waits for rank 1's message first",
              scenario({joined({send(1), all}), joined({all, "{synchronize: nccl pp}", recv(0)}),
                        joined({recv(1, "x"), all})},
                       "pp: all, x: [1, 2]", "communicators: {creation: start}\n"),
              "hangs"}},
            models::NcclMode::kCold);
}

TEST_CASE("host cases: a load waits for its device", "[scenarios][cases]") {
  const auto with = [](const std::string& zero, const std::string& load,
                       const std::string& top = {}) {
    return scenario({zero, joined({recv(0), load + "{compute: k, after: [nccl pp]}", send(0)})},
                    "pp: all", "communicators: {creation: start}\n" + top);
  };
  const std::string fused = group(joined({send(1), recv(1)}));
  check_all(
      {{"cold: r0: [S1 R1]; r1: R0, load k, k, S0", with(fused, "{load: k}, "), "hangs"},
       {"eager loading", with(fused, "{load: k}, ", "device: {loading: eager}\n"), "completes"},
       {"k loaded before", with(fused, ""), "completes"},
       {"r0: S1, R1, not fused", with(joined({send(1), recv(1)}), "{load: k}, "), "completes"}},
      models::NcclMode::kCold);
  check_all({{"connected", with(fused, "{load: k}, "), "completes"}}, models::NcclMode::kReal);
  // r0: AR(x), load k, AR(y); r1: AR(y), sync y, AR(x), connected.
  const auto crossed = [](const std::string& load) {
    const std::string warm = joined({reduce("x"), reduce("y"), "{synchronize: device}"});
    return scenario({joined({warm, reduce("x"), load, reduce("y")}),
                     joined({warm, reduce("y"), "{synchronize: nccl y}", reduce("x")})},
                    "x: all, y: all", "device: {resident: 2}\n");
  };
  check_all({{"with a load", crossed("{load: k}"), "hangs"},
             {"without", crossed("{host: k}"), "completes"}},
            models::NcclMode::kCold);
}

TEST_CASE("host cases: a load holds the lock of the context", "[scenarios][cases]") {
  // Rank 1's thread 'main' loads a kernel behind a recv. Its thread 'relay' launches what the
  // sender waits for. All ranks are connected.
  const auto with = [](const std::string& load) {
    return R"(schema: 1
ranks: 2
groups: {pp: all, back: all}
communicators: {creation: start}
blocks:
  warm: [{all_to_all: pp, bytes: 8B}, {all_to_all: back, bytes: 8B}, {synchronize: device}]
programs:
  - on: 1
    thread: main
    do: [{call: warm}, {set: warm}, {recv: pp, from: 0, bytes: 1GiB}, )" +
           load + R"({compute: k}, {synchronize: device}]
  - {on: 1, thread: relay, do: [{get: warm}, {host: prepare}, {send: back, to: 0, bytes: 4KiB}]}
  - on: 0
    do:
      - {call: warm}
      - {recv: back, from: 1, bytes: 4KiB}
      - {synchronize: nccl back}
      - {send: pp, to: 1, bytes: 1GiB}
)";
  };
  check_all({{"with a load", with("{load: k}, "), "may hang"}, {"without", with(""), "completes"}},
            models::NcclMode::kCold);
}

TEST_CASE("host cases: check tries first launches that load", "[scenarios][cases]") {
  const auto report = [](const std::string& text) {
    return models::check_nccl_modes(testing::scenario_of(text).graph, {});
  };
  const std::string fused = group(joined({send(1), recv(1)}));
  const auto with = [&](const std::string& zero, const std::string& one,
                        const std::string& top = {}) {
    return scenario({zero, one}, "pp: all", "communicators: {creation: start}\n" + top);
  };
  const std::string later = joined({recv(0), "{compute: k, after: [nccl pp]}", send(0)});
  // All three readings are proved, but a load of k hangs.
  const models::NcclModesReport lazy = report(with(fused, later));
  CHECK(lazy.answer == models::JobAnswer::kProved);
  REQUIRE(lazy.by_loads);
  CHECK(lazy.by_loads->each_kernel == sim::Answer::kHangCertain);
  CHECK(lazy.by_loads->each_phase == sim::Answer::kHangCertain);
  CHECK(lazy.by_loads->op == "load k");
  CHECK(lazy.by_loads->rank == 1);
  CHECK_FALSE(report(with(fused, later, "device: {loading: eager}\n")).by_loads);
  CHECK_FALSE(report(with(fused, "{compute: k}, " + later)).by_loads);
  CHECK_FALSE(report(with(joined({send(1), recv(1)}), later)).by_loads);
  // Not every load waits, so the hang of a load is not certain.
  const models::NcclModesReport loads =
      report(with(fused, joined({recv(0), "{load: k}, {compute: k, after: [nccl pp]}", send(0)})));
  CHECK(loads.answer == models::JobAnswer::kHangPossible);
  CHECK(loads.by_waiting_loads);
  // A hang without loads stays certain.
  const models::NcclModesReport certain =
      report(with(recv(1), joined({recv(0), "{load: k}, {compute: k, after: [nccl pp]}"})));
  CHECK(certain.answer == models::JobAnswer::kHangCertain);
  CHECK_FALSE(certain.by_waiting_loads);
}

TEST_CASE("host cases: the first round of a loop loads", "[scenarios][cases]") {
  const auto loads_in = [](const std::string& text, models::LoadsAt at) {
    const auto graph = models::with_loads(testing::scenario_of(text).graph, at);
    if (!graph) return std::string("none");
    models::Diagnostics diagnostics;
    const auto lowered = models::lower(*graph, diagnostics);
    if (!lowered) return testing::text_of(diagnostics);
    std::string found;
    for (const sim::ActorId id : ids_of(lowered->plan.actors)) {
      const models::ActorTemplate& actor = graph->actors[lowered->actor_template[id]];
      if (actor.step->only_cold) {
        found += actor.name + " x" + std::to_string(lowered->plan.actors[id].ops) + "; ";
      }
    }
    return found;
  };
  const std::string text = R"(schema: 1
programs:
  do:
    - repeat: 3
      do:
        - {compute: F, phase: forward}
        - {repeat: 2, do: [{compute: B, phase: backward}]}
    - {compute: F, phase: forward}
    - {compute: G, phase: forward}
)";
  CHECK(loads_in(text, models::LoadsAt::kEachKernel) == "load F x1; load B x1; load G x1; ");
  CHECK(loads_in(text, models::LoadsAt::kEachPhase) == "load F x1; load B x1; ");
  CHECK(loads_in("schema: 1\ndevice: {loading: eager}\nprograms: {do: [{compute: F}]}\n",
                 models::LoadsAt::kEachKernel) == "none");
}

TEST_CASE("host cases: locks of a process", "[scenarios][cases]") {
  // r0: AR, [lock] D2H; r1: cudaMalloc [lock], then AR.
  const auto with = [](const std::string& top, const std::string& barrier) {
    return R"(schema: 1
ranks: 2
reading: real
groups: {world: all, process: all}
)" + top + R"(
programs:
  do:
    - {lock: cuda}
    - {unlock: cuda}
    - )" + barrier +
           R"(
    - {all_reduce: world, bytes: 4KiB}
    - {lock: cuda}
    - {synchronize: device}
    - {unlock: cuda}
)";
  };
  check_all({{"a lock of the process", with("processes: process", "{host: nothing}"), "may hang"},
             {"a barrier after the initialization", with("processes: process", "{barrier: world}"),
              "completes"},
             {"each rank is a process", with("", "{host: nothing}"), "completes"},
             {"a lock of each rank",
              with("processes: process\nlocks: [{lock: cuda, scope: rank}]", "{host: nothing}"),
              "completes"}},
            models::NcclMode::kReal);
}

TEST_CASE("host cases: two locks in opposite orders", "[scenarios][cases]") {
  const auto with = [](const std::string& first, const std::string& second) {
    return "schema: 1\nprograms:\n"
           "  - {thread: a, do: [{lock: gil}, {lock: cuda}, {unlock: cuda}, {unlock: gil}]}\n"
           "  - {thread: b, do: [{lock: " +
           first + "}, {lock: " + second + "}, {unlock: " + second + "}, {unlock: " + first +
           "}]}\n";
  };
  check_all({{"GIL, context; context, GIL", with("cuda", "gil"), "may hang"},
             {"one order", with("gil", "cuda"), "completes"}},
            models::NcclMode::kReal);
}

TEST_CASE("host cases: threads that call one group", "[scenarios][cases]") {
  const auto with = [](const std::string& barrier) {
    return R"(schema: 1
ranks: 2
groups: {world: all}
communicators: {named: {one: {group: world, gloo: on}, two: {group: world, gloo: on}}}
programs:
  - {thread: main, do: [{barrier: )" +
           barrier + R"(}]}
  - {thread: save, do: [{all_gather: one, bytes: 64B}]}
)";
  };
  check_all({{"one gloo group", with("one"), "may hang"},
             {"a group of its own", with("two"), "completes"}},
            models::NcclMode::kReal);
}

TEST_CASE("host cases: a coroutine that blocks stops its loop", "[scenarios][cases]") {
  const auto with = [](const std::string& second) {
    return R"(schema: 1
ranks: 2
groups: {w: all}
communicators: {named: {there: {group: w, gloo: on}, back: {group: w, gloo: on}}}
programs:
  - {on: 0, thread: loop, do: [{recv: back, from: 1, bytes: 4B}]}
  - {on: 0, thread: )" +
           second + R"(, do: [{send: there, to: 1, bytes: 4B}]}
  - {on: 1, thread: loop, do: [{recv: there, from: 0, bytes: 4B}]}
  - {on: 1, thread: )" +
           second + R"(, do: [{send: back, to: 0, bytes: 4B}]}
)";
  };
  check_all({{"gather(recv, send)", with("loop"), "hangs"},
             {"in to_thread", with("worker"), "completes"}},
            models::NcclMode::kReal);
}

TEST_CASE("host cases: copy engines need no slots", "[scenarios][cases]") {
  // Collectives of two communicators in opposite orders can hang with one slot. On copy engines,
  // they complete.
  const auto with = [](const std::string& ctas) {
    const std::string first = "{all_gather: x, bytes: 4KiB" + ctas + ", stream: a}";
    const std::string second = "{all_gather: y, bytes: 4KiB, stream: b}";
    return scenario({joined({first, second}), joined({second, first})}, "x: all, y: all",
                    "reading: real\ndevice: {resident: 1}\n");
  };
  check_all(
      {{"two kernels", with(""), "may hang"}, {"copy engines", with(", ctas: 0"), "completes"}},
      models::NcclMode::kReal);
}

TEST_CASE("host cases: windows meet in one order", "[scenarios][cases]") {
  const auto with = [](const std::string& zero, const std::string& one) {
    return scenario({zero, one}, "x: all, y: all", "reading: real\n");
  };
  const std::string x = "{register: x}";
  const std::string y = "{register: y}";
  const std::string kernels = "{device_communicator: x}";
  check_all(
      {{"r0: AR, sync; r1: register x",
        with(joined({reduce("x"), kWaitForX}), joined({x, reduce("x"), kWaitForX})), "hangs"},
       {"all register",
        with(joined({x, reduce("x"), kWaitForX}), joined({x, reduce("x"), kWaitForX})),
        "completes"},
       {"two communicators in opposite orders", with(joined({x, y}), joined({y, x})), "hangs"},
       {"in one order", with(joined({x, y}), joined({x, y})), "completes"},
       {"a window and a device communicator", with(joined({x, kernels}), joined({kernels, x})),
        "hangs"}},
      models::NcclMode::kReal);
}

TEST_CASE("host cases: symmetric memory", "[scenarios][cases]") {
  const auto with = [](const std::string& memory, const std::string& zero, const std::string& one,
                       const std::string& two = {}) {
    std::vector<std::string> programs = {zero, one};
    if (!two.empty()) programs.push_back(two);
    return scenario(
        programs, "w: all, x: [0, 1]",
        "communicators: {creation: start}\ndefaults: {symmetric_memory: " + memory + "}\n");
  };
  const std::string alloc = "{symmetric_alloc: x}";
  const std::string free = "{symmetric_free: x}";
  const std::string meet = "{rendezvous: x}";
  const std::string all = reduce("x");
  const std::string sync = "{synchronize: nccl x}";
  check_all(
      {{"r0: empty (nvshmem), AR; r1: AR, sync, empty",
        with("nvshmem", joined({alloc, all}), joined({all, sync, alloc})), "hangs"},
       {"of CUDA", with("cuda", joined({alloc, all}), joined({all, sync, alloc})), "completes"},
       {"of NCCL", with("nccl", joined({alloc, all}), joined({all, sync, alloc})), "completes"},
       {"r0: del t, AR; r1: AR, sync, del t",
        with("nvshmem", joined({free, all}), joined({all, sync, free})), "hangs"},
       {"r0: del t, AR; r1: AR, del t, connected",
        with("nvshmem", joined({free, all}), joined({all, free})), "completes"},
       {"a rendezvous of two ranks of three needs the world with NVSHMEM",
        with("nvshmem", meet, meet, "{host: work}"), "hangs"},
       {"not with CUDA", with("cuda", meet, meet, "{host: work}"), "completes"},
       {"nor with NCCL", with("nccl", meet, meet, "{host: work}"), "completes"},
       {"a rendezvous of CUDA waits for its group",
        with("cuda", joined({meet, all}), joined({all, sync, meet})), "hangs"},
       {"one of NCCL, too", with("nccl", joined({meet, all}), joined({all, sync, meet})), "hangs"},
       {"a free of CUDA waits for the device",
        with("cuda", joined({all, free, "{barrier: w}"}), joined({"{barrier: w}", all})), "hangs"},
       {"not one of NCCL",
        with("nccl", joined({all, free, "{barrier: w}"}), joined({"{barrier: w}", all})),
        "completes"}},
      models::NcclMode::kReal);
  // Unconnected, the all-reduce needs the host of rank 0, which is blocked in the free.
  CHECK(answer_of(
            testing::scenario_of(with("nvshmem", joined({free, all}), joined({all, free}))).graph,
            models::NcclMode::kCold) == "hangs");
}
