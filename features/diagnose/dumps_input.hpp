// Reads Flight Recorder dumps of a completed job as the record of that job.
#pragma once

#include <memory>
#include <string>

#include "app/input/input_kinds.hpp"
#include "app/output/console.hpp"

namespace pipesim::app {

/// Whether the folder `path` has dumps of the Flight Recorder.
bool has_dumps(const std::string& path);

/// Reads the dumps in the folder `path` as a record. Throws FileError; throws InputError if the job
/// did not complete, if a rank has no dump, or if the dumps have no call in common.
std::unique_ptr<const ForeignJob> read_dumped_job(const std::string& path, const Console& console);

}  // namespace pipesim::app
