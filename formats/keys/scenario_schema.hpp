// The JSON Schema of scenario files, for editors: made from the tables of keys.
#pragma once

#include <string>

namespace pipesim::formats {

/// The schema, draft-07. It knows every key and every word that the readers know; what names refer
/// to it cannot say.
std::string scenario_schema();

}  // namespace pipesim::formats
