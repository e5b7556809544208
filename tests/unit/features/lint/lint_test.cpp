// Rules of lint. Each rule has a scenario that just breaks it, and a minimal variant that does not.
#include "features/lint/lint.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/lint.hpp"

using namespace pipesim;

using testing::findings_in;
using testing::lint;
using testing::told;
using testing::with;

TEST_CASE("names of rules are unique", "[lint]") {
  std::vector<std::string_view> names;
  for (const models::LintRule& rule : models::lint_rules()) names.push_back(rule.name);
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("each rule has a public report as its reason", "[lint]") {
  for (const models::LintRule& rule : models::lint_rules()) {
    INFO(rule.name);
    CHECK_FALSE(rule.reports.empty());
    CHECK(models::lint_rule(rule.name).about == rule.about);
  }
}

TEST_CASE("buffer-stream: neither input nor output is on its stream", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {tp: all}
streams: [forward, backward]
actors:
  batch:  {source: 2}
  gather: {stream: forward, collective: {all_gather: tp}, reads: [batch]}
  loss:   {reads: [gather]}
  buffer: {stream: forward, reads: [loss]}
  grad:   {stream: backward, reads: [buffer]}
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "buffer-stream buffer (0 1)\n");
  CHECK(findings.front().place == models::Place{9, 3});
  CHECK(findings.front().message ==
        "'buffer' runs on stream 'forward', but its inputs and its readers are on other streams");
  CHECK(findings.front().advice == "put 'buffer' on stream 'backward'");

  CHECK(lint(with(text, "buffer: {stream: forward", "buffer: {stream: backward")).empty());
  // The producer or the consumer is on the stream of the buffer.
  CHECK(lint(with(text, "loss:   {", "loss:   {stream: forward, ")).empty());
  CHECK(lint(with(text, "grad:   {stream: backward", "grad:   {stream: forward")).empty());
  // No op on the buffer's stream waits for peers.
  CHECK(lint(with(text, ", collective: {all_gather: tp}", "")).empty());
  CHECK(lint(with(text, "tp: all", "tp: [[0], [1]]")).empty());
  // A sink blocks no other op.
  CHECK(lint(with(text, "  grad:   {stream: backward, reads: [buffer]}\n", "")).empty());
}

TEST_CASE("buffer-stream: only on the ranks where it is so", "[lint]") {
  CHECK(lint(R"(schema: 1
ranks: 4
groups: {tp: [[0, 1]]}
streams: [forward, backward]
actors:
  batch:  {source: 2}
  gather: {on: 0..1, stream: forward, collective: {all_gather: tp}, reads: [batch]}
  buffer: {stream: forward, reads: [batch]}
  grad:   {stream: backward, reads: [buffer]}
)") == "buffer-stream buffer (0 1)\n");
}

TEST_CASE("control-credits: fewer slots than the data", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
actors:
  table: {source: 4, slots: 2, registers: {ctrl: {control: on, slots: 1}}}
  use:   {reads: [table]}
  zeros: {on: 1, after: [table.ctrl]}
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "control-credits table (1)\n");
  CHECK(findings.front().place == models::Place{4, 44});
  CHECK(findings.front().message ==
        "control register 'ctrl' of 'table' has fewer slots (1) than its data (2)");

  CHECK(lint(with(text, "control: on, slots: 1", "control: on, slots: 2")).empty());
  // Rank 1 does not read the data, so a rank that reads the data runs ahead.
  CHECK(lint(with(text, "use:   {reads", "use:   {on: 0, reads")) == "control-credits table (1)\n");
  // A register without readers limits nothing.
  CHECK(lint(with(text, "  use:   {reads: [table]}\n", "")).empty());
  CHECK(lint(with(text, "  zeros: {on: 1, after: [table.ctrl]}\n", "")).empty());
}

