// Reads logs with a line before and after each launch of a host thread. 'pipesim run --log' writes
// such logs. OneFlow also does (in glog's form), with a patch that prints `before: OP` and `after:
// OP`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "models/graph/diagnostics.hpp"

#include "features/diagnose/launch_log.hpp"

namespace pipesim::formats {

/// The maximum size of a log, in bytes.
inline constexpr std::size_t kMaxLogBytes = std::size_t{1} << 30;

/// Returns the rank at the end of a log's file name: `rank_3.log`.
std::optional<std::uint32_t> rank_of_log(const std::string& path);

/// Combines the lines of one or several files. Lines of all ranks may be mixed; other lines are
/// ignored. The rank of a line comes from its `[host:rank]`, from a launcher's label (`3: `), or
/// from the file name.
class LaunchLogReader {
 public:
  /// Reads a file. Returns false, with an error, if the file has no launch lines or their rank is
  /// unknown.
  bool read(const std::string& text, const std::string& path, models::Diagnostics& diagnostics);

  /// Returns the number of ignored lines.
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
