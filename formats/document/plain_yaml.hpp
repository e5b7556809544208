// Reads YAML in the style that people and our writer use for nearly all scenarios: block maps and
// lists, flow maps and lists, and scalars on one line. It takes a 25th of the instructions of
// yaml-cpp, which reads everything else, and reports all mistakes.
#pragma once

#include <string_view>

#include "formats/document/document_builder.hpp"

namespace pipesim::formats {

/// Adds the values in `text` to a document, with the places that yaml-cpp would give. Returns false
/// if `text` is in another style, or is not YAML. The caller must then discard the values added so
/// far.
bool add_plain_yaml(std::string_view text, DocumentBuilder& builder);

}  // namespace pipesim::formats
