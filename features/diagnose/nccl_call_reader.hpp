// Reads the calls in NCCL's log with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL (also RCCL's):
// operation, communicator, size and stream, in the call order of each process. NCCL logs a call
// when the process makes it; no line shows when the call is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence.hpp"
#include "features/diagnose/log_lines.hpp"
#include "features/diagnose/nccl_calls.hpp"

namespace pipesim::formats {

/// Maximum number of calls to read; later calls are ignored.
inline constexpr std::size_t kMaxNcclCalls = 4'000'000;

class NcclCallReader {
 public:
  /// Reads a line of a call or of a communicator's initialization. Returns false for other lines.
  bool take(const LogLine& line, std::uint32_t file);

  bool empty() const { return calls_ == 0; }

  /// Returns the calls of all communicators whose lines can be matched: by their `Init COMPLETE`
  /// lines, or by their size and order. A call that all known members made counts as done. `files`
  /// are the files of the evidence.
  models::Evidence evidence(const std::vector<std::string>& files) const;

  /// Returns notes on facts that lines about calls do not show.
  std::vector<models::OutsideText> notes() const;

  /// Returns host programs with these calls, in their order, on their streams. The scenario expects
  /// the result of `diagnosis`.
  std::string scenario(const models::Diagnosis& diagnosis) const;

 private:
  bool take_init(std::string_view text, NcclProcess& process);
  NcclProcess& process_of(std::string_view text);
  std::map<std::string, std::uint32_t> ranks_in_largest(std::uint32_t size) const;
  std::map<std::string, std::uint32_t> ranks_of_processes() const;
  std::vector<NcclGroup> groups() const;

  std::map<std::string, NcclProcess> processes_;
  std::size_t calls_ = 0;
};

}  // namespace pipesim::formats
