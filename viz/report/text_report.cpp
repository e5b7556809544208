#include "viz/report/text_report.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "models/result/expectation.hpp"
#include "viz/report/data_table.hpp"
#include "viz/report/recorded_text.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/table.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::Cause;
using models::Explanation;
using models::Progress;
using models::RankReport;
using models::Wait;
using sim::Verdict;

class TextReport {
 public:
  TextReport(const Report& report, const TextOptions& options, bool has_lead = false)
      : report_(report), explanation_(report.explanation), options_(options), has_lead_(has_lead) {}

  std::string run() {
    add_head();
    // add_lines() omits a section if the summary already states the only line of the section.
    add_lines("What broke", broken_lines(explanation_), summarizes(Cause::kDeadRank));
    add_mismatches();
    add_cycle();
    add_lines("Assumptions", unmeasured_lines(explanation_), false);
    add_lines(roots_heading(explanation_), root_lines(explanation_),
              summarizes(Cause::kFailedLink) || summarizes(Cause::kAbsentMember) ||
                  summarizes(Cause::kOutsideInput) || summarizes(Cause::kDeadRank));
    add_hints();
    add_ranks();
    add_finish_times();
    if (report_.pipeline) add_table(schedule_table(*report_.pipeline));
    // The schedule's table already shows sizes that only the schedule states.
    if (report_.memory && models::has_sizes_beside_schedule(report_.graph)) {
      add_table(memory_table(*report_.memory));
    }
    if (explanation_.stuck > 0) add_collateral();
    add_lines("How the job ends", end_lines(explanation_), false);
    if (!report_.all_waits.empty()) add_all_waits();
    if (!report_.made_by.empty()) {
      text_ += paragraph(models::printable(report_.made_by), options_.width, 0, 2);
    }
    return std::move(text_);
  }

  std::string head() {
    add_head();
    add_cycle();
    return std::move(text_);
  }

  std::string hang() {
    add_lines("Mismatched calls", mismatch_lines(explanation_), false);
    add_cycle();
    return std::move(text_);
  }

  std::string stuck() {
    if (explanation_.stuck > 0) add_collateral();
    if (!report_.all_waits.empty()) add_all_waits();
    return std::move(text_);
  }

 private:
  void add_head();
  bool summarizes(Cause cause) const { return explanation_.cause == cause; }
  void add_lines(const std::string& heading, const std::vector<std::string>& lines,
                 bool first_is_known);
  void add_mismatches();
  void add_cycle();
  void add_hints();
  void add_ranks();
  void add_finish_times();
  void add_table(const DataTable& table);
  void add_collateral();
  void add_all_waits();
  bool all() const { return !report_.all_waits.empty(); }
  void add_heading(const std::string& text) {
    text_ += fmt::format("\n{}\n", styled(options_, ansi::kBold, text));
  }
  void add_paragraph(std::string_view text, std::size_t first, std::size_t rest) {
    text_ += paragraph(text, options_.width, first, rest);
  }
  std::string device_text(const RankReport& rank) const;

  const Report& report_;
  const Explanation& explanation_;
  const TextOptions& options_;
  const bool has_lead_;
  std::string text_;
};

// Whether the summary repeats the first difference.
bool is_said_by(const models::FirstDifference& difference, const Explanation& explanation) {
  const auto& sides = difference.there.empty() ? difference.sides : difference.there;
  const bool leaves_out =
      std::any_of(sides.begin(), sides.end(), [](const auto& side) { return side.call.empty(); });
  return explanation.cause == (leaves_out ? Cause::kAbsentMember : Cause::kMismatch);
}

void TextReport::add_head() {
  const char* colour = verdict_style(explanation_.verdict);
  const std::string& name = report_.graph.name;
  text_ += head_line(
      fmt::format("{}{}{} at {}", name.empty() ? "" : styled(options_, ansi::kBold, name),
                  name.empty() ? "" : "  ", styled(options_, colour, verdict_text(explanation_)),
                  time_text(explanation_.time_ns)),
      fmt::format("{}, {} of {} done", counted(report_.graph.ranks, "rank"),
                  grouped(explanation_.ops_done), counted(explanation_.ops_expected, "op")),
      options_.width);
  if (report_.jitter.varies()) text_ += timing_text(report_.jitter) + "\n";
  if (has_lead_) return;
  text_ += lead_text(report_, options_);
  if (!models::has_nccl_modes(report_.graph)) return;
  const models::NcclMode mode = report_.graph.nccl_mode;
  add_paragraph(fmt::format("Assumes (--reading {}): {}", models::nccl_mode_name(mode),
                            nccl_mode_about(mode)),
                0, 2);
}

