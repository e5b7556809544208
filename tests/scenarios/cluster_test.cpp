// Times of calls that state their size but no duration, from the YAML to the end of the run. The
// expected times are worked out by hand from docs/explanation/models-collectives.md.
#include <string>

#include "models/result/explanation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using testing::explanation_in_contract;
using testing::mistakes_in;

namespace {

// Four ranks on two hosts. Within a host, links have 2 us and 100 bytes per ns; between hosts, 10
// us and 10 bytes per ns. 8 MB take 80 us or 800 us. The ring of all ranks has hops of 2 + 10 + 2 +
// 10 us; without one hop of 2 us, R = 22 us.
const std::string kHead =
    "schema: 1\n"
    "ranks: 4\n"
    "groups: {all4: all, pairs: {size: 2}, across: {size: 2, stride: 2}}\n";
const std::string kCluster =
    "cluster:\n"
    "  hosts: 2\n"
    "  devices: 2\n"
    "  links:\n"
    "    nvlink: {latency: 2us, bandwidth: 100GB/s}\n"
    "    infiniband: {latency: 10us, bandwidth: 10GB/s}\n";

std::string program(const std::string& step) { return "programs: {do: [" + step + "]}\n"; }

// Returns how long the step takes if all ranks run it, in microseconds.
std::int64_t us(const std::string& step, const std::string& top = {}) {
  const models::Explanation found = explanation_in_contract(kHead + kCluster + top + program(step));
  CHECK(found.verdict == sim::Verdict::kCompleted);
  CHECK(found.time_ns % 1000 == 0);
  return found.time_ns / 1000;
}

}  // namespace

TEST_CASE("a collective call takes what its bytes need on the cluster", "[scenarios][cluster]") {
  CHECK(us("{all_reduce: all4, bytes: 8MB}") == 44 + 1200);  // 2R, 6/4 of 800 us
  CHECK(us("{broadcast: all4, root: 1, bytes: 8MB}") == 22 + 800);
  CHECK(us("{barrier: ring}", "communicators: {named: {ring: {group: all4}}}\n") == 44);
  CHECK(us("{group: [{all_gather: pairs, bytes: 8MB}]}") == 2 + 80);
}

