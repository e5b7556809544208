// Every order of the events of a small plan, one by one: what `check` has to agree with.
//
// It knows the rules of the machine (machine.hpp) and nothing of sim/: no stubborn sets, no
// happens-before, no hash. Two states are the same if all that they hold is.
#pragma once

#include <cstddef>

#include "tests/twin/spec.hpp"

namespace pipesim::twin {

struct Ends {
  bool completes = false;  // some order
  bool hangs = false;      // some order: work is left, or calls do not match
  bool stuck = false;      // some order: work is left
  bool all = false;        // no order was left out
  std::size_t states = 0;
};

/// How the orders of a plan without faults end. Each op, launch, wake-up and item of outside input
/// takes any time. Gives up at `max_states`.
Ends ends_of_all_orders(const Spec& spec, std::size_t max_states);

}  // namespace pipesim::twin