// Adds the mismatched calls that the summary does not name.
void TextReport::add_mismatches() {
  std::vector<std::string> lines = mismatch_lines(explanation_);
  if (!summarizes(Cause::kMismatch)) return add_lines("Mismatched calls", lines, false);
  lines.erase(lines.begin());
  add_lines("Other mismatched calls", lines, false);
}

void TextReport::add_cycle() {
  if (explanation_.cycle.empty()) return;
  add_heading(cycle_text(explanation_));
  text_ += waits_text(explanation_.cycle, true, !all(), options_);
  if (explanation_.cycle_groups <= 1) return;
  if (!all()) {
    add_paragraph(cycle_note(explanation_), 2, 2);
    return;
  }
  std::size_t number = 1;
  for (const models::CycleClass& cycles : explanation_.cycle_classes) {
    const std::vector<Wait>& cycle = cycles.first;
    if (number > 1) {
      add_heading(fmt::format("Cycle {} of {}: {}", grouped(number),
                              grouped(explanation_.cycle_groups), counted(cycle.size(), "wait")));
      text_ += waits_text(cycle, true, false, options_);
    }
    if (cycles.ranks.size() > 1) add_paragraph(alike_text(cycles), 2, 4);
    number += cycles.ranks.size();
  }
}

void TextReport::add_lines(const std::string& heading, const std::vector<std::string>& lines,
                           bool first_is_known) {
  if (lines.empty() || (first_is_known && lines.size() == 1)) return;
  add_heading(heading);
  for (const std::string& line : lines) add_paragraph(line, 2, 4);
}

void TextReport::add_hints() {
  const std::string advice = advice_text(report_);
  std::vector<std::string> lines;
  for (const models::Misplacement& found : report_.misplacements) {
    std::string line = misplacement_text(found) + ".";
    if (advice.find(line) == std::string::npos) lines.push_back(std::move(line));
  }
  if (lines.empty() && report_.remedies.empty()) return;
  add_heading("What to look at");
  for (const std::string& line : lines) add_paragraph(line, 2, 4);
  if (report_.remedies.empty()) return;
  add_paragraph(kRemediesHeading, 2, 4);
  for (const models::Remedy& remedy : report_.remedies) add_paragraph(remedy_text(remedy), 4, 6);
}

std::string TextReport::device_text(const RankReport& rank) const {
  if (explanation_.verdict == Verdict::kLimit) return "";
  if (rank.dead) return styled(options_, ansi::kRed, "dead");
  return "GPU " + (rank.spins ? styled(options_, ansi::kRed, "100% (spinning)") : "idle");
}

// Returns the title of a row of progress: "world group", "main".
std::string title(const Progress& progress) {
  constexpr std::string_view kThe = "the ";
  if (progress.name.empty()) return progress.what;
  return progress.name.starts_with(kThe) ? progress.name.substr(kThe.size()) : progress.name;
}

// Returns the rows that show the position of a rank: unfinished rows, and the rows of its hosts.
// Returns all rows if there are no such rows.
std::vector<const Progress*> open_rows(const RankReport& rank) {
  std::vector<const Progress*> all;
  std::vector<const Progress*> open;
  for (const Progress& progress : rank.progress) {
    all.push_back(&progress);
    const bool is_open = progress.stuck || progress.done < progress.expected;
    if (is_open || progress.of == Progress::Of::kHost) open.push_back(&progress);
  }
  return open.empty() ? all : open;
}

// Adds a stanza per class of ranks with equal progress.
void TextReport::add_ranks() {
  constexpr std::size_t kMaxStanzas = 12;
  if (explanation_.verdict == Verdict::kCompleted) return;
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> stanzas;
  std::map<std::string, std::size_t> stanza_of;
  for (std::size_t i = 0; i < explanation_.ranks.size(); ++i) {
    const RankReport& rank = explanation_.ranks[i];
    std::size_t widest = 0;
    const std::vector<const Progress*> rows = open_rows(rank);
    for (const Progress* progress : rows) widest = std::max(widest, title(*progress).size());
    const std::string device = device_text(rank);
    std::string text = (device.empty() ? "" : ": " + device) + "\n";
    for (const Progress* progress : rows) {
      text += paragraph(
          fmt::format("{:{}}  {}", title(*progress), widest, progress_text(rank, *progress)),
          options_.width, 4, 6 + widest);
    }
    const auto [known, is_new] = stanza_of.emplace(std::move(text), stanzas.size());
    if (is_new) stanzas.emplace_back(known->first, std::vector<std::uint32_t>());
    std::vector<std::uint32_t>& ranks = stanzas[known->second].second;
    if (report_.alike.empty()) {
      ranks.push_back(rank.rank);
    } else {
      ranks.insert(ranks.end(), report_.alike[i].begin(), report_.alike[i].end());
    }
  }
  if (!report_.alike.empty()) {
    for (auto& [text, ranks] : stanzas) std::sort(ranks.begin(), ranks.end());
  }
  add_heading("Progress of each rank");
  const std::size_t shown = all() ? stanzas.size() : std::min(stanzas.size(), kMaxStanzas);
  for (std::size_t i = 0; i < shown; ++i) {
    text_ += fmt::format("  {}{}", ranks_text(stanzas[i].second), stanzas[i].first);
  }
  if (shown == stanzas.size()) return;
  std::size_t left = 0;
  for (std::size_t i = shown; i < stanzas.size(); ++i) left += stanzas[i].second.size();
  text_ += fmt::format("  and {} (--all lists them)\n", counted(left, "more rank"));
}

