// Runs a program of sends, receives and calculations by the LogGOPS model: docs/reference/goal.md
// has the rules.
//
// A program is a graph of ops for each rank. Ops without a dependency may happen in any order, so
// this is not a plan (sim/plan.hpp), whose host threads do one act after the other. An op counts as
// an actor that acts once, so that waits are described in the same words: op i is ActorId{i}.
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

/// The numbers are the order in which ops go that become free at the same moment.
enum class LogGopsKind : std::uint8_t { kSend, kReceive, kCalculate };

/// Of a send or receive: fits any tag.
inline constexpr std::uint32_t kAnyTag = 0xffffffff;

struct LogGopsOp {
  std::uint64_t size = 0;  // bytes of a message; nanoseconds of a calculation
  std::uint32_t rank = 0;
  std::uint32_t peer = 0;  // of a send or receive; kAnyPeer of a receive: from any rank
  std::uint32_t tag = 0;   // likewise
  LogGopsKind kind = LogGopsKind::kCalculate;
  std::uint8_t cpu = 0;
  std::uint8_t nic = 0;
};

inline constexpr std::uint32_t kMaxLogGopsRanks = std::uint32_t{1} << 20;
inline constexpr std::uint32_t kMaxLogGopsOps = (std::uint32_t{1} << 31) - 1;

/// The dependents of op i are [dependents_begin[i], dependents_begin[i + 1]), in the order in which
/// they are told when several become free. One with kAtStart waits for its start, any other for its
/// end.
struct LogGopsProgram {
  static constexpr std::uint32_t kAtStart = std::uint32_t{1} << 31;

  std::uint32_t rank_count = 0;                          // at most kMaxLogGopsRanks
  std::vector<LogGopsOp> ops;                            // those of a rank in one piece
  std::vector<std::uint32_t> dependents_begin;           // one more than ops
  std::vector<std::uint32_t> dependents;                 // indices of ops, with or without kAtStart
  std::vector<std::uint32_t> required;                   // of each op: how often it is a dependent
  IdVector<RankId, std::uint32_t> rank_begin, rank_end;  // of each rank: range in ops
  bool has_wildcards = false;                            // kAnyPeer or kAnyTag is there
  bool many_units = false;                               // a cpu or nic other than 0 is there
};

/// The parameters of the model, by their letters: L, o, g, G, O (per byte) and S. None is negative.
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
  RunProgress* progress = nullptr;          // updated now and then
};

/// No op.
inline constexpr std::uint32_t kNoOp = 0xffffffff;

/// What became of an op; kNever for what has not happened.
struct LogGopsOpState {
  Time start = kNever;
  Time done = kNever;
  std::uint32_t match = kNoOp;  // of a send or receive: the op that it met
  std::uint32_t missing = 0;    // how much of what it depends on has not happened
};

struct LogGopsOutcome {
  RunEnd end = RunEnd::kStuck;  // kCompleted, kStuck, kTimeLimit or kInterrupted
  std::uint64_t ops_done = 0;
  IdVector<RankId, Time> finish;    // until when a cpu of the rank is busy
  std::vector<LogGopsOpState> ops;  // of the program's ops
  RankDigests digests;

  /// Until when a cpu is busy.
  Time last() const;
};

/// Runs `program`. Cost: O(log n) per op, but for receives from any rank or with any tag, which
/// look through the messages that have arrived at their rank.
LogGopsOutcome run(const LogGopsProgram& program, const LogGopsParameters& parameters,
                   const LogGopsOptions& options = {});

/// Who waits for whom in a quiescent run with work left. Every op that is not done is a node. An op
/// waits for what it depends on; a send or receive that has started, for the op that it would meet:
/// the n-th of those that wait, in the order in which they started, for the n-th that fits and has
/// not started, by rank and place in the program. Where none is left, for the rank that should have
/// it, or from any rank, for the outside.
WaitGraph wait_graph(const LogGopsProgram& program, const LogGopsOutcome& outcome);

/// The sends whose message no receive has taken and that do not wait for one, in their order.
std::vector<ActorId> unreceived(const LogGopsProgram& program, const LogGopsOutcome& outcome);

}  // namespace pipesim::sim
