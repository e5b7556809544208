// The buffers of NCCL's transports: how much of a message fits, so that its send ends without its
// receive.
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// How a communicator sends: what NCCL decides when it makes it.
struct Transport {
  std::int64_t chunk = 0;  // bytes of a step
  std::int64_t channels = 1;
  std::int64_t channels_per_peer = 1;
  bool several_hosts = false;
};

/// Of the communicator of `members`: one NVLink domain, PCIe, or several hosts. Without a cluster,
/// one NVLink domain. Source: NCCL 2.30.7, src/init.cc (computeBuffSizes, p2p channels) and
/// src/graph/paths.cc (ncclTopoComputeP2pChannels).
Transport transport_of(const TaskGraph& graph, const CommunicatorTemplate& communicator,
                       const std::vector<std::uint32_t>& members);

/// The steps that a message of `bytes` (at least 0) takes of the 8 of its connection, between two
/// of `ranks`; `over_network`: of different hosts. 0: more than there are. Source: NCCL 2.30.7,
/// src/enqueue.cc (addP2pToPlan).
std::uint8_t buffer_steps(const Transport& transport, std::int64_t bytes, std::int64_t ranks,
                          bool over_network);

/// Whether `call` of `rank`, a send made from `from`, waits for its receive because its buffer is
/// registered, and for nothing else.
bool waits_as_registered(const TaskGraph& graph, const CallTemplate& from, const sim::Call& call,
                         std::uint32_t rank);

/// The same as buffer_steps() of a broadcast or reduce of `bytes`, of the buffers between neighbors
/// in the ring: one for each channel of 8 * 512 KiB. Source: src/device/broadcast.h, reduce.h;
/// read, not measured.
std::uint8_t ring_steps(const Transport& transport, std::int64_t bytes);

}  // namespace pipesim::models
