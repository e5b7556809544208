// A record as a scenario that people can read and edit.
#pragma once

#include <string>

#include "models/record/host_steps.hpp"
#include "models/record/record.hpp"
#include "models/record/record_doubts.hpp"

namespace pipesim::formats {

/// The YAML of a record under these rules: ranks with equal programs have one, repeated steps are
/// loops, groups are named after the lines that made them. `name` is that of the scenario, and
/// `doubts` what `check` says of its answer.
std::string record_scenario(const models::Record& record, models::RecordRules rules,
                            const std::string& name, const models::RecordDoubts& doubts = {});

}  // namespace pipesim::formats
