#include "models/graph/cluster.hpp"

#include <algorithm>

namespace pipesim::models {

std::optional<Algorithm> find_algorithm(std::string_view name) {
  if (name == "ring") return Algorithm::kRing;
  if (name == "tree") return Algorithm::kTree;
  if (name == "direct") return Algorithm::kDirect;
  return std::nullopt;
}

const std::array<LinkClass, 6>& known_links() {
  static const std::array<LinkClass, 6> kLinks = {{
      {"device", 0, 5'000'000'000'000},
      {"nvlink", 3'400, 370'800'000'000},
      {"pcie", 5'700, 24'000'000'000},
      {"shared_memory", 5'700, 22'000'000'000},
      {"infiniband", 14'000, 48'000'000'000},
      {"ethernet", 30'000, 1'200'000'000},
  }};
  return kLinks;
}

std::vector<std::string> link_names() {
  std::vector<std::string> names;
  for (const LinkClass& link : known_links()) names.push_back(link.name);
  return names;
}

std::optional<std::uint32_t> Cluster::path(std::uint32_t a, std::uint32_t b,
                                           const std::vector<std::uint32_t>& over) const {
  if (same_device(a, b) && device_link) return device_link;
  for (const std::uint32_t link : same_host(a, b) ? inside_host : between_hosts) {
    if (over.empty() || std::find(over.begin(), over.end(), link) != over.end()) return link;
  }
  return std::nullopt;
}

}  // namespace pipesim::models
