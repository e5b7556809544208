// Tests of `pipesim fix`, with a scenario for each kind of change that it tries.
#include <atomic>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/support/command.hpp"
#include "tests/support/folder.hpp"

using namespace pipesim;
using testing::command;
using testing::contains;

namespace {

// Two ranks, each of which sends before it receives.
const char* const kSendFirst = R"(schema: 1
name: send_first
ranks: 2
groups: {pp: all}
programs:
  do:
    - {send: pp, to: 1 - rank, bytes: 1MiB, takes: 1us}
    - {recv: pp, from: 1 - rank, bytes: 1MiB}
    - {synchronize: device}
)";

// A ring of four ranks, each of which sends before it receives.
const char* const kRing = R"(schema: 1
name: ring
ranks: 4
groups: {pp: all}
reading: contract
programs:
  do:
    - {send: pp, to: (rank + 1) % 4, bytes: 1MiB}
    - {recv: pp, from: (rank + 3) % 4, bytes: 1MiB}
    - {synchronize: device}
)";

// The ranks initialize two communicators in opposite orders.
const char* const kInit = R"(schema: 1
name: creation
reading: real
device: {resident: 2}
ranks: 2
groups: {a: all, b: all}
communicators: {creation: first_use}
programs:
  - {on: 0, do: [{all_reduce: a, bytes: 4B, takes: 1us}, {all_reduce: b, bytes: 4B, takes: 1us}, {synchronize: device}]}
  - {on: 1, do: [{all_reduce: b, bytes: 4B, takes: 1us}, {all_reduce: a, bytes: 4B, takes: 1us}, {synchronize: device}]}
)";

// Two ranks with separate programs, each of which has a step "scatter k".
const char* const kSameNames = R"(schema: 1
ranks: 2
groups:
  g: [[0, 1]]
  k: [[0, 1]]
device: {sms: 16}
programs:
- on: 0
  do:
  - {recv: g, from: 1, bytes: 4MiB, stream: s1}
  - {scatter: k, root: 0, bytes: 1KiB}
  - {send: k, to: 1, bytes: 1GiB, stream: s1}
  - {recv: k, from: 1, bytes: 1GiB, stream: s1}
- on: 1
  do:
  - {send: g, to: 0, bytes: 4MiB, stream: s1}
  - {scatter: k, root: 0, bytes: 1KiB}
  - {recv: k, from: 0, bytes: 1GiB, stream: s1}
  - {send: k, to: 0, bytes: 1GiB, stream: s1}
)";

// On rank 0 `first` is ready 9 us after `second`; on rank 1 `second` is ready 9 us after `first`.
const char* const kOppositeOrder = R"(schema: 1
name: opposite_order
ranks: 2
groups: {tp: all}
streams: [nccl]
actors:
  x: {source: 1, takes: {case: rank, 0: 9us, else: 1us}}
  y: {source: 1, takes: {case: rank, 0: 1us, else: 9us}}
  first: {stream: nccl, takes: 1us, collective: {all_gather: tp}, reads: [x]}
  second: {stream: nccl, takes: 1us, collective: {all_reduce: tp}, reads: [y]}
)";

const char* const kDead = R"(schema: 1
name: dead
ranks: 2
groups: {dp: all}
faults:
  - {rank: 1, dies: "out of memory", at: 0s}
programs:
  do:
    - {host: work, takes: 1us}
    - {all_reduce: dp, bytes: 4B, takes: 1us}
    - {synchronize: device}
)";

const char* const kNoHang = R"(schema: 1
name: fine
actors:
  a: {source: 4, takes: 1us}
  b: {reads: [a]}
)";

}  // namespace

TEST_CASE("fix: nothing to fix is said, with how sure that is", "[app][fix]") {
  const auto result = command({"fix", "-"}, kNoHang);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "fine  nothing to fix: it completes. proved"));
}

TEST_CASE("fix: patches of an earlier run do not stay behind the last", "[app][fix]") {
  const testing::Folder folder;
  const std::string path = folder.write("scenario.yaml", kNoHang);
  for (const char* name : {"fixes/fix_1.yaml", "fixes/fix_2.yaml", "fixes/other.yaml"}) {
    folder.write(name, "old");
  }
  CHECK(command({"fix", path, "-o", folder / "fixes"}).code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "fixes/fix_1.yaml"));
  CHECK_FALSE(std::filesystem::exists(folder / "fixes/fix_2.yaml"));
  CHECK(std::filesystem::exists(folder / "fixes/other.yaml"));
}

