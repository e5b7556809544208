// Times of calls, each worked out by hand from the formulas in models/lowering/cost.hpp.
#include "models/lowering/cost.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "models/graph/cluster.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim::models;

namespace {

constexpr std::int64_t kUs = 1'000;

// Returns two hosts of four devices. NVLink has 2 us and 100 bytes per ns; InfiniBand has 10 us and
// 10 bytes per ns.
Cluster two_by_four() {
  Cluster cluster;
  cluster.hosts = {"a", "b"};
  cluster.devices = 4;
  cluster.host_of_rank = {0, 0, 0, 0, 1, 1, 1, 1};
  cluster.device_of_rank = {0, 1, 2, 3, 0, 1, 2, 3};
  cluster.links = {{"nvlink", 2 * kUs, 100'000'000'000},
                   {"infiniband", 10 * kUs, 10'000'000'000},
                   {"ethernet", 50 * kUs, 1'000'000'000},
                   {"device", 1 * kUs, 1'000'000'000'000}};
  cluster.inside_host = {0};
  cluster.between_hosts = {1, 2};
  return cluster;
}

// Returns ranks 0 to count - 1 on one host, with one kind of link.
Cluster one_host(std::uint32_t count, std::int64_t latency_ns, std::int64_t bytes_per_second) {
  Cluster cluster;
  cluster.hosts = {"a"};
  cluster.devices = count;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    cluster.host_of_rank.push_back(0);
    cluster.device_of_rank.push_back(rank);
  }
  cluster.links = {{"pcie", latency_ns, bytes_per_second}};
  cluster.inside_host = {0};
  return cluster;
}

std::vector<std::uint32_t> first_ranks(std::uint32_t count) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < count; ++rank) ranks.push_back(rank);
  return ranks;
}

std::int64_t time_of(const Cluster& cluster, const std::vector<std::uint32_t>& members,
                     const std::string& operation, Algorithm algorithm, std::int64_t bytes) {
  const auto links = route(cluster, members);
  REQUIRE(links.has_value());
  return collective_time(find_operation(operation).value(), algorithm, bytes, *links).value();
}

}  // namespace

TEST_CASE("ranks talk over the first link that joins them", "[models][cost]") {
  Cluster cluster = two_by_four();
  CHECK(cluster.path(0, 3) == 0U);
  CHECK(cluster.path(4, 7) == 0U);
  CHECK(cluster.path(3, 4) == 1U);
  CHECK(cluster.path(4, 3) == 1U);
  CHECK(cluster.path(0, 4, {0, 2}) == 2U);  // links 0 and 2, without InfiniBand
  CHECK_FALSE(cluster.path(0, 4, {0}).has_value());
  CHECK_FALSE(cluster.path(0, 0, {2}).has_value());
  cluster.device_link = 3;
  CHECK(cluster.path(0, 0) == 3U);
  CHECK(cluster.path(0, 0, {2}) == 3U);
  cluster.device_of_rank[1] = 0;  // two ranks on one device
  CHECK(cluster.path(0, 1) == 3U);
  CHECK(cluster.path(0, 2) == 0U);
}

