// Runs a program of sends, recvs and calculations by the LogGOPS model (rules:
// docs/reference/goal.md).
//
// A program is a graph of ops per rank. Ops without dependencies can run in any order, so a program
// is not a plan (sim/plan.hpp), whose host threads run one op after another. Each op counts as an
// actor with a single op, so that waits use the same types: op i is ActorId{i}.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "sim/engine.hpp"
#include "sim/fingerprint.hpp"
#include "sim/ids.hpp"
#include "sim/time.hpp"
#include "sim/wait_graph.hpp"

namespace pipesim::sim {

/// The kind of an op. The values define the order of ops that become free at one moment.
enum class LogGopsKind : std::uint8_t { kSend, kReceive, kCalculate };

/// The tag that matches any tag, for sends and recvs.
inline constexpr std::uint32_t kAnyTag = 0xffffffff;

struct LogGopsOp {
  std::uint64_t size = 0;  // bytes of a message; nanoseconds of a calculation
  std::uint32_t rank = 0;
  std::uint32_t peer = 0;  // sends and recvs: the other rank; recvs: kAnyPeer for any rank
  std::uint32_t tag = 0;   // sends and recvs only
  LogGopsKind kind = LogGopsKind::kCalculate;
  std::uint8_t cpu = 0;
  std::uint8_t nic = 0;
};

inline constexpr std::uint32_t kMaxLogGopsRanks = std::uint32_t{1} << 20;
inline constexpr std::uint32_t kMaxLogGopsOps = (std::uint32_t{1} << 31) - 1;

/// A program. The dependents of op i are [dependents_begin[i], dependents_begin[i + 1]), in the
/// order in which they become free. A dependent with kAtStart waits for the start of op i, any
/// other for its end.
struct LogGopsProgram {
  static constexpr std::uint32_t kAtStart = std::uint32_t{1} << 31;

  std::uint32_t rank_count = 0;                          // at most kMaxLogGopsRanks
  std::vector<LogGopsOp> ops;                            // grouped by rank
  std::vector<std::uint32_t> dependents_begin;           // one entry more than `ops`
  std::vector<std::uint32_t> dependents;                 // indices of ops, with or without kAtStart
  std::vector<std::uint32_t> required;                   // per op: its number of dependencies
  IdVector<RankId, std::uint32_t> rank_begin, rank_end;  // per rank: range in `ops`
  bool has_wildcards = false;                            // whether kAnyPeer or kAnyTag occurs
  bool many_units = false;                               // whether a cpu or nic other than 0 occurs
};

/// The parameters of the model: L, o, g, G, O (per byte) and S. No parameter is negative.
struct LogGopsParameters {
  std::int64_t latency_ns = 2500;
  std::int64_t overhead_ns = 1500;
  std::int64_t gap_ns = 1000;
  std::int64_t gap_per_byte_ns = 6;
  std::int64_t overhead_per_byte_ns = 0;
  std::uint64_t eager_bytes = 65535;  // a larger message is sent by rendezvous
};

struct LogGopsOptions {
  const std::atomic<bool>* stop = nullptr;  // polled; true ends the run
  RunProgress* progress = nullptr;          // updated from time to time
};

/// The state of an op; kNever for times that have not happened.
struct LogGopsOpState {
  Time start = kNever;
  Time done = kNever;
  std::uint32_t match = kNoOp;  // sends and recvs: the matching op
  std::uint32_t missing = 0;    // number of dependencies that have not happened
};

struct LogGopsOutcome {
  RunEnd end = RunEnd::kStuck;  // kCompleted, kStuck, kTimeLimit or kInterrupted
  std::uint64_t ops_done = 0;
  IdVector<RankId, Time> finish;    // time at which the last cpu of each rank becomes idle
  std::vector<LogGopsOpState> ops;  // per op of the program
  RankDigests digests;

  /// Returns the time at which the last cpu becomes idle.
  Time last() const;
};

/// Runs `program`. Cost: O(log n) per op, except for recvs from any rank or with any tag, which
/// search the messages that have arrived at their rank.
LogGopsOutcome run(const LogGopsProgram& program, const LogGopsParameters& parameters,
                   const LogGopsOptions& options = {});

/// Returns the wait-for graph of a quiescent run with work left. Every op that is not done is a
/// node. An op waits for its dependencies. A started send or recv waits for its peer. The n-th
/// waiting op, in start order, waits for the n-th matching op that has not started, by rank and
/// position. If no such op is left, the edge leads to the rank that should have it or, for a recv
/// from any rank, to the outside.
WaitGraph wait_graph(const LogGopsProgram& program, const LogGopsOutcome& outcome);

/// Returns the completed sends that no recv has matched, in program order.
std::vector<ActorId> unreceived(const LogGopsProgram& program, const LogGopsOutcome& outcome);

}  // namespace pipesim::sim
