// Integer arithmetic with 128-bit intermediates: with at most 2^20 members, 2^63 bytes, and 2^30
// nanoseconds per second, no product exceeds 2^118.
#include "models/lowering/cost.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "sim/assert.hpp"

namespace pipesim::models {
namespace {

__extension__ using Wide = __int128;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// The cost of an operation, see the table in the header: `hops` latencies, plus `shares` times the
// bytes, divided by `parts`, over the slowest link.
struct Cost {
  bool around = false;  // whether latency and bandwidth are those of the ring's hops only
  std::int64_t hops = 0;
  std::int64_t shares = 0;
  std::int64_t parts = 1;
};

// Returns the binary logarithm of `members`, rounded up.
std::int64_t rounds(std::int64_t members) {
  std::int64_t result = 0;
  while ((std::int64_t{1} << result) < members) ++result;
  return result;
}

// Returns the number of 1 bits in all of 1 ... members - 1.
std::int64_t ones_below(std::int64_t members) {
  std::int64_t sum = 0;
  for (std::int64_t bit = 1; bit < members; bit *= 2) {
    const std::int64_t whole = members / (2 * bit) * bit;
    sum += whole + std::max<std::int64_t>(0, members % (2 * bit) - bit);
  }
  return sum;
}

Cost ring_cost(Operation operation, std::int64_t n) {
  switch (operation) {
    case Operation::kAllReduce:
    case Operation::kBarrier:
      return {true, 2, 2 * (n - 1), n};
    case Operation::kAllGather:
    case Operation::kGather:
      return {true, 1, n - 1, 1};
    case Operation::kReduceScatter:
    case Operation::kScatter:
      return {true, 1, n - 1, n};
    case Operation::kBroadcast:
    case Operation::kReduce:
      return {true, 1, 1, 1};
    default:  // all_to_all
      return {false, n - 1, n - 1, n};
  }
}

Cost tree_cost(Operation operation, std::int64_t n) {
  switch (operation) {
    case Operation::kAllReduce:
    case Operation::kBarrier:
      return {false, 2 * rounds(n), 2, 1};
    case Operation::kAllGather:
    case Operation::kGather:
      return {false, rounds(n), n - 1, 1};
    case Operation::kReduceScatter:
    case Operation::kScatter:
      return {false, rounds(n), n - 1, n};
    case Operation::kBroadcast:
    case Operation::kReduce:
      return {false, rounds(n), 1, 1};
    default:  // all_to_all
      return {false, rounds(n), ones_below(n), n};
  }
}

Cost direct_cost(Operation operation, std::int64_t n) {
  switch (operation) {
    case Operation::kAllReduce:
    case Operation::kBarrier:
      return {false, 2, 2 * (n - 1), n};
    case Operation::kAllGather:
    case Operation::kGather:
    case Operation::kBroadcast:
    case Operation::kReduce:
      return {false, 1, n - 1, 1};
    default:  // reduce_scatter, scatter, all_to_all
      return {false, 1, n - 1, n};
  }
}

Cost cost(Operation operation, Algorithm algorithm, std::int64_t members) {
  switch (algorithm) {
    case Algorithm::kRing:
      return ring_cost(operation, members);
    case Algorithm::kTree:
      return tree_cost(operation, members);
    case Algorithm::kDirect:
      break;
  }
  return direct_cost(operation, members);
}

Wide divided_up(Wide value, Wide divisor) { return (value + divisor - 1) / divisor; }

std::optional<std::int64_t> narrow(Wide value) {
  if (value > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::string no_link(const Cluster& cluster, std::uint32_t a, std::uint32_t b) {
  return "no link connects rank " + std::to_string(a) + " on host '" +
         cluster.host_name(cluster.host_of_rank[a]) + "' and rank " + std::to_string(b) +
         " on host '" + cluster.host_name(cluster.host_of_rank[b]) + "'";
}

// Returns the latency of a collective within one rank.
std::int64_t own_latency(const Cluster& cluster) {
  return cluster.device_link ? cluster.links[*cluster.device_link].latency_ns : 0;
}

// An accumulator over links: the sum of latencies, and the slowest values.
class Links {
 public:
  Links(const Cluster& cluster, const std::vector<std::uint32_t>& over, std::string* why)
      : cluster_(cluster), over_(over), why_(why) {}

  bool add(std::uint32_t a, std::uint32_t b) {
    const std::optional<std::uint32_t> link = cluster_.path(a, b, over_);
    if (!link) {
      if (why_ != nullptr) *why_ = no_link(cluster_, a, b);
      return false;
    }
    const LinkClass& found = cluster_.links[*link];
    sum_ += found.latency_ns;
    fastest_ns_ = std::min(fastest_ns_, found.latency_ns);
    slowest_ns_ = std::max(slowest_ns_, found.latency_ns);
    bytes_per_second_ = std::min(bytes_per_second_, found.bytes_per_second);
    return true;
  }

  Wide around() const { return sum_ - fastest_ns_; }
  std::int64_t slowest_ns() const { return slowest_ns_; }
  std::int64_t bytes_per_second() const { return bytes_per_second_; }

 private:
  const Cluster& cluster_;
  const std::vector<std::uint32_t>& over_;
  std::string* why_;
  Wide sum_ = 0;
  std::int64_t fastest_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t slowest_ns_ = 0;
  std::int64_t bytes_per_second_ = std::numeric_limits<std::int64_t>::max();
};

// Adds one pair of each kind: members of one device, of one host, and of different hosts. The path
// depends only on the kind, and the number of all pairs would be too large.
bool add_pairs(const Cluster& cluster, const std::vector<std::uint32_t>& members, Links& links) {
  std::vector<std::uint32_t> sorted = members;
  std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(cluster.host_of_rank[a], cluster.device_of_rank[a]) <
           std::pair(cluster.host_of_rank[b], cluster.device_of_rank[b]);
  });
  std::array<bool, 3> seen = {};
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const std::uint32_t a = sorted[i - 1];
    const std::uint32_t b = sorted[i];
    const std::size_t sort = cluster.same_device(a, b) ? 0 : cluster.same_host(a, b) ? 1 : 2;
    if (std::exchange(seen[sort], true)) continue;
    if (!links.add(std::min(a, b), std::max(a, b))) return false;
  }
  return true;
}

}  // namespace

