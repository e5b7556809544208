#include "features/diagnose/launch_log_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "models/result/expectation.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/table.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/words.hpp"

#include "features/diagnose/next_steps.hpp"

namespace pipesim::viz {
namespace {

using models::LoggedProgress;
using models::LoggedStanding;
using sim::Verdict;

constexpr std::size_t kMaxOpenRows = 40;

// Formats the progress of a rank: "2 of 4, 3rd at F3 (after nccl-1998)".
std::string progress_text(const LoggedProgress& progress) {
  std::string text = fmt::format("{} of {}", progress.rounds, progress.expected);
  if (progress.next.empty()) return text;
  text += fmt::format(", {} {} {}", ordinal(progress.rounds + 1), progress.open ? "in" : "at",
                      progress.next);
  if (!progress.launched.empty()) {
    text += fmt::format(" (after {})", progress.launched);
  }
  return text;
}

std::string verdict_text(const LaunchLogReport& report, const TextOptions& options) {
  const Verdict found = report.diagnosis.explanation.verdict;
  const char* colour = verdict_style(found);
  const std::string verdict =
      upper_case(found == Verdict::kCompleted ? "nothing wrong found"
                 : found == Verdict::kLimit   ? "undecided"
                 : found == Verdict::kStarved ? "hangs"
                                              : models::verdict_name(found));
  std::string text =
      fmt::format("{}  {}   {}   {}\n", styled(options, ansi::kBold, report.log.name),
                  styled(options, colour, verdict), counted(report.log.ranks.size(), "rank"),
                  styled(options, ansi::kDim, report.log.format));
  for (const std::string& note : report.notes) text += paragraph(note, options.width, 0, 2);
  if (!report.diagnosis.explanation.cycle.empty()) {
    text += paragraph(summary_text(report.diagnosis.explanation), options.width, 0, 2);
  }
  return text;
}

// Names the ranks at the ends of all wait chains, or the ranks that lag.
std::string roots_text(const LaunchLogReport& report, const TextOptions& options) {
  const models::LaunchLogDiagnosis& diagnosis = report.diagnosis;
  if (!diagnosis.explanation.cycle.empty()) return {};
  if (diagnosis.roots.empty()) {
    if (diagnosis.behind.empty()) return {};
    const char* verb = diagnosis.behind.size() == 1 ? "has" : "have";
    return fmt::format("\n{} {} launched the fewest iterations.\n",
                       capitalized(ranks_text(diagnosis.behind)), verb);
  }
  std::string text =
      fmt::format("\n{}\n", styled(options, ansi::kBold, "No cycle. Look first at:"));
  text += fmt::format("  {}, which launched the fewest iterations\n", ranks_text(diagnosis.roots));
  for (const models::Root& root : diagnosis.explanation.roots) {
    text += fmt::format("      rank {} waits for rank {} in {}\n", root.first.from.rank,
                        root.party.rank, models::printable(op_text(root.first.from.op)));
  }
  return text;
}

std::string open_text(const LaunchLogReport& report, const TextOptions& options) {
  const std::vector<models::OpInfo>& open = report.diagnosis.open;
  if (open.empty()) return {};
  std::string text = fmt::format(
      "\n{}\n",
      styled(options, ansi::kBold, "Entered but not returned ('before' without 'after'):"));
  Table table;
  const std::size_t shown = report.all ? open.size() : std::min(open.size(), kMaxOpenRows);
  for (std::size_t i = 0; i < shown; ++i) {
    table.add({fmt::format("rank {}", open[i].rank), open[i].thread,
               models::printable(op_text(open[i]))});
  }
  text += table.fitted(options.width, 2);
  if (shown < open.size())
    text += fmt::format("  and {} more (--all lists them)\n", open.size() - shown);
  return text;
}

// Lists the progress of the ranks. Merges equal rows.
std::string rounds_text(const LaunchLogReport& report, const TextOptions& options) {
  const models::LaunchLogDiagnosis& diagnosis = report.diagnosis;
  std::vector<std::string> header = {styled(options, ansi::kBold, "rank")};
  for (const std::string& column : diagnosis.columns) {
    header.push_back(styled(options, ansi::kBold, column));
  }
  std::vector<std::pair<std::vector<std::string>, std::vector<std::uint32_t>>> rows;
  std::map<std::vector<std::string>, std::size_t> row_of;
  for (const LoggedStanding& rank : diagnosis.ranks) {
    std::vector<std::string> row(header.size());
    if (!rank.has_log && row.size() > 1) row[1] = "no log";
    for (const LoggedProgress& progress : rank.progress) {
      row[1 + progress.column] = progress_text(progress);
    }
    const auto [known, is_new] = row_of.emplace(row, rows.size());
    if (is_new) rows.emplace_back(row, std::vector<std::uint32_t>());
    rows[known->second].second.push_back(rank.rank);
  }
  Table table(header);
  const std::size_t shown = report.all ? rows.size() : std::min(rows.size(), kMaxOpenRows);
  for (std::size_t i = 0; i < shown; ++i) {
    rows[i].first.front() = short_ranges(rows[i].second);
    table.add(rows[i].first);
  }
  std::string text = "\nIterations launched:\n" + table.fitted(options.width);
  if (shown < rows.size())
    text += fmt::format("  and {} more (--all lists them)\n", rows.size() - shown);
  return text;
}

std::string threads_text(const LaunchLogReport& report, const TextOptions& options) {
  if (!report.all) return {};
  Table table({styled(options, ansi::kBold, "rank"), styled(options, ansi::kBold, "thread"),
               styled(options, ansi::kBold, "last entered"),
               styled(options, ansi::kBold, "last launched")});
  for (std::size_t rank = 0; rank < report.log.ranks.size(); ++rank) {
    for (const models::LoggedThread& thread : report.log.ranks[rank].threads) {
      table.add({std::to_string(rank), thread.name, thread.last_entered, thread.last_launched});
    }
  }
  return "\n" + table.fitted(options.width);
}

}  // namespace

std::string launch_log_text(const LaunchLogReport& report, const TextOptions& options) {
  models::TaskGraph graph;
  Report end{graph, report.diagnosis.explanation, {}, {}, {}, {}, {}};
  if (report.all) end.all_waits = report.diagnosis.waits;
  return verdict_text(report, options) + hang_text(end, options) + roots_text(report, options) +
         open_text(report, options) + rounds_text(report, options) + threads_text(report, options) +
         stuck_text(end, options) + next_text(next_steps(report.diagnosis), options);
}

std::string difference_line(const models::CountDifference& difference) {
  return fmt::format("rank {} {}: entered {} and launched {} in the log, {} and {} in the run",
                     difference.rank, difference.op, difference.logged_entered,
                     difference.logged_launched, difference.simulated_entered,
                     difference.simulated_launched);
}

}  // namespace pipesim::viz
