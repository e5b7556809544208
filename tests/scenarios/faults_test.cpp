// Faults and timeouts, rule by rule (docs/reference/rules.md, 10), from the YAML to the verdict.
// The expectations are derived by hand; comments explain the derivations that are not obvious.
#include <string>
#include <vector>

#include "models/result/event_order.hpp"
#include "models/result/explanation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

#include "features/check/check.hpp"

using namespace pipesim;
using models::Cause;
using models::DeathReport;
using models::Explanation;
using sim::DeathCause;
using sim::Verdict;
using sim::WaitKind;
using testing::explanation_in_contract;
using testing::mistakes_in;

namespace {

// Returns a scenario of two ranks with the same steps.
std::string both(const std::string& steps, const std::string& top) {
  return "schema: 1\nranks: 2\ngroups: {g: all}\n" + top + "programs:\n  do:\n" + steps;
}

std::string indented_step(const std::string& fields) { return "    - {" + fields + "}\n"; }

struct FaultsOf {
  std::uint32_t rank;
  std::int64_t time_ns;
  DeathCause cause;
  bool after_quiescence;
};

void check_deaths(const Explanation& found, const std::vector<FaultsOf>& expected) {
  REQUIRE(found.deaths.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(found.deaths[i].rank == expected[i].rank);
    CHECK(found.deaths[i].time_ns == expected[i].time_ns);
    CHECK(found.deaths[i].cause == expected[i].cause);
    CHECK(found.deaths[i].after_quiescence == expected[i].after_quiescence);
  }
}

void check_root(const Explanation& found, std::uint32_t rank, WaitKind kind) {
  REQUIRE(found.roots.size() == 1);
  CHECK(found.roots[0].party.rank == rank);
  CHECK(found.roots[0].first.kind == kind);
}

}  // namespace

