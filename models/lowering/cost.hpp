// How long collectives and messages take on a cluster.
//
// The latency-bandwidth model (Hockney, "The communication challenge for MPP: Intel Paragon and
// Meiko CS-2", Parallel Computing 20, 1994): a message of s bytes takes a + s/B, a the latency of
// its link and B the bandwidth. For collectives it is used as by Thakur, Rabenseifner and Gropp,
// "Optimization of Collective Communication Operations in MPICH" (IJHPCA 19, 2005), whose formulas
// also stand in the sources of MPICH (pmodels/mpich, src/mpi/coll/<operation>/), and as by NCCL
// (NVIDIA/nccl, src/graph/tuning.cc; the factors of NVIDIA/nccl-tests, doc/PERFORMANCE.md).
//
// n members, s bytes (what `bytes` says, below), B of the slowest link. What a reduction computes
// is not counted.
//
//                  bytes: what           ring            tree                  direct
//   all_reduce     each rank gives       2R  2(n-1)s/n   2 lg n  2s            2  2(n-1)s/n
//   all_gather     each rank gives        R  (n-1)s        lg n  (n-1)s        1  (n-1)s
//   reduce_scatter each gives, in all     R  (n-1)s/n      lg n  (n-1)s/n      1  (n-1)s/n
//   broadcast      the root gives         R  s             lg n  s             1  (n-1)s
//   reduce         each rank gives        R  s             lg n  s             1  (n-1)s
//   gather         each rank gives        R  (n-1)s        lg n  (n-1)s        1  (n-1)s
//   scatter        the root gives in all  R  (n-1)s/n      lg n  (n-1)s/n      1  (n-1)s/n
//   all_to_all     each gives, in all     n-1 (n-1)s/n     lg n  P(n)s/n       1  (n-1)s/n
//   barrier        as an all_reduce of no bytes
//
// The first of each pair counts latencies, the second the bytes that cross the slowest link. A
// plain number of latencies, and lg n (rounded up), is of the slowest link between any two members.
// R goes once around the ring of the members in their order: the sum of its latencies but for the
// fastest hop, since data make one hop less than there are. (On links of one sort that is n-1
// latencies. NCCL adds up the hops inside and between hosts in the same way.) P(n) is the sum of
// the binary ones of 1 ... n-1: the blocks that Bruck's algorithm sends.
//
// Ring: broadcast and reduce are pipelined chains, at the limit of small pieces; all_to_all is the
// pairwise exchange of MPICH and NCCL, which has no ring. Tree: broadcast, reduce and all_reduce
// are pipelined over two trees, so at full bandwidth (Sanders, Speck and Traeff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35, 2009; NCCL
// halves the bandwidth of an all_reduce likewise); the others are binomial trees, recursive
// doubling and Bruck's algorithms. Direct: each member sends to each other at once, through one
// port; all_reduce in two rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/cluster.hpp"
#include "models/graph/operation.hpp"

namespace pipesim::models {

/// What a collective needs to know of the links between its members.
struct Route {
  std::uint32_t members = 1;
  std::int64_t ring_ns = 0;                // R above
  std::int64_t ring_bytes_per_second = 1;  // of the slowest hop
  std::int64_t any_ns = 0;                 // the slowest link between any two members
  std::int64_t any_bytes_per_second = 1;
};

/// The route of `members`, in their order, which is that of the ring. Nothing where no link joins
/// two of them; `why` then says which. One member: the latency of the device, if it has a link.
std::optional<Route> route(const Cluster& cluster, const std::vector<std::uint32_t>& members,
                           const std::vector<std::uint32_t>& over = {}, std::string* why = nullptr);

/// How long `operation`, a collective, takes, in nanoseconds, rounded up once at the end. Nothing
/// where that leaves 64 bits. `bytes` is not negative.
std::optional<std::int64_t> collective_time(Operation operation, Algorithm algorithm,
                                            std::int64_t bytes, const Route& route);

/// The two parts of a message's time, in nanoseconds.
struct MessageTime {
  std::int64_t latency_ns = 0;
  std::int64_t transfer_ns = 0;  // bytes / bandwidth, rounded up
};

/// How long a message takes from rank `from` to rank `to`. Nothing where no link joins them or the
/// time leaves 64 bits; `why` then says which. A message to oneself takes no time without a
/// device_link.
std::optional<MessageTime> message_time(const Cluster& cluster, std::uint32_t from,
                                        std::uint32_t to, std::int64_t bytes,
                                        const std::vector<std::uint32_t>& over = {},
                                        std::string* why = nullptr);

}  // namespace pipesim::models
