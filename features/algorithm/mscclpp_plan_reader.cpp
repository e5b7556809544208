// Reads MSCCL++'s execution plans. Error messages describe the effects of mistakes on the executor
// of microsoft/mscclpp 1f5f065 (src/core/executor/execution_plan.cc).
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/document/json_reader.hpp"

#include "features/algorithm/algorithm_file.hpp"
#include "features/algorithm/algorithm_network.hpp"

namespace pipesim::formats {
namespace {

using models::AlgoBlock;
using models::AlgoBuffer;
using models::AlgoChannelId;
using models::AlgoCollective;
using models::AlgoRange;
using models::AlgoRank;
using models::AlgoStep;
using models::AlgoStepKind;

constexpr const char* kFails = "MSCCL++'s executor throws an error when it loads the plan";
constexpr const char* kOtherMemory = "MSCCL++'s executor does not look, and uses other memory";

// Limits of the executor (src/core/include/execution_common.hpp).
constexpr std::size_t kMaxOps = 64;
constexpr std::size_t kMaxBlockChannels = 16;
constexpr std::size_t kMaxOpChannels = 8;
constexpr std::size_t kMaxOpSemaphores = 16;
constexpr std::uint32_t kMaxBarriers = 16;
// Limits of pipesim.
constexpr std::int64_t kMaxPlanBlocks = 65'536;
constexpr std::int64_t kMaxParts = 5040;

// Exception after a reported error; caught at the next op, thread block or GPU.
struct Refused {};

enum class ChannelType : std::uint8_t { kMemory, kPort, kSwitch, kNone };
constexpr std::array<std::string_view, 4> kChannelTypes = {"memory", "port", "switch", "none"};

class MscclppPlanReader {
 public:
  MscclppPlanReader(const YamlValue& root, models::Diagnostics& diagnostics)
      : root_(root), diagnostics_(diagnostics) {}

  std::optional<models::CollectiveAlgorithm> run() {
    try {
      read_head();
      for (std::uint32_t rank = 0; rank < gpus_.size(); ++rank) {
        guarded([&] { read_gpu(rank); });
      }
      if (!diagnostics_.has_errors()) connect();
      for (std::uint32_t rank = 0; rank < gpus_.size() && !diagnostics_.has_errors(); ++rank) {
        read_blocks(rank);
      }
    } catch (const Refused&) {
    }
    if (diagnostics_.has_errors()) return std::nullopt;
    return std::move(algorithm_);
  }

 private:
  // The switch channel of a GPU: a buffer on several ranks.
  struct Switch {
    AlgoBuffer buffer = AlgoBuffer::kInput;
    std::vector<std::uint32_t> ranks;
  };
  struct RemoteBuffer {
    std::uint32_t rank = 0;
    AlgoBuffer buffer = AlgoBuffer::kInput;
  };
  struct Gpu {
    std::array<std::vector<AlgoChannelId>, 2> channels;  // channels of type memory, of type port
    std::vector<Switch> switches;
    std::vector<RemoteBuffer> remote;
  };
  struct BlockLists {
    std::array<std::vector<AlgoChannelId>, 2> channels;
    std::vector<std::uint32_t> switches;
    std::array<std::vector<std::uint32_t>, 2> remote;  // indices in Gpu::remote
  };

  template <typename Work>
  void guarded(const Work& work) {
    try {
      work();
    } catch (const Refused&) {
      if (diagnostics_.error_count() >= models::kMaxAlgoErrors) throw;
    }
  }

  [[noreturn]] void refuse_with(const std::string& note, const YamlValue& at, std::string message) {
    diagnostics_.error(at.place(), models::Code::kAlgorithm, std::move(message))
        .notes.push_back(note);
    throw Refused();
  }
  [[noreturn]] void refuse(const YamlValue& at, std::string message) {
    refuse_with(kFails, at, std::move(message));
  }

  YamlValue need(const YamlValue& map, const char* key) {
    if (!map.is_map()) refuse(map, "expected an object");
    const std::optional<YamlValue> found = map.find(key);
    if (!found) refuse(map, fmt::format("'{}' is missing", key));
    return *found;
  }

  std::vector<YamlValue> list(const YamlValue& value) {
    if (!value.is_list()) refuse(value, "expected a list");
    return value.items();
  }
  // Returns the list under a key; empty if the key is missing.
  std::vector<YamlValue> list(const YamlValue& map, const char* key) {
    const std::optional<YamlValue> found = map.find(key);
    return found ? list(*found) : std::vector<YamlValue>();
  }

