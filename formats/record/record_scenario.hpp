// A record as a scenario that people can read and edit.
#pragma once

#include <string>
#include <vector>

#include "models/record/host_steps.hpp"
#include "models/record/record.hpp"

namespace pipesim::formats {

/// The YAML of a record under these rules: ranks with equal programs have one, repeated steps are
/// loops, groups are named after the lines that made them. `name` is that of the scenario.
std::string record_scenario(const models::Record& record, models::RecordRules rules,
                            const std::string& name);

}  // namespace pipesim::formats
