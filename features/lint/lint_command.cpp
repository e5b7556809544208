#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/job_choices.hpp"
#include "app/output/files.hpp"
#include "app/output/views.hpp"
#include "viz/report/annotations.hpp"
#include "viz/report/diagnostic_text.hpp"
#include "viz/report/junit.hpp"
#include "viz/report/words.hpp"

#include "features/lint/lint.hpp"
#include "features/lint/lint_report.hpp"
#include "features/lint/script_lint.hpp"
#include "features/lint/unused_names.hpp"

namespace pipesim::app {
namespace {

using Findings = std::vector<models::LintFinding>;

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const models::LintRule& rule : models::lint_rules()) names.emplace_back(rule.name);
  return names;
}

/// A file with its errors and findings.
struct Linted {
  std::string path;  // path as shown in messages
  int status = kExitGood;
  Findings findings{};
  std::vector<viz::Annotation> annotations{};  // errors first, then findings
  std::string data{};
  std::string report{};  // findings; errors go to stderr
};

// Returns the findings of rules that need the model from which the tasks were built.
Findings findings_of_model(const ScenarioInput& input) {
  models::Diagnostics ignored;
  const auto model = input.read_model(ignored);
  if (!model || !model->graph.logical) return {};
  return models::lint(model->graph, ignored).value_or(Findings());
}

// Removes the findings of rules that --ignore names, and sorts the others.
Findings kept(Findings findings, const Arguments& arguments) {
  models::put_in_order(findings);
  const auto& ignored = arguments.all("ignore");
  std::erase_if(findings, [&](const models::LintFinding& finding) {
    return std::find(ignored.begin(), ignored.end(), finding.rule) != ignored.end();
  });
  return findings;
}

Findings findings_of(const ScenarioInput& input, const formats::Scenario& scenario,
                     Findings findings, const Arguments& arguments) {
  const auto append = [&](Findings more) {
    std::move(more.begin(), more.end(), std::back_inserter(findings));
  };
  append(findings_of_model(input));
  if (input.foreign_job() == nullptr) {
    append(formats::unused_names(input.text(), input.patches(), scenario.graph));
  }
  return kept(std::move(findings), arguments);
}

// Adds the findings in other ways to choose, of rules by which no earlier way has a finding.
void add_other_ways(const ScenarioInput& input, const formats::Scenario& scenario,
                    const Arguments& arguments, const Console& console, Findings& findings) {
  constexpr std::uint64_t kMaxLintedWays = 64;
  JobChoices choices(scenario);
  if (choices.empty()) return;
  choices.next();  // the default way
  const std::optional<std::uint64_t> all = choices.count();
  for (std::uint64_t way = 1; way < kMaxLintedWays; ++way) {
    const auto settings = choices.next();
    if (!settings) return;
    const auto other = input.read_with(*settings);
    models::Diagnostics ignored;
    const std::size_t known = findings.size();  // findings of earlier ways
    for (models::LintFinding& finding :
         other ? models::lint(other->graph, ignored).value_or(Findings()) : Findings()) {
      const bool is_known =
          std::any_of(findings.begin(), findings.begin() + static_cast<std::ptrdiff_t>(known),
                      [&](const models::LintFinding& it) { return it.rule == finding.rule; });
      if (is_known) continue;
      finding.message += fmt::format(" (with {})", settings_text(*settings));
      findings.push_back(std::move(finding));
    }
  }
  if (all != kMaxLintedWays && !arguments.has("format")) {
    console.err << fmt::format("note: the job can go {} ways, of which the first {} were linted\n",
                               all ? viz::grouped(*all) : "very many", kMaxLintedWays);
  }
}

