// Times compared with formulas from the literature, worked out by hand, and with a recursion over
// steps. The recursion shares only the file with the code under test.
#include "models/algorithm/algorithm_timing.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "formats/algorithm/algorithm_file.hpp"
#include "models/lowering/cost.hpp"
#include "tests/support/algorithms.hpp"
#include "tests/support/catch.hpp"

using namespace pipesim;
using models::AlgoTiming;
using models::CollectiveAlgorithm;
using models::Operation;
using testing::XmlAlgorithm;
using testing::XmlBlock;

namespace {

constexpr std::int64_t kLatency = 1000;  // ns; a link transfers one byte per ns
constexpr std::int64_t kTwo = 2;

CollectiveAlgorithm read(const XmlAlgorithm& algorithm) {
  models::Diagnostics diagnostics;
  auto read = formats::read_algorithm(testing::xml_text(algorithm), diagnostics);
  REQUIRE(read);
  return *read;
}

// Returns a cluster with all ranks on one host and one class of links; work on a rank takes no
// time.
models::Cluster one_host(std::size_t ranks) {
  models::Cluster cluster;
  cluster.hosts = {"node0"};
  cluster.devices = static_cast<std::uint32_t>(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    cluster.host_of_rank.push_back(0);
    cluster.device_of_rank.push_back(rank);
  }
  cluster.links = {{"nvlink", kLatency, 1'000'000'000}};
  cluster.inside_host = {0};
  return cluster;
}

// Checks that the path has no gaps, starts at 0 and ends with the run.
void check_path(const AlgoTiming& timing) {
  std::int64_t at = 0;
  for (const models::AlgoPathPart& part : timing.path) {
    CHECK(part.begin_ns == at);
    at = part.begin_ns + part.latency_ns + part.busy_ns;
  }
  CHECK(at == timing.makespan_ns);
}

AlgoTiming timed(const CollectiveAlgorithm& algorithm, const models::Cluster& cluster,
                 std::uint64_t bytes, std::uint32_t slots = 2) {
  std::string why;
  const auto timing = models::time_algorithm(algorithm, cluster, {bytes, slots}, why);
  INFO(why);
  REQUIRE(timing);
  check_path(*timing);
  return *timing;
}

std::int64_t makespan(const XmlAlgorithm& algorithm, std::uint64_t bytes, std::uint32_t slots = 2) {
  return timed(read(algorithm), one_host(algorithm.ranks.size()), bytes, slots).makespan_ns;
}

std::string chunk(int number) { return "i" + std::to_string(number); }

XmlAlgorithm ring_all_reduce(int ranks) {
  XmlAlgorithm of;
  of.chunks = of.input = ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    XmlBlock block{(rank + 1) % ranks, (rank + ranks - 1) % ranks, 0, {}};
    for (int step = 0; step < 2 * ranks - 1; ++step) {
      const char* type = step == 0              ? "s"
                         : step < ranks - 1     ? "rrs"
                         : step == ranks - 1    ? "rrcs"
                         : step < 2 * ranks - 2 ? "rcs"
                                                : "r";
      const std::string at = chunk((rank + 2 * ranks - step) % ranks);
      block.steps.push_back({type, at, at});
    }
    of.ranks.push_back({block});
  }
  return of;
}

XmlAlgorithm ring_all_gather(int ranks) {
  XmlAlgorithm of;
  of.collective = "allgather";
  of.chunks = of.output = ranks;
  of.input = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    XmlBlock block{(rank + 1) % ranks, (rank + ranks - 1) % ranks, 0, {}};
    for (int step = 0; step < ranks; ++step) {
      const std::string at = "o" + std::to_string((rank + ranks - step) % ranks);
      block.steps.push_back({step == 0 ? "s" : step == ranks - 1 ? "r" : "rcs", at, at});
    }
    of.ranks.push_back({block});
  }
  return of;
}

// A chain from rank 0: each rank passes every chunk on.
XmlAlgorithm chain(int ranks, int chunks) {
  XmlAlgorithm of;
  of.collective = "broadcast";
  of.chunks = of.input = chunks;
  for (int rank = 0; rank < ranks; ++rank) {
    XmlBlock block{rank + 1 < ranks ? rank + 1 : -1, rank - 1, 0, {}};
    const char* type = rank == 0 ? "s" : rank + 1 < ranks ? "rcs" : "r";
    for (int i = 0; i < chunks; ++i) block.steps.push_back({type, chunk(i), chunk(i)});
    of.ranks.push_back({block});
  }
  return of;
}

}  // namespace

