// The rules about blocked hosts, each with a scenario that just breaks the rule and a minimal
// variant that does not.
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/lint.hpp"

using namespace pipesim;
using testing::findings_in;
using testing::lint;
using testing::told;
using testing::with;

TEST_CASE("host-sync: the host waits between two groups", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {tp: all, dp: all}
programs:
  do:
    - {all_reduce: tp, bytes: 1KiB}
    - {synchronize: device}
    - {all_reduce: dp, bytes: 1KiB}
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "host-sync synchronize device (0 1)\n");
  CHECK(findings.front().place == models::Place{7, 7});
  CHECK(findings.front().message ==
        "the host waits in 'synchronize device' between 'all_reduce tp' and 'all_reduce dp', "
        "collectives of two groups");

  CHECK(lint(with(text, "all_reduce: dp", "all_reduce: tp")).empty());
  CHECK(lint(with(text, "dp: all", "dp: [[0], [1]]")).empty());
  // The host waits for an unrelated stream.
  CHECK(lint(with(text, "    - {synchronize: device}\n",
                  "    - {compute: other}\n    - {synchronize: compute}\n"))
            .empty());
  CHECK(lint(with(text, "synchronize: device", "synchronize: nccl tp")) ==
        "host-sync synchronize nccl tp (0 1)\n");
  // The host waits for a stream that waits for the collective.
  CHECK(lint(with(text, "    - {synchronize: device}\n",
                  "    - {compute: other, after: [nccl tp]}\n    - {synchronize: compute}\n")) ==
        "host-sync synchronize compute (0 1)\n");
  // A key, a lock, and a barrier of hosts.
  CHECK(lint(with(text, "    - {synchronize: device}\n", "    - {set: k}\n    - {get: k}\n")) ==
        "host-sync get k (0 1)\n");
  CHECK(lint(with(text, "    - {synchronize: device}\n", "    - {barrier: tp}\n")) ==
        "host-sync barrier hosts of tp (0 1)\n");
  CHECK(lint(with(text, "    - {synchronize: device}\n",
                  "    - {lock: gil}\n    - {unlock: gil}\n")) == "host-sync lock gil (0 1)\n");
}

TEST_CASE("host-sync: not at the end of a training step", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {tp: all, dp: all}
programs:
  do:
    - repeat: 3
      do:
        - {all_reduce: tp, bytes: 1KiB}
        - {all_reduce: dp, bytes: 1KiB}
        - {synchronize: device}
)";
  CHECK(lint(text).empty());
  // The next collective after the wait repeats a call that the host has waited for.
  CHECK(lint(text + "    - {all_reduce: dp, bytes: 1KiB}\n").empty());
}

TEST_CASE("send-sync: hosts that wait for sends before they call each other's recvs", "[lint]") {
  const std::string text = R"(schema: 1
reading: contract
ranks: 2
groups: {world: all}
communicators: {named: {up: {group: world}, down: {group: world}}}
programs:
  - on: 0
    do:
      - {send: up, to: 1, bytes: 8B}
      - {synchronize: nccl up}
      - {recv: down, from: 1, bytes: 8B, after: [nccl up]}
  - on: 1
    do:
      - {send: down, to: 0, bytes: 8B}
      - {synchronize: device}
      - {recv: up, from: 0, bytes: 8B, after: [nccl down]}
)";
  CHECK(lint(text) == "send-sync synchronize nccl up (0 1)\n");
  // One rank has called its recv by then, or waits for another op.
  CHECK(lint(with(with(text, "{synchronize: device}", "{compute: work, takes: 1us}"),
                  ", after: [nccl down]}", "}\n      - {synchronize: device}")) == "");
  CHECK(lint(with(text, "{synchronize: nccl up}", "{synchronize: nccl down}")) == "");
  // The send that the host waits for was received before.
  CHECK(lint(with(text, "  - on: 1\n    do:\n",
                  "  - on: 1\n    do:\n      - {recv: up, from: 0, bytes: 8B}\n")) == "");
}

TEST_CASE("send-sync: a host waits for a message before it calls what the other end comes after",
          "[lint]") {
  const std::string text = R"(schema: 1
reading: contract
ranks: 2
groups: {pp: all, dp: all}
programs:
  - on: 0
    do:
      - {send: pp, to: 1, bytes: 8B}
      - {synchronize: nccl pp}
      - {all_reduce: dp, bytes: 8B}
  - on: 1
    do:
      - {all_reduce: dp, bytes: 8B}
      - {synchronize: nccl dp}
      - {recv: pp, from: 0, bytes: 8B}
)";
  const auto findings = findings_in(text);
  REQUIRE(told(findings) == "send-sync synchronize nccl pp (0 1)\n");
  CHECK(findings.front().place == models::Place{9, 9});
  CHECK(findings.front().message ==
        "the host waits in 'synchronize nccl pp' until rank 1 calls the recv that 'send pp' is "
        "matched with; rank 1 is in 'synchronize nccl dp'");
  CHECK(testing::explanation_of(text).verdict == sim::Verdict::kDeadlock);
  // In reverse, a recv waits for its send.
  const std::string recv = with(with(text, "send: pp, to: 1", "recv: pp, from: 1"),
                                "recv: pp, from: 0", "send: pp, to: 0");
  CHECK(lint(recv) == "send-sync synchronize nccl pp (0 1)\n");
  CHECK(testing::explanation_of(recv).verdict == sim::Verdict::kDeadlock);
  // One host that does not wait is enough, and so is a wait for another op.
  CHECK(lint(with(text, "      - {synchronize: nccl pp}\n", "")) == "");
  CHECK(lint(with(text, "      - {synchronize: nccl dp}\n", "")) == "");
  const std::string work = "{compute: work, takes: 1us}\n      - {synchronize: compute}";
  CHECK(lint(with(text, "{synchronize: nccl pp}", work)) == "");
  // A stream or an event that waits for the send counts as the send.
  CHECK(
      lint(with(text, "{synchronize: nccl pp}",
                "{compute: work, takes: 1us, after: [nccl pp]}\n      - {synchronize: compute}")) ==
      "send-sync synchronize compute (0 1)\n");
  // A cycle of several waits over three ranks.
  const std::string ring = R"(schema: 1
