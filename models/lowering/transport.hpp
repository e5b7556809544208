// The buffers of NCCL's transports: they decide whether a send can complete without its recv.
#pragma once

#include <cstdint>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// NCCL's transport parameters of a communicator, fixed at its initialization.
struct Transport {
  std::int64_t chunk = 0;  // bytes per step
  std::int64_t channels = 1;
  std::int64_t channels_per_peer = 1;
  bool several_hosts = false;
};

/// Returns the transport of a communicator with `members`: one NVLink domain, PCIe, or several
/// hosts. Without a cluster, assumes one NVLink domain. Source: NCCL 2.30.7, src/init.cc
/// (computeBuffSizes, p2p channels) and src/graph/paths.cc (ncclTopoComputeP2pChannels).
Transport transport_of(const TaskGraph& graph, const CommunicatorTemplate& communicator,
                       const std::vector<std::uint32_t>& members);

/// Returns the buffer steps, of the 8 of its connection, that a send of `bytes` (at least 0) takes
/// in a communicator of `ranks` members; 0 if it does not fit. `over_network`: between hosts.
/// Source: NCCL 2.30.7, src/enqueue.cc (addP2pToPlan).
std::uint8_t buffer_steps(const Transport& transport, std::int64_t bytes, std::int64_t ranks,
                          bool over_network);

/// Whether `call` of `rank`, a send made from `from`, waits for its recv only because its buffer is
/// registered.
bool waits_as_registered(const TaskGraph& graph, const CallTemplate& from, const sim::Call& call,
                         std::uint32_t rank);

/// Returns the buffer steps that a broadcast or reduce of `bytes` takes between neighbors in the
/// ring, as buffer_steps() does; each channel has 8 * 512 KiB. Source: src/device/broadcast.h,
/// reduce.h; read, not measured.
std::uint8_t ring_steps(const Transport& transport, std::int64_t bytes);

}  // namespace pipesim::models
