// The results of `pipesim test`: text for people, JUnit's XML for build servers.
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
  kUpdated,  // it failed, and the file says now what was found
  kFailed,   // an expectation is not met
  kBad,      // the scenario cannot be run
  kSkipped,  // it expects nothing
  kNotRun,   // interrupted before its end
};

/// One expectation of one scenario.
struct TestResult {
  std::string file;
  std::string name;  // "FILE [acc=2]"
  TestStatus status = TestStatus::kPassed;
  std::string message;                    // in one line: why it did not pass
  std::string details;                    // lines: places, what was found, how to have it again
  std::vector<Annotation> annotations{};  // what did not pass, by its place
};

/// "expected time 37 us, found 43.6 us": one thing that was expected and is not so.
std::string unmet_text(const models::Unmet& unmet);

/// The first lines of the report of a run, indented.
std::string report_head(const models::TaskGraph& graph, const models::Explanation& explanation);

/// "pipesim run FILE --set acc=2", as a shell reads it.
std::string command_text(const char* command, const std::string& path,
                         const std::vector<std::pair<std::string, std::string>>& settings);

/// "pipesim diff a.yaml 'my file.yaml'": a command and its words, as a shell reads it.
std::string command_line_text(const std::vector<std::string>& words);

/// "passed  FILE [acc=2]" and, below it, the details.
std::string test_text(const TestResult& result, bool colour);

/// "12 passed, 1 failed": the last line.
std::string test_summary(const std::vector<TestResult>& results, bool colour);

/// All results as one JUnit file: a suite for each scenario. No times of the host are in it.
std::string junit_xml(const std::vector<TestResult>& results);

}  // namespace pipesim::viz
