#include "formats/scenario/scenario_writer.hpp"

#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;

namespace {

// Returns the scenario in `text` as the writer writes it. Checks that the output reads back as the
// same graph, and that writing this graph gives the same output.
std::string rewritten(const std::string& text) {
  const models::TaskGraph graph = testing::scenario_of(text).graph;
  const std::string written = formats::write_scenario(graph);
  INFO(text << "\nbecame\n" << written);
  models::Diagnostics diagnostics;
  const auto again = formats::read_scenario(written, {}, diagnostics);
  CHECK(testing::text_of(diagnostics) == "");
  if (!again) return written;
  CHECK(models::without_places(again->graph) == models::without_places(graph));
  CHECK(formats::write_scenario(again->graph) == written);
  return written;
}

void check(const std::string& text) { rewritten("schema: 1\n" + text); }

}  // namespace

TEST_CASE("a task graph is written as a scenario without parameters", "[formats][writer]") {
  CHECK(rewritten(R"y(schema: 1
name: small
params: {acc: 3, slow: 20us}
ranks: 4
micro_batches: acc
sets: {last: 2..3}
groups: {tp: {size: 2}, all_of_them: all, odd: [[0, 3], [2, 1]]}
streams: [forward]
actors:
  batch: {source: acc, takes: 1us, registers: {ctrl: {control: on}}}
  rep: {kind: repeat, times: acc, source: acc, stream: forward}
  gather:
    about: not kept
    stream: forward
    takes: {case: rank, 3: slow, else: 10us}
    reads: [batch, {from: rep, on: last}]
    after: [batch.ctrl]
    collective: {all_gather: tp}
expect: {verdict: completed}
)y") ==
        R"y(schema: 1
name: small
ranks: 4
micro_batches: 3
groups:
  tp: {size: 2}
  all_of_them: all
  odd: [[0, 3], [2, 1]]
streams: [forward]
actors:
  batch: {takes: 1us, source: 3, registers: {ctrl: {control: on}}}
  rep: {kind: repeat, times: 3, stream: forward, source: 3}
  gather:
    stream: forward
    takes: "if(rank == 3, 20us, 10us)"
    collective: {all_gather: tp}
    reads: [batch, {from: rep, on: [2, 3]}]
    after: [batch.ctrl]
)y");
}

TEST_CASE("a host program is written step by step", "[formats][writer]") {
  CHECK(rewritten(R"(schema: 1
ranks: 2
groups: {pp: all}
programs:
  - do:
      - {host: load, takes: 1us, at: "train.py:3 main"}
      - repeat: 2
        do:
          - {on: 0, compute: forward, takes: 2us}
          - {on: 0, send: pp, to: rank + 1, bytes: 4B, after: [compute]}
          - {on: 1, recv: pp, from: rank - 1, bytes: 4B}
      - {synchronize: device}
)") ==
        R"(schema: 1
ranks: 2
groups:
  pp: all
threads:
  main: {order: program}
streams:
  compute: {thread: ~}
  nccl pp: {thread: ~}
communicators:
  named: {pp: {group: pp, stream: nccl pp}}
programs:
  - do:
      - {host: load, takes: 1us, at: "train.py:3 main"}
      - repeat: 2
        do:
          - {compute: forward, takes: 2us, on: 0}
          - {record: compute before send pp, implied: on, on: 0}
          - wait: compute before send pp
            implied: on
            name: wait for compute before send pp
            stream: nccl pp
            on: 0
          - {send: pp, to: rank + 1, bytes: 4B, on: 0}
          - {recv: pp, from: rank - 1, bytes: 4B, on: 1}
      - {synchronize: device}
)");
}

