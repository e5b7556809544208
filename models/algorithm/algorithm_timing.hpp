// How long a collective algorithm takes on a cluster, and what that time is made of.
//
// The latency-bandwidth model (Hockney; see models/lowering/cost.hpp): a message of s bytes over a
// link of latency a and bandwidth B occupies its sender for s/B, and is there a after its last
// byte. A rank sends one message at a time over links of one class, and receives one at a time, in
// the order in which they were ready: the single port of Thakur, Rabenseifner and Gropp. A message
// is received and summed at no cost; what stays on a rank takes the time of its `device` link.
//
// MSCCL cuts a message whose chunks do not fit a slot: the thread blocks do all their steps once
// for each piece, without a barrier in between (microsoft/msccl b23e9cd,
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
  std::uint64_t bytes = 0;                // of the whole message
  std::uint32_t slots = kUnlimitedSlots;  // of a connection
};

/// Why a part of the critical path did not begin earlier.
enum class AlgoCause : std::uint8_t {
  kStart,       // nothing comes before it
  kOrder,       // the step before in its thread block
  kMessage,     // what it receives, or a packet
  kSlot,        // its connection was full
  kDependency,  // another thread block, a signal, a barrier, a semaphore
  kPort,        // another message of the same rank over links of this class
};

/// A message, or work on one rank, on the critical path. The parts follow each other without gaps:
/// `begin_ns + latency_ns + busy_ns` is where the next one begins.
struct AlgoPathPart {
  std::uint32_t rank = 0, block = 0, step = 0;  // who does it
  std::uint32_t round = 0;                      // of a message that is cut, from 0
  std::uint32_t from = 0, to = 0;               // ranks; the same: work on it
  std::uint32_t link = 0;                       // index in Cluster::links
  bool over_link = false;                       // work on a rank takes no link where none is given
  std::uint64_t bytes = 0;
  std::int64_t begin_ns = 0;
  std::int64_t latency_ns = 0;  // as far as it is on the path
  std::int64_t busy_ns = 0;     // transfer or work, likewise
  AlgoCause cause = AlgoCause::kStart;
};

/// What one rank sends or receives over links of one class.
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
  std::uint64_t rounds = 1;  // how often all steps are done
  std::uint64_t messages = 0;
  std::vector<AlgoPathPart> path;       // from the begin to the end
  std::optional<AlgoPortLoad> busiest;  // the port that is busy longest
};

/// More steps, counted once for each round, are refused.
inline constexpr std::uint64_t kMaxTimedSteps = 2'000'000;

/// Times `algorithm`, which completes with `options.slots`; a cluster has all its ranks. Nothing
/// where it does not complete, where no link joins two ranks that talk, or where times leave 64
/// bits; `why` then says which. Throws std::length_error where the message takes too many rounds.
std::optional<AlgoTiming> time_algorithm(const CollectiveAlgorithm& algorithm,
                                         const Cluster& cluster, const AlgoTimingOptions& options,
                                         std::string& why);

/// A cluster for `ranks` ranks with the usual links (known_links()): hosts of 8 devices, or one
/// host where they fit.
Cluster usual_cluster(std::uint32_t ranks);

/// Links at their usual latency, which is that of NCCL's protocol Simple, get that of `protocol`:
/// NVIDIA/nccl b6475625fb, src/graph/tuning.cc, `hwLat` of the ring.
void set_protocol_latencies(Cluster& cluster, AlgoProtocol protocol);

/// Bytes that a message of `bytes` moves: LL sends a flag of 4 bytes with each 4 bytes of data,
/// LL128 one of 8 with each 120.
std::uint64_t bytes_with_flags(std::uint64_t bytes, AlgoProtocol protocol);

/// The factor from bytes per second of the message to bytes per second of each link, as a fraction
/// (NVIDIA/nccl-tests, doc/PERFORMANCE.md, "bus bandwidth"): 2(n-1)/n of an all-reduce, (n-1)/n of
/// an all-gather, reduce-scatter and all-to-all. Nothing for other collectives.
std::optional<double> bus_bandwidth_factor(const CollectiveAlgorithm& algorithm);

}  // namespace pipesim::models
