// Converts a record to a scenario that people can read and edit.
#pragma once

#include <optional>
#include <string>

#include "formats/document/yaml_document.hpp"

#include "features/record/host_steps.hpp"
#include "features/record/record.hpp"
#include "features/record/record_doubts.hpp"

namespace pipesim::formats {

/// Returns the scenario of a record under `rules`, as YAML. Ranks with equal programs share one
/// program, repeated steps become loops, and a group is named after the line that created it.
/// `name` is the name of the scenario, and `doubts` are the uncertainties that `check` reports.
/// If people read the scenario (`for_people`), waits that other waits imply are dropped, see
/// implied_waits.hpp.
std::string record_scenario(const models::Record& record, models::RecordRules rules,
                            const std::string& name, const models::RecordDoubts& doubts = {},
                            bool for_people = false);

/// Returns the document of record_scenario() without writing the text; nullopt if it exceeds a
/// limit of documents.
std::optional<YamlDocument> record_document(const models::Record& record, models::RecordRules rules,
                                            const std::string& name,
                                            const models::RecordDoubts& doubts);

}  // namespace pipesim::formats
