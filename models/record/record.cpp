#include "models/record/record.hpp"

#include <algorithm>

namespace pipesim::models {

std::string place_text(const RecordPlace& place) {
  std::string text = place.at;
  if (!place.in.empty()) text += " " + place.in + (place.call.empty() ? "" : " >");
  if (!place.call.empty()) text += " " + place.call;
  return text;
}

std::uint32_t RecordGroup::position(std::uint32_t rank) const {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() ? kNotSaid : static_cast<std::uint32_t>(found - ranks.begin());
}

}  // namespace pipesim::models
