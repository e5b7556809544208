// Rules of lint about blocked hosts. Each rule has a scenario that just breaks it and a minimal
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
  // The host waits for a key, calls a barrier of hosts, or takes a lock.
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
  // No finding: one rank has called its recv when the hosts wait, or its host waits for another op.
  CHECK(lint(with(with(text, "{synchronize: device}", "{compute: work, takes: 1us}"),
                  ", after: [nccl down]}", "}\n      - {synchronize: device}")) == "");
  CHECK(lint(with(text, "{synchronize: nccl up}", "{synchronize: nccl down}")) == "");
  // The send for which the host waits has already been received.
  CHECK(lint(with(text, "  - on: 1\n    do:\n",
                  "  - on: 1\n    do:\n      - {recv: up, from: 0, bytes: 8B}\n")) == "");
}
