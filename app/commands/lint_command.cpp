#include "app/commands/lint_command.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "app/exit_codes.hpp"
#include "models/lint/lint.hpp"
#include "viz/json/lint_json.hpp"
#include "viz/text/lint_text.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

using models::LintFinding;
using Findings = std::vector<LintFinding>;

// What can only be asked of the model that the tasks were made from.
Findings findings_of_model(ScenarioInput& input) {
  models::Diagnostics told_elsewhere;
  const auto model = input.read(told_elsewhere, false);
  if (!model || !model->graph.logical) return {};
  return models::lint(model->graph, told_elsewhere).value_or(Findings());
}

void print(const Findings& findings, const ScenarioInput& input, std::uint32_t ranks,
           const Console& console) {
  console.out << input.text_of(viz::lint_diagnostics(findings, ranks), console.out_colour);
  console.out << models::printable(input.path()) << ": "
              << (findings.empty() ? "nothing suspect" : viz::counted(findings.size(), "finding"))
              << '\n';
}

}  // namespace

int run_lint(const LintCommand& command, const Console& console) {
  ScenarioInput input(command.files, console);
  models::Diagnostics diagnostics;
  const auto complain = [&] { return input.complain(diagnostics, console); };
  const auto scenario = input.read(diagnostics);
  if (!scenario) return complain();
  auto findings = models::lint(scenario->graph, diagnostics);
  if (!findings) return complain();
  complain();  // warnings
  Findings all = findings_of_model(input);
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
    print(all, input, scenario->graph.ranks, console);
  }
  return all.empty() ? kExitGood : kExitBad;
}

}  // namespace pipesim::app
