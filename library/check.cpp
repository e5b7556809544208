#include "pipesim/check.hpp"

#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "app/output/views.hpp"
#include "library/graph_data.hpp"
#include "models/result/folded_run.hpp"

#include "features/check/check.hpp"
#include "features/check/check_report.hpp"
#include "features/check/checked_ways.hpp"
#include "features/check/nccl_modes.hpp"

namespace pipesim {
namespace {

static_assert(
    static_cast<int>(Answer::kProved) == static_cast<int>(models::JobAnswer::kProved) &&
    static_cast<int>(Answer::kByBuffers) == static_cast<int>(models::JobAnswer::kByBuffers) &&
    static_cast<int>(Answer::kHangPossible) == static_cast<int>(models::JobAnswer::kHangPossible) &&
    static_cast<int>(Answer::kHangCertain) == static_cast<int>(models::JobAnswer::kHangCertain) &&
    static_cast<int>(Answer::kMismatch) == static_cast<int>(models::JobAnswer::kMismatch) &&
    static_cast<int>(Answer::kUndecided) == static_cast<int>(models::JobAnswer::kUndecided));

models::NcclModesReport modes_of(const Graph& graph, models::TaskGraph of,
                                 const CheckOptions& options) {
  sim::ExploreOptions how;
  how.max_states = options.max_states;
  how.max_states_after_hang = options.max_states_after_hang;
  const bool has_modes = models::has_nccl_modes(of);
  if (has_modes) of.nccl_mode = models::NcclMode::kContract;
  models::Diagnostics diagnostics;
  auto job = models::lay_out_job(of, diagnostics);
  if (!job) library::throw_mistakes(diagnostics, graph);
  try {
    if (has_modes) return models::check_nccl_modes(std::move(of), how, nullptr, std::move(job));
    return models::one_nccl_mode(of, models::check(of, std::move(*job), how), how);
  } catch (const models::UserError& error) {
    diagnostics.error(models::Place(), error.code(), error.what()).notes.push_back(error.help());
    library::throw_mistakes(diagnostics, graph);
  }
}

models::NcclModesReport modes_of(const Graph& graph, const CheckOptions& options) {
  return modes_of(graph, graph.task_graph(), options);
}

// Reads the scenario of `graph` again. The graph must be unchanged since it was read.
formats::Scenario scenario_in(const Graph& graph, const formats::ReadOptions& options = {}) {
  const Graph::Data& data = *graph.data();
  return library::read_scenario(data.text, *data.read_with, data.path, options);
}

CheckResult result_of(const Graph& graph, const models::NcclModesReport& found,
                      const CheckOptions& options, const std::optional<viz::WaysView>& ways) {
  models::TaskGraph shown = graph.task_graph();  // with the NCCL mode of the shown run
  shown.nccl_mode = found.shown;
  std::optional<viz::Report> hang;
  if (const models::Simulation* simulation = found.check.hanging()) {
    hang.emplace(app::report_of_end(shown, *simulation, false));
  }
  viz::CheckView view{shown, found.check};
  view.hang = hang ? &*hang : nullptr;
  view.max_states = options.max_states;
  view.modes = models::has_nccl_modes(shown) ? &found : nullptr;
  view.ways = ways;
  view.basis = graph.data()->rests_on;
  const auto with_other_parts = [&]() -> std::optional<models::NcclModesReport> {
    if (!graph.data()->read_with) return std::nullopt;
    const bool sends = !shown.process_groups.sends_them;
    return modes_of(graph, scenario_in(graph, {.sends_empty_parts = sends}).graph, options);
  };
  auto basis = app::empty_parts_basis(shown.process_groups, found, with_other_parts);
  if (basis) view.basis.push_back(std::move(*basis));
  return {static_cast<Answer>(found.answer), viz::check_text(view, {}),
          viz::check_report(view).json()};
}

}  // namespace

std::string answer_name(Answer answer) {
  return viz::answer_text(static_cast<models::JobAnswer>(answer));
}

std::ostream& operator<<(std::ostream& out, const CheckResult& result) {
  return out << result.report;
}

CheckResult check(const Graph& graph, const CheckOptions& options) {
  return result_of(graph, modes_of(graph, options), options, std::nullopt);
}

CheckResult check_scenario(const std::string& path, const Settings& settings,
                           const CheckOptions& options) {
  Graph shown = load_scenario(path, settings);
  models::NcclModesReport found = modes_of(shown, options);
  app::JobChoices choices(scenario_in(shown));
  if (choices.empty()) return result_of(shown, found, options, std::nullopt);
  Graph other = shown;
  const auto check_way = [&](const std::vector<formats::Setting>& way) {
    Settings all = settings;
    for (const auto& [name, value] : way) all[name] = value;
    other = load_scenario(path, all);
    return modes_of(other, options);
  };
  const auto keep = [&] { shown = other; };
  const app::CheckedWays ways =
      app::check_ways(std::move(choices), options.max_ways, nullptr, check_way, keep, found);
  return result_of(shown, found, options, ways.view);
}

}  // namespace pipesim
