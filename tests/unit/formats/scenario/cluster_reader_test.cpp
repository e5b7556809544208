#include "formats/scenario/cluster_reader.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/inline_scenario.hpp"

using namespace pipesim;
using testing::mistakes_in;
using testing::scenario_of;

namespace {

// Returns a job of `ranks` ranks on a cluster; `cluster` is YAML on one line or on several lines.
std::string job(int ranks, const std::string& cluster) {
  return "schema: 1\nranks: " + std::to_string(ranks) + "\ncluster: " + cluster +
         "\nactors: {a: {source: 1}}\n";
}

models::Cluster cluster_of(int ranks, const std::string& cluster) {
  return scenario_of(job(ranks, cluster)).graph.cluster.value();
}

std::string mistake(const std::string& cluster, int ranks = 4) {
  return mistakes_in(job(ranks, cluster));
}

using Indices = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("the short form of a cluster has all links and fills host after host",
          "[formats][cluster_reader]") {
  const models::Cluster cluster = cluster_of(4, "{hosts: 2, devices: 2}");
  CHECK(cluster.hosts == std::vector<std::string>{"node0", "node1"});
  CHECK(cluster.devices == 2);
  CHECK(cluster.host_of_rank == Indices{0, 0, 1, 1});
  CHECK(cluster.device_of_rank == Indices{0, 1, 0, 1});
  CHECK(cluster.links.size() == 6);
  CHECK(cluster.links[cluster.path(0, 1).value()].name == "nvlink");
  CHECK(cluster.links[cluster.path(1, 2).value()].name == "infiniband");
  CHECK(cluster.links[cluster.path(1, 1).value()].name == "device");
  CHECK(cluster.algorithm == models::Algorithm::kRing);
  CHECK(cluster.interfaces.empty());
}

TEST_CASE("a cluster needs nothing said", "[formats][cluster_reader]") {
  const models::Cluster one = cluster_of(3, "{}");
  CHECK(one.hosts == std::vector<std::string>{"node0"});
  CHECK(one.devices == 3);
  // Each host gets an equal share of the devices, rounded up.
  CHECK(cluster_of(5, "{hosts: 2}").host_of_rank == Indices{0, 0, 0, 1, 1});
  CHECK_FALSE(scenario_of(job(3, "~")).graph.cluster.has_value());
}

TEST_CASE("everything of a cluster can be said", "[formats][cluster_reader]") {
  const models::Cluster cluster = cluster_of(4, R"(
  hosts: [left, right]
  devices: 8
  ranks: [right, 0, left, 1]
  links:
    pcie: {latency: 5us, bandwidth: 12GB/s}
    nvlink: {latency: 2us, bandwidth: 300GB/s}
    infiniband: {bandwidth: 200Gb/s}
    ethernet:
  inside_host: [pcie, nvlink]
  between_hosts: ethernet
  algorithm: tree
  interfaces: {eth0: ethernet, ib0: infiniband, lo: nowhere})");
  CHECK(cluster.host_of_rank == Indices{1, 0, 0, 1});
  CHECK(cluster.device_of_rank == Indices{0, 0, 1, 1});
  CHECK(cluster.host_name(cluster.host_of_rank[0]) == "right");
  CHECK_FALSE(cluster.device_link.has_value());
  const models::LinkClass& inside = cluster.links[cluster.path(1, 2).value()];
  CHECK(inside.name == "pcie");
  CHECK(inside.latency_ns == 5'000);
  CHECK(inside.bytes_per_second == 12'000'000'000);
  const models::LinkClass& between = cluster.links[cluster.path(0, 1).value()];
  CHECK(between.name == "ethernet");
  CHECK(between.latency_ns == 30'000);  // the default latency
  CHECK(between.bytes_per_second == 1'200'000'000);
  CHECK(cluster.algorithm == models::Algorithm::kTree);
  REQUIRE(cluster.interfaces.size() == 3);
  CHECK(cluster.interfaces[0].name == "eth0");
  const models::LinkClass& network = cluster.links[cluster.interfaces[1].link.value()];
  CHECK(network.name == "infiniband");
  CHECK(network.latency_ns == 14'000);
  CHECK(network.bytes_per_second == 25'000'000'000);
  CHECK_FALSE(cluster.interfaces[2].link.has_value());
}

TEST_CASE("ranks are dealt out as the cluster says", "[formats][cluster_reader]") {
  CHECK(cluster_of(5, "{hosts: 3, devices: 2, ranks: round robin}").host_of_rank ==
        Indices{0, 1, 2, 0, 1});
  CHECK(cluster_of(5, "{hosts: 3, devices: 8, ranks: 2 per host}").host_of_rank ==
        Indices{0, 0, 1, 1, 2});
  CHECK(cluster_of(4, "{hosts: 4, devices: 8, ranks: ranks / 2 per host}").host_of_rank ==
        Indices{0, 0, 1, 1});
}

TEST_CASE("parameters and choices stand in a cluster as elsewhere", "[formats][cluster_reader]") {
  const std::string text =
      "schema: 1\nranks: 4\n"
      "params:\n"
      "  per_host: 2\n"
      "  speed: 100GB/s\n"
      "  net: {default: infiniband, one_of: [infiniband, ethernet]}\n"
      "cluster:\n"
      "  hosts: 4 / per_host\n"
      "  devices: 4\n"
      "  ranks: {case: per_host, 1: round robin, else: per_host per host}\n"
      "  links: {nvlink: {bandwidth: 2 * speed}, infiniband: {}, ethernet: {}}\n"
      "  between_hosts: [$net]\n"
      "actors: {a: {source: 1}}\n";
  const auto usual = scenario_of(text).graph.cluster.value();
  CHECK(usual.host_of_rank == Indices{0, 0, 1, 1});
  CHECK(usual.links[usual.path(0, 1).value()].bytes_per_second == 200'000'000'000);
  CHECK(usual.links[usual.path(0, 2).value()].name == "infiniband");
  const auto set =
      scenario_of(text, {{"per_host", "1"}, {"net", "ethernet"}, {"speed", "1GB/s"}}).graph.cluster;
  CHECK(set.value().host_of_rank == Indices{0, 1, 2, 3});
  CHECK(set.value().links[set.value().path(0, 1).value()].name == "ethernet");
}

TEST_CASE("ranks that do not fit their hosts are refused", "[formats][cluster_reader]") {
  CHECK(mistake("{hosts: 2, devices: 2}", 5) ==
        "3:10: the cluster holds 4 ranks (2 on each of 2 hosts), but there are 5\n");
  CHECK(mistake("{hosts: 2, devices: 8, ranks: 2 per host}", 5) ==
        "3:40: the cluster holds 4 ranks (2 on each of 2 hosts), but there are 5\n");
  CHECK(mistake("{hosts: 2, devices: 2, ranks: 4 per host}") ==
        "3:40: host 'node0' has 4 ranks, but 2 devices\n");
  CHECK(mistake("{hosts: 2, devices: 1, ranks: round robin}") ==
        "3:40: host 'node0' has 2 ranks, but 1 devices\n");
  CHECK(mistake("{hosts: 2, devices: 2, ranks: [0, 1, 1, 1]}") ==
        "3:40: host 'node1' has 3 ranks, but 2 devices\n");
  CHECK(mistake("{hosts: 2, devices: 2, ranks: [0, 0, 1]}") ==
        "3:40: this list places 3 ranks, but there are 4\n");
  CHECK(mistake("{hosts: 2, devices: 2, ranks: [0, 0, 1, 2]}") ==
        "3:50: there is no host 2: hosts are 0 to 1\n");
  CHECK(mistake("{hosts: [left, right], ranks: [left, lft, right, 1]}") ==
        "3:47: unknown host 'lft'\n  did you mean 'left'?\n");
}

TEST_CASE("where ranks sit is said in one of three ways", "[formats][cluster_reader]") {
  const std::string note =
      "  write '8 per host', 'round robin', or a list: the host of each rank\n";
  CHECK(mistake("{ranks: 4}") ==
        "3:18: 'ranks' of a cluster must say where the ranks are, found '4'\n" + note);
  CHECK(mistake("{ranks: 0 per host}") ==
        "3:18: 'ranks' of a cluster must say where the ranks are, found '0 per host'\n" + note);
  CHECK(mistake("{ranks: {}}") ==
        "3:18: 'ranks' of a cluster must say where the ranks are, found a map\n" + note);
  CHECK(mistake("{ranks: many per host}").substr(0, 34) == "3:18: unknown parameter 'many'\n  k");
}

TEST_CASE("hosts and devices are counted from 1", "[formats][cluster_reader]") {
  CHECK(mistake("{hosts: 0}") == "3:18: 'hosts' must be between 1 and 1048576, found 0\n");
  CHECK(mistake("{hosts: []}") == "3:18: a cluster needs at least one host\n");
  CHECK(mistake("{hosts: [a, b, a]}") == "3:25: duplicate host 'a'\n");
  CHECK(mistake("{devices: 0}") == "3:20: 'devices' must be between 1 and 1048576, found 0\n");
  CHECK(mistake("[a]") == "3:10: 'cluster' must be a map, found a list\n");
}

TEST_CASE("links are of known classes and carry something", "[formats][cluster_reader]") {
  CHECK(mistake("{links: {nvlnk: {}}}") ==
        "3:19: unknown key 'nvlnk' in 'links'\n  did you mean 'nvlink'?\n");
  CHECK(mistake("{links: {nvlink: {bandwith: 1GB/s}}}") ==
        "3:28: unknown key 'bandwith' in a link class\n  did you mean 'bandwidth'?\n");
  CHECK(mistake("{links: {nvlink: {bandwidth: 0GB/s}}}") ==
        "3:39: 'bandwidth' must be at least 1B/s, found '0GB/s'\n");
  CHECK(mistake("{links: {nvlink: {bandwidth: 300}}}") ==
        "3:39: expected a bandwidth, found '300'\n"
        "  a bandwidth needs a unit: GB/s, MB/s, GiB/s, MiB/s or Gb/s\n");
  CHECK(mistake("{links: {nvlink: {bandwidth: 300GB}}}") ==
        "3:39: expected a bandwidth, found '300GB'\n"
        "  a bandwidth is a size per second: 300GB/s\n");
  CHECK(mistake("{links: {nvlink: {latency: 2}}}") ==
        "3:37: expected a time, found '2'\n  a time needs a unit: ns, us, ms, s or min\n");
  CHECK(mistake("{links: {nvlink: {latency: -2us}}}") ==
        "3:37: 'latency' must be at least 0s, found '-2us'\n");
}

TEST_CASE("what is used is among the links", "[formats][cluster_reader]") {
  CHECK(mistake("{links: {nvlink: {}}, inside_host: [pcie]}") ==
        "3:46: 'pcie' is not among the links of the cluster\n"
        "  write 'pcie: {}' there for the usual figures\n");
  CHECK(mistake("{inside_host: [nvlinks]}").substr(0, 64) ==
        "3:25: unknown link class 'nvlinks'\n  did you mean 'nvlink'?\n");
  CHECK(mistake("{inside_host: [device]}") == "3:25: 'device' only connects ranks of one device\n");
  CHECK(mistake("{inside_host: [pcie, pcie]}") == "3:31: duplicate link class 'pcie'\n");
  CHECK(mistake("{links: {infiniband: {}}}") ==
        "3:10: no link connects ranks of one host: 'inside_host' has none\n");
  CHECK(mistake("{hosts: 4, links: {nvlink: {}}}") ==
        "3:10: no link connects ranks of different hosts: 'between_hosts' has none\n");
  CHECK(mistake("{algorithm: star}") == "3:22: expected one of ring, tree, direct, found 'star'\n");
  CHECK(mistake("{interfaces: {eth0: ethernt}}").substr(0, 66) ==
        "3:30: unknown link class 'ethernt'\n  did you mean 'ethernet'?\n");
}

TEST_CASE("all mistakes of a cluster are reported at once", "[formats][cluster_reader]") {
  CHECK(mistake("{host: 2, devices: 0, links: {tcp: {}}, algorithm: rings}") ==
        "3:11: unknown key 'host' in 'cluster'\n  did you mean 'hosts'?\n"
        "3:29: 'devices' must be between 1 and 1048576, found 0\n"
        "3:40: unknown key 'tcp' in 'links'\n"
        "  known here: device, nvlink, pcie, shared_memory, infiniband, ethernet\n"
        "3:61: expected one of ring, tree, direct, found 'rings'\n  did you mean 'ring'?\n");
}
