#include "features/algorithm/collective_algorithm.hpp"

#include <algorithm>
#include <array>

namespace pipesim::models {
namespace {

constexpr std::array<std::string_view, kAlgoStepKindCount> kStepNames = {
    "nop",         "s",           "r",       "rcs",    "rrc",       "rrs",      "rrcs",    "cpy",
    "re",          "nop",         "barrier", "signal", "rlxsignal", "wait",     "rlxwait", "flush",
    "sem_acquire", "sem_release", "put",     "pws",    "pwsf",      "get",      "copy",    "re",
    "res",         "rre",         "rres",    "ppkt",   "rppkt",     "cpkt",     "upkt",    "repkt",
    "respkt",      "recpkt",      "recspkt", "glres",  "gstore",    "gstorepkt"};

constexpr std::size_t kAllRanges = std::numeric_limits<std::size_t>::max();
constexpr int kFirstPlanKind = static_cast<int>(AlgoStepKind::kSyncThreads);

constexpr std::string_view kBufferLetters = "ios";

std::string range_text(const AlgoRange& range, std::uint32_t size) {
  std::string text(1, kBufferLetters[static_cast<std::size_t>(range.buffer)]);
  text += "[" + std::to_string(range.index);
  if (size != 1) text += ".." + std::to_string(range.index + size) + ")";
  return size == 1 ? text + "]" : text;
}

// Lists the ranges of a step of `rank`, with `before` before the first.
std::string ranges_text(const std::vector<AlgoRange>& ranges, std::uint32_t rank,
                        std::string_view before) {
  constexpr std::size_t kMaxRanges = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMaxRanges); ++i) {
    text += i == 0 ? before : ", ";
    if (ranges[i].rank != rank) text += "rank " + std::to_string(ranges[i].rank) + " ";
    text += range_text(ranges[i], ranges[i].size);
  }
  if (ranges.size() <= kMaxRanges) return text;
  return text + " and " + std::to_string(ranges.size() - kMaxRanges) + " more";
}

}  // namespace

AlgoCollective find_collective(std::string_view name) {
  if (name == "allreduce") return AlgoCollective::kAllReduce;
  if (name == "allgather") return AlgoCollective::kAllGather;
  if (name == "alltoall") return AlgoCollective::kAllToAll;
  const bool reduce_scatter = name == "reduce_scatter" || name == "reducescatter";
  return reduce_scatter ? AlgoCollective::kReduceScatter : AlgoCollective::kOther;
}

std::optional<AlgoBuffer> find_buffer(std::string_view letter) {
  const std::size_t at = letter.size() == 1 ? kBufferLetters.find(letter) : std::string_view::npos;
  if (at == std::string_view::npos) return std::nullopt;
  return static_cast<AlgoBuffer>(at);
}

std::string_view step_name(AlgoStepKind kind) { return kStepNames[static_cast<std::size_t>(kind)]; }

std::optional<AlgoStepKind> find_step_kind(AlgoFormat format, std::string_view name) {
  const bool plan = format == AlgoFormat::kMscclppPlan;
  const int end = plan ? kAlgoStepKindCount : kFirstPlanKind;
  for (int i = plan ? kFirstPlanKind : 0; i < end; ++i) {
    if (kStepNames[static_cast<std::size_t>(i)] == name) return static_cast<AlgoStepKind>(i);
  }
  return std::nullopt;
}

bool sends(AlgoStepKind kind) {
  return kind == AlgoStepKind::kSend || kind == AlgoStepKind::kReceiveCopySend ||
         kind == AlgoStepKind::kReceiveReduceSend || kind == AlgoStepKind::kReceiveReduceCopySend;
}

bool receives(AlgoStepKind kind) {
  return kind >= AlgoStepKind::kReceive && kind <= AlgoStepKind::kReceiveReduceCopySend;
}

std::size_t read_sources(AlgoStepKind kind) {
  const bool one = kind == AlgoStepKind::kPlanCopy || kind == AlgoStepKind::kCopyPackets ||
                   kind == AlgoStepKind::kUnpackPackets || kind == AlgoStepKind::kReadPutPackets;
  return one ? 1 : kAllRanges;
}

