// Reads JSON, a subset of YAML, as the values of a YAML document. Files written by programs are
// large, and the JSON reader is twenty times as fast as yaml-cpp.
#pragma once

#include <string>

#include "formats/document/document_builder.hpp"

namespace pipesim::formats {

/// Adds the values in `text`, with the places that yaml-cpp would give. Returns false if `text` is
/// not a JSON object; it can still be YAML. The caller must then discard the values added so far.
bool add_json(const std::string& text, DocumentBuilder& builder);

}  // namespace pipesim::formats