TEST_CASE("partial-sum: a tensor on one rank and zeros on the others", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 3
actors:
  table: {source: 4, registers: {ctrl: {control: on}}}
  zeros: {on: rank > 0, kind: zeros, after: [table.ctrl]}
  grad:  {reads: [{from: table, on: 0}, {from: zeros, on: rank > 0}]}
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "partial-sum zeros (1 2)\n");
  CHECK(findings.front().place == models::Place{5, 3});
  CHECK(findings.front().message ==
        "'grad' takes 'zeros', and on other ranks 'table': a partial sum made from a broadcast");

  // All ranks have zeros, so the ranks are alike.
  const std::string alike = with(text, "zeros: {on: rank > 0, ", "zeros: {");
  CHECK(lint(with(alike, "{from: table, on: 0}, {from: zeros, on: rank > 0}", "zeros")).empty());
  // All ranks need both inputs.
  CHECK(lint(with(alike, "{from: table, on: 0}, {from: zeros, on: rank > 0}", "table, zeros"))
            .empty());
  // The zeros depend on another source, not on the table.
  const std::string other = with(text, "after: [table.ctrl]", "after: [other.ctrl]");
  CHECK(lint(other + "  other: {source: 4, registers: {ctrl: {control: on}}}\n").empty());
}

TEST_CASE("collective-streams: one group on different streams", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {tp: all}
programs:
  - {on: 0, do: [{all_reduce: tp, bytes: 1KiB, stream: compute}, {synchronize: device}]}
  - {on: 1, do: [{all_reduce: tp, bytes: 1KiB, stream: comm}, {synchronize: device}]}
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "collective-streams all_reduce tp (1)\n");
  CHECK(findings.front().place.line == 6);
  CHECK(findings.front().message ==
        "collectives of group 'tp' are on stream 'comm', and on rank 0 on 'compute'");

  CHECK(lint(with(text, "stream: comm}", "stream: compute}")).empty());
  // The collectives of a group are on two streams, the same two on each rank.
  CHECK(lint(R"(schema: 1
ranks: 2
groups: {tp: all}
streams: [forward, backward]
actors:
  batch:  {source: 2}
  gather: {stream: forward, collective: {all_gather: tp}, reads: [batch]}
  reduce: {stream: backward, collective: {all_reduce: tp}, reads: [gather]}
)")
            .empty());
}

TEST_CASE("collective-order: ranks of one communicator call otherwise", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 3
groups: {tp: all}
programs:
  - on: 0..1
    do: [{all_reduce: tp, bytes: 1KiB}, {all_gather: tp, bytes: 1KiB}]
  - on: 2
    do: [{all_gather: tp, bytes: 1KiB}, {all_reduce: tp, bytes: 1KiB}]
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "collective-order all_gather tp (2)\n");
  CHECK(findings.front().place == models::Place{8, 10});
  CHECK(findings.front().message ==
        "call 1 on communicator 'tp' is 'all_gather tp#1', and 'all_reduce tp#1' on rank 0, which "
        "differ in operation");
  // The mismatch does not depend on other calls: the run also ends with it.
  CHECK(testing::explanation_of(text).verdict == sim::Verdict::kMismatch);

  const std::string good =
      with(text, "{all_gather: tp, bytes: 1KiB}, {all_reduce: tp, bytes: 1KiB}]\n",
           "{all_reduce: tp, bytes: 1KiB}, {all_gather: tp, bytes: 1KiB}]\n");
  CHECK(lint(good).empty());
  CHECK(testing::explanation_of(good).verdict == sim::Verdict::kCompleted);
}

TEST_CASE("collective-order: a rank has a call less", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
params: {steps: 3}
groups: {tp: all}
programs:
  do:
    - {repeat: 3, do: [{all_reduce: tp, bytes: 1KiB}]}
    - {on: 1, do: [{repeat: steps, do: [{all_reduce: tp, bytes: 1KiB}]}]}
    - {on: 0, do: [{repeat: 2, do: [{all_reduce: tp, bytes: 1KiB}]}]}
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "collective-order all_reduce tp.2 (1)\n");
  CHECK(findings.front().message == "6 calls on communicator 'tp', and 5 on rank 0");
  CHECK(findings.front().why == "'all_reduce tp.2#3' waits for a call that its peers never make");
  CHECK(lint(text, {{"steps", "2"}}).empty());
}

TEST_CASE("collective-branch: some ranks never call it", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 3
groups: {tp: all}
programs:
  do:
    - {all_reduce: tp, bytes: 1KiB}
    - {on: rank > 0, do: [{all_gather: tp, bytes: 1KiB}]}
    - {all_reduce: tp, bytes: 1KiB}
)";
  CHECK(lint(text) == "collective-branch all_gather tp (0)\n");
  CHECK(lint(with(text, "on: rank > 0", "on: all")).empty());
}

