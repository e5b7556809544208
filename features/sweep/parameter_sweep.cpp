#include "features/sweep/parameter_sweep.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "models/result/hang_signature.hpp"
#include "models/result/jitter.hpp"
#include "models/result/memory.hpp"
#include "models/result/simulation.hpp"
#include "sim/assert.hpp"

namespace pipesim::models {
namespace {

/// A whole number with its unit: "12ms".
struct WholeFigure {
  std::int64_t number = 0;
  std::string_view unit;
};

std::optional<WholeFigure> whole_figure(std::string_view text) {
  WholeFigure result;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, result.number);
  if (problem != std::errc()) return std::nullopt;
  result.unit = std::string_view(stop, static_cast<std::size_t>(end - stop));
  const bool is_word = std::all_of(result.unit.begin(), result.unit.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%' || c == '/';
  });
  if (!is_word) return std::nullopt;
  return result;
}

class VariableParser {
 public:
  VariableParser(const std::string& text, std::string& problem) : text_(text), problem_(problem) {}

  std::optional<SweptVariable> run() {
    const std::size_t equals = text_.find('=');
    if (equals == std::string::npos || equals == 0) {
      problem_ = "expected NAME=VALUES, found '" + text_ + "'";
      return std::nullopt;
    }
    result_.name = text_.substr(0, equals);
    for (std::size_t begin = equals + 1; begin <= text_.size();) {
      const std::size_t end = std::min(text_.find(',', begin), text_.size());
      if (!add_item(text_.substr(begin, end - begin))) return std::nullopt;
      begin = end + 1;
    }
    return std::move(result_);
  }

 private:
  bool refuse(const std::string& why) {
    problem_ = text_ + ": " + why;
    return false;
  }

  bool add(const std::string& value) {
    if (!seen_.insert(value).second) return refuse("'" + value + "' is listed twice");
    if (result_.values.size() == kMaxCases)
      return refuse("this is more than " + std::to_string(kMaxCases) + " values");
    result_.values.push_back(value);
    return true;
  }

  bool add_item(const std::string& item) {
    if (item.empty()) return refuse("a value is missing");
    const std::size_t dots = item.find("..");
    return dots == std::string::npos ? add(item) : add_range(item, dots);
  }

  bool add_range(const std::string& item, std::size_t dots) {
    const std::size_t colon = std::min(item.find(':', dots), item.size());
    const std::string_view text = item;
    const auto first = whole_figure(text.substr(0, dots));
    const auto last = whole_figure(text.substr(dots + 2, colon - dots - 2));
    auto step = std::optional(WholeFigure{1, first ? first->unit : ""});
    if (colon < item.size()) step = whole_figure(text.substr(colon + 1));
    if (!first || !last || !step || first->unit != last->unit || first->unit != step->unit) {
      return refuse(
          "expected two integers with the same unit or none, and an optional step: "
          "1..8, 1ms..9ms:2ms");
    }
    if (step->number <= 0) return refuse("the step of a range must be at least 1");
    if (first->number > last->number) return refuse("the range ends before it begins");
    const auto width =
        static_cast<std::uint64_t>(last->number) - static_cast<std::uint64_t>(first->number);
    const std::uint64_t steps = width / static_cast<std::uint64_t>(step->number);
    if (steps >= kMaxCases)
      return refuse("this is more than " + std::to_string(kMaxCases) + " values");
    for (std::uint64_t i = 0; i <= steps; ++i) {
      const std::int64_t value = first->number + static_cast<std::int64_t>(i) * step->number;
      if (!add(std::to_string(value) + std::string(first->unit))) return false;
    }
    return true;
  }

  const std::string& text_;
  std::string& problem_;
  SweptVariable result_;
  std::set<std::string> seen_;
};

}  // namespace

std::optional<SweptVariable> parse_variable(const std::string& text, std::string& problem) {
  return VariableParser(text, problem).run();
}

std::string values_text(const std::vector<std::string>& values) {
  const auto is_next = [](const std::string& before, const std::string& after) {
    const auto a = whole_figure(before);
    const auto b = whole_figure(after);
    return a && b && a->unit == b->unit && b->number == a->number + 1;
  };
  std::string text;
  for (std::size_t i = 0; i < values.size();) {
    std::size_t end = i + 1;
    while (end < values.size() && is_next(values[end - 1], values[end])) ++end;
    if (end - i < 3) end = i + 1;
    if (!text.empty()) text += ',';
    text += end == i + 1 ? values[i] : values[i] + ".." + values[end - 1];
    i = end;
  }
  return text;
}

// ---------------------------------------------------------------------------------------------
// Cases

const SweepPoint& SweepCases::point_of(std::uint64_t number) const {
  const auto after = std::upper_bound(
      points.begin(), points.end(), number,
      [](std::uint64_t n, const SweepPoint& point) { return n < point.first_case; });
  return *(after - 1);
}

sim::Jitter SweepCases::jitter_of(const ParameterGrid& grid, std::uint64_t number) const {
  const SweepPoint& point = point_of(number);
  sim::Jitter jitter = point.jitter;
  jitter.seed = grid.first_seed + (number - point.first_case);
  return jitter;
}

