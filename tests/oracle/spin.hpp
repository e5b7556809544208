// SPIN as the oracle of the tests: a model checker that shares nothing with pipesim.
#pragma once

#include <cstdint>
#include <string>

#include "sim/plan.hpp"

namespace pipesim::oracle {

/// What SPIN says of all orders of a plan.
struct Verdict {
  bool completes = false;  // some order does all work
  bool hangs = false;      // some order comes to rest with work left, or with calls that do not fit
  std::uint64_t states = 0;  // that it has stored
  bool gave_up = false;      // more than it was allowed: the rest holds for what it saw
};

/// Whether SPIN was there when the tests were built. If not, says that the test is skipped.
bool has_spin();

/// Explores `plan`, which formats::promela_obstacle() has nothing against, with the generic model.
/// Throws std::runtime_error with what SPIN said where it does not answer: the plan may be too
/// large for the generic model.
Verdict ask_spin(const sim::Plan& plan, std::uint64_t most_states);

/// Runs a command of the shell and returns what it prints, both streams. Throws where its exit
/// code is not among those that are `fine`, a string of digits.
std::string run_command(const std::string& command, const std::string& fine = "0");

/// The number that stands before `words` in `text`. Throws where there is none.
std::uint64_t number_before(const std::string& text, const std::string& words);

}  // namespace pipesim::oracle
