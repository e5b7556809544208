// The calls that NCCL writes with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL (and RCCL, too): which
// operation of which communicator, with how much data, on which stream, in the order of each
// process. A line is written when the call is made: nothing says when it is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/evidence/log_lines.hpp"
#include "formats/evidence/nccl_calls.hpp"
#include "models/postmortem/diagnosis.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::formats {

/// Calls beyond these are passed over.
inline constexpr std::size_t kMaxNcclCalls = 4'000'000;

class NcclCallReader {
 public:
  /// Takes a line that is one of a call, or of the creation of a communicator. False: it is none.
  bool take(const LogLine& line, std::uint32_t file);

  bool empty() const { return calls_ == 0; }

  /// The calls of all communicators whose lines can be told to be of one: by the lines of their
  /// creation (`Init COMPLETE`), or by their size and their order. Calls that all known members
  /// made count as done. `files` is that of the evidence.
  models::Evidence evidence(const std::vector<std::string>& files) const;

  /// What these lines leave open, in words.
  std::vector<models::OutsideText> notes() const;

  /// Host programs that make these calls, in their order, on their streams. It expects what
  /// `diagnosis` found.
  std::string scenario(const models::Diagnosis& diagnosis) const;

 private:
  bool take_creation(std::string_view text, NcclProcess& process);
  NcclProcess& process_of(std::string_view text);
  std::map<std::string, std::uint32_t> ranks_in_largest(std::uint32_t size) const;
  std::map<std::string, std::uint32_t> ranks_of_processes() const;
  std::vector<NcclGroup> groups() const;

  std::map<std::string, NcclProcess> processes_;
  std::size_t calls_ = 0;
};

}  // namespace pipesim::formats
