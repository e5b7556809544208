#include "app/lint_command.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "app/exit_codes.hpp"
#include "app/files.hpp"
#include "app/import_command.hpp"
#include "models/lint.hpp"
#include "viz/diagnostic_text.hpp"
#include "viz/lint_text.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

using models::LintFinding;
using Findings = std::vector<LintFinding>;

// What can only be asked of the model that the tasks were made from.
Findings findings_of_model(const std::string& text, const LintCommand& command) {
  models::Diagnostics told_elsewhere;
  const auto model =
      formats::read_scenario(text, command.settings, told_elsewhere, {.build_model = false});
  if (!model || !model->graph.logical) return {};
  return models::lint(model->graph, told_elsewhere).value_or(Findings());
}

void print(const Findings& findings, const std::string& path, const std::string& text,
           std::uint32_t ranks, const Console& console) {
  console.out << viz::diagnostic_text(viz::lint_diagnostics(findings, ranks), path, text,
                                      console.out_colour);
  console.out << path << ": "
              << (findings.empty() ? "nothing suspect" : viz::counted(findings.size(), "finding"))
              << '\n';
}

}  // namespace

int run_lint(const LintCommand& command, const Console& console) {
  std::string text = read_file(command.path, console.in);
  std::string path = command.path == "-" ? "standard input" : command.path;
  models::Diagnostics diagnostics;
  const auto complain = [&] {
    console.err << viz::diagnostic_text(diagnostics, path, text, console.err_colour);
    return kExitUsage;
  };
  if (is_schedule_path(command.path)) {
    const auto imported = scenario_of_schedule(text, command.path, diagnostics);
    if (!imported) return complain();
    text = *imported;
    path += " as a scenario";
  }
  const auto scenario = formats::read_scenario(text, command.settings, diagnostics);
  if (!scenario) return complain();
  auto findings = models::lint(scenario->graph, diagnostics);
  if (!findings) return complain();
  complain();  // warnings
  Findings all = findings_of_model(text, command);
  std::move(findings->begin(), findings->end(), std::back_inserter(all));
  models::put_in_order(all);
  const auto is_ignored = [&](const LintFinding& finding) {
    const auto& ignored = command.ignored;
    return std::find(ignored.begin(), ignored.end(), finding.rule) != ignored.end();
  };
  all.erase(std::remove_if(all.begin(), all.end(), is_ignored), all.end());
  if (command.json) {
    console.out << viz::lint_json(all, scenario->graph.name);
  } else {
    print(all, path, text, scenario->graph.ranks, console);
  }
  return all.empty() ? kExitGood : kExitBad;
}

}  // namespace pipesim::app
