// The rules lock-order and lock-held. Each has a scenario that just breaks it, and minimal variants
// that do not.
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/lint.hpp"

using namespace pipesim;

using testing::findings_in;
using testing::lint;
using testing::told;
using testing::with;

TEST_CASE("lock-order: two threads take locks in opposite orders", "[lint]") {
  const std::string text = R"(schema: 1
programs:
  - thread: main
    do: [{lock: gil}, {lock: cuda}, {unlock: cuda}, {unlock: gil}]
  - thread: other
    do: [{lock: cuda}, {lock: gil}, {unlock: gil}, {unlock: cuda}]
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "lock-order lock cuda (0)\nlock-order lock gil.2 (0)\n");
  CHECK(findings.front().message ==
        "thread 'main' takes lock 'cuda' while it holds 'gil', and another thread takes them in "
        "the opposite order");
  // Threads that take locks in one order, or hold only one at a time, cannot wait in a cycle.
  CHECK(lint(with(text, "[{lock: cuda}, {lock: gil}, {unlock: gil}, {unlock: cuda}]",
                  "[{lock: gil}, {lock: cuda}, {unlock: cuda}, {unlock: gil}]"))
            .empty());
  CHECK(lint(with(text, "[{lock: cuda}, {lock: gil}, {unlock: gil}, {unlock: cuda}]",
                  "[{lock: cuda}, {unlock: cuda}, {lock: gil}, {unlock: gil}]"))
            .empty());
  // One thread that takes both locks in both orders has no other thread to wait for.
  CHECK(lint(with(text, "thread: other", "thread: main")).empty());
}

TEST_CASE("lock-order: a cycle of three locks", "[lint]") {
  const std::string text = R"(schema: 1
programs:
  - {thread: one, do: [{lock: a}, {lock: b}, {unlock: b}, {unlock: a}]}
  - {thread: two, do: [{lock: b}, {lock: c}, {unlock: c}, {unlock: b}]}
  - {thread: three, do: [{lock: c}, {lock: a}, {unlock: a}, {unlock: c}]}
)";
  CHECK(findings_in(text).size() == 3);
  CHECK(lint(with(text, "{lock: c}, {lock: a}, {unlock: a}, {unlock: c}",
                  "{lock: a}, {lock: c}, {unlock: c}, {unlock: a}"))
            .empty());
}

TEST_CASE("lock-held: a thread waits for its device under a lock", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {pp: all}
programs:
  - thread: main
    do: [{compute: k}, {lock: gil}, {synchronize: device}, {unlock: gil}]
  - thread: other
    do: [{lock: gil}, {host: work}, {unlock: gil}]
)";
  const auto findings = findings_in(text);
  CHECK(told(findings) == "lock-held synchronize device (0 1)\n");
  CHECK(findings.front().message ==
        "thread 'main' waits in 'synchronize device' while it holds lock 'gil'");
  CHECK(lint(with(text, "{lock: gil}, {synchronize: device}, {unlock: gil}",
                  "{lock: gil}, {unlock: gil}, {synchronize: device}"))
            .empty());
  // No other thread takes the lock.
  CHECK(lint(with(text, "{lock: gil}, {host: work}", "{lock: other}, {host: work}")
                 .replace(text.rfind("{unlock: gil}") + 2, 13, "{unlock: other}"))
            .empty());
  // A copy on the host does not wait for the device.
  CHECK(lint(with(text, "{synchronize: device}", "{host: copy}")).empty());
}

TEST_CASE("lock-held: threads of one process", "[lint]") {
  const std::string text = R"(schema: 1
ranks: 2
groups: {world: all}
processes: world
programs:
  - {on: 0, do: [{compute: k}, {lock: cuda}, {synchronize: device}, {unlock: cuda}]}
  - {on: 1, do: [{lock: cuda}, {host: malloc}, {unlock: cuda}]}
)";
  CHECK(told(findings_in(text)) == "lock-held synchronize device (0)\n");
  CHECK(lint(with(text, "processes: world\n", "")).empty());
}