  std::int64_t number(const YamlValue& at, const char* what, std::int64_t min, std::int64_t max,
                      const char* note = kFails) {
    const auto found = at.integer<std::int64_t>();
    if (found && *found >= min && *found <= max) return *found;
    refuse_with(note, at, fmt::format("'{}' is not an integer from {} to {}", what, min, max));
  }
  std::uint32_t count(const YamlValue& map, const char* key, std::int64_t max,
                      const char* note = kFails) {
    return static_cast<std::uint32_t>(number(need(map, key), key, 0, max, note));
  }
  std::string text(const YamlValue& map, const char* key) {
    const YamlValue value = need(map, key);
    if (!value.is_text()) refuse(value, fmt::format("'{}' must be a string", key));
    return std::string(value.text());
  }
  bool truth(const YamlValue& map, const char* key, bool otherwise) {
    const std::optional<YamlValue> value = map.find(key);
    if (!value) return otherwise;
    const std::optional<bool> found = value->truth();
    if (!found) refuse(*value, fmt::format("'{}' must be true or false", key));
    return *found;
  }
  // Reads a number of bytes. 2^64-1 means no limit, as does any number above 2^63-1.
  std::optional<std::uint64_t> bytes(const char* key) {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
    const std::optional<YamlValue> value = root_.find(key);
    if (!value || value->integer<std::uint64_t>() > std::uint64_t{kMax}) return std::nullopt;
    return static_cast<std::uint64_t>(number(*value, key, 0, kMax));
  }

  AlgoBuffer buffer(const YamlValue& at, const std::string& letter) {
    if (const auto found = models::find_buffer(letter)) return *found;
    refuse(at, fmt::format("unknown buffer '{}'; they are i, o and s", models::printable(letter)));
  }

  ChannelType channel_type(const YamlValue& map, const char* key) {
    const std::string name = text(map, key);
    const auto found = std::find(kChannelTypes.begin(), kChannelTypes.end(), name);
    if (found == kChannelTypes.end()) {
      refuse(need(map, key),
             fmt::format("unknown channel type '{}'; they are memory, port and switch",
                         models::printable(name)));
    }
    return static_cast<ChannelType>(found - kChannelTypes.begin());
  }

  void read_head() {
    const YamlValue root = root_;
    if (!root.is_map()) refuse(root, "expected an object");
    if (const auto old = root.find("colletive")) {
      refuse_with("MSCCL++'s executor no longer reads it; write the plan again with its DSL", *old,
                  "this is the form that plans had before mid-2025");
    }
    algorithm_.format = models::AlgoFormat::kMscclppPlan;
    algorithm_.name = text(root, "name");
    algorithm_.collective_name = text(root, "collective");
    const std::string protocol = text(root, "protocol");
    if (protocol == "LL") {
      algorithm_.protocol = models::AlgoProtocol::kLl;
    } else if (protocol != "Simple") {
      diagnostics_
          .warning(need(root, "protocol").place(), models::Code::kAlgorithmIgnored,
                   fmt::format("unknown protocol '{}'; they are Simple and LL",
                               models::printable(protocol)))
          .notes.emplace_back("MSCCL++'s executor takes it as Simple");
    }
    need(root, "inplace");
    algorithm_.in_place = truth(root, "inplace", false);
    algorithm_.out_of_place = !algorithm_.in_place;
    algorithm_.double_scratch = truth(root, "use_double_scratch_buffer", false);
    algorithm_.min_bytes = bytes("min_message_size").value_or(0);
    algorithm_.max_bytes = bytes("max_message_size");
    gpus_ = list(need(root, "gpus"));
    if (gpus_.empty() || gpus_.size() > models::kMaxAlgoRanks) {
      refuse(need(root, "gpus"), fmt::format("a plan has 1 to {} GPUs", models::kMaxAlgoRanks));
    }
    algorithm_.ranks.resize(gpus_.size());
    gpu_.resize(gpus_.size());
  }

  std::uint32_t rank_of(const YamlValue& at, const char* what) {
    return static_cast<std::uint32_t>(
        number(at, what, 0, static_cast<std::int64_t>(gpus_.size()) - 1));
  }

