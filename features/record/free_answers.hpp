// Answers that the environment gave to the script, and that can differ in another run.
#pragma once

#include <string>

#include "features/record/record.hpp"

namespace pipesim::models {

/// Returns the verdict's assumption about free answers: "3 free answers (2 polls, 1 deadline):
/// pipesim explore tries the others". Empty if there are none. Recvs from any source do not count:
/// check tries their senders.
std::string free_answers_text(const Record& record);

}  // namespace pipesim::models
