#include "models/lowering/fault_lowering.hpp"

#include <algorithm>
#include <utility>

namespace pipesim::models {

using sim::LinkId;

const CommunicatorTemplate* FaultLowering::named(std::uint32_t communicator) const {
  return communicator == kNoIndex ? nullptr : &graph_.communicators[communicator];
}

std::uint32_t FaultLowering::interface_of(std::uint32_t communicator) const {
  const CommunicatorTemplate* const from = named(communicator);
  const bool own = from != nullptr && from->init.interface != kNoIndex;
  return own ? from->init.interface : graph_.init.interface;
}

// Returns the link class between two ranks, an index in Cluster::links. Between hosts, host calls
// use the network interface, if one is named.
std::uint32_t FaultLowering::link_class(std::uint32_t communicator, std::uint32_t a,
                                        std::uint32_t b) const {
  if (!graph_.cluster) return kNoIndex;
  const Cluster& cluster = *graph_.cluster;
  const CommunicatorTemplate* const from = named(communicator);
  const std::uint32_t interface = interface_of(communicator);
  if (from != nullptr && from->on_host && interface != kNoIndex && !cluster.same_host(a, b)) {
    return cluster.interfaces[interface].link.value_or(kNoIndex);
  }
  return cluster.path(a, b, from == nullptr ? std::vector<std::uint32_t>() : from->over)
      .value_or(kNoIndex);
}

bool FaultLowering::affects(const LinkFault& fault, std::uint32_t a, std::uint32_t b) const {
  if (!fault.hosts) return true;
  const std::uint32_t first = graph_.cluster->host_of_rank[a];
  const std::uint32_t second = graph_.cluster->host_of_rank[b];
  return std::pair(first, second) == *fault.hosts || std::pair(second, first) == *fault.hosts;
}

LinkId FaultLowering::make(std::uint32_t a, std::uint32_t b, std::int64_t down_ns,
                           std::int64_t retry_ns, std::string name) {
  const auto [known, is_new] = links_.try_emplace({a, b, name});
  if (!is_new) return known->second;
  known->second = builder_.add_link({sim::RankId{a}, sim::RankId{b}, {down_ns}, {retry_ns}});
  names_.push_back(std::move(name));
  return known->second;
}

LinkId FaultLowering::down_link(std::uint32_t link, std::uint32_t a, std::uint32_t b) {
  if (link == kNoIndex || a == b) return {};
  for (const LinkFault& fault : graph_.faults.links) {
    if (fault.link != link || fault.slower > 0 || !affects(fault, a, b)) continue;
    const Cluster& cluster = *graph_.cluster;
    const std::string& first = cluster.host_name(cluster.host_of_rank[a]);
    const std::string& second = cluster.host_name(cluster.host_of_rank[b]);
    const std::string where =
        first == second ? " of " + first : " between " + first + " and " + second;
    return make(a, b, fault.down_ns, fault.retry_ns,
                cluster.links[link].name + where + ", which is down");
  }
  return {};
}

LinkId FaultLowering::arrival_link(std::uint32_t communicator, std::uint32_t rank,
                                   std::uint32_t root) {
  if (!graph_.cluster || graph_.cluster->same_host(rank, root)) return {};
  const Cluster& cluster = *graph_.cluster;
  const CommunicatorTemplate* const from = named(communicator);
  const std::uint32_t host = cluster.host_of_rank[root];
  const std::uint32_t interface = interface_of(communicator);
  if (interface != kNoIndex) {
    const NetworkInterface& used = cluster.interfaces[interface];
    if (!used.link) {
      return make(rank, root, 0, 0, "interface " + used.name + ", which leads nowhere");
    }
    const LinkId down = down_link(*used.link, rank, root);
    if (down.valid()) return down;
  }
  for (const PortFault& fault : graph_.faults.ports) {
    if (from == nullptr || fault.port != from->port || fault.host != host) continue;
    return make(rank, root, 0, 0,
                "port " + std::to_string(fault.port) + " of " + cluster.host_name(host) +
                    ", which is closed");
  }
  return {};
}

void FaultLowering::set_up(sim::CommunicatorId id, std::uint32_t communicator,
                           const std::vector<std::uint32_t>& members) {
  const CommunicatorTemplate* const from = named(communicator);
  const TimeoutRules& timeouts = graph_.timeouts;
  sim::CommunicatorFaults faults;
  const bool on_host = from != nullptr && from->on_host;
  faults.timeout = {on_host ? timeouts.store_ns : timeouts.watchdog_ns};
  faults.init_timeout = {timeouts.store_ns};
  if (from != nullptr && from->timeout_ns) {
    faults.timeout = faults.init_timeout = {*from->timeout_ns};
  }
  const std::size_t neighbours = graph_.faults.links.empty() ? 0 : members.size();
  for (std::size_t i = 0; i < neighbours && !faults.link.valid(); ++i) {
    const std::uint32_t next = members[(i + 1) % members.size()];
    faults.link = down_link(link_class(communicator, members[i], next), members[i], next);
  }
  std::vector<std::uint32_t> ranks = members;
  std::sort(ranks.begin(), ranks.end());
  for (const std::uint32_t rank : ranks) {
    faults.arrival_links.push_back(arrival_link(communicator, rank, members.front()));
  }
  builder_.set_communicator_faults(id, faults);
}

LinkId FaultLowering::link_of_message(std::uint32_t communicator, std::uint32_t a,
                                      std::uint32_t b) {
  if (graph_.faults.links.empty()) return {};
  return down_link(link_class(communicator, a, b), a, b);
}

std::int64_t FaultLowering::slower(std::uint32_t communicator, std::uint32_t a,
                                   std::uint32_t b) const {
  std::int64_t most = 1;
  if (graph_.faults.links.empty() && graph_.faults.denied.empty()) return most;
  const std::uint32_t link = link_class(communicator, a, b);
  for (const LinkFault& fault : graph_.faults.links) {
    if (fault.link == link && affects(fault, a, b)) most = std::max(most, fault.slower);
  }
  const bool one_host = !graph_.cluster || graph_.cluster->same_host(a, b);
  for (const DeniedFault& fault : graph_.faults.denied) {
    if (one_host && fault.communicator == communicator) most = std::max(most, fault.slower);
  }
  return most;
}

std::int64_t FaultLowering::slower(std::uint32_t communicator,
                                   const std::vector<std::uint32_t>& members) const {
  std::int64_t most = 1;
  if (graph_.faults.links.empty() && graph_.faults.denied.empty()) return most;
  for (std::size_t i = 0; i < members.size(); ++i) {
    most = std::max(most, slower(communicator, members[i], members[(i + 1) % members.size()]));
  }
  return most;
}

// Whether `rank` dies as a reader. The readers are: the rank of a recv; all ranks except the root
// of a broadcast or scatter; the root of a reduce or gather; no rank of a barrier; all ranks of the
// other collectives.
bool FaultLowering::dies_reading(const CallTemplate& call, std::uint32_t rank,
                                 const std::vector<std::uint32_t>& members,
                                 const sim::CallSpec& spec) const {
  const auto denied = [&](const DeniedFault& fault) {
    return fault.slower == 0 && fault.communicator == call.communicator;
  };
  if (std::none_of(graph_.faults.denied.begin(), graph_.faults.denied.end(), denied)) return false;
  const auto one_host = [&](std::uint32_t other) {
    return other != rank && (!graph_.cluster || graph_.cluster->same_host(other, rank));
  };
  if (call.kind == sim::CallKind::kSend || call.operation == Operation::kBarrier) return false;
  if (call.kind == sim::CallKind::kReceive) {
    return spec.peer.valid() && one_host(spec.peer.value);
  }
  const bool is_root = spec.signature.root == rank;
  if (call.operation == Operation::kBroadcast || call.operation == Operation::kScatter) {
    return !is_root && one_host(spec.signature.root);
  }
  if (!is_root && has_root(call.operation)) return false;  // reduce, gather
  return std::any_of(members.begin(), members.end(), one_host);
}

void FaultLowering::set_timeouts() {
  const TimeoutRules& rules = graph_.timeouts;
  if (rules.poll_ns == 0 && rules.launcher_ns == 0) return;
  sim::Timeouts timeouts;
  timeouts.poll = {rules.poll_ns};
  timeouts.launcher = {rules.launcher_ns};
  timeouts.host.assign(graph_.ranks, 0);
  if (graph_.cluster && !rules.launcher_ends_job) timeouts.host = graph_.cluster->host_of_rank;
  builder_.set_timeouts(std::move(timeouts));
}

}  // namespace pipesim::models