TEST_CASE("each list of a group has its own links", "[scenarios][cluster]") {
  CHECK(us("{all_reduce: pairs, bytes: 8MB}") == 4 + 80);
  CHECK(us("{all_reduce: across, bytes: 8MB}") == 20 + 800);
  // Ranks 0 and 1 are on one host, 2 and 3 on different hosts: the second list is slower.
  const std::string placed =
      "cluster: {hosts: 3, ranks: [0, 0, 1, 2], links: {nvlink: {latency: "
      "2us}, infiniband: {latency: 10us, bandwidth: 10GB/s}}, devices: 2}\n";
  const models::Explanation found =
      explanation_in_contract(kHead + placed + program("{all_reduce: pairs, bytes: 8MB}"));
  CHECK(found.time_ns == 820'000);
}

TEST_CASE("what is said to take a time takes it", "[scenarios][cluster]") {
  CHECK(us("{all_reduce: all4, bytes: 8MB, takes: 5us}") == 5);
  CHECK(us("{all_reduce: all4, bytes: 8MB, takes: 0}") == 0);
  CHECK(us("{all_reduce: all4}") == 0);  // a call without a size takes no time
}

TEST_CASE("without a cluster bytes take no time", "[scenarios][cluster]") {
  CHECK(explanation_in_contract(kHead + program("{all_reduce: all4, bytes: 8MB}")).time_ns == 0);
}

TEST_CASE("the algorithm is the call's, or the communicator's, or the cluster's",
          "[scenarios][cluster]") {
  const std::string named = "communicators: {named: {c: {group: all4, algorithm: tree}}}\n";
  CHECK(us("{all_reduce: c, bytes: 8MB}", named) == 40 + 1600);  // 2 lg 4 of 10 us, twice 800 us
  CHECK(us("{all_reduce: c, bytes: 8MB, algorithm: direct}", named) == 20 + 1200);
  CHECK(us("{all_reduce: all4, bytes: 8MB}", "  algorithm: direct\n") == 20 + 1200);
}

TEST_CASE("the collective of an actor takes what its bytes need", "[scenarios][cluster]") {
  const auto time = [](const std::string& collective, const std::string& more = {}) {
    return explanation_in_contract(kHead + kCluster + "actors: {a: {source: 1, collective: {" +
                                   collective + "}" + more + "}}\n")
        .time_ns;
  };
  CHECK(time("all_gather: all4, bytes: 8MB") == 22'000 + 2'400'000);  // R, 3 * 800 us
  CHECK(time("all_gather: all4, bytes: 8MB, algorithm: tree") == 20'000 + 2'400'000);
  CHECK(time("all_gather: all4, bytes: 8MB", ", takes: 7us") == 7'000);
  CHECK(time("barrier: all4") == 44'000);
  CHECK(time("all_gather: all4") == 0);
}

TEST_CASE("a message takes latency and transfer, eager or not", "[scenarios][cluster]") {
  const auto step = [](const std::string& to) {
    return "{on: 0, do: [{send: all4, to: " + to + ", bytes: 8MB}]}, {on: " + to +
           ", do: [{recv: all4, from: 0, bytes: 8MB}]}";
  };
  const std::string eager =
      "communicators: {named: {c: {group: all4, eager: 1GB, host: on, over: [nvlink, "
      "infiniband]}}}\n";
  CHECK(us(step("1")) == 2 + 80);
  CHECK(us(step("3")) == 10 + 800);
  // Sending takes 800 us, the latency 10 us.
  CHECK(us("{on: 0, do: [{send: c, to: 2, bytes: 8MB}]}, {on: 2, do: [{recv: c, from: 0, bytes: "
           "8MB}]}",
           eager) == 810);
  // A late recv takes only the latency.
  CHECK(us("{on: 0, do: [{send: c, to: 2, bytes: 8MB}]}, {on: 2, do: [{host: late, takes: 1ms}, "
           "{recv: c, from: 0, bytes: 8MB}]}",
           eager) == 1010);
}

TEST_CASE("hosts talk over what their communicator says, or in no time", "[scenarios][cluster]") {
  CHECK(us("{barrier: all4}") == 0);  // a barrier of the hosts
  CHECK(us("{all_reduce: gloo, bytes: 8MB}",
           "communicators: {named: {gloo: {group: across, host: on}}}\n") == 0);
  CHECK(us("{all_reduce: gloo, bytes: 8MB}",
           "communicators: {named: {gloo: {group: across, host: on, over: [infiniband]}}}\n") ==
        20 + 800);
}

TEST_CASE("what no link can carry is reported at the call", "[scenarios][cluster]") {
  CHECK(mistakes_in(kHead + kCluster +
                    "communicators: {named: {c: {group: all4, over: [infiniband]}}}\n" +
                    "programs:\n  do:\n    - {all_reduce: c, bytes: 1MB}\n") ==
        "13:7: the time of 'all_reduce c': no link connects rank 0 on host 'node0' and rank 1 on "
        "host "
        "'node0'\n");
  CHECK(mistakes_in(kHead + kCluster +
                    "actors: {a: {source: 1, collective: {all_gather: all4, bytes: -1MB}}}\n") ==
        "10:37: the time of 'a': the size is -1000000 bytes\n");
  CHECK(mistakes_in(kHead + kCluster + "communicators: {named: {c: {group: all4, over: pcie}}}\n" +
                    "actors: {a: {source: 1}}\n") ==
        "10:48: 'pcie' is not among the links of the cluster\n"
        "  write 'pcie: {}' there for the usual figures\n");
}

TEST_CASE("algorithm and links of a communicator mean nothing without a cluster",
          "[scenarios][cluster]") {
  const std::string named =
      "communicators: {named: {c: {group: all4, algorithm: tree, over: [ethernet]}}}\n";
  CHECK(explanation_in_contract(kHead + named + program("{all_reduce: c, bytes: 8MB}")).time_ns ==
        0);
}