TEST_CASE("a collective over two hosts costs what its formula says", "[models][cost]") {
  // The ring of ranks 0 to 7 has six hops of 2 us and two of 10 us; without the fastest hop, R = 30
  // us. Between any two members, the latency is at most 10 us and the bandwidth at least 10 bytes
  // per ns, so 8 MB take S = 800 us.
  const Cluster cluster = two_by_four();
  const auto us = [&](const std::string& operation, Algorithm algorithm) {
    return time_of(cluster, first_ranks(8), operation, algorithm, 8'000'000) / kUs;
  };
  CHECK(us("all_reduce", Algorithm::kRing) == 60 + 1400);  // 2R + 14/8 S
  CHECK(us("all_gather", Algorithm::kRing) == 30 + 5600);  // R + 7 S
  CHECK(us("reduce_scatter", Algorithm::kRing) == 30 + 700);
  CHECK(us("broadcast", Algorithm::kRing) == 30 + 800);
  CHECK(us("reduce", Algorithm::kRing) == 30 + 800);
  CHECK(us("gather", Algorithm::kRing) == 30 + 5600);
  CHECK(us("scatter", Algorithm::kRing) == 30 + 700);
  CHECK(us("all_to_all", Algorithm::kRing) == 70 + 700);  // seven exchanges of S/8
  // A tree has lg 8 = 3 steps of 10 us.
  CHECK(us("all_reduce", Algorithm::kTree) == 60 + 1600);
  CHECK(us("all_gather", Algorithm::kTree) == 30 + 5600);
  CHECK(us("reduce_scatter", Algorithm::kTree) == 30 + 700);
  CHECK(us("broadcast", Algorithm::kTree) == 30 + 800);
  CHECK(us("reduce", Algorithm::kTree) == 30 + 800);
  CHECK(us("gather", Algorithm::kTree) == 30 + 5600);
  CHECK(us("scatter", Algorithm::kTree) == 30 + 700);
  CHECK(us("all_to_all", Algorithm::kTree) == 30 + 1200);  // three steps of half of S
  // The direct algorithm has one step of 10 us.
  CHECK(us("all_reduce", Algorithm::kDirect) == 20 + 1400);  // two steps
  CHECK(us("all_gather", Algorithm::kDirect) == 10 + 5600);
  CHECK(us("reduce_scatter", Algorithm::kDirect) == 10 + 700);
  CHECK(us("broadcast", Algorithm::kDirect) == 10 + 5600);  // the root sends S seven times
  CHECK(us("reduce", Algorithm::kDirect) == 10 + 5600);
  CHECK(us("gather", Algorithm::kDirect) == 10 + 5600);
  CHECK(us("scatter", Algorithm::kDirect) == 10 + 700);
  CHECK(us("all_to_all", Algorithm::kDirect) == 10 + 700);
}

TEST_CASE("a barrier is an all_reduce of nothing", "[models][cost]") {
  const Cluster cluster = two_by_four();
  CHECK(time_of(cluster, first_ranks(8), "barrier", Algorithm::kRing, 0) == 60 * kUs);
  CHECK(time_of(cluster, first_ranks(8), "barrier", Algorithm::kTree, 0) == 60 * kUs);
  CHECK(time_of(cluster, first_ranks(8), "barrier", Algorithm::kDirect, 0) == 20 * kUs);
}

TEST_CASE("the ring follows the order of the members", "[models][cost]") {
  const Cluster cluster = two_by_four();
  const auto broadcast = [&](const std::vector<std::uint32_t>& members) {
    return time_of(cluster, members, "broadcast", Algorithm::kRing, 0) / kUs;
  };
  CHECK(broadcast({0, 1, 2, 3}) == 6);   // one host: three hops of 2 us
  CHECK(broadcast({0, 1, 4, 5}) == 22);  // 2 + 10 + 2 + 10, without one hop of 2
  CHECK(broadcast({0, 4, 1, 5}) == 30);  // 10 + 10 + 10 + 10, without one hop of 10
  CHECK(broadcast({3, 4}) == 10);
}

TEST_CASE("a collective inside one host does not see the network", "[models][cost]") {
  // The ring takes 2 * 3 hops of 2 us, and 2 * 3/4 of 8 MB at 100 bytes per ns.
  CHECK(time_of(two_by_four(), {0, 1, 2, 3}, "all_reduce", Algorithm::kRing, 8'000'000) ==
        12 * kUs + 120 * kUs);
}

