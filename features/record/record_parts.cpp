#include "features/record/record_parts.hpp"

#include <array>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "models/graph/operation.hpp"

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;
using PartKind = RecordedPart::Kind;

// Returns the kind of part that a function's name implies, such as "forward_step". Returns nullopt
// for names with both words, such as "forward_backward_func", and with neither.
std::optional<PartKind> kind_of_name(const std::string& name) {
  const auto contains = [&](const char* word) { return name.find(word) != std::string::npos; };
  const bool forward = contains("forward");
  if (forward == contains("backward")) return std::nullopt;
  return forward ? PartKind::kForward : PartKind::kBackward;
}

class PartFinder {
 public:
  PartFinder(const Record& record, std::uint32_t rank)
      : record_(record), own_(record.ranks[rank]) {}

  RankParts run() {
    result_.of_entry.assign(own_.entries.size(), kNotSaid);
    result_.of_kernels.assign(own_.entries.size(), kNotSaid);
    for (std::size_t i = 0; i < own_.entries.size(); ++i) add(i);
    return std::move(result_);
  }

 private:
  void add(std::size_t i) {
    const RecordEntry& entry = own_.entries[i];
    if (entry.kind == EntryKind::kBackward) {
      in_backward_ = !in_backward_;
      const bool begins = in_backward_;
      if (begins) add_kernels(i, PartKind::kForward);
      if (begins && has_marks_) open_.reset();  // the open part is another backward
      result_.of_entry[i] = continue_with(PartKind::kBackward, entry);
      if (!begins) add_kernels(i, PartKind::kBackward);
      has_marks_ = true;
      return;
    }
    if (entry.kind == EntryKind::kStep) {
      add_kernels(i, PartKind::kOptimizer);
      open_.reset();
      ++iteration_;
      counts_ = {};
      return;
    }
    const std::optional<PartKind> kind = in_backward_ ? PartKind::kBackward : kind_of(entry);
    if (!kind) {
      open_.reset();
      return;
    }
    if (entry.kind == EntryKind::kCall && !is_collective(entry.operation)) {
      if (open_ == kind && !messages_.insert(key_of(entry)).second) open_.reset();
    }
    result_.of_entry[i] = continue_with(*kind, entry);
    if (entry.kind == EntryKind::kCall) messages_.insert(key_of(entry));
    if (entry.kernels > 0) result_.of_kernels[i] = result_.of_entry[i];
  }

  void add_kernels(std::size_t i, PartKind kind) {
    if (own_.entries[i].kernels == 0) return;
    result_.of_kernels[i] = continue_with(kind, own_.entries[i]);
  }

  // Returns the open part if its kind is `kind`; else opens a new part.
  std::uint32_t continue_with(PartKind kind, const RecordEntry& entry) {
    if (open_ != kind) {
      open_ = kind;
      has_marks_ = false;
      messages_.clear();
      result_.all.push_back({kind, iteration_, counts_[static_cast<std::size_t>(kind)]++,
                             OutsideText(record_.place_of(entry.place))});
    }
    return static_cast<std::uint32_t>(result_.all.size() - 1);
  }

  // Returns the kind of the innermost function on the entry's stack whose name implies a kind.
  std::optional<PartKind> kind_of(const RecordEntry& entry) const {
    for (std::uint32_t at = entry.frame; at != kNotSaid; at = record_.frames[at].up) {
      const RecordFrame& frame = record_.frames[at];
      for (const OutsideText* name : {&frame.call, &frame.in}) {
        if (const auto kind = kind_of_name(std::string(*name))) return kind;
      }
    }
    return std::nullopt;
  }

  // Programs often send a tensor and its shape from the same line, so the size is part of the key.
  using Key = std::tuple<std::uint32_t, Operation, std::uint32_t, std::int64_t>;
  static Key key_of(const RecordEntry& entry) {
    return {entry.place, entry.operation, entry.peer, entry.bytes};
  }

  const Record& record_;
  const RankRecord& own_;
  RankParts result_;
  std::optional<PartKind> open_;  // kind of the last part, if it can continue
  bool has_marks_ = false;        // whether the open part contains marks of a backward
  bool in_backward_ = false;
  std::set<Key> messages_;  // calls of the open part
  std::uint32_t iteration_ = 0;
  std::array<std::uint32_t, 3> counts_{};  // number of parts of each kind in the iteration
};

}  // namespace

RankParts rank_parts(const Record& record, std::uint32_t rank) {
  return PartFinder(record, rank).run();
}

}  // namespace pipesim::models
