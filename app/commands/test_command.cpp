// Every test is a run of its own, which shares nothing with the others, so threads take them one by
// one from a list. Results are told in the order of the list, whoever was ready first.
#include "app/commands/test_command.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/input/scenario_files.hpp"
#include "app/input/scenario_input.hpp"
#include "app/output/files.hpp"
#include "app/workers.hpp"
#include "formats/edits/figure_update.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/explain/simulation.hpp"
#include "models/measure/expectation.hpp"
#include "viz/text/diagnostic_text.hpp"
#include "viz/text/test_text.hpp"

namespace pipesim::app {
namespace {

using models::Diagnostics;
using models::Unmet;
using viz::TestResult;
using viz::TestStatus;

struct File {
  std::string path;
  std::string shown;
  std::string text;
  std::size_t tests_end = 0;  // beyond the last of its tests
};

struct Test {
  std::size_t file = 0;
  std::size_t index = 0;  // of the expectation in the file
  std::vector<formats::Setting> settings;
  TestResult result;
  bool ready = false;  // there is nothing to run
  bool unreadable = false;
  // Of a run that was held against its expectation:
  std::vector<Unmet> unmet;
  std::vector<formats::Figure> figures;
  std::string report;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// ---------------------------------------------------------------------------------------------
// What there is to test

class Suite {
 public:
  Suite(const TestCommand& command, const Console& console) : command_(command), console_(console) {
    for (const std::string& path : scenario_files(command.paths)) add_file(path);
  }

  std::vector<File> files;
  std::vector<Test> tests;

 private:
  Test& add_test(const std::string& name) {
    Test test;
    test.file = files.size() - 1;
    test.result.file = files.back().shown;
    test.result.name = name;
    tests.push_back(std::move(test));
    return tests.back();
  }

  bool wanted(const std::string& name) const {
    return !command_.filter || std::regex_search(name, *command_.filter);
  }

  void add_finished(TestStatus status, const std::string& message, const std::string& details) {
    const std::string& name = files.back().shown;
    if (!wanted(name)) return;
    Test& test = add_test(name);
    test.result.status = status;
    test.result.message = message;
    test.result.details = details;
    test.ready = true;
  }

  void add_file(const std::string& path) {
    files.push_back({path, path == "-" ? "standard input" : path, {}, 0});
    try {
      files.back().text = read_scenario_text(path, console_);
      read_tests();
    } catch (const FileError& error) {
      add_finished(TestStatus::kBad, error.what(), "");
      if (!tests.empty() && tests.back().file + 1 == files.size()) tests.back().unreadable = true;
    }
    files.back().tests_end = tests.size();
  }

  void read_tests() {
    const File& file = files.back();
    Diagnostics diagnostics;
    const auto scenario = formats::read_scenario(file.text, {}, diagnostics);
    if (!scenario) {
      const std::string text = viz::diagnostic_text(diagnostics, file.shown, file.text, false);
      add_finished(TestStatus::kBad, first_line(text), text);
      return;
    }
    if (scenario->expectations.empty()) {
      add_finished(TestStatus::kSkipped, "it has no 'expect'", "");
      return;
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < scenario->expectations.size(); ++i) {
      const auto& with = scenario->expectations[i].with;
      std::string name = file.shown;
      for (const auto& [parameter, value] : with) {
        name += fmt::format("{}{}={}", &parameter == &with.front().first ? " [" : ", ", parameter,
                            value);
      }
      if (!with.empty()) name += "]";
      names.push_back(name);
      const auto same = std::count(names.begin(), names.end(), name);
      if (same > 1) name += fmt::format(" #{}", same);
      if (!wanted(name)) continue;
      Test& test = add_test(name);
      test.index = i;
      test.settings = with;
    }
  }

