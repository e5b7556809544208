// The test command. Tests share nothing, so threads take them one by one from a list. Results are
// reported in the order of the list, whichever test finishes first.
#include <algorithm>
#include <atomic>
#include <optional>
#include <regex>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/views.hpp"
#include "app/workers.hpp"
#include "formats/scenario/scenario.hpp"
#include "models/result/expectation.hpp"
#include "models/result/simulation.hpp"
#include "viz/report/command_text.hpp"
#include "viz/report/diagnostic_text.hpp"
#include "viz/report/junit.hpp"

#include "features/test/figure_update.hpp"
#include "features/test/test_text.hpp"

namespace pipesim::app {
namespace {

using models::Diagnostics;
using models::Unmet;
using viz::TestResult;
using viz::TestStatus;

struct TestOptions {
  std::vector<std::string> paths;    // files and folders; none: see scenario_paths()
  std::optional<std::regex> filter;  // selects tests by name
  bool update = false;               // whether to write changed exact figures
  bool update_verdicts = false;      // whether to write changed verdicts and causes
};

struct TestFile {
  std::string path;
  std::string shown;
  std::string text;
  std::size_t tests_end = 0;  // index after the last test of the file
};

struct Test {
  std::size_t file = 0;
  std::size_t index = 0;  // index of the expectation in the file
  std::vector<formats::Setting> settings;
  TestResult result;
  bool ready = false;  // whether the result is known without a run
  bool unreadable = false;
  // Results of comparing the run with its expectation:
  std::vector<Unmet> unmet;
  std::vector<formats::Figure> figures;
  std::string report;
};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// ---------------------------------------------------------------------------------------------
// The tests

class Suite {
 public:
  Suite(const TestOptions& options, const Console& console) : options_(options), console_(console) {
    for (const std::string& path : scenario_paths(options.paths)) add_file(path);
  }

  std::vector<TestFile> files;
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
    return !options_.filter || std::regex_search(name, *options_.filter);
  }

  Test* add_finished(TestStatus status, const std::string& message) {
    const std::string& name = files.back().shown;
    if (!wanted(name)) return nullptr;
    Test& test = add_test(name);
    test.result.status = status;
    test.result.message = message;
    test.ready = true;
    return &test;
  }

  // Adds a failed test for a file that cannot be tested.
  void add_bad(const Diagnostics& diagnostics) {
    const TestFile& file = files.back();
    const std::string text = viz::diagnostic_text(diagnostics, file.shown, file.text, false);
    Test* test = add_finished(TestStatus::kBad, first_line(text));
    if (test == nullptr) return;
    test->result.details = text;
    test->result.annotations = viz::annotations_of(diagnostics, {{file.shown, file.text}});
  }

  void add_file(const std::string& path) {
    files.push_back({path, shown_path(path), {}, 0});
    try {
      files.back().text = read_scenario_text(path, console_).text();
      read_tests();
    } catch (const FileError& error) {
      Test* test = add_finished(TestStatus::kBad, error.what());
      if (test != nullptr) {
        Diagnostics diagnostics;
        diagnostics.error({}, error.code(), error.what());
        test->result.annotations = viz::annotations_of(diagnostics, {{files.back().shown, ""}});
        test->unreadable = true;
      }
    }
    files.back().tests_end = tests.size();
  }