TEST_CASE("fix: after Ctrl-C it tells the hang, and that not all was tried", "[app][fix]") {
  const std::atomic<bool> interrupted{true};  // set before fix tries the first change
  const auto text = command({"fix", "-"}, kOppositeOrder, &interrupted);
  CHECK(text.code == 130);
  CHECK(contains(text.out, "\nInterrupted: not all changes were tried.\n"));
  CHECK_FALSE(contains(text.out, "No change was found"));
  const auto json = command({"fix", "-", "--json"}, kOppositeOrder, &interrupted);
  CHECK(json.code == 130);
  CHECK(contains(json.out, "\"fixes\": []"));
  CHECK(contains(json.out, "\"interrupted\": true"));
  CHECK_FALSE(contains(command({"fix", "-", "--json"}, kOppositeOrder).out, "interrupted"));
}

TEST_CASE("fix: two messages in one group", "[app][fix]") {
  const auto result = command({"fix", "-"}, kSendFirst);
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "\n1  send pp and recv pp in one group call\n"));
  CHECK(contains(result.out, "first use"));
}

TEST_CASE("fix: one order of two collectives on all ranks", "[app][fix]") {
  const auto result = command({"fix", "-"}, kOppositeOrder);
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out,
                 "{first: {registers: {+order: {control: on}}}, second: {after: "
                 "[first.order]}}"));
  CHECK(contains(result.out,
                 "{second: {registers: {+order: {control: on}}}, first: {after: "
                 "[second.order]}}"));
  CHECK(contains(result.out, "first on a stream of its own instead of stream 'nccl'"));
}

TEST_CASE("fix: steps of one name on different ranks are distinguished", "[app][fix]") {
  // Changing the step of rank 1 removes the hang; changing the step of rank 0 does not.
  const auto result = command({"fix", "-"}, kSameNames);
  CAPTURE(result.out);
  const std::size_t rest = result.out.find("Tried, but the run still hangs");
  REQUIRE(rest != std::string::npos);
  const std::string helps = result.out.substr(0, rest);
  const std::string tried = result.out.substr(rest);
  CHECK(contains(helps, "rank 1: scatter k waits for all earlier work on stream 's1'"));
  CHECK(contains(tried, "rank 0: scatter k waits for all earlier work on stream 's1'"));
}

TEST_CASE("fix: communicators at the start", "[app][fix]") {
  const auto result = command({"fix", "-"}, kInit);
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "\n1  rank 0: all_reduce b before all_reduce a\n"));
  CHECK(contains(result.out,
                 "  communicators initialized at the start instead of at their first use\n"));
  CHECK(contains(result.out, "     communicators: {creation: start}\n"));
}

// The recv must come before the all-reduces, and the ranks must also call the all-reduces in one
// order.
TEST_CASE("fix: two changes together where one does not help", "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: crossed
ranks: 2
groups: {pp: all, world: all}
programs:
  - on: 0
    do: [{send: pp, to: 1, bytes: 8MiB}, {all_reduce: world, bytes: 8B}, {all_reduce: world, bytes: 16B}, {synchronize: device}]
  - on: 1
    do: [{all_reduce: world, bytes: 16B}, {all_reduce: world, bytes: 8B}, {synchronize: device}, {recv: pp, from: 0, bytes: 8MiB}]
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "before all_reduce world; and"));
  CHECK(contains(result.out, "check  proved"));
}

// The ranks are connected, and 1 MiB fits into the buffers: the job only violates NCCL's contract.
TEST_CASE("fix: what runs by buffers is fixed, too", "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: buffered
ranks: 2
groups: {pp: all}
programs:
  do:
    - {group: [{send: pp, to: 1 - rank, bytes: 1KiB}, {recv: pp, from: 1 - rank, bytes: 1KiB}]}
    - {send: pp, to: 1 - rank, bytes: 1MiB, name: give}
    - {recv: pp, from: 1 - rank, bytes: 1MiB, name: take}
    - {synchronize: device}
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "by NCCL's contract (NCCL's buffers hide it)"));
  CHECK(contains(result.out, "1  give and take in one group call"));
}

