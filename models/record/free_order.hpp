// What gloo and its store leave to timing that no interleaving of host programs shows: messages
// whose Work nobody keeps, and keys that are set twice; and reads of values that nobody knows.
#pragma once

#include <string>
#include <vector>

#include "models/record/record.hpp"

namespace pipesim::models {

/// Which sends gloo may cancel, a sentence each without its period: Python collected their Works
/// before anything waited for them. Empty if there are none.
std::vector<std::string> dropped_sends(const Record& record);

/// The same record, in which these messages are never sent.
Record with_cancelled_sends(Record record);

/// Which keys of the store several ranks set to different values, likewise.
std::vector<std::string> keys_set_twice(const Record& record);

/// Where the script reads values that were made up, a sentence each without its period.
std::vector<std::string> reads_of_made_up(const Record& record);

}  // namespace pipesim::models
