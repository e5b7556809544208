// OneFlow's plan dumps as scenarios.
#pragma once

#include <optional>
#include <string>

#include "formats/oneflow/oneflow_plan_reader.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// The scenario, called `name` if that is not empty, that does what the tasks of `plan` do in one
/// step. Tasks of one op on several ranks are one actor; credits, control registers, threads and
/// rates are those of the plan. What the plan does not say is a parameter: how long ops take, by
/// kind, and the micro-batches if no task counts them. Nothing where a task takes what none gives,
/// or the tasks of a collective differ; `diagnostics` then says where, and warns of tasks that are
/// of no known type.
std::optional<std::string> plan_scenario(const OneflowPlan& plan, const std::string& name,
                                         models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
