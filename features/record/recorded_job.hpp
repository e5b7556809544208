// Names for the steps of a recorded script's scenario.
#pragma once

#include <memory>

#include "models/graph/recorded.hpp"
#include "models/graph/task_graph.hpp"

#include "features/record/host_steps.hpp"
#include "features/record/record.hpp"

namespace pipesim::models {

/// Names the steps of `graph`, the scenario of `record` under `rules`, and reports the first
/// difference between the calls of its ranks.
std::shared_ptr<const Recorded> recorded_job(std::shared_ptr<const Record> record,
                                             RecordRules rules, const TaskGraph& graph);

}  // namespace pipesim::models