// The tails of two 1F1B rows: both ranks send first, in two iterations. If one recv moves before
// one send, the second iteration still relies on NCCL's buffers.
TEST_CASE("fix: actions of a schedule's row change places", "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: rows
schedule:
  partial: on
  rows:
    - "0RECV_B2,0B2,0F6,0SEND_F6,0RECV_B3,0B3,0F7,0SEND_F7,0RECV_B4,0B4"
    - "1RECV_F5,1F5,1B3,1SEND_B3,1RECV_F6,1F6,1B4,1SEND_B4,1RECV_F7,1F7"
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "\n1  rank 0: each 0RECV_B before 0SEND_F in the row\n"));
  CHECK(contains(result.out,
                 "{rows: {1: \"0B2,0F6,0RECV_B3,0SEND_F6,0B3,0F7,0RECV_B4,0SEND_F7,0B4\"}}"));
  CHECK(contains(result.out, "0RECV_B3 before 0SEND_F6 in the row: proved, hides the hang"));
}

// NCCL's contract allows only one send in flight. If rank 0 has two sends in flight, rank 1 sends
// before it receives the second one.
TEST_CASE("fix: fewer in flight, where as much is left to do", "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: ahead
params: {ahead: {default: 4, at_least: 1}, steps: 8, rounds: 2}
reading: contract
ranks: 2
groups: {pp: all}
programs:
  - on: 0
    do:
      - {repeat: ahead, do: [{send: pp, to: 1, bytes: 1MiB}]}
      - {repeat: steps - ahead, do: [{recv: pp, from: 1, bytes: 1MiB}, {send: pp, to: 1, bytes: 1MiB}]}
      - {repeat: ahead, do: [{recv: pp, from: 1, bytes: 1MiB}]}
  - on: 1
    do:
      - {repeat: steps, do: [{recv: pp, from: 0, bytes: 1MiB}, {send: pp, to: 0, bytes: 1MiB}]}
  - do: [{repeat: rounds, do: [{compute: more, takes: 1us}]}]
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  const std::size_t fewer = result.out.find("  ahead=1 instead of 4\n   note   may change what");
  REQUIRE(fewer != std::string::npos);
  CHECK(result.out.find("on a separate communicator") < fewer);
  // Fewer steps or rounds are not a fix.
  CHECK_FALSE(contains(result.out, "steps=1 "));
  CHECK_FALSE(contains(result.out, "rounds=1 "));
}

// `exchange=off` removes the send and the recv.
TEST_CASE("fix: a parameter that leaves out calls changes the job, and comes last", "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: switch_less
ranks: 2
params: {exchange: on, batched: off}
groups: {pp: all}
programs:
  do:
    - {compute: f, takes: 1ms}
    - {send: pp, to: 1 - rank, bytes: 64MiB, when: "exchange", at: "p2p.py:181 send"}
    - {recv: pp, from: 1 - rank, bytes: 64MiB, when: "exchange", at: "p2p.py:190 recv"}
    - {synchronize: device}
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  const std::size_t less = result.out.find("\n4  exchange=off instead of on\n");
  REQUIRE(less != std::string::npos);
  CHECK(result.out.find("note   may change what", less) != std::string::npos);
  CHECK(result.out.find("\n1  send pp and recv pp in one group call") < less);
  CHECK(result.out.find("\n3  rank 0: recv pp") < less);
}

TEST_CASE("fix: a collective that a parameter leaves out is one of the job", "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: param_less
ranks: 2
params: {mode: {default: both, one_of: [both, none]}, moe: on}
groups: {w: all}
programs:
  do:
    - {compute: s, takes: 1ms}
    - {all_reduce: w, bytes: 8B, when: "moe and rank == 0", at: "moe.py:1"}
    - {synchronize: device}
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "\n1  all ranks call all_reduce w"));
  CHECK(contains(result.out, "\n3  moe=off instead of on\n   note   may change what"));
}

