// Patches: small YAML files that change a scenario before it is read. docs/reference/patch.md
// describes them.
//
// Patches change the tree of the document. So a patch can contain everything that a scenario can,
// and mistakes are reported at their places in the patch.
#pragma once

#include <vector>

#include "formats/document/parameters.hpp"
#include "formats/document/settings.hpp"
#include "formats/document/yaml_document.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// Applies `patches` to `document`, in order, and appends their settings to `settings`. Returns
/// false and adds errors if a file is not a patch, is for another scenario, or changes something
/// that the scenario lacks. Reports all mistakes of one patch.
bool apply_patches(YamlDocument& document, const std::vector<PatchText>& patches,
                   std::vector<GivenSetting>& settings, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
