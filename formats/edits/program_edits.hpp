// Changes of host programs as keys of a patch.
#pragma once

#include <cstdint>
#include <optional>

#include "formats/yaml/yaml_document.hpp"
#include "formats/yaml/yaml_writer.hpp"
#include "models/search/fix.hpp"

namespace pipesim::formats {

/// What a patch of the scenario `root`, a job of `ranks`, says to make `change`, one of host
/// programs. Nothing where the scenario has no place for it: steps of different lists, steps that
/// are made of something else.
std::optional<YamlNode> program_edit(const YamlValue& root, std::uint32_t ranks,
                                     const models::Change& change);

}  // namespace pipesim::formats
