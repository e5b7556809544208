// Is a collective algorithm right? Proved or refuted, question by question:
// docs/how-to/verify.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/algorithm/algorithm_network.hpp"
#include "models/algorithm/algorithm_races.hpp"
#include "models/algorithm/algorithm_values.hpp"
#include "models/algorithm/algorithm_waits.hpp"

namespace pipesim::models {

struct VerifyOptions {
  std::optional<std::uint32_t> slots;  // of a connection, instead of the protocol's
  std::optional<std::uint64_t> bytes;  // of the message, instead of the declared range
  std::uint64_t max_states = 100'000;  // where the order matters and is searched
};

/// The first that holds names the algorithm.
enum class AlgoVerdict : std::uint8_t {
  kCorrect,
  kDeadlock,       // it hangs with the slots that it has
  kHangsForLarge,  // it hangs for messages in its range
  kUnbalanced,     // something is sent and not received, or they differ in size
  kRace,
  kWrongResult,
  kRanksDiffer,     // the order of the sums does
  kUnsafeLaunches,  // two launches in a row get into each other's way
  kUndecided,
};

/// "RANKS DIFFER".
std::string_view verdict_words(AlgoVerdict verdict);

enum class AlgoAnswer : std::uint8_t { kYes, kNo, kNotAsked, kUndecided };

/// A step of the file: indices of rank, thread block and step. With kNoAlgoIndex as a step, the
/// begin or end of a launch, and as a block what runs before and after.
struct AlgoStepRef {
  std::uint32_t rank = 0;
  std::uint32_t block = 0;
  std::uint32_t step = 0;
  std::uint32_t launch = 0;

  friend auto operator<=>(const AlgoStepRef&, const AlgoStepRef&) = default;
};

/// A race, with what it is about.
struct FoundRace {
  AlgoStepRef first, second;
  bool first_writes = false, second_writes = false;
  AlgoCell cell;
};

/// Messages or signals that nobody takes, or a message and its receive that differ in size.
struct LeftOver {
  sim::WaitKind kind = sim::WaitKind::kPeerOfMessage;
  std::uint32_t from = 0, to = 0;  // ranks
  std::uint32_t channel = 0;
  std::uint32_t sent = 0, taken = 0;
  bool sizes_differ = false;  // of the message that is the `sent`-th, by these two steps
  AlgoStepRef sender, receiver;
};

/// An output chunk that is not what the collective says.
struct WrongChunk {
  std::uint32_t rank = 0, chunk = 0;
  bool unwritten = false;           // a part of it was never written
  std::vector<AlgoInput> missing;   // at most 4 each
  std::vector<AlgoInput> foreign;   // does not belong there
  std::vector<AlgoInput> repeated;  // added more than once
  std::uint32_t expected = 0;       // inputs
};

/// A chunk whose sums two ranks form differently.
struct DifferentSum {
  std::uint32_t chunk = 0;
  std::uint32_t first_rank = 0, second_rank = 0;
  std::string first, second;  // as AlgoValues::tree
  std::uint32_t chunks = 0;   // so many chunks differ between some ranks
  bool first_sums_are_same = false;
};

/// One change to the file, and what the file then is.
struct TriedChange {
  std::string what;
  AlgoVerdict verdict = AlgoVerdict::kCorrect;
  bool helps = false;  // it is correct, as far as the collective is known
};

// One of each run: the order of the questions counts for more than its size.
struct VerifyReport {  // NOLINT(clang-analyzer-optin.performance.Padding)
  AlgoVerdict verdict = AlgoVerdict::kCorrect;
  std::uint64_t steps = 0, steps_done = 0;
  bool in_place_checked = false, out_of_place_checked = false;

  // Does it hang?
  AlgoAnswer hangs = AlgoAnswer::kNo;
  std::uint32_t slots = 0;                     // that it was run with; 0: MSCCL++ has none
  std::optional<std::uint32_t> slots_needed;   // the fewest; nothing: no number is enough
  std::optional<std::uint64_t> hangs_from;     // the smallest message that hangs
  std::uint64_t min_bytes = 0, max_bytes = 0;  // the range that was asked about
  bool range_declared = false;
  std::uint32_t hang_chunks_per_slot = 0;  // of the smallest message that hangs
  bool searched = false;                   // orders of takers were tried: how many states
  std::uint64_t states = 0;
  bool uneven_barrier = false;
  std::optional<AlgoHang> hang;

  AlgoAnswer left_over = AlgoAnswer::kNotAsked;
  std::vector<LeftOver> left;

  AlgoAnswer races = AlgoAnswer::kNotAsked;
  std::vector<FoundRace> found_races;
  std::vector<FoundRace> ordered_by_slots;  // would be races with more slots
  std::vector<FoundRace> relaxed;           // data ordered by signals without memory order

  AlgoAnswer right_result = AlgoAnswer::kNotAsked;
  bool in_place_result = false;  // the use in which it is wrong
  std::vector<WrongChunk> wrong;
  std::uint64_t wrong_count = 0;
  std::optional<std::pair<AlgoStepRef, AlgoCell>> reads_unwritten;

  AlgoAnswer same_bits = AlgoAnswer::kNotAsked;
  std::optional<DifferentSum> difference;

  AlgoAnswer safe_launches = AlgoAnswer::kNotAsked;
  std::uint32_t launches = 0;
  std::vector<FoundRace> launch_races;
  bool launches_hang = false;

  std::vector<TriedChange> changes;  // that were tried, those that help first
};

/// Asks all questions about `algorithm`. Throws std::length_error where it is too large.
VerifyReport verify(const CollectiveAlgorithm& algorithm, const VerifyOptions& options);

/// Changes that might remove the fault of `report`, tried one by one.
std::vector<TriedChange> try_changes(const CollectiveAlgorithm& algorithm,
                                     const VerifyReport& report, const VerifyOptions& options);

}  // namespace pipesim::models
