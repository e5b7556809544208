#include "pipesim/graph.hpp"

#include <ostream>
#include <utility>

#include "formats/scenario/scenario_writer.hpp"
#include "library/graph_data.hpp"
#include "models/graph/graph_edit.hpp"
#include "models/layers/verifier.hpp"
#include "viz/report/diagnostic_text.hpp"

#include "features/diff/difference_report.hpp"
#include "features/diff/graph_difference.hpp"

namespace pipesim {

Error::Error(const std::string& text, std::vector<Mistake> mistakes)
    : std::runtime_error(text),
      mistakes_(std::make_shared<const std::vector<Mistake>>(std::move(mistakes))) {}

Graph::Graph(models::TaskGraph graph) {
  models::Diagnostics diagnostics;
  const std::string path = "task graph '" + graph.name + "'";
  if (!models::verify_references(graph, diagnostics)) {
    library::throw_mistakes(diagnostics, path, {});
  }
  models::put_in_order(graph);
  data_ = std::make_shared<const Data>(Data{std::move(graph), path, {}});
}

const std::string& Graph::name() const { return data_->graph.name; }

std::uint32_t Graph::ranks() const { return data_->graph.ranks; }

std::string Graph::yaml() const { return formats::write_scenario(data_->graph); }

const models::TaskGraph& Graph::task_graph() const { return data_->graph; }

bool operator==(const Graph& a, const Graph& b) {
  return a.data_ == b.data_ ||
         models::without_places(a.task_graph()) == models::without_places(b.task_graph());
}

std::string difference(const Graph& a, const Graph& b) {
  if (a == b) return {};
  const auto graphs = models::compare_graphs(a.task_graph(), b.task_graph());
  if (graphs.empty()) return "They differ in the order of their declarations, or in 'about'.\n";
  return viz::graph_difference_text(graphs, {{}, true});
}

std::ostream& operator<<(std::ostream& out, const Graph& graph) {
  return out << "task graph '" << graph.name() << "' of " << graph.ranks() << " ranks";
}

namespace library {

void throw_mistakes(const models::Diagnostics& diagnostics, std::string_view path,
                    std::string_view text) {
  std::vector<Mistake> mistakes;
  for (const models::Diagnostic& item : diagnostics.sorted()) {
    if (item.severity != models::Severity::kError) continue;
    mistakes.push_back(
        {item.place.line, item.place.column, item.message, item.notes, models::code_id(item.code)});
  }
  throw Error(viz::diagnostic_text(diagnostics, path, text, false), std::move(mistakes));
}

void throw_mistakes(const models::Diagnostics& diagnostics, const Graph& graph) {
  throw_mistakes(diagnostics, graph.data()->path, graph.data()->text);
}

}  // namespace library
}  // namespace pipesim
