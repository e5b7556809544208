// The library form of `pipesim check`: whether a task graph can hang, for any timing.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "pipesim/graph.hpp"
#include "pipesim/scenario.hpp"

namespace pipesim {

/// The answer of a check; docs/explanation/check.md describes the guarantee of each.
enum class Answer : std::uint8_t {
  kProved,        // no interleaving hangs, under NCCL's contract and in a fresh job
  kByBuffers,     // NCCL's contract allows a hang, which NCCL's buffers prevent
  kHangPossible,  // some interleaving hangs
  kHangCertain,   // every interleaving hangs
  kMismatch,      // every interleaving completes, but matched calls differ
  kUndecided,     // the budget was exhausted
};

/// Returns the name of an answer in reports and JSON: "proved", "runs by buffers", "hang possible".
std::string answer_name(Answer answer);

struct CheckOptions {
  std::uint64_t max_states = 200'000;  // maximum number of remembered branch points per reading
  std::uint64_t max_states_after_hang = 5'000;  // maximum number of branch points after a hang
  std::uint64_t max_ways = 1000;  // maximum number of combinations of a scenario's choices
};

struct CheckResult {
  Answer answer = Answer::kUndecided;
  std::string report;  // report of `pipesim check`, with an explanation of the hang if there is one
  std::string json;

  bool proved() const { return answer == Answer::kProved; }
};

/// Writes the report. A test shows it for a graph that can hang.
std::ostream& operator<<(std::ostream& out, const CheckResult& result);

/// Checks every interleaving of `graph`. The choices of its scenario have the values set when it
/// was read, or their defaults; check_scenario() tries all values. The same graph gives the same
/// answer, bit for bit. Throws Error if the graph has mistakes.
CheckResult check(const Graph& graph, const CheckOptions& options = {});

/// Checks the scenario in the file `path`, like `pipesim check`. Tries all values of each `choice`
/// that `settings` does not set, per rank or for all ranks, until one combination hangs. The report
/// names the settings that it shows.
CheckResult check_scenario(const std::string& path, const Settings& settings = {},
                           const CheckOptions& options = {});

}  // namespace pipesim
