#include "features/record/record.hpp"

#include <algorithm>

#include "formats/document/value_writer.hpp"

namespace pipesim::models {

std::string place_text(const RecordPlace& place) {
  std::string text = place.at;
  if (!place.in.empty()) text += " " + place.in + (place.call.empty() ? "" : " >");
  if (!place.call.empty()) text += " " + place.call;
  if (!place.library.empty()) text += ", in " + place.library;
  return text;
}

RecordPlace place_of_stack(const std::vector<RecordFrame>& frames, std::uint32_t innermost) {
  std::uint32_t users = innermost;
  while (users != kNotSaid && frames[users].library) users = frames[users].up;
  if (users == kNotSaid) users = innermost;
  const RecordFrame& line = frames[users];
  RecordPlace place{line.at, line.in, line.call, {}};
  if (users == innermost) return place;
  // A function with the name of its callee only forwards the call to another package.
  std::uint32_t library = innermost;
  while (frames[library].in == frames[library].call && frames[library].up != users) {
    library = frames[library].up;
  }
  place.library = frames[library].at + (frames[library].in.empty() ? "" : " " + frames[library].in);
  return place;
}

std::uint32_t RecordGroup::position(std::uint32_t rank) const {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  return found == ranks.end() ? kNotSaid : static_cast<std::uint32_t>(found - ranks.begin());
}

bool Record::uses_nccl(RecordRules rules) const {
  if (rules != RecordRules::kOwn || groups.empty()) {
    return rules == RecordRules::kNccl || (rules == RecordRules::kOwn && backend == "nccl");
  }
  return std::any_of(groups.begin(), groups.end(),
                     [](const RecordGroup& group) { return group.nccl; });
}

std::string rank_list_text(const std::vector<std::uint32_t>& ranks) {
  std::string text;
  for (const std::string& run : formats::rank_runs(ranks)) text += (text.empty() ? "" : ", ") + run;
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

}  // namespace pipesim::models
