// Reads what torch logs about a rank that cannot join its job: the port is in use, nobody listens,
// or ranks are missing.
#pragma once

#include <cstddef>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "models/outside_text.hpp"

#include "features/diagnose/log_lines.hpp"

namespace pipesim::formats {

class JoinReports {
 public:
  /// Reads a line. Returns false for other lines.
  bool take(const LogLine& line);

  void add_notes(std::vector<models::OutsideText>& notes) const;

 private:
  bool take_port_in_use(std::string_view text);
  bool take_refused(std::string_view text);
  bool take_missing(std::string_view text);

  std::set<models::OutsideText> ports_in_use_;
  std::set<models::OutsideText> unreachable_;             // "127.0.0.1:29500"
  std::set<std::pair<std::size_t, std::size_t>> joined_;  // ranks that came, of all ranks
};

}  // namespace pipesim::formats
