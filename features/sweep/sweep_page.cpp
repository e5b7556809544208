#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/graph/diagnostics.hpp"
#include "models/result/expectation.hpp"
#include "models/result/jitter.hpp"
#include "viz/page/table_page.hpp"
#include "viz/report/command_text.hpp"
#include "viz/report/words.hpp"

#include "features/sweep/sweep_report.hpp"

namespace pipesim::viz {
namespace {

using models::DistinctHang;
using models::PointSummary;
using models::SweptVariable;

/// Settings with the same endings: all combinations of some values of each variable.
struct FoldedSettings {
  std::vector<std::vector<std::size_t>> values;  // by variable: ascending indices of values
  std::vector<std::size_t> points;
};

// Returns the key for grouping settings: their hangs, and whether some of their runs complete.
std::string ending_key(const PointSummary& sum) {
  std::string text;
  for (const models::HangCount& hang : sum.hangs) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", hang_name(hang.hang));
  }
  if (text.empty()) return "completes";
  return sum.not_completed() < sum.runs ? text + " in some timings" : text;
}

class SweepPage {
 public:
  SweepPage(const SweepReport& report, const std::vector<models::Explanation>& ends)
      : report_(report), ends_(ends) {}

  std::string run(std::string made_by) {
    const std::uint64_t bad = report_.summary.not_completed;
    page_.name = (report_.name.empty() ? report_.path : report_.name) + ":";
    page_.headline = bad == 0 ? fmt::format("{}, all complete", counted(report_.cases.count, "run"))
                              : fmt::format("{} of {} do not complete", grouped(bad),
                                            counted(report_.cases.count, "run"));
    page_.verdict = bad == 0                     ? "all complete"
                    : bad == report_.cases.count ? "none completes"
                                                 : "some do not complete";
    page_.good = bad == 0;
    tell();
    add_endings();
    add_plot();
    add_settings();
    for (std::size_t i = 0; i < std::min(kMaxPageHangs, report_.summary.hangs.size()); ++i) {
      add_hang(i);
    }
    page_.text = sweep_text(report_, false);
    page_.made_by = std::move(made_by);
    return html_page(page_);
  }

 private:
  const std::vector<SweptVariable>& variables() const { return report_.grid.variables; }

  void tell() {
    std::vector<std::string> varied;
    for (const SweptVariable& variable : variables()) {
      varied.push_back(fmt::format("{} = {}", variable.name, models::values_text(variable.values)));
    }
    if (!varied.empty()) {
      page_.story.push_back(fmt::format("Varied: {}: {}.", fmt::join(varied, "; "),
                                        counted(report_.cases.points.size(), "setting")));
    }
    if (!report_.settings.empty()) {
      std::vector<std::string> given;
      for (const auto& [name, value] : report_.settings) given.push_back(name + " = " + value);
      page_.story.push_back(fmt::format("In all runs: {}.", fmt::join(given, ", ")));
    }
    if (report_.grid.seeds > 1) {
      page_.story.push_back(fmt::format("{} of each setting in which durations vary, from seed {}.",
                                        counted(report_.grid.seeds, "random timing"),
                                        report_.grid.first_seed));
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(3, report_.summary.hangs.size()); ++i) {
      const DistinctHang& hang = report_.summary.hangs[i];
      page_.story.push_back(
          fmt::format("{}, {}: {}.", hang_name(i), counted(hang.count, "run"), hang.why));
    }
  }

  // Formats settings: "acc=3..8, jitter=any", or "every setting".
  std::string settings_words(const FoldedSettings& settings) const {
    std::string text;
    bool all = true;
    for (std::size_t i = 0; i < variables().size(); ++i) {
      const std::vector<std::string>& values = variables()[i].values;
      const bool any = settings.values[i].size() == values.size();
      all = all && any;
      if (any && values.size() > 1) continue;
      std::vector<std::string> some;
      for (const std::size_t value : settings.values[i]) some.push_back(values[value]);
      text += fmt::format("{}{}={}", text.empty() ? "" : " ", variables()[i].name,
                          models::values_text(some));
    }
    return text.empty() || all ? "every setting" : text;
  }

