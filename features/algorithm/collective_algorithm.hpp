// A collective algorithm as files describe it: each rank has thread blocks, and each thread block
// has steps that move and sum chunks. MSCCL's XML and MSCCL++'s execution plans both use this form;
// docs/reference/algorithms.md has the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/outside_text.hpp"

namespace pipesim::models {

enum class AlgoFormat : std::uint8_t { kMscclXml, kMscclppPlan };

enum class AlgoProtocol : std::uint8_t { kSimple, kLl, kLl128 };

/// The collective that the algorithm computes. The result of kOther is not checked.
enum class AlgoCollective : std::uint8_t {
  kAllReduce,
  kAllGather,
  kAllToAll,
  kReduceScatter,
  kOther
};

/// Returns the collective with this name in a file; kOther for unknown names.
AlgoCollective find_collective(std::string_view name);

/// Whether the chunks of the collective are divided equally among the ranks.
constexpr bool is_divided(AlgoCollective collective) {
  return collective != AlgoCollective::kAllReduce && collective != AlgoCollective::kOther;
}

enum class AlgoBuffer : std::uint8_t { kInput, kOutput, kScratch };

/// Returns the buffer with this letter: 'i', 'o' or 's'.
std::optional<AlgoBuffer> find_buffer(std::string_view letter);

/// The steps of MSCCL, up to kReduce, then the ops of MSCCL++.
enum class AlgoStepKind : std::uint8_t {
  kNop,
  kSend,
  kReceive,
  kReceiveCopySend,
  kReceiveReduceCopy,
  kReceiveReduceSend,
  kReceiveReduceCopySend,
  kCopy,
  kReduce,
  kSyncThreads,
  kBarrier,
  kSignal,
  kRelaxedSignal,
  kWait,
  kRelaxedWait,
  kFlush,
  kAcquire,
  kRelease,
  kPut,
  kPutSignal,
  kPutSignalFlush,
  kGet,
  kPlanCopy,
  kPlanReduce,
  kPlanReduceSend,
  kReadReduce,
  kReadReduceSend,
  kPutPackets,
  kReadPutPackets,
  kCopyPackets,
  kUnpackPackets,
  kReducePackets,
  kReduceSendPackets,
  kReduceCopyPackets,
  kReduceCopySendPackets,
  kSwitchReduce,
  kSwitchStore,
  kSwitchStorePackets,
};
inline constexpr int kAlgoStepKindCount = 38;

/// Returns the name of a kind in its format: "rrcs", "put".
std::string_view step_name(AlgoStepKind kind);

/// Returns the kind with this name in a format, or nullopt.
std::optional<AlgoStepKind> find_step_kind(AlgoFormat format, std::string_view name);

/// Whether an MSCCL step of this kind sends; whether it receives.
bool sends(AlgoStepKind kind);
bool receives(AlgoStepKind kind);

/// Returns the maximum number of ranges of `src_buff` that MSCCL++'s executor reads, and of
/// `dst_buff` that it writes. The executor ignores later ranges. Ops without a limit have a number
/// larger than any list.
std::size_t read_sources(AlgoStepKind kind);
std::size_t written_targets(AlgoStepKind kind);

struct AlgoStep;

/// Whether the parsers fuse two adjacent `re` into one transfer. Both add a chunk of one buffer to
/// one chunk, the first step releases no waiter, and the second step waits for nothing.
bool can_be_fused(const AlgoStep& first, const AlgoStep& second);

/// Chunks of one buffer: [index, index + size).
struct AlgoRange {
  std::uint32_t rank = 0;
  AlgoBuffer buffer = AlgoBuffer::kInput;
  std::uint32_t index = 0;
  std::uint32_t size = 0;
};

/// A condition of a step: thread block `block` (on the step's rank, from 0) has done step `step`.
struct AlgoDependency {
  std::uint32_t block = 0;
  std::uint32_t step = 0;
};

/// An index in CollectiveAlgorithm::channels.
using AlgoChannelId = std::uint32_t;

struct AlgoStep {
  AlgoStepKind kind = AlgoStepKind::kNop;
  Place place;
  std::vector<AlgoRange> sources;
  std::vector<AlgoRange> targets;
  // MSCCL
  std::vector<AlgoDependency> dependencies;
  bool publishes = false;   // whether the step releases waiters (hasdep)
  std::uint32_t count = 0;  // cnt, the number of chunks, also for a step that uses only one buffer
  // MSCCL++
  std::vector<AlgoChannelId> channels;  // channels of the rank itself
  bool port = false;       // whether a proxy does the step instead of the block's threads
  std::uint32_t part = 0;  // tbg_info: index of this block's part of each range
  std::uint32_t parts = 1;
  std::uint32_t barrier = 0;
  std::uint32_t barrier_blocks = 0;
  std::vector<std::uint32_t> semaphores;  // semaphores of the rank
  bool in_pipeline = false;               // whether each unit of a pipeline repeats the step
  std::uint32_t pipeline = 0;             // adjacent steps that share this number form one pipeline
};

inline constexpr std::uint32_t kNoPeer = 0xffffffff;

struct AlgoBlock {
  std::uint32_t id = 0;  // id in the file, from 0; equals the index in its rank
  Place place;
  std::uint32_t send_peer = kNoPeer;  // MSCCL
  std::uint32_t receive_peer = kNoPeer;
  std::uint32_t channel = 0;
  std::vector<AlgoStep> steps;
};

struct AlgoRank {
  Place place;
  std::uint32_t input_chunks = 0;  // declared chunks
  std::uint32_t output_chunks = 0;
  std::uint32_t scratch_chunks = 0;
  std::vector<AlgoBlock> blocks;
  std::vector<std::uint32_t> semaphores;  // initial values
};

/// One direction of a channel of MSCCL++: a signal of `rank` ends a wait of `peer` at `other`.
struct AlgoChannel {
  std::uint32_t rank = 0;
  std::uint32_t peer = 0;
  std::uint32_t number = 0;  // number among the rank's channels of this type
  bool port = false;
  std::optional<AlgoChannelId> other;  // nullopt: the peer has no such channel
};

struct CollectiveAlgorithm {
  AlgoFormat format = AlgoFormat::kMscclXml;
  OutsideText name;
  OutsideText collective_name;
  AlgoCollective collective = AlgoCollective::kOther;
  AlgoProtocol protocol = AlgoProtocol::kSimple;
  std::uint32_t chunks_per_loop = 0;  // MSCCL: number of chunks in the message
  bool in_place = false;              // whether it can be used in place
  bool out_of_place = false;
  std::uint64_t min_bytes = 0;
  std::optional<std::uint64_t> max_bytes;  // nullopt: not declared, or no limit
  bool double_scratch = false;             // MSCCL++
  std::vector<AlgoRank> ranks;
  std::vector<AlgoChannel> channels;  // MSCCL++

