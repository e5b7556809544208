// Whether a task graph can hang, whatever the timing: what `pipesim check` finds.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "pipesim/graph.hpp"
#include "pipesim/scenario.hpp"

namespace pipesim {

/// docs/explanation/check.md says what each is worth.
enum class Answer : std::uint8_t {
  kProved,        // no interleaving hangs, by NCCL's contract and in a fresh job
  kByBuffers,     // NCCL's contract lets it hang, and its buffers keep it from that
  kHangPossible,  // some interleaving hangs
  kHangCertain,   // all of them do
  kMismatch,      // none hangs, but calls that meet do not match
  kUndecided,     // the budget was used up first
};

/// "proved", "runs by buffers", "hang possible": as reports and JSON have it.
std::string answer_name(Answer answer);

struct CheckOptions {
  std::uint64_t max_states = 200'000;  // branch points that are remembered, of each reading
  std::uint64_t max_states_after_hang = 5'000;  // the same, after a hang is known
  std::uint64_t max_ways = 1000;  // combinations of a scenario's choices that are checked
};

/// What was found.
struct CheckResult {
  Answer answer = Answer::kUndecided;
  std::string report;  // of `pipesim check`, with the hang explained if there is one
  std::string json;

  bool proved() const { return answer == Answer::kProved; }
};

/// Writes the report: what a test shows of a graph that can hang.
std::ostream& operator<<(std::ostream& out, const CheckResult& result);

/// Follows every interleaving of `graph`. Of the choices of a scenario it has those that were set
/// when it was read, or the defaults: check_scenario() tries all. The same graph gives the same
/// answer, to the bit. Throws Error where the graph has mistakes.
CheckResult check(const Graph& graph, const CheckOptions& options = {});

/// The same for the scenario in the file `path`, as `pipesim check` does it: of each `choice` that
/// `settings` do not set every way is checked, of each rank or of all ranks, until one hangs. The
/// report names the settings of the way that it shows.
CheckResult check_scenario(const std::string& path, const Settings& settings = {},
                           const CheckOptions& options = {});

}  // namespace pipesim
