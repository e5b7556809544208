#include "app/opt_command.hpp"

#include <optional>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/files.hpp"
#include "formats/scenario_writer.hpp"
#include "models/pass_pipeline.hpp"
#include "viz/diagnostic_text.hpp"

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

std::string_view type_text(models::OptionType type) {
  switch (type) {
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
  if (!calls) return complain("--passes", {});

  const std::string shown = command.path == "-" ? "standard input" : command.path;
  const std::string text = read_file(command.path, console.in);
  auto scenario = formats::read_scenario(text, command.settings, diagnostics);
  if (!scenario) return complain(shown, text);
  models::PipelineOptions options;
  options.verify_each = command.verify_each;
  if (command.print_after_all) {
    options.after_each = [&](const models::PassCall& call, const TaskGraph& graph) {
      console.err << fmt::format("# after {}\n{}\n", call.text, formats::write_scenario(graph));
    };
  }
  if (!models::run_passes(scenario->graph, *calls, options, diagnostics)) {
    return complain(shown, text);
  }
  const std::optional<std::string> result = text_of(scenario->graph, diagnostics);
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
    for (const models::PassOption& option : pass.options) {
      const std::string declared = fmt::format("{}={}", option.name, type_text(option.type));
      text += fmt::format("    {:18} {}", declared, option.about);
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
