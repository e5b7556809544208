// What reports say of a recorded script, whose steps have no names of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/outside_text.hpp"

namespace pipesim::models {

/// What some ranks do as the n-th call on a group.
struct CallOfRanks {
  std::vector<std::uint32_t> ranks;  // ascending
  OutsideText call;                  // "all_gather, 8 B of int64"; empty: they make no such call
  OutsideText at;                    // its line; without a call, what the ranks do instead
  std::vector<OutsideText> lines{};  // that lead there, the caller's last
};

/// The first call on a group that ranks do not make alike, before one that does not match.
struct FirstDifference {
  OutsideText group;        // "the world group", "group [0, 1] of tp_dp.py:8"
  std::int64_t number = 0;  // of the call, from 1
  std::vector<CallOfRanks> sides;
  std::int64_t mismatch = 0;         // number of the first call that does not match
  std::vector<CallOfRanks> there{};  // that call, if it is a later one
};

/// Ranks of a recorded script that raised, or exited with an error, in the same way.
struct FailedRanks {
  std::vector<std::uint32_t> ranks;  // ascending
  OutsideText what;                  // "raised ValueError", "exited with status 3"
  OutsideText message;               // "ValueError: loss is nan"; may be empty
  OutsideText at;                    // the line; may be empty
};

/// An op as the scenario calls it, and which act of it, from 1.
struct NamedAct {
  std::string op;
  std::uint32_t act = 1;
};

/// Names for what a recorded script does.
class Recorded {
 public:
  Recorded() = default;
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  virtual ~Recorded() = default;

  /// "all_reduce #23 on the world group": act `act` (from 1) of the op that the scenario calls
  /// `op`. Empty for what the record does not name.
  virtual std::string name(std::uint32_t rank, const std::string& op, std::uint32_t act) const = 0;

  /// The op that name() calls so on this rank.
  virtual std::optional<NamedAct> find(std::uint32_t rank, const std::string& name) const = 0;

  /// "the world group": what the stream with the calls of a group is called on a rank; empty for
  /// other streams.
  virtual std::string stream_name(std::uint32_t rank, const std::string& stream) const = 0;

  /// Where the calls of the ranks begin to differ; null if all match as far as they are recorded.
  virtual const FirstDifference* first_difference() const = 0;

  std::vector<FailedRanks> failures;  // in the order of their first ranks
};

}  // namespace pipesim::models
