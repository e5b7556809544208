// Scenarios that pipesim writes itself, from files of other tools or from evidence.
#pragma once

#include <string>

namespace pipesim::app {

/// Throws InputError if `text`, a scenario made from `source`, cannot be read or laid out on its
/// ranks: what came from outside may contradict itself in a way that no reader of it can see. For
/// calls before anything is written.
void require_readable(const std::string& text, const std::string& source);

}  // namespace pipesim::app
