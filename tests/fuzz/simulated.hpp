// Reads and runs the scenario in a fuzz target's input, within the limits for fuzzing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "formats/scenario/scenario.hpp"
#include "models/result/simulation.hpp"

namespace pipesim::fuzz {

std::uint64_t ops_of(const sim::Plan& plan);

/// Reads, lowers and runs the scenario in `bytes`, and stores the scenario in `scenario`. Returns
/// nullopt if the input has errors or is too large.
std::optional<models::Simulation> simulate(const std::string& bytes,
                                           std::optional<formats::Scenario>& scenario,
                                           const sim::RunOptions& options);

}  // namespace pipesim::fuzz
