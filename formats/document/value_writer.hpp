// Writes values as YAML. formats/document/value_reader.hpp reads them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/document/expression.hpp"
#include "formats/document/yaml_writer.hpp"
#include "models/graph/cluster.hpp"
#include "models/graph/expr.hpp"
#include "models/graph/rank_set.hpp"

namespace pipesim::formats {

YamlNode number(std::int64_t value);
YamlNode time(std::int64_t ns);
YamlNode bytes(std::int64_t bytes);
YamlNode bandwidth(std::int64_t bytes_per_second);
YamlNode truth(bool value);
YamlNode text_list(std::span<const std::string> texts);
YamlNode expression(const models::Expr& expr, ValueType type);

/// Writes `all`, a rank, `a..b`, or a list of these.
YamlNode ranks(const models::RankSet& set, std::uint32_t all);

/// Returns the ranks as text, in the same order: "3", or "0..2" for three or more consecutive
/// ranks.
std::vector<std::string> rank_runs(const std::vector<std::uint32_t>& ranks);

/// Writes the lists of a group in a job of `all` ranks: the word "all", {size, stride} for regular
/// lists, or the lists themselves.
YamlNode group_lists(const std::vector<std::vector<std::uint32_t>>& lists, std::uint32_t all);

/// Returns "ring", "tree" or "direct".
std::string_view algorithm_name(models::Algorithm algorithm);

}  // namespace pipesim::formats
