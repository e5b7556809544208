// The time that a collective algorithm takes on a cluster, and its critical path.
//
// Uses the latency-bandwidth model (Hockney; see models/lowering/cost.hpp). A message of s bytes
// over a link of latency a and bandwidth B occupies its sender for s/B, and arrives a after its
// last byte. Over links of one class, a rank sends one message at a time and receives one at a
// time, in the order in which they became ready. This is the single-port model of Thakur,
// Rabenseifner and Gropp. Receiving and summing a message costs nothing; work within a rank takes
// the time of its `device` link.
//
// MSCCL cuts a message if its chunks do not fit a slot. The thread blocks then repeat all steps for
// each piece, without a barrier in between (microsoft/msccl b23e9cd,
// src/collectives/device/msccl_interpreter.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/algorithm/algorithm_network.hpp"
#include "models/graph/cluster.hpp"

namespace pipesim::models {

struct AlgoTimingOptions {
  std::uint64_t bytes = 0;                // size of the whole message
  std::uint32_t slots = kUnlimitedSlots;  // slots per connection
};

/// The reason why a part of the critical path did not begin earlier.
enum class AlgoCause : std::uint8_t {
  kStart,       // the first part of the path
  kOrder,       // the previous step of its thread block
  kMessage,     // data to receive, or a packet
  kSlot,        // its connection was full
  kDependency,  // another thread block, a signal, a barrier, a semaphore
  kPort,        // another message of the same rank over links of this class
};

/// A message, or work on one rank, on the critical path. The parts follow each other without gaps:
/// the next part begins at `begin_ns + latency_ns + busy_ns`.
struct AlgoPathPart {
  std::uint32_t rank = 0, block = 0, step = 0;  // the step that causes it
  std::uint32_t round = 0;                      // piece of a message that is cut, from 0
  std::uint32_t from = 0, to = 0;               // ranks; equal: work on the rank
  std::uint32_t link = 0;                       // index in Cluster::links
  // Whether it uses a link: work on a rank without a `device` link uses none.
  bool over_link = false;
  std::uint64_t bytes = 0;
  std::int64_t begin_ns = 0;
  std::int64_t latency_ns = 0;  // the part of the latency on the path
  std::int64_t busy_ns = 0;     // transfer or work on the path
  AlgoCause cause = AlgoCause::kStart;
};

/// The messages that one rank sends or receives over links of one class.
struct AlgoPortLoad {
  std::uint32_t rank = 0;
  std::uint32_t link = 0;  // index in Cluster::links
  bool receives = false;
  std::uint64_t bytes = 0;
  std::int64_t busy_ns = 0;
};

struct AlgoTiming {
  std::int64_t makespan_ns = 0;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t rounds = 1;  // passes over all steps
  std::uint64_t messages = 0;
  std::vector<AlgoPathPart> path;       // parts from begin to end
  std::optional<AlgoPortLoad> busiest;  // the port that is busy longest
};

/// The largest number of steps to time, over all rounds.
inline constexpr std::uint64_t kMaxTimedSteps = 2'000'000;

/// Times `algorithm`, which completes with `options.slots`; a cluster has all its ranks. Returns
/// nullopt and sets `why` in three cases: the algorithm does not complete, no link joins two
/// communicating ranks, or times exceed 64 bits. Throws std::length_error if the message needs too
/// many rounds.
std::optional<AlgoTiming> time_algorithm(const CollectiveAlgorithm& algorithm,
                                         const Cluster& cluster, const AlgoTimingOptions& options,
                                         std::string& why);

/// Returns a cluster of `ranks` ranks with the usual links (known_links()): hosts of 8 devices, or
/// one smaller host.
Cluster usual_cluster(std::uint32_t ranks);

/// Sets the latencies of `protocol` on links that have their usual latency, which is that of NCCL's
/// protocol Simple. Source: NVIDIA/nccl b6475625fb, src/graph/tuning.cc, `hwLat` of the ring.
void set_protocol_latencies(Cluster& cluster, AlgoProtocol protocol);

/// Returns the bytes on the wire for `bytes` of data: LL sends a flag of 4 bytes with each 4 bytes,
/// LL128 a flag of 8 bytes with each 120 bytes.
std::uint64_t bytes_with_flags(std::uint64_t bytes, AlgoProtocol protocol);

/// Returns the factor from the message's bandwidth to that of each link (NVIDIA/nccl-tests,
/// doc/PERFORMANCE.md, "bus bandwidth"). The factor is 2(n-1)/n for an all-reduce, and (n-1)/n for
/// an all-gather, reduce-scatter and all-to-all. Returns nullopt for other collectives.
std::optional<double> bus_bandwidth_factor(const CollectiveAlgorithm& algorithm);

}  // namespace pipesim::models
