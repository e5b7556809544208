#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/output/views.hpp"
#include "formats/scenario/scenario_writer.hpp"
#include "models/graph/logical_graph.hpp"
#include "models/layers/pass_pipeline.hpp"
#include "viz/report/boxing_csv.hpp"
#include "viz/report/words.hpp"

namespace pipesim::app {
namespace {

using models::Diagnostics;
using models::TaskGraph;

// Returns the text of `graph`, or nullopt if reading the text back would give a different graph. A
// user's own pass can build graphs that the format cannot express.
std::optional<std::string> text_of(const TaskGraph& graph, Diagnostics& diagnostics) {
  std::string text = formats::write_scenario(graph);
  Diagnostics problems;
  const auto again = formats::read_scenario(text, {}, problems);
  if (again && models::without_places(again->graph) == models::without_places(graph)) return text;
  models::Diagnostic& error = diagnostics.error(
      {}, models::Code::kBrokenGraph,
      "the passes made a task graph that cannot be written: the text reads back as another one");
  for (const models::Diagnostic& problem : problems.sorted()) {
    error.notes.push_back(problem.message);
  }
  return std::nullopt;
}

// Formats a graph as a scenario or, before its tasks are built, as the ops of a model.
std::string shown_graph(const TaskGraph& graph) {
  return graph.logical ? models::logical_text(*graph.logical) : formats::write_scenario(graph);
}

bool begins_with_model(const std::vector<models::PassCall>& calls) {
  const std::vector<std::string>& names = models::model_passes();
  return std::any_of(calls.begin(), calls.end(), [&](const models::PassCall& call) {
    return std::find(names.begin(), names.end(), call.pass->name) != names.end();
  });
}

// Returns the boxing of a model's tensors as CSV. Runs `calls` up to the pass that builds the
// tasks; if `calls` has no pass for models, runs the scenario's own passes.
std::optional<std::string> boxing_text(formats::Scenario& scenario,
                                       std::vector<models::PassCall> calls,
                                       const models::PassRegistry& registry,
                                       const models::PipelineOptions& options,
                                       Diagnostics& diagnostics) {
  if (!scenario.graph.logical) {
    diagnostics.error({}, models::Code::kNothingToDo,
                      "nothing to explain: the scenario has no 'model'");
    return std::nullopt;
  }
  if (!begins_with_model(calls)) {
    calls = models::parse_passes(scenario.passes, registry, diagnostics).value_or(calls);
  }
  const auto end = std::find_if(calls.begin(), calls.end(), [](const models::PassCall& call) {
    return call.pass->name == "build-tasks";
  });
  calls.erase(end, calls.end());
  if (!models::run_passes(scenario.graph, calls, options, diagnostics)) return std::nullopt;
  return viz::boxing_csv(*scenario.graph.logical);
}

// Reruns the scenario's own passes from the model, so that `options.after_each` can print each
// step.
void show_steps(const std::string& text, const std::vector<formats::Setting>& settings,
                const models::PassRegistry& registry, const models::PipelineOptions& options) {
  Diagnostics ignored;
  auto scenario = formats::read_scenario(text, settings, ignored, {.build_model = false});
  if (!scenario || !scenario->graph.logical) return;
  const auto calls = models::parse_passes(scenario->passes, registry, ignored);
  if (calls) models::run_passes(scenario->graph, *calls, options, ignored);
}

std::string type_text(const models::PassOption& option) {
  if (!option.one_of.empty()) return fmt::format("{}", fmt::join(option.one_of, "|"));
  switch (option.type) {
    case models::OptionType::kNumber:
      return "NUMBER";
    case models::OptionType::kTruth:
      return "on|off";
    case models::OptionType::kText:
      break;
  }
  return "TEXT";
}

// Lists the passes in `registry` with their options.
std::string pass_list(const models::PassRegistry& registry) {
  std::string text;
  for (const auto& [name, pass] : registry.all()) {
    if (!text.empty()) text += '\n';
    text += name + "\n";
    for (const std::string& line : viz::wrapped(pass.about, 78)) text += "  " + line + "\n";
    const auto declared = [](const models::PassOption& option) {
      return fmt::format("{}={}", option.name, type_text(option));
    };
    std::size_t width = 18;
    for (const models::PassOption& option : pass.options) {
      width = std::max(width, declared(option).size());
    }
    for (const models::PassOption& option : pass.options) {
      std::string about = option.about;
      if (option.otherwise && !option.otherwise->empty()) {
        about += fmt::format(" (default: {})", *option.otherwise);
      } else if (option.otherwise) {
        about += " (optional)";
      }
      std::string head = declared(option);
      for (const std::string& line : viz::wrapped(about, 75 - width)) {
        text += fmt::format("    {:{}} {}\n", std::exchange(head, {}), width, line);
      }
    }
  }
  return text;
}

int run_opt(const Arguments& arguments, const Console& console) {
  const models::PassRegistry shipped = models::shipped_passes();
  const models::PassRegistry& registry = console.passes == nullptr ? shipped : *console.passes;
  if (arguments.has("list")) {
    console.out << pass_list(registry);
    return kExitGood;
  }
  const std::string& path = arguments.one_file();
  require_scenario(arguments.command(), path);
  const auto settings = arguments.settings("set");
  const bool explain_boxing = arguments.has("explain-boxing");
  TextInput passes("--passes", arguments.text("passes").value_or(""), console);
  const auto calls =
      passes.require(models::parse_passes(passes.text(), registry, passes.diagnostics()));

  TextInput input = read_scenario_text(path, console, rules_of(arguments, path));
  // Passes that build the tasks themselves start from the model.
  const bool builds = !explain_boxing && !begins_with_model(calls);
  formats::Scenario scenario = input.require(
      formats::read_scenario(input.text(), settings, input.diagnostics(), {.build_model = builds}));
  models::PipelineOptions options;
  options.verify_each = arguments.value("verify-each") == "on";
  if (arguments.has("print-after-all")) {
    options.after_each = [&](const models::PassCall& call, const TaskGraph& graph) {
      console.err << fmt::format("# after {}\n{}\n", call.text, shown_graph(graph));
    };
    if (builds) show_steps(input.text(), settings, registry, options);
  }
  std::optional<std::string> result;
  if (explain_boxing) {
    result = boxing_text(scenario, calls, registry, options, input.diagnostics());
  } else if (!models::run_passes(scenario.graph, calls, options, input.diagnostics())) {
    input.fail();
  } else if (scenario.graph.logical) {
    input.diagnostics()
        .error({}, models::Code::kPassOrder, "these passes leave a model without tasks")
        .notes.emplace_back("add 'build-tasks'; --print-after-all shows the ops so far");
  } else {
    result = text_of(scenario.graph, input.diagnostics());
  }
  const std::string text = input.require(std::move(result));
  input.report();
  console.out << text;
  // Only a scenario can hold a comment; OneFlow's boxing log has none.
  if (!explain_boxing) console.out << "# " << models::printable(made_by(arguments)) << '\n';
  return kExitGood;
}

}  // namespace

Command opt_command() {
  return {
      .name = "opt",
      .about = "Run scheduler passes on a task graph",
      .usage = {"FILE [options]", "--list"},
      .description =
          {"Runs scheduler passes on the task graph of the scenario in FILE ('-' reads standard "
           "input), checks its rules after each, and prints the resulting graph as a scenario.",
           "A scenario with a model first runs its own passes, which build its tasks; if --passes "
           "names one of them, only the named passes run.",
           "Options of a pass follow it after colons; 'pass=VALUE' sets the first one. A value in "
           "'single quotes' may contain commas, colons and equal signs."},
      .options = {{"Passes",
                   {{.name = "passes",
                     .value = "PASSES",
                     .about = "The passes in their order, as a,b=VALUE,c:OPTION=VALUE (default: "
                              "none, check and print)"},
                    {.name = "verify-each",
                     .value = "WHEN",
                     .about = "Check all rules after each pass, and name the pass that breaks one; "
                              "'off' checks only at the end",
                     .choices = {"on", "off"},
                     .otherwise = "on"},
                    {.name = "list", .about = "List the passes with their options and exit"}}},
                  {"Scenario", {set_option(), rules_option()}},
                  {"Output",
                   {{.name = "print-after-all",
                     .about = "Print the task graph after each pass to standard error"},
                    {.name = "explain-boxing",
                     .about = "Print how the tensors of a model are boxed, like OneFlow's boxing "
                              "log, instead of the graph"}}},
                  general_options()},
      .examples = {"pipesim opt scenarios/swin_2x2x2.yaml \\",
                   "    --passes move-to-stream=BdstBuf:stream=backward",
                   "pipesim opt job.yaml --passes order-collectives=tp | pipesim run -",
                   "pipesim opt job.yaml --set acc=2 --passes canonicalize",
                   "pipesim opt scenarios/swin_2x2x2_from_model.yaml --explain-boxing"},
      .exit_status =
          "0 success, 2 invalid input or usage, a rule is broken, or a pass refuses, 74 a "
          "file could not be read",
      .pages = {"docs/how-to/passes.md"},
      .run = run_opt,
  };
}

}  // namespace pipesim::app