// The backends nccl-legacy and nccl-lazy expand the step to one step per rank; the file has one
// step for all ranks.
TEST_CASE("fix: a step that a backend splits by rank is one step", "[app][fix]") {
  for (const char* backend : {"nccl-legacy", "nccl-lazy"}) {
    std::string text = R"(schema: 1
name: lazy_ring
backend: nccl-legacy
ranks: 4
groups: {pp: all}
programs:
  do:
    - {compute: f, takes: 1ms}
    - {send: pp, to: (rank + 1) % 4, bytes: 4KiB, at: "ring.py:10 isend"}
    - {recv: pp, from: (rank + 3) % 4, bytes: 4KiB, at: "ring.py:11 irecv"}
    - {synchronize: device}
)";
    const std::string legacy = "nccl-legacy";
    text.replace(text.find(legacy), legacy.size(), backend);
    const auto result = command({"fix", "-"}, text);
    INFO(backend << result.out << result.err);
    CHECK(result.code == 0);
    CHECK(contains(result.out, "\n1  send pp and recv pp in one group call"));
    CHECK(contains(result.out, "ranks 1 and 3: recv pp (ring.py:11 irecv) before send pp"));
    CHECK(contains(result.out, "rank 0: recv pp (ring.py:11 irecv) before send pp: proved"));
  }
}

TEST_CASE("fix: two cycles of actors take two changes", "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: two_actor_cycles
ranks: 4
groups: {tp: [[0, 1]], dq: [[2, 3]]}
streams: [nccl, nccm]
actors:
  x: {on: 0..1, source: 1, takes: {case: rank, 0: 9us, else: 1us}}
  y: {on: 0..1, source: 1, takes: {case: rank, 0: 1us, else: 9us}}
  first: {on: 0..1, stream: nccl, takes: 1us, collective: {all_gather: tp}, reads: [x]}
  second: {on: 0..1, stream: nccl, takes: 1us, collective: {all_reduce: tp}, reads: [y]}
  x2: {on: 2..3, source: 1, takes: {case: rank, 2: 9us, else: 1us}}
  y2: {on: 2..3, source: 1, takes: {case: rank, 2: 1us, else: 9us}}
  third: {on: 2..3, stream: nccm, takes: 1us, collective: {all_gather: dq}, reads: [x2]}
  fourth: {on: 2..3, stream: nccm, takes: 1us, collective: {all_reduce: dq}, reads: [y2]}
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "actors: {first: {stream: ~}, third: {stream: ~}}\n"));
}

TEST_CASE("fix: a change that leaves a hang of another interleaving is half of a fix",
          "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: room1
ranks: 2
device: {resident: 1}
groups: {world: all}
communicators: {named: {up: {group: world}, down: {group: world}}}
programs:
  - on: 0
    do: [{send: up, to: 1, bytes: 64MiB, at: "x.py:1"}, {recv: down, from: 1, bytes: 64MiB, at: "x.py:2"}, {synchronize: device}]
  - on: 1
    do: [{send: down, to: 0, bytes: 64MiB, at: "x.py:3"}, {recv: up, from: 0, bytes: 64MiB, at: "x.py:4"}, {synchronize: device}]
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "recv down (x.py:2) before send up; and calls start in launch order"));
}

TEST_CASE("fix: a call comes before what a wait of the host is for", "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: rot
reading: contract
ranks: 3
groups: {a: [[0, 2]], b: [[0, 1]], c: [[1, 2]]}
programs:
  - {on: 0, do: [{all_reduce: a, bytes: 1KiB}, {synchronize: device}, {all_reduce: b, bytes: 1KiB}]}
  - {on: 1, do: [{all_reduce: b, bytes: 1KiB}, {synchronize: device}, {all_reduce: c, bytes: 1KiB}]}
  - {on: 2, do: [{all_reduce: c, bytes: 1KiB}, {synchronize: device}, {all_reduce: a, bytes: 1KiB}]}
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "rank 2: all_reduce a before all_reduce c: proved"));
}

TEST_CASE("fix: communicators are created in one order on all ranks", "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: create_order
ranks: 4
groups: {tp: [[0, 1], [2, 3]], dp: [[0, 1], [2, 3]]}
programs:
  - on: [0, 2]
    do:
      - {create: tp, at: "init.py:10"}
      - {create: dp, at: "init.py:12"}
      - {all_reduce: dp, bytes: 8B}
      - {all_reduce: tp, bytes: 8B}
  - on: [1, 3]
    do:
      - {create: dp, at: "init.py:12"}
      - {create: tp, at: "init.py:10"}
      - {all_reduce: dp, bytes: 8B}
      - {all_reduce: tp, bytes: 8B}
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "\n1  ranks 0 and 2: create dp (init.py:12) before create tp\n"));
  CHECK(contains(result.out, "2  ranks 1 and 3: create tp (init.py:10) before create dp: proved"));
}

