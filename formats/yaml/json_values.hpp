// JSON as the values of a YAML document, which it is: what machines write is large, and there is a
// reader of JSON that is twenty times as fast as yaml-cpp.
#pragma once

#include <string>

#include "formats/yaml/document_builder.hpp"

namespace pipesim::formats {

/// Adds what `text` holds, with the places that yaml-cpp would give. False where it is not one JSON
/// object (it may still be YAML); what was added until then is to be forgotten.
bool add_json(const std::string& text, DocumentBuilder& builder);

}  // namespace pipesim::formats
