#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/graph/diagnostics.hpp"
#include "models/report_schema.hpp"
#include "models/result/expectation.hpp"
#include "models/result/jitter.hpp"
#include "viz/report/command_text.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/table.hpp"
#include "viz/report/words.hpp"

#include "features/sweep/sweep_report.hpp"

namespace pipesim::viz {
namespace {

using Json = nlohmann::ordered_json;
using models::DistinctHang;
using models::PointSummary;
using models::Spread;
using models::SweepPoint;
using Settings = std::vector<std::pair<std::string, std::string>>;

bool varies_jitter(const SweepReport& report) {
  const auto& variables = report.grid.variables;
  return std::any_of(variables.begin(), variables.end(), [](const models::SweptVariable& variable) {
    return variable.name == models::kJitterVariable;
  });
}

// Returns the parameters of a point, without the jitter.
Settings parameters_of(const SweepReport& report, const SweepPoint& point) {
  Settings result;
  for (std::size_t i = 0; i < point.values.size(); ++i) {
    const std::string& name = report.grid.variables[i].name;
    if (name != models::kJitterVariable) result.emplace_back(name, point.values[i]);
  }
  return result;
}

std::string jitter_words(const std::string& jitter) {
  if (jitter == "free") return "all durations are random";
  return fmt::format("durations vary by up to {}", jitter);
}

class SweepText {
 public:
  SweepText(const SweepReport& report, bool colour) : report_(report), colour_(colour) {}

  std::string run() {
    add_head();
    add_table();
    add_hangs();
    return std::move(text_);
  }

 private:
  void add_head() {
    const std::uint64_t runs = report_.cases.count;
    const std::uint64_t bad = report_.summary.not_completed;
    const std::string end =
        bad == 0
            ? styled(ansi::kGreen, runs == 1 ? "it completes" : "all complete", colour_)
            : styled(ansi::kRed,
                     fmt::format("{} of {} do not complete", grouped(bad), grouped(runs)), colour_);
    const std::string name = models::printable(report_.name.empty() ? report_.path : report_.name);
    text_ +=
        fmt::format("{}  {}: {}\n", styled(ansi::kBold, name, colour_), counted(runs, "run"), end);
    std::string with;
    for (const auto& [parameter, value] : report_.settings) {
      with += fmt::format("{}{}={}", with.empty() ? "" : ", ", parameter, value);
    }
    if (!with.empty()) text_ += fmt::format("With {}\n", models::printable(with));
    add_timings();
  }

  void add_timings() {
    const models::ParameterGrid& grid = report_.grid;
    const bool any = std::any_of(report_.cases.points.begin(), report_.cases.points.end(),
                                 [](const SweepPoint& point) { return point.jitter.varies(); });
    if (!any) return;
    const std::string seeds = grid.seeds == 1 ? fmt::format("seed {}", grid.first_seed)
                                              : fmt::format("seeds {} to {}", grid.first_seed,
                                                            grid.first_seed + grid.seeds - 1);
    const std::string how =
        varies_jitter(report_) ? "where durations vary" : jitter_words(report_.grid.jitter);
    text_ += varies_jitter(report_) ? fmt::format("Timings: {}, {}\n", seeds, how)
                                    : fmt::format("Timings: {}; {}\n", seeds, how);
  }

  void add_table() {
    bool has_memory = false;
    for (const PointSummary& point : report_.summary.points) {
      has_memory = has_memory || point.peak_bytes.has_value();
    }
    const bool has_hangs = !report_.summary.hangs.empty();
    std::vector<std::string> header;
    for (const models::SweptVariable& variable : report_.grid.variables) {
      header.push_back(models::printable(variable.name));
    }
    for (const char* title : {"runs", "failed", "shortest", "median", "longest"}) {
      header.emplace_back(title);
    }
    if (has_memory) header.emplace_back("peak memory");
    if (has_hangs) header.emplace_back("hangs");
    Table table(header);
    for (std::size_t i = 0; i < report_.cases.points.size(); ++i) {
      const PointSummary& sum = report_.summary.points[i];
      std::vector<std::string> row;
      for (const std::string& value : report_.cases.points[i].values) {
        row.push_back(models::printable(value));
      }
      row.push_back(std::to_string(sum.runs));
      row.push_back(share_text(sum.not_completed(), sum.runs));
      const auto time = [&](std::int64_t Spread::*which) {
        return sum.makespan_ns ? time_text((*sum.makespan_ns).*which) : "-";
      };
      row.push_back(time(&Spread::least));
      row.push_back(time(&Spread::middle));
      row.push_back(time(&Spread::most));
      if (has_memory) row.push_back(sum.peak_bytes ? bytes_text(*sum.peak_bytes) : "-");
      if (has_hangs) row.push_back(counts_text(sum));
      table.add(std::move(row));
    }
    text_ += "\n" + table.fitted(kDefaultWidth);
  }

