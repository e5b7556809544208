#include "features/algorithm/algorithm_races.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

namespace pipesim::models {
namespace {

constexpr std::uint32_t kLanesAtOnce = 64;

class EdgeFinder {
 public:
  EdgeFinder(const AlgoNetwork& network, const AlgoRaceOptions& options)
      : network_(network), options_(options), posted_(network.counters.size()) {
    for (std::uint32_t node = 0; node < network.node_count(); ++node) {
      for (std::uint32_t i = network.nodes[node].posts_begin;
           i < network.nodes[node + 1].posts_begin; ++i) {
        posted_[network.posts[i]].push_back(node);
      }
    }
  }

  AlgoEdges run() {
    AlgoEdges edges;
    edges.begin.reserve(network_.nodes.size());
    for (std::uint32_t node = 0; node < network_.node_count(); ++node) {
      edges.begin.push_back(static_cast<std::uint32_t>(edges.from.size()));
      const AlgoNode& of = network_.nodes[node];
      const AlgoNode& next = network_.nodes[node + 1];
      for (std::uint32_t i = of.after_begin; i < next.after_begin; ++i) {
        edges.from.push_back(network_.after[i]);
      }
      if (of.relaxed && !options_.relaxed) continue;
      for (std::uint32_t i = of.needs_begin; i < next.needs_begin; ++i) {
        add(network_.needs[i], node, edges.from);
      }
    }
    edges.begin.push_back(static_cast<std::uint32_t>(edges.from.size()));
    return edges;
  }

 private:
  void add(const AlgoNeed& need, std::uint32_t waiter, std::vector<std::uint32_t>& from) const {
    const AlgoCounter& counter = network_.counters[need.counter];
    std::uint32_t count = need.count;
    if (counter.kind == sim::WaitKind::kSlot) {
      if (options_.slots == kUnlimitedSlots || count <= options_.slots) return;
      count -= options_.slots;
    }
    if (count <= counter.initial || count == kNeverReached) return;
    count -= counter.initial;
    const std::vector<std::uint32_t>& all = posted_[need.counter];
    if (all.empty()) return;
    if (network_.nodes[all.front()].block == network_.nodes[all.back()].block) {
      if (count > all.size()) return;
      add_node(all[count - 1], from);
      return;
    }
    add_of_several(count, waiter, all, from);
  }

  void add_node(std::uint32_t node, std::vector<std::uint32_t>& from) const {
    if (options_.relaxed || !network_.nodes[node].relaxed) from.push_back(node);
  }

  // Adds the edges of a counter that several blocks raise. A raise of one block certainly precedes
  // the wait if the raises of all other blocks together are too few.
  void add_of_several(std::uint32_t count, std::uint32_t waiter,
                      const std::vector<std::uint32_t>& all,
                      std::vector<std::uint32_t>& from) const {
    // The rank's own raises in a later launch happen after the wait.
    const AlgoNode& at = network_.nodes[waiter];
    const std::uint32_t rank = network_.blocks[at.block].rank;
    const auto too_late = [&](std::uint32_t node) {
      return network_.nodes[node].launch > at.launch &&
             network_.blocks[network_.nodes[node].block].rank == rank;
    };
    const auto possible =
        all.size() - static_cast<std::size_t>(std::count_if(all.begin(), all.end(), too_late));
    // The list is in node order, so the nodes of a block are adjacent.
    for (std::size_t begin = 0; begin < all.size();) {
      const std::uint32_t block = network_.nodes[all[begin]].block;
      std::size_t end = begin;
      std::size_t own = 0;
      while (end < all.size() && network_.nodes[all[end]].block == block) {
        own += too_late(all[end++]) ? 0U : 1U;
      }
      const std::size_t others = possible - own;
      if (count > others && own > 0) {
        add_node(all[begin + std::min(count - others, own) - 1], from);
      }
      begin = end;
    }
  }

