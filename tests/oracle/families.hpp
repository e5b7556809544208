// The plans that are what the models of this folder, written by hand, are.
#pragma once

#include "sim/plan.hpp"

namespace pipesim::oracle {

struct OneFOneB {
  std::uint32_t stages = 2;
  std::uint32_t micro_batches = 2;
  std::uint32_t capacity = 1;  // of a channel; 0: rendezvous
  bool greedy = false;         // the first stage does all forwards first
  bool paired = false;         // sends and receives of the steady state are groups; of rendezvous
};

/// one_f_one_b.pml: a rank for each stage. A channel with room is a register, which sends fill and
/// receives empty.
sim::Plan one_f_one_b(const OneFOneB& what);

/// philosophers.pml: threads of one rank that take locks. `ordered`: the last one takes his other
/// fork first. `tables`: so many ranks do the same, each with threads and locks of its own.
sim::Plan philosophers(std::uint32_t count, std::uint32_t rounds, bool ordered,
                       std::uint32_t tables = 1);

/// collectives.pml: on each rank one stream for all collectives; each is given to it when its input
/// is there. `ordered`: by a program instead.
sim::Plan collectives(std::uint32_t ranks, std::uint32_t count, bool ordered);

}  // namespace pipesim::oracle