  static std::string counts_text(const PointSummary& sum) {
    constexpr std::size_t kMaxShown = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(kMaxShown, sum.hangs.size()); ++i) {
      const models::HangCount& hang = sum.hangs[i];
      text += fmt::format("{}{} {}", i == 0 ? "" : ", ", hang_name(hang.hang), hang.count);
    }
    if (sum.hangs.size() > kMaxShown) {
      text += fmt::format(", {} more", sum.hangs.size() - kMaxShown);
    }
    return text;
  }

  void add_hangs() {
    constexpr std::size_t kMaxHangs = 12;
    const std::vector<DistinctHang>& hangs = report_.summary.hangs;
    if (hangs.empty()) return;
    text_ += fmt::format("\n{}\n", styled(ansi::kBold, "Runs that do not complete", colour_));
    for (std::size_t i = 0; i < std::min(kMaxHangs, hangs.size()); ++i) {
      const DistinctHang& hang = hangs[i];
      // A cause such as "mismatch: all_reduce" already names the verdict.
      const std::string verdict = models::verdict_name(hang.verdict);
      const bool says_verdict = hang.why.rfind(verdict, 0) == 0;
      text_ +=
          paragraph(fmt::format("{:>2}  {}: {}{}", hang_name(i), counted(hang.count, "run"),
                                says_verdict ? "" : verdict + ", ", models::printable(hang.why)),
                    kDefaultWidth, 1, 5);
      // The command stays on one line, so that users can paste it into a shell.
      text_ += fmt::format("     {}\n", sweep_run_command(report_, hang.first_case));
    }
    if (hangs.size() > kMaxHangs) {
      text_ += fmt::format("     and {} more; --json lists them\n", hangs.size() - kMaxHangs);
    }
  }

  const SweepReport& report_;
  const bool colour_;
  std::string text_;
};

// ---------------------------------------------------------------------------------------------
// Data

// Returns a CSV field without control characters, because names and values are untrusted. Quotes
// the field if necessary, or if a spreadsheet would treat it as a formula.
std::string csv_field(const std::string& given) {
  const std::string text = models::printable(given);
  const bool is_formula = text.find_first_of("=+-@") == 0;
  if (!is_formula && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_row(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) line += ',';
    line += csv_field(field);
  }
  return line + "\n";
}

Json settings_json(const Settings& settings) {
  Json json = Json::object();
  for (const auto& [name, value] : settings) json[name] = value;
  return json;
}

Json spread_json(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"shortest", spread->least}, {"median", spread->middle}, {"longest", spread->most}};
}

Json point_json(const SweepReport& report, std::size_t index) {
  const SweepPoint& point = report.cases.points[index];
  const PointSummary& sum = report.summary.points[index];
  Json json = {{"parameters", settings_json(parameters_of(report, point))},
               {"jitter", models::jitter_text(point.jitter)},
               {"runs", sum.runs},
               {"not_completed", sum.not_completed()}};
  json["verdicts"] = Json::object();
  for (std::size_t i = 0; i < models::kVerdicts; ++i) {
    if (sum.by_verdict[i] == 0) continue;
    json["verdicts"][models::verdict_name(static_cast<sim::Verdict>(i))] = sum.by_verdict[i];
  }
  json["makespan_ns"] = spread_json(sum.makespan_ns);
  json["stopped_ns"] = spread_json(sum.stopped_ns);
  if (sum.peak_bytes) json["peak_bytes"] = *sum.peak_bytes;
  json["hangs"] = Json::array();
  for (const models::HangCount& hang : sum.hangs) {
    json["hangs"].push_back({{"hang", hang_name(hang.hang)},
                             {"runs", hang.count},
                             {"again", sweep_run_command(report, hang.first_case)}});
  }
  return json;
}

}  // namespace