TEST_CASE("collective-branch: a rank with a step of its own for the call has it", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 4
groups: {world: all}
programs:
  - {on: 0..1, do: [{broadcast: world, root: 0, name: sync}]}
  - {on: 2..3, do: [{broadcast: world, root: 0, name: sync, on: 2}]}
)";
  CHECK(lint(text) == "collective-branch sync (3)\n");
  CHECK(lint(with(text, "name: sync, on: 2", "name: sync")).empty());
}

TEST_CASE("collective-branch: the call that is left out, not a later one", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 3
groups: {dp: all}
programs:
  do:
    - {all_reduce: dp, bytes: 1KiB, name: forward}
    - {all_reduce: dp, bytes: 1KiB, name: log, on: rank != 1}
    - {all_reduce: dp, bytes: 1KiB, name: backward}
)";
  CHECK(lint(text) == "collective-branch log (1)\n");
  CHECK(lint(with(text, ", on: rank != 1", "")).empty());
  // In a loop, lint names the iteration in which the condition is false.
  CHECK(lint(R"(schema: 1
ranks: 3
groups: {dp: all}
programs:
  do:
    - repeat: 4
      index: i
      do:
        - {all_reduce: dp, bytes: 1KiB, name: log, when: "rank != 1 or i != 2"}
        - {all_reduce: dp, bytes: 1KiB, name: backward}
)") == "collective-branch log.2 (1)\n");
  // One rank has a loop with fewer iterations.
  const auto findings = findings_in(R"(schema: 1
ranks: 2
groups: {tp: all}
programs:
  do:
    - {on: 1, do: [{repeat: 3, do: [{all_reduce: tp, bytes: 1KiB, name: many}]}]}
    - {on: 0, do: [{repeat: 2, do: [{all_reduce: tp, bytes: 1KiB, name: few}]}]}
    - {all_reduce: tp, bytes: 1KiB, name: last}
)");
  REQUIRE(findings.size() == 1);
  CHECK(told(findings) == "collective-order many (1)\n");
  CHECK(findings[0].why ==
        "'many#3' is left out, so that each later call is matched with the one before it, and "
        "'last#1' waits for a call that its peers never make");
}

TEST_CASE("meeting: some ranks do not split their communicator", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 3
groups: {world: all}
programs:
  do:
    - {split: world, on: rank > 0}
    - {all_reduce: world, bytes: 1KiB}
)";
  CHECK(lint(text) == "meeting split world (0)\n");
  CHECK(lint(with(text, ", on: rank > 0", "")).empty());
  // A rank that makes one of two splits omits the other.
  const auto twice = [](const std::string& first, const std::string& second) {
    return "schema: 1\nranks: 3\ngroups: {world: all}\nprograms:\n  do:\n    - {split: world, "
           "name: first" +
           first + "}\n    - {split: world, name: second" + second + "}\n";
  };
  CHECK(lint(twice("", ", on: rank > 0")) == "meeting second (0)\n");
  CHECK(lint(twice(", on: rank > 0", "")) == "meeting first (0)\n");
  CHECK(lint(twice(", on: 0", ", on: rank > 0")).empty());
  // Each rank can have its own program.
  const std::string own = R"(schema: 1
ranks: 2
groups: {world: all}
programs:
  - {on: 0, do: [{repeat: 2, do: [{split: world, name: loop}]}]}
  - {on: 1, do: [{split: world, name: one}, {split: world, name: two}, {split: world, name: three}]}
)";
  CHECK(lint(own) == "meeting three (0)\n");
  CHECK(lint(with(own, ", {split: world, name: three}", "")).empty());
  CHECK(lint(with(own, "repeat: 2", "repeat: 4")) == "meeting loop (1)\n");
}

TEST_CASE("meeting: a destroy beside an abort", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {world: all}
communicators: {creation: start}
programs:
  - {on: 0, do: [{abort: world}]}
  - {on: 1, do: [{destroy: world}]}
)";
  CHECK(lint(text) == "meeting destroy world (0)\n");
  CHECK(findings_in(text)[0].advice == "once a rank aborts a communicator, abort it on all ranks");
  CHECK(lint(with(text, "destroy", "abort")).empty());
  CHECK(lint(with(text, "schema: 1", "schema: 1\nnccl: 2.30")).empty());
  // A rank of gloo waits for no other rank's destroy.
  const std::string gloo = with(text, "schema: 1", "schema: 1\nbackend: gloo");
  CHECK(lint(with(gloo, "abort", "drain")).empty());
}