  const AlgoNetwork& network_;
  const AlgoRaceOptions& options_;
  std::vector<std::vector<std::uint32_t>> posted_;  // one node for each raise, per counter
};

struct Access {
  std::uint32_t node = 0;
  std::uint32_t cell = 0;
  bool write = false;
};

// The last read and write of a cell by a lane.
struct LaneUse {
  std::uint32_t lane = 0;             // index in the current batch of lanes
  std::uint32_t read = 0, write = 0;  // numbers among the accesses of the lane; 0: none
  std::uint32_t read_node = 0, write_node = 0;
};

class RaceFinder {
 public:
  RaceFinder(const AlgoNetwork& network, const std::vector<std::uint32_t>& order,
             const AlgoRaceOptions& options)
      : network_(network),
        order_(order),
        options_(options),
        edges_(EdgeFinder(network, options).run()),
        lane_at_(network.lanes, kNoAlgoIndex) {}

  std::vector<AlgoRace> run() {
    collect();
    for (const std::vector<Access>& accesses : accesses_) look_at(accesses);
    return std::move(races_);
  }

 private:
  // Collects the accesses to each rank's memory, in the order of the run.
  void collect() {
    const std::vector<std::uint32_t>& begins = network_.memory.rank_begin;
    accesses_.resize(begins.size() - 1);
    const auto add = [&](std::uint32_t node, std::uint32_t cell, bool write) {
      if (cell >= begins.back()) return;  // a message has one writer and one reader
      const auto after = std::upper_bound(begins.begin(), begins.end(), cell);
      accesses_[static_cast<std::size_t>(after - begins.begin()) - 1].push_back(
          {node, cell, write});
    };
    for (const std::uint32_t node : order_) {
      for (std::uint32_t m = network_.nodes[node].moves_begin;
           m < network_.nodes[node + 1].moves_begin; ++m) {
        const AlgoMove& move = network_.moves[m];
        const AlgoMove& next = network_.moves[m + 1];
        for (std::uint32_t i = move.reads_begin; i < next.reads_begin; ++i) {
          add(node, network_.reads[i], false);
        }
        for (std::uint32_t i = move.writes_begin; i < next.writes_begin; ++i) {
          add(node, network_.writes[i], true);
        }
      }
    }
  }

  // Finds races. A cell can race only if several lanes use it and at least one access is a write.
  void look_at(const std::vector<Access>& all) {
    if (all.empty()) return;
    struct Use {
      std::uint32_t lane = kNoAlgoIndex;
      bool several = false, written = false;
    };
    const auto [low, high] = std::minmax_element(
        all.begin(), all.end(), [](const Access& a, const Access& b) { return a.cell < b.cell; });
    first_cell_ = low->cell;
    std::vector<Use> uses(high->cell - first_cell_ + 1);
    for (const Access& access : all) {
      Use& use = uses[access.cell - first_cell_];
      const std::uint32_t lane = network_.nodes[access.node].lane;
      use.several = use.several || (use.lane != kNoAlgoIndex && use.lane != lane);
      use.lane = lane;
      use.written = use.written || access.write;
    }
    std::vector<Access> accesses;
    std::vector<std::uint32_t> lanes;
    for (const Access& access : all) {
      const Use& use = uses[access.cell - first_cell_];
      if (!use.several || !use.written) continue;
      accesses.push_back(access);
      lanes.push_back(network_.nodes[access.node].lane);
    }
    std::sort(lanes.begin(), lanes.end());
    lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
    for (std::size_t begin = 0; begin < lanes.size(); begin += kLanesAtOnce) {
      const std::size_t end = std::min<std::size_t>(lanes.size(), begin + kLanesAtOnce);
      for (std::size_t i = begin; i < end; ++i) {
        lane_at_[lanes[i]] = static_cast<std::uint32_t>(i - begin);
      }
      look_for_lanes(accesses, uses.size());
      for (std::size_t i = begin; i < end; ++i) lane_at_[lanes[i]] = kNoAlgoIndex;
      if (races_.size() >= kMaxAlgoRaces) return;
    }
  }

  // Finds races whose first access is in a lane of lane_at_.
  void look_for_lanes(const std::vector<Access>& accesses, std::size_t cells) {
    if (accesses.size() < 0x7fff) {
      look(accesses, cells, small_clocks_);
    } else {
      look(accesses, cells, large_clocks_);
    }
  }

