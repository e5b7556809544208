#include "app/commands/reduce_command.hpp"

#include <utility>

#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "formats/edits/patch_writer.hpp"
#include "formats/scenario/scenario_writer.hpp"
#include "models/search/reduce.hpp"
#include "viz/json/reduce_json.hpp"
#include "viz/text/reduce_text.hpp"

namespace pipesim::app {

int run_reduce(const ReduceCommand& command, const Console& console) {
  ScenarioInput input(command.files, console);
  models::Diagnostics diagnostics;
  const auto complain = [&] { return input.complain(diagnostics, console); };
  const auto scenario = input.read(diagnostics);
  if (!scenario) return complain();
  const models::GraphOf graph_of =
      [&](const models::ParameterValues& values) -> std::optional<models::TaskGraph> {
    std::vector<formats::Setting> settings = input.settings();
    settings.insert(settings.end(), values.begin(), values.end());
    models::Diagnostics unheard;
    auto read =
        formats::read_scenario(input.text(), settings, unheard, {.patches = input.patches()});
    if (!read) return std::nullopt;
    return std::move(read->graph);
  };
  const models::ReadBack read_back =
      [](const models::TaskGraph& graph) -> std::optional<models::TaskGraph> {
    models::Diagnostics unheard;
    auto read = formats::read_scenario(formats::write_scenario(graph), {}, unheard);
    if (!read) return std::nullopt;
    return std::move(read->graph);
  };
  models::ReduceOptions options;
  options.stop = console.interrupted;
  const std::optional<models::Reduction> reduction = [&] {
    const Simulating now(console);
    const ProgressLine progress(console);
    return models::reduce(scenario->graph, formats::switches_of(*scenario), graph_of, read_back,
                          options, diagnostics);
  }();
  if (!reduction) {
    const bool interrupted = !diagnostics.has_errors();
    if (!interrupted) return complain();
    console.err << "pipesim: interrupted before anything was made smaller\n";
    return kExitInterrupted;
  }
  complain();  // what is left are warnings
  const std::string text = viz::reduce_heading(*reduction, scenario->graph.name) +
                           formats::write_scenario(reduction->graph) +
                           viz::reduce_expectation(*reduction);
  if (command.output) write_file(*command.output, text);
  const std::string told = command.json ? viz::reduce_json(*reduction, scenario->graph.name)
                                        : viz::reduce_text(*reduction, scenario->graph.name);
  if (command.output) {
    console.out << told;
  } else {
    console.out << text;
    console.err << told;
  }
  return reduction->stopped ? kExitInterrupted : kExitGood;
}

}  // namespace pipesim::app
