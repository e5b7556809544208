#include "models/result/end_names.hpp"

#include <algorithm>
#include <array>

namespace pipesim::models {
namespace {

// Names of verdicts, indexed by sim::Verdict.
constexpr std::array<const char*, 6> kVerdictNames = {"completed", "deadlock", "starved",
                                                      "mismatch",  "crashed",  "limit"};

// Names of causes, indexed by Cause.
constexpr std::array<const char*, 10> kCauseNames = {
    "none",        "mismatch",      "cycle",         "dead rank",
    "failed link", "absent member", "outside input", "end of simulated time",
    "until",       "interrupted"};
constexpr std::size_t kOwnCauses = 8;  // the remaining causes are requests of the user

}  // namespace

std::string verdict_name(sim::Verdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}

std::optional<sim::Verdict> find_verdict(const std::string& name) {
  const auto found = std::find(kVerdictNames.begin(), kVerdictNames.end(), name);
  if (found == kVerdictNames.end()) return std::nullopt;
  return static_cast<sim::Verdict>(found - kVerdictNames.begin());
}

std::string cause_name(Cause cause) { return kCauseNames[static_cast<std::size_t>(cause)]; }

const std::vector<std::string>& cause_names() {
  static const std::vector<std::string> kNames(kCauseNames.begin(),
                                               kCauseNames.begin() + kOwnCauses);
  return kNames;
}

std::optional<Cause> find_cause(const std::string& name) {
  const std::vector<std::string>& names = cause_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Cause>(found - names.begin());
}

}  // namespace pipesim::models
