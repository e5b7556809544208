// Applies the rules of PyTorch's analyzer, in the analyzer's order and with its classes, with two
// differences:
// * The reference is a rank that agrees with most other ranks, not the first rank. This makes the
//   wrong rank the culprit. Without a majority, the check reports the ranks of both sides.
// * Ops are matched by the sequence numbers that ranks recorded, not by a scan.
#include "features/diagnose/collective_match.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "models/graph/operation.hpp"

namespace pipesim::models {
namespace {

// Returns the product of `sizes`, or -1 on overflow, because sizes come from a file that may be
// damaged.
std::int64_t product(const std::vector<std::int64_t>& sizes) {
  std::int64_t result = 1;
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(result, size, &result)) return -1;
  }
  return result;
}

// Whether `name` names a record that ends a coalesced call. The details are in the ops before this
// record.
bool is_coalesced(std::string_view name) {
  return name == "coalesced" || name == "ALLGATHER_coalesced" || name == "REDUCE_SCATTER_coalesced";
}

std::string shown(const TensorSizes& sizes) {
  std::string text;
  for (const auto& tensor : sizes) {
    text += text.empty() ? "" : ", ";
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      text += (i == 0 ? "" : "x") + std::to_string(tensor[i]);
    }
    if (tensor.empty()) text += "nothing";
  }
  return text.empty() ? "nothing" : text;
}

std::string shown(const std::vector<OutsideText>& types) {
  std::string text;
  for (const std::string& type : std::set<std::string>(types.begin(), types.end())) {
    text += (text.empty() ? "" : "/") + type;
  }
  return text.empty() ? "none" : text;
}

const char* shown(CallState state) {
  switch (state) {
    case CallState::kScheduled:
      return "scheduled";
    case CallState::kStarted:
      return "started";
    case CallState::kCompleted:
      break;
  }
  return "completed";
}

MatchResult differs(Match match, const char* what, const std::string& a, const std::string& b) {
  return {match, what + a + " and " + b};
}

bool has_sizes(const TensorSizes& sizes) { return !sizes.empty() && !sizes.front().empty(); }

bool same_types(const std::vector<OutsideText>& a, const std::vector<OutsideText>& b) {
  return std::set<std::string>(a.begin(), a.end()) == std::set<std::string>(b.begin(), b.end());
}

std::int64_t first_elements(const TensorSizes& sizes) {
  return sizes.empty() ? 1 : product(sizes.front());
}

// Whether `whole` has `members` times as many elements as `part`, in one tensor or in a list.
bool is_split(const TensorSizes& part, const TensorSizes& whole, std::size_t members) {
  const auto factor = static_cast<std::int64_t>(members);
  std::int64_t wanted = 0;
  if (__builtin_mul_overflow(first_elements(part), factor, &wanted)) return true;
  return first_elements(whole) == wanted || elements(whole) == elements(part) * factor;
}

MatchResult match_messages(const RecordedOp& a, const RecordedOp& b) {
  const bool opposite = (a.is_send() && b.is_receive()) || (a.is_receive() && b.is_send());
  if (!opposite) return differs(Match::kSize, "", a.name, b.name);
  if (a.source != b.source || a.target != b.target) {
    const auto ends = [](const RecordedOp& op) {
      return std::to_string(op.source) + " to " + std::to_string(op.target);
    };
    return differs(Match::kSize, "from ", ends(a), ends(b));
  }
  const RecordedOp& send = a.is_send() ? a : b;
  const RecordedOp& receive = a.is_send() ? b : a;
  if (send.input_sizes == receive.output_sizes) return {};
  return differs(Match::kSize, "sizes ", shown(send.input_sizes), shown(receive.output_sizes));
}

MatchResult match_sizes(const RecordedOp& a, const RecordedOp& b, std::size_t members) {
  const std::optional<Operation> operation = a.operation();
  const bool all_to_all = operation == Operation::kAllToAll;
  const bool inputs_vary = all_to_all || operation == Operation::kScatter;
  const bool outputs_vary = all_to_all || operation == Operation::kGather;
  if (!inputs_vary && a.input_sizes != b.input_sizes) {
    return differs(Match::kSize, "input sizes ", shown(a.input_sizes), shown(b.input_sizes));
  }
  if (!outputs_vary && a.output_sizes != b.output_sizes) {
    return differs(Match::kSize, "output sizes ", shown(a.output_sizes), shown(b.output_sizes));
  }
  if (members == kUnknownMembers) return {};
  if (operation == Operation::kAllReduce && a.input_sizes != b.output_sizes) {
    return differs(Match::kSize, "input and output sizes ", shown(a.input_sizes),
                   shown(b.output_sizes));
  }
  if (operation == Operation::kAllGather && !is_split(a.input_sizes, b.output_sizes, members)) {
    return differs(Match::kSize, "input and output sizes ", shown(a.input_sizes),
                   shown(b.output_sizes));
  }
  if (operation == Operation::kReduceScatter && !is_split(a.output_sizes, b.input_sizes, members)) {
    return differs(Match::kSize, "output and input sizes ", shown(a.output_sizes),
                   shown(b.input_sizes));
  }
  return {};
}