// Formats the findings of `result`, in a job of `ranks` ranks. `what` is "scenario" or "script",
// and `name` is its name in JSON.
void add_findings(Linted& result, const TextInput& input, std::string_view what,
                  std::string_view name, std::uint32_t ranks, const Arguments& arguments,
                  const Console& console) {
  const Findings& findings = result.findings;
  const auto annotations = viz::lint_annotations(findings, ranks, input.sources());
  result.annotations.insert(result.annotations.end(), annotations.begin(), annotations.end());
  if (arguments.has("json")) {
    result.data = viz::lint_report(findings, what, name, ranks).json();
  }
  result.report = input.excerpts(viz::lint_diagnostics(findings, ranks), console.out_colour);
  result.report +=
      fmt::format("{}: {}\n", models::printable(result.path),
                  findings.empty() ? "no findings" : viz::counted(findings.size(), "finding"));
  result.status = findings.empty() ? kExitGood : kExitBad;
}

Linted lint_file(const ScenarioFiles& files, const Arguments& arguments, const Console& console) {
  ScenarioInput input(files, console);
  Linted result{.path = input.path()};
  const auto scenario = input.try_read();
  auto found = scenario ? models::lint(scenario->graph, input.diagnostics()) : std::nullopt;
  result.annotations = viz::annotations_of(input.diagnostics(), input.sources());
  if (!arguments.has("format")) input.report();
  if (!found) {
    result.status = kExitUsage;
    return result;
  }
  add_other_ways(input, *scenario, arguments, console, *found);
  result.findings = findings_of(input, *scenario, std::move(*found), arguments);
  add_findings(result, input, "scenario", scenario->graph.name, scenario->graph.ranks, arguments,
               console);
  return result;
}

Linted lint_script(const std::string& path, ScriptFindings found, const Arguments& arguments,
                   const Console& console) {
  TextInput input = TextInput::read(path, formats::kMaxScenarioBytes, console);
  Linted result{.path = input.title()};
  input.diagnostics() = std::move(found.errors);
  result.annotations = viz::annotations_of(input.diagnostics(), input.sources());
  const bool is_broken = input.diagnostics().has_errors();
  if (!arguments.has("format")) input.report();
  if (is_broken) {
    result.status = kExitUsage;
    return result;
  }
  result.findings = kept(std::move(found.findings), arguments);
  add_findings(result, input, "script", result.path, 0, arguments, console);
  return result;
}

// Returns the findings in each of `paths` that is a script, by path.
std::map<std::string, ScriptFindings> findings_of_scripts(const std::vector<std::string>& paths,
                                                          const Arguments& arguments) {
  std::vector<std::string> scripts;
  std::copy_if(paths.begin(), paths.end(), std::back_inserter(scripts), is_script);
  for (const char* option : {"set", "patch", "rules"}) {
    if (scripts.size() == paths.size() && arguments.has(option)) {
      throw UsageError(models::Code::kOptionConflict,
                       fmt::format("'--{}' is for scenarios, not for scripts", option));
    }
  }
  std::vector<ScriptFindings> found = lint_scripts(scripts);
  std::map<std::string, ScriptFindings> result;
  for (std::size_t i = 0; i < scripts.size(); ++i) result[scripts[i]] = std::move(found.at(i));
  return result;
}

// Reports an unreadable file; the other files are still checked.
Linted unreadable(const std::string& path, const FileError& error, const Arguments& arguments,
                  const Console& console) {
  models::Diagnostics diagnostics;
  diagnostics.error({}, error.code(), error.what());
  const std::vector<viz::SourceText> sources = {{path, ""}};
  if (!arguments.has("format")) {
    console.err << viz::diagnostic_text(diagnostics, sources, console.err_colour);
  }
  Linted result{.path = path, .status = kExitFile};
  result.annotations = viz::annotations_of(diagnostics, sources);
  return result;
}

// Returns one test for each error and each finding, and a passed test for each file without them.
std::vector<viz::TestResult> test_results(const std::vector<Linted>& all) {
  using viz::TestStatus;
  std::vector<viz::TestResult> results;
  for (const Linted& linted : all) {
    if (linted.status == kExitGood) {
      results.push_back({linted.path, linted.path, TestStatus::kPassed, "", ""});
    }
    for (const viz::Annotation& problem : linted.annotations) {
      if (problem.severity == models::Severity::kWarning) continue;
      const bool is_error = problem.severity == models::Severity::kError;
      results.push_back(
          {problem.file, fmt::format("{}:{} {}", problem.file, problem.line, problem.rule),
           is_error ? TestStatus::kBad : TestStatus::kFailed, problem.message, problem.help});
    }
  }
  return results;
}

