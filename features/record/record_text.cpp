#include "features/record/record_text.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "models/units.hpp"

namespace pipesim::models {
namespace {

constexpr std::size_t kMaxMembers = 8;  // length of the longest list that is printed in full

bool is_described(const RecordGroup& group) {
  return !group.description.empty() && group.description != "undefined" &&
         group.description != "default_pg";
}

// Whether `group` is the first group of all ranks.
bool is_world(const Record& record, std::uint32_t group) {
  const auto first = std::find_if(
      record.groups.begin(), record.groups.end(),
      [&](const RecordGroup& each) { return each.ranks.size() == record.ranks.size(); });
  return first != record.groups.end() &&
         first - record.groups.begin() == static_cast<std::ptrdiff_t>(group);
}

}  // namespace

std::string members_text(std::vector<std::uint32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  const std::size_t count = ranks.size();
  const auto number = [&](std::size_t i) { return std::to_string(ranks[i]); };
  if (count > 2 && ranks.back() - ranks.front() + 1 == count) {
    return "[" + number(0) + "-" + number(count - 1) + "]";
  }
  std::string text = "[";
  if (count <= kMaxMembers) {
    for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + number(i);
    return text + "]";
  }
  text += number(0) + ", " + number(1) + ", ... " + number(count - 1);
  const std::uint32_t stride = ranks[1] - ranks[0];
  for (std::size_t i = 1; i < count; ++i) {
    if (ranks[i] - ranks[i - 1] != stride) return text + ": " + std::to_string(count) + " ranks]";
  }
  return text + "]";
}

std::string group_text(const Record& record, std::uint32_t group) {
  if (is_world(record, group)) return "the world group";
  const RecordGroup& of = record.groups[group];
  const std::string members = members_text(of.ranks);
  if (is_described(of)) return "group " + of.description + " " + members;
  if (of.place == kNotSaid) return "group " + members;
  return "group " + members + " of " + record.places[of.place].at;
}

std::string call_text(const Record& record, const RecordEntry& entry) {
  std::string text = operation_name(entry.operation);
  if (entry.operation == Operation::kBarrier) return text;
  text += " of " + exact_bytes_text(entry.bytes);
  if (entry.type != kNotSaid) text += ", " + record.texts[entry.type];
  if (has_root(entry.operation)) text += ", root " + std::to_string(entry.peer);
  return text;
}

std::int64_t bytes_of_type(const std::string& type) {
  const std::size_t digits = type.find_last_not_of("0123456789") + 1;
  const bool has_size = digits < type.size() && type.size() - digits <= 3;
  return has_size ? std::max(1, std::stoi(type.substr(digits)) / 8) : 1;
}

std::vector<FailedRanks> failures_of(const Record& record) {
  std::vector<FailedRanks> failures;
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    const RecordEnd& end = record.ranks[rank].end;
    FailedRanks failed{{rank}, {}, {}, {}};
    if (end.kind == RecordEnd::Kind::kRaised) {
      failed.what = "raised " + end.text.substr(0, end.text.find(':'));
      failed.message = end.text;
      failed.at = end.place == kNotSaid ? OutsideText() : record.places[end.place].at;
    } else if (end.kind == RecordEnd::Kind::kExited && end.code != 0) {
      failed.what = "exited with status " + std::to_string(end.code);
    } else if (end.kind == RecordEnd::Kind::kKilled) {
      failed.what = "was killed";
    } else {
      continue;
    }
    const auto alike =
        std::find_if(failures.begin(), failures.end(), [&](const FailedRanks& other) {
          return other.what == failed.what && other.message == failed.message &&
                 other.at == failed.at;
        });
    if (alike == failures.end()) {
      failures.push_back(std::move(failed));
    } else {
      alike->ranks.push_back(rank);
    }
  }
  for (FailedRanks& failed : failures) {
    if (failed.ranks.size() > 1 && failed.what == "was killed") failed.what = "were killed";
  }
  return failures;
}

std::string end_text(const Record& record, std::uint32_t rank) {
  const RecordEnd& end = record.ranks[rank].end;
  const std::string place = record.place_of(end.place);
  switch (end.kind) {
    case RecordEnd::Kind::kFinished:
      return "has finished";
    case RecordEnd::Kind::kExited:
      return "has exited with status " + std::to_string(end.code);
    case RecordEnd::Kind::kRaised:
      return "raised " + end.text + (place.empty() ? "" : " at " + place);
    case RecordEnd::Kind::kKilled:
      return "was killed";
    case RecordEnd::Kind::kCut:
      break;
  }
  if (end.cut == RecordEnd::Cut::kQuiescent) {
    return place.empty() ? "waits elsewhere" : "waits at " + place;
  }
  if (end.cut == RecordEnd::Cut::kOutside) {
    return "is outside torch.distributed" + (place.empty() ? "" : ", at " + place);
  }
  return "its record ends" + (place.empty() ? "" : " at " + place);
}

}  // namespace pipesim::models