std::string hang_name(std::size_t index) {
  std::string text;
  for (std::size_t i = index + 1; i > 0; i = (i - 1) / 26) {
    text.insert(text.begin(), static_cast<char>('A' + (i - 1) % 26));
  }
  return text;
}

std::string sweep_run_command(const SweepReport& report, std::uint64_t number) {
  Settings settings = report.settings;
  const Settings own = parameters_of(report, report.cases.point_of(number));
  settings.insert(settings.end(), own.begin(), own.end());
  std::string text = command_text("run", report.path, settings);
  const sim::Jitter jitter = report.cases.jitter_of(report.grid, number);
  if (jitter.varies()) {
    text += fmt::format(" --jitter {} --seed {}", models::jitter_text(jitter), jitter.seed);
  }
  return text;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  if (part == 0) return "0%";
  if (part == whole) return "100%";
  // No sweep has enough runs to overflow this product.
  const std::uint64_t permille = (part * 2000 + whole) / (whole * 2);
  if (permille == 0) return "<0.1%";
  if (permille == 1000) return ">99.9%";
  return fmt::format("{}.{}%", permille / 10, permille % 10);
}

std::string sweep_text(const SweepReport& report, bool colour) {
  return SweepText(report, colour).run();
}

std::string sweep_csv(const SweepReport& report) {
  std::vector<std::string> header;
  for (const models::SweptVariable& variable : report.grid.variables) {
    header.push_back(variable.name);
  }
  const bool varies = varies_jitter(report);
  if (!varies) header.emplace_back(models::kJitterVariable);
  for (const char* name : {"seed", "verdict", "time_ns", "acts_done", "acts_expected",
                           "fingerprint", "peak_bytes", "why"}) {
    header.emplace_back(name);
  }
  std::string text = csv_row(header);
  for (const SweepPoint& point : report.cases.points) {
    for (std::uint64_t i = point.first_case; i < point.first_case + point.cases; ++i) {
      const models::CaseResult& result = report.results[i];
      std::vector<std::string> row = point.values;
      if (!varies) row.push_back(report.grid.jitter);
      const std::uint64_t seed = report.grid.first_seed + (i - point.first_case);
      row.push_back(point.jitter.varies() ? std::to_string(seed) : "");
      row.push_back(models::verdict_name(result.verdict));
      row.push_back(std::to_string(result.time_ns));
      row.push_back(std::to_string(result.ops_done));
      row.push_back(std::to_string(result.ops_expected));
      row.push_back(fingerprint_text(result.fingerprint));
      row.push_back(result.peak_bytes ? std::to_string(*result.peak_bytes) : "");
      row.push_back(result.why);
      text += csv_row(row);
    }
  }
  return text;
}

std::string sweep_json(const SweepReport& report) {
  const models::ParameterGrid& grid = report.grid;
  Json json = {{"schema", models::kReportSchema},
               {"scenario", report.name},
               {"path", report.path},
               {"settings", settings_json(report.settings)},
               {"variables", Json::array()},
               {"seeds", {{"first", grid.first_seed}, {"count", grid.seeds}}},
               {"runs", report.cases.count},
               {"not_completed", report.summary.not_completed}};
  for (const models::SweptVariable& variable : grid.variables) {
    json["variables"].push_back({{"name", variable.name}, {"values", variable.values}});
  }
  json["points"] = Json::array();
  for (std::size_t i = 0; i < report.cases.points.size(); ++i) {
    json["points"].push_back(point_json(report, i));
  }
  json["hangs"] = Json::array();
  for (std::size_t i = 0; i < report.summary.hangs.size(); ++i) {
    const DistinctHang& hang = report.summary.hangs[i];
    json["hangs"].push_back({{"hang", hang_name(i)},
                             {"verdict", models::verdict_name(hang.verdict)},
                             {"why", hang.why},
                             {"runs", hang.count},
                             {"again", sweep_run_command(report, hang.first_case)}});
  }
  return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
