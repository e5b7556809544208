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
#include "models/graph/fields.hpp"
#include "models/graph/rank_set.hpp"

namespace pipesim::models {

/// The death of ranks, or the failure of their devices.
struct RankFault {
  Place place;
  RankSet ranks;
  std::string what;                // cause: "segfault", "illegal memory access"
  bool device_error = false;       // whether the op ends in an error, which surfaces later
  Boxed<Expr> at;                  // time in ns; empty: the fault strikes at the op below
  std::uint32_t actor = kNoIndex;  // index in TaskGraph::actors
  std::uint32_t op = 0;            // number of the op, from 0

  friend bool operator==(const RankFault&, const RankFault&) = default;
};

template <>
inline constexpr Field<RankFault> kFields<RankFault>[] = {
    {"rank", by_hand(models::ranks(&RankFault::ranks)), "The ranks"},
    {"dies", by_hand(text(&RankFault::what, "value")),
     "What they die of: `segfault`. Messages that were sent still arrive; ops that run never end"},
    {"fails", by_hand<RankFault>("value"),
     "Device error in which `act` ends. Nothing runs on the rank's streams any more; the rank dies "
     "when its host next launches something or waits for the device"},
    {"at", by_hand(time_by_rank(&RankFault::at)), "When they die"},
    {"act", by_hand(ref(&RankFault::actor, To::kActor, "op_number")),
     "Op instead of whose launch they die, or that fails: `forward#3`"},
};
static_assert(describes_all<RankFault>(3), "all members but place, device_error and op have a row");

/// A class of links that is down or slow, between two given hosts or between all pairs of hosts.
struct LinkFault {
  Place place;
  std::uint32_t link = kNoIndex;  // index in Cluster::links
  std::optional<std::pair<std::uint32_t, std::uint32_t>> hosts;
  std::int64_t down_ns = 0;  // start of the outage
  std::int64_t retry_ns = 0;
  std::int64_t slower = 0;  // slowdown factor; 0: the link is down

  friend bool operator==(const LinkFault&, const LinkFault&) = default;
};

/// The maximum factor by which a fault slows a link.
inline constexpr Integer kSlower = "integer 1..1000000";

template <>
inline constexpr Field<LinkFault> kFields<LinkFault>[] = {
    {"link", ref(&LinkFault::link, To::kLink, "link"), "Link class"},
    {"hosts", by_hand<LinkFault>("[host]2"), "Only between these two hosts", "everywhere"},
    {"down", time(&LinkFault::down_ns), "From then on, nothing gets through"},
    {"retry", time(&LinkFault::retry_ns), "After this time, whoever uses the link has an error"},
    {"slower", integer(&LinkFault::slower, kSlower),
     "The link is this many times slower, all the time"},
};
static_assert(describes_all<LinkFault>(2), "all members but place and hosts have a row");

/// A blocked port: processes on other hosts cannot connect to it.
struct PortFault {
  Place place;
  std::int64_t port = 0;
  std::uint32_t host = kNoIndex;

  friend bool operator==(const PortFault&, const PortFault&) = default;
};

template <>
inline constexpr Field<PortFault> kFields<PortFault>[] = {
    {"port", integer(&PortFault::port, "integer 1..65535"),
     "Port that ranks on other hosts cannot reach"},
    {"closed_on", ref(&PortFault::host, To::kHost, "host"), "Host of the port", kRequired},
};
static_assert(describes_all<PortFault>(1), "all members but place have a row");

/// A lack of permission: on one host, the ranks of a communicator cannot read each other's memory
/// to move data.
///
/// Cross-memory attach (process_vm_readv) needs ptrace rights, which Yama's ptrace_scope 1 denies
/// to siblings: openucx/ucx#3046, open-mpi/ompi#10694, pytorch/tensorpipe#188.
struct DeniedFault {
  Place place;
  std::uint32_t communicator = kNoIndex;  // index in TaskGraph::communicators
  std::string what;
  std::int64_t slower = 0;  // slowdown factor of the fallback; 0: no fallback, readers die

  friend bool operator==(const DeniedFault&, const DeniedFault&) = default;
};

template <>
inline constexpr Field<DeniedFault> kFields<DeniedFault>[] = {
    {"communicator", ref(&DeniedFault::communicator, To::kCommunicator),
     "Communicator that moves data by reading the memory of ranks on the same host"},
    {"denied", text(&DeniedFault::what, "value"),
     "Error of the operating system with which readers die", kRequired},
    {"slower", integer(&DeniedFault::slower, kSlower),
     "Readers do not die, but fall back to something this many times slower"},
};
static_assert(describes_all<DeniedFault>(1), "all members but place have a row");

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
  std::int64_t heartbeat_ns = 0;   // half the limit for hosts that load a kernel
  std::int64_t store_ns = 0;       // limit for host waits: keys, communicator init, host calls
  std::int64_t launcher_ns = 0;    // delay from a death until the launcher kills the other ranks
  bool launcher_ends_job = false;  // whether the launcher kills all ranks, not only its host's

  friend bool operator==(const TimeoutRules&, const TimeoutRules&) = default;
};

template <>
inline constexpr Field<TimeoutRules> kFields<TimeoutRules>[] = {
    {"watchdog", timeout(&TimeoutRules::watchdog_ns),
     "A call on a device that is not done this long after its launch kills its rank (PyTorch's "
     "process group timeout)",
     "none"},
    {"poll", timeout(&TimeoutRules::poll_ns), "The watchdog looks at multiples of it"},
    {"heartbeat", timeout(&TimeoutRules::heartbeat_ns),
     "A host that is in a `load` twice this long dies, because its watchdog stands still "
     "(`TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC`, 480 s)",
     "none"},
    {"store", timeout(&TimeoutRules::store_ns),
     "Timeout of `get`, of calls by the host, and of the initialization of communicators", "none"},
    {"launcher", timeout(&TimeoutRules::launcher_ns),
     "This long after a death, the launcher ends the others", "none"},
    {"launcher_ends", words<&TimeoutRules::launcher_ends_job>("'host'|'job'"),
     "Ranks that it ends: those of the host (torchrun) or of the whole job (mpirun, srun "
     "--kill-on-bad-exit)",
     "`host`"},
    {"about", for_people<TimeoutRules>(), "For people"},
};
static_assert(describes_all<TimeoutRules>(0), "each member has a row");

}  // namespace pipesim::models