TEST_CASE("a rank that dies at a time never comes, and is the cause", "[scenarios][faults]") {
  // Rank 1 dies 2 us before its kernel ends, so it never reaches the all-reduce.
  const Explanation found = explanation_in_contract(both(
      indented_step("compute: work, takes: 5us") + indented_step("all_reduce: g, after: [compute]"),
      "faults: [{rank: 1, dies: segfault, at: 3us}]\n"));
  CHECK(found.verdict == Verdict::kStarved);
  CHECK(found.cause == Cause::kDeadRank);
  check_deaths(found, {{1, 3'000, DeathCause::kAtTime, false}});
  CHECK(found.deaths[0].what == "segfault");
  check_root(found, 1, WaitKind::kDeadRank);
  CHECK(found.time_ns == 5'000);
  CHECK(found.ranks[1].dead);
}

TEST_CASE("a rank dies at an op instead of launching it", "[scenarios][faults]") {
  // Launches take no time. Rank 0 dies instead of launching its second `work`.
  const std::string steps =
      indented_step("repeat: 3, do: [{host: load, takes: 1us}, {compute: work}]");
  const Explanation found =
      explanation_in_contract(both(steps, "faults: [{rank: 0, dies: killed, act: work#2}]\n"));
  // Rank 1 is done, so no rank waits for rank 0.
  CHECK(found.verdict == Verdict::kCrashed);
  CHECK(found.cause == Cause::kDeadRank);
  check_deaths(found, {{0, 2'000, DeathCause::kAtOp, false}});
  CHECK(found.deaths[0].in->name == "work");
  CHECK(found.deaths[0].in->number == 2);
  CHECK(found.ops_done == 6 + 3);  // load, work, load on rank 0
}

TEST_CASE("a program can raise, and exit early", "[scenarios][faults]") {
  for (const std::string end : {"raise: out of memory", "exit: 0"}) {
    const Explanation found = explanation_in_contract(both(indented_step("host: load, takes: 1us") +
                                                               indented_step(end + ", on: 1") +
                                                               indented_step("all_reduce: g"),
                                                           ""));
    CHECK(found.verdict == Verdict::kStarved);
    CHECK(found.cause == Cause::kDeadRank);
    check_deaths(found, {{1, 1'000, DeathCause::kAtOp, false}});
    CHECK(found.deaths[0].what == (end == "exit: 0" ? "exit 0" : "out of memory"));
  }
}

TEST_CASE("what a rank has sent stays sent, and death after all work is no matter",
          "[scenarios][faults]") {
  const std::string top = "communicators: {named: {c: {group: g, eager: 1KiB, host: on}}}\n";
  const std::string steps = indented_step("on: 0, do: [{send: c, to: 1, bytes: 8B, takes: 1us}]") +
                            indented_step(
                                "on: 1, do: [{host: load, takes: 9us}, {recv: c, from: 0, bytes: "
                                "8B}]");
  const auto verdict = [&](const std::string& at) {
    return explanation_in_contract(
               both(steps, top + "faults: [{rank: 0, dies: killed, at: " + at + "}]\n"))
        .verdict;
  };
  CHECK(verdict("5us") == Verdict::kCompleted);
  CHECK(verdict("1us") == Verdict::kCompleted);  // an event precedes a timer of the same time
  CHECK(verdict("999ns") == Verdict::kStarved);  // the message was still in flight
}

TEST_CASE("a collective during which a member dies never ends", "[scenarios][faults]") {
  const auto found = [](const std::string& at) {
    return explanation_in_contract(
        both(indented_step("all_reduce: g, takes: 10us") + indented_step("synchronize: device"),
             "faults: [{rank: 1, dies: killed, at: " + at + "}]\n"));
  };
  CHECK(found("9999ns").verdict == Verdict::kStarved);
  check_root(found("9999ns"), 1, WaitKind::kDeadRank);
  // The kernel ends at 10 us, and so does rank 1's synchronize.
  CHECK(found("10us").verdict == Verdict::kCompleted);
}

TEST_CASE("a mismatch and a cycle decide before the dead", "[scenarios][faults]") {
  const std::string top = "faults: [{rank: 2, dies: killed, at: 0s}]\n";
  const auto cause = [&](const std::string& zero, const std::string& one) {
    return explanation_in_contract(
               "schema: 1\nranks: 3\ngroups: {p: [0, 1], q: [0, 1], all: "
               "all}\n" +
               top + "programs:\n  - on: 0\n    do: [" + zero + "]\n  - on: 1\n    do: [" + one +
               "]\n  - on: all\n    thread: other\n    do: [{all_reduce: all, takes: 1us}]\n")
        .cause;
  };
  CHECK(cause("{all_reduce: p}", "{all_reduce: p}") == Cause::kDeadRank);
  CHECK(cause("{send: p, to: 1}, {recv: p, from: 1}", "{send: p, to: 0}, {recv: p, from: 0}") ==
        Cause::kCycle);
  CHECK(cause("{all_reduce: p}", "{all_gather: p}") == Cause::kMismatch);
}

TEST_CASE("the error of a device surfaces later, elsewhere", "[scenarios][faults]") {
  // The kernel fails at 5 us. The rank dies at the next host step that uses the device.
  const auto found = [](const std::string& next) {
    return explanation_in_contract(both(indented_step("compute: bad, takes: 5us") +
                                            indented_step(next) + indented_step("all_reduce: g") +
                                            indented_step("host: end"),
                                        "faults: [{rank: 1, fails: illegal address, act: bad}]\n"));
  };
  const Explanation launch = found("host: load, takes: 20us");
  check_deaths(launch, {{1, 20'000, DeathCause::kDeviceError, false}});
  CHECK(launch.deaths[0].in->name == "all_reduce g");
  CHECK(launch.deaths[0].what == "illegal address");
  REQUIRE(launch.device_errors.size() == 1);
  CHECK(launch.device_errors[0].time_ns == 5'000);
  CHECK(launch.device_errors[0].in.name == "bad");
  CHECK(launch.verdict == Verdict::kStarved);
  check_root(launch, 1, WaitKind::kDeadRank);
  const Explanation blocked = found("synchronize: device");
  check_deaths(blocked, {{1, 5'000, DeathCause::kDeviceError, false}});
  CHECK(blocked.deaths[0].in->name == "synchronize device");
  // The host launched all ops before the error, and no later host step uses the device.
  const Explanation unseen = found("host: load");
  CHECK(unseen.deaths.empty());
  CHECK(unseen.verdict == Verdict::kStarved);
}

TEST_CASE("what would not end before its link is down hangs", "[scenarios][faults]") {
  const std::string top =
      "cluster: {hosts: 2, devices: 1, between_hosts: [infiniband]}\n"
      "faults: [{link: infiniband, down: 10us}]\n";
  const auto found = [&](const std::string& steps) {
    return explanation_in_contract(both(steps, top));
  };
  CHECK(found(indented_step("all_reduce: g, takes: 9999ns")).verdict == Verdict::kCompleted);
  const Explanation hangs = found(indented_step("all_reduce: g, takes: 10us"));
  CHECK(hangs.verdict == Verdict::kStarved);
  CHECK(hangs.cause == Cause::kFailedLink);
  REQUIRE(hangs.roots.size() == 2);  // each rank fails to reach the other
  CHECK(hangs.roots[0].first.kind == WaitKind::kFailedLink);
  CHECK(hangs.roots[0].first.link == "infiniband between node0 and node1, which is down");
  CHECK(hangs.deaths.empty());  // neither a retry limit nor a timeout
  const std::string message = indented_step("on: 0, do: [{send: g, to: 1, takes: 10us}]") +
                              indented_step("on: 1, do: [{recv: g, from: 0}]");
  CHECK(found(message).cause == Cause::kFailedLink);
}

TEST_CASE("a link that is slower makes everything over it longer", "[scenarios][faults]") {
  const std::string top =
      "cluster: {hosts: 2, devices: 1, between_hosts: [infiniband]}\n"
      "faults: [{link: infiniband, hosts: [0, 1], slower: 7}]\n";
  CHECK(explanation_in_contract(both(indented_step("all_reduce: g, takes: 10us"), top)).time_ns ==
        70'000);
}

TEST_CASE("a link that is slower between two hosts is as fast as ever between others",
          "[scenarios][faults]") {
  const auto time_ns = [](const std::string& from, const std::string& to) {
    return explanation_in_contract(
               "schema: 1\nranks: 3\ngroups: {g: all}\n"
               "cluster: {hosts: 3, devices: 1, between_hosts: [infiniband]}\n"
               "faults: [{link: infiniband, hosts: [0, 1], slower: 7}]\nprograms:\n  do:\n" +
               indented_step("on: " + from + ", do: [{send: g, to: " + to + ", takes: 10us}]") +
               indented_step("on: " + to + ", do: [{recv: g, from: " + from + "}]"))
        .time_ns;
  };
  CHECK(time_ns("0", "1") == 70'000);
  CHECK(time_ns("1", "0") == 70'000);
  CHECK(time_ns("1", "2") == 10'000);
}

TEST_CASE("after all retries both ends have an error, which is found at the next poll",
          "[scenarios][faults]") {
  // The call starts at 0. Its error is due at 7 us, and the poll at 8 us finds it.
  const Explanation found = explanation_in_contract(
      both(indented_step("all_reduce: g, takes: 1us"),
           "cluster: {hosts: 2, devices: 1, between_hosts: [infiniband]}\nguards: {poll: 4us}\n"
           "faults: [{link: infiniband, down: 0s, retry: 7us}]\n"));
  CHECK(found.cause == Cause::kFailedLink);
  check_deaths(
      found, {{0, 8'000, DeathCause::kLinkError, true}, {1, 8'000, DeathCause::kLinkError, true}});
}

TEST_CASE("the watchdog counts from the launch and looks at its polls", "[scenarios][faults]") {
  // Rank 0 launches at 1 us. Its timeout is due at 11 us, and the poll at 12 us finds it. Rank 1
  // makes no call.
  const std::string steps = indented_step("on: 0, do: [{host: load, takes: 1us}, {all_reduce: g}]");
  const Explanation found =
      explanation_in_contract(both(steps, "guards: {watchdog: 10us, poll: 4us}\n"));
  CHECK(found.verdict == Verdict::kStarved);
  CHECK(found.cause == Cause::kAbsentMember);
  check_deaths(found, {{0, 12'000, DeathCause::kWatchdog, true}});
  CHECK(found.deaths[0].in->name == "all_reduce g");
}

TEST_CASE("a slow rank trips the watchdog of the others", "[scenarios][faults]") {
  const std::string steps =
      indented_step("host: breakpoint, on: 1, takes: 20us") + indented_step("all_reduce: g");
  const auto found = [&](const std::string& watchdog) {
    return explanation_in_contract(both(steps, "guards: {watchdog: " + watchdog + "}\n"));
  };
  const Explanation tripped = found("10us");
  CHECK(tripped.verdict == Verdict::kStarved);
  CHECK(tripped.cause == Cause::kDeadRank);
  // Rank 1 launches at 20 us and waits for rank 0, which is dead; its watchdog ends rank 1 at 30
  // us.
  check_deaths(tripped, {{0, 10'000, DeathCause::kWatchdog, false},
                         {1, 30'000, DeathCause::kWatchdog, true}});
  check_root(tripped, 0, WaitKind::kDeadRank);
  CHECK(found("20us").verdict == Verdict::kCompleted);  // the end is exactly in time
}

TEST_CASE("keys, creations and calls of hosts have the time limit of the store",
          "[scenarios][faults]") {
  const auto found = [](const std::string& steps, const std::string& named = "") {
    return explanation_in_contract(
        both(indented_step("host: start, takes: 1us") + steps,
             "communicators: {creation: first_use, named: {c: {group: g, host: "
             "on, creation: start" +
                 named +
                 "}, d: {group: g}}}\n"
                 "guards: {store: 10us}\n"));
  };
  check_deaths(found(indented_step("get: key, on: 1")), {{1, 11'000, DeathCause::kTimeout, true}});
  check_deaths(found(indented_step("get: key, on: 1, timeout: 3us")),
               {{1, 4'000, DeathCause::kTimeout, true}});
  check_deaths(found(indented_step("all_reduce: d, on: 1")),
               {{1, 11'000, DeathCause::kTimeout, true}});
  check_deaths(found(indented_step("all_reduce: c, on: 1")),
               {{1, 11'000, DeathCause::kWatchdog, true}});
  check_deaths(found(indented_step("all_reduce: c, on: 1"), ", timeout: 2us"),
               {{1, 3'000, DeathCause::kWatchdog, true}});
}

// A first use enqueues nothing, so no watchdog counts. Rank 0 connects pp while rank 1 connects dp.
TEST_CASE("what ends a host that waits for a first use", "[scenarios][faults]") {
  const auto found = [](const std::string& timeouts, const std::string& before) {
    const std::string reduce = "{all_reduce: dp, bytes: 4KiB, takes: 10us}";
    return testing::explanation_of(
        "schema: 1\nranks: 2\ngroups: {pp: all, dp: all}\nguards: {watchdog: 10min, poll: 100ms" +
        timeouts + "}\nprograms:\n  - {on: 0, do: [" + before +
        "{send: pp, to: 1, bytes: 1MiB, takes: 10us}, " + reduce +
        ", {synchronize: device}]}\n  - {on: 1, do: [" + before + reduce +
        ", {synchronize: nccl dp}, {recv: pp, from: 0, bytes: 1MiB}, {synchronize: device}]}\n");
  };
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::string created = "{create: pp}, {create: dp}, ";
  const auto ends = [](std::int64_t at) {
    return std::vector<FaultsOf>{{0, at, DeathCause::kTimeout, true},
                                 {1, at, DeathCause::kTimeout, true}};
  };
  // The communicators are initialized, so the hosts make connections, which nothing ends.
  check_deaths(found(", heartbeat: 480s, store: 30min", created), {});
  // The hosts initialize communicators through the store, so the store's timeout counts.
  check_deaths(found(", heartbeat: 480s, store: 30min", ""), ends(1800 * kSecond));
  check_deaths(found(", heartbeat: 480s", ""), {});
}

// Rank 0 loads a kernel behind a kernel of 1000 s, which also blocks its watchdog.
TEST_CASE("the heartbeat monitor ends a host that loads a kernel", "[scenarios][faults]") {
  const auto found = [](const std::string& step, const std::string& reading = "cold") {
    return testing::explanation_of(
        "schema: 1\nranks: 2\nreading: " + reading +
        "\ngroups: {pp: all}\ncommunicators: {creation: start}\n"
        "guards: {heartbeat: 480s}\nprograms:\n  - {on: 0, do: [{compute: "
        "long, takes: 1000s}, " +
        step + ", {recv: pp, from: 1}]}\n  - {on: 1, do: [{host: a}]}\n");
  };
  constexpr std::int64_t kSecond = 1'000'000'000;
  check_deaths(found("{load: gelu}"), {{0, 960 * kSecond, DeathCause::kTimeout, false}});
  check_deaths(found("{load: gelu}", "real"), {});
  check_deaths(found("{synchronize: device}"), {});
}

TEST_CASE("the launcher ends the ranks of the host, or the job", "[scenarios][faults]") {
  const auto found = [](const std::string& ends) {
    return explanation_in_contract(
        "schema: 1\nranks: 4\ncluster: {hosts: 2, devices: 2}\n"
        "guards: {launcher: 2us, launcher_ends: " +
        ends +
        "}\n"
        "faults: [{rank: 1, dies: killed, at: 3us}]\n"
        "programs:\n  do: [{host: work, takes: 9us}]\n");
  };
  check_deaths(found("host"),
               {{1, 3'000, DeathCause::kAtTime, false}, {0, 5'000, DeathCause::kLauncher, false}});
  CHECK(found("host").verdict == Verdict::kCrashed);
  check_deaths(found("job"), {{1, 3'000, DeathCause::kAtTime, false},
                              {0, 5'000, DeathCause::kLauncher, false},
                              {2, 5'000, DeathCause::kLauncher, false},
                              {3, 5'000, DeathCause::kLauncher, false}});
}

TEST_CASE("who may not read dies, or falls back to something slower", "[scenarios][faults]") {
  const auto found = [](const std::string& call, const std::string& slower = "") {
    return explanation_in_contract(
        "schema: 1\nranks: 4\ngroups: {g: all}\ncluster: {hosts: 2, devices: "
        "2}\n"
        "communicators: {named: {c: {group: g, host: on}}}\n"
        "faults: [{communicator: c, denied: not permitted" +
        slower +
        "}]\n"
        "programs:\n  do: [{" +
        call + "}]\n");
  };
  // In a broadcast, rank 1 reads the root's data on the host that it shares with rank 0; ranks 2
  // and 3 get the data over the network.
  check_deaths(found("broadcast: c, root: 0, takes: 1us"),
               {{1, 1'000, DeathCause::kFatalCall, false}});
  check_deaths(found("reduce: c, root: 0, takes: 1us"),
               {{0, 1'000, DeathCause::kFatalCall, false}});
  CHECK(found("all_reduce: c, takes: 1us").deaths.size() == 4);
  CHECK(found("barrier: c, takes: 1us").verdict == Verdict::kCompleted);
  const Explanation slow = found("broadcast: c, root: 0, takes: 1us", ", slower: 3");
  CHECK(slow.verdict == Verdict::kCompleted);
  CHECK(slow.time_ns == 3'000);
}

TEST_CASE("a rank that cannot reach the others does not arrive", "[scenarios][faults]") {
  const auto found = [](const std::string& interface, const std::string& faults) {
    return explanation_in_contract(
        "schema: 1\nranks: 4\ngroups: {g: all}\n"
        "cluster: {hosts: 2, devices: 2, interfaces: {eth0: ethernet, lo: nowhere}}\n"
        "communicators: {named: {c: {group: g, port: 29500, interface: " +
        interface + "}}}\n" + faults + "programs:\n  do: [{create: c}]\n");
  };
  CHECK(found("eth0", "").verdict == Verdict::kCompleted);
  for (const Explanation& stuck :
       {found("lo", ""), found("eth0", "faults: [{port: 29500, closed_on: 0}]\n")}) {
    CHECK(stuck.verdict == Verdict::kStarved);
    CHECK(stuck.cause == Cause::kFailedLink);
    check_root(stuck, 0, WaitKind::kFailedLink);
    CHECK(stuck.ops_done == 0);
  }
  // Faults of another port number, or of port 29500 on the other host, have no effect.
  CHECK(found("eth0", "faults: [{port: 29501, closed_on: 0}, {port: 29500, closed_on: 1}]\n")
            .verdict == Verdict::kCompleted);
}

TEST_CASE("mistakes in faults and `guards` are reported with their place", "[scenarios][faults]") {
  const auto mistakes = [](const std::string& top) {
    return mistakes_in(both(indented_step("compute: work"), top));
  };
  CHECK(mistakes("faults: [{rank: 5, dies: x, at: 1s}]\n").find("rank") != std::string::npos);
  CHECK(mistakes("faults: [{rank: 0, dies: x}]\n").find("a rank that dies needs a time or an op") !=
        std::string::npos);
  CHECK(mistakes("faults: [{rank: 0, dies: x, act: wrk#1}]\n").find("'work'") != std::string::npos);
  CHECK(mistakes("faults: [{rank: 0, dies: x, act: work#2}]\n").find("there is no #2") !=
        std::string::npos);
  CHECK(mistakes("faults: [{link: infiniband, down: 0s}]\n").find("this fault needs a 'cluster'") !=
        std::string::npos);
  CHECK(mistakes("guards: {watchdog: -1s}\n").find("at least 0") != std::string::npos);
  CHECK(mistakes("faults: [{}]\n").find("a fault needs 'rank', 'link'") != std::string::npos);
}

// Rank 1 dies while its kernel runs, and the ops queued behind that kernel never start.
TEST_CASE("the steps of a run with faults, by time", "[scenarios][faults]") {
  models::TaskGraph graph =
      testing::scenario_of(both(indented_step("host: load, takes: 10us") +
                                    indented_step("compute: k, takes: 20us") +
                                    indented_step("all_reduce: g, stream: compute, takes: 1us"),
                                "faults: [{rank: 1, dies: gone, at: 15us}]\n"))
          .graph;
  graph.nccl_mode = models::NcclMode::kContract;
  models::Diagnostics diagnostics;
  sim::RunOptions options;
  options.keep_op_times = true;
  const auto run = models::simulate(graph, *models::lower(graph, diagnostics), options);
  const std::vector<std::string> expected = {
      "rank 0: load#1 is done", "rank 0: k#1 is launched", "rank 0: all_reduce g#1 is launched",
      "rank 1: load#1 is done", "rank 1: k#1 is launched", "rank 1: all_reduce g#1 is launched",
      "rank 1: dies",           "rank 0: k#1 ends"};
  CHECK(models::describe_run(graph, run, 100) == expected);
  CHECK(models::describe_run(graph, run, 5).empty());
}