std::optional<Route> route(const Cluster& cluster, const std::vector<std::uint32_t>& members,
                           const std::vector<std::uint32_t>& over, std::string* why) {
  Route result;
  result.members = static_cast<std::uint32_t>(members.size());
  if (members.size() <= 1) {
    result.ring_ns = result.any_ns = own_latency(cluster);
    return result;
  }
  Links pairs(cluster, over, why);
  if (!add_pairs(cluster, members, pairs)) return std::nullopt;
  Links ring(cluster, over, why);
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!ring.add(members[i], members[(i + 1) % members.size()])) return std::nullopt;
  }
  // A latency that overflows 64 bits overflows wherever it is used.
  const auto most = std::numeric_limits<std::int64_t>::max();
  result.ring_ns = narrow(ring.around()).value_or(most);
  result.ring_bytes_per_second = ring.bytes_per_second();
  result.any_ns = pairs.slowest_ns();
  result.any_bytes_per_second = pairs.bytes_per_second();
  return result;
}

std::optional<std::int64_t> collective_time(Operation operation, Algorithm algorithm,
                                            std::int64_t bytes, const Route& route) {
  PIPESIM_CHECK(bytes >= 0, {"bytes", bytes});
  PIPESIM_CHECK(is_collective(operation));
  if (route.members <= 1) return route.any_ns;
  const Cost found = cost(operation, algorithm, route.members);
  const Wide latency = Wide{found.hops} * (found.around ? route.ring_ns : route.any_ns);
  const std::int64_t bytes_per_second =
      found.around ? route.ring_bytes_per_second : route.any_bytes_per_second;
  const Wide transfer =
      divided_up(Wide{bytes} * found.shares * kNsPerSecond, Wide{found.parts} * bytes_per_second);
  return narrow(latency + transfer);
}

std::optional<MessageTime> message_time(const Cluster& cluster, std::uint32_t from,
                                        std::uint32_t to, std::int64_t bytes,
                                        const std::vector<std::uint32_t>& over, std::string* why) {
  PIPESIM_CHECK(bytes >= 0, {"bytes", bytes});
  if (from == to && !cluster.device_link) return MessageTime{};
  const std::optional<std::uint32_t> link = cluster.path(from, to, over);
  if (!link) {
    if (why != nullptr) *why = no_link(cluster, from, to);
    return std::nullopt;
  }
  const LinkClass& found = cluster.links[*link];
  const Wide transfer = divided_up(Wide{bytes} * kNsPerSecond, found.bytes_per_second);
  if (!narrow(transfer + found.latency_ns)) {
    if (why != nullptr) *why = "the message takes longer than 292 years";
    return std::nullopt;
  }
  return MessageTime{found.latency_ns, static_cast<std::int64_t>(transfer)};
}

}  // namespace pipesim::models
