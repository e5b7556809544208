#include "viz/text/check_text.hpp"

#include <vector>

#include <fmt/format.h>

#include "models/measure/expectation.hpp"
#include "viz/report_lines.hpp"
#include "viz/styled.hpp"
#include "viz/text/text_report.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

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
      return "one run covers all: timing changes nothing here";
    case sim::Method::kNoCycle:
      return "no cycle of waits is possible in any interleaving";
    case sim::Method::kExploration:
      return fmt::format("all that differ in effect were explored: {}, {}, {} run to the end",
                         counted(found.states, "branch point"), counted(found.steps, "step"),
                         counted(found.orders, "interleaving"));
    case sim::Method::kSearch:
      break;
  }
  if (view.check.usual.lowered.plan.faulty) {
    return "only the run with the scenario's own durations: its faults and timeouts have times, "
           "too";
  }
  if (view.check.usual.outcome.end == sim::RunEnd::kTimeLimit) {
    return "only the run with the scenario's own durations, which reached the end of simulated "
           "time";
  }
  std::string end = "the budget of steps ran out";
  if (found.states >= view.max_states) {
    end = fmt::format("the budget of {} (--states) ran out",
                      counted(view.max_states, "branch point"));
  }
  if (found.hang_found && found.completion_found) end = "both a hang and a completion were found";
  if (found.stopped) end = view.out_of_time ? "the time limit was reached" : "it was interrupted";
  return fmt::format("not all were explored: {}, {}, {} run to the end, then {}",
                     counted(found.states, "branch point"), counted(found.steps, "step"),
                     counted(found.orders, "interleaving"), end);
}

std::string ends_text(const sim::Exploration& found) {
  if (found.hang_found && found.completion_found) return "some hang and some complete";
  if (found.hang_found) return found.answer == sim::Answer::kHangCertain ? "all hang" : "one hangs";
  if (found.answer == sim::Answer::kProved) return "none hangs";
  if (found.completion_found) return "none of these hangs";
  return "none ran to its end";
}

const char* colour(sim::Answer answer) {
  switch (answer) {
    case sim::Answer::kProved:
      return ansi::kGreen;
    case sim::Answer::kUndecided:
      return ansi::kYellow;
    case sim::Answer::kHangPossible:
    case sim::Answer::kHangCertain:
      break;
  }
  return ansi::kRed;
}

std::string headline(sim::Answer answer) {
  switch (answer) {
    case sim::Answer::kProved:
      return "PROVED: no interleaving hangs";
    case sim::Answer::kHangPossible:
      return "HANG POSSIBLE";
    case sim::Answer::kHangCertain:
      return "HANG CERTAIN: every interleaving hangs";
    case sim::Answer::kUndecided:
      break;
  }
  return "UNDECIDED: no interleaving was found that hangs";
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
  const std::string head = styled(options, colour(found.answer), headline(found.answer));
  std::string text = head_line(fmt::format("{}  {}", models::printable(view.graph.name), head),
                               fmt::format("{}, {}", counted(plan.rank_count, "rank"),
                                           counted(plan.act_count, "op")),
                               options.width) +
                     "\n";
  const auto add = [&](std::string_view what, const std::string& line) {
    text += paragraph(fmt::format("{:<15}{}", what, line), options.width, 0, 15);
  };
  add("own durations", end_text(view.check.usual.explanation));
  add("interleavings", fmt::format("{}; {}", how_text(view), ends_text(found)));
  if (found.timing != nullptr) add("timing", fmt::format("can matter: {}", found.timing));
  if (!found.hang.empty()) {
    add("shortest", fmt::format("{} to a hang: --order FILE writes it for 'run --replay'",
                                counted(found.hang.size(), "step")));
  }
  if (view.hang == nullptr) return text;
  text += fmt::format("\n{}\n\n", found.hang.empty() ? "The run with the scenario's own durations:"
                                                     : "The shortest interleaving that hangs:");
  text += text_report(*view.hang, options);
  return text;
}

}  // namespace pipesim::viz