TEST_CASE("split-pending: a communicator is split while calls on it are pending", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {world: all, other: all}
programs:
  do:
    - {all_reduce: world, bytes: 1KiB}
    - {synchronize: nccl other}
    - {split: world}
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "split-pending split world (0 1)\n");
  CHECK(findings.front().message ==
        "'split world' splits communicator 'world' while 'all_reduce world' may not be done");
  // The host has waited for the call: through its stream, through all streams, through an event, or
  // in the call itself.
  CHECK(lint(with(text, "nccl other", "nccl world")).empty());
  CHECK(lint(with(text, "nccl other", "device")).empty());
  CHECK(lint(with(text, "{synchronize: nccl other}",
                  "{record: e, stream: nccl world}\n    - {await: e}"))
            .empty());
  CHECK(lint(with(text, "bytes: 1KiB", "bytes: 1KiB, blocking: on")).empty());
  // A wait for a stream that waits for the call also counts.
  const std::string after = "{compute: k, after: [nccl world]}\n    - {synchronize: compute}";
  CHECK(lint(with(text, "{synchronize: nccl other}", after)).empty());
  CHECK(lint(with(with(text, "{synchronize: nccl other}", after), ", after: [nccl world]", "")) ==
        "split-pending split world (0 1)\n");
  // Calls on another communicator may be pending; calls by the host are done when they return.
  CHECK(lint(with(with(text, "{all_reduce: world", "{all_reduce: other"), "nccl other", "compute"))
            .empty());
  CHECK(lint(with(text, "programs:",
                  "communicators: {named: {world: {group: world, host: on}}}\n"
                  "programs:"))
            .empty());
  // A send or recv is also reported, on the ranks that make it.
  CHECK(lint(with(text, "{all_reduce: world, bytes: 1KiB}",
                  "{send: world, to: 1, bytes: 1KiB, on: 0}\n"
                  "    - {recv: world, from: 0, bytes: 1KiB, on: 1, blocking: on}")) ==
        "split-pending split world (0)\n");
}

TEST_CASE("send-first: a pair, and a ring", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 4
groups: {pp: all}
params: {next: 1}
programs:
  do:
    - {send: pp, to: (rank + next) % 4, bytes: 1KiB}
    - {recv: pp, from: (rank + 4 - next) % 4, bytes: 1KiB}
)";
  CHECK(lint(text) == "send-first send pp (0 1 2 3)\n");
  const std::string pair = with(with(text, "(rank + next) % 4", "rank + 1 - rank % 2 * 2"),
                                "(rank + 4 - next) % 4", "rank + 1 - rank % 2 * 2");
  CHECK(lint(pair) == "send-first send pp (0 1)\n");
  const std::string grouped = R"(schema: 1
ranks: 4
groups: {pp: all}
programs:
  do:
    - {group: [{send: pp, to: (rank + 1) % 4, bytes: 1KiB}, {recv: pp, from: (rank + 3) % 4, bytes: 1KiB}]}
)";
  CHECK(lint(grouped).empty());
  // In a ring, one rank that receives first is enough.
  const std::string one = R"(schema: 1
ranks: 4
groups: {pp: all}
programs:
  do:
    - {recv: pp, on: 0, from: 3, bytes: 1KiB}
    - {send: pp, to: (rank + 1) % 4, bytes: 1KiB}
    - {recv: pp, on: rank > 0, from: rank - 1, bytes: 1KiB}
)";
  CHECK(lint(one).empty());
}

TEST_CASE("message-order: recvs on both sides, and a send behind a collective", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {pp: all}
programs:
  - {on: 0, do: [{recv: pp, from: 1, bytes: 1KiB}, {send: pp, to: 1, bytes: 1KiB}]}
  - {on: 1, do: [{recv: pp, from: 0, bytes: 1KiB}, {send: pp, to: 0, bytes: 1KiB}]}
)";
  CHECK(lint(text) == "message-order recv pp (0 1)\n");
  const std::string collective = R"(schema: 1
