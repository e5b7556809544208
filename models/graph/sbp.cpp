#include "models/graph/sbp.hpp"

#include <charconv>

namespace pipesim::models {

std::optional<Sbp> find_sbp(std::string_view text) {
  if (text == "B") return Sbp::broadcast();
  if (text == "P") return Sbp::partial_sum();
  if (text.size() < 4 || text.substr(0, 2) != "S(" || text.back() != ')') return std::nullopt;
  std::uint32_t axis = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [rest, error] = std::from_chars(text.data() + 2, end, axis);
  if (error != std::errc() || rest != end) return std::nullopt;
  return Sbp::split(axis);
}

std::string sbp_text(const Sbp& sbp) {
  if (sbp.is_broadcast()) return "B";
  if (sbp.is_partial_sum()) return "P";
  return "S(" + std::to_string(sbp.axis) + ")";
}

std::string nd_sbp_text(const NdSbp& nd_sbp) {
  return "(" + sbp_text(nd_sbp[0]) + ", " + sbp_text(nd_sbp[1]) + ")";
}

NdSbp gradient_taken(const NdSbp& out) {
  NdSbp result = out;
  for (Sbp& sbp : result) {
    if (!sbp.is_split()) sbp = Sbp::broadcast();
  }
  return result;
}

NdSbp gradient_given(const NdSbp& in, const NdSbp& out) {
  NdSbp result = in;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (in[i].is_broadcast() && !out[i].is_broadcast()) result[i] = Sbp::partial_sum();
    if (in[i].is_partial_sum()) result[i] = Sbp::broadcast();
  }
  return result;
}

ReducedChange reduced(const NdSbp& from, const NdSbp& to, Hierarchy hierarchy) {
  ReducedChange result;
  std::vector<Transition> dimensions;
  if (hierarchy.data > 1) dimensions.push_back({from[0], to[0], Dimensions::kData});
  if (hierarchy.tensor > 1) dimensions.push_back({from[1], to[1], Dimensions::kTensor});
  if (dimensions.size() == 2 && from[0] == from[1] && to[0] == to[1]) {
    dimensions = {{from[0], to[0], Dimensions::kBoth}};
  }
  result.two_dimensional = dimensions.size() == 2;
  for (std::size_t i = dimensions.size(); i-- > 0;) {
    if (dimensions[i].from != dimensions[i].to) result.changes.push_back(dimensions[i]);
  }
  return result;
}

}  // namespace pipesim::models
