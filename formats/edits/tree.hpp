// The tree of a document for those who write patches: where things are, and copies of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/yaml/yaml_document.hpp"
#include "formats/yaml/yaml_writer.hpp"

namespace pipesim::formats {

/// Keys, and positions of lists from 1.
using Path = std::vector<std::string>;

std::optional<YamlValue> child(const YamlValue& map, std::string_view key);

/// What is at `path`, below `value`.
std::optional<YamlValue> at(YamlValue value, const Path& path);

/// Where the value that stands at `place` is.
std::optional<Path> find_place(const YamlValue& root, models::Place place);

YamlNode one(std::string_view key, YamlNode value);

/// A map of maps down to `value`.
YamlNode below(const Path& path, YamlNode value);

YamlNode copied(const YamlValue& value);

/// A map without some of its keys.
YamlNode copied_without(const YamlValue& map, const std::vector<std::string_view>& keys);

bool equal(const YamlValue& a, const YamlValue& b);

/// The keys of the patch that makes `after` of `before`, both the roots of scenarios. Nothing where
/// they are equal.
std::optional<YamlNode> difference(const YamlValue& before, const YamlValue& after);

}  // namespace pipesim::formats
