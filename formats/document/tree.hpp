// Paths and copies of values in a document, for writers of patches.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/document/yaml_document.hpp"
#include "formats/document/yaml_writer.hpp"

namespace pipesim::formats {

/// The path of a value: keys, and positions in lists from 1.
using Path = std::vector<std::string>;

std::optional<YamlValue> child(const YamlValue& map, std::string_view key);

/// Returns the value at `path`, below `value`; nullopt if there is none.
std::optional<YamlValue> at(YamlValue value, const Path& path);

/// Returns the path of the value at `place`.
std::optional<Path> find_place(const YamlValue& root, models::Place place);

YamlNode one(std::string_view key, YamlNode value);

/// Wraps `value` in nested maps with the keys of `path`.
YamlNode below(const Path& path, YamlNode value);

YamlNode copied(const YamlValue& value);

/// Returns a copy of `map` without `keys`.
YamlNode copied_without(const YamlValue& map, const std::vector<std::string_view>& keys);

bool equal(const YamlValue& a, const YamlValue& b);

/// Returns the keys of a patch that turns `before` into `after`, both roots of scenarios. Returns
/// nullopt if both are equal.
std::optional<YamlNode> difference(const YamlValue& before, const YamlValue& after);

}  // namespace pipesim::formats
