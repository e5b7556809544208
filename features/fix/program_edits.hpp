// Writes changes of host programs as keys of a patch.
#pragma once

#include <cstdint>
#include <optional>

#include "formats/document/yaml_document.hpp"
#include "formats/document/yaml_writer.hpp"

#include "features/fix/fix.hpp"

namespace pipesim::formats {

/// Returns the keys of a patch of the scenario `root`, a job of `ranks`, that makes `change` to
/// host programs. Returns nullopt if the change has no place in the scenario, because the steps are
/// generated or belong to different lists.
std::optional<YamlNode> program_edit(const YamlValue& root, std::uint32_t ranks,
                                     const models::Change& change);

}  // namespace pipesim::formats
