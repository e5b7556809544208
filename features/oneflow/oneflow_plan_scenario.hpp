// Converts OneFlow's plan dumps to scenarios.
#pragma once

#include <optional>
#include <string>

#include "models/graph/diagnostics.hpp"

#include "features/oneflow/oneflow_plan_reader.hpp"

namespace pipesim::formats {

/// Returns a scenario with one step of the work in `plan`, named `name` unless `name` is empty.
/// Tasks of one op on several ranks form one actor. Credits, control registers, threads and rates
/// come from the plan. Facts that the plan lacks are parameters: durations by kind of op, and the
/// number of micro-batches if no task counts them. Returns nullopt, with an error, if a task
/// consumes a register that no task produces, or if the tasks of a collective differ. Warns of
/// unknown task types.
std::optional<std::string> plan_scenario(const OneflowPlan& plan, const std::string& name,
                                         models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
