// Plans that are equal to the hand-written models of this folder.
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

/// Returns the plan of one_f_one_b.pml: a rank for each stage. A buffered channel is a register,
/// which sends fill and recvs empty.
sim::Plan one_f_one_b(const OneFOneB& what);

/// Returns the plan of philosophers.pml: threads of one rank that take locks. `ordered`: the last
/// one takes his other fork first. `tables`: number of ranks with the same program, each with its
/// own threads and locks.
sim::Plan philosophers(std::uint32_t count, std::uint32_t rounds, bool ordered,
                       std::uint32_t tables = 1);

/// Returns the plan of collectives.pml: each rank has one stream for all collectives, and launches
/// each when its input arrives. `ordered`: a program launches them instead.
sim::Plan collectives(std::uint32_t ranks, std::uint32_t count, bool ordered);

}  // namespace pipesim::oracle
