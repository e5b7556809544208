// Dumps of PyTorch's Flight Recorder (torch.distributed, versions 2.x), as JSON or pickled: the
// last collectives and messages that one rank called, and how far each came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/outside_text.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::formats {

/// Larger files are refused.
inline constexpr std::size_t kMaxDumpBytes = std::size_t{256} << 20;

/// What one dump says, before groups of several ranks are known to be one.
struct FlightRecorderDump {
  struct Group {
    models::OutsideText name;
    models::OutsideText description;
    std::vector<std::uint32_t> ranks;
  };
  struct Entry {
    models::RecordedOp op;
    models::OutsideText group;  // its name
    models::OutsideText description;
    std::int64_t group_id = -1;  // in this process: the key of `status`
    bool messages = false;
    std::uint64_t sequence = 0;      // of collectives, or of messages
    std::uint32_t local_source = 0;  // of a message, in the group
    std::uint32_t local_target = 0;
    models::OutsideText at;
  };
  std::uint32_t rank = 0;
  std::string path;
  models::OutsideText version;
  std::vector<Group> groups;
  std::map<std::int64_t, models::GroupProgress> status;  // by group_id; `group` is not set
  std::vector<Entry> entries;                            // in the order of records
};

/// Whether `path` may be a dump by its name, and of which rank: `nccl_trace_rank_3`,
/// `_dump_3.json`.
std::optional<std::uint32_t> rank_of_dump(const std::string& path);

/// One dump. `rank` is that of its file's name; a dump that says its own is of that. Nothing where
/// `bytes` is none; `diagnostics` says why.
std::optional<FlightRecorderDump> read_flight_recorder(const std::string& bytes,
                                                       std::optional<std::uint32_t> rank,
                                                       models::Diagnostics& diagnostics);

/// What all dumps of a job say together: at most one of each rank.
models::Evidence flight_recorder_evidence(std::vector<FlightRecorderDump> dumps);

}  // namespace pipesim::formats
