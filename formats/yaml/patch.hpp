// Patches: small YAML files that change a scenario before it is read. docs/reference/patch.md
// describes them.
//
// They change the tree of the document, so a patch can say whatever a scenario can, and what is
// wrong with it is told where it stands: in the patch.
#pragma once

#include <vector>

#include "formats/yaml/parameters.hpp"
#include "formats/yaml/settings.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// Puts `patches` into `document`, one after the other, and what they set behind `settings`. False,
/// with errors, where one is no patch, or of another scenario, or changes what is not there; all
/// mistakes of one patch are told.
bool apply_patches(YamlDocument& document, const std::vector<PatchText>& patches,
                   std::vector<GivenSetting>& settings, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
