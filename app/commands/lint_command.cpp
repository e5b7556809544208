#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/output/views.hpp"
#include "formats/edits/unused_names.hpp"
#include "models/lint/lint.hpp"
#include "viz/json/lint_json.hpp"
#include "viz/text/lint_text.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

using Findings = std::vector<models::LintFinding>;

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const models::LintRule& rule : models::lint_rules()) names.emplace_back(rule.name);
  return names;
}

// Some questions can only be asked of the model that the tasks were made from.
Findings findings_of_model(const ScenarioInput& input) {
  models::Diagnostics ignored;
  const auto model = input.read_model(ignored);
  if (!model || !model->graph.logical) return {};
  return models::lint(model->graph, ignored).value_or(Findings());
}

int run_lint(const Arguments& arguments, const Console& console) {
  if (arguments.has("list")) {
    console.out << viz::lint_rule_list();
    return kExitGood;
  }
  ScenarioInput input(scenario_files(arguments), console);
  const formats::Scenario scenario = input.read();
  Findings findings = input.require(models::lint(scenario.graph, input.diagnostics()));
  input.report();
  Findings more = findings_of_model(input);
  std::move(more.begin(), more.end(), std::back_inserter(findings));
  if (input.record() == nullptr) {
    more = formats::unused_names(input.text(), input.patches(), scenario.graph);
    std::move(more.begin(), more.end(), std::back_inserter(findings));
  }
  models::put_in_order(findings);
  const auto& ignored = arguments.all("ignore");
  std::erase_if(findings, [&](const models::LintFinding& finding) {
    return std::find(ignored.begin(), ignored.end(), finding.rule) != ignored.end();
  });
  if (arguments.has("json")) {
    console.out << viz::lint_json(findings, scenario.graph.name);
  } else {
    console.out << input.excerpts(viz::lint_diagnostics(findings, scenario.graph.ranks),
                                  console.out_colour)
                << fmt::format("{}: {}\n", models::printable(input.path()),
                               findings.empty() ? "nothing suspect"
                                                : viz::counted(findings.size(), "finding"))
                << last_line(arguments, console);
  }
  return findings.empty() ? kExitGood : kExitBad;
}

}  // namespace

Command lint_command() {
  return {
      .name = "lint",
      .about = "Point out valid but suspicious code, without running it",
      .usage = {"FILE [options]", "--list"},
      .description = {"Points out code in the scenario in FILE that is valid but often causes "
                      "hangs, with the line, the reason and the rule. Nothing is run; 'pipesim "
                      "run' and 'pipesim check' tell whether it hangs.",
                      kScenarioFileNote},
      .options = {scenario_options(),
                  {"Rules",
                   {{.name = "ignore",
                     .value = "RULE",
                     .about = "Suppress this rule (repeatable)",
                     .choices = rule_names(),
                     .repeats = true},
                    {.name = "list", .about = "List the rules and exit"}}},
                  {"Report", {json_option("the findings")}},
                  general_options()},
      .examples = {"pipesim lint scenarios/swin_2x2x2.yaml",
                   "pipesim lint scenarios/swin_2x2x2.yaml --ignore partial-sum"},
      .exit_status =
          "0 nothing is suspect, 1 something is, 2 invalid input or usage, 74 a file "
          "could not be read",
      .pages = {"docs/reference/lint.md"},
      .run = run_lint,
  };
}

}  // namespace pipesim::app
