// The results of verifying a collective algorithm, as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "viz/report/styled.hpp"

#include "features/algorithm/verify_algorithm.hpp"

namespace pipesim::viz {

struct VerifyView {
  std::string name;  // name of the file
  const models::CollectiveAlgorithm& algorithm;
  const models::VerifyReport& report;
  bool all = false;  // whether to show long lists and cycles in full
};

/// A question and its answer in words, as text and JSON show them.
struct VerifyLine {
  std::string question;  // such as "races"
  std::string answer;    // "no", or a longer answer
  models::AlgoAnswer kind = models::AlgoAnswer::kNo;
  bool fault = false;  // whether the answer reveals a fault
};

/// Returns one line per question, including questions that were not asked.
std::vector<VerifyLine> verify_lines(const VerifyView& view);

/// Returns the text after the name in a title: "hangs", "has a race".
std::string_view verify_headline(models::AlgoVerdict verdict);

/// Formats the place of a step: "rank 0 tb 2 step 5 (line 17)".
std::string step_place_text(const models::CollectiveAlgorithm& algorithm,
                            const models::AlgoStepRef& step);

/// Returns the verdict, the answers, the cycle of a hang, and the changes tried.
std::string verify_text(const VerifyView& view, const TextOptions& options);

/// Returns only the first line of verify_text(), for a list of many files.
std::string verify_head(const VerifyView& view, const TextOptions& options);

}  // namespace pipesim::viz