TEST_CASE("everything that actors can say is written", "[formats][writer]") {
  check(
      "ranks: 2\ngroups: {tp: all}\nactors:\n"
      "  a: {source: 2, launch_overhead: 1us, blocking: on, messages: gated, phase: x}\n"
      "  b: {reads: [{from: a, rank: 1 - rank}, {from: a, each: tp}], in_place: on, slots: 2}\n"
      "  c: {kind: accumulate, times: 2, reads: [b], slots: rank + 1}\n"
      "  'd ': {kind: unpack, times: 2, reads: [c], registers: {r: {slots: 2, every: 2}}}\n"
      "  e: {reads: [{from: 'd ', per: 2}], after: [], stream: s, thread: s}\n"
      "  f: {kind: wait_and_send_ids, source: 2, waits_for_input: {items: 1, first: 2us, every: "
      "3us}}\n"
      "  g: {kind: zeros, source: 1, registers: {out: {every: 1, drain_every: 3}}}\n"
      "  h: {kind: copy, on: [], messages: gated}\n");
  check(
      "actors: {a: {source: 1, carries: [x, 'y z'], registers: {r: {carries: [w]}}},\n"
      "  b: {reads: [{from: a, needs: [x, 'y z']}, {from: a.r, needs: []}]}}\n");
  check(
      "memory: 'if(rank == 0, 3GiB, 2GiB)'\nactors: {a: {source: 1, bytes: 4MiB, registers: {r: "
      "{bytes: 3B * (rank + 1)}, s: {bytes: 0}}}}\n");
  check(
      "actors: {a: {source: 1, registers: {b: {}}}, a.b: {source: 1},\n"
      "  c: {reads: [a.b, {from: a, register: b}]}}\n");
  check(
      "actors: {'null': {source: 1}, '~': {source: 1}, 'a: b': {source: 1}, '\"\\': {source: 1},\n"
      "  '$x': {source: 1}, case: {source: 1}, é: {source: 1}, '1': {source: 1}}\n");
}

TEST_CASE("what threads, streams and communicators are is written", "[formats][writer]") {
  check(
      "ranks: 2\ngroups: {tp: all}\ndefaults: {launch_queue: 7}\n"
      "threads: {b: {program: [x, {repeat: 2, do: [y, {on: 1, do: [x, x]}]}, {on: [], do: []}]}}\n"
      "streams: {s: {thread: b, device: 1, launch_queue: rank + 3}, t: ~}\n"
      "communicators: {creation: first_use, waits_for_device: on,\n"
      "  named: {c: {group: tp, creation: start, eager: 4KiB, host: on, port: 3,\n"
      "              timeout: 0, algorithm: tree}}}\n"
      "device: {hardware_queues: 2, resident: rank, launch_order: implicit}\n"
      "actors: {x: {stream: s, source: 'if(rank == 0, 1, 5)'}, y: {stream: s, source: 2},\n"
      "  z: {stream: t, source: 1, collective: {all_reduce: tp, communicator: c, bytes: 3B}}}\n");
}

TEST_CASE("a cluster, its faults and `guards` are written", "[formats][writer]") {
  const std::string actors =
      "actors:\n"
      "  a: {source: 1, collective: {all_reduce: tp, bytes: 1MiB, algorithm: direct}}\n"
      "  b: {source: 1, collective: {all_reduce: tp, bytes: 1MiB}, takes: 0}\n"
      "  c: {source: 1, collective: {barrier: tp}}\n"
      "  d: {source: 1, collective: {barrier: tp}, takes: 0}\n"
      "  e: {source: 1, collective: {all_reduce: tp, bytes: 0}}\n";
  const std::string faults =
      "faults:\n"
      "  - {rank: 3, dies: 'segfault: 11', at: 5s + rank * 1s}\n"
      "  - {rank: all, fails: '~', act: b#1}\n"
      "  - {link: infiniband, hosts: [0, 1], down: 0s, retry: 4s}\n"
      "  - {link: infiniband, slower: 10}\n"
      "  - {port: 29500, closed_on: n1}\n"
      "  - {communicator: c, denied: 'a \"b\"', slower: 3}\n"
      "guards: {watchdog: 10min, poll: 100ms, store: 30min, launcher: 5s, launcher_ends: job}\n";
  for (const char* seats : {"2 per host", "round robin", "[1, 0, 0, 1]"}) {
    check(
        "ranks: 4\ngroups: {tp: all}\n"
        "cluster: {hosts: [n0, n1], devices: 3, algorithm: tree, ranks: " +
        std::string(seats) +
        ",\n"
        "  links: {nvlink: {latency: 2us, bandwidth: 300GB/s}, infiniband: {}},\n"
        "  interfaces: {eth0: infiniband, lo: nowhere}}\n"
        "communicators: {interface: eth0, named: {c: {group: tp, over: [nvlink], interface: "
        "lo}}}\n" +
        actors + faults);
  }
  check("ranks: 4\ngroups: {tp: all}\ncluster: {hosts: 2}\n" + actors);
}

