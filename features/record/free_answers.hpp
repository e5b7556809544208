// Answers that the environment gave to the script, and that another run can get otherwise.
#pragma once

#include <string>

#include "features/record/record.hpp"

namespace pipesim::models {

/// Returns what the verdict assumes about free answers: "3 free answers (2 polls, 1 deadline):
/// pipesim explore tries the others". Empty if there are none. Recvs from any source do not count:
/// check tries their senders.
std::string free_answers_text(const Record& record);

}  // namespace pipesim::models
