// Faults of a run and the timeouts that detect them: templates, as users write them.
//
// docs/reference/rules.md, section 10, defines their effect on the engine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/expr.hpp"
#include "models/graph/rank_set.hpp"

namespace pipesim::models {

/// The death of ranks, or the failure of their devices.
struct RankFault {
  Place place;
  RankSet ranks;
  std::string what;           // cause: "segfault", "illegal memory access"
  bool device_error = false;  // whether the op ends in an error, which surfaces later
  std::optional<Expr> at;     // time in ns; empty: the fault strikes at the op below
  std::uint32_t actor = 0;    // index in TaskGraph::actors
  std::uint32_t op = 0;       // number of the op, from 0

  friend bool operator==(const RankFault&, const RankFault&) = default;
};

/// A class of links that is down or slow, between two given hosts or between all pairs of hosts.
struct LinkFault {
  Place place;
  std::uint32_t link = 0;  // index in Cluster::links
  std::optional<std::pair<std::uint32_t, std::uint32_t>> hosts;
  std::int64_t down_ns = 0;  // start of the outage
  std::int64_t retry_ns = 0;
  std::int64_t slower = 0;  // slowdown factor; 0: the link is down

  friend bool operator==(const LinkFault&, const LinkFault&) = default;
};

/// A blocked port: processes on other hosts cannot connect to it.
struct PortFault {
  Place place;
  std::int64_t port = 0;
  std::uint32_t host = 0;

  friend bool operator==(const PortFault&, const PortFault&) = default;
};

/// A lack of permission: the ranks of a communicator cannot read each other's memory within a host,
/// which they do to move data.
///
/// Cross-memory attach (process_vm_readv) needs ptrace rights, which Yama's ptrace_scope 1 denies
/// to siblings: openucx/ucx#3046, open-mpi/ompi#10694, pytorch/tensorpipe#188.
struct DeniedFault {
  Place place;
  std::uint32_t communicator = 0;  // index in TaskGraph::communicators
  std::string what;
  std::int64_t slower = 0;  // slowdown factor of the fallback; 0: no fallback, readers die

  friend bool operator==(const DeniedFault&, const DeniedFault&) = default;
};

struct Faults {
  std::vector<RankFault> ranks;
  std::vector<LinkFault> links;
  std::vector<PortFault> ports;
  std::vector<DeniedFault> denied;

  friend bool operator==(const Faults&, const Faults&) = default;
};

/// The timeouts of the runtime; 0: none.
struct TimeoutRules {
  std::int64_t watchdog_ns = 0;    // limit for calls on devices, from their launch
  std::int64_t poll_ns = 0;        // interval at which the watchdog checks
  std::int64_t heartbeat_ns = 0;   // limit for hosts that connect at first use
  std::int64_t store_ns = 0;       // limit for host waits: keys, communicator init, host calls
  std::int64_t launcher_ns = 0;    // delay from a death until the launcher kills the other ranks
  bool launcher_ends_job = false;  // whether the launcher kills all ranks, not only its host's

  friend bool operator==(const TimeoutRules&, const TimeoutRules&) = default;
};

}  // namespace pipesim::models