  void read_gpu(std::uint32_t index) {
    const YamlValue& gpu = gpus_[index];
    if (rank_of(need(gpu, "id"), "id") != index) {
      refuse_with("MSCCL++'s executor throws 'GPU rank does not match'", need(gpu, "id"),
                  fmt::format("expected id {}: GPUs must be in the order of their ids", index));
    }
    AlgoRank& rank = algorithm_.ranks[index];
    rank.place = gpu.place();
    rank.input_chunks = count(gpu, "input_chunks", models::kMaxAlgoChunks);
    rank.output_chunks = count(gpu, "output_chunks", models::kMaxAlgoChunks);
    rank.scratch_chunks = count(gpu, "scratch_chunks", models::kMaxAlgoChunks);
    for (const YamlValue& semaphore : list(gpu, "semaphores")) {
      rank.semaphores.push_back(count(semaphore, "init_value", 1'000'000));
    }
    for (const YamlValue& channel : list(gpu, "channels")) read_channel(index, channel);
    for (const YamlValue& remote : list(gpu, "remote_buffers")) {
      gpu_[index].remote.push_back({rank_of(need(remote, "rank"), "rank"),
                                    buffer(need(remote, "type"), text(remote, "type"))});
    }
  }

  void read_channel(std::uint32_t rank, const YamlValue& channel) {
    const ChannelType type = channel_type(channel, "channel_type");
    if (type == ChannelType::kSwitch) {
      if (!channel.find("buffer_type")) {
        refuse_with(std::string(kFails) + "; plans before mid-2025 have 'buff' instead", channel,
                    "a switch channel needs 'buffer_type'");
      }
      const AlgoBuffer of = buffer(need(channel, "buffer_type"), text(channel, "buffer_type"));
      for (const YamlValue& group : list(need(channel, "rank_groups"))) {
        Switch& made = gpu_[rank].switches.emplace_back(Switch{of, {}});
        for (const YamlValue& member : list(need(group, "ranks"))) {
          made.ranks.push_back(rank_of(member, "ranks"));
        }
        if (made.ranks.empty()) refuse(group, "a group of a switch has at least one rank");
      }
      return;
    }
    if (type == ChannelType::kNone) refuse(need(channel, "channel_type"), "a channel has a type");
    if (!channel.find("connected_to") && channel.find("srcbuff")) {
      refuse_with("MSCCL++'s executor no longer reads it; write the plan again with its DSL",
                  channel, "this is the form that plans had before mid-2025");
    }
    const bool port = type == ChannelType::kPort;
    for (const YamlValue& to : list(need(channel, "connected_to"))) {
      std::vector<AlgoChannelId>& of = gpu_[rank].channels[port ? 1 : 0];
      const std::uint32_t peer = rank_of(to, "connected_to");
      algorithm_.channels.push_back(
          {rank, peer, static_cast<std::uint32_t>(of.size()), port, std::nullopt});
      of.push_back(static_cast<AlgoChannelId>(algorithm_.channels.size() - 1));
    }
  }

  // Connects channels: the k-th channel from a to b and the k-th channel of its type from b to a
  // are the two directions of one channel. Also derives the collective's number of chunks from the
  // chunks of all ranks.
  void connect() {
    std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, std::vector<AlgoChannelId>> between;
    for (AlgoChannelId id = 0; id < algorithm_.channels.size(); ++id) {
      const models::AlgoChannel& channel = algorithm_.channels[id];
      between[{channel.port, channel.rank, channel.peer}].push_back(id);
    }
    for (const auto& [key, ids] : between) {
      const auto [port, rank, peer] = key;
      const auto back = between.find({port, peer, rank});
      if (back == between.end()) continue;
      for (std::size_t i = 0; i < std::min(ids.size(), back->second.size()); ++i) {
        algorithm_.channels[ids[i]].other = back->second[i];
      }
    }
    const AlgoCollective collective = models::find_collective(algorithm_.collective_name);
    if (collective == AlgoCollective::kOther) return;
    const auto ranks = static_cast<std::uint32_t>(algorithm_.ranks.size());
    std::uint32_t in = 0;
    std::uint32_t out = 0;
    for (const AlgoRank& rank : algorithm_.ranks) {
      in = std::max(in, rank.input_chunks);
      out = std::max(out, rank.output_chunks);
    }
    std::uint64_t all = std::max(in, out);
    if (collective == AlgoCollective::kAllGather) all = out > 0 ? out : std::uint64_t{in} * ranks;
    if (collective == AlgoCollective::kReduceScatter)
      all = in > 0 ? in : std::uint64_t{out} * ranks;
    const bool fits = all > 0 && all <= models::kMaxAlgoChunks &&
                      (!models::is_divided(collective) || all % ranks == 0);
    if (!fits) {
      diagnostics_
          .warning(need(root_, "collective").place(), models::Code::kAlgorithmIgnored,
                   fmt::format("{} of {} input and {} output chunks among {} ranks",
                               algorithm_.collective_name, in, out, ranks))
          .notes.emplace_back("chunks cannot be divided equally, so the result is not checked");
      return;
    }
    algorithm_.collective = collective;
    algorithm_.chunks_per_loop = static_cast<std::uint32_t>(all);
  }

