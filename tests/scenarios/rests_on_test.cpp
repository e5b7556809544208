// A verdict names the unmeasured rules that decide it (docs/explanation/models-nccl.md).
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"
#include "tests/support/rank_programs.hpp"
#include "tests/support/scenario.hpp"

#include "features/check/nccl_modes.hpp"

using namespace pipesim;
using testing::connect;
using testing::group;
using testing::joined;
using testing::recv;
using testing::reduce;
using testing::scenario;
using testing::send;

TEST_CASE("a hang of first sends that cross rests on a rule", "[scenarios][cases]") {
  const auto crosses = [](const std::string& group, const char* mode) {
    std::vector<std::string> programs = {joined({send(1), recv(1)}), joined({send(0), recv(0)}),
                                         ""};
    return testing::explanation_of(
               scenario(programs, "pp: " + group, "communicators: {creation: start}\n"),
               {{"reading", mode}})
        .crossing_first_sends;
  };
  CHECK(crosses("[0, 1]", "cold"));
  CHECK_FALSE(crosses("all", "cold"));         // setup data is mixed up only between two ranks
  CHECK_FALSE(crosses("[0, 1]", "contract"));  // the sends wait for their recvs
}

TEST_CASE("a hang of registered sends rests on a rule", "[scenarios][cases]") {
  const auto registered = [](const std::string& bytes, const char* mode) {
    std::vector<std::string> programs;
    for (int rank = 0; rank < 2; ++rank) {
      const std::string peer = std::to_string(1 - rank);
      programs.push_back(joined(
          {connect(1 - rank), "{send: pp, to: " + peer + ", bytes: " + bytes + ", registered: on}",
           recv(1 - rank, "pp", bytes)}));
    }
    return testing::explanation_of(scenario(programs, "pp: all"), {{"reading", mode}})
        .registered_send;
  };
  CHECK(registered("4KiB", "real"));
  CHECK_FALSE(registered("65MiB", "real"));  // the sends wait for their recvs, registered or not
  CHECK_FALSE(registered("4KiB", "contract"));
}

TEST_CASE("a hang of ranks that destroy communicators rests on a rule", "[scenarios][cases]") {
  const auto rests = [](const std::string& first, const std::string& second) {
    return testing::explanation_of(
               scenario({joined({first, second}), joined({second, first})}, "x: all, y: all"))
        .destroys;
  };
  CHECK(rests("{destroy: x}", "{destroy: y}"));
  CHECK_FALSE(rests("{destroy: x}", "{host: leaves}"));  // completes
  CHECK_FALSE(rests("{split: x}", "{split: y}"));        // hangs, as the manual states
}

TEST_CASE("what runs by buffers between hosts rests on a rule", "[scenarios][cases]") {
  const auto rests = [](const std::string& bytes, const std::string& hosts) {
    std::vector<std::string> programs;
    for (int rank = 0; rank < 2; ++rank) {
      programs.push_back(
          joined({connect(1 - rank), send(1 - rank, "pp", bytes), recv(1 - rank, "pp", bytes)}));
    }
    return models::check_nccl_modes(
               testing::scenario_of(
                   scenario(programs, "pp: all", "cluster: {hosts: " + hosts + "}\n"))
                   .graph,
               {})
        .by_network;
  };
  CHECK(rests("1MiB", "2"));
  CHECK_FALSE(rests("1MiB", "1"));
  CHECK_FALSE(rests("65MiB", "2"));  // hangs under either rule
}

TEST_CASE("cases A4: a proof rests on sizes that connect once", "[scenarios][cases]") {
  // The ranks connect two communicators in one order and use them in opposite orders, which
  // completes if there are kernel slots for both calls. If NCCL uses another algorithm for large
  // calls, the hosts connect again, each on a different communicator.
  const auto report = [](const std::string& bytes, bool one_order) {
    const auto call = [](const std::string& on, const std::string& size) {
      return "{all_reduce: " + on + ", bytes: " + size + ", name: " + size + " " + on + "}";
    };
    const std::string warm =
        joined({call("x", "4KiB"), call("y", "4KiB"), "{synchronize: device}"});
    const std::string xy = joined({warm, call("x", bytes), call("y", bytes)});
    const std::string yx = joined({warm, call("y", bytes), call("x", bytes)});
    return models::check_nccl_modes(
        testing::scenario_of(
            scenario({xy, one_order ? xy : yx}, "x: all, y: all", "device: {resident: 2}\n"))
            .graph,
        {});
  };
  const models::NcclModesReport large = report("64MiB", false);
  CHECK(large.answer == models::JobAnswer::kProved);
  REQUIRE(large.by_size);
  CHECK(large.by_size->op == "64MiB x");
  CHECK(large.by_size->rank == 0);
  CHECK(large.by_size->bytes == 64 << 20);
  CHECK(large.by_size->before == 4 << 10);
  CHECK_FALSE(report("64MiB", true).by_size);
  CHECK_FALSE(report("4KiB", false).by_size);
}