// Returns the maximum number of written ranges. Ops that only sum write one or two ranges. `res`,
// `rres`, `respkt` and `recspkt` also send the sum (the "s" in their names), to all given ranges.
std::size_t written_targets(AlgoStepKind kind) {
  switch (kind) {
    case AlgoStepKind::kPlanCopy:
    case AlgoStepKind::kCopyPackets:
    case AlgoStepKind::kUnpackPackets:
    case AlgoStepKind::kPlanReduce:
    case AlgoStepKind::kReadReduce:
    case AlgoStepKind::kReducePackets:
      return 1;
    case AlgoStepKind::kReduceCopyPackets:
      return 2;  // the values, and packets on the rank of the step
    default:
      return kAllRanges;
  }
}

bool can_be_fused(const AlgoStep& first, const AlgoStep& second) {
  return first.kind == AlgoStepKind::kReduce && second.kind == AlgoStepKind::kReduce &&
         !first.publishes && second.dependencies.empty() &&
         first.targets[0].buffer == second.targets[0].buffer &&
         first.targets[0].index == second.targets[0].index &&
         first.sources[0].buffer == second.sources[0].buffer;
}

std::uint64_t CollectiveAlgorithm::step_count() const {
  std::uint64_t count = 0;
  for (const AlgoRank& rank : ranks) {
    for (const AlgoBlock& block : rank.blocks) count += block.steps.size();
  }
  return count;
}

std::uint32_t CollectiveAlgorithm::block_count() const {
  std::size_t count = 0;
  for (const AlgoRank& rank : ranks) count += rank.blocks.size();
  return static_cast<std::uint32_t>(count);
}

std::uint32_t protocol_slots(AlgoProtocol protocol) {
  return protocol == AlgoProtocol::kSimple ? 2 : 8;
}

std::uint64_t slot_bytes(AlgoProtocol protocol) {
  switch (protocol) {
    case AlgoProtocol::kSimple:
      return std::uint64_t{2} << 20;
    case AlgoProtocol::kLl:
      return std::uint64_t{32} << 10;
    case AlgoProtocol::kLl128:
      break;
  }
  return 576'000;
}

std::uint32_t chunks_per_slot(const CollectiveAlgorithm& algorithm, std::uint64_t bytes) {
  const std::uint64_t chunks = std::max<std::uint32_t>(1, algorithm.chunks_per_loop);
  const std::uint64_t chunk = bytes / chunks + (bytes % chunks != 0 ? 1 : 0);
  const std::uint64_t fit = slot_bytes(algorithm.protocol) / std::max<std::uint64_t>(1, chunk);
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(fit, 1, std::uint64_t{kMaxStepCount} - 1));
}

std::uint64_t smallest_message(const CollectiveAlgorithm& algorithm, std::uint32_t chunks) {
  if (chunks >= kMaxStepCount - 1) return 0;
  // The largest chunk size at which `chunks` + 1 chunks fit into a slot.
  const std::uint64_t fitting = slot_bytes(algorithm.protocol) / (std::uint64_t{chunks} + 1);
  return fitting * std::max<std::uint32_t>(1, algorithm.chunks_per_loop) + 1;
}

std::string_view protocol_name(AlgoProtocol protocol) {
  switch (protocol) {
    case AlgoProtocol::kSimple:
      return "Simple";
    case AlgoProtocol::kLl:
      return "LL";
    case AlgoProtocol::kLl128:
      break;
  }
  return "LL128";
}

std::string step_text(const CollectiveAlgorithm& algorithm, std::uint32_t rank,
                      const AlgoStep& step) {
  const bool both = !step.sources.empty() && !step.targets.empty();
  std::string text(step_name(step.kind));
  text += ranges_text(step.sources, rank, " ");
  text += ranges_text(step.targets, rank, both ? " to " : " ");
  if (algorithm.format == AlgoFormat::kMscclXml) return text;
  const bool alone = step.sources.empty() && step.targets.empty();
  for (std::size_t i = 0; i < step.channels.size(); ++i) {
    const AlgoChannel& channel = algorithm.channels[step.channels[i]];
    text += (i > 0   ? ", "
             : alone ? " "
                     : " (") +
            std::string(channel.port ? "port" : "channel") + " " + std::to_string(channel.number) +
            " to rank " + std::to_string(channel.peer);
  }
  if (!step.channels.empty() && !alone) text += ")";
  for (const std::uint32_t semaphore : step.semaphores) text += " " + std::to_string(semaphore);
  if (step.kind == AlgoStepKind::kBarrier) text += " " + std::to_string(step.barrier);
  if (step.parts > 1) {
    text += " part " + std::to_string(step.part + 1) + " of " + std::to_string(step.parts);
  }
  return text;
}

}  // namespace pipesim::models