MatchResult match_types(const RecordedOp& a, const RecordedOp& b, std::size_t members) {
  const std::optional<Operation> operation = a.operation();
  const bool scatter_or_broadcast =
      operation == Operation::kScatter || operation == Operation::kBroadcast;
  const bool gather = operation == Operation::kGather;
  const auto bad = [](const std::vector<OutsideText>& x, const TensorSizes& of_x,
                      const std::vector<OutsideText>& y, const TensorSizes& of_y) {
    return !same_types(x, y) && has_sizes(of_x) && has_sizes(of_y);
  };
  if (members != kUnknownMembers && !scatter_or_broadcast && !gather &&
      bad(a.input_types, a.input_sizes, a.output_types, a.output_sizes)) {
    return differs(Match::kDtype, "input and output types ", shown(a.input_types),
                   shown(a.output_types));
  }
  if (!scatter_or_broadcast && bad(a.input_types, a.input_sizes, b.input_types, b.input_sizes)) {
    return differs(Match::kDtype, "types ", shown(a.input_types), shown(b.input_types));
  }
  if (!gather && bad(a.output_types, a.output_sizes, b.output_types, b.output_sizes)) {
    return differs(Match::kDtype, "types ", shown(a.output_types), shown(b.output_types));
  }
  return {};
}

// Whether the evidence names the ops of `call`. For some calls, the evidence has only the sequence
// number.
bool says_what(const RecordedCall& call) { return !call.ops.empty() || !call.end_name.empty(); }

class Checker {
 public:
  Checker(const Evidence& evidence, const CallIndex& index)
      : evidence_(evidence), index_(index), seen_(evidence.groups.size()) {}

  std::vector<CollectiveCheck> run() {
    for (const CollectiveKey& key : keys()) {
      Seen& seen = seen_[key.group];
      if (seen.stopped) continue;
      CollectiveCheck check = look_at(key);
      switch (check.result) {
        case CheckResult::kMatched:
          break;
        case CheckResult::kStateDiffers:
          // The calls themselves match, so later calls can also be checked.
          if (seen.state) continue;
          seen.state = true;
          break;
        case CheckResult::kNotAllJoined:
        case CheckResult::kMismatch:
        case CheckResult::kElementsDiffer:
        case CheckResult::kUndecided:
          seen.stopped = true;
          break;
      }
      result_.push_back(std::move(check));
    }
    return std::move(result_);
  }

 private:
  struct Seen {
    bool stopped = false;
    bool state = false;
  };

  std::set<CollectiveKey> keys() const {
    std::set<CollectiveKey> result;
    for (const RankEvidence& rank : evidence_.ranks) {
      for (const RecordedCall& call : rank.calls) {
        if (!call.messages) result.insert(key_of(call));
      }
    }
    return result;
  }

  const RecordedCall& call_of(std::uint32_t rank, std::uint32_t call) const {
    return evidence_.ranks[rank].calls[call];
  }

  struct Sight {
    // For each rank in CollectiveCheck::called: index of its call in RankEvidence::calls.
    std::vector<std::uint32_t> calls;
    bool done = false;     // whether the collective is done on a member
    bool pending = false;  // whether the collective is pending on a member
  };

  CollectiveCheck look_at(const CollectiveKey& key);
  Sight look_for(const CollectiveKey& key, CollectiveCheck& check) const;
  void blame_pending(CollectiveCheck& check, const Sight& sight) const;
  void compare(CollectiveCheck& check, const std::vector<std::uint32_t>& calls) const;
  void find_other_side(CollectiveCheck& check, const std::vector<std::uint32_t>& calls) const;
  bool fits_itself(const CollectiveCheck& check, const RecordedOp& op) const;
  Culprit against(const CollectiveCheck& check, std::size_t reference, std::size_t other,
                  const std::vector<std::uint32_t>& calls, std::size_t* op) const;
  std::size_t choose_reference(const CollectiveCheck& check,
                               const std::vector<std::uint32_t>& calls) const;
  bool elements_differ(const CollectiveCheck& check, const std::vector<std::uint32_t>& calls) const;

