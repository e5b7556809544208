// Problems in files as SARIF 2.1.0 (OASIS), which GitHub, GitLab and editors read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "viz/report/annotations.hpp"

namespace pipesim::viz {

/// Returns a SARIF log of one run with a line end. `version` is the version of pipesim.
std::string sarif(const std::vector<Annotation>& annotations, std::string_view version);

}  // namespace pipesim::viz
