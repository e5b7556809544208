// SPIN as the oracle of the tests: a model checker that shares nothing with pipesim.
#pragma once

#include <cstdint>
#include <string>

#include "sim/plan.hpp"

namespace pipesim::oracle {

/// SPIN's answer about all interleavings of a plan.
struct Verdict {
  bool completes = false;    // some interleaving does all work
  bool hangs = false;        // some interleaving ends with work left, or has mismatched calls
  std::uint64_t states = 0;  // number of stored states
  bool gave_up = false;      // hit the limit: other fields cover only the explored part
};

/// Whether SPIN was found when the tests were built. If not, reports the test as skipped.
bool has_spin();

/// Explores `plan` with the generic model; formats::promela_obstacle() must accept the plan. Throws
/// std::runtime_error with SPIN's output if there is no answer: the plan may be too large for the
/// generic model.
Verdict ask_spin(const sim::Plan& plan, std::uint64_t max_states);

/// Runs a shell command and returns what it writes to both output streams. Throws if the exit code
/// is not a digit in `fine`.
std::string run_command(const std::string& command, const std::string& fine = "0");

/// Returns the number before `words` in `text`. Throws if `text` has no such number.
std::uint64_t number_before(const std::string& text, const std::string& words);

}  // namespace pipesim::oracle