  const Evidence& evidence_;
  const CallIndex& index_;
  std::vector<Seen> seen_;
  std::vector<CollectiveCheck> result_;
};

// Whether the rules about sizes apply to an op: all members of its group are known, and its own
// sizes do not break the rules. Some backends record other shapes than the rules assume.
bool Checker::fits_itself(const CollectiveCheck& check, const RecordedOp& op) const {
  const EvidenceGroup& group = evidence_.groups[check.group];
  if (!group.all_members) return false;
  const Match match = match_ops(op, op, group.ranks.size()).match;
  return op.message || match == Match::kFull || match == Match::kUndecided;
}

// Compares the calls of two ranks, which are indices in `calls`. Returns the first mismatch of
// their ops and sets `op` to the index of the mismatched op.
Culprit Checker::against(const CollectiveCheck& check, std::size_t reference, std::size_t other,
                         const std::vector<std::uint32_t>& calls, std::size_t* op) const {
  const RecordedCall& a = call_of(check.called[reference], calls[reference]);
  const RecordedCall& b = call_of(check.called[other], calls[other]);
  Culprit result{check.called[other], calls[other], {}};
  if (reference == other || !says_what(a) || !says_what(b)) return result;
  for (std::size_t i = 0; i < std::min(a.ops.size(), b.ops.size()); ++i) {
    *op = i;
    const bool by_size = fits_itself(check, a.ops[i]) && fits_itself(check, b.ops[i]);
    const std::size_t members =
        by_size ? evidence_.groups[check.group].ranks.size() : kUnknownMembers;
    result.result = match_ops(a.ops[i], b.ops[i], members);
    const bool fits =
        result.result.match == Match::kFull || result.result.match == Match::kUndecided;
    if (!fits) return result;
  }
  if (a.ops.size() != b.ops.size() || a.end_name != b.end_name) {
    const auto told = [](const RecordedCall& call) {
      return std::to_string(call.ops.size()) + " ops" +
             (call.end_name.empty() ? "" : " in " + call.end_name);
    };
    result.result = differs(Match::kType, "", told(a), told(b));
  }
  return result;
}

// Returns the index of the call that most other calls agree with; if several tie, the first one.
// Tries one call of each kind as the reference, and at most kMaxTried kinds.
std::size_t Checker::choose_reference(const CollectiveCheck& check,
                                      const std::vector<std::uint32_t>& calls) const {
  constexpr std::size_t kMaxTried = 8;
  std::vector<std::size_t> tried;
  std::size_t best = 0;
  std::size_t most = 0;
  for (std::size_t i = 0; i < calls.size() && tried.size() < kMaxTried; ++i) {
    std::size_t op = 0;
    if (!says_what(call_of(check.called[i], calls[i]))) continue;
    const auto fits = [&](std::size_t with, std::size_t other) {
      const Match match = against(check, with, other, calls, &op).result.match;
      return match == Match::kFull || match == Match::kUndecided;
    };
    if (std::any_of(tried.begin(), tried.end(), [&](std::size_t t) { return fits(t, i); })) {
      continue;
    }
    tried.push_back(i);
    std::size_t agree = 0;
    for (std::size_t j = 0; j < calls.size(); ++j) {
      agree += says_what(call_of(check.called[j], calls[j])) && fits(i, j) ? 1U : 0U;
    }
    if (agree > most) {
      most = agree;
      best = i;
    }
  }
  return best;
}

void Checker::compare(CollectiveCheck& check, const std::vector<std::uint32_t>& calls) const {
  const auto gather_culprits = [&](std::size_t reference) {
    check.reference = check.called[reference];
    check.reference_call = calls[reference];
    check.culprits.clear();
    std::size_t first_op = call_of(check.reference, check.reference_call).ops.size();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      std::size_t op = 0;
      Culprit culprit = against(check, reference, i, calls, &op);
      const Match match = culprit.result.match;
      if (match == Match::kFull || match == Match::kUndecided) continue;
      first_op = std::min(first_op, op);
      check.culprits.push_back(std::move(culprit));
    }
    return first_op;
  };
  const std::size_t first = choose_reference(check, calls);
  const std::size_t op = gather_culprits(first);
  find_other_side(check, calls);
  const RecordedCall& reference = call_of(check.reference, check.reference_call);
  if (op < reference.ops.size()) {
    check.op = reference.ops[op].name;
    check.record = reference.ops[op].record;
  }
}