TEST_CASE("a ring all-reduce takes 2(p-1)(a + n/p b)", "[models][algorithm_timing]") {
  for (const int ranks : {2, 3, 4, 8}) {
    const std::int64_t bytes = std::int64_t{1000} * ranks;
    const models::Cluster cluster = one_host(static_cast<std::size_t>(ranks));
    const AlgoTiming timing =
        timed(read(ring_all_reduce(ranks)), cluster, static_cast<std::uint64_t>(bytes));
    CHECK(timing.makespan_ns == kTwo * (ranks - 1) * (kLatency + bytes / ranks));
    CHECK(timing.path.size() == static_cast<std::size_t>(2 * (ranks - 1)));
    // The cost model of scenarios gives the same time.
    std::vector<std::uint32_t> members;
    for (int rank = 0; rank < ranks; ++rank) members.push_back(static_cast<std::uint32_t>(rank));
    const auto route = models::route(cluster, members);
    REQUIRE(route);
    CHECK(timing.makespan_ns ==
          models::collective_time(Operation::kAllReduce, models::Algorithm::kRing, bytes, *route));
    const AlgoTiming gather =
        timed(read(ring_all_gather(ranks)), cluster, static_cast<std::uint64_t>(bytes));
    CHECK(gather.makespan_ns == (ranks - 1) * (kLatency + bytes / ranks));
    CHECK(gather.makespan_ns == models::collective_time(Operation::kAllGather,
                                                        models::Algorithm::kRing, bytes / ranks,
                                                        *route));
  }
}

TEST_CASE("recursive doubling takes lg p (a + n b)", "[models][algorithm_timing]") {
  XmlAlgorithm of;
  of.scratch = 1;
  for (const int rank : {0, 1, 2, 3}) {
    const auto exchange = [&](int peer, int channel, int after) {
      XmlBlock block{peer, peer, channel, {{"s", "i0"}, {"rrc", "i0", "i0", 1, -1, -1, true}}};
      if (after >= 0) block.steps[0].on_block = after;
      if (after >= 0) block.steps[0].on_step = 1;
      return block;
    };
    of.ranks.push_back({exchange(rank ^ 1, 0, -1), exchange(rank ^ 2, 1, 0)});
  }
  CHECK(makespan(of, 5000) == 2 * (kLatency + 5000));
}

TEST_CASE("a rank has one port for all that it sends, and one for all that it receives",
          "[models][algorithm_timing]") {
  // Each rank gives its chunk to both others, first to the next one.
  XmlAlgorithm of;
  of.collective = "custom";
  of.scratch = 2;
  for (const int rank : {0, 1, 2}) {
    const int next = (rank + 1) % 3;
    const int last = (rank + 2) % 3;
    of.ranks.push_back({{next, last, 0, {{"s", "i0"}, {"r", "s0", "s0"}}},
                        {last, next, 1, {{"s", "i0"}, {"r", "s1", "s1"}}}});
  }
  CHECK(makespan(of, 3000) == kLatency + kTwo * 3000);
  // Two ranks send to one: the second message is received after the first.
  XmlAlgorithm two;
  two.collective = "custom";
  two.scratch = 2;
  two.ranks = {{{-1, 1, 0, {{"r", "s0", "s0"}}}, {-1, 2, 0, {{"r", "s1", "s1"}}}},
               {{0, -1, 0, {{"s", "i0"}}}},
               {{0, -1, 0, {{"s", "i0"}}}}};
  const AlgoTiming timing = timed(read(two), one_host(3), 3000);
  CHECK(timing.makespan_ns == kLatency + kTwo * 3000);
  REQUIRE(timing.busiest);
  CHECK(timing.busiest->receives);
  CHECK(timing.busiest->rank == 0);
  CHECK(timing.busiest->bytes == 6000);
  CHECK(timing.path.back().cause == models::AlgoCause::kPort);
}