std::optional<SweepCases> lay_out(const ParameterGrid& grid, std::string& problem) {
  const auto refuse = [&](const std::string& why) {
    problem = why;
    return std::nullopt;
  };
  const auto too_many = [&] {
    return refuse("this is more than " + std::to_string(kMaxCases) +
                  " runs: too many for one sweep");
  };
  std::uint64_t points = 1;
  for (const SweptVariable& variable : grid.variables) {
    points *= variable.values.size();
    if (points > kMaxCases) return too_many();
  }
  SweepCases result;
  std::map<std::vector<std::string>, std::size_t> combinations;
  for (std::uint64_t i = 0; i < points; ++i) {
    SweepPoint point;
    std::vector<std::string> parameters;
    std::string jitter = grid.jitter;
    std::uint64_t size = points;
    for (const SweptVariable& variable : grid.variables) {
      size /= variable.values.size();
      const std::string& value = variable.values[i / size % variable.values.size()];
      point.values.push_back(value);
      (variable.name == kJitterVariable ? jitter : parameters.emplace_back()) = value;
    }
    const auto parsed = parse_jitter(jitter);
    if (!parsed) {
      return refuse("jitter is " + std::string(kJitterForms) + ", found '" + jitter + "'");
    }
    point.jitter = *parsed;
    point.combination = combinations.try_emplace(parameters, combinations.size()).first->second;
    if (point.combination == result.combinations.size()) result.combinations.push_back(i);
    point.first_case = result.count;
    point.cases = point.jitter.varies() ? grid.seeds : 1;
    if (point.cases > kMaxCases - result.count) return too_many();
    result.count += point.cases;
    result.points.push_back(std::move(point));
  }
  return result;
}

// ---------------------------------------------------------------------------------------------
// Results

namespace {

CaseResult case_result(const TaskGraph& graph, const Lowered& lowered, const sim::Outcome& outcome,
                       const Explanation& explanation) {
  CaseResult result;
  result.verdict = explanation.verdict;
  result.time_ns = explanation.time_ns;
  result.ops_done = explanation.ops_done;
  result.ops_expected = explanation.ops_expected;
  result.fingerprint = explanation.fingerprint;
  result.why = reason_of(explanation);
  if (const auto memory = memory_report(graph, lowered, outcome)) {
    for (const RankMemory& rank : *memory) {
      result.peak_bytes = std::max(result.peak_bytes.value_or(0), rank.peak);
    }
  }
  return result;
}

}  // namespace

std::optional<CaseResult> run_case(const TaskGraph& graph, const Lowered& lowered,
                                   const sim::Jitter& jitter, const std::atomic<bool>* stop) {
  sim::RunOptions options;
  options.jitter = jitter;
  options.stop = stop;
  options.keep_op_times = has_sizes(graph);
  const sim::Outcome outcome = sim::run(lowered.plan, options);
  if (outcome.end == sim::RunEnd::kInterrupted) return std::nullopt;
  return case_result(graph, lowered, outcome, explain(graph, lowered, outcome));
}

std::optional<CaseResult> run_case_folded(const TaskGraph& graph, FoldedJob job,
                                          const std::atomic<bool>* stop) {
  sim::RunOptions options;
  options.stop = stop;
  std::optional<FoldedRun> run = run_folded(graph, std::move(job), options);
  if (!run) return std::nullopt;
  const Simulation& simulation = run->simulation;
  return case_result(graph, simulation.lowered, simulation.outcome, simulation.explanation);
}

std::optional<Spread> spread_of(std::vector<std::int64_t> numbers) {
  if (numbers.empty()) return std::nullopt;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>((numbers.size() - 1) / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  return Spread{*least, *middle, *most};
}

SweepSummary summarize(const SweepCases& cases, const std::vector<CaseResult>& results) {
  PIPESIM_CHECK(results.size() == cases.count);
  SweepSummary summary;
  std::map<std::pair<sim::Verdict, std::string>, std::size_t> known;
  for (const SweepPoint& point : cases.points) {
    PointSummary& sum = summary.points.emplace_back();
    std::map<std::size_t, HangCount> hangs;
    std::vector<std::int64_t> makespans;
    std::vector<std::int64_t> stops;
    for (std::uint64_t i = point.first_case; i < point.first_case + point.cases; ++i) {
      const CaseResult& result = results[i];
      ++sum.runs;
      ++sum.by_verdict[static_cast<std::size_t>(result.verdict)];
      if (result.peak_bytes) {
        sum.peak_bytes = std::max(sum.peak_bytes.value_or(0), *result.peak_bytes);
      }
      if (result.verdict == sim::Verdict::kCompleted) {
        makespans.push_back(result.time_ns);
        continue;
      }
      stops.push_back(result.time_ns);
      ++summary.not_completed;
      const auto [found, is_new] =
          known.try_emplace({result.verdict, result.why}, summary.hangs.size());
      if (is_new) summary.hangs.push_back({result.verdict, result.why, 0, i});
      ++summary.hangs[found->second].count;
      HangCount& count =
          hangs.try_emplace(found->second, HangCount{found->second, 0, i}).first->second;
      ++count.count;
    }
    sum.makespan_ns = spread_of(std::move(makespans));
    sum.stopped_ns = spread_of(std::move(stops));
    for (const auto& [hang, count] : hangs) sum.hangs.push_back(count);
  }
  return summary;
}

}  // namespace pipesim::models
