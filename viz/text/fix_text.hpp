// The changes that remove a hang, as text.
#pragma once

#include <string>
#include <vector>

#include "models/search/fix.hpp"

namespace pipesim::viz {

struct FixView {
  std::string scenario;              // its name
  std::vector<std::string> patches;  // of the fixes, in their order, each a YAML document
  std::vector<std::string> partial;  // of those that leave other orders
};

/// "BdstBuf on stream 'backward' instead of 'forward'".
std::string change_text(const models::Change& change);

/// Of changes that are made together.
std::string changes_text(const std::vector<models::Change>& changes);

/// Whether the job may compute something else with it.
bool alters(const models::Fix& fix);

/// For people.
std::string fix_text(const models::FixReport& report, const FixView& view);

}  // namespace pipesim::viz
