// Compares the calls that ranks made for one collective. Applies the checks of PyTorch's Flight
// Recorder analyzer (torch/distributed/flight_recorder), and uses its classes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/diagnose/evidence.hpp"

namespace pipesim::models {

enum class Match : std::uint8_t {
  kFull,
  kUndecided,  // an all_to_all: only the calls of all ranks together show whether the sizes match
  kType,
  kSize,
  kDtype,
  kState,
};

/// Returns the name that PyTorch's analyzer prints: "FULLY_MATCHED".
std::string_view match_name(Match match);

struct MatchResult {
  Match match = Match::kFull;
  std::string difference;  // the two values: "all_reduce and all_gather"; empty if the ops match
};

/// Compares `other` with `reference`. The ops belong to one collective of a group of `members`
/// ranks, or are a matching send and recv. With kUnknownMembers, compares inputs only with inputs,
/// and outputs only with outputs.
inline constexpr std::size_t kUnknownMembers = 0;
MatchResult match_ops(const RecordedOp& reference, const RecordedOp& other, std::size_t members);

/// Returns the number of elements of all tensors of `sizes`, or -1 on overflow.
std::int64_t elements(const TensorSizes& sizes);

/// The result of checking one collective.
enum class CheckResult : std::uint8_t {
  kMatched,
  kNotAllJoined,    // a member with a dump has not called it
  kMismatch,        // type, size or dtype differ
  kStateDiffers,    // done on one rank, pending on another
  kElementsDiffer,  // an all_to_all: the ranks send more or fewer elements than they receive
  kUndecided,       // some members have no dump
};

/// Returns the text of a result for reports: "not all ranks joined".
std::string_view check_name(CheckResult result);

/// A rank whose call differs from the call of the reference.
struct Culprit {
  std::uint32_t rank = 0;
  std::uint32_t call = 0;  // index in RankEvidence::calls
  MatchResult result;
};

/// Identifies a collective: the members of a group agree on the numbers of its collectives.
struct CollectiveKey {
  std::uint32_t group = 0;
  std::uint64_t sequence = 0;
  std::uint32_t repeat = 0;

  friend constexpr auto operator<=>(const CollectiveKey&, const CollectiveKey&) = default;
};

inline CollectiveKey key_of(const RecordedCall& call) {
  return {call.group, call.sequence, call.repeat};
}

/// The check of one collective over all ranks of its group.
struct CollectiveCheck {
  std::uint32_t group = 0;
  std::uint64_t sequence = 0;
  // Name of the first mismatched op; without a mismatch, of the first op or the end mark.
  std::string op;
  // Record number of `op` on `reference`; without a mismatch, of the first rank's last op.
  std::uint64_t record = 0;
  CheckResult result = CheckResult::kMatched;
  std::uint32_t reference = 0;              // the rank that all other ranks are compared with
  std::uint32_t reference_call = 0;         // index of the reference's call in its calls
  std::vector<std::uint32_t> called;        // ranks whose call is in their dump
  std::vector<std::uint32_t> counted;       // ranks whose call count includes this call
  std::vector<std::uint32_t> missing;       // ranks known not to have made the call
  std::vector<std::uint32_t> without_dump;  // members that may have made the call
  std::vector<Culprit> culprits;
  /// Ranks that agree with the reference, if they are not a majority of the members; else empty.
  /// Either side may then be wrong.
  std::vector<std::uint32_t> other_side;
};

/// Whether a member has made a call that other members made.
enum class Called : std::uint8_t {
  kNo,
  kYes,
  kDone,
  kCounted,  // made, because its call count includes the call; completion is unknown
  kUnknown,
};

/// Reports which rank made which call. Construction sorts the calls of each rank.
class CallIndex {
 public:
  explicit CallIndex(const Evidence& evidence);

  /// Looks up a collective. kYes: the evidence of `rank` has the call, at index `call`. kDone: the
  /// call completed and is no longer in the evidence. kUnknown: the evidence does not show the
  /// progress of `rank`.
  Called collective(std::uint32_t rank, const CollectiveKey& key, std::uint32_t* call) const;

  /// Returns the counters that `rank` itself logged for `group`, or nullptr.
  const GroupProgress* progress(std::uint32_t rank, std::uint32_t group) const;

 private:
  struct Entry {
    CollectiveKey key;
    std::uint32_t call;
  };
  const Evidence& evidence_;
  std::vector<std::vector<Entry>> collectives_;  // entries per rank, sorted by key
  std::vector<bool> has_messages_;               // [group]: whether it has sends or recvs
};

/// Checks all collectives of the evidence, ordered by key. Stops in each group at the first
/// mismatch or missing call, because later differences follow from it.
std::vector<CollectiveCheck> check_collectives(const Evidence& evidence, const CallIndex& index);

}  // namespace pipesim::models
