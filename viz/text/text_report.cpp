#include "viz/text/text_report.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "models/measure/expectation.hpp"
#include "viz/report_lines.hpp"
#include "viz/styled.hpp"
#include "viz/table.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using models::ActInfo;
using models::Explanation;
using models::Progress;
using models::RankReport;
using models::Wait;
using sim::Verdict;

std::vector<std::string> act_row(const std::string& number, const ActInfo& act,
                                 const TextOptions& options) {
  return {number, fmt::format("rank {}", act.rank), act.stream,
          styled(ansi::kBold, act_text(act), options.colour), act_detail(act)};
}

class TextReport {
 public:
  TextReport(const Report& report, const TextOptions& options)
      : report_(report), explanation_(report.explanation), options_(options) {}

  std::string run() {
    add_verdict();
    add_lines("What broke", broken_lines(explanation_));
    add_lines("What met and does not fit", mismatch_lines(explanation_));
    if (!explanation_.cycle.empty()) add_cycle();
    add_lines(roots_heading(explanation_), root_lines(explanation_));
    if (!report_.misplacements.empty() || !report_.remedies.empty()) add_hints();
    add_ranks();
    add_finish_times();
    if (report_.pipeline) add_pipeline(*report_.pipeline);
    if (report_.memory) add_memory(*report_.memory);
    if (explanation_.stuck > 0) add_collateral();
    add_lines("How the job ends", end_lines(explanation_));
    if (!report_.all_waits.empty()) add_all_waits();
    text_ += styled(ansi::kDim, "fingerprint " + fingerprint_text(explanation_.fingerprint)) + "\n";
    return std::move(text_);
  }

  std::string hang() {
    add_lines("What met and does not fit", mismatch_lines(explanation_));
    if (!explanation_.cycle.empty()) add_cycle();
    return std::move(text_);
  }

  std::string stuck() {
    if (explanation_.stuck > 0) add_collateral();
    if (!report_.all_waits.empty()) add_all_waits();
    return std::move(text_);
  }

 private:
  void add_verdict();
  void add_lines(const std::string& heading, const std::vector<std::string>& lines);
  void add_cycle();
  void add_hints();
  void add_ranks();
  void add_finish_times();
  void add_pipeline(const models::PipelineReport& pipeline);
  void add_memory(const models::MemoryReport& memory);
  void add_collateral();
  std::string distances_text(std::uint32_t behind) const;
  void add_all_waits();
  void add_heading(const std::string& text) {
    text_ += fmt::format("\n{}\n", styled(ansi::kBold, text));
  }
  std::string device_text(const RankReport& rank) const;
  std::string styled(const char* style, const std::string& text) const {
    return viz::styled(style, text, options_.colour);
  }

  const Report& report_;
  const Explanation& explanation_;
  const TextOptions& options_;
  std::string text_;
};

void TextReport::add_verdict() {
  const char* colour = explanation_.verdict == Verdict::kCompleted ? ansi::kGreen
                       : explanation_.verdict == Verdict::kLimit   ? ansi::kYellow
                                                                   : ansi::kRed;
  text_ += fmt::format("{}{}{} at {}   {}, {} of {} done\n",
                       report_.graph.name.empty() ? "" : styled(ansi::kBold, report_.graph.name),
                       report_.graph.name.empty() ? "" : "  ",
                       styled(colour, verdict_text(explanation_)), time_text(explanation_.time_ns),
                       counted(report_.graph.ranks, "rank"), explanation_.acts_done,
                       counted(explanation_.acts_expected, "act"));
  if (report_.jitter.varies()) text_ += timing_text(report_.jitter) + "\n";
}

void TextReport::add_cycle() {
  add_heading(cycle_text(explanation_));
  text_ += waits_text(explanation_.cycle, true, options_);
  if (explanation_.cycle_groups > 1) {
    text_ += fmt::format(
        "  There are {} groups of acts that wait for each other in circles; this is "
        "the shortest circle.\n",
        explanation_.cycle_groups);
  }
}

void TextReport::add_lines(const std::string& heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  add_heading(heading);
  for (const std::string& line : lines) text_ += fmt::format("  {}\n", line);
}

void TextReport::add_hints() {
  add_heading("What to look at");
  for (const models::Misplacement& found : report_.misplacements) {
    text_ += fmt::format("  {}\n", misplacement_text(found));
  }
  if (report_.remedies.empty()) return;
  text_ += fmt::format("  {}\n", kRemediesHeading);
  for (const models::Remedy& remedy : report_.remedies) {
    text_ += fmt::format("    {}\n", remedy_text(remedy));
  }
}

