// The changes that remove a hang, as text.
#pragma once

#include <string>
#include <vector>

#include "features/fix/fix.hpp"

namespace pipesim::viz {

struct FixView {
  std::string scenario;              // name of the scenario
  std::vector<std::string> patches;  // one YAML document per fix, in the order of the fixes
  std::vector<std::string> partial;  // patches of the fixes that leave other interleavings hanging
};

/// Describes a change: "BdstBuf on stream 'backward' instead of 'forward'".
std::string change_text(const models::Change& change);

/// Describes the changes of one fix.
std::string changes_text(const std::vector<models::Change>& changes);

/// Whether the fix may change what the job computes.
bool alters(const models::Fix& fix);

/// Returns the report as text.
std::string fix_text(const models::FixReport& report, const FixView& view);

}  // namespace pipesim::viz
