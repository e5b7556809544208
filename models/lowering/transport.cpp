#include "models/lowering/transport.hpp"

#include <algorithm>

#include "models/graph/cluster.hpp"

namespace pipesim::models {
namespace {

constexpr std::int64_t kNvlinkChunk = 512 << 10;
constexpr std::int64_t kChunk = 128 << 10;
constexpr std::int64_t kNvlinkChannels = 32;  // an H100 with NVSwitch
constexpr std::int64_t kPcieChannels = 2;
constexpr std::int64_t kNetworkChannels = 32;
constexpr std::int64_t kLlBytes = 16 << 10;  // maximum size per channel with the protocol LL
constexpr std::int64_t kBytesPerChannel = 14'000'000'000;  // bytes per second, over the network
constexpr std::int64_t kRanksPerHost = 8;  // NCCL's assumption, whatever the real number
constexpr std::int64_t kRingChannels = 16;
constexpr std::int64_t kRingStep = 512 << 10;
constexpr std::int64_t kChunksToHalve = 8;
// Chunks per channel on one host; a send with more is split over twice the channels.
constexpr std::int64_t kPartToDouble = 32;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

// Returns the maximum number of channels per peer. `rate` is in bytes per second.
std::int64_t channels_over_network(std::int64_t rate, std::int64_t ranks) {
  std::int64_t channels =
      std::clamp<std::int64_t>(ceil_div(rate, kBytesPerChannel), 1, kNetworkChannels);
  while (channels > 1 && channels * ceil_div(ranks, kRanksPerHost) > kNetworkChannels) {
    channels /= 2;
  }
  return channels;
}

// Returns the number of channels over which a send is split.
std::int64_t channels_of(const Transport& transport, std::int64_t bytes, std::int64_t ranks) {
  std::int64_t most = transport.channels_per_peer;
  while (most > 1 && most > transport.channels / ranks) most /= 2;
  const std::int64_t least_part = transport.chunk / (transport.several_hosts ? 2 : 8);
  const std::int64_t part_to_double =
      transport.several_hosts ? transport.chunk : kPartToDouble * transport.chunk;
  std::int64_t channels = std::clamp<std::int64_t>(ceil_div(bytes, least_part), 1, most);
  while (ceil_div(bytes, channels) > part_to_double &&
         channels <= transport.channels_per_peer / 2) {
    channels *= 2;
  }
  return channels;
}

}  // namespace

Transport transport_of(const TaskGraph& graph, const CommunicatorTemplate& communicator,
                       const std::vector<std::uint32_t>& members) {
  Transport transport{kNvlinkChunk, kNvlinkChannels, kNvlinkChannels};
  if (graph.cluster && !members.empty()) {
    const Cluster& cluster = *graph.cluster;
    const std::uint32_t first = members.front();
    const auto is_far = [&](std::uint32_t rank) { return !cluster.same_host(first, rank); };
    const auto far = std::find_if(members.begin(), members.end(), is_far);
    const std::uint32_t other = far != members.end() ? *far : members.back();
    const auto link = cluster.path(first, other, communicator.over);
    transport.several_hosts = far != members.end();
    if (transport.several_hosts) {
      const std::int64_t rate = link ? cluster.links[*link].bytes_per_second : 1;
      transport.chunk = kChunk;
      transport.channels = kNetworkChannels;
      transport.channels_per_peer =
          channels_over_network(rate, static_cast<std::int64_t>(members.size()));
    } else if (first != other && link && cluster.links[*link].name != "nvlink") {
      transport = {kChunk, kPcieChannels, kPcieChannels};
    }
  }
  transport.channels = communicator.p2p_channels.value_or(transport.channels);
  transport.channels_per_peer =
      communicator.p2p_channels_per_peer.value_or(transport.channels_per_peer);
  return transport;
}

std::uint8_t buffer_steps(const Transport& transport, std::int64_t bytes, std::int64_t ranks,
                          bool over_network) {
  const std::int64_t channels = channels_of(transport, bytes, ranks);
  if (!over_network && bytes <= channels * kLlBytes) return 1;
  const std::int64_t least_part = transport.chunk / (transport.several_hosts ? 2 : 8);
  const std::int64_t part = std::max(ceil_div(bytes, channels), least_part);
  std::int64_t chunk = transport.chunk;
  if (over_network && part < chunk) {
    chunk /= 4;
  } else if (over_network && part < kChunksToHalve * chunk) {
    chunk /= 2;
  }
  const std::int64_t steps = ceil_div(part, chunk);
  return steps > sim::kChannelSteps ? 0 : static_cast<std::uint8_t>(steps);
}

bool waits_as_registered(const TaskGraph& graph, const CallTemplate& from, const sim::Call& call,
                         std::uint32_t rank) {
  const CommunicatorTemplate& communicator = graph.communicators[from.communicator];
  const bool registered = from.registered || communicator.registered;
  const std::uint32_t peer = call.signature.root;
  if (!registered || communicator.on_host || peer == rank) return false;
  const Group& group = graph.groups[communicator.group];
  const auto& members = group.lists[group.list_of(rank)];
  const bool over_network = graph.cluster && !graph.cluster->same_host(rank, peer);
  return buffer_steps(transport_of(graph, communicator, members), call.signature.count,
                      static_cast<std::int64_t>(members.size()), over_network) > 0;
}

std::uint8_t ring_steps(const Transport& transport, std::int64_t bytes) {
  const std::int64_t channels = std::min(transport.channels, kRingChannels);
  const std::int64_t steps = std::max<std::int64_t>(1, ceil_div(bytes, channels * kRingStep));
  return steps > sim::kChannelSteps ? 0 : static_cast<std::uint8_t>(steps);
}

}  // namespace pipesim::models
