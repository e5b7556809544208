// Values as YAML: the other direction of formats/yaml/value_reader.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/yaml/expression.hpp"
#include "formats/yaml/yaml_writer.hpp"
#include "models/graph/cluster.hpp"
#include "models/graph/expr.hpp"
#include "models/graph/rank_set.hpp"

namespace pipesim::formats {

YamlNode number(std::int64_t value);
YamlNode time(std::int64_t ns);
YamlNode bytes(std::int64_t bytes);
YamlNode bandwidth(std::int64_t bytes_per_second);
YamlNode truth(bool value);
YamlNode expression(const models::Expr& expr, ValueType type);

/// `all`, a rank, `a..b`, or a list of these.
YamlNode ranks(const models::RankSet& set, std::uint32_t all);

/// "3", or "0..2" for three or more that follow each other, in the order of `ranks`.
std::vector<std::string> rank_runs(const std::vector<std::uint32_t>& ranks);

/// The lists of a group of a job of `all` ranks: `all`, {size, stride} where they are regular, or
/// the lists themselves.
YamlNode group_lists(const std::vector<std::vector<std::uint32_t>>& lists, std::uint32_t all);

/// ring, tree, direct.
std::string_view algorithm_name(models::Algorithm algorithm);

}  // namespace pipesim::formats
