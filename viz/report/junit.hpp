// Results of tests as JUnit XML, which build servers show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "viz/report/annotations.hpp"

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

/// Returns the number of `results` with `status`.
std::size_t count_results(const std::vector<TestResult>& results, TestStatus status);

/// Returns all results as one JUnit file, with a suite per scenario and no wall-clock times.
std::string junit_xml(const std::vector<TestResult>& results);

}  // namespace pipesim::viz
