#include "pipesim/check.hpp"

#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/commands/job_choices.hpp"
#include "app/output/views.hpp"
#include "formats/scenario/scenario.hpp"
#include "library/graph_data.hpp"
#include "models/lowering/lowering.hpp"
#include "models/search/check.hpp"
#include "models/search/readings.hpp"
#include "viz/json/check_json.hpp"
#include "viz/text/check_text.hpp"

namespace pipesim {
namespace {

static_assert(
    static_cast<int>(Answer::kProved) == static_cast<int>(models::JobAnswer::kProved) &&
    static_cast<int>(Answer::kByBuffers) == static_cast<int>(models::JobAnswer::kByBuffers) &&
    static_cast<int>(Answer::kHangPossible) == static_cast<int>(models::JobAnswer::kHangPossible) &&
    static_cast<int>(Answer::kHangCertain) == static_cast<int>(models::JobAnswer::kHangCertain) &&
    static_cast<int>(Answer::kUndecided) == static_cast<int>(models::JobAnswer::kUndecided));

models::ReadingsReport readings_of(const Graph& graph, const CheckOptions& options) {
  const models::TaskGraph& of = graph.task_graph();
  models::Diagnostics diagnostics;
  auto lowered = models::lower(of, diagnostics);
  if (!lowered) library::throw_mistakes(diagnostics, graph);
  sim::ExploreOptions how;
  how.max_states = options.max_states;
  return models::has_readings(of)
             ? models::check_readings(of, how, nullptr)
             : models::one_reading(of, models::check(of, std::move(*lowered), how, nullptr));
}

CheckResult result_of(const Graph& graph, const models::ReadingsReport& found,
                      const CheckOptions& options, const std::optional<viz::WaysView>& ways) {
  models::TaskGraph shown = graph.task_graph();  // as in the run that is shown
  shown.reading = found.shown;
  std::optional<viz::Report> hang;
  if (const models::Simulation* simulation = found.check.hanging()) {
    hang.emplace(app::report_of_end(shown, *simulation, false));
  }
  viz::CheckView view{shown, found.check};
  view.hang = hang ? &*hang : nullptr;
  view.max_states = options.max_states;
  view.readings = models::has_readings(shown) ? &found : nullptr;
  view.ways = ways;
  return {static_cast<Answer>(found.answer), viz::check_text(view, {}), viz::check_json(view)};
}

// What was read into `graph`, with its parameters.
formats::Scenario scenario_in(const Graph& graph, const Settings& settings) {
  models::Diagnostics diagnostics;
  const std::vector<formats::Setting> list(settings.begin(), settings.end());
  auto scenario = formats::read_scenario(graph.data()->text, list, diagnostics);
  if (!scenario) library::throw_mistakes(diagnostics, graph);
  return std::move(*scenario);
}

// As the command names a way.
std::string settings_text(const std::vector<formats::Setting>& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += fmt::format("{}--set '{}={}'", text.empty() ? "" : " ", name, value);
  }
  return text;
}

bool hangs(const models::ReadingsReport& found) {
  return found.answer == models::JobAnswer::kHangPossible ||
         found.answer == models::JobAnswer::kHangCertain;
}

int badness(models::JobAnswer answer) {
  switch (answer) {
    case models::JobAnswer::kProved:
      return 0;
    case models::JobAnswer::kUndecided:
      return 1;
    case models::JobAnswer::kByBuffers:
      return 2;
    default:
      return 3;
  }
}

}  // namespace

std::string answer_name(Answer answer) {
  return viz::answer_text(static_cast<models::JobAnswer>(answer));
}

std::ostream& operator<<(std::ostream& out, const CheckResult& result) {
  return out << result.report;
}

CheckResult check(const Graph& graph, const CheckOptions& options) {
  return result_of(graph, readings_of(graph, options), options, std::nullopt);
}

CheckResult check_scenario(const std::string& path, const Settings& settings,
                           const CheckOptions& options) {
  Graph shown = load_scenario(path, settings);
  models::ReadingsReport found = readings_of(shown, options);
  app::JobChoices choices(scenario_in(shown, settings));
  if (choices.empty()) return result_of(shown, found, options, std::nullopt);
  viz::WaysView ways;
  ways.all = choices.count();
  ways.shown = settings_text(*choices.next());
  ways.checked = 1;
  while (!hangs(found) && ways.checked < options.max_ways) {
    const auto way = choices.next();
    if (!way) break;
    Settings all = settings;
    for (const auto& [name, value] : *way) all[name] = value;
    const Graph other = load_scenario(path, all);
    models::ReadingsReport of_other = readings_of(other, options);
    ++ways.checked;
    if (badness(of_other.answer) <= badness(found.answer)) continue;
    found = std::move(of_other);
    shown = other;
    ways.number = ways.checked;
    ways.shown = settings_text(*way);
  }
  // One way that hangs says nothing of the others, and proofs of some say nothing of the rest.
  if (found.answer == models::JobAnswer::kHangCertain && ways.all != 1) {
    found.answer = models::JobAnswer::kHangPossible;
    found.check.exploration.answer = sim::Answer::kHangPossible;
  } else if (found.answer == models::JobAnswer::kProved && !ways.complete()) {
    found.answer = models::JobAnswer::kUndecided;
    found.check.exploration.answer = sim::Answer::kUndecided;
  }
  return result_of(shown, found, options, ways);
}

}  // namespace pipesim