TEST_CASE("a chain is pipelined as far as its slots go", "[models][algorithm_timing]") {
  // Three ranks, four chunks of 1,000 B: (p-1)(a + b) + (k-1) b.
  CHECK(makespan(chain(3, 4), 4000, models::kUnlimitedSlots) == kTwo * 2000 + 3000);
  // The limit of two slots delays sends: rank 0 sends the third chunk at 3 us, after rank 1 has
  // passed on the first, and the fourth at 4 us. The fourth is at rank 1 at 6 us and at rank 2 at 8
  // us.
  const AlgoTiming timing = timed(read(chain(3, 4)), one_host(3), 4000, 2);
  CHECK(timing.makespan_ns == 8000);
  CHECK(std::any_of(timing.path.begin(), timing.path.end(), [](const models::AlgoPathPart& part) {
    return part.cause == models::AlgoCause::kSlot;
  }));
}

TEST_CASE("a message whose chunks do not fit a slot goes in rounds", "[models][algorithm_timing]") {
  // Chunks of 4 MiB, slots of 2 MiB: the one thread block of each rank runs every step twice.
  const std::int64_t slot = std::int64_t{2} << 20;
  const std::uint64_t bytes = std::uint64_t{8} << 20;
  const AlgoTiming timing = timed(read(ring_all_reduce(2)), one_host(2), bytes);
  CHECK(timing.rounds == 2);
  CHECK(timing.makespan_ns == 2 * kTwo * (kLatency + slot));
  // The last iteration has the remaining bytes.
  const AlgoTiming more = timed(read(ring_all_reduce(2)), one_host(2), bytes + 2000);
  CHECK(more.rounds == 3);
  CHECK(more.makespan_ns == timing.makespan_ns + kTwo * (kLatency + 1000));
  std::string why;
  CHECK_THROWS_AS(models::time_algorithm(read(ring_all_reduce(2)), one_host(2),
                                         {std::uint64_t{1} << 50, 2}, why),
                  std::length_error);
}

TEST_CASE("protocols add flags to data, and have their own latencies",
          "[models][algorithm_timing]") {
  XmlAlgorithm of = ring_all_reduce(2);
  of.protocol = "LL";
  CHECK(makespan(of, 3000, 8) == 2 * (kLatency + kTwo * 1500));
  of.protocol = "LL128";
  CHECK(makespan(of, 3000, 8) == 2 * (kLatency + 1600));
  models::Cluster cluster = models::usual_cluster(9);
  CHECK(cluster.hosts.size() == 2);
  models::set_protocol_latencies(cluster, models::AlgoProtocol::kLl);
  CHECK(cluster.links[*cluster.path(0, 7)].latency_ns == 600);
  CHECK(cluster.links[*cluster.path(0, 8)].latency_ns == 2700);
  // A latency from a file stays as it is.
  cluster.links[cluster.inside_host[0]].latency_ns = 5000;
  models::set_protocol_latencies(cluster, models::AlgoProtocol::kLl128);
  CHECK(cluster.links[*cluster.path(0, 7)].latency_ns == 5000);
}

