// Tests of GraphBuilder, with which a user's C++ program builds task graphs.
#include <chrono>
#include <string>

#include "pipesim/catch2.hpp"
#include "pipesim/pipesim.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;
using namespace std::chrono_literals;

namespace {

std::string mistakes_of(const GraphBuilder& job) {
  try {
    job.build();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("what is built is a scenario that can be looked at", "[library][builder]") {
  GraphBuilder job("two words", 4);
  job.micro_batches(2).group("all").group("tp", {{0, 1}, {2, 3}}).stream("forward");
  job.stream("copies", {{"thread", "forward"}, {"launch_queue", 8}});
  job.yaml("device: {resident: 1}");
  job.actor("a").on({0, 2}).stream("forward").source(2).takes("if(rank == 2, 3us, 1us)");
  job.actor("b")
      .on("rank % 2 == 0")
      .kind("repeat")
      .times(2)
      .phase("forward")
      .slots(2)
      .carries({"x", "y"})
      .output("ctrl", {{"slots", 3}, {"control", true}})
      .reads("a", {{"needs", {"z"}}, {"rank", "rank"}});
  job.actor("c").on("b").thread("forward").collective("all_reduce", "tp", {{"bytes", "1 KiB"}});
  job.actor("d").reads("b").after("b.ctrl").set("messages", "gated");
  CHECK(job.yaml() == R"yaml(schema: 1
name: two words
ranks: 4
micro_batches: 2
groups:
  all: all
  tp: [[0, 1], [2, 3]]
streams: {forward: {}, copies: {thread: forward, launch_queue: 8}}
device: {resident: 1}
actors:
  a: {on: [0, 2], stream: forward, source: 2, takes: "if(rank == 2, 3us, 1us)"}
  b:
    on: rank % 2 == 0
    kind: repeat
    times: 2
    phase: forward
    slots: 2
    carries: [x, y]
    registers: {ctrl: {slots: 3, control: on}}
    reads: [{from: a, needs: [z], rank: rank}]
  c: {on: b, thread: forward, collective: {all_reduce: tp, bytes: 1 KiB}}
  d: {messages: gated, reads: [b], after: [b.ctrl]}
)yaml");
}

TEST_CASE("an actor can be described bit by bit", "[library][builder]") {
  GraphBuilder job("step");
  Actor a = job.actor("a");
  Actor b = job.actor("b").reads("a");
  a.source(3);
  a.takes(2us);
  b.takes(1ms);
  const Graph graph = job.build();
  CHECK(graph.name() == "step");
  CHECK(graph.ranks() == 1);
  CHECK_THAT(run(graph), takes(3006us));
  b.slots(0);  // graphs built earlier do not change
  CHECK_THAT(run(graph), completes());
}

TEST_CASE("host programs are built step by step", "[library][builder]") {
  GraphBuilder job("programs", 2);
  job.group("pp").group("dp");
  Steps main = job.program();
  Steps loop = main.repeat(2);
  loop.only_on("rank > 0").recv("pp", "rank - 1").bytes("8 MiB").takes(1us);
  loop.compute("forward").takes(3us).after({"nccl pp"}).stream("compute");
  loop.only_on(0).send("pp", 1).bytes("8 MiB").takes(1us).after({"compute"});
  Steps both = main.group();
  both.send("dp", "1 - rank").set("tag", 7);
  both.recv("dp", "1 - rank").set("tag", 7);
  main.call("all_reduce", "dp").takes(5us).at("train.py:88 step").name("grads");
  main.host("log").on(0).takes(1us);
  main.step("barrier", "dp");
  main.synchronize();
  job.program("checkpoint", 1).host("save").takes(2us);
  CHECK(job.yaml() == R"(schema: 1
name: programs
ranks: 2
groups:
  pp: all
  dp: all
programs:
  - thread: main
    do:
      - repeat: 2
        do:
          - {on: rank > 0, do: [{recv: pp, from: rank - 1, bytes: 8 MiB, takes: 1us}]}
          - {compute: forward, takes: 3us, after: [nccl pp], stream: compute}
          - {on: 0, do: [{send: pp, to: 1, bytes: 8 MiB, takes: 1us, after: [compute]}]}
      - {group: [{send: dp, to: 1 - rank, tag: 7}, {recv: dp, from: 1 - rank, tag: 7}]}
      - {all_reduce: dp, takes: 5us, at: "train.py:88 step", name: grads}
      - {host: log, on: 0, takes: 1us}
      - {barrier: dp}
      - {synchronize: device}
  - {thread: checkpoint, on: 1, do: [{host: save, takes: 2us}]}
)");
  CHECK_THAT(run(job.build()), completes());
}

TEST_CASE("a mistake is reported with the line that it is in", "[library][builder]") {
  GraphBuilder job("step", 2);
  job.actor("gather").source(1);
  job.actor("loss").reads("gahter");
  job.actor("next").on("7").reads("loss").takes(3);
  CHECK(mistakes_of(job) == R"(task graph 'step':6:18: error[E0401]: unknown actor 'gahter'
    loss: {reads: [gahter]}
                   ^
  help: did you mean 'gather'?
task graph 'step':7:14: error[E0501]: there is no rank 7: ranks are 0 to 1
    next: {on: 7, takes: 3, reads: [loss]}
               ^
  help: see 'pipesim help E0501'
task graph 'step':7:24: error[E0204]: expected a time, found '3'
    next: {on: 7, takes: 3, reads: [loss]}
                         ^
  help: a time needs a unit: ns, us, ms, s or min
)");
}
