// Proves or refutes a collective algorithm: MSCCL's XML, or an execution plan of MSCCL++.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pipesim/graph.hpp"

namespace pipesim {

struct VerifyOptions {
  std::optional<std::uint32_t> slots;  // of a connection, instead of the protocol's; from 1
  std::optional<std::uint64_t> bytes;  // of the message, instead of the declared range
};

/// One of the questions, and its answer.
struct VerifyAnswer {
  std::string question;  // "hangs", "left over", "races", "result", ...
  std::string text;
  bool fault = false;
};

struct Verification {
  std::string verdict;  // "CORRECT", "DEADLOCK", "RACE", ...: as the command prints it
  bool correct = false;
  bool undecided = false;
  std::vector<VerifyAnswer> answers;  // all questions, also those that were not asked
  std::string report;                 // of `pipesim verify`
  std::string json;
};

/// Verifies the algorithm in `text`. Messages call it `name`. Throws Error where it cannot be read,
/// or is too large.
Verification verify(const std::string& text, const VerifyOptions& options = {},
                    const std::string& name = "algorithm");

}  // namespace pipesim
