// A scenario of a fuzz target's input, read and run as far as a fuzzer should wait for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "formats/scenario/scenario.hpp"
#include "models/explain/simulation.hpp"

namespace pipesim::fuzz {

std::uint64_t acts_of(const sim::Plan& plan);

/// Nothing where the input has mistakes, or is too large. `scenario` is what was read.
std::optional<models::Simulation> simulate(const std::string& bytes,
                                           std::optional<formats::Scenario>& scenario,
                                           const sim::RunOptions& options);

}  // namespace pipesim::fuzz
