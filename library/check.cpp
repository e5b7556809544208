#include "pipesim/check.hpp"

#include <optional>
#include <ostream>

#include "app/output/views.hpp"
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

}  // namespace

std::string answer_name(Answer answer) {
  return viz::answer_text(static_cast<models::JobAnswer>(answer));
}

std::ostream& operator<<(std::ostream& out, const CheckResult& result) {
  return out << result.report;
}

CheckResult check(const Graph& graph, const CheckOptions& options) {
  const models::TaskGraph& of = graph.task_graph();
  models::Diagnostics diagnostics;
  auto lowered = models::lower(of, diagnostics);
  if (!lowered) library::throw_mistakes(diagnostics, graph);
  sim::ExploreOptions how;
  how.max_states = options.max_states;
  const bool all_readings = models::has_readings(of);
  const models::ReadingsReport found =
      all_readings ? models::check_readings(of, how, nullptr)
                   : models::one_reading(of, models::check(of, std::move(*lowered), how, nullptr));
  models::TaskGraph shown = of;  // as in the run that is shown
  shown.reading = found.shown;
  std::optional<viz::Report> hang;
  if (const models::Simulation* simulation = found.check.hanging()) {
    hang.emplace(app::report_of_end(shown, *simulation, false));
  }
  viz::CheckView view{shown, found.check};
  view.hang = hang ? &*hang : nullptr;
  view.max_states = options.max_states;
  view.readings = all_readings ? &found : nullptr;
  return {static_cast<Answer>(found.answer), viz::check_text(view, {}), viz::check_json(view)};
}

}  // namespace pipesim
