// Whether the calls that ranks made of one collective fit together: the checks of PyTorch's Flight
// Recorder analyzer (torch/distributed/flight_recorder), with its classes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/postmortem/evidence.hpp"

namespace pipesim::models {

enum class Match : std::uint8_t {
  kFull,
  kUndecided,  // an all_to_all, of which only all calls together say whether sizes fit
  kType,
  kSize,
  kDtype,
  kState,
};

/// "FULLY_MATCHED": as PyTorch's analyzer prints it.
std::string_view match_name(Match match);

struct MatchResult {
  Match match = Match::kFull;
  std::string difference;  // "all_reduce and all_gather"; empty where nothing differs
};

/// Holds `other` against `reference`, both of one collective of a group of `members` ranks, or the
/// two ends of a message.
MatchResult match_ops(const RecordedOp& reference, const RecordedOp& other, std::size_t members);

/// The number of elements of all tensors of `sizes`.
std::int64_t elements(const TensorSizes& sizes);

/// What became of one collective.
enum class CheckResult : std::uint8_t {
  kMatched,
  kNotAllJoined,    // a member with a dump has not called it
  kMismatch,        // type, size or dtype differ
  kStateDiffers,    // done on one rank, and not on another
  kElementsDiffer,  // an all_to_all: what all send is not what all receive
  kUndecided,       // members without a dump
};

/// "not all ranks joined".
std::string_view check_name(CheckResult result);

/// A rank whose call differs from those of most.
struct Culprit {
  std::uint32_t rank = 0;
  std::uint32_t call = 0;  // index in its calls
  MatchResult result;
};

/// Which collective: all members number those of a group alike.
struct CollectiveKey {
  std::uint32_t group = 0;
  std::uint64_t sequence = 0;
  std::uint32_t repeat = 0;

  friend constexpr auto operator<=>(const CollectiveKey&, const CollectiveKey&) = default;
};

inline CollectiveKey key_of(const RecordedCall& call) {
  return {call.group, call.sequence, call.repeat};
}

/// One collective of a group, over all ranks.
struct CollectiveCheck {
  std::uint32_t group = 0;
  std::uint64_t sequence = 0;
  std::string op;            // the first that does not fit; of what fits the last
  std::uint64_t record = 0;  // of it, on the first rank that called it
  CheckResult result = CheckResult::kMatched;
  std::uint32_t reference = 0;              // the rank that others are held against
  std::uint32_t reference_call = 0;         // index in its calls
  std::vector<std::uint32_t> called;        // ranks whose call is in their dump
  std::vector<std::uint32_t> counted;       // those whose count says that they called it
  std::vector<std::uint32_t> missing;       // those that are known not to have called it
  std::vector<std::uint32_t> without_dump;  // members of which it is not known
  std::vector<Culprit> culprits;
  /// Ranks that call what the reference does, where they are not the most of all members: then
  /// nothing says which side is wrong. Else empty.
  std::vector<std::uint32_t> other_side;
};

/// Whether a member has made a call that others have.
enum class Called : std::uint8_t {
  kNo,
  kYes,
  kDone,
  kCounted,  // yes, by its count; whether it is done is not told
  kUnknown,
};

/// Says who has made which call. Linear in the evidence to make.
class CallIndex {
 public:
  explicit CallIndex(const Evidence& evidence);

  /// Of a collective: kYes, it is in the evidence of `rank`, and `call` says which; kDone, it was
  /// done so long ago that it is not; kUnknown, nothing says how far `rank` came.
  Called collective(std::uint32_t rank, const CollectiveKey& key, std::uint32_t* call) const;

  /// What `rank` itself counted in `group`, or nothing.
  const GroupProgress* progress(std::uint32_t rank, std::uint32_t group) const;

 private:
  struct Entry {
    CollectiveKey key;
    std::uint32_t call;
  };
  const Evidence& evidence_;
  std::vector<std::vector<Entry>> collectives_;  // of each rank, by key
  std::vector<bool> has_messages_;               // of each group
};

/// All collectives of the evidence, by key. Behind the first of a group that does not
/// fit or that not all have called nothing is looked at: it would only follow from that.
std::vector<CollectiveCheck> check_collectives(const Evidence& evidence, const CallIndex& index);

}  // namespace pipesim::models
