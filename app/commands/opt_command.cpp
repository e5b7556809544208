#include "app/commands/opt_command.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/exit_codes.hpp"
#include "app/input/scenario_input.hpp"
#include "app/output/files.hpp"
#include "formats/scenario/scenario_writer.hpp"
#include "models/graph/logical_graph.hpp"
#include "models/passes/pass_pipeline.hpp"
#include "viz/evidence/boxing_csv.hpp"
#include "viz/text/diagnostic_text.hpp"

namespace pipesim::app {
namespace {

using models::Diagnostics;
using models::TaskGraph;

// The text of `graph`. Nothing where that would be read as another graph: a pass of somebody's own
// may make what the format has no words for.
std::optional<std::string> text_of(const TaskGraph& graph, Diagnostics& diagnostics) {
  std::string text = formats::write_scenario(graph);
  Diagnostics problems;
  const auto again = formats::read_scenario(text, {}, problems);
  if (again && models::without_places(again->graph) == models::without_places(graph)) return text;
  models::Diagnostic& error = diagnostics.error(
      {}, "the passes made a task graph that cannot be written: the text reads as another one");
  for (const models::Diagnostic& problem : problems.sorted()) {
    error.notes.push_back(problem.message);
  }
  return std::nullopt;
}

// A graph, or the ops of a model that it still is.
std::string shown_graph(const TaskGraph& graph) {
  return graph.logical ? models::logical_text(*graph.logical) : formats::write_scenario(graph);
}

bool is_model_pass(const models::PassCall& call) {
  const std::vector<std::string>& names = models::model_passes();
  return std::find(names.begin(), names.end(), call.pass->name) != names.end();
}

bool begins_with_model(const std::vector<models::PassCall>& calls) {
  return std::any_of(calls.begin(), calls.end(), is_model_pass);
}

// Why there is no text of `graph`, which still is a model.
void complain_of_model(Diagnostics& diagnostics) {
  diagnostics.error({}, "after these passes the model is not yet tasks")
      .notes.emplace_back("'build-tasks' makes them; --print-after-all shows the ops so far");
}

// Does `calls`, or the scenario's own passes where none of these is for models, until the tasks are
// built, and tells how that will box.
std::optional<std::string> boxing_text(formats::Scenario& scenario,
                                       std::vector<models::PassCall> calls,
                                       const models::PassRegistry& registry,
                                       const models::PipelineOptions& options,
                                       Diagnostics& diagnostics) {
  if (!scenario.graph.logical) {
    diagnostics.error({}, "there is no boxing to explain: the scenario has no 'model'");
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

// Shows how the tasks of a model come into being.
void show_steps(const std::string& text, const OptCommand& command,
                const models::PassRegistry& registry, const models::PipelineOptions& options) {
  Diagnostics told_elsewhere;
  auto scenario =
      formats::read_scenario(text, command.settings, told_elsewhere, {.build_model = false});
  if (!scenario || !scenario->graph.logical) return;
  const auto calls = models::parse_passes(scenario->passes, registry, told_elsewhere);
  if (calls) models::run_passes(scenario->graph, *calls, options, told_elsewhere);
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

}  // namespace

int run_opt(const OptCommand& command, const models::PassRegistry& registry,
            const Console& console) {
  Diagnostics diagnostics;
  const auto complain = [&](const std::string& path, const std::string& text) {
    console.err << viz::diagnostic_text(diagnostics, path, text, console.err_colour);
    return kExitUsage;
  };
  const auto calls = models::parse_passes(command.passes, registry, diagnostics);
  if (!calls) return complain("--passes", command.passes);

  const std::string shown = command.path == "-" ? "standard input" : command.path;
  const std::string text = read_scenario_text(command.path, console);
  // Who says himself how tasks are made begins with the model.
  const bool builds = !command.explain_boxing && !begins_with_model(*calls);
  auto scenario =
      formats::read_scenario(text, command.settings, diagnostics, {.build_model = builds});
  if (!scenario) return complain(shown, text);
  models::PipelineOptions options;
  options.verify_each = command.verify_each;
  if (command.print_after_all) {
    options.after_each = [&](const models::PassCall& call, const TaskGraph& graph) {
      console.err << fmt::format("# after {}\n{}\n", call.text, shown_graph(graph));
    };
  }
  if (command.print_after_all && builds) show_steps(text, command, registry, options);
  std::optional<std::string> result;
  if (command.explain_boxing) {
    result = boxing_text(*scenario, *calls, registry, options, diagnostics);
  } else if (!models::run_passes(scenario->graph, *calls, options, diagnostics)) {
    return complain(shown, text);
  } else if (scenario->graph.logical) {
    complain_of_model(diagnostics);
  } else {
    result = text_of(scenario->graph, diagnostics);
  }
  complain(shown, text);  // warnings too
  if (!result) return kExitUsage;
  console.out << *result;
  return kExitGood;
}

std::string pass_list(const models::PassRegistry& registry) {
  std::string text;
  for (const auto& [name, pass] : registry.all()) {
    if (!text.empty()) text += '\n';
    text += fmt::format("{}\n  {}\n", name, pass.about);
    const auto declared = [](const models::PassOption& option) {
      return fmt::format("{}={}", option.name, type_text(option));
    };
    std::size_t width = 18;
    for (const models::PassOption& option : pass.options) {
      width = std::max(width, declared(option).size());
    }
    for (const models::PassOption& option : pass.options) {
      text += fmt::format("    {:{}} {}", declared(option), width, option.about);
      if (option.otherwise && !option.otherwise->empty()) {
        text += fmt::format(" (default: {})", *option.otherwise);
      } else if (option.otherwise) {
        text += " (optional)";
      }
      text += '\n';
    }
  }
  return text;
}

}  // namespace pipesim::app
