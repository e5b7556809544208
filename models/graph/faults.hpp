// What goes wrong in a run, and the guards that notice: templates, as people write them.
//
// What the engine does with them is docs/reference/rules.md, section 10.
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

/// Ranks die, or their devices fail.
struct RankFault {
  Place place;
  RankSet ranks;
  std::string what;           // "segfault", "illegal memory access"
  bool device_error = false;  // the act ends in an error, which surfaces later
  std::optional<Expr> at;     // ns; a time, or else an act:
  std::uint32_t actor = 0;    // index in TaskGraph::actors
  std::uint32_t act = 0;      // from 0

  friend bool operator==(const RankFault&, const RankFault&) = default;
};

/// A class of links is down, or slow, between two hosts or between any two.
struct LinkFault {
  Place place;
  std::uint32_t link = 0;  // index in Cluster::links
  std::optional<std::pair<std::uint32_t, std::uint32_t>> hosts;
  std::int64_t down_ns = 0;  // from then on
  std::int64_t retry_ns = 0;
  std::int64_t slower = 0;  // so many times; 0: it is down

  friend bool operator==(const LinkFault&, const LinkFault&) = default;
};

/// Other hosts cannot reach a port of a host.
struct PortFault {
  Place place;
  std::int64_t port = 0;
  std::uint32_t host = 0;

  friend bool operator==(const PortFault&, const PortFault&) = default;
};

/// Ranks of one host may not read each other's memory, which is how a communicator moves data.
///
/// Cross-memory attach (process_vm_readv) needs ptrace rights, which Yama's ptrace_scope 1 denies
/// to siblings: openucx/ucx#3046, open-mpi/ompi#10694, pytorch/tensorpipe#188.
struct DeniedFault {
  Place place;
  std::uint32_t communicator = 0;  // index in TaskGraph::communicators
  std::string what;
  std::int64_t slower = 0;  // falls back to something so many times slower; 0: readers die

  friend bool operator==(const DeniedFault&, const DeniedFault&) = default;
};

struct Faults {
  std::vector<RankFault> ranks;
  std::vector<LinkFault> links;
  std::vector<PortFault> ports;
  std::vector<DeniedFault> denied;

  friend bool operator==(const Faults&, const Faults&) = default;
};

/// The timers of the runtime; 0: there is none.
struct GuardRules {
  std::int64_t watchdog_ns = 0;    // of calls on devices, from their launch
  std::int64_t poll_ns = 0;        // the watchdog looks at multiples of it
  std::int64_t heartbeat_ns = 0;   // of hosts that connect at first use
  std::int64_t store_ns = 0;       // of what hosts wait for: keys, creation, calls done by hosts
  std::int64_t launcher_ns = 0;    // after a death, until the launcher ends the others
  bool launcher_ends_job = false;  // all ranks, not only those of the host

  friend bool operator==(const GuardRules&, const GuardRules&) = default;
};

}  // namespace pipesim::models
