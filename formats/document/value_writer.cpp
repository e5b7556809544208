#include "formats/document/value_writer.hpp"

#include <fmt/format.h>

#include "formats/document/expression_writer.hpp"

namespace pipesim::formats {

using models::Expr;

YamlNode number(std::int64_t value) { return YamlNode::value(std::to_string(value)); }

YamlNode time(std::int64_t ns) { return expression(Expr::constant(ns), ValueType::kTime); }

YamlNode bytes(std::int64_t bytes) { return expression(Expr::constant(bytes), ValueType::kBytes); }

YamlNode bandwidth(std::int64_t bytes_per_second) {
  return expression(Expr::constant(bytes_per_second), ValueType::kBandwidth);
}

YamlNode truth(bool value) { return YamlNode::value(value ? "on" : "off"); }

YamlNode text_list(std::span<const std::string> texts) {
  YamlNode list = YamlNode::list();
  for (const std::string& text : texts) list.add(YamlNode::text(text));
  return list;
}

YamlNode expression(const Expr& expr, ValueType type) {
  return YamlNode::value(expression_text(expr, type));
}

YamlNode ranks(const models::RankSet& set, std::uint32_t all) {
  if (set == models::RankSet::range(0, all)) return YamlNode::text("all");
  const std::vector<std::string> runs = rank_runs({set.begin(), set.end()});
  if (runs.size() == 1) return YamlNode::value(runs.front());
  YamlNode list = YamlNode::list();
  for (const std::string& run : runs) list.add(YamlNode::value(run));
  return list;
}

std::vector<std::string> rank_runs(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kShortest = 3;
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i >= kShortest) {
      runs.push_back(fmt::format("{}..{}", ranks[i], ranks[end - 1]));
    } else {
      for (std::size_t j = i; j < end; ++j) runs.push_back(std::to_string(ranks[j]));
    }
    i = end;
  }
  return runs;
}

// Writes the lists of a group. Adjacent ranks, and ranks at equal distances, have a short form.
YamlNode group_lists(const std::vector<std::vector<std::uint32_t>>& lists, std::uint32_t all) {
  const std::size_t size = lists.empty() ? 0 : lists.front().size();
  const std::uint32_t stride =
      size > 1 && lists.front()[1] > lists.front()[0] ? lists.front()[1] - lists.front()[0] : 1;
  std::vector<std::vector<std::uint32_t>> regular;
  for (std::uint32_t first = 0; size > 0 && first < all; ++first) {
    if (first / stride % size != 0) continue;
    std::vector<std::uint32_t>& members = regular.emplace_back();
    for (std::uint32_t i = 0; i < size; ++i) members.push_back(first + i * stride);
  }
  const bool divides = size > 0 && all % (size * stride) == 0;
  if (divides && regular == lists) {
    if (size == all) return YamlNode::text("all");
    YamlNode map = YamlNode::map();
    map.add("size", number(static_cast<std::int64_t>(size)));
    if (stride != 1) map.add("stride", number(stride));
    return map;
  }
  YamlNode result = YamlNode::list();
  for (const auto& list : lists) {
    YamlNode members = YamlNode::list();
    for (const std::string& run : rank_runs(list)) members.add(YamlNode::value(run));
    result.add(std::move(members));
  }
  return result;
}

std::string_view algorithm_name(models::Algorithm algorithm) {
  switch (algorithm) {
    case models::Algorithm::kRing:
      return "ring";
    case models::Algorithm::kTree:
      return "tree";
    case models::Algorithm::kDirect:
      break;
  }
  return "direct";
}

}  // namespace pipesim::formats
