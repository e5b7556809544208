// Converts dumps of a real job to a record of the calls that the dumps contain.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "features/diagnose/evidence.hpp"
#include "features/record/record.hpp"

namespace pipesim::models {

struct DumpedRecord {
  Record record;
  // number of calls that were skipped because some members' dumps lack them
  std::size_t left_out = 0;
  std::vector<std::uint32_t> absent;  // ranks without a dump; if there are any, `record` is empty
};

/// Records the calls that the dumps of all members have. Adds a wait after each call, although
/// dumps do not contain waits: see Record::waits_assumed. A ring buffer keeps only the last calls,
/// so sends and recvs between two ranks are matched from the end.
DumpedRecord record_of_dumps(const Evidence& evidence);

/// Returns "float32" for PyTorch's "Float"; returns other names unchanged.
std::string type_of_dump(std::string_view name);

}  // namespace pipesim::models
