// Dumps of a real job as a record: what its ranks called, as far as the dumps reach.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "models/postmortem/evidence.hpp"
#include "models/record/record.hpp"

namespace pipesim::models {

struct DumpedRecord {
  Record record;
  std::size_t left_out = 0;           // calls that are not in the dumps of all their members
  std::vector<std::uint32_t> absent;  // ranks without a dump; then there is no record
};

/// The calls that all their members' dumps have, each followed by a wait that nobody recorded: see
/// Record::waits_assumed. A ring that was written over has the last calls only, so of sends and
/// recvs between two ranks the last ones are matched.
DumpedRecord record_of_dumps(const Evidence& evidence);

/// "float32" of PyTorch's "Float"; other names are kept.
std::string type_of_dump(std::string_view name);

}  // namespace pipesim::models
