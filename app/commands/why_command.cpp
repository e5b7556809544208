#include "app/commands/why_command.hpp"

#include <utility>

#include "app/exit_codes.hpp"
#include "app/output/progress.hpp"
#include "models/explain/why.hpp"
#include "viz/json/json_report.hpp"
#include "viz/text/why_text.hpp"

namespace pipesim::app {

int run_why(const WhyCommand& command, const Console& console) {
  ScenarioInput input(command.files, console);
  models::Diagnostics diagnostics;
  const auto complain = [&] { return input.complain(diagnostics, console); };
  const auto scenario = input.read(diagnostics);
  if (!scenario) return complain();
  const models::TaskGraph& graph = scenario->graph;
  auto lowered = models::lower(graph, diagnostics);
  if (!lowered) return complain();
  const auto act = find_act(command.act, graph, *lowered, "why", diagnostics);
  if (!act) return complain();
  const models::Simulation run = [&] {
    WatchedRun watched(console);
    watched.options.jitter = command.jitter;
    watched.options.keep_act_times = true;
    return models::simulate(graph, std::move(*lowered), watched.options);
  }();
  complain();  // what is left are warnings
  const models::Why found = models::why(graph, run, act->actor, act->k);
  console.out << (command.json ? viz::why_json(run.explanation, found)
                               : viz::why_text(run.explanation, found,
                                               {console.out_colour, console.out_columns}));
  if (run.outcome.end == sim::RunEnd::kInterrupted) return kExitInterrupted;
  if (found.times) return kExitGood;
  return run.outcome.end == sim::RunEnd::kStuck ? kExitBad : kExitUndecided;
}

}  // namespace pipesim::app