  void read_blocks(std::uint32_t rank) {
    const std::vector<YamlValue> blocks = list(need(gpus_[rank], "threadblocks"));
    for (const YamlValue& block : blocks) {
      AlgoBlock& made = algorithm_.ranks[rank].blocks.emplace_back();
      made.id = static_cast<std::uint32_t>(algorithm_.ranks[rank].blocks.size() - 1);
      made.place = block.place();
      guarded([&] { read_block(rank, block, made); });
    }
  }

  void read_block(std::uint32_t rank, const YamlValue& block, AlgoBlock& made) {
    if (count(block, "id", kMaxPlanBlocks) != made.id) {
      refuse_with(
          "MSCCL++'s executor mixes up the channels and ops of its thread blocks",
          need(block, "id"),
          fmt::format("expected id {}: thread blocks must be in the order of their ids", made.id));
    }
    BlockLists lists;
    for (const YamlValue& channel : list(block, "channels")) read_channels(rank, channel, lists);
    for (const YamlValue& ref : list(block, "remote_buffer_refs")) read_remote(rank, ref, lists);
    read_ops(rank, lists, need(block, "ops"), made);
  }

  void read_channels(std::uint32_t rank, const YamlValue& channel, BlockLists& lists) {
    const ChannelType type = channel_type(channel, "channel_type");
    if (type == ChannelType::kNone) return;
    const YamlValue ids = need(channel, "channel_ids");
    for (const YamlValue& id : list(ids)) {
      const bool is_switch = type == ChannelType::kSwitch;
      const auto& all = gpu_[rank].channels[type == ChannelType::kPort ? 1 : 0];
      const std::size_t size = is_switch ? gpu_[rank].switches.size() : all.size();
      const std::size_t at = index_of(id, "channel_ids", size);
      if (is_switch) {
        lists.switches.push_back(static_cast<std::uint32_t>(at));
      } else {
        lists.channels[type == ChannelType::kPort ? 1 : 0].push_back(all[at]);
      }
    }
    if (list(ids).size() > kMaxBlockChannels) {
      refuse(ids,
             fmt::format("more than {} channels of a type in a thread block", kMaxBlockChannels));
    }
  }

  void read_remote(std::uint32_t rank, const YamlValue& ref, BlockLists& lists) {
    const ChannelType type = channel_type(ref, "access_channel_type");
    if (type != ChannelType::kMemory && type != ChannelType::kPort) return;
    for (const YamlValue& id : list(need(ref, "remote_buffer_ids"))) {
      lists.remote[type == ChannelType::kPort ? 1 : 0].push_back(
          static_cast<std::uint32_t>(index_of(id, "remote_buffer_ids", gpu_[rank].remote.size())));
    }
  }

  void read_ops(std::uint32_t rank, const BlockLists& lists, const YamlValue& ops,
                AlgoBlock& made) {
    std::size_t op_count = 0;
    std::uint32_t pipelines = 0;
    for (const YamlValue& op : list(ops)) {
      ++op_count;
      if (text(op, "name") != "pipeline") {
        guarded([&] { made.steps.push_back(read_op(rank, lists, op)); });
        continue;
      }
      const YamlValue context = need(op, "iter_context");
      number(need(context, "unit_size"), "unit_size", 1, std::numeric_limits<std::uint32_t>::max());
      for (const YamlValue& inner : list(need(op, "ops"))) {
        ++op_count;
        guarded([&] {
          AlgoStep step = read_op(rank, lists, inner);
          step.in_pipeline = true;
          step.pipeline = pipelines;
          made.steps.push_back(std::move(step));
        });
      }
      ++pipelines;
    }
    if (op_count > kMaxOps) {
      refuse(ops, fmt::format("{} ops in a thread block; the executor takes at most {}", op_count,
                              kMaxOps));
    }
  }

