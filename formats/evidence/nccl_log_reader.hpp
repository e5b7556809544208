// What PyTorch's watchdog and NCCL write to a job's output when something hangs: timeouts with the
// numbers of works, creations of communicators, and links that do not answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::formats {

/// Puts lines of several files together; what is something else is passed over.
class NcclLogReader {
 public:
  /// Reads a file. False, with an error, where no line of it says anything.
  bool read(const std::string& text, models::Diagnostics& diagnostics);

  /// Timeouts as calls that are not done. Members of a group are the ranks that named it; of the
  /// default group all ranks that were seen.
  models::Evidence evidence() const;

  /// What else the lines say, in words: communicators that not all came to create, errors of links.
  std::vector<std::string> notes() const;

 private:
  struct Work {
    std::string group;  // its name; empty: not told
    std::uint64_t sequence = 0;
    std::string op;
    std::int64_t in = 0;
    std::int64_t out = 0;
    std::int64_t enqueued = -1;
    std::int64_t completed = -1;
  };
  struct Creation {
    std::uint32_t ranks = 0;
    std::set<std::uint32_t> begun;  // numbered in it
    std::set<std::uint32_t> done;
  };

  bool take_watchdog(std::string_view line);
  bool take_creation(std::string_view line);
  bool take_link_error(std::string_view line);
  std::map<std::string, std::uint32_t> add_groups(models::Evidence& evidence) const;
  static void add_calls(const Work& work, std::uint32_t group,
                        std::vector<models::RecordedCall>& calls);
  Work& work(std::uint32_t rank, std::uint64_t sequence, const std::string& group);

  std::set<std::uint32_t> seen_;                      // ranks that wrote anything
  std::map<std::uint32_t, std::vector<Work>> works_;  // by rank
  Work ignored_;                                      // beyond all limits
  std::map<std::string, std::string> descriptions_;   // of groups
  std::map<std::string, Creation> creations_;
  std::map<std::string, std::uint64_t> link_errors_;  // "status 12 from peer 10.0.0.3"
};

}  // namespace pipesim::formats
