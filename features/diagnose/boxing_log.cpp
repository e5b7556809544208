#include "features/diagnose/boxing_log.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

namespace pipesim::models {
namespace {

// Splits "(S(0), B)" into the signature of each dimension.
std::vector<std::string_view> dimensions_of(std::string_view signature) {
  std::vector<std::string_view> result;
  if (!signature.empty() && signature.front() == '(') signature.remove_prefix(1);
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const char c = signature[i];
    if (c == '(') ++depth;
    const bool ends = depth == 0 && (c == ',' || c == ')');
    if (c == ')') --depth;
    if (!ends) continue;
    std::string_view part = signature.substr(begin, i - begin);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    result.push_back(part);
    begin = i + 1;
  }
  if (result.empty()) result.push_back(signature);
  return result;
}

}  // namespace

bool LoggedBoxing::makes_partial_sum() const {
  const auto before = dimensions_of(from);
  const auto after = dimensions_of(to);
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (before[i] == "B" && after[i] == "P") return true;
  }
  return false;
}

}  // namespace pipesim::models
