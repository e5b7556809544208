// The cluster that a job runs on: hosts, devices, the place of each rank, and the links between
// ranks. models/lowering/cost.hpp derives the times of calls from the cluster.
//
// Links are classes: all NVLinks of a cluster are one entry with one latency and one bandwidth.
// Each pair of ranks has a separate link, which concurrent transfers of other ranks do not slow
// down.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/fields.hpp"

namespace pipesim::models {

/// The pattern in which the members of a group pass data on, see models/lowering/cost.hpp.
enum class Algorithm : std::uint8_t { kRing, kTree, kDirect };

/// The names of the algorithms, in order.
inline constexpr std::string_view kAlgorithms = "'ring'|'tree'|'direct'";

/// Returns the algorithm called `name` (ring, tree, direct), or nullopt.
std::optional<Algorithm> find_algorithm(std::string_view name);

/// A class of link. A send of s bytes takes latency + s / bandwidth.
struct LinkClass {
  std::string name;
  std::int64_t latency_ns = 0;
  std::int64_t bytes_per_second = 1;  // bandwidth in one direction; at least 1

  friend bool operator==(const LinkClass&, const LinkClass&) = default;
};

template <>
inline constexpr Field<LinkClass> kFields<LinkClass>[] = {
    {"latency", time(&LinkClass::latency_ns), "Time of a message of no size"},
    {"bandwidth", bandwidth(&LinkClass::bytes_per_second), "Bytes per second in one direction"},
};
static_assert(describes_all<LinkClass>(1), "all members but the name have a row");

/// Returns all link classes, with their default figures.
///
/// The latencies are NCCL's for a ring with the protocol Simple (NVIDIA/nccl b6475625fb,
/// src/graph/tuning.cc, `hwLat`). The bandwidths are NCCL's assumptions (069a3d4f95,
/// src/graph/topo.h): device LOC_BW; nvlink 18 links of SM90_NVLINK_BW, an H100; pcie twice PCI_BW
/// (Gen3 x16), so Gen4 x16; shared_memory SRP_QPI_BW, the path to another socket; infiniband four
/// times NET_BW (100 Gb/s), so NDR; ethernet a tenth of NET_BW, 10 GbE.
/// The latency of ethernet (TCP) has no source: it is an assumption.
const std::array<LinkClass, 6>& known_links();

/// Returns the names of known_links().
std::vector<std::string> link_names();

/// A network interface that every host has.
struct NetworkInterface {
  std::string name;                   // name, for example eth0
  std::optional<std::uint32_t> link;  // link class, an index in Cluster::links; empty: none

  friend bool operator==(const NetworkInterface&, const NetworkInterface&) = default;
};

/// The hosts, devices and links of a job. Plain data: its creator ensures that every rank has a
/// host and that indices are in range.
struct Cluster {
  std::vector<std::string> hosts;  // names of the hosts
  std::uint32_t devices = 1;       // number of devices per host
  std::vector<std::uint32_t> host_of_rank;
  std::vector<std::uint32_t> device_of_rank;  // device index within the host
  std::vector<LinkClass> links;
  std::optional<std::uint32_t> device_link;  // link inside a device: index in links
  std::vector<std::uint32_t> inside_host;    // links within a host, as indices in links
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

  /// Returns the index in `links` of the link between ranks `a` and `b`; nullopt if no link joins
  /// them. Ranks of one device use `device_link`, if set; all others use the first link of
  /// `inside_host` or `between_hosts`. If `over` is not empty, only the links in `over` and
  /// `device_link` are allowed.
  std::optional<std::uint32_t> path(std::uint32_t a, std::uint32_t b,
                                    const std::vector<std::uint32_t>& over = {}) const;

  friend bool operator==(const Cluster&, const Cluster&) = default;
};

}  // namespace pipesim::models
