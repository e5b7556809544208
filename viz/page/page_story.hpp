// The story of a run, for readers who do not know the manual.
#pragma once

#include <string>
#include <vector>

#include "viz/report/report.hpp"

namespace pipesim::viz {

/// Returns the text after the name of a run, such as "hangs".
const char* ending_word(sim::Verdict verdict);

/// Returns the paragraphs below the headline.
std::vector<std::string> page_story(const Report& report);

}  // namespace pipesim::viz
