#include "app/input/rank_list.hpp"

#include <set>

#include "app/command.hpp"
#include "models/graph/whole_number.hpp"

namespace pipesim::app {

std::optional<std::vector<std::uint32_t>> parse_rank_list(const std::string& text) {
  constexpr std::uint32_t kMaxRank = (1U << 20) - 1;
  std::set<std::uint32_t> ranks;
  for (const std::string& part : split_at_commas(text)) {
    const std::size_t end = part.find_first_of(".-");
    const std::size_t dots = part.find("..");
    const auto first = models::whole_number<std::uint32_t>(part.substr(0, end));
    auto last = first;
    if (end != std::string::npos) {
      last = models::whole_number<std::uint32_t>(part.substr(end + (dots == end ? 2 : 1)));
      if (part[end] == '.' && dots != end) return std::nullopt;
    }
    if (!first || !last || *first > *last || *last > kMaxRank) return std::nullopt;
    for (std::uint32_t rank = *first; rank <= *last; ++rank) ranks.insert(rank);
  }
  return std::vector<std::uint32_t>(ranks.begin(), ranks.end());
}

}  // namespace pipesim::app