TEST_CASE("fix: a send that nobody receives gets its recv, or is left out", "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: missing_recv
reading: contract
ranks: 2
groups: {pp: all}
programs:
  - on: 0
    do:
      - {send: pp, to: 1, bytes: 8MiB, name: first, at: "a.py:1"}
      - {send: pp, to: 1, bytes: 8MiB, name: second, at: "a.py:2"}
      - {synchronize: device}
  - on: 1
    do:
      - {recv: pp, from: 0, bytes: 8MiB, at: "b.py:1"}
      - {synchronize: device}
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(
      contains(result.out,
               "\n1  rank 1: also calls the recv for second (a.py:2) of rank 0, after recv pp\n"));
  CHECK(contains(result.out, "{recv: pp, from: 0, bytes: 8MiB, on: 1}"));
  const std::size_t drop = result.out.find("  rank 0 skips second (a.py:2)\n   note   may change");
  REQUIRE(drop != std::string::npos);
  CHECK(result.out.find("also calls the recv") < drop);
}

TEST_CASE("fix: a recv that nobody sends to gets its send, or is left out on its rank",
          "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: missing_send
reading: contract
ranks: 4
groups: {pp: all}
programs:
  do:
    - {on: rank > 0, do: [{recv: pp, from: rank - 1, bytes: 8MiB, at: "b.py:1"}]}
    - {compute: f, takes: 1ms, after: [nccl pp]}
    - {on: rank < 2, do: [{send: pp, to: rank + 1, bytes: 8MiB, at: "b.py:3", after: [compute]}]}
    - {synchronize: device}
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "rank 2: also calls the send for recv pp (b.py:1) of rank 3, "));
  CHECK(contains(result.out, "{send: pp, to: 3, bytes: 8MiB, on: 2}"));
  CHECK(contains(result.out, "  rank 3 skips recv pp (b.py:1)\n   note   may change"));
}

// Each rank makes its first call on a different communicator, so no swap of two calls on one rank
// helps.
TEST_CASE("fix: one order of three communicators on all ranks", "[app][fix]") {
  const std::string program = R"(schema: 1
name: rotated
reading: contract
ranks: 3
groups: {a: all, b: all, c: all}
programs:
  - {on: 0, do: [{all_reduce: a, bytes: 8B}, {synchronize: device}, {all_reduce: b, bytes: 8B}, {synchronize: device}, {all_reduce: c, bytes: 8B}]}
  - {on: 1, do: [{all_reduce: b, bytes: 8B}, {synchronize: device}, {all_reduce: c, bytes: 8B}, {synchronize: device}, {all_reduce: a, bytes: 8B}]}
  - {on: 2, do: [{all_reduce: c, bytes: 8B}, {synchronize: device}, {all_reduce: a, bytes: 8B}, {synchronize: device}, {all_reduce: b, bytes: 8B}]}
)";
  const auto told = [](const std::string& text) {
    const auto result = command({"fix", "-"}, text);
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK(contains(result.out, "one order on all ranks, changed on ranks 1 and 2: a, b, c"));
  };
  told(program);
  // The same calls in a loop, and in blocks that programs call.
  std::string loops = program;
  for (std::size_t at = 0; (at = loops.find("do: [", at)) != std::string::npos; at += 30) {
    loops.replace(at, 5, "do: [{repeat: 3, do: [");
    loops.replace(loops.find("}]}", at), 3, "}, {synchronize: device}]}]}");
  }
  told(loops);
  std::string blocks = program + "blocks:\n";
  for (const char* name : {"x", "y", "z"}) {
    const std::size_t at = blocks.find("do: [{all");
    const std::size_t end = blocks.find("}]}", at) + 2;
    blocks += "  " + std::string(name) + ": " + blocks.substr(at + 4, end - at - 4) + "\n";
    blocks.replace(at, end - at, "do: [{call: " + std::string(name) + "}]");
  }
  told(blocks);
}