TEST_CASE("a time is rounded up, and once", "[models][cost]") {
  // The ring moves 2 * 2/3 of 10 bytes at 7 bytes per second: 40/21 s = 1.904761904(76...) s.
  CHECK(time_of(one_host(3, 0, 7), first_ranks(3), "all_reduce", Algorithm::kRing, 10) ==
        1'904'761'905);
  // The exact time is a thousandth of a nanosecond, which is rounded up.
  CHECK(time_of(one_host(2, 0, 1'000'000'000'000), first_ranks(2), "broadcast", Algorithm::kTree,
                1) == 1);
  // An integral time is not rounded: 1000 bytes at 1000 bytes per ns.
  CHECK(time_of(one_host(2, 5, 1'000'000'000'000), first_ranks(2), "broadcast", Algorithm::kTree,
                1000) == 6);
}

TEST_CASE("any number of members will do", "[models][cost]") {
  // Five ranks need three steps. Bruck's algorithm sends blocks 1, 2, 3 and 4 of a byte 1 + 1 + 2 +
  // 1 times, at a byte per ns.
  const Cluster five = one_host(5, 100, 1'000'000'000);
  CHECK(time_of(five, first_ranks(5), "all_to_all", Algorithm::kTree, 5) == 300 + 5);
  CHECK(time_of(five, first_ranks(5), "all_gather", Algorithm::kTree, 1) == 300 + 4);
  const Cluster many = one_host(70, 0, 1'000'000'000);
  std::int64_t ones = 0;
  for (std::uint32_t n = 2; n <= 70; ++n) {
    for (std::uint32_t rest = n - 1; rest > 0; rest /= 2) ones += rest % 2;
    INFO(n << " members");
    CHECK(time_of(many, first_ranks(n), "all_to_all", Algorithm::kTree, n) == ones);
  }
}

TEST_CASE("two members need one hop and one exchange", "[models][cost]") {
  const Cluster pair = one_host(2, 100, 1'000'000'000);
  CHECK(time_of(pair, {0, 1}, "all_reduce", Algorithm::kRing, 50) == 200 + 50);
  CHECK(time_of(pair, {0, 1}, "all_gather", Algorithm::kRing, 50) == 100 + 50);
  CHECK(time_of(pair, {0, 1}, "reduce_scatter", Algorithm::kRing, 50) == 100 + 25);
}

TEST_CASE("one member has no one to talk to", "[models][cost]") {
  Cluster cluster = two_by_four();
  CHECK(time_of(cluster, {3}, "all_reduce", Algorithm::kRing, 8'000'000) == 0);
  cluster.device_link = 3;  // a copy within the device takes this latency
  CHECK(time_of(cluster, {3}, "all_reduce", Algorithm::kRing, 8'000'000) == 1 * kUs);
}

TEST_CASE("a message takes latency and transfer", "[models][cost]") {
  Cluster cluster = two_by_four();
  const auto inside = message_time(cluster, 0, 1, 1001);
  REQUIRE(inside.has_value());
  CHECK(inside->latency_ns == 2 * kUs);
  CHECK(inside->transfer_ns == 11);  // 10.01 ns
  const auto between = message_time(cluster, 0, 7, 1001, {2});
  REQUIRE(between.has_value());
  CHECK(between->latency_ns == 50 * kUs);
  CHECK(between->transfer_ns == 1001);
  const auto own = message_time(cluster, 2, 2, 1001);
  REQUIRE(own.has_value());
  CHECK(own->latency_ns + own->transfer_ns == 0);
  cluster.device_link = 3;
  CHECK(message_time(cluster, 2, 2, 1001)->transfer_ns == 2);  // 1.001 ns
}

TEST_CASE("where no link is there or a time is too long, nothing comes out", "[models][cost]") {
  const Cluster cluster = two_by_four();
  std::string why;
  CHECK_FALSE(route(cluster, {0, 1, 6}, {0}, &why).has_value());
  CHECK(why == "no link connects rank 1 on host 'a' and rank 6 on host 'b'");
  CHECK_FALSE(message_time(cluster, 0, 4, 1, {0}, &why).has_value());
  CHECK(why == "no link connects rank 0 on host 'a' and rank 4 on host 'b'");
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const Cluster slow = one_host(2, 0, 1);
  const auto links = route(slow, {0, 1});
  CHECK_FALSE(collective_time(Operation::kBroadcast, Algorithm::kRing, kMax, *links).has_value());
  CHECK_FALSE(message_time(slow, 0, 1, kMax, {}, &why).has_value());
  CHECK(why == "the message takes longer than 292 years");
  // The intermediate product of bytes, a million ranks and a fast link must not overflow.
  const Cluster fast = one_host(1 << 20, 0, kMax);
  const auto wide = route(fast, first_ranks(1 << 20));
  CHECK(collective_time(Operation::kBroadcast, Algorithm::kRing, kMax, *wide) == 1'000'000'000);
  // An all-gather moves 2^20 - 1 times the bytes, which takes (2^20 - 1) s.
  CHECK(collective_time(Operation::kAllGather, Algorithm::kRing, kMax, *wide) ==
        1'048'575'000'000'000);
}

TEST_CASE("algorithms have names", "[models][cost]") {
  CHECK(find_algorithm("tree") == Algorithm::kTree);
  CHECK_FALSE(find_algorithm("star").has_value());
}
