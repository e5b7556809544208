// Changes of a recorded script that are tried on its record: for records whose script is not found
// or has no proved change, and for dumps of a real job.
//
// A change applies to a line of the script: to all its calls, on all ranks and in all iterations.
// No edit of a script could change a single call of a single rank.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/result/explanation.hpp"

#include "features/record/record.hpp"

namespace pipesim::models {

/// A change of the lines of a script.
struct LineChange {
  enum class Kind : std::uint8_t { kDrop, kIsend, kOrder };

  Kind kind = Kind::kDrop;
  OutsideText text;  // "without train.py:8 all_reduce, which only rank 0 calls"
  // For kDrop: the number of recorded calls after the dropped calls. In a found change, these calls
  // match too.
  std::size_t later_calls = 0;
};

struct LineChanges {
  std::vector<LineChange> found;  // changes with which no recorded call hangs
  std::vector<LineChange> tried;  // changes that do not help
};

/// Tries changes of the lines at which `hang`, the explanation of `record`, has its waits or
/// mismatched calls. `record` is the record of a RecordInput. `completes` returns whether all calls
/// of a variant match under every timing.
LineChanges find_line_changes(const Record& record, const Explanation& hang,
                              const std::function<bool(const Record&)>& completes);

}  // namespace pipesim::models