reading: contract
ranks: 3
groups: {pp: all}
communicators: {named: {a: {group: pp}, b: {group: pp}, c: {group: pp}}}
programs:
  - {on: 0, do: [{send: a, to: 1, bytes: 8B}, {synchronize: device}, {recv: c, from: 2, bytes: 8B}]}
  - {on: 1, do: [{send: b, to: 2, bytes: 8B}, {synchronize: device}, {recv: a, from: 0, bytes: 8B}]}
  - {on: 2, do: [{send: c, to: 0, bytes: 8B}, {synchronize: device}, {recv: b, from: 1, bytes: 8B}]}
)";
  CHECK(lint(ring) == "send-sync synchronize device (0 1 2)\n");
  CHECK(testing::explanation_of(ring).verdict == sim::Verdict::kDeadlock);
}

TEST_CASE("first-use: a ring of sends that each make a communicator", "[lint]") {
  const std::string text = R"(schema: 1
backend: nccl-lazy
ranks: 4
groups: {pp: all}
programs:
  do:
    - {send: pp, to: (rank + 1) % 4, bytes: 1KiB}
    - {recv: pp, from: (rank + 3) % 4, bytes: 1KiB}
    - {synchronize: device}
)";
  const auto findings = findings_in(text);
  REQUIRE(told(findings) == "first-use send pp (0 1 2 3)\n");
  CHECK(findings.front().place.line == 7);
  CHECK(findings.front().message ==
        "'send pp' blocks its host until rank 1 joins its communicator; rank 1 is in 'send pp', in "
        "a cycle of 4 ranks");
  CHECK(testing::explanation_of(text).verdict == sim::Verdict::kDeadlock);
  // The contract makes each send end with its recv.
  const std::string real = with(text, "ranks: 4", "reading: real\nranks: 4");
  CHECK(lint(real) == "");
  CHECK(testing::explanation_of(real).verdict == sim::Verdict::kCompleted);
  const std::string grouped = with(
      text,
      "    - {send: pp, to: (rank + 1) % 4, bytes: 1KiB}\n    - {recv: pp, from: (rank + 3) % 4, "
      "bytes: 1KiB}\n",
      "    - {group: [{send: pp, to: (rank + 1) % 4, bytes: 1KiB}, {recv: pp, from: (rank + 3) % "
      "4, "
      "bytes: 1KiB}]}\n");
  CHECK(lint(grouped) == "");
  CHECK(testing::explanation_of(grouped).verdict == sim::Verdict::kCompleted);
}

TEST_CASE("first-use: a first message against a first collective, and a rank that is left out",
          "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {pp: all, dp: all}
programs:
  - {on: 0, do: [{send: pp, to: 1, bytes: 8B}, {all_reduce: dp, bytes: 8B}]}
  - {on: 1, do: [{all_reduce: dp, bytes: 8B}, {recv: pp, from: 0, bytes: 8B}]}
)";
  CHECK(lint(text) == "first-use send pp (0 1)\n");
  CHECK(testing::explanation_of(text).verdict == sim::Verdict::kDeadlock);
  const std::string connected =
      with(text, "programs:\n",
           "programs:\n  - {do: [{all_reduce: dp, bytes: 8B}, {group: [{on: 0, send: pp, to: 1, "
           "bytes: 8B}, {on: 1, recv: pp, from: 0, bytes: 8B}]}]}\n");
  CHECK(lint(connected) == "");
  CHECK(testing::explanation_of(connected).verdict == sim::Verdict::kCompleted);
  // The first call initializes the communicator, which needs all three ranks.
  const auto left_out = findings_in(R"(schema: 1
ranks: 3
groups: {pp: all}
programs:
  - {on: 0, do: [{send: pp, to: 1, bytes: 8B}]}
  - {on: 1, do: [{recv: pp, from: 0, bytes: 8B}]}
)");
  REQUIRE(told(left_out) == "first-use send pp (0)\n");
  CHECK(left_out.front().message ==
        "'send pp' blocks its host until rank 2 joins its communicator; rank 2 never does");
}