// Adds exact finish times in nanoseconds, for comparison with other tools. Adjacent ranks that
// finish together share a row.
void TextReport::add_finish_times() {
  if (explanation_.verdict != Verdict::kCompleted || !report_.alike.empty()) return;
  constexpr std::size_t kMaxFinishRows = 16;
  const std::vector<RankReport>& ranks = explanation_.ranks;
  Table table(
      {styled(options_, ansi::kBold, "rank"), styled(options_, ansi::kBold, "finishes at")});
  std::size_t rows = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    if (!ranks[i].finish_ns) return;
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end].finish_ns == ranks[i].finish_ns) ++end;
    if (rows++ == kMaxFinishRows) {
      table.add({fmt::format("{}-{}", i, ranks.size() - 1), "see --json"});
      break;
    }
    table.add({end - i == 1 ? std::to_string(i) : fmt::format("{}-{}", i, end - 1),
               fmt::format("{} ns", *ranks[i].finish_ns)});
    i = end;
  }
  text_ += "\n" + table.fitted(options_.width);
}

void TextReport::add_table(const DataTable& table) {
  add_heading(table.title);
  if (!table.about.empty()) add_paragraph(table.about, 2, 2);
  text_ += table_text(table, options_, 2);
}

void TextReport::add_collateral() {
  text_ += "\n";
  const std::uint64_t left = explanation_.ops_expected - explanation_.ops_done;
  if (explanation_.cycle.empty()) {
    text_ += fmt::format("Not done: {}, {}blocked.\n", counted(left, "op"),
                         left == 1                    ? ""
                         : left == explanation_.stuck ? "all "
                                                      : grouped(explanation_.stuck) + " of them ");
    return;
  }
  const bool several = !explanation_.other_cycles.empty();
  const auto& distances = explanation_.collateral_by_distance;
  const std::uint32_t behind =
      std::accumulate(distances.begin(), distances.end(), std::uint32_t{0});
  const std::uint32_t elsewhere = explanation_.collateral - behind;
  std::string text;
  const auto blocked = [](std::uint32_t count) {
    return fmt::format("{} {} blocked", counted(count, "more op"), count == 1 ? "is" : "are");
  };
  if (behind > 0) {
    text = fmt::format("{} behind {}", blocked(behind), several ? "the cycles" : "the cycle");
  }
  if (elsewhere > 0) {
    text += fmt::format("{}{} elsewhere", behind > 0 ? "; " : "", blocked(elsewhere));
  }
  if (explanation_.collateral == 0) {
    text = "No other op is blocked";
  } else if (!all()) {
    text += " (--all lists them)";
  }
  text += ".";
  if (left > explanation_.stuck) {
    const std::uint64_t later = left - explanation_.stuck;
    text += fmt::format(" {} {} never reached.", counted(later, "more op"),
                        later == 1 ? "was" : "were");
  }
  add_paragraph(text, 0, 2);
}

void TextReport::add_all_waits() {
  add_heading("All waits");
  for (const Wait& wait : report_.all_waits) {
    add_paragraph(fmt::format("{} ({}) {}  [{}]", party_text(wait.from), stage_text(wait.from.op),
                              wait_text(wait), kind_label(wait.kind)),
                  2, 4);
  }
}

}  // namespace

std::string text_report(const Report& report, const TextOptions& options, bool has_lead) {
  return TextReport(report, options, has_lead).run();
}

std::string lead_text(const Report& report, const TextOptions& options) {
  const models::FirstDifference* difference = shown_difference(report);
  std::string text =
      difference == nullptr ? std::string() : first_difference_text(*difference, options);
  if (difference == nullptr || !is_said_by(*difference, report.explanation)) {
    text += paragraph(summary_text(report.explanation), options.width, 0, 2);
  }
  return text + paragraph(advice_text(report), options.width, 0, 2);
}

std::string head_text(const Report& report, const TextOptions& options) {
  return TextReport(report, options).head();
}

std::string hang_text(const Report& report, const TextOptions& options) {
  return TextReport(report, options).hang();
}

std::string stuck_text(const Report& report, const TextOptions& options) {
  return TextReport(report, options).stuck();
}

}  // namespace pipesim::viz