  std::uint64_t step_count() const;
  std::uint32_t block_count() const;
};

/// Returns the maximum number of messages in flight on a connection within a node. NCCL_STEPS is 8;
/// a message of Simple takes 4 steps (MSCCL_CHUNKSTEPS 4, MSCCL_SLICESTEPS 2 of microsoft/msccl
/// b23e9cd).
std::uint32_t protocol_slots(AlgoProtocol protocol);

/// Returns the bytes that fit into one slot, with the default buffer sizes: Simple 4 MiB / 8 * 4,
/// LL 512 KiB / 8 / 2, LL128 576,000.
std::uint64_t slot_bytes(AlgoProtocol protocol);

/// Limits of pipesim, for both formats.
inline constexpr std::uint32_t kMaxAlgoRanks = 65'536;
inline constexpr std::uint32_t kMaxAlgoChunks = 1'000'000;
inline constexpr std::size_t kMaxAlgoErrors = 20;

/// MSCCL's limit for the chunks of one step (MSCCL_MAX_COUNT, exclusive).
inline constexpr std::uint32_t kMaxStepCount = 72;

/// The largest message, in bytes, if MSCCL's file does not declare a largest message
/// (microsoft/msccl).
inline constexpr std::uint64_t kMaxUndeclaredBytes = std::uint64_t{128} << 20;

/// Returns the number of chunks of a step that fit into one slot for a message of `bytes`: 1 to 71.
std::uint32_t chunks_per_slot(const CollectiveAlgorithm& algorithm, std::uint64_t bytes);

/// Returns the smallest message, in bytes, for which at most `chunks` chunks fit into one slot.
std::uint64_t smallest_message(const CollectiveAlgorithm& algorithm, std::uint32_t chunks);

/// Returns the name of a protocol: "Simple".
std::string_view protocol_name(AlgoProtocol protocol);

/// Describes a step of `rank` for reports: "rcs i[3]", "put i[0..2) to rank 1 s[4..6)".
std::string step_text(const CollectiveAlgorithm& algorithm, std::uint32_t rank,
                      const AlgoStep& step);

}  // namespace pipesim::models
