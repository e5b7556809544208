// The JSON Schema of scenario files, for editors, made from the tables of keys.
#pragma once

#include <string>

namespace pipesim::formats {

/// Returns the schema, draft-07. The schema has every key and every word of the readers, but cannot
/// check references by name.
std::string scenario_schema();

}  // namespace pipesim::formats