ranks: 2
groups: {pp: all}
programs:
  - {on: 0, do: [{send: pp, to: 1, bytes: 1KiB}, {all_reduce: pp, bytes: 1KiB}]}
  - {on: 1, do: [{all_reduce: pp, bytes: 1KiB}, {recv: pp, from: 0, bytes: 1KiB}]}
)";
  CHECK(lint(collective) == "message-order send pp all_reduce pp (0 1)\n");
  CHECK(lint(with(collective, "[{all_reduce: pp, bytes: 1KiB}, {recv: pp, from: 0, bytes: 1KiB}]",
                  "[{recv: pp, from: 0, bytes: 1KiB}, {all_reduce: pp, bytes: 1KiB}]"))
            .empty());
}

TEST_CASE("message-size: a recv of another size than its send", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {pp: all}
programs:
  - {on: 0, do: [{send: pp, to: 1, bytes: 1KiB}]}
  - {on: 1, do: [{recv: pp, from: 0, bytes: 2KiB}]}
)";
  CHECK(lint(text) == "message-size recv pp (1)\n");
  CHECK(lint(with(text, "2KiB", "1KiB")).empty());
}

TEST_CASE("group-order: two communicators in opposite orders", "[lint]") {
  const std::string text = R"(schema: 1
reading: contract
ranks: 2
groups: {tp: all, dp: all}
programs:
  - {on: 0, do: [{all_reduce: tp, bytes: 1KiB}, {all_reduce: dp, bytes: 1KiB}]}
  - {on: 1, do: [{all_reduce: dp, bytes: 1KiB}, {all_reduce: tp, bytes: 1KiB}]}
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "group-order all_reduce dp (1)\n");
  CHECK(findings.front().place.line == 7);
  CHECK(findings.front().message ==
        "'all_reduce dp' comes before 'all_reduce tp', and after it on rank 0");
  // The program is legal, and this run completes.
  CHECK(testing::explanation_of(text).verdict == sim::Verdict::kCompleted);

  CHECK(lint(with(text, "on: 1, do: [{all_reduce: dp, bytes: 1KiB}, {all_reduce: tp",
                  "on: 1, do: [{all_reduce: tp, bytes: 1KiB}, {all_reduce: dp"))
            .empty());
  // A rank that is alone in its group waits for no other rank.
  CHECK(lint(with(text, "dp: all", "dp: [[0], [1]]")).empty());
  // Separate threads make their calls in no fixed order.
  CHECK(lint(R"(schema: 1
ranks: 2
groups: {tp: all, dp: all}
programs:
  - {on: 0, thread: a, do: [{all_reduce: tp, bytes: 1KiB}]}
  - {on: 0, thread: b, do: [{all_reduce: dp, bytes: 1KiB}]}
  - {on: 1, do: [{all_reduce: dp, bytes: 1KiB}, {all_reduce: tp, bytes: 1KiB}]}
)") == "communicator-order all_reduce dp (0)\n");
}

