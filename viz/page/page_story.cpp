#include "viz/page/page_story.hpp"

#include <cstdint>
#include <set>

#include <fmt/format.h>

#include "models/result/expectation.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {

using models::Explanation;
using models::Wait;
using sim::Verdict;

const char* ending_word(Verdict verdict) {
  switch (verdict) {
    case Verdict::kCompleted:
      return "completes";
    case Verdict::kDeadlock:
    case Verdict::kStarved:
      return "hangs";
    case Verdict::kMismatch:
      return "goes wrong";
    case Verdict::kCrashed:
      return "crashes";
    case Verdict::kLimit:
      break;
  }
  return "was stopped";
}

std::vector<std::string> page_story(const Report& report) {
  const Explanation& end = report.explanation;
  const std::string when = time_text(end.time_ns);
  const std::string done =
      fmt::format("{} of {} are done", grouped(end.ops_done), counted(end.ops_expected, "op"));
  const auto rest = [&] { return fmt::format("No further progress after {}: {}.", when, done); };
  std::vector<std::string> result;
  switch (end.verdict) {
    case Verdict::kCompleted:
      result.push_back(fmt::format("Everything is done at {}: {} on {}.", when,
                                   counted(end.ops_expected, "op"),
                                   counted(report.graph.ranks, "rank")));
      break;
    case Verdict::kDeadlock: {
      result.push_back(rest());
      std::set<std::uint32_t> ranks;
      for (const Wait& wait : end.cycle) ranks.insert(wait.from.rank);
      const std::string where = ranks_text({ranks.begin(), ranks.end()});
      result.push_back(
          end.cycle.size() == 1
              ? fmt::format("An op of {} waits for itself, so it can never continue.", where)
              : fmt::format("{} of {} wait for each other in a cycle: each needs the next one to "
                            "continue first, so none ever does.",
                            counted(end.cycle.size(), "op"), where));
      if (end.collateral > 0) {
        result.push_back(fmt::format("{} {} stuck too; the cycle comes first.",
                                     counted(end.collateral, "more op"),
                                     end.collateral == 1 ? "is" : "are"));
      }
      break;
    }
    case Verdict::kStarved:
      result.push_back(rest());
      result.push_back(summary_text(end));
      result.emplace_back("No ops wait for each other in a cycle.");
      break;
    case Verdict::kMismatch:
      result.push_back(rest());
      result.emplace_back("Ranks made mismatched calls.");
      break;
    case Verdict::kCrashed:
      result.push_back(fmt::format("The last progress is at {}: {}.", when, done));
      break;
    case Verdict::kLimit:
      result.push_back(fmt::format("The run was stopped ({}) before it ended. At {}, {}.",
                                   models::cause_name(end.cause), when, done));
      break;
  }
  if (report.jitter.varies()) result.push_back(timing_text(report.jitter) + ".");
  return result;
}

}  // namespace pipesim::viz
