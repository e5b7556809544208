#include "pipesim/passes.hpp"

#include <utility>

#include "library/graph_data.hpp"
#include "models/graph/graph_edit.hpp"
#include "models/layers/pass.hpp"
#include "models/layers/pass_pipeline.hpp"
#include "models/layers/verifier.hpp"

namespace pipesim {
namespace {

// Returns `changed`, the result of a pass on `graph`. Its places still refer to the text of
// `graph`.
Graph with(const Graph& graph, models::TaskGraph changed) {
  return Graph(std::make_shared<const Graph::Data>(Graph::Data{
      std::move(changed), graph.data()->path, graph.data()->text, graph.data()->rests_on}));
}

// Throws the errors in `found`, each with a note that names the responsible pass.
[[noreturn]] void blame(const models::Diagnostics& found, const std::string& note,
                        const Graph& graph) {
  models::Diagnostics told;
  for (const models::Diagnostic& item : found.sorted()) {
    if (item.severity != models::Severity::kError) continue;
    models::Diagnostic& error = told.error(item.place, item.code, item.message);
    error.notes = item.notes;
    error.notes.push_back(note);
  }
  library::throw_mistakes(told, graph);
}

}  // namespace

Graph run_passes(const Graph& graph, std::string_view passes) {
  return run_passes(graph, passes, models::shipped_passes());
}

Graph run_passes(const Graph& graph, std::string_view passes,
                 const models::PassRegistry& registry) {
  models::Diagnostics diagnostics;
  const auto calls = models::parse_passes(passes, registry, diagnostics);
  if (!calls) library::throw_mistakes(diagnostics, "passes", passes);
  models::TaskGraph changed = graph.task_graph();
  if (!models::run_passes(changed, *calls, {}, diagnostics)) {
    library::throw_mistakes(diagnostics, graph);
  }
  return with(graph, std::move(changed));
}

Graph run_pass(const Graph& graph, const std::string& name, const PassFunction& pass) {
  models::Diagnostics found;
  models::TaskGraph changed = graph.task_graph();
  changed.pipeline.reset();  // like models::run_passes(): only the programs are left
  if (!models::verify(changed, found)) library::throw_mistakes(found, graph);
  found = models::Diagnostics();
  pass(changed, found);
  if (found.has_errors()) blame(found, "pass '" + name + "' reports this", graph);
  found = models::Diagnostics();
  const bool can_be_used = models::verify_references(changed, found);
  if (can_be_used) models::put_in_order(changed);
  if (!can_be_used || !models::verify(changed, found)) {
    blame(found, "pass '" + name + "' broke this rule: before it the graph kept it", graph);
  }
  return with(graph, std::move(changed));
}

}  // namespace pipesim