TEST_CASE("group-order: every pair of ranks is looked at", "[lint]") {
  // Ranks 2 and 3 share both groups, and neither is the first rank of a group.
  CHECK(lint(R"(schema: 1
ranks: 4
groups: {a: [[0, 2, 3]], b: [[1, 2, 3]]}
programs:
  - {on: 0, do: [{all_reduce: a, bytes: 1KiB}]}
  - {on: 1, do: [{all_reduce: b, bytes: 1KiB}]}
  - {on: 2, do: [{all_reduce: a, bytes: 1KiB}, {all_reduce: b, bytes: 1KiB}]}
  - {on: 3, do: [{all_reduce: b, bytes: 1KiB}, {all_reduce: a, bytes: 1KiB}]}
)") == "group-order all_reduce b (3)\n");
}

TEST_CASE("group-order: three communicators of which each two share one rank", "[lint]") {
  const std::string text = R"(schema: 1
reading: contract
ranks: 3
groups: {a: [[0, 2]], b: [[0, 1]], c: [[1, 2]]}
programs:
  - {on: 0, do: [{all_reduce: a, bytes: 1KiB}, {all_reduce: b, bytes: 1KiB}]}
  - {on: 1, do: [{all_reduce: b, bytes: 1KiB}, {all_reduce: c, bytes: 1KiB}]}
  - {on: 2, do: [{all_reduce: c, bytes: 1KiB}, {all_reduce: a, bytes: 1KiB}]}
)";
  const auto findings = findings_in(text);
  REQUIRE(told(findings) == "group-order all_reduce a all_reduce b all_reduce c (0 1 2)\n");
  CHECK(findings.front().message ==
        "no order fits all ranks: rank 0 calls 'all_reduce a' before 'all_reduce b', rank 1 calls "
        "'all_reduce b' before 'all_reduce c', rank 2 calls 'all_reduce c' before 'all_reduce a'");
  // If the hosts wait between the calls, the job hangs; with one order on all ranks, it completes.
  std::string waits = text;
  for (std::size_t at = 0; (at = waits.find("}, {all", at)) != std::string::npos; at += 30) {
    waits.insert(at + 1, ", {synchronize: device}");
  }
  CHECK(testing::explanation_of(waits).verdict == sim::Verdict::kDeadlock);
  const std::string fine = with(text, "{all_reduce: c, bytes: 1KiB}, {all_reduce: a, bytes: 1KiB}",
                                "{all_reduce: a, bytes: 1KiB}, {all_reduce: c, bytes: 1KiB}");
  CHECK(lint(fine).empty());
  // Iterations of a loop continue in one order: `a` of the next iteration comes after `c` of this
  // one.
  std::string rounds = fine;
  for (std::size_t at = 0; (at = rounds.find("do: [", at)) != std::string::npos; at += 30) {
    rounds.replace(at, 5, "do: [{repeat: 3, do: [");
    rounds.replace(rounds.find("}]}", at), 3, "}]}]}");
  }
  CHECK(lint(rounds).empty());
  // Separate threads make their calls in no fixed order.
  CHECK(lint(R"(schema: 1
ranks: 3
groups: {a: [[0, 2]], b: [[0, 1]], c: [[1, 2]]}
programs:
  - {on: 0, do: [{all_reduce: a, bytes: 1KiB}, {all_reduce: b, bytes: 1KiB}]}
  - {on: 1, do: [{all_reduce: b, bytes: 1KiB}, {all_reduce: c, bytes: 1KiB}]}
  - {on: 2, thread: x, do: [{all_reduce: c, bytes: 1KiB}]}
  - {on: 2, thread: y, do: [{all_reduce: a, bytes: 1KiB}]}
)")
            .empty());
}

TEST_CASE("group-order: communicators are created in opposite orders", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {tp: all, dp: all}
programs:
  - {on: 0, do: [{create: tp}, {create: dp}, {all_reduce: tp, bytes: 8B}, {all_reduce: dp, bytes: 8B}]}
  - {on: 1, do: [{create: dp}, {create: tp}, {all_reduce: tp, bytes: 8B}, {all_reduce: dp, bytes: 8B}]}
)";
  const auto findings = findings_in(text);
  REQUIRE(told(findings) == "group-order create tp create dp (0 1)\n");
  CHECK(findings.front().advice == "create communicators in the same order on all ranks");
  CHECK(testing::explanation_of(text).verdict == sim::Verdict::kDeadlock);
  CHECK(lint(with(text, "{create: dp}, {create: tp}", "{create: tp}, {create: dp}")).empty());
}

TEST_CASE("device-room: more waiting streams than slots", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
params: {room: 1, order: {default: none, one_of: [none, implicit]}, blocking: off}
groups: {tp: all, dp: all}
device: {resident: room, launch_order: $order}
defaults: {blocking: blocking}
programs:
  do:
    - {all_reduce: tp, bytes: 1KiB}
    - {all_reduce: dp, bytes: 1KiB}
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "device-room all_reduce dp (0 1)\n");
  CHECK(findings.front().place.line == 10);
  CHECK(findings.front().message ==
        "2 streams have calls that wait for peers, and a device runs 1 at a time");
  CHECK(lint(text, {{"room", "2"}}).empty());
  CHECK(lint(text, {{"room", "0"}}).empty());  // no limit
  CHECK(lint(text, {{"order", "implicit"}}).empty());
  CHECK(lint(text, {{"blocking", "on"}}).empty());
  // Calls on one stream are in order.
  CHECK(lint(with(text, "{all_reduce: dp, ", "{all_reduce: tp, ")).empty());
}