  std::size_t index_of(const YamlValue& at, const char* what, std::size_t size) {
    if (size == 0)
      refuse_with(kOtherMemory, at, fmt::format("'{}' names one of a list that is empty", what));
    return static_cast<std::size_t>(
        number(at, what, 0, static_cast<std::int64_t>(size) - 1, kOtherMemory));
  }

  AlgoStep read_op(std::uint32_t rank, const BlockLists& lists, const YamlValue& op) {
    AlgoStep step;
    step.place = op.place();
    const std::string name = text(op, "name");
    const auto kind = models::find_step_kind(models::AlgoFormat::kMscclppPlan, name);
    if (!kind) {
      refuse_with("MSCCL++'s executor throws 'Invalid operation type'", need(op, "name"),
                  fmt::format("unknown op '{}'", models::printable(name)));
    }
    step.kind = *kind;
    ChannelType type = ChannelType::kNone;
    if (op.find("channel_type")) type = channel_type(op, "channel_type");
    step.port = type == ChannelType::kPort;
    if (const auto part = op.find("tbg_info")) {
      step.parts =
          static_cast<std::uint32_t>(number(need(*part, "tbg_size"), "tbg_size", 1, kMaxParts));
      step.part = count(*part, "tb_id", std::int64_t{step.parts} - 1, kOtherMemory);
    }
    const std::vector<YamlValue> channels = list(op, "channel_ids");
    if (channels.size() > kMaxOpChannels) {
      refuse(need(op, "channel_ids"),
             fmt::format("more than {} channels in an op", kMaxOpChannels));
    }
    if (type == ChannelType::kMemory || type == ChannelType::kPort) {
      const auto& all = lists.channels[step.port ? 1 : 0];
      for (const YamlValue& id : channels) {
        step.channels.push_back(all[index_of(id, "channel_ids", all.size())]);
      }
    }
    for (const YamlValue& range : list(op, "src_buff"))
      add_range(rank, lists, type, range, step.sources);
    for (const YamlValue& range : list(op, "dst_buff"))
      add_range(rank, lists, type, range, step.targets);
    read_sync(rank, op, step);
    check(op, step);
    drop_ignored(op, "src_buff", models::read_sources(step.kind), step.sources);
    drop_ignored(op, "dst_buff", models::written_targets(step.kind), step.targets);
    return step;
  }

  // Drops the ranges that the executor ignores.
  void drop_ignored(const YamlValue& op, const char* key, std::size_t kept,
                    std::vector<AlgoRange>& ranges) {
    if (ranges.size() <= kept) return;
    diagnostics_
        .warning(list(op, key)[kept].place(), models::Code::kAlgorithmIgnored,
                 fmt::format("'{}' uses {} of '{}' only", text(op, "name"),
                             kept == 1 ? "the first" : "the first two", key))
        .notes.emplace_back("MSCCL++'s executor ignores the others without a message");
    ranges.resize(kept);
  }

  void read_sync(std::uint32_t rank, const YamlValue& op, AlgoStep& step) {
    if (step.kind == AlgoStepKind::kBarrier) {
      step.barrier = count(op, "barrier_id", std::int64_t{kMaxBarriers} - 1, kOtherMemory);
      step.barrier_blocks = static_cast<std::uint32_t>(
          number(need(op, "num_threadblocks"), "num_threadblocks", 1, kMaxPlanBlocks));
    }
    const std::vector<YamlValue> semaphores = list(op, "semaphore_ids");
    if (semaphores.size() > kMaxOpSemaphores) {
      refuse(need(op, "semaphore_ids"),
             fmt::format("more than {} semaphores in an op", kMaxOpSemaphores));
    }
    for (const YamlValue& id : semaphores) {
      step.semaphores.push_back(static_cast<std::uint32_t>(
          index_of(id, "semaphore_ids", algorithm_.ranks[rank].semaphores.size())));
    }
  }

