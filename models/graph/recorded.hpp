// Names and findings that reports use for a recorded script, whose steps have no names.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/outside_text.hpp"

namespace pipesim::models {

/// A call that some ranks make as the n-th call on a group.
struct CallOfRanks {
  std::vector<std::uint32_t> ranks;  // in ascending order
  OutsideText call;  // the call, "all_gather, 8 B of int64"; empty: the ranks make none
  OutsideText at;    // line of the call; without a call: what the ranks do instead
  std::vector<OutsideText> lines{};  // lines of the callers, innermost first
};

/// The first call on a group that differs between ranks, if every call from there to the first
/// mismatched call differs.
struct FirstDifference {
  OutsideText group;        // name: "the world group", "group [0, 1] of tp_dp.py:8"
  std::int64_t number = 0;  // number of the call, from 1
  std::vector<CallOfRanks> sides;
  std::int64_t mismatch = 0;         // number of the first mismatched call
  std::vector<CallOfRanks> there{};  // sides of the mismatched call, if it is a later call
};

/// Ranks of a recorded script that raised or exited with an error in the same way.
struct FailedRanks {
  std::vector<std::uint32_t> ranks;  // in ascending order
  OutsideText what;                  // failure: "raised ValueError", "exited with status 3"
  OutsideText message;  // message of the error: "ValueError: loss is nan"; can be empty
  OutsideText at;       // line of the failure; can be empty
};

/// An op by its name in the scenario, and the number of the execution, from 1.
struct NamedOp {
  std::string name;
  std::uint32_t number = 1;
};

/// Names for the calls and streams of a recorded script.
class Recorded {
 public:
  Recorded() = default;
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  virtual ~Recorded() = default;

  /// Returns "all_reduce #23 on the world group" for execution `number` (from 1) of the scenario's
  /// op `op`; an empty string if the record has no name for this execution.
  virtual std::string name(std::uint32_t rank, const std::string& op,
                           std::uint32_t number) const = 0;

  /// Returns the op for which name() returns `name` on this rank.
  virtual std::optional<NamedOp> find(std::uint32_t rank, const std::string& name) const = 0;

  /// Returns the name of the stream that runs the calls of a group, such as "the world group"; an
  /// empty string for other streams.
  virtual std::string stream_name(std::uint32_t rank, const std::string& stream) const = 0;

  /// Returns the first difference between the calls of the ranks; null if all recorded calls match.
  virtual const FirstDifference* first_difference() const = 0;

  std::vector<FailedRanks> failures;  // sorted by first rank
  std::set<std::uint32_t> threaded;   // ranks whose program has calls of several threads
};

}  // namespace pipesim::models
