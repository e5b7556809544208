// Changes of a recorded script, tried on its record: for records whose script is not at hand or
// without a proved change, and for dumps of a real job.
//
// A change applies to a line of the script: to all calls of the line, on all ranks and in all
// iterations. No edit of a script changes a single call of a single rank.
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
  // The number of recorded calls that follow the changed calls. They match, too.
  std::size_t later_calls = 0;
};

struct LineChanges {
  std::vector<LineChange> found;  // those with which no recorded call hangs
  std::vector<LineChange> tried;  // the others
};

/// Tries changes of the lines at which `hang`, the explanation of `record`, has its waits or
/// mismatched calls. `record` is as RecordInput has it. `completes` tells whether all calls of a
/// variant match under every timing.
LineChanges find_line_changes(const Record& record, const Explanation& hang,
                              const std::function<bool(const Record&)>& completes);

}  // namespace pipesim::models
