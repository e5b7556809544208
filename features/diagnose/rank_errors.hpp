// The errors that ranks print: Python's tracebacks, and exceptions of C++ that end a process.
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
#include "features/diagnose/stack_places.hpp"

namespace pipesim::formats {

/// The cause of an error, as far as its text shows it.
enum class ErrorKind : std::uint8_t {
  kOwn,       // an error that has nothing to do with other ranks
  kTimeout,   // the rank waited for others until a timeout
  kLostPeer,  // a connection ended, or a wait was interrupted
};

/// Classifies an error by its text.
ErrorKind kind_of_error(std::string_view error);

/// Returns how an exception of C++ ended a process: "gloo ended it, because sizes differ: ...".
std::string end_of_process(std::string_view error);

struct RankError {
  models::OutsideText error;  // "ValueError: loss is NaN"
  ErrorKind kind = ErrorKind::kOwn;
  bool chained = false;  // whether it was raised while another error was handled
  bool native = false;   // whether it is an exception of C++, which ended the process
  models::EvidencePlace place;
  std::vector<models::StackFrame> frames;  // innermost first

  /// Returns the position at which the rank waited: "broadcast, called in step (a.py:64)".
  models::OutsideText at() const;
};

class RankErrors {
 public:
  /// Reads a line of a traceback or of an exception. Returns false for other lines, and for lines
  /// of an unknown rank. `rank_of_file` is the rank in the name of the file: it has the exceptions
  /// of C++ that name no rank. The tracebacks there can be of errors that the rank caught.
  bool take(const LogLine& line, const models::EvidencePlace& place,
            std::optional<std::uint32_t> rank_of_file = std::nullopt);

  /// Returns the finished errors of each rank, in the order of their lines.
  const std::map<std::uint32_t, std::vector<RankError>>& by_rank() const { return errors_; }

 private:
  /// An error whose last line has not been read yet.
  struct Open {
    RankError error;
    bool in_frames = false;  // whether the previous line belongs to a frame
  };

  bool take_more(std::uint32_t rank, std::string_view text);
  void close(std::uint32_t rank, std::string text);

  std::map<std::uint32_t, Open> open_;
  std::map<std::uint32_t, bool> chains_;  // whether the next error of the rank is chained
  std::map<std::uint32_t, std::vector<RankError>> errors_;
};

}  // namespace pipesim::formats
