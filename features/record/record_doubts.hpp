// Uncertainties of a record, which its scenario also lists.
#pragma once

#include <string>
#include <vector>

#include "features/record/channels.hpp"
#include "features/record/record.hpp"

namespace pipesim::models {

struct RecordDoubts {
  std::vector<std::string> rests_on;  // assumptions: sentences without their periods
  std::string proved;    // why nothing is proved even if no interleaving hangs; or empty
  std::string hang;      // why a hang decides nothing; or empty
  std::string possible;  // why a hang is only possible; or empty
};

/// Returns the uncertainties of `record` under `rules`. `basis` has the assumptions that are
/// already known; see record_basis().
RecordDoubts record_doubts(const Record& record, RecordRules rules, std::vector<std::string> basis);

}  // namespace pipesim::models