TEST_CASE("every step of a host program is written", "[formats][writer]") {
  check(
      "ranks: 3\ngroups: {pp: all, dp: all}\ncluster: {hosts: 3}\n"
      "communicators: {named: {c: {group: dp, host: on}}}\n"
      "defaults: {launch_overhead: 1us}\n"
      "blocks: {twice: [{compute: k, takes: t}, {compute: k, takes: t}]}\n"
      "programs:\n"
      "  - {thread: aux, on: [0, 1], do: [{get: ready, times: 2, timeout: 3s}, {host: h}, "
      "{host: i, takes: 3us, launch_overhead: 2us}]}\n"
      "  - do:\n"
      "    - {repeat: 2, index: i, do: [{compute: j, takes: 1us * i}, {send: pp, to: 0, tag: i, "
      "on: 1}, {recv: pp, from: 1, tag: 'rank + i', on: 0}]}\n"
      "    - {call: twice, with: {t: 3us}}\n"
      "    - {record: late, after: [other, compute]}\n"
      "    - {wait: late, stream: other}\n"
      "    - {await: late}\n"
      "    - {set: ready, phase: p}\n"
      "    - {lock: gil}\n"
      "    - {unlock: gil, name: free}\n"
      "    - {create: dp}\n"
      "    - {all_reduce: dp, bytes: 4B, type: float16, algorithm: tree}\n"
      "    - {all_reduce: dp, bytes: 4B, takes: 0, blocking: on, stream: nccl dp}\n"
      "    - {broadcast: c, root: 1, bytes: 0}\n"
      "    - {barrier: pp}\n"
      "    - {barrier: pp, takes: 0}\n"
      "    - group:\n"
      "      - {send: dp, to: (rank + 1) % 3, bytes: 4B, tag: act-1}\n"
      "      - {recv: dp, from: (rank + 2) % 3, bytes: 4B, tag: 1 + rank, takes: 3us}\n"
      "    - {split: dp}\n"
      "    - {synchronize: other}\n"
      "    - {synchronize: [other, compute], at: 'a.py:1'}\n"
      "    - {input: stdin, items: 1, first: 1us, every: 2us}\n"
      "    - {on: [], input: stdin, items: 1, name: other_input}\n"
      "    - {destroy: dp}\n"
      "    - {on: 2, exit: 3}\n"
      "    - {on: 1, raise: 'ValueError: no'}\n"
      "    - {on: 0, raise: exit, name: leave}\n"
      "  - {thread: aux, do: [{on: 2, set: ready}, {repeat: 0, do: []}]}\n"
      "faults: [{rank: 2, dies: x, act: h}]\n");
}

TEST_CASE("phases, events and locks in another order than that of their first use are declared",
          "[formats][writer]") {
  CHECK(rewritten("schema: 1\nphases: [b, a, unused]\nlocks: [l]\n"
                  "events: [{event: e}, {key: k}]\n"
                  "actors: {x: {source: 1, phase: a}, y: {source: 1, phase: b}}\n") ==
        "schema: 1\nranks: 1\nstreams: []\nphases: [b, a, unused]\n"
        "events: [{event: e}, {key: k}]\nlocks: [l]\nactors:\n"
        "  x: {phase: a, source: 1}\n  y: {phase: b, source: 1}\n");
}

TEST_CASE("a long value is broken into lines", "[formats][writer]") {
  std::string hosts = "[0";
  for (int rank = 1; rank < 64; ++rank) hosts += rank % 3 == 0 ? ", 1" : ", 0";
  const std::string text =
      rewritten("schema: 1\nranks: 64\ncluster: {hosts: 2, devices: 64, ranks: " + hosts +
                "]}\nactors: {a: {source: 1}}\n");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    CHECK(end - begin <= 100);
    begin = end + 1;
  }
}