TEST_CASE("work on a rank takes the time of its device", "[models][algorithm_timing]") {
  XmlAlgorithm of;
  of.collective = "custom";
  of.scratch = 1;
  of.ranks = {{{-1, -1, 0, {{"cpy", "i0", "s0"}, {"re", "i0", "s0"}}}}};
  models::Cluster cluster = one_host(1);
  cluster.links.push_back({"device", 10, 2'000'000'000});
  cluster.device_link = 1;
  CHECK(timed(read(of), cluster, 1000).makespan_ns == kTwo * (10 + 500));
}

TEST_CASE("ranks that no link joins are not timed", "[models][algorithm_timing]") {
  models::Cluster cluster = one_host(2);
  cluster.inside_host.clear();
  std::string why;
  CHECK_FALSE(models::time_algorithm(read(ring_all_reduce(2)), cluster, {1000, 2}, why));
  CHECK_FALSE(why.empty());
}

namespace {

// Times of each step of ranks with one thread block each, in a ring: no steps share a port.
class StepTimes {
 public:
  StepTimes(const CollectiveAlgorithm& algorithm, std::int64_t chunk, std::size_t slots)
      : algorithm_(algorithm), chunk_(chunk), slots_(slots) {}

  std::int64_t makespan() {
    std::int64_t last = 0;
    for (std::size_t rank = 0; rank < algorithm_.ranks.size(); ++rank) {
      last = std::max(last, done(rank, steps(rank).size() - 1));
    }
    return last;
  }

 private:
  const std::vector<models::AlgoStep>& steps(std::size_t rank) const {
    return algorithm_.ranks[rank].blocks[0].steps;
  }
  std::int64_t busy(std::size_t rank, std::size_t step) const {
    return models::sends(steps(rank)[step].kind) ? chunk_ * steps(rank)[step].count : 0;
  }
  std::int64_t done(std::size_t rank, std::size_t step) {
    return start(rank, step) + busy(rank, step);
  }
  // Index of the n-th step that sends or receives.
  std::size_t nth(std::size_t rank, bool receives, std::size_t n) const {
    for (std::size_t i = 0;; ++i) {
      const models::AlgoStepKind kind = steps(rank)[i].kind;
      if ((receives ? models::receives(kind) : models::sends(kind)) && n-- == 0) return i;
    }
  }
  std::size_t before(std::size_t rank, bool receives, std::size_t step) const {
    std::size_t n = 0;
    for (std::size_t i = 0; i < step; ++i) {
      const models::AlgoStepKind kind = steps(rank)[i].kind;
      n += (receives ? models::receives(kind) : models::sends(kind)) ? 1U : 0U;
    }
    return n;
  }
  std::int64_t start(std::size_t rank, std::size_t step) {
    const auto known = starts_.find({rank, step});
    if (known != starts_.end()) return known->second;
    const std::size_t ranks = algorithm_.ranks.size();
    std::int64_t time = step == 0 ? 0 : done(rank, step - 1);
    if (models::receives(steps(rank)[step].kind)) {
      const std::size_t from = (rank + ranks - 1) % ranks;
      const std::size_t send = nth(from, false, before(rank, true, step));
      time = std::max(time, done(from, send) + kLatency);
    }
    if (models::sends(steps(rank)[step].kind)) {
      const std::size_t number = before(rank, false, step);
      const std::size_t to = (rank + 1) % ranks;
      if (number >= slots_) time = std::max(time, done(to, nth(to, true, number - slots_)));
    }
    starts_[{rank, step}] = time;
    return time;
  }

  const CollectiveAlgorithm& algorithm_;
  const std::int64_t chunk_;
  const std::size_t slots_;
  std::map<std::pair<std::size_t, std::size_t>, std::int64_t> starts_;
};

}  // namespace

TEST_CASE("random rings take the time of a recursion over their steps",
          "[models][algorithm_timing]") {
  std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): deterministic on purpose
  std::size_t timed_rings = 0;
  for (int attempt = 0; attempt < 300; ++attempt) {
    const int ranks = 2 + static_cast<int>(random() % 4);
    XmlAlgorithm of;
    of.collective = "custom";
    of.chunks = of.input = 4;
    const std::size_t messages = 1 + random() % 6;
    std::vector<int> counts;
    for (std::size_t i = 0; i < messages; ++i) counts.push_back(1 + static_cast<int>(random() % 3));
    for (int rank = 0; rank < ranks; ++rank) {
      XmlBlock block{(rank + 1) % ranks, (rank + ranks - 1) % ranks, 0, {}};
      std::size_t sent = 0;
      std::size_t received = 0;
      while (sent < messages || received < messages) {
        const bool both =
            sent < messages && received < messages && counts[sent] == counts[received];
        const auto pick = random() % 3;
        if (both && pick == 0) {
          block.steps.push_back({"rcs", "i0", "i0", counts[sent]});
          ++sent;
          ++received;
        } else if (sent < messages && (received == messages || pick == 1)) {
          block.steps.push_back({"s", "i0", "i0", counts[sent++]});
        } else if (received < messages) {
          block.steps.push_back({"r", "i0", "i0", counts[received++]});
        }
      }
      of.ranks.push_back({block});
    }
    const auto slots = static_cast<std::uint32_t>(1 + random() % 3);
    const CollectiveAlgorithm algorithm = read(of);
    const models::AlgoNetwork network = models::build_network(algorithm, {});
    if (!models::run_network(network, slots).completed) continue;
    ++timed_rings;
    CAPTURE(testing::xml_text(of), slots);
    CHECK(timed(algorithm, one_host(static_cast<std::size_t>(ranks)), 2800, slots).makespan_ns ==
          StepTimes(algorithm, 700, slots).makespan());
  }
  CHECK(timed_rings > 50);
}
