// A search of every interleaving of a small plan, one by one, with which the answer of `check` must
// agree.
//
// The search uses only the rules of the machine (machine.hpp), nothing from sim/: no stubborn sets,
// no happens-before, no hash. Two states are equal if all their contents are equal.
#pragma once

#include <cstddef>

#include "tests/twin/spec.hpp"

namespace pipesim::twin {

struct Ends {
  bool completes = false;  // some interleaving completes
  bool hangs = false;      // some interleaving leaves work undone or has mismatched calls
  bool stuck = false;      // some interleaving leaves work undone
  bool all = false;        // every interleaving was searched
  std::size_t states = 0;
};

/// Returns the ends of all interleavings of a plan without faults, in which each op, launch,
/// wake-up and outside item takes any time. Gives up at `max_states`.
Ends ends_of_all_orders(const Spec& spec, std::size_t max_states);

}  // namespace pipesim::twin
