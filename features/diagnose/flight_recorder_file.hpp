// Reads dumps of PyTorch's Flight Recorder (torch.distributed, versions 2.x), as JSON or pickled:
// the last collectives, sends and recvs of one rank, and their progress.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/outside_text.hpp"

#include "features/diagnose/evidence.hpp"

namespace pipesim::formats {

/// The maximum size of a dump, in bytes.
inline constexpr std::size_t kMaxDumpBytes = std::size_t{256} << 20;

/// The content of one dump, before groups are matched between ranks.
struct FlightRecorderDump {
  struct Group {
    models::OutsideText name;
    models::OutsideText description;
    std::vector<std::uint32_t> ranks;
  };
  struct Entry {
    models::RecordedOp op;
    models::OutsideText group;  // name of the group
    models::OutsideText description;
    std::int64_t group_id = -1;  // id in this process: the key of `status`
    bool messages = false;
    bool over = false;               // retired, but not known to be completed
    std::uint64_t sequence = 0;      // number among collectives, or among sends and recvs
    std::uint32_t local_source = 0;  // sender's rank in the group, for a send or recv
    std::uint32_t local_target = 0;
    models::OutsideText at;
  };
  std::uint32_t rank = 0;
  std::string path;
  models::OutsideText version;
  std::vector<Group> groups;
  std::map<std::int64_t, models::GroupProgress> status;  // counters by group_id; `group` is not set
  std::vector<Entry> entries;                            // ordered by record number
  bool of_gloo = false;                                  // whether gloo recorded the dump
};

/// Returns the rank of a dump by its file name: `nccl_trace_rank_3`, `_dump_3.json`. Returns
/// nullopt for other names.
std::optional<std::uint32_t> rank_of_dump(const std::string& path);

/// Reads one dump. `rank` comes from the file name; a rank in the dump overrides it. Returns
/// nullopt if `bytes` is not a dump; `diagnostics` has the reason.
std::optional<FlightRecorderDump> read_flight_recorder(const std::string& bytes,
                                                       std::optional<std::uint32_t> rank,
                                                       models::Diagnostics& diagnostics);

/// Combines the dumps of a job, at most one per rank, into evidence.
models::Evidence flight_recorder_evidence(std::vector<FlightRecorderDump> dumps);

}  // namespace pipesim::formats