TEST_CASE("fix: a call of a loop that some ranks skip, on all ranks", "[app][fix]") {
  const auto result = command({"fix", "-"}, R"(schema: 1
name: skipped_loop
ranks: 3
groups: {dp: all}
programs:
  do:
    - {on: rank > 0, repeat: 3, do: [{compute: f, takes: 1us}, {all_reduce: dp, bytes: 8B}, {compute: g, takes: 1us}]}
    - {synchronize: device}
)");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "all ranks call all_reduce dp"));
}

// The cycle in a ring of four has a wait for each rank, and all ranks share their steps. A fix that
// changes only some ranks breaks a wait of one of these ranks.
TEST_CASE("fix: the wait that a change on some ranks breaks is one of theirs", "[app][fix]") {
  const auto result = command({"fix", "-", "--json"}, kRing);
  INFO(result.out << result.err);
  const auto report = nlohmann::json::parse(result.out);
  const auto cycle = nlohmann::json::parse(command({"run", "-", "--json"}, kRing).out)["cycle"];
  std::size_t moves = 0;
  for (const auto& fix : report["fixes"]) {
    const std::string text = fix["text"];
    const auto on = text.find(": recv pp before send pp");
    if (on == std::string::npos) continue;
    ++moves;
    // The wait is for a recv that comes after the send of a rank that the fix changes.
    const auto& wait = cycle[fix["wait"].get<std::size_t>() - 1];
    CAPTURE(text, wait.dump());
    CHECK(contains(text.substr(0, on), std::to_string(wait["for"]["rank"].get<int>())));
  }
  CHECK(moves >= 2);
}

// If the ranks take equal times, the job completes; only another interleaving hangs.
TEST_CASE("fix: a hang of another order than that of the run", "[app][fix]") {
  std::string text = kOppositeOrder;
  const std::string late = "{case: rank, 0: 9us, else: 1us}";
  text.replace(text.find(late), late.size(), "1us");
  const std::string early = "{case: rank, 0: 1us, else: 9us}";
  text.replace(text.find(early), early.size(), "9us");
  REQUIRE(command({"run", "-"}, text).code == 0);
  const auto result = command({"fix", "-"}, text);
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "not with the default timing"));
  CHECK(contains(result.out, "{first: {stream: ~}}"));
}

TEST_CASE("fix: where a rank is dead, nothing is found, and that is said", "[app][fix]") {
  const auto result = command({"fix", "-"}, kDead);
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(contains(result.out, "No change lets it complete: a rank died"));
}

TEST_CASE("fix: --apply needs the script of a record", "[app][fix]") {
  const auto result = command({"fix", "-", "--apply", "1"}, kDead);
  CHECK(result.code == 2);
  CHECK(contains(result.err, "'-' is not a record whose script is here"));
}

TEST_CASE("fix: what --set sets stays", "[app][fix]") {
  const std::string path = "scenarios/two_groups_opposite_order.yaml";
  const auto result = command({"fix", path, "--set", "launch_order=none"});
  CHECK(result.code == 0);
  CHECK(contains(result.out, "set: {room: 2}"));
  CHECK_FALSE(contains(result.out, "launch_order=implicit"));
}

TEST_CASE("fix: each patch is written to a file that run takes", "[app][fix]") {
  const testing::Folder folder;
  const std::string path = "scenarios/two_groups_opposite_order.yaml";
  CHECK(command({"fix", path, "-o", folder / "fixes"}).code == 0);
  CHECK(command({"run", path}).code == 1);
  CHECK(command({"run", path, "--patch", folder / "fixes/fix_1.yaml"}).code == 0);
  CHECK(command({"run", path, "--patch", folder / "fixes/fix_3.yaml"}).code == 0);
}

TEST_CASE("fix: bad input and usage", "[app][fix]") {
  CHECK(command({"fix", "-"}, "schema: 1\nactors: {a: {reads: [b]}}\n").code == 2);
  CHECK(command({"fix", "a.goal"}).code == 2);
  CHECK(command({"fix"}).code == 2);
  CHECK(command({"fix", "--help"}).code == 0);
}

// Only two ranks exchange. If the other ranks joined the exchange, some would send to negative
// ranks.
TEST_CASE("fix: a change that leaves a mistake is not one after which it hangs", "[app][fix]") {
  const auto result = command({"fix", "scenarios/first_batch_of_two_ranks.yaml"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(contains(result.out, "communicators initialized at the start"));
  CHECK_FALSE(contains(result.out, "all ranks"));
}