  const TestCommand& command_;
  const Console& console_;
};

// ---------------------------------------------------------------------------------------------
// One test

void complain(const Diagnostics& diagnostics, const File& file, Test& test) {
  test.result.status = TestStatus::kBad;
  test.result.details = viz::diagnostic_text(diagnostics, file.shown, file.text, false);
  test.result.message = first_line(test.result.details);
}

bool shows_in_report(const Unmet& unmet) {
  switch (unmet.aspect) {
    case models::Aspect::kVerdict:
    case models::Aspect::kCause:
    case models::Aspect::kCycleLength:
    case models::Aspect::kCycleThrough:
    case models::Aspect::kRoots:
      return true;
    case models::Aspect::kTime:
    case models::Aspect::kIdle:
    case models::Aspect::kMemory:
    case models::Aspect::kOrder:
      break;
  }
  return false;
}

void run_one(const File& file, const TestCommand& command, const std::atomic<bool>* stop,
             Test& test) {
  if (stop != nullptr && stop->load()) {
    test.result.status = TestStatus::kNotRun;
    test.result.message = "interrupted";
    return;
  }
  Diagnostics diagnostics;
  // Read again with the settings of this expectation, which then stands in their terms.
  const auto scenario = formats::read_scenario(file.text, test.settings, diagnostics);
  if (!scenario) return complain(diagnostics, file, test);
  const models::Expectation& expectation = scenario->expectations[test.index];
  sim::RunOptions options;
  options.stop = stop;
  options.keep_act_times = expectation.needs_act_times();
  const auto run = models::simulate(scenario->graph, diagnostics, options);
  if (!run) return complain(diagnostics, file, test);
  if (run->outcome.end == sim::RunEnd::kInterrupted) {
    test.result.status = TestStatus::kNotRun;
    test.result.message = "interrupted";
    return;
  }
  test.unmet = models::unmet(expectation, scenario->graph, *run);
  if (command.update) {
    test.figures = formats::figures_of(expectation, scenario->graph, *run, command.update_names);
  }
  if (std::any_of(test.unmet.begin(), test.unmet.end(), shows_in_report)) {
    test.report = viz::report_head(scenario->graph, run->explanation);
  }
}

// ---------------------------------------------------------------------------------------------
// What came out

// Puts changed figures into the file, and says which of them it could not.
std::vector<models::Place> update_file(const File& file, const Test* begin, const Test* end) {
  std::vector<formats::Figure> figures;
  for (const Test* test = begin; test != end; ++test) {
    figures.insert(figures.end(), test->figures.begin(), test->figures.end());
  }
  const formats::UpdatedText updated = formats::update_figures(file.text, figures);
  if (updated.text != file.text) write_file(file.path, updated.text);
  return updated.refused;
}

// What is left of a test that was held against its expectation.
void judge(const File& file, const TestCommand& command, const std::vector<models::Place>& refused,
           Test& test) {
  if (test.unmet.empty()) return;
  Diagnostics left;
  std::string updated;
  for (const Unmet& unmet : test.unmet) {
    const auto figure = std::find_if(
        test.figures.begin(), test.figures.end(), [&](const formats::Figure& candidate) {
          return candidate.aspect == unmet.aspect && candidate.place == unmet.place;
        });
    const bool known = figure != test.figures.end();
    const bool no =
        known && std::find(refused.begin(), refused.end(), figure->place) != refused.end();
    if (known && !no) {
      updated += fmt::format("  updated, line {}: {}\n", unmet.place.line, viz::unmet_text(unmet));
      continue;
    }
    models::Diagnostic& error = left.error(unmet.place, viz::unmet_text(unmet));
    if (no) {
      error.notes.emplace_back(
          "not updated: it is no plain figure, or several tests share it that differ");
    }
    if (command.update && !command.update_names && unmet.aspect == models::Aspect::kVerdict) {
      error.notes.emplace_back("another end is not taken over: --update-verdicts does that");
    }
  }
  TestResult& result = test.result;
  if (!left.has_errors()) {
    result.status = TestStatus::kUpdated;
    result.details = updated;
    return;
  }
  result.status = TestStatus::kFailed;
  result.message = left.sorted().front().message;
  if (left.error_count() > 1)
    result.message += fmt::format(" (and {} more)", left.error_count() - 1);
  result.details = viz::diagnostic_text(left, file.shown, file.text, false) + updated +
                   test.report + "  again: " + viz::run_command_text(file.path, test.settings) +
                   "\n";
}

int exit_code(const std::vector<Test>& tests) {
  const auto any = [&](TestStatus status) {
    return std::any_of(tests.begin(), tests.end(),
                       [&](const Test& test) { return test.result.status == status; });
  };
  if (any(TestStatus::kNotRun)) return kExitInterrupted;
  if (std::any_of(tests.begin(), tests.end(), [](const Test& test) { return test.unreadable; })) {
    return kExitFile;
  }
  if (any(TestStatus::kBad)) return kExitUsage;
  return any(TestStatus::kFailed) ? kExitBad : kExitGood;
}

}  // namespace

int run_test(const TestCommand& command, const Console& console) {
  Suite suite(command, console);
  if (suite.tests.empty()) {
    console.err << fmt::format("pipesim: error: {}\n",
                               suite.files.empty()
                                   ? "there is no scenario here: no '*.yaml' with 'schema:'"
                                   : "no test has a name that fits --filter");
    return kExitUsage;
  }
  const bool text = command.junit_path != "-";
  std::vector<TestResult> results;
  {
    const Simulating now(console);
    Workers workers(suite.tests.size(), command.jobs, [&](std::size_t i) {
      Test& test = suite.tests[i];
      if (!test.ready) run_one(suite.files[test.file], command, console.interrupted, test);
    });
    std::size_t begin = 0;
    for (const File& file : suite.files) {
      workers.wait_for(file.tests_end);
      std::vector<models::Place> refused;
      if (command.update) {
        refused =
            update_file(file, suite.tests.data() + begin, suite.tests.data() + file.tests_end);
      }
      for (; begin < file.tests_end; ++begin) {
        Test& test = suite.tests[begin];
        judge(file, command, refused, test);
        results.push_back(test.result);
        const bool quiet = command.quiet && test.result.status == TestStatus::kPassed;
        if (text && !quiet)
          console.out << viz::test_text(test.result, console.out_colour) << std::flush;
      }
    }
  }
  if (text) {
    console.out << viz::test_summary(results, console.out_colour);
    if (command.junit_path) write_file(*command.junit_path, viz::junit_xml(results));
  } else {
    console.out << viz::junit_xml(results);
  }
  return exit_code(suite.tests);
}

}  // namespace pipesim::app