  void read_tests() {
    const TestFile& file = files.back();
    Diagnostics diagnostics;
    const auto scenario = formats::read_scenario(file.text, {}, diagnostics);
    if (!scenario) return add_bad(diagnostics);
    if (scenario->expectations.empty()) {
      add_without_tests(file);
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

  // Adds the result for a file without tests: failed if the command line names the file, skipped if
  // the file was found in a folder.
  void add_without_tests(const TestFile& file) {
    const auto& named = options_.paths;
    if (std::find(named.begin(), named.end(), file.path) == named.end()) {
      add_finished(TestStatus::kSkipped, "no 'expect'");
      return;
    }
    Diagnostics diagnostics;
    diagnostics
        .error({1, 1}, models::Code::kNothingToDo, "nothing to test: the scenario has no 'expect'")
        .notes.emplace_back("say what should happen: 'expect: {verdict: completed}'");
    add_bad(diagnostics);
  }

  const TestOptions& options_;
  const Console& console_;
};

// ---------------------------------------------------------------------------------------------
// One test

void complain(const Diagnostics& diagnostics, const TestFile& file, Test& test) {
  test.result.status = TestStatus::kBad;
  test.result.annotations = viz::annotations_of(diagnostics, {{file.shown, file.text}});
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

void run_one(const TestFile& file, const TestOptions& options, const std::atomic<bool>* stop,
             Test& test) {
  if (stop != nullptr && stop->load()) {
    test.result.status = TestStatus::kNotRun;
    test.result.message = "interrupted";
    return;
  }
  Diagnostics diagnostics;
  // The expectation can use parameters, so the file is read again with the settings of the test.
  const auto scenario = formats::read_scenario(file.text, test.settings, diagnostics);
  if (!scenario) return complain(diagnostics, file, test);
  const models::Expectation& expectation = scenario->expectations[test.index];
  sim::RunOptions run_options;
  run_options.stop = stop;
  run_options.keep_op_times = expectation.needs_op_times();
  const auto run = models::simulate(scenario->graph, diagnostics, run_options);
  if (!run) return complain(diagnostics, file, test);
  if (run->outcome.end == sim::RunEnd::kInterrupted) {
    test.result.status = TestStatus::kNotRun;
    test.result.message = "interrupted";
    return;
  }
  test.unmet = models::unmet(expectation, scenario->graph, *run);
  if (options.update) {
    test.figures = formats::figures_of(expectation, scenario->graph, *run, options.update_verdicts);
  }
  if (std::any_of(test.unmet.begin(), test.unmet.end(), shows_in_report)) {
    test.report = viz::report_head(scenario->graph, run->explanation);
  }
}

// ---------------------------------------------------------------------------------------------
// The results

// Writes changed figures into the file. Returns the places that cannot be updated.
std::vector<models::Place> update_file(const TestFile& file, const Test* begin, const Test* end) {
  std::vector<formats::Figure> figures;
  for (const Test* test = begin; test != end; ++test) {
    figures.insert(figures.end(), test->figures.begin(), test->figures.end());
  }
  const formats::UpdatedText updated = formats::update_figures(file.text, figures);
  if (updated.text != file.text) write_file(file.path, updated.text);
  return updated.refused;
}

// Sets the result of a test. Only unmet expectations whose figures were not updated make it fail.
void judge(const TestFile& file, const TestOptions& options,
           const std::vector<models::Place>& refused, Test& test) {
  if (test.unmet.empty()) return;
  Diagnostics left;
  std::string updated;
  for (const Unmet& unmet : test.unmet) {
    const auto figure = std::find_if(
        test.figures.begin(), test.figures.end(), [&](const formats::Figure& candidate) {
          return candidate.aspect == unmet.aspect && candidate.place == unmet.place;
        });
    const bool known = figure != test.figures.end();
    const bool is_refused =
        known && std::find(refused.begin(), refused.end(), figure->place) != refused.end();
    if (known && !is_refused) {
      updated += fmt::format("  updated, line {}: {}\n", unmet.place.line, viz::unmet_text(unmet));
      continue;
    }
    models::Diagnostic& error =
        left.error(unmet.place, models::Code::kUnmet, viz::unmet_text(unmet));
    if (is_refused) {
      error.notes.emplace_back(
          "not updated: not a plain value, or shared by tests with different results");
    }
    if (options.update && !options.update_verdicts && unmet.aspect == models::Aspect::kVerdict) {
      error.notes.emplace_back("a verdict is only updated with --update-verdicts");
    }
  }
  TestResult& result = test.result;
  result.annotations = viz::annotations_of(left, {{file.shown, file.text}});
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
                   test.report +
                   "  to rerun: " + viz::command_text("run", file.path, test.settings) + "\n";
}

int exit_code_of(const std::vector<Test>& tests) {
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

TestOptions test_options(const Arguments& arguments) {
  TestOptions options;
  options.paths = arguments.positional();
  options.update_verdicts = arguments.has("update-verdicts");
  options.update = options.update_verdicts || arguments.has("update");
  const auto& paths = options.paths;
  if (options.update && std::find(paths.begin(), paths.end(), "-") != paths.end()) {
    throw UsageError(models::Code::kStandardStreams, "standard input cannot be updated",
                     "give the scenario as a file");
  }
  const auto filter = arguments.text("filter");
  if (!filter) return options;
  try {
    options.filter.emplace(*filter);
  } catch (const std::regex_error&) {
    throw UsageError(models::Code::kOptionValue,
                     fmt::format("invalid value '{}' for '--filter'", *filter),
                     "expected a regular expression");
  }
  return options;
}

// Throws InputError if no scenario has a test, because a command that tests nothing must not
// succeed. Single scenarios can lack expectations.
void check_for_tests(const Suite& suite) {
  const bool none = std::all_of(suite.tests.begin(), suite.tests.end(), [](const Test& test) {
    return test.result.status == TestStatus::kSkipped;
  });
  if (!none) return;
  const std::size_t count = suite.tests.size();
  throw InputError(models::Code::kNothingToDo,
                   count == 1 ? "nothing to test: the only scenario has no 'expect'"
                              : fmt::format("nothing to test: none of the {} scenarios has an "
                                            "'expect'",
                                            count),
                   "say what should happen: 'expect: {verdict: completed}'");
}

int run_test(const Arguments& arguments, const Console& console) {
  const TestOptions options = test_options(arguments);
  const unsigned threads = jobs(arguments);
  const auto junit_path = arguments.text("junit");
  Suite suite(options, console);
  if (suite.tests.empty() && suite.files.empty()) {
    throw InputError(models::Code::kNothingToDo, "no scenarios found: no '*.yaml' with 'schema:'");
  }
  if (suite.tests.empty()) throw InputError(models::Code::kNothingToDo, "--filter matches no test");
  check_for_tests(suite);
  const auto format = arguments.text("format");
  const bool text = junit_path != "-" && !format;
  std::vector<TestResult> results;
  {
    const Simulating now(console);
    Workers workers(suite.tests.size(), threads, [&](std::size_t i) {
      Test& test = suite.tests[i];
      if (!test.ready) run_one(suite.files[test.file], options, console.interrupted, test);
    });
    std::size_t begin = 0;
    for (const TestFile& file : suite.files) {
      workers.wait_for(file.tests_end);
      std::vector<models::Place> refused;
      if (options.update) {
        refused =
            update_file(file, suite.tests.data() + begin, suite.tests.data() + file.tests_end);
      }
      for (; begin < file.tests_end; ++begin) {
        Test& test = suite.tests[begin];
        judge(file, options, refused, test);
        results.push_back(test.result);
        const bool quiet = arguments.has("quiet") && test.result.status == TestStatus::kPassed;
        if (text && !quiet) {
          console.out << viz::test_text(test.result, console.out_colour) << std::flush;
        }
      }
    }
  }
  if (text) {
    console.out << viz::test_summary(results, console.out_colour) << last_line(arguments, console);
  }
  if (format == "junit") {
    console.out << viz::junit_xml(results);
  } else if (format) {
    std::vector<viz::Annotation> annotations;
    for (const TestResult& result : results) {
      annotations.insert(annotations.end(), result.annotations.begin(), result.annotations.end());
    }
    print_annotations(*format, annotations, console);
  }
  if (junit_path) write_or_print(*junit_path, viz::junit_xml(results), console.out);
  return exit_code_of(suite.tests);
}

}  // namespace

Command test_command() {
  return {
      .name = "test",
      .about = "Check scenarios against their expectations",
      .usage = {"[FILE|DIR]... [options]"},
      .description =
          {"Runs scenarios and checks the results against their 'expect'. A directory means all "
           "scenarios below it; the default is the directory 'scenarios' if it exists, else the "
           "current one. Each entry of 'expect' is a test, named after the file and its "
           "settings: 'a.yaml [acc=2]'."},
      .options = {{"Tests",
                   {{.name = "filter",
                     .letter = 'k',
                     .value = "REGEX",
                     .about = "Run only tests whose name contains a match"},
                    jobs_option()}},
                  {"Expectations",
                   {{.name = "update",
                     .about = "Write the actual values of exact times and cycle lengths into the "
                              "files"},
                    {.name = "update-verdicts",
                     .about = "Like --update, but also verdicts and causes: review the diff"}}},
                  {"Report",
                   {{.name = "junit",
                     .value = "FILE",
                     .about = "Write the results as JUnit XML ('-' prints that instead)",
                     .output = true},
                    format_option(),
                    {.name = "quiet", .letter = 'q', .about = "Do not list the tests that pass"}}},
                  general_options()},
      .examples = {"pipesim test", "pipesim test scenarios/swin_2x2x2.yaml --filter acc=2",
                   "pipesim test my_scenarios --junit results.xml --quiet",
                   "pipesim test --format github",
                   "pipesim test my_scenarios --update && git diff"},
      .exit_status =
          "0 all expectations are met, 1 some are not, 2 a scenario cannot be run, there is "
          "nothing to test, or invalid usage, 74 a file could not be read or written, 130 "
          "interrupted",
      .pages = {"docs/how-to/test.md"},
      .run = run_test,
  };
}

}  // namespace pipesim::app
