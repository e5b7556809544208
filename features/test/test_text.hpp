// The results of `pipesim test`, as text.
#pragma once

#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/expectation.hpp"
#include "models/result/simulation.hpp"
#include "viz/report/junit.hpp"

namespace pipesim::viz {

/// Describes one unmet expectation: "expected time 37 us, found 43.6 us".
std::string unmet_text(const models::Unmet& unmet);

/// Returns the first lines of the report of a run, indented.
std::string report_head(const models::TaskGraph& graph, const models::Explanation& explanation);

/// Returns the line "passed FILE [acc=2]", followed by the details.
std::string test_text(const TestResult& result, bool colour);

/// Returns the last line: "12 passed, 1 failed".
std::string test_summary(const std::vector<TestResult>& results, bool colour);

}  // namespace pipesim::viz