// Sets `other_side` if the ranks that agree with the reference are not a majority of the members
// or, if some members are unknown, of the compared ranks.
void Checker::find_other_side(CollectiveCheck& check,
                              const std::vector<std::uint32_t>& calls) const {
  const EvidenceGroup& group = evidence_.groups[check.group];
  std::set<std::uint32_t> culprits;
  for (const Culprit& culprit : check.culprits) {
    if (culprit.result.match != Match::kState) culprits.insert(culprit.rank);
  }
  if (culprits.empty()) return;
  std::vector<std::uint32_t> agreeing;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool agrees =
        culprits.count(check.called[i]) == 0 && says_what(call_of(check.called[i], calls[i]));
    if (agrees) agreeing.push_back(check.called[i]);
  }
  const std::size_t all =
      group.all_members ? group.ranks.size() : agreeing.size() + culprits.size();
  if (2 * agreeing.size() <= all) check.other_side = std::move(agreeing);
}

bool Checker::elements_differ(const CollectiveCheck& check,
                              const std::vector<std::uint32_t>& calls) const {
  if (check.called.size() != evidence_.groups[check.group].ranks.size()) return false;
  std::int64_t in = 0;
  std::int64_t out = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const RecordedCall& call = call_of(check.called[i], calls[i]);
    if (call.ops.size() != 1 || call.ops.front().operation() != Operation::kAllToAll) return false;
    in += elements(call.ops.front().input_sizes);
    out += elements(call.ops.front().output_sizes);
  }
  return in != out;
}

// Sorts the members by whether the call is in their evidence, is only included in their call count,
// or was not made. A member without a dump may have made it.
Checker::Sight Checker::look_for(const CollectiveKey& key, CollectiveCheck& check) const {
  Sight sight;
  for (const std::uint32_t rank : evidence_.groups[key.group].ranks) {
    std::uint32_t call = 0;
    switch (index_.collective(rank, key, &call)) {
      case Called::kNo:
        check.missing.push_back(rank);
        break;
      case Called::kUnknown:
        check.without_dump.push_back(rank);
        break;
      case Called::kDone:
        sight.done = true;
        break;
      case Called::kCounted:
        check.counted.push_back(rank);
        break;
      case Called::kYes: {
        check.called.push_back(rank);
        sight.calls.push_back(call);
        const bool done = call_of(rank, call).state == CallState::kCompleted;
        sight.done = sight.done || done;
        sight.pending = sight.pending || !done;
        break;
      }
    }
  }
  return sight;
}

CollectiveCheck Checker::look_at(const CollectiveKey& key) {
  CollectiveCheck check;
  check.group = key.group;
  check.sequence = key.sequence;
  const Sight sight = look_for(key, check);
  const RecordedCall& first = call_of(check.called.front(), sight.calls.front());
  // Names a coalesced call by its end mark if all members joined, and by its first op if some
  // members are missing.
  const bool all_joined = check.missing.empty();
  const bool by_end = first.ops.empty() || (first.coalesced && all_joined);
  check.op = by_end ? first.end_name : first.ops.front().name;
  check.record = first.last_record;
  // If the evidence has only the sequence number of the first rank's call, another rank's call
  // gives the name.
  for (std::size_t i = 0; check.op.empty() && i < sight.calls.size(); ++i) {
    const RecordedCall& other = call_of(check.called[i], sight.calls[i]);
    if (!other.ops.empty()) check.op = other.ops.front().name;
  }
  compare(check, sight.calls);
  const bool mismatch =
      std::any_of(check.culprits.begin(), check.culprits.end(),
                  [](const Culprit& culprit) { return culprit.result.match != Match::kState; });
  if (!all_joined) {
    check.result = CheckResult::kNotAllJoined;
  } else if (mismatch) {
    check.result = CheckResult::kMismatch;
  } else if (elements_differ(check, sight.calls)) {
    check.result = CheckResult::kElementsDiffer;
  } else if (!check.culprits.empty() || (sight.done && sight.pending)) {
    check.result = CheckResult::kStateDiffers;
    if (check.culprits.empty()) blame_pending(check, sight);
  } else if (sight.pending &&
             (!check.without_dump.empty() || !evidence_.groups[check.group].all_members)) {
    check.result = CheckResult::kUndecided;
  }
  return check;
}

// Blames the members on which the call is pending, because the call is done on members whose dumps
// no longer contain it.
void Checker::blame_pending(CollectiveCheck& check, const Sight& sight) const {
  for (std::size_t i = 0; i < sight.calls.size(); ++i) {
    const CallState state = call_of(check.called[i], sight.calls[i]).state;
    if (state == CallState::kCompleted) continue;
    check.culprits.push_back({check.called[i], sight.calls[i],
                              differs(Match::kState, "", shown(state), "done elsewhere")});
  }
}

}  // namespace