TEST_CASE("cases A4: a barrier is an all_reduce of one element", "[scenarios][cases]") {
  // Rank 0's host continues to its send, for which rank 1 waits before it reaches the all_reduce.
  const auto rests = [&](const std::string& size) {
    const std::string call = "{all_reduce: x" + size + "}";
    const models::NcclModesReport report = models::check_nccl_modes(
        testing::scenario_of(
            scenario(
                {joined({"{barrier: x}", connect(1), call, send(1)}),
                 joined({"{barrier: x}", connect(0), recv(0), "{synchronize: nccl pp}", call})},
                "g: all, pp: all", "communicators: {named: {x: {group: g}}}\n"))
            .graph,
        {});
    REQUIRE(report.answer == models::JobAnswer::kProved);
    return report.by_size.has_value();
  };
  CHECK(rests(", bytes: 64MiB"));
  CHECK_FALSE(rests(""));
}

TEST_CASE("a proof rests on collectives of no bytes", "[scenarios][cases]") {
  const auto rests = [](const std::string& zero, const std::string& one) {
    const models::NcclModesReport report =
        models::check_nccl_modes(testing::scenario_of(scenario({zero, one}, "w: all")).graph, {});
    REQUIRE(report.answer == models::JobAnswer::kProved);
    return report.by_empty_calls;
  };
  const std::string empty = "{all_reduce: w, bytes: 0B}";
  CHECK(rests(empty, ""));
  CHECK(rests(group(joined({empty, send(1, "w")})), recv(0, "w")));
  CHECK_FALSE(rests(empty, empty));  // the calls match under either rule
  CHECK_FALSE(rests(reduce("w"), reduce("w")));
}

TEST_CASE("a proof rests on records that hold no queue", "[scenarios][cases]") {
  const auto rests = [](const std::string& between, const std::string& queues) {
    const std::string text =
        scenario({"{recv: down, from: 1}, " + between +
                      "{compute: makes, stream: k}, {send: up, to: 1, behind: k}",
                  "{recv: up, from: 0}, {send: down, to: 0, behind: nccl up}"},
                 "up: all, down: all", "device: {hardware_queues: " + queues + "}\n");
    models::TaskGraph graph = testing::scenario_of(text).graph;
    graph.nccl_mode = models::NcclMode::kContract;
    models::Diagnostics diagnostics;
    auto lowered = models::lower(graph, diagnostics);
    const models::CheckReport report = models::check(graph, std::move(*lowered), {});
    CHECK(report.exploration.answer == sim::Answer::kProved);
    return report.exploration.rests_on.records;
  };
  const std::string record = "{record: received, stream: nccl down}, ";
  CHECK(rests(record, "1"));
  CHECK(rests(record, "2"));  // depends on whether two of the three streams share a queue
  CHECK_FALSE(rests("", "1"));
  CHECK_FALSE(rests(record, "0"));
  // A record on the kernel's own stream does not wait.
  CHECK_FALSE(rests("{record: before, stream: k}, ", "1"));
}

TEST_CASE("a proof rests on initializations that wait for no kernels", "[scenarios][cases]") {
  // Rank 0's device runs a recv before the first use of dp. If rank 1 sends before it uses dp, no
  // kernel runs during this first use.
  const auto rests = [](const std::string& one, const std::string& init) {
    const models::NcclModesReport report = models::check_nccl_modes(
        testing::scenario_of(
            scenario({joined({connect(1), recv(1), reduce("dp")}), joined({connect(0), one})},
                     "pp: all, dp: all", init))
            .graph,
        {});
    REQUIRE(report.answer == models::JobAnswer::kProved);
    return report.by_init;
  };
  CHECK(rests(joined({reduce("dp"), send(0)}), ""));
  CHECK_FALSE(rests(joined({send(0), reduce("dp")}), ""));
  CHECK_FALSE(rests(joined({reduce("dp"), send(0)}), "communicators: {creation: start}\n"));
}