  // Folds settings with the same endings into few rows: merges rows that differ in the values of
  // one variable.
  std::vector<FoldedSettings> folded(const std::vector<std::size_t>& points) const {
    std::vector<FoldedSettings> rows;
    for (const std::size_t point : points) {
      FoldedSettings row;
      std::size_t rest = point;
      row.values.resize(variables().size());
      for (std::size_t i = variables().size(); i-- > 0;) {  // the last variable changes fastest
        row.values[i] = {rest % variables()[i].values.size()};
        rest /= variables()[i].values.size();
      }
      row.points = {point};
      rows.push_back(std::move(row));
    }
    for (std::size_t i = variables().size(); i-- > 0;) {
      std::map<std::vector<std::vector<std::size_t>>, std::size_t> known;
      std::vector<FoldedSettings> merged;
      for (FoldedSettings& row : rows) {
        auto others = row.values;
        others[i].clear();
        const auto [place, is_new] = known.emplace(std::move(others), merged.size());
        if (is_new) {
          merged.push_back(std::move(row));
          continue;
        }
        FoldedSettings& into = merged[place->second];
        into.values[i].push_back(row.values[i].front());
        into.points.insert(into.points.end(), row.points.begin(), row.points.end());
      }
      rows = std::move(merged);
    }
    return rows;
  }

  void add_endings() {
    if (report_.summary.hangs.empty() || variables().empty()) return;
    TablePage::Part part{.id = "endings", .name = "Which settings", .title = "Which settings hang"};
    part.about =
        "Settings that end alike share a row. Letters are the hangs below; a setting that "
        "completes "
        "does so in all timings that were tried.";
    part.columns = {{"settings"},
                    {"ends"},
                    {"of them", "number"},
                    {"runs", "number"},
                    {"not completed", "number"}};
    std::map<std::string, std::vector<std::size_t>> points_of;
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < report_.cases.points.size(); ++i) {
      const std::string key = ending_key(report_.summary.points[i]);
      if (points_of[key].empty()) keys.push_back(key);
      points_of[key].push_back(i);
    }
    for (const std::string& key : keys) {
      for (const FoldedSettings& row : folded(points_of[key])) {
        std::uint64_t runs = 0;
        std::uint64_t bad = 0;
        for (const std::size_t point : row.points) {
          runs += report_.summary.points[point].runs;
          bad += report_.summary.points[point].not_completed();
        }
        part.rows.push_back({settings_words(row), key, static_cast<std::int64_t>(row.points.size()),
                             static_cast<std::int64_t>(runs), static_cast<std::int64_t>(bad)});
      }
    }
    page_.parts.push_back(std::move(part));
  }

  void add_plot() {
    if (report_.cases.points.size() < 2) return;
    TablePage::Part part{.id = "plot", .name = "Plot", .title = "Hangs and times by setting"};
    part.svg = sweep_plot(report_);
    page_.parts.push_back(std::move(part));
  }

