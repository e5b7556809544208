// The cluster that a job runs on: hosts, their devices, where each rank sits, and the links that
// join ranks. Times of collectives and messages follow from it, see models/lowering/cost.hpp.
//
// Links are classes: all NVLinks of a cluster are one entry with one latency and one bandwidth.
// Each pair of ranks has its link to itself: what others send at the same time slows nothing down.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::models {

/// How the members of a group pass data on, see models/lowering/cost.hpp.
enum class Algorithm : std::uint8_t { kRing, kTree, kDirect };

/// The algorithm of this name (ring, tree, direct).
std::optional<Algorithm> find_algorithm(std::string_view name);

/// A sort of link, with what one message finds: the time of s bytes is latency + s / bandwidth.
struct LinkClass {
  std::string name;
  std::int64_t latency_ns = 0;
  std::int64_t bytes_per_second = 1;  // of one direction; at least 1

  friend bool operator==(const LinkClass&, const LinkClass&) = default;
};

/// All sorts of link there are, with the figures that hold where a scenario gives none.
///
/// Latencies are those of NCCL's ring with the protocol Simple (NVIDIA/nccl b6475625fb,
/// src/graph/tuning.cc, `hwLat`), bandwidths those that NCCL counts with (069a3d4f95,
/// src/graph/topo.h): device LOC_BW; nvlink 18 links of SM90_NVLINK_BW, an H100; pcie twice PCI_BW,
/// which is Gen3 x16, so Gen4 x16; shared_memory SRP_QPI_BW, the way to another socket;
/// infiniband four times NET_BW, which is 100 Gb/s, so NDR; ethernet a tenth of it, 10 GbE.
/// The latency of ethernet (TCP) has no source: it is an assumption.
const std::array<LinkClass, 6>& known_links();

/// The names of known_links().
std::vector<std::string> link_names();

/// A network interface, which every host has.
struct NetworkInterface {
  std::string name;                   // eth0
  std::optional<std::uint32_t> link;  // index in Cluster::links; nothing: it leads nowhere

  friend bool operator==(const NetworkInterface&, const NetworkInterface&) = default;
};

/// Plain data, checked by who makes it: every rank has a host, indices are in range.
struct Cluster {
  std::vector<std::string> hosts;  // names
  std::uint32_t devices = 1;       // of each host
  std::vector<std::uint32_t> host_of_rank;
  std::vector<std::uint32_t> device_of_rank;  // counted on its host
  std::vector<LinkClass> links;
  std::optional<std::uint32_t> device_link;  // index in links: what stays inside a device
  std::vector<std::uint32_t> inside_host;    // indices in links, the first is used
  std::vector<std::uint32_t> between_hosts;
  Algorithm algorithm = Algorithm::kRing;
  std::vector<NetworkInterface> interfaces;

  const std::string& host_name(std::uint32_t host) const { return hosts[host]; }

  bool same_host(std::uint32_t a, std::uint32_t b) const {
    return host_of_rank[a] == host_of_rank[b];
  }
  bool same_device(std::uint32_t a, std::uint32_t b) const {
    return same_host(a, b) && device_of_rank[a] == device_of_rank[b];
  }

  /// What ranks `a` and `b` talk over: an index in `links`. Ranks of one device use `device_link`,
  /// if there is one; else the first of the list for ranks of one host, or of different ones. Where
  /// `over` is not empty, only links in it are used, and `device_link`. Nothing: no link joins
  /// them.
  std::optional<std::uint32_t> path(std::uint32_t a, std::uint32_t b,
                                    const std::vector<std::uint32_t>& over = {}) const;

  friend bool operator==(const Cluster&, const Cluster&) = default;
};

}  // namespace pipesim::models
