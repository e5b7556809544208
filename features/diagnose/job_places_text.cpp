#include "features/diagnose/job_places_text.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "models/graph/operation.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::JobStanding;
using models::RankPlace;

constexpr std::size_t kWidth = 76;

// Returns the recorded position: "train.py:66 backward", or the operation if the line is unknown.
std::string place_text(const models::Record& record, const models::RecordEntry& entry) {
  const std::string place = record.place_of(entry.place);
  return place.empty() ? models::operation_name(entry.operation) : place;
}

std::string standing_text(const models::Record& record, const RankPlace& place, bool one) {
  std::string text;
  switch (place.standing) {
    case JobStanding::kUnknown:
      return one ? "has no evidence of its calls" : "have no evidence of their calls";
    case JobStanding::kIn:
      text = fmt::format("{} in {}: {}", one ? "is" : "are", place.call,
                         place_text(record, *place.entry));
      break;
    case JobStanding::kBefore:
      text = fmt::format("{} done {} and {} to {} next", one ? "has" : "have", place.call,
                         one ? "comes" : "come", place_text(record, *place.entry));
      break;
    case JobStanding::kAtEnd:
      return fmt::format("{} done {}, the last call of the record", one ? "has" : "have",
                         place.call);
    case JobStanding::kDiffers:
      text = fmt::format(
          "called {}, but the record has {} ({})", place.call,
          place.recorded.empty() ? models::operation_name(place.entry->operation) : place.recorded,
          place_text(record, *place.entry));
      break;
    case JobStanding::kNotThere:
      return fmt::format("called {}, which the record does not have", place.call);
  }
  if (place.steps == 0) return text;
  return text + fmt::format(", after {} (assuming that each is like the last one in the record)",
                            counted(static_cast<std::uint64_t>(place.steps), "step"));
}

}  // namespace

std::string job_places_text(const models::Record& record, const std::vector<RankPlace>& places) {
  // Pairs of the text for a single rank and the ranks with this text.
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> lines;
  for (const RankPlace& place : places) {
    std::string text = standing_text(record, place, true);
    auto same = lines.begin();
    while (same != lines.end() && same->first != text) ++same;
    if (same == lines.end()) same = lines.insert(same, {std::move(text), {}});
    same->second.push_back(place.rank);
  }
  std::string text;
  for (const auto& [line, ranks] : lines) {
    const bool one = ranks.size() == 1;
    const std::string standing = standing_text(record, places[ranks.front()], one);
    std::string indent = "  ";
    for (const std::string& part :
         wrapped(fmt::format("rank{} {} {}", one ? "" : "s", ranges(ranks), standing), kWidth)) {
      text += indent + part + "\n";
      indent = "    ";
    }
  }
  return text;
}

}  // namespace pipesim::viz
