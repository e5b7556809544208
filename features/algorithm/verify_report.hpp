// The results of verifying a collective algorithm.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "viz/report/section.hpp"

#include "features/algorithm/verify_algorithm.hpp"

namespace pipesim::viz {

struct VerifyView {
  std::string name;  // name of the file
  const models::CollectiveAlgorithm& algorithm;
  const models::VerifyReport& report;
  bool all = false;  // whether to show long lists and cycles in full
};

/// Formats the place of a step: "rank 0 tb 2 step 5 (line 17)".
std::string step_place_text(const models::CollectiveAlgorithm& algorithm,
                            const models::AlgoStepRef& step);

/// Returns one section per question, including questions that were not asked. The id of a section
/// is the question, and its lines are the answer, with a style if the answer reveals a fault.
std::vector<Section> verify_questions(const VerifyView& view);

/// Returns the answer to one of these questions in one line.
std::string verify_answer(const Section& question);

/// Returns the data of the report. docs/reference/json.md describes every key.
Section verify_report(const VerifyView& view);

/// Returns the report about an unreadable file.
Section unreadable_report(const std::string& name);

/// Returns the verdict, the answers, the cycle of a hang, and the changes tried.
std::string verify_text(const VerifyView& view, const TextOptions& options);

/// Returns only the first line of verify_text(), for a list of many files.
std::string verify_head(const VerifyView& view, const TextOptions& options);

}  // namespace pipesim::viz
