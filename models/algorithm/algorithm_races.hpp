// Races: two steps touch one cell, at least one writes, and nothing orders them.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithm/algorithm_network.hpp"

namespace pipesim::models {

/// `second` comes later in the run that was looked at; it could come first.
struct AlgoRace {
  std::uint32_t first = 0;  // nodes
  std::uint32_t second = 0;
  std::uint32_t cell = 0;
  bool first_writes = false;
  bool second_writes = false;
};

struct AlgoRaceOptions {
  std::uint32_t slots = kUnlimitedSlots;  // a send is also ordered behind what freed its slot
  bool relaxed = true;                    // signals without memory order count, too
  bool reads_after_writes_only = false;
};

/// The nodes that come right before each node: [begin[node], begin[node + 1]) in `from`.
struct AlgoEdges {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> from;
};

/// What orders the nodes of `network`.
AlgoEdges find_edges(const AlgoNetwork& network, const AlgoRaceOptions& options = {});

/// More are not looked for.
inline constexpr std::size_t kMaxAlgoRaces = 10'000;

/// The races of `network`, one for each pair of steps, in the order of the run. `order` is that of
/// a run that completed. What orders two nodes does not depend on the run, so these are the races
/// of every run.
///
/// A node comes before another of the same lane or joined with it, and before those that wait for
/// what it raises: of a counter that one block raises, the n-th raise comes before the n-th wait;
/// of one that several raise, what must have happened whatever the others did.
///
/// Cost: vector clocks, for one rank's memory and 64 lanes that use it at a time; nodes times lanes
/// times edges in all.
std::vector<AlgoRace> find_races(const AlgoNetwork& network,
                                 const std::vector<std::uint32_t>& order,
                                 const AlgoRaceOptions& options = {});

}  // namespace pipesim::models
