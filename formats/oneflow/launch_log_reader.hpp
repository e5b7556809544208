// Logs in which host threads wrote a line before and after each launch: those of 'pipesim run
// --log', and OneFlow's in glog's form with a patch that prints `before: OP` and `after: OP`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "models/graph/diagnostics.hpp"
#include "models/postmortem/launch_log.hpp"

namespace pipesim::formats {

/// Larger files are refused.
inline constexpr std::size_t kMaxLogBytes = std::size_t{1} << 30;

/// The rank that the name of a log ends with: `rank_3.log`.
std::optional<std::uint32_t> rank_of_log(const std::string& path);

/// Puts together what lines say, of one file or several. Lines of all ranks may be mixed, and lines
/// that are something else are passed over. The rank of a line is that of its `[host:rank]`, or
/// that which srun and others put before it (`3: `), or that of its file's name.
class LaunchLogReader {
 public:
  /// Reads a file. False, with an error, where none of its lines is of a launch, or where it is not
  /// known of which rank they are.
  bool read(const std::string& text, const std::string& path, models::Diagnostics& diagnostics);

  /// Lines that were passed over.
  std::uint64_t other_lines() const { return other_lines_; }

  models::LaunchLog take() { return std::move(log_); }

 private:
  struct Line;
  static std::optional<Line> parse(std::string_view text);
  void add(std::uint32_t rank, const Line& line, const std::string& path);

  models::LaunchLog log_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> op_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> thread_;
  std::uint64_t lines_ = 0;
  std::uint64_t other_lines_ = 0;
};

}  // namespace pipesim::formats
