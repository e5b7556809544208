// Scenarios that pipesim makes from files of other tools or from evidence.
#pragma once

#include <string>

namespace pipesim::app {

/// Throws InputError if `text`, a scenario made from `source`, cannot be read or lowered. A file of
/// another tool can contain contradictions that its reader cannot detect. Called before anything is
/// written.
void require_readable(const std::string& text, const std::string& source);

}  // namespace pipesim::app
