// Checks of pipesim's own files before they replace anything. An unreadable file is found while the
// run, or the old file, still exists.
#pragma once

#include <string>

#include "formats/files/order_file.hpp"
#include "models/graph/schedule.hpp"

namespace pipesim::app {

/// Throws InputError if `text` does not read back as the given value.
void require_order(const std::string& text, const formats::SavedOrder& order);
void require_schedule(const std::string& text, const models::Schedule& schedule);

/// Throws InputError if `text` is not a scenario. `text` is the scenario in the file `shown`, with
/// new figures.
void require_updated(const std::string& text, const std::string& shown);

}  // namespace pipesim::app