int run_lint(const Arguments& arguments, const Console& console) {
  if (arguments.has("list")) {
    console.out << viz::lint_rule_list();
    return kExitGood;
  }
  std::vector<std::string> paths = scenario_paths(arguments.positional(), is_script);
  if (paths.empty()) paths = arguments.positional();  // for example, a folder of dumps
  if (paths.empty()) {
    throw InputError(models::Code::kNothingToDo,
                     "no scenarios or scripts found: no '*.yaml' with 'schema:', and no '*.py'");
  }
  if (arguments.has("json") && paths.size() > 1) {
    throw UsageError(models::Code::kOptionConflict, "'--json' takes one file",
                     "--format sarif has the findings of several files");
  }
  std::map<std::string, ScriptFindings> scripts = findings_of_scripts(paths, arguments);
  std::vector<Linted> all;
  for (const std::string& path : paths) {
    try {
      const auto script = scripts.find(path);
      all.push_back(script != scripts.end()
                        ? lint_script(path, std::move(script->second), arguments, console)
                        : lint_file(scenario_files(arguments, path), arguments, console));
    } catch (const FileError& error) {
      if (paths.size() == 1 && !arguments.has("format")) throw;
      all.push_back(unreadable(shown_path(path), error, arguments, console));
    }
    if (!arguments.has("format")) console.out << all.back().data;
    if (!arguments.has("format") && !arguments.has("json")) console.out << all.back().report;
  }
  if (const auto format = arguments.text("format"); format == "junit") {
    console.out << viz::junit_xml(test_results(all));
  } else if (format) {
    std::vector<viz::Annotation> annotations;
    for (const Linted& linted : all) {
      annotations.insert(annotations.end(), linted.annotations.begin(), linted.annotations.end());
    }
    print_annotations(*format, annotations, console);
  } else if (!arguments.has("json") &&
             std::any_of(all.begin(), all.end(),
                         [](const Linted& linted) { return !linted.report.empty(); })) {
    console.out << last_line(arguments, console);
  }
  return std::max_element(all.begin(), all.end(),
                          [](const Linted& a, const Linted& b) { return a.status < b.status; })
      ->status;
}

}  // namespace

Command lint_command() {
  return {
      .name = "lint",
      .about = "Point out valid but suspicious code, without running it",
      .usage = {"[FILE|DIR]... [options]", "--list"},
      .description = {"Points out code in scenarios and PyTorch scripts (*.py) that is valid but "
                      "often causes hangs, with the line, the reason and the rule. Nothing is run; "
                      "'pipesim check' and 'pipesim record' tell whether it hangs. A directory "
                      "means all scenarios and scripts below it; the default is the directory "
                      "'scenarios' if it exists, else the current one.",
                      "Scripts are read by Python 3.9 or newer: $PYTHON, else the python3 of "
                      "pipesim's environment. torch is not needed.",
                      kScenarioFileNote},
      .options = {scenario_options(),
                  {"Rules",
                   {{.name = "ignore",
                     .value = "RULE",
                     .about = "Suppress this rule (repeatable)",
                     .choices = rule_names(),
                     .repeats = true,
                     .removed = {{"first-use", "this rule was removed; use 'pipesim check'"}}},
                    {.name = "list", .about = "List the rules and exit"}}},
                  {"Report", {json_option("the findings of one file"), format_option()}},
                  general_options()},
      .examples = {"pipesim lint scenarios/swin_2x2x2.yaml", "pipesim lint train.py",
                   "pipesim lint scenarios/swin_2x2x2.yaml --ignore partial-sum",
                   "pipesim lint my_scenarios --format sarif > pipesim.sarif"},
      .exit_status =
          "0 no findings, 1 findings, 2 invalid input or usage, 74 a file "
          "could not be read",
      .pages = {"docs/reference/lint.md"},
      .run = run_lint,
  };
}

}  // namespace pipesim::app
