// Plans that are equivalent to the hand-written SPIN models (*.pml) of this folder.
#pragma once

#include "sim/plan.hpp"

namespace pipesim::oracle {

struct OneFOneB {
  std::uint32_t stages = 2;
  std::uint32_t micro_batches = 2;
  std::uint32_t capacity = 1;  // capacity of a channel; 0: rendezvous
  bool greedy = false;         // the first stage does all forwards first
  bool paired = false;         // rendezvous only: the steady state groups sends and recvs
};

/// Returns the plan of one_f_one_b.pml, with a rank for each stage. A buffered channel is a
/// register: sends fill its slots, and recvs empty them.
sim::Plan one_f_one_b(const OneFOneB& what);

/// Returns the plan of philosophers.pml: threads of one rank that take locks. If `ordered`, the
/// last philosopher takes his other fork first. `tables` is the number of ranks with this program;
/// each has its own threads and locks.
sim::Plan philosophers(std::uint32_t count, std::uint32_t rounds, bool ordered,
                       std::uint32_t tables = 1);

/// Returns the plan of collectives.pml: each rank has one stream for all collectives, and launches
/// a collective when its input arrives. If `ordered`, a program launches the collectives instead.
sim::Plan collectives(std::uint32_t ranks, std::uint32_t count, bool ordered);

}  // namespace pipesim::oracle
