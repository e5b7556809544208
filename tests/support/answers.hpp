// The answers of `check` in the readings contract, real and cold, one word each.
#pragma once

#include <string>

#include "tests/support/inline_scenario.hpp"

#include "features/check/nccl_modes.hpp"

namespace pipesim::testing {

inline constexpr const char* kOk = "ok ok ok";
inline constexpr const char* kHangs = "hang hang hang";
inline constexpr const char* kMayHang = "may may may";

inline const char* word_of(const models::NcclModeAnswer& found) {
  if (found.verdict == sim::Verdict::kMismatch) return "mismatch";
  switch (found.answer) {
    case sim::Answer::kProved:
      return "ok";
    case sim::Answer::kHangPossible:
      return "may";
    case sim::Answer::kHangCertain:
      return "hang";
    case sim::Answer::kMismatch:
      return "mismatch";
    case sim::Answer::kUndecided:
      break;
  }
  return "undecided";
}

inline std::string answers(const models::TaskGraph& graph) {
  const models::NcclModesReport report = models::check_nccl_modes(graph, {});
  std::string result;
  for (const models::NcclModeAnswer& mode : report.modes) {
    result += std::string(result.empty() ? "" : " ") + word_of(mode);
  }
  return result;
}

inline std::string answers(const std::string& text, const Settings& settings = {}) {
  return answers(scenario_of(text, settings).graph);
}

}  // namespace pipesim::testing
