// The calls in NCCL's log, collected by process and by communicator.
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

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/evidence.hpp"

namespace pipesim::formats {

/// Names and sizes (in bytes) of ncclDataType_t.
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
  std::uint32_t root = 0;  // root, or peer of a send or recv
  std::uint64_t op_count = 0;
  models::OutsideText communicator;  // address
  models::OutsideText stream;
  models::EvidencePlace place;
};

struct NcclCommunicator {
  std::uint32_t order = 0;            // index among the process's communicators of this size
  std::optional<std::uint32_t> rank;  // rank in the communicator
  std::uint32_t ranks = 0;            // size of the communicator; 0: unknown
  models::OutsideText hash;           // empty: unknown
  // Whether its initialization was logged. Its first call is then known.
  bool from_start = false;
};

struct NcclProcess {
  models::OutsideText name;           // host and pid: "host:pid"
  std::optional<std::uint32_t> told;  // rank in the job, from a label
  std::uint32_t device = 0;
  std::map<std::string, NcclCommunicator> communicators;  // communicators by address
  std::vector<NcclCall> calls;
};

/// A communicator with its member processes.
struct NcclGroup {
  models::OutsideText name;
  std::uint32_t size = 0;
  // [job rank]: the process, and the address of the communicator in this process.
  std::map<std::uint32_t, std::pair<const NcclProcess*, std::string>> members;
  std::map<std::uint32_t, std::uint32_t> job_rank;  // job rank by rank in the communicator
  bool from_start = true;
  bool numbered = false;  // whether opCount numbers its calls
  bool joined = true;     // whether its members certainly share one communicator

  /// Whether calls of its members can be matched by order or by number.
  bool is_aligned() const { return joined && (from_start || numbered); }

  /// Returns the calls of a member in order. `rank` is a rank of the job.
  std::vector<const NcclCall*> calls_of(std::uint32_t rank) const;
};

/// Adds the group and the calls of its members to `evidence`.
void add_nccl_calls(const NcclGroup& group, models::Evidence& evidence);

/// Returns host programs with these calls, in their order, on their streams; empty if no call can
/// be written. The scenario expects the result of `diagnosis`.
std::string nccl_call_scenario(const std::vector<NcclGroup>& groups,
                               const models::Diagnosis& diagnosis);

}  // namespace pipesim::formats
