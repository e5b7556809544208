// The calls of NCCL's lines, as they are put together: of each process, and of each communicator.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/graph/operation.hpp"
#include "models/outside_text.hpp"
#include "models/postmortem/diagnosis.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::formats {

/// ncclDataType_t: name and size.
inline constexpr std::array<std::pair<std::string_view, std::uint32_t>, 12> kNcclTypes = {{
    {"int8", 1},
    {"uint8", 1},
    {"int32", 4},
    {"uint32", 4},
    {"int64", 8},
    {"uint64", 8},
    {"float16", 2},
    {"float32", 4},
    {"float64", 8},
    {"bfloat16", 2},
    {"float8_e4m3", 1},
    {"float8_e5m2", 1},
}};

struct NcclCall {
  models::Operation operation = models::Operation::kAllReduce;
  std::uint64_t count = 0;
  std::uint32_t type = 0;
  std::uint32_t root = 0;  // or the peer of a message
  std::uint64_t op_count = 0;
  models::OutsideText communicator;  // its address
  models::OutsideText stream;
  models::EvidencePlace place;
};

struct NcclCommunicator {
  std::uint32_t order = 0;            // of the process's communicators of its size
  std::optional<std::uint32_t> rank;  // in it
  std::uint32_t ranks = 0;            // 0: not told
  models::OutsideText hash;           // empty: not told
  bool from_start = false;            // its creation is told, and so its first call is there
};

struct NcclProcess {
  models::OutsideText name;           // "host:pid"
  std::optional<std::uint32_t> told;  // its rank in the job
  std::uint32_t device = 0;
  std::map<std::string, NcclCommunicator> communicators;  // by address
  std::vector<NcclCall> calls;
};

/// A communicator over all processes.
struct NcclGroup {
  models::OutsideText name;
  std::uint32_t size = 0;
  std::map<std::uint32_t, std::pair<const NcclProcess*, std::string>> members;  // by rank of job
  std::map<std::uint32_t, std::uint32_t> job_rank;                              // by rank in it
  bool from_start = true;
  bool numbered = false;  // by opCount, which grows
  bool joined = true;     // its members are known to be of one communicator

  /// Whether calls of its members can be put together: by their order, or by their numbers.
  bool is_aligned() const { return joined && (from_start || numbered); }

  /// The calls of a member, in their order. `rank` is that of the job.
  std::vector<const NcclCall*> calls_of(std::uint32_t rank) const;
};

/// Adds the group and the calls of its members to `evidence`.
void add_nccl_calls(const NcclGroup& group, models::Evidence& evidence);

/// Host programs that make these calls, in their order, on their streams; empty if no call can be
/// written. It expects what `diagnosis` found.
std::string nccl_call_scenario(const std::vector<NcclGroup>& groups,
                               const models::Diagnosis& diagnosis);

}  // namespace pipesim::formats