std::string TextReport::device_text(const RankReport& rank) const {
  if (explanation_.verdict == Verdict::kLimit) return "not at rest";
  if (rank.dead) return styled(ansi::kRed, "dead");
  return rank.spins ? styled(ansi::kRed, "100 % (spins)") : "idle";
}

// Ranks that say the same are told once, where the first of them stands.
void TextReport::add_ranks() {
  if (explanation_.verdict == Verdict::kCompleted) return;
  // A thread and a phase or stream may have one name.
  std::vector<std::pair<std::string, bool>> columns;
  for (const RankReport& rank : explanation_.ranks) {
    for (const Progress& progress : rank.progress) {
      const std::pair column(progress.what, progress.program);
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
        columns.push_back(column);
      }
    }
  }
  std::vector<std::string> header = {styled(ansi::kBold, "rank"), styled(ansi::kBold, "device")};
  for (const auto& [what, program] : columns) header.push_back(styled(ansi::kBold, what));
  std::vector<std::pair<const std::vector<std::string>*, std::vector<std::uint32_t>>> rows;
  std::map<std::vector<std::string>, std::size_t> row_of;
  for (const RankReport& rank : explanation_.ranks) {
    std::vector<std::string> row(header.size());
    row[1] = device_text(rank);
    for (const Progress& progress : rank.progress) {
      const auto column =
          std::find(columns.begin(), columns.end(), std::pair(progress.what, progress.program));
      row[2 + static_cast<std::size_t>(column - columns.begin())] = progress_text(progress);
    }
    const auto [known, is_new] = row_of.emplace(std::move(row), rows.size());
    if (is_new) rows.emplace_back(&known->first, std::vector<std::uint32_t>());
    rows[known->second].second.push_back(rank.rank);
  }
  Table table(header);
  for (const auto& [text, ranks] : rows) {
    std::vector<std::string> row = *text;
    row.front() = short_ranges(ranks);
    table.add(row);
  }
  text_ += "\n" + table.text();
}

// In nanoseconds, to be held against what another tool prints. Ranks in a row that end at the same
// moment are told once.
void TextReport::add_finish_times() {
  if (explanation_.verdict != Verdict::kCompleted) return;
  constexpr std::size_t kMostRows = 64;
  const std::vector<RankReport>& ranks = explanation_.ranks;
  Table table({styled(ansi::kBold, "rank"), styled(ansi::kBold, "finishes at")});
  std::size_t rows = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    if (!ranks[i].finish_ns) return;
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end].finish_ns == ranks[i].finish_ns) ++end;
    if (rows++ == kMostRows) {
      table.add({fmt::format("{}-{}", i, ranks.size() - 1), "see --json"});
      break;
    }
    table.add({end - i == 1 ? std::to_string(i) : fmt::format("{}-{}", i, end - 1),
               fmt::format("{} ns", *ranks[i].finish_ns)});
    i = end;
  }
  text_ += "\n" + table.text();
}

// What each rank waited for, as far as any did, and how much it held.
void TextReport::add_pipeline(const models::PipelineReport& pipeline) {
  using models::IdleTime;
  const std::vector<std::pair<const char*, std::int64_t IdleTime::*>> causes = {
      {"at the start", &IdleTime::start_ns},     {"for inputs", &IdleTime::input_ns},
      {"for gradients", &IdleTime::gradient_ns}, {"for messages", &IdleTime::message_ns},
      {"for the host", &IdleTime::host_ns},      {"at the end", &IdleTime::finished_ns},
  };
  std::vector<std::string> header = {"rank", "busy", "idle"};
  std::vector<std::int64_t IdleTime::*> shown;
  for (const auto& [name, time] : causes) {
    const bool any = std::any_of(
        pipeline.ranks.begin(), pipeline.ranks.end(),
        [field = time](const models::PipelineRank& rank) { return rank.idle.*field > 0; });
    if (!any) continue;
    header.emplace_back(name);
    shown.push_back(time);
  }
  header.emplace_back("peak activations");
  if (pipeline.has_memory) header.emplace_back("peak memory");
  for (std::string& cell : header) cell = styled(ansi::kBold, cell);
  Table table(header);
  for (std::size_t i = 0; i < pipeline.ranks.size(); ++i) {
    const models::PipelineRank& rank = pipeline.ranks[i];
    std::vector<std::string> row = {std::to_string(i), time_text(rank.busy_ns),
                                    time_text(rank.idle.all())};
    for (const auto time : shown) row.push_back(time_text(rank.idle.*time));
    row.push_back(std::to_string(rank.peak_activations));
    if (pipeline.has_memory) row.push_back(bytes_text(rank.peak_bytes));
    table.add(std::move(row));
  }
  add_heading(fmt::format("The schedule takes {}", time_text(pipeline.makespan_ns)));
  text_ += table.text(2);
}