  void add_range(std::uint32_t rank, const BlockLists& lists, ChannelType type, const YamlValue& at,
                 std::vector<AlgoRange>& ranges) {
    const std::uint32_t index = count(at, "index", models::kMaxAlgoChunks);
    const std::uint32_t size = count(at, "size", models::kMaxAlgoChunks);
    const auto add = [&](std::uint32_t of, AlgoBuffer buffer) {
      const std::uint32_t chunks = models::buffer_chunks(algorithm_, of, buffer);
      if (std::uint64_t{index} + size > chunks) {
        refuse_with(
            kOtherMemory, at,
            fmt::format("chunks {} to {} are outside of the buffer of rank {}, which has {}", index,
                        std::int64_t{index} + size - 1, of, chunks));
      }
      ranges.push_back({of, buffer, index, size});
    };
    if (const auto id = at.find("switch_channel_id")) {
      const std::size_t number = index_of(*id, "switch_channel_id", lists.switches.size());
      const Switch& group = gpu_[rank].switches[lists.switches[number]];
      for (const std::uint32_t member : group.ranks) add(member, group.buffer);
      return;
    }
    if (const auto id = at.find("buffer_id")) {
      if (type != ChannelType::kMemory && type != ChannelType::kPort) {
        refuse(at, "a buffer of another rank needs the op's 'channel_type', memory or port");
      }
      const auto& all = lists.remote[type == ChannelType::kPort ? 1 : 0];
      const RemoteBuffer& remote = gpu_[rank].remote[all[index_of(*id, "buffer_id", all.size())]];
      add(remote.rank, remote.buffer);
      return;
    }
    add(rank, buffer(need(at, "type"), text(at, "type")));
  }

  // Checks the operands that an op needs.
  void check(const YamlValue& op, const AlgoStep& step) {
    using Op = AlgoStepKind;
    if (step.kind < Op::kPut) {
      const bool by_channel = step.kind >= Op::kSignal && step.kind <= Op::kRelaxedWait;
      if (by_channel && step.channels.empty()) {
        diagnostics_.warning(op.place(), models::Code::kAlgorithmIgnored, "the op names no channel")
            .notes.emplace_back("it does nothing");
      }
      return;
    }
    if (step.sources.empty() || step.targets.empty()) {
      refuse_with(
          kOtherMemory, op,
          fmt::format("'{}' needs 'src_buff' and 'dst_buff'", models::step_name(step.kind)));
    }
    const bool reduces_packets =
        step.kind >= Op::kReduceCopyPackets && step.kind <= Op::kReduceCopySendPackets;
    if (reduces_packets && step.targets.size() < 2) {
      refuse_with(kOtherMemory, op,
                  fmt::format("'{}' needs two targets: values, then packets",
                              models::step_name(step.kind)));
    }
    const bool signals = step.kind == Op::kPutSignal || step.kind == Op::kPutSignalFlush;
    if (signals && !step.port) {
      refuse_with("MSCCL++'s executor puts, and does not signal", op,
                  fmt::format("'{}' is only possible through a port channel",
                              models::step_name(step.kind)));
    }
    if (signals && step.channels.size() < step.targets.size()) {
      refuse_with(kOtherMemory, op, "each put needs a channel of its own");
    }
    const bool pairs = step.kind == Op::kGet || step.kind == Op::kPut || signals;
    for (std::size_t i = 0; pairs && i < step.targets.size(); ++i) {
      const AlgoRange& from = step.sources[std::min(i, step.sources.size() - 1)];
      if (step.kind == Op::kGet && from.index != step.targets[i].index) {
        diagnostics_
            .warning(
                op.place(), models::Code::kAlgorithmIgnored,
                fmt::format("'get' from chunk {} to chunk {}", from.index, step.targets[i].index))
            .notes.emplace_back(
                "MSCCL++'s executor swaps the two places (1f5f065); it is checked as "
                "it is written");
      }
    }
  }

  YamlValue root_;
  models::Diagnostics& diagnostics_;
  models::CollectiveAlgorithm algorithm_;
  std::vector<YamlValue> gpus_;
  std::vector<Gpu> gpu_;
};

}  // namespace

std::optional<models::CollectiveAlgorithm> read_mscclpp_plan(const std::string& text,
                                                             models::Diagnostics& diagnostics) {
  constexpr JsonKind kKind = {"an execution plan", models::Code::kAlgorithmSyntax, kFails};
  const std::optional<YamlDocument> document = read_json(text, kKind, diagnostics);
  if (!document) return std::nullopt;
  return MscclppPlanReader(document->root(), diagnostics).run();
}

}  // namespace pipesim::formats
