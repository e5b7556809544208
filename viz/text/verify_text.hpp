// What was proved or refuted of a collective algorithm, as text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/algorithm/verify_algorithm.hpp"
#include "viz/styled.hpp"

namespace pipesim::viz {

struct VerifyView {
  std::string name;  // of the file
  const models::CollectiveAlgorithm& algorithm;
  const models::VerifyReport& report;
  bool all = false;  // long lists and cycles are not shortened
};

/// A question and its answer, as people read them: the same in text and JSON.
struct VerifyLine {
  std::string question;  // "races"
  std::string answer;    // "no", or more
  models::AlgoAnswer kind = models::AlgoAnswer::kNo;
  bool fault = false;  // the answer is one that should not be
};

/// One line for each question, also for those that were not asked.
std::vector<VerifyLine> verify_lines(const VerifyView& view);

/// What stands behind its name as a title: "hangs", "has a race".
std::string_view verify_headline(models::AlgoVerdict verdict);

/// "rank 0 tb 2 step 5 (line 17)".
std::string step_place_text(const models::CollectiveAlgorithm& algorithm,
                            const models::AlgoStepRef& step);

/// The verdict, the answers, the cycle where it hangs, and what was tried.
std::string verify_text(const VerifyView& view, const TextOptions& options);

/// Only its first line, for a list of many files.
std::string verify_head(const VerifyView& view, const TextOptions& options);

}  // namespace pipesim::viz
