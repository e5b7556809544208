// Times of collectives and of sends on a cluster.
//
// The latency-bandwidth model (Hockney, "The communication challenge for MPP: Intel Paragon and
// Meiko CS-2", Parallel Computing 20, 1994): a message of s bytes takes a + s/B, with the latency a
// and the bandwidth B of its link. Collectives follow Thakur, Rabenseifner and Gropp, "Optimization
// of Collective Communication Operations in MPICH" (IJHPCA 19, 2005), whose formulas are also in
// the sources of MPICH (pmodels/mpich, src/mpi/coll/<operation>/), and NCCL (NVIDIA/nccl,
// src/graph/tuning.cc; the factors of NVIDIA/nccl-tests, doc/PERFORMANCE.md).
//
// n is the number of members, s the bytes (first column), B the bandwidth of the slowest link. The
// computation of a reduction takes no time.
//
//                  bytes s               ring            tree                  direct
//   all_reduce     input of each rank    2R  2(n-1)s/n   2 lg n  2s            2  2(n-1)s/n
//   all_gather     input of each rank     R  (n-1)s        lg n  (n-1)s        1  (n-1)s
//   reduce_scatter input of each rank     R  (n-1)s/n      lg n  (n-1)s/n      1  (n-1)s/n
//   broadcast      input of the root      R  s             lg n  s             1  (n-1)s
//   reduce         input of each rank     R  s             lg n  s             1  (n-1)s
//   gather         input of each rank     R  (n-1)s        lg n  (n-1)s        1  (n-1)s
//   scatter        input of the root      R  (n-1)s/n      lg n  (n-1)s/n      1  (n-1)s/n
//   all_to_all     input of each rank     n-1 (n-1)s/n     lg n  P(n)s/n       1  (n-1)s/n
//   barrier        like an all_reduce of 0 bytes
//
// Each algorithm has two columns: the number of latencies, and the bytes that cross the slowest
// link. A number or lg n (rounded up) counts latencies of the slowest link between any two members.
// R is the latency once around the ring of members in order: the sum of all hops except the
// fastest, because data make one hop less than the ring has. (With equal links, R is n-1 latencies.
// NCCL adds up the hops inside and between hosts in the same way.) P(n) is the number of 1 bits in
// 1 ... n-1: the blocks that Bruck's algorithm sends.
//
// Ring: broadcast and reduce are pipelined chains, in the limit of small pieces; all_to_all is the
// pairwise exchange of MPICH and NCCL, which does not use a ring. Tree: broadcast, reduce and
// all_reduce are pipelined over two trees, so they use the full bandwidth (Sanders, Speck and
// Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and scan", Parallel
// Computing 35, 2009; NCCL also halves the bandwidth of an all_reduce). The other operations use
// binomial trees, recursive doubling and Bruck's algorithms. Direct: each member sends to all
// others at once, through one port; all_reduce takes two steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/cluster.hpp"
#include "models/graph/operation.hpp"

namespace pipesim::models {

/// The properties of the links between the members of a collective.
struct Route {
  std::uint32_t members = 1;
  std::int64_t ring_ns = 0;                // R above
  std::int64_t ring_bytes_per_second = 1;  // bandwidth of the slowest hop
  std::int64_t any_ns = 0;                 // latency of the slowest link between any two members
  std::int64_t any_bytes_per_second = 1;
};

/// Returns the route of `members`, whose order is the ring's. If no link joins two of the members,
/// returns nullopt and sets `why`. For one member, uses the latency of the device link, if there is
/// one.
std::optional<Route> route(const Cluster& cluster, const std::vector<std::uint32_t>& members,
                           const std::vector<std::uint32_t>& over = {}, std::string* why = nullptr);

/// Returns the duration of the collective `operation` in nanoseconds, rounded up once at the end;
/// nullopt if it overflows 64 bits. `bytes` is not negative.
std::optional<std::int64_t> collective_time(Operation operation, Algorithm algorithm,
                                            std::int64_t bytes, const Route& route);

/// The two parts of the duration of a send, in nanoseconds.
struct MessageTime {
  std::int64_t latency_ns = 0;
  std::int64_t transfer_ns = 0;  // bytes / bandwidth, rounded up
};

/// Returns the duration of a send from rank `from` to rank `to`. If no link joins the ranks, or the
/// time overflows 64 bits, returns nullopt and sets `why`. A send from a rank to itself takes no
/// time without a device_link.
std::optional<MessageTime> message_time(const Cluster& cluster, std::uint32_t from,
                                        std::uint32_t to, std::int64_t bytes,
                                        const std::vector<std::uint32_t>& over = {},
                                        std::string* why = nullptr);

}  // namespace pipesim::models