TEST_CASE("micro-batches: fewer than twice the stages", "[lint]") {
  const std::string text = R"(schema: 1
params: {m: 7, stages: 4, kind: {default: 1f1b, one_of: [1f1b, interleaved_1f1b]}}
schedule: {kind: $kind, stages: stages, micro_batches: m, forward: 1ms}
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "micro-batches ()\n");
  CHECK(findings.front().place.line == 3);
  CHECK(findings.front().message == "7 micro-batches for 4 stages, fewer than twice as many");
  CHECK(findings.front().advice == "give the step 8 micro-batches or more");
  CHECK(lint(text, {{"m", "8"}}).empty());
  // One stage is not a pipeline.
  CHECK(lint(text, {{"m", "1"}, {"stages", "1"}}).empty());
  // Two chunks on each of 4 ranks fill each other's bubbles.
  const std::string chunks = with(text, "stages: stages,", "stages: 8, chunks: 2,");
  CHECK(lint(chunks, {{"m", "8"}, {"kind", "interleaved_1f1b"}}).empty());
}

TEST_CASE("micro-batches: of a model as long as it is one", "[lint]") {
  const std::string text = R"(schema: 1
model: {input: {shape: [8, 8]}, layers: [{name: block, count: 4, ops: {up: {takes: 1us}}}]}
parallel: {pipeline: 2}
train: {accumulation: 3}
)";
  const auto lint_model = [](const std::string& of) {
    models::Diagnostics diagnostics;
    const auto scenario = formats::read_scenario(of, {}, diagnostics, {.build_model = false});
    return told(*models::lint(scenario->graph, diagnostics));
  };
  CHECK(lint_model(text) == "micro-batches ()\n");
  CHECK(lint_model(with(text, "accumulation: 3", "accumulation: 4")).empty());
  CHECK(lint_model(with(text, "pipeline: 2", "data: 2")).empty());
}

TEST_CASE("what comes from one place of the file is one finding", "[lint]") {
  models::TaskGraph graph = testing::scenario_of(R"(schema: 1
actors:
  a: {source: 4, slots: 2, registers: {ctrl: {control: on}}}
  b: {source: 4, slots: 2, registers: {ctrl: {control: on}}}
  c: {reads: [a, b], after: [a.ctrl, b.ctrl]}
)")
                                .graph;
  models::Diagnostics diagnostics;
  CHECK(told(*models::lint(graph, diagnostics)) ==
        "control-credits a (0)\ncontrol-credits b (0)\n");
  graph.actors[1].registers[1].place = graph.actors[0].registers[1].place;
  CHECK(told(*models::lint(graph, diagnostics)) == "control-credits a b (0)\n");
  // A graph built in code has no places in a file.
  const models::TaskGraph made = models::without_places(graph);
  CHECK(told(*models::lint(made, diagnostics)) == "control-credits a (0)\ncontrol-credits b (0)\n");
}

TEST_CASE("a graph that cannot be laid out has mistakes, not findings", "[lint]") {
  models::Diagnostics diagnostics;
  const auto scenario = testing::scenario_of(R"(schema: 1
ranks: 2
actors:
  a: {source: 4}
  b: {reads: [{from: a, rank: rank + 1}]}
)");
  CHECK_FALSE(models::lint(scenario.graph, diagnostics).has_value());
  CHECK(diagnostics.has_errors());
}

TEST_CASE("communicator-order: threads of a rank that nothing orders", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 4
groups: {tp: {size: 2}, world: all}
programs:
  - {thread: one, do: [{all_reduce: tp, bytes: 8B}]}
  - {thread: two, do: [{all_reduce: world, bytes: 8B}]}
)";
  CHECK(lint(text) == "communicator-order all_reduce world (0 1 2 3)\n");
  CHECK(lint(with(text, "world, bytes: 8B", "world, bytes: 8B, after: [nccl tp]")) == "");
  CHECK(lint(with(text, "thread: two", "thread: one")) == "");
  CHECK(lint(with(text, "programs:", "device: {launch_order: implicit}\nprograms:")) == "");
  // Each pair of ranks shares only one of the groups.
  CHECK(lint(with(text, "world: all", "world: [[0, 2], [1, 3]]")) == "");
}

TEST_CASE("shadowed-group: a communicator with the name of another group", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 4
groups: {tp: {size: 2}, world: all}
communicators: {named: {world: {group: tp}}}
programs:
  - do:
      - {all_reduce: world, bytes: 8B}
)";
  CHECK(lint(text) == "shadowed-group ()\n");
  CHECK(lint(with(text, "{group: tp}", "{group: world}")) == "");
  CHECK(lint(with(text, "named: {world:", "named: {pairs:")) == "");
}