std::string_view match_name(Match match) {
  switch (match) {
    case Match::kFull:
      return "FULLY_MATCHED";
    case Match::kUndecided:
      return "UNDECIDED";
    case Match::kType:
      return "COLLECTIVE_TYPE_MISMATCH";
    case Match::kSize:
      return "SIZE_OR_SYNTAX_MISMATCH";
    case Match::kDtype:
      return "COLLECTIVE_DTYPE_MISMATCH";
    case Match::kState:
      break;
  }
  return "COLLECTIVE_STATE_MISMATCH";
}

std::string_view check_name(CheckResult result) {
  switch (result) {
    case CheckResult::kMatched:
      return "matched";
    case CheckResult::kNotAllJoined:
      return "not all ranks joined";
    case CheckResult::kMismatch:
      return "mismatch";
    case CheckResult::kStateDiffers:
      return "state differs";
    case CheckResult::kElementsDiffer:
      return "input and output differ";
    case CheckResult::kUndecided:
      break;
  }
  return "undecided";
}

std::int64_t elements(const TensorSizes& sizes) {
  std::int64_t sum = 0;
  for (const auto& tensor : sizes) {
    if (__builtin_add_overflow(sum, product(tensor), &sum)) return -1;
  }
  return sum;
}

MatchResult match_ops(const RecordedOp& reference, const RecordedOp& other, std::size_t members) {
  if (reference.message || other.message) return match_messages(reference, other);
  if (reference.name != other.name) {
    const Match match = is_coalesced(reference.name) ? Match::kSize : Match::kType;
    return differs(match, "", reference.name, other.name);
  }
  if (is_coalesced(reference.name)) return {};
  MatchResult result = match_sizes(reference, other, members);
  if (result.match == Match::kFull) result = match_types(reference, other, members);
  if (result.match != Match::kFull) return result;
  if (reference.state != other.state) {
    return differs(Match::kState, "", shown(reference.state), shown(other.state));
  }
  if (reference.operation() == Operation::kAllToAll) return {Match::kUndecided, {}};
  return {};
}

CallIndex::CallIndex(const Evidence& evidence)
    : evidence_(evidence), has_messages_(evidence.groups.size()) {
  for (const RankEvidence& rank : evidence.ranks) {
    std::vector<Entry>& entries = collectives_.emplace_back();
    for (std::uint32_t i = 0; i < rank.calls.size(); ++i) {
      const RecordedCall& call = rank.calls[i];
      if (call.messages) {
        has_messages_[call.group] = true;
      } else {
        entries.push_back({key_of(call), i});
      }
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const Entry& a, const Entry& b) { return a.key < b.key; });
  }
}

Called CallIndex::collective(std::uint32_t rank, const CollectiveKey& key,
                             std::uint32_t* call) const {
  if (!evidence_.ranks[rank].has_dump) return Called::kUnknown;
  const std::vector<Entry>& entries = collectives_[rank];
  const auto at =
      std::lower_bound(entries.begin(), entries.end(), key,
                       [](const Entry& entry, const auto& wanted) { return entry.key < wanted; });
  const bool has_later = at != entries.end() && at->key.group == key.group;
  if (has_later && at->key == key) {
    *call = at->call;
    return Called::kYes;
  }
  const GroupProgress* own = progress(rank, key.group);
  // The last call of a group may be a send or recv, which is numbered separately.
  const auto reaches = [&](std::int64_t count) {
    return count >= 0 && !has_messages_[key.group] &&
           static_cast<std::uint64_t>(count) >= key.sequence;
  };
  const bool counted = own != nullptr && reaches(own->called);
  if (evidence_.ranks[rank].complete && evidence_.groups[key.group].in_dumps) {
    // A dump keeps all later calls. If it has a later call or counts this one, this call is done
    // and was dropped.
    return has_later || counted ? Called::kDone : Called::kNo;
  }
  if (own != nullptr && reaches(own->completed)) return Called::kDone;
  if (has_later || counted) return Called::kCounted;
  const bool exact = own != nullptr && !own->at_least && !has_messages_[key.group];
  return exact ? Called::kNo : Called::kUnknown;
}

const GroupProgress* CallIndex::progress(std::uint32_t rank, std::uint32_t group) const {
  const auto& all = evidence_.ranks[rank].progress;
  const auto at = std::lower_bound(
      all.begin(), all.end(), group,
      [](const GroupProgress& entry, std::uint32_t wanted) { return entry.group < wanted; });
  return at != all.end() && at->group == group ? &*at : nullptr;
}

std::vector<CollectiveCheck> check_collectives(const Evidence& evidence, const CallIndex& index) {
  return Checker(evidence, index).run();
}

}  // namespace pipesim::models
