// The results of `pipesim test`: text for people, JUnit XML for build servers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "models/measure/expectation.hpp"
#include "viz/text/annotations.hpp"

namespace pipesim::viz {

enum class TestStatus : std::uint8_t {
  kPassed,
  kUpdated,  // failed, and the expectation in the file was updated
  kFailed,   // an expectation is not met
  kBad,      // the scenario cannot be run
  kSkipped,  // the scenario has no expectations
  kNotRun,   // interrupted before the end
};

/// The result of one expectation of one scenario.
struct TestResult {
  std::string file;
  std::string name;  // "FILE [acc=2]"
  TestStatus status = TestStatus::kPassed;
  std::string message;                    // reason for not passing, in one line
  std::string details;                    // lines: places, findings, and how to reproduce
  std::vector<Annotation> annotations{};  // failures, with their places
};

/// Describes one unmet expectation: "expected time 37 us, found 43.6 us".
std::string unmet_text(const models::Unmet& unmet);

/// Returns the first lines of the report of a run, indented.
std::string report_head(const models::TaskGraph& graph, const models::Explanation& explanation);

/// Returns a command, quoted for a shell: "pipesim run FILE --set acc=2".
std::string command_text(const char* command, const std::string& path,
                         const std::vector<std::pair<std::string, std::string>>& settings);

/// Quotes a command and its words for a shell: "pipesim diff a.yaml 'my file.yaml'".
std::string command_line_text(const std::vector<std::string>& words);

/// Returns "passed FILE [acc=2]" and, below it, the details.
std::string test_text(const TestResult& result, bool colour);

/// Returns the last line: "12 passed, 1 failed".
std::string test_summary(const std::vector<TestResult>& results, bool colour);

/// Returns all results as one JUnit file, with a suite per scenario and no wall-clock times.
std::string junit_xml(const std::vector<TestResult>& results);

}  // namespace pipesim::viz