// Ranks in a row that say the same are told once. That of a schedule alone is in its own table.
void TextReport::add_memory(const models::MemoryReport& memory) {
  if (!models::has_sizes_beside_schedule(report_.graph)) return;
  const bool any_held = std::any_of(memory.begin(), memory.end(),
                                    [](const models::RankMemory& rank) { return rank.held > 0; });
  std::vector<std::string> header = {styled(ansi::kBold, "rank")};
  if (any_held) header.push_back(styled(ansi::kBold, "all the time"));
  for (const char* name : {"reserved", "peak", "at"}) header.push_back(styled(ansi::kBold, name));
  Table table(header);
  for (std::size_t i = 0; i < memory.size();) {
    const models::RankMemory& rank = memory[i];
    const auto differs = [&](const models::RankMemory& other) { return other != rank; };
    const auto from = memory.begin() + static_cast<std::ptrdiff_t>(i);
    const auto end =
        static_cast<std::size_t>(std::find_if(from, memory.end(), differs) - memory.begin());
    std::vector<std::string> row = {end - i == 1 ? std::to_string(i)
                                                 : fmt::format("{}-{}", i, end - 1)};
    if (any_held) row.push_back(bytes_text(rank.held));
    row.push_back(bytes_text(rank.reserved));
    row.push_back(bytes_text(rank.peak));
    row.push_back(time_text(rank.peak_ns));
    table.add(std::move(row));
    i = end;
  }
  add_heading("Memory");
  text_ += table.text(2);
}

void TextReport::add_collateral() {
  text_ += "\n";
  if (explanation_.cycle.empty()) {
    text_ += fmt::format("Stuck: {}.\n", counted(explanation_.stuck, "act"));
    return;
  }
  if (explanation_.collateral == 0) {
    text_ += "Nothing else is stuck.\n";
    return;
  }
  const auto& distances = explanation_.collateral_by_distance;
  const std::uint32_t behind =
      std::accumulate(distances.begin(), distances.end(), std::uint32_t{0});
  const std::uint32_t elsewhere = explanation_.collateral - behind;
  if (behind > 0) {
    text_ += fmt::format("Behind the cycle: {} ({})", counted(behind, "more act"),
                         distances_text(behind));
  }
  if (elsewhere > 0) {
    text_ += fmt::format("{} not behind this cycle: {}", behind > 0 ? "; stuck, but" : "Stuck, but",
                         counted(elsewhere, "act"));
  }
  text_ += report_.all_waits.empty() ? "; --all lists them.\n" : ".\n";
}

// "3 at 1 wait, 2 at 2 waits, 4 farther".
std::string TextReport::distances_text(std::uint32_t behind) const {
  constexpr std::size_t kMostDistances = 4;
  std::string text;
  std::uint32_t told = 0;
  for (std::size_t i = 0; i < explanation_.collateral_by_distance.size() && i < kMostDistances;
       ++i) {
    const std::uint32_t count = explanation_.collateral_by_distance[i];
    told += count;
    text += fmt::format("{}{} at {}", text.empty() ? "" : ", ", count, counted(i + 1, "wait"));
  }
  if (told < behind) text += fmt::format(", {} farther", behind - told);
  return text;
}

void TextReport::add_all_waits() {
  add_heading("All waits");
  Table table;
  for (const Wait& wait : report_.all_waits) {
    const std::string to = party_text(wait.to);
    table.add({party_text(wait.from), wait.from.act.stream, stage_text(wait.from.act),
               fmt::format("{} {}", wait_text(wait), to),
               fmt::format("[{}]", kind_name(wait.kind))});
  }
  text_ += table.text(2);
}

}  // namespace

std::string waits_text(const std::vector<Wait>& waits, bool closes, const TextOptions& options) {
  Table table;
  std::size_t number = 0;
  for (const Wait& wait : waits) {
    std::vector<std::string> row = act_row(std::to_string(++number), wait.from.act, options);
    row.push_back(stage_text(wait.from.act));
    row.push_back(wait_text(wait) + (closes && number == waits.size() ? " 1" : ""));
    row.push_back(styled(ansi::kDim,
                         fmt::format("[{}{}]", kind_name(wait.kind), wait.any ? ", any" : ""),
                         options.colour));
    table.add(std::move(row));
  }
  return table.text(2, true);
}

std::string text_report(const Report& report, const TextOptions& options) {
  return TextReport(report, options).run();
}

std::string hang_text(const Report& report, const TextOptions& options) {
  return TextReport(report, options).hang();
}

std::string stuck_text(const Report& report, const TextOptions& options) {
  return TextReport(report, options).stuck();
}

}  // namespace pipesim::viz
