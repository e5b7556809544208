#include "features/check/check_page.hpp"

#include <utility>

#include <fmt/format.h>

#include "viz/report/report_lines.hpp"
#include "viz/report/summary.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

models::JobAnswer answer_of(const CheckView& view) {
  if (view.modes != nullptr) return view.modes->answer;
  switch (view.check.exploration.answer) {
    case sim::Answer::kProved:
      return models::JobAnswer::kProved;
    case sim::Answer::kHangPossible:
      return models::JobAnswer::kHangPossible;
    case sim::Answer::kHangCertain:
      return models::JobAnswer::kHangCertain;
    case sim::Answer::kMismatch:
      return models::JobAnswer::kMismatch;
    case sim::Answer::kUndecided:
      break;
  }
  return models::JobAnswer::kUndecided;
}

// Returns the text that follows the name of the scenario in the headline.
const char* headline(models::JobAnswer answer) {
  switch (answer) {
    case models::JobAnswer::kProved:
      return "never hangs";
    case models::JobAnswer::kByBuffers:
      return "runs by buffers, which hide a hang";
    case models::JobAnswer::kHangPossible:
      return "can hang";
    case models::JobAnswer::kHangCertain:
      return "always hangs";
    case models::JobAnswer::kMismatch:
      return "never hangs, but calls do not match";
    case models::JobAnswer::kUndecided:
      break;
  }
  return "is undecided";
}

}  // namespace

CheckPage check_page(const CheckView& view, std::vector<std::string> steps) {
  CheckPage page;
  const models::JobAnswer answer = answer_of(view);
  page.headline = headline(answer);
  page.verdict = answer_text(answer);
  if (is_proved_by_buffers(view)) {
    page.headline = fmt::format("does not hang in the reading '{}'",
                                models::nccl_mode_name(view.graph.nccl_mode));
    page.verdict = "no hang";
    page.story.emplace_back(
        "What NCCL promises was not checked: here sends complete into NCCL's buffers.");
  }
  if (is_failed(view)) {
    page.headline = "fails: " + failed_text(view).substr(std::string_view("FAILED: ").size());
    page.verdict = "failed";
  }
  page.story.push_back(fmt::format("Of all interleavings: {}.", interleavings_text(view)));
  if (view.modes != nullptr) {
    for (const models::NcclModeAnswer& each : view.modes->modes) {
      models::Explanation end;
      end.verdict = each.verdict;
      end.time_ns = each.time_ns;
      page.modes.push_back({std::string(models::nccl_mode_name(each.mode)),
                            nccl_mode_about(each.mode), answer_text(*view.modes, each, false),
                            run_end_text(end), each.hang ? summary_text(*each.hang) : ""});
    }
    page.story.push_back(fmt::format("The run below is of the reading '{}'.",
                                     models::nccl_mode_name(view.modes->shown)));
  }
  page.rests_on = rests_on_lines(view);
  if (view.hang != nullptr) {
    for (std::string& line : unmeasured_lines(view.hang->explanation)) {
      page.rests_on.push_back(std::move(line));
    }
  }
  page.rests_on.insert(page.rests_on.end(), view.basis.begin(), view.basis.end());
  page.steps = std::move(steps);
  page.text = check_text(view, {});
  return page;
}

}  // namespace pipesim::viz
