#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "formats/scenario/scenario_writer.hpp"

#include "features/reduce/reduce.hpp"
#include "features/reduce/reduce_report.hpp"

namespace pipesim::app {
namespace {

std::optional<models::TaskGraph> graph_of(std::optional<formats::Scenario> scenario) {
  if (!scenario) return std::nullopt;
  return std::move(scenario->graph);
}

int run_reduce(const Arguments& arguments, const Console& console) {
  const ScenarioFiles files = scenario_files(arguments);
  const bool json = arguments.has("json");
  const std::string output = arguments.text("output").value_or("-");
  if (json && output == "-") {
    throw UsageError(models::Code::kOptionNeeds, "'--json' needs '--output FILE'",
                     "without it, the scenario itself goes to standard output");
  }
  ScenarioInput input(files, console);
  const formats::Scenario scenario = input.read();
  std::atomic<std::uint64_t> tried = 0;
  const models::ReadBack read_back = [](const models::TaskGraph& graph,
                                        bool brief) -> std::optional<models::Written> {
    models::Diagnostics ignored;
    std::string text = formats::write_scenario(
        graph, brief ? formats::ScenarioForm::kBrief : formats::ScenarioForm::kExact);
    auto read = graph_of(formats::read_scenario(text, {}, ignored));
    if (!read) return std::nullopt;
    return models::Written{std::move(text), std::move(*read)};
  };
  models::ReduceOptions options;
  options.stop = console.interrupted;
  options.runs = &tried;
  const std::optional<models::Reduction> reduction = [&] {
    const Simulating now(console);
    const ProgressLine progress(console, [&tried] {
      return fmt::format("reducing: {} smaller scenarios tried", tried.load());
    });
    return models::reduce(
        scenario.graph, scenario.parameters,
        [&](const models::ParameterValues& values) { return graph_of(input.read_with(values)); },
        read_back, options, input.diagnostics());
  }();
  if (!reduction && !input.diagnostics().has_errors()) {
    console.err << "interrupted before anything was reduced\n";
    return kExitInterrupted;
  }
  if (!reduction) input.fail();
  input.report();
  const std::string& name = scenario.graph.name;
  const std::string text =
      viz::reduce_heading(*reduction, name) + reduction->text + viz::reduce_expectation(*reduction);
  const bool is_printed = write_or_print(output, text, console.out);
  const viz::Section report = viz::reduce_report(*reduction, name);
  (is_printed ? console.err : console.out)
      << (json ? report.json()
               : report.text({.width = console.out_columns}, 0) + last_line(arguments, console));
  return reduction->stopped ? kExitInterrupted : kExitGood;
}

}  // namespace

Command reduce_command() {
  return {
      .name = "reduce",
      .about = "Shrink a hanging scenario to the part that hangs",
      .usage = {"FILE [options]"},
      .description = {"Makes the hanging scenario in FILE smaller while its hang stays the same: "
                      "fewer ranks, micro-batches, actors, waits and times, for a bug report. The "
                      "result has no parameters, and expects its own verdict.",
                      kScenarioFileNote},
      .options = {scenario_options(),
                  {"Output",
                   {{.name = "output",
                     .letter = 'o',
                     .value = "FILE",
                     .about = "Write the small scenario to FILE instead of standard output",
                     .output = true},
                    {.name = "json",
                     .about = "With --output: print what was done as JSON",
                     .output = true}}},
                  general_options()},
      .examples = {"pipesim reduce scenarios/swin_2x2x2.yaml -o small.yaml",
                   "pipesim reduce job.yaml --set dp=8 > small.yaml"},
      .exit_status =
          "0 success, 2 invalid input or usage, or the scenario does not hang, 74 a file "
          "could not be read or written, 130 interrupted (the smallest scenario so far is written)",
      .pages = {"docs/how-to/reduce.md"},
      .run = run_reduce,
  };
}

}  // namespace pipesim::app
