// Verifies a collective algorithm: proves or refutes each property. See docs/how-to/verify.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/ids.hpp"

#include "features/algorithm/algorithm_network.hpp"
#include "features/algorithm/algorithm_races.hpp"
#include "features/algorithm/algorithm_values.hpp"
#include "features/algorithm/algorithm_waits.hpp"

namespace pipesim::models {

struct VerifyOptions {
  std::optional<std::uint32_t> slots;  // slots per connection, instead of the protocol's number
  std::optional<std::uint64_t> bytes;  // message size, instead of the declared range
  // Maximum number of states to search, if several thread blocks can take from one counter.
  std::uint64_t max_states = 100'000;
};

/// The verdict: the first fault in this list that the algorithm has; kCorrect if it has none.
enum class AlgoVerdict : std::uint8_t {
  kCorrect,
  kDeadlock,       // hangs with its own number of slots
  kHangsForLarge,  // hangs for large messages in its range
  kUnbalanced,     // a message is never received, or sizes differ
  kRace,
  kWrongResult,
  kRanksDiffer,     // the order of the sums differs between ranks
  kUnsafeLaunches,  // two consecutive launches race
  kUndecided,
};

/// The words for a verdict.
struct AlgoVerdictWords {
  AlgoVerdict kind;
  std::string_view name;      // the name in reports
  std::string_view headline;  // after the name of an algorithm, in a title
};

inline constexpr AlgoVerdictWords kAlgoVerdicts[] = {
    {AlgoVerdict::kCorrect, "CORRECT", "is correct"},
    {AlgoVerdict::kDeadlock, "DEADLOCK", "hangs"},
    {AlgoVerdict::kHangsForLarge, "HANGS FOR LARGE MESSAGES", "hangs for large messages"},
    {AlgoVerdict::kUnbalanced, "UNBALANCED", "is unbalanced"},
    {AlgoVerdict::kRace, "RACE", "has a race"},
    {AlgoVerdict::kWrongResult, "WRONG RESULT", "gives a wrong result"},
    {AlgoVerdict::kRanksDiffer, "RANKS DIFFER", "gives ranks different bits"},
    {AlgoVerdict::kUnsafeLaunches, "UNSAFE BETWEEN LAUNCHES", "is unsafe between launches"},
    {AlgoVerdict::kUndecided, "UNDECIDED", "is undecided"},
};
static_assert(sim::has_row_per_kind(kAlgoVerdicts), "each verdict has its row, in their order");

constexpr const AlgoVerdictWords& words_of(AlgoVerdict verdict) {
  return kAlgoVerdicts[static_cast<std::size_t>(verdict)];
}

enum class AlgoAnswer : std::uint8_t { kYes, kNo, kNotAsked, kUndecided };

/// A step of the file, given by the indices of its rank, thread block and step, and by its launch.
/// `step` is kNoAlgoIndex at the start or end of a launch. `block` is kNoAlgoIndex for a kernel on
/// the stream before, between or after the launches.
struct AlgoStepRef {
  std::uint32_t rank = 0;
  std::uint32_t block = 0;
  std::uint32_t step = 0;
  std::uint32_t launch = 0;

  friend auto operator<=>(const AlgoStepRef&, const AlgoStepRef&) = default;
};

/// A race, with its steps and cell.
struct FoundRace {
  AlgoStepRef first, second;
  bool first_writes = false, second_writes = false;
  AlgoCell cell;
};

/// Messages or signals that no step takes, or a message whose receive has another size.
struct LeftOver {
  sim::WaitKind kind = sim::WaitKind::kPeerOfMessage;
  std::uint32_t from = 0, to = 0;  // ranks
  std::uint32_t channel = 0;
  std::uint32_t sent = 0, taken = 0;
  // Whether `sent` and `taken` are the different sizes of two steps, in chunks.
  bool sizes_differ = false;
  AlgoStepRef sender, receiver;
};

/// An output chunk whose result is not the collective's.
struct WrongChunk {
  std::uint32_t rank = 0, chunk = 0;
  bool unwritten = false;           // whether a part of the chunk was never written
  std::vector<AlgoInput> missing;   // inputs that the sum lacks; all lists have at most 4 inputs
  std::vector<AlgoInput> foreign;   // inputs that do not belong in the sum
  std::vector<AlgoInput> repeated;  // inputs added more than once
  std::uint32_t expected = 0;       // number of inputs that the sum should have
};

/// A chunk whose sums differ between two ranks.
struct DifferentSum {
  std::uint32_t chunk = 0;
  std::uint32_t first_rank = 0, second_rank = 0;
  std::string first, second;  // results of AlgoValues::tree()
  std::uint32_t chunks = 0;   // number of chunks with a difference
  bool first_sums_are_same = false;
};

/// A change to the file, and the verdict on the changed file.
struct TriedChange {
  std::string what;
  AlgoVerdict verdict = AlgoVerdict::kCorrect;
  bool helps = false;  // whether the changed algorithm has no known fault
};

// The results of verify(). The fields follow the order of the questions; padding does not matter,
// because a run creates one report.
struct VerifyReport {  // NOLINT(clang-analyzer-optin.performance.Padding)
  AlgoVerdict verdict = AlgoVerdict::kCorrect;
  std::uint64_t steps = 0, steps_done = 0;
  bool in_place_checked = false, out_of_place_checked = false;

  // Hangs
  AlgoAnswer hangs = AlgoAnswer::kNo;
  std::uint32_t slots = 0;                     // slots that the run used; 0: MSCCL++ has no slots
  std::optional<std::uint32_t> slots_needed;   // fewest slots without a hang; nullopt: none
  std::optional<std::uint64_t> hangs_from;     // smallest message that hangs, in bytes
  std::uint64_t min_bytes = 0, max_bytes = 0;  // examined message sizes, in bytes
  bool range_declared = false;
  std::uint32_t hang_chunks_per_slot = 0;  // chunks per slot for the smallest message that hangs
  bool searched = false;     // whether the orders of takes from contested counters were searched
  std::uint64_t states = 0;  // number of states visited in this search
  bool uneven_barrier = false;
  std::optional<AlgoHang> hang;

  AlgoAnswer left_over = AlgoAnswer::kNotAsked;
  std::vector<LeftOver> left;

  AlgoAnswer races = AlgoAnswer::kNotAsked;
  std::vector<FoundRace> found_races;
  std::vector<FoundRace> ordered_by_slots;  // races that exist only with more slots
  std::vector<FoundRace> relaxed;           // races that only signals without memory order prevent

  AlgoAnswer right_result = AlgoAnswer::kNotAsked;
  bool in_place_result = false;  // whether the wrong result comes from in-place use
  std::vector<WrongChunk> wrong;
  std::uint64_t wrong_count = 0;
  std::optional<std::pair<AlgoStepRef, AlgoCell>> reads_unwritten;

  AlgoAnswer same_bits = AlgoAnswer::kNotAsked;
  std::optional<DifferentSum> difference;

  AlgoAnswer safe_launches = AlgoAnswer::kNotAsked;
  std::uint32_t launches = 0;
  std::vector<FoundRace> launch_races;
  bool launches_hang = false;

  std::vector<TriedChange> changes;  // tried changes; changes that help come first
};

/// Checks all properties of `algorithm`. Throws std::length_error if the algorithm is too large.
VerifyReport verify(const CollectiveAlgorithm& algorithm, const VerifyOptions& options);

/// Tries changes that may remove the fault of `report`, one by one.
std::vector<TriedChange> try_changes(const CollectiveAlgorithm& algorithm,
                                     const VerifyReport& report, const VerifyOptions& options);

}  // namespace pipesim::models
