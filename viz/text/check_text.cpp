#include "viz/text/check_text.hpp"

#include <vector>

#include <fmt/format.h>

#include "models/measure/expectation.hpp"
#include "viz/text/text_report.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string count_text(std::uint64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", with_commas(count), singular, count == 1 ? "" : "s");
}

std::string end_text(const models::Explanation& end) {
  if (end.cause == models::Cause::kInterrupted) return "interrupted";
  const std::string time = time_text(end.time_ns);
  return end.verdict == sim::Verdict::kCompleted
             ? fmt::format("completes at {}", time)
             : fmt::format("{} at {}", models::verdict_name(end.verdict), time);
}

std::string how_text(const CheckView& view) {
  const sim::Exploration& found = view.check.exploration;
  switch (found.method) {
    case sim::Method::kOneRun:
      return "one run shows all: timing decides nothing here";
    case sim::Method::kNoCycle:
      return "no circle of waits is possible, whatever comes first";
    case sim::Method::kExploration:
      return fmt::format("all that differ in effect were followed: {}, {}, {} to their end",
                         count_text(found.states, "fork"), count_text(found.steps, "step"),
                         count_text(found.orders, "order"));
    case sim::Method::kSearch:
      break;
  }
  if (view.check.usual.lowered.plan.faulty) {
    return "only the run in the scenario's own times: its faults and guards have times, too";
  }
  if (view.check.usual.outcome.end == sim::RunEnd::kTimeLimit) {
    return "only the run in the scenario's own times, which came to the end of simulated time";
  }
  std::string end = "the budget of steps ran out";
  if (found.states >= view.max_states) {
    end = fmt::format("the budget of {} (--states) ran out", count_text(view.max_states, "fork"));
  }
  if (found.hang_found && found.completion_found) end = "the answer was known";
  if (found.stopped) end = view.out_of_time ? "time was up" : "it was interrupted";
  return fmt::format("not all were followed: after {}, {} and {} to their end {}",
                     count_text(found.states, "fork"), count_text(found.steps, "step"),
                     count_text(found.orders, "order"), end);
}

std::string ends_text(const sim::Exploration& found) {
  if (found.hang_found && found.completion_found) return "some hang and some complete";
  if (found.hang_found) return found.answer == sim::Answer::kHangCertain ? "all hang" : "one hangs";
  if (found.answer == sim::Answer::kProved) return "none hangs";
  if (found.completion_found) return "none of these hangs";
  return "none came to its end";
}

const char* colour(sim::Answer answer) {
  switch (answer) {
    case sim::Answer::kProved:
      return "32;1";
    case sim::Answer::kUndecided:
      return "33;1";
    case sim::Answer::kHangPossible:
    case sim::Answer::kHangCertain:
      break;
  }
  return "31;1";
}

std::string headline(sim::Answer answer) {
  switch (answer) {
    case sim::Answer::kProved:
      return "PROVED: no order hangs";
    case sim::Answer::kHangPossible:
      return "HANG POSSIBLE";
    case sim::Answer::kHangCertain:
      return "HANG CERTAIN: every order hangs";
    case sim::Answer::kUndecided:
      break;
  }
  return "UNDECIDED: no order was found that hangs";
}

}  // namespace

std::string answer_text(sim::Answer answer) {
  switch (answer) {
    case sim::Answer::kProved:
      return "proved";
    case sim::Answer::kHangPossible:
      return "hang possible";
    case sim::Answer::kHangCertain:
      return "hang certain";
    case sim::Answer::kUndecided:
      break;
  }
  return "undecided";
}

std::string check_text(const CheckView& view, const TextOptions& options) {
  const sim::Exploration& found = view.check.exploration;
  const sim::Plan& plan = view.check.usual.lowered.plan;
  std::string head = headline(found.answer);
  if (options.colour) head = fmt::format("\x1b[{}m{}\x1b[0m", colour(found.answer), head);
  std::string text =
      fmt::format("{}  {}   {}, {}\n\n", models::printable(view.graph.name), head,
                  counted(plan.rank_count, "rank"), count_text(plan.act_count, "act"));
  text += fmt::format("own times  {}\n", end_text(view.check.usual.explanation));
  text += fmt::format("orders     {}; {}\n", how_text(view), ends_text(found));
  if (found.timing != nullptr) text += fmt::format("timing     can matter: {}\n", found.timing);
  if (!found.hang.empty()) {
    text += fmt::format("shortest   {} to a hang: --order FILE writes it for 'run --replay'\n",
                        count_text(found.hang.size(), "step"));
  }
  if (view.hang == nullptr) return text;
  text += fmt::format("\n{}\n\n", found.hang.empty() ? "The run in its own times:"
                                                     : "The run of the shortest order found:");
  text += text_report(*view.hang, options);
  return text;
}

}  // namespace pipesim::viz
