#include "models/expectation.hpp"

#include <algorithm>
#include <array>

namespace pipesim::models {
namespace {

// By the number of the verdict.
constexpr std::array<const char*, 6> kVerdictNames = {"completed", "deadlock", "starved",
                                                      "mismatch",  "crashed",  "limit"};

}  // namespace

std::string verdict_name(sim::Verdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}

std::optional<sim::Verdict> find_verdict(const std::string& name) {
  const auto found = std::find(kVerdictNames.begin(), kVerdictNames.end(), name);
  if (found == kVerdictNames.end()) return std::nullopt;
  return static_cast<sim::Verdict>(found - kVerdictNames.begin());
}

std::vector<std::string> unmet(const Expectation& expectation, const Explanation& explanation) {
  std::vector<std::string> result;
  const auto differs = [&](const std::string& what, const std::string& wanted,
                           const std::string& found) {
    result.push_back("expected " + what + " " + wanted + ", found " + found);
  };
  if (expectation.verdict && *expectation.verdict != explanation.verdict) {
    differs("verdict", verdict_name(*expectation.verdict), verdict_name(explanation.verdict));
  }
  if (expectation.time_ns && *expectation.time_ns != explanation.time_ns) {
    differs("time", std::to_string(*expectation.time_ns) + " ns",
            std::to_string(explanation.time_ns) + " ns");
  }
  const auto length = static_cast<std::int64_t>(explanation.cycle.size());
  if (expectation.cycle_length && *expectation.cycle_length != length) {
    differs("cycle length", std::to_string(*expectation.cycle_length), std::to_string(length));
  }
  for (const std::string& op : expectation.cycle_through) {
    const bool found = std::any_of(explanation.cycle.begin(), explanation.cycle.end(),
                                   [&](const Wait& wait) { return wait.from.act.op == op; });
    if (!found) result.push_back("expected a cycle through '" + op + "', which is not on it");
  }
  return result;
}

}  // namespace pipesim::models
