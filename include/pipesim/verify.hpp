// Verification of a collective algorithm: MSCCL's XML, or an execution plan of MSCCL++.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipesim/graph.hpp"

namespace pipesim {

struct VerifyOptions {
  std::optional<std::uint32_t> slots;  // slots per connection, from 1; default: the protocol's
  // Message size; default: all sizes in the range that the algorithm declares.
  std::optional<std::uint64_t> bytes;
};

/// A question about the algorithm, and its answer.
struct VerifyAnswer {
  std::string question;  // subject: "hangs", "left over", "races", "result", ...
  std::string text;
  bool fault = false;
};

struct Verification {
  std::string verdict;  // verdict as the command prints it: "CORRECT", "DEADLOCK", "RACE", ...
  bool correct = false;
  bool undecided = false;
  std::vector<VerifyAnswer> answers;  // all questions, including skipped ones
  std::string report;                 // report of `pipesim verify`
  std::string json;
};

/// Verifies the algorithm in `text`. Messages call the text `name`. Throws Error if the text cannot
/// be read or is too large.
Verification verify(const std::string& text, const VerifyOptions& options = {},
                    const std::string& name = "algorithm");

}  // namespace pipesim
