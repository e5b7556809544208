// What a scenario says should come out of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/diagnostics.hpp"
#include "models/explanation.hpp"
#include "sim/fingerprint.hpp"

namespace pipesim::models {

/// One entry of `expect:`. What is not said is not checked.
struct Expectation {
  Place place;
  std::vector<std::pair<std::string, std::string>> with;  // parameters that are set for it
  std::optional<sim::Verdict> verdict;
  std::optional<std::int64_t> time_ns;       // the last progress
  std::vector<std::string> cycle_through;    // ops that are on the cycle, in any order
  std::optional<std::int64_t> cycle_length;  // in waits
};

/// What of `expectation` the run does not meet, one sentence each; empty if it meets all.
std::vector<std::string> unmet(const Expectation& expectation, const Explanation& explanation);

/// The word for a verdict in files, reports and JSON: "deadlock".
std::string verdict_name(sim::Verdict verdict);

/// The verdict of that name.
std::optional<sim::Verdict> find_verdict(const std::string& name);

}  // namespace pipesim::models