  template <typename Count>
  void look(const std::vector<Access>& accesses, std::size_t cells, std::vector<Count>& clocks) {
    clocks.resize(std::size_t{network_.node_count()} * kLanesAtOnce);
    std::array<std::uint32_t, kLanesAtOnce> done{};
    std::vector<std::vector<LaneUse>> uses(cells);
    std::size_t next = 0;
    for (const std::uint32_t node : order_) {
      Count* clock = &clocks[std::size_t{node} * kLanesAtOnce];
      std::fill_n(clock, kLanesAtOnce, Count{0});
      for (std::uint32_t i = edges_.begin[node]; i < edges_.begin[node + 1]; ++i) {
        const Count* before = &clocks[std::size_t{edges_.from[i]} * kLanesAtOnce];
        for (std::uint32_t lane = 0; lane < kLanesAtOnce; ++lane) {
          clock[lane] = std::max(clock[lane], before[lane]);
        }
      }
      if (next == accesses.size()) return;
      if (accesses[next].node != node) continue;
      const std::uint32_t lane = lane_at_[network_.nodes[node].lane];
      if (lane != kNoAlgoIndex) ++done[lane];
      for (; next < accesses.size() && accesses[next].node == node; ++next) {
        check(accesses[next], clock, uses[accesses[next].cell - first_cell_], lane,
              lane == kNoAlgoIndex ? 0 : done[lane]);
      }
      if (lane != kNoAlgoIndex) clock[lane] = static_cast<Count>(done[lane]);
    }
  }

  template <typename Count>
  void check(const Access& access, const Count* clock, std::vector<LaneUse>& uses,
             std::uint32_t own, std::uint32_t ordinal) {
    LaneUse* mine = nullptr;
    for (LaneUse& use : uses) {
      if (use.lane == own) {
        mine = &use;
        continue;
      }
      const auto known = static_cast<std::uint32_t>(clock[use.lane]);
      if (use.write > known && !(options_.reads_after_writes_only && access.write)) {
        found({use.write_node, access.node, access.cell, true, access.write});
      } else if (access.write && use.read > known && !options_.reads_after_writes_only) {
        found({use.read_node, access.node, access.cell, false, true});
      }
    }
    if (own == kNoAlgoIndex) return;
    if (mine == nullptr) mine = &uses.emplace_back(LaneUse{own});
    (access.write ? mine->write : mine->read) = ordinal;
    (access.write ? mine->write_node : mine->read_node) = access.node;
  }

  void found(const AlgoRace& race) {
    const auto key = [&](std::uint32_t node) {
      const AlgoNode& of = network_.nodes[node];
      return std::tuple(of.block, of.step, of.launch);
    };
    if (!seen_.insert({key(race.first), key(race.second)}).second) return;
    if (races_.size() < kMaxAlgoRaces) races_.push_back(race);
  }

  using StepKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

  const AlgoNetwork& network_;
  const std::vector<std::uint32_t>& order_;
  const AlgoRaceOptions options_;
  const AlgoEdges edges_;
  std::vector<std::vector<Access>> accesses_;  // accesses per rank
  std::vector<std::uint32_t> lane_at_;  // index of each lane in the current batch, or kNoAlgoIndex
  // [node, lane]: number of nodes of the lane that access memory and certainly precede the node.
  std::vector<std::int16_t> small_clocks_;
  std::vector<std::int32_t> large_clocks_;
  std::uint32_t first_cell_ = 0;
  std::set<std::pair<StepKey, StepKey>> seen_;
  std::vector<AlgoRace> races_;
};

}  // namespace

AlgoEdges find_edges(const AlgoNetwork& network, const AlgoRaceOptions& options) {
  return EdgeFinder(network, options).run();
}

std::vector<AlgoRace> find_races(const AlgoNetwork& network,
                                 const std::vector<std::uint32_t>& order,
                                 const AlgoRaceOptions& options) {
  return RaceFinder(network, order, options).run();
}

}  // namespace pipesim::models
