// Races: two steps touch one cell, at least one of them writes, and nothing orders them.
#pragma once

#include <cstdint>
#include <vector>

#include "features/algorithm/algorithm_network.hpp"

namespace pipesim::models {

/// A race of two nodes. `second` comes later in the examined run, but can come first in another
/// run.
struct AlgoRace {
  std::uint32_t first = 0;  // index of a node
  std::uint32_t second = 0;
  std::uint32_t cell = 0;
  bool first_writes = false;
  bool second_writes = false;
};

struct AlgoRaceOptions {
  // Number of slots per connection; a send comes after the receive that frees its slot.
  std::uint32_t slots = kUnlimitedSlots;
  bool relaxed = true;  // whether signals without memory order count as order
  bool reads_after_writes_only = false;
};

/// The direct predecessors of each node: [begin[node], begin[node + 1]) in `from`.
struct AlgoEdges {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> from;
};

/// Finds the edges that order the nodes of `network`.
AlgoEdges find_edges(const AlgoNetwork& network, const AlgoRaceOptions& options = {});

/// The search stops after this number of races.
inline constexpr std::size_t kMaxAlgoRaces = 10'000;

/// Returns the races of `network`, one for each pair of steps, in the order of the run. `order` is
/// the order of a completed run. The edges between nodes do not depend on the run, so these are the
/// races of every run.
///
/// A node comes before later nodes of its lane, nodes joined with it, and nodes that wait for its
/// raises. If one block raises a counter, the n-th raise comes before the n-th wait. If several
/// blocks raise it, only raises that must have happened come before a wait.
///
/// Cost: vector clocks for one rank's memory and 64 of its lanes at a time; in total, nodes times
/// lanes times edges.
std::vector<AlgoRace> find_races(const AlgoNetwork& network,
                                 const std::vector<std::uint32_t>& order,
                                 const AlgoRaceOptions& options = {});

}  // namespace pipesim::models