  void add_settings() {
    TablePage::Part part{.id = "settings", .name = "Settings", .title = "All settings"};
    part.about = "Times are those of the runs that complete.";
    for (const SweptVariable& variable : variables()) part.columns.push_back({variable.name});
    part.columns.insert(part.columns.end(), {{"runs", "number"},
                                             {"not completed", "number"},
                                             {"shortest", "time"},
                                             {"median", "time"},
                                             {"longest", "time"}});
    const auto& points = report_.summary.points;
    const bool has_memory = std::any_of(points.begin(), points.end(), [](const PointSummary& sum) {
      return sum.peak_bytes.has_value();
    });
    if (has_memory) part.columns.push_back({"peak memory", "bytes"});
    if (!report_.summary.hangs.empty()) part.columns.push_back({"ends"});
    for (std::size_t i = 0; i < points.size(); ++i) {
      const PointSummary& sum = points[i];
      std::vector<TablePage::Cell> row;
      for (const std::string& value : report_.cases.points[i].values) row.emplace_back(value);
      row.emplace_back(static_cast<std::int64_t>(sum.runs));
      row.emplace_back(static_cast<std::int64_t>(sum.not_completed()));
      for (const auto which :
           {&models::Spread::least, &models::Spread::middle, &models::Spread::most}) {
        row.push_back(sum.makespan_ns ? TablePage::Cell((*sum.makespan_ns).*which)
                                      : TablePage::Cell());
      }
      if (has_memory)
        row.push_back(sum.peak_bytes ? TablePage::Cell(*sum.peak_bytes) : TablePage::Cell());
      if (!report_.summary.hangs.empty()) row.emplace_back(ending_key(sum));
      part.rows.push_back(std::move(row));
    }
    page_.parts.push_back(std::move(part));
  }

  void add_hang(std::size_t index) {
    const DistinctHang& hang = report_.summary.hangs[index];
    const std::string name = hang_name(index);
    const std::string id = "hang-" + name;
    TablePage::Part part{.id = id,
                         .name = index < 4 ? "Hang " + name : "",
                         .title = fmt::format("Hang {}: {}", name, counted(hang.count, "run"))};
    part.lines = {hang.why,
                  "Run the first of them: " + sweep_run_command(report_, hang.first_case)};
    std::vector<std::size_t> points;
    for (std::size_t i = 0; i < report_.summary.points.size(); ++i) {
      const auto& hangs = report_.summary.points[i].hangs;
      const bool has = std::any_of(hangs.begin(), hangs.end(), [&](const models::HangCount& each) {
        return each.hang == index;
      });
      if (has) points.push_back(i);
    }
    constexpr std::size_t kMaxSettings = 8;
    const std::vector<FoldedSettings> rows = folded(points);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < std::min(kMaxSettings, rows.size()); ++i) {
      words.push_back(settings_words(rows[i]));
    }
    if (rows.size() > kMaxSettings)
      words.push_back(fmt::format("{} more", rows.size() - kMaxSettings));
    part.lines.push_back(fmt::format("In: {}", fmt::join(words, "; ")));
    if (index < ends_.size()) {
      const auto reasons = reason_lines(ends_[index]);
      part.lines.insert(part.lines.end(), reasons.begin(), reasons.end());
    }
    page_.parts.push_back(std::move(part));
    if (index >= ends_.size() || ends_[index].cycle.empty()) return;
    TablePage::Part cycle =
        cycle_part("cycle-" + name, cycle_text(ends_[index]), ends_[index].cycle);
    cycle.about =
        "Of the first run; all of this hang have the same ops in their cycle. Each row waits for "
        "the row below it, and the last for the first.";
    page_.parts.push_back(std::move(cycle));
  }

  const SweepReport& report_;
  const std::vector<models::Explanation>& ends_;
  TablePage page_;
};

}  // namespace

std::string sweep_command_text(const SweepReport& report) {
  std::vector<std::string> words = {"sweep", report.path};
  for (const auto& [name, value] : report.settings) {
    words.insert(words.end(), {"--set", name + "=" + value});
  }
  for (const SweptVariable& variable : report.grid.variables) {
    words.insert(words.end(),
                 {"--vary", variable.name + "=" + models::values_text(variable.values)});
  }
  if (report.grid.seeds > 1) {
    words.insert(words.end(), {"--seeds", std::to_string(report.grid.seeds)});
  }
  if (report.grid.first_seed > 0) {
    words.insert(words.end(), {"--first-seed", std::to_string(report.grid.first_seed)});
  }
  return command_line_text(words);
}

std::string sweep_page(const SweepReport& report, const std::vector<models::Explanation>& ends,
                       std::string made_by) {
  return SweepPage(report, ends).run(std::move(made_by));
}

}  // namespace pipesim::viz
