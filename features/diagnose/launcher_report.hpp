// The reports of launchers about processes that ended: torchrun, mpirun, torch.multiprocessing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/outside_text.hpp"

#include "features/diagnose/evidence.hpp"
#include "features/diagnose/log_lines.hpp"

namespace pipesim::formats {

/// The end of a rank's process, as its launcher saw it.
struct ProcessEnd {
  bool first = false;        // whether the launcher saw it end before all other processes
  int code = 0;              // exit code; -9: ended by signal 9
  models::OutsideText when;  // "2026-11-26_14:39:20"; empty: not given
  models::EvidencePlace place;

  /// Whether the process died on its own: its signal comes only from the system, a person or the
  /// process itself, but not from a launcher or from PyTorch after a timeout.
  bool is_death() const;
  /// Returns "exit code -9 (SIGKILL) at 2026-11-26_14:39:20".
  std::string text() const;
};

class LauncherReport {
 public:
  /// Reads a line of a report. Returns false for other lines.
  bool take(const LogLine& line, const models::EvidencePlace& place);

  const std::map<std::uint32_t, ProcessEnd>& ends() const { return ends_; }

  /// Returns the rank whose process ended first; nullopt if no line names it.
  std::optional<std::uint32_t> first() const;

  /// Returns one more than the largest rank in the reports.
  std::uint32_t ranks() const { return ends_.empty() ? 0 : ends_.rbegin()->first + 1; }

 private:
  bool take_torchrun(std::string_view text, const models::EvidencePlace& place);
  bool take_other(std::string_view text, const models::EvidencePlace& place);

  std::map<std::uint32_t, ProcessEnd> ends_;
  bool within_ = false;                // whether a report of torchrun has begun
  bool in_root_ = false;               // whether its part "Root Cause" has begun
  std::optional<std::uint32_t> rank_;  // rank of the current entry
  models::OutsideText when_;           // time of the current entry
};

/// Returns the time of day in "2026-11-26_14:39:20" or "[E1126 14:22:10.7", in seconds.
std::optional<std::int64_t> time_of_day(std::string_view text);

}  // namespace pipesim::formats
