// Files of its own that pipesim reads back before they are put in place: one that cannot be opened
// is noticed while there is still the run, or the old file.
#pragma once

#include <string>

#include "formats/files/order_file.hpp"
#include "formats/files/state_file.hpp"
#include "models/graph/schedule.hpp"

namespace pipesim::app {

/// Each throws InputError if `text` does not read as what it was written from.
void require_state(const std::string& text, const formats::SavedState& state);
void require_order(const std::string& text, const formats::SavedOrder& order);
void require_schedule(const std::string& text, const models::Schedule& schedule);

/// Throws InputError if `text`, the scenario in the file `shown` with new figures, is not a
/// scenario.
void require_updated(const std::string& text, const std::string& shown);

}  // namespace pipesim::app
