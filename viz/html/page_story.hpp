// What happened, in the words of somebody who has not read the manual.
#pragma once

#include <string>
#include <vector>

#include "viz/report.hpp"

namespace pipesim::viz {

/// "hangs": what stands behind the name of a run.
const char* ending_word(sim::Verdict verdict);

/// The paragraphs below it.
std::vector<std::string> page_story(const Report& report);

}  // namespace pipesim::viz
