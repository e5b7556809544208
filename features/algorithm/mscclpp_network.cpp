// The network of MSCCL++'s ops: see docs/reference/algorithms.md. The rules are those of the
// executor of microsoft/mscclpp 1f5f065 (src/core/include/execution_kernel.hpp).
//
// The threads of a block share the work of an op: each thread has the same pieces of every range.
// So the same threads do piece j of one op and piece j of the next, in order: a lane. The few
// threads that signal and wait are another lane. `nop` and `barrier` join the lanes of a block.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "features/algorithm/network_builder.hpp"

namespace pipesim::models {
namespace {

using Kind = AlgoStepKind;

// Number of units of a pipeline, which repeats its ops for each unit. More than two units would
// show nothing new.
constexpr std::uint32_t kPipelineUnits = 2;

class MscclppNetwork {
 public:
  MscclppNetwork(const CollectiveAlgorithm& algorithm, const AlgoNetworkOptions& options,
                 AlgoMemory memory)
      : algorithm_(algorithm), launches_(options.launches), surrounded_(options.launches > 1) {
    build_.network.memory = std::move(memory);
    build_.network.launches = launches_;
  }

  AlgoNetwork run() {
    add_counters();
    for (std::uint32_t rank = 0; rank < algorithm_.ranks.size(); ++rank) {
      const std::vector<AlgoBlock>& blocks = algorithm_.ranks[rank].blocks;
      if (surrounded_) add_stream(rank);
      for (std::uint32_t i = 0; i < blocks.size(); ++i) {
        build_.block(rank, i);
        add_block(rank, blocks[i], i);
      }
    }
    build_.network.lanes = lanes_;
    find_contested();
    return build_.finish();
  }

 private:
  // The cells of a range: plain memory, or packets of the current launch.
  struct Cells {
    std::uint32_t begin = 0;
    std::uint32_t count = 0;
  };

  void add_counters() {
    for (std::uint32_t i = 0; i < algorithm_.channels.size(); ++i) {
      const AlgoChannel& channel = algorithm_.channels[i];
      signals_.push_back(
          build_.counter({sim::WaitKind::kSignal, 0, channel.rank, channel.peer, i}));
    }
    for (std::uint32_t rank = 0; rank < algorithm_.ranks.size(); ++rank) {
      std::vector<std::uint32_t>& of = semaphores_.emplace_back();
      for (const std::uint32_t initial : algorithm_.ranks[rank].semaphores) {
        of.push_back(build_.counter({sim::WaitKind::kSemaphore, initial, rank, rank,
                                     static_cast<std::uint32_t>(of.size())}));
      }
      if (!surrounded_) continue;
      launched_.push_back(build_.counter({sim::WaitKind::kStreamOrder, 0, rank, rank, 0}));
      for (std::uint32_t launch = 0; launch < launches_; ++launch) {
        ended_.push_back(build_.counter({sim::WaitKind::kStreamOrder, 0, rank, rank, 0}));
      }
    }
    // Counts the signals to a rank that has no channel for them. Nothing waits for this counter.
    unheard_ = build_.counter({sim::WaitKind::kSignal, 0, 0, 0, kNoAlgoIndex});
  }

  // Adds the kernels on the stream of a rank before, between and after the launches. Each kernel
  // reads the output of the previous launch and writes the input of the next launch.
  void add_stream(std::uint32_t rank) {
    build_.block(rank, kNoAlgoIndex);
    const auto blocks = static_cast<std::uint32_t>(algorithm_.ranks[rank].blocks.size());
    const std::uint32_t lane = lanes_++;
    for (std::uint32_t launch = 0; launch <= launches_; ++launch) {
      const std::uint32_t node = build_.node(kNoAlgoIndex, launch, lane);
      if (launch > 0) {
        build_.after(node - 1);
        build_.need(ended_[rank * launches_ + launch - 1], blocks);
        build_.move(all_cells(rank, AlgoBuffer::kOutput), {});
      }
      if (launch == launches_) break;
      build_.move({}, all_cells(rank, AlgoBuffer::kInput));
      build_.post(launched_[rank]);
    }
  }

  std::vector<std::uint32_t> all_cells(std::uint32_t rank, AlgoBuffer buffer) const {
    const AlgoMemory& memory = build_.network.memory;
    const std::uint32_t chunks = buffer_chunks(algorithm_, rank, buffer);
    std::vector<std::uint32_t> cells;
    for (std::uint32_t i = 0; i < chunks * memory.parts; ++i) {
      cells.push_back(cell_of(algorithm_, memory, rank, buffer, 0, 0) + i);
    }
    return cells;
  }

  void add_block(std::uint32_t rank, const AlgoBlock& block, std::uint32_t index) {
    rank_ = rank;
    block_ = index;
    first_lane_ = lanes_;
    lane_last_.clear();
    joined_ = kNoAlgoIndex;
    for (std::uint32_t launch = 0; launch < launches_; ++launch) {
      launch_ = launch;
      if (surrounded_) {
        join(kNoAlgoIndex);
        build_.need(launched_[rank], launch + 1);
      }
      for (std::uint32_t i = 0; i < block.steps.size();) i = add_steps(block, i);
      if (surrounded_) {
        join(kNoAlgoIndex);
        build_.post(ended_[rank * launches_ + launch]);
      }
    }
    lanes_ += static_cast<std::uint32_t>(std::max<std::size_t>(1, lane_last_.size()));
  }

  // Adds one step, or a whole pipeline. Returns the index of the next step.
  std::uint32_t add_steps(const AlgoBlock& block, std::uint32_t begin) {
    if (!block.steps[begin].in_pipeline) {
      unit_ = kNoAlgoIndex;
      add_step(block.steps[begin], begin);
      return begin + 1;
    }
    std::uint32_t end = begin;
    while (end < block.steps.size() && block.steps[end].in_pipeline &&
           block.steps[end].pipeline == block.steps[begin].pipeline) {
      ++end;
    }
    for (unit_ = 0; unit_ < kPipelineUnits; ++unit_) {
      for (std::uint32_t i = begin; i < end; ++i) add_step(block.steps[i], i);
    }
    return end;
  }

  // Adds a node to a lane; lane 0 has signals and waits.
  std::uint32_t node(std::uint32_t step, std::uint32_t lane) {
    if (lane_last_.size() <= lane) lane_last_.resize(lane + 1, kNoAlgoIndex);
    const std::uint32_t made = build_.node(step, launch_, first_lane_ + lane);
    if (lane_last_[lane] != kNoAlgoIndex) build_.after(lane_last_[lane]);
    if (joined_ != kNoAlgoIndex && joined_ != lane_last_[lane]) build_.after(joined_);
    lane_last_[lane] = made;
    return made;
  }

  // Adds a node after all previous nodes of the block and before all later ones.
  void join(std::uint32_t step) {
    std::vector<std::uint32_t> before = lane_last_;
    const std::uint32_t made = node(step, 0);
    for (std::size_t lane = 1; lane < before.size(); ++lane) {
      if (before[lane] != kNoAlgoIndex) build_.after(before[lane]);
    }
    joined_ = made;
  }

  void add_step(const AlgoStep& step, std::uint32_t index) {
    switch (step.kind) {
      case Kind::kSyncThreads:
        join(index);
        return;
      case Kind::kBarrier:
        add_barrier(step, index);
        return;
      case Kind::kSignal:
      case Kind::kRelaxedSignal:
        build_.network.nodes[node(index, 0)].relaxed = step.kind == Kind::kRelaxedSignal;
        for (const AlgoChannelId channel : step.channels) signal(channel);
        return;
      case Kind::kWait:
      case Kind::kRelaxedWait:
        build_.network.nodes[node(index, 0)].relaxed = step.kind == Kind::kRelaxedWait;
        for (const AlgoChannelId channel : step.channels) take(signals_[channel]);
        return;
      case Kind::kFlush:
        return;
      case Kind::kAcquire:
        node(index, 0);
        for (const std::uint32_t semaphore : step.semaphores) take(semaphores_[rank_][semaphore]);
        return;
      case Kind::kRelease:
        node(index, 0);
        for (const std::uint32_t semaphore : step.semaphores) {
          build_.post(semaphores_[rank_][semaphore]);
        }
        return;
      case Kind::kPut:
      case Kind::kPutSignal:
      case Kind::kPutSignalFlush:
      case Kind::kGet:
      case Kind::kPutPackets:
        add_pairs(step, index);
        return;
      default:
        add_sum(step, index);
    }
  }

  void signal(AlgoChannelId channel) {
    const std::optional<AlgoChannelId>& other = algorithm_.channels[channel].other;
    build_.post(other ? signals_[*other] : unheard_);
  }

  // Adds a need: the next take of this block from a counter.
  void take(std::uint32_t counter) {
    const std::uint32_t count = ++taken_[{counter, rank_, block_}];
    takers_[counter].insert({rank_, block_});
    build_.need(counter, count);
  }

  // Adds a barrier. Each use of a barrier has its own counter.
  void add_barrier(const AlgoStep& step, std::uint32_t index) {
    const std::uint32_t times = ++barrier_uses_[{rank_, step.barrier, block_}];
    const auto [found, is_new] = barriers_.emplace(std::tuple(rank_, step.barrier, times), 0);
    if (is_new) {
      found->second = build_.counter({sim::WaitKind::kBarrier, 0, rank_, rank_, step.barrier});
    }
    join(index);
    build_.post(found->second);
    join(index);
    build_.need(found->second, step.barrier_blocks);
    if (++barrier_members_[found->second] > step.barrier_blocks) {
      build_.network.uneven_barrier = true;
    }
  }

  // Adds the copies of each source i to target i. With a port, the signaling threads copy.
  void add_pairs(const AlgoStep& step, std::uint32_t index) {
    const bool packets = step.kind == Kind::kPutPackets;
    if (step.port) {
      node(index, 0);
      for (std::size_t i = 0; i < step.targets.size(); ++i) {
        const Cells from = cells(source_of(step, i), step, packets);
        const Cells to = cells(step.targets[i], step, packets);
        for (std::uint32_t j = 0; j < std::min(from.count, to.count); ++j) {
          build_.move({from.begin + j}, {to.begin + j});
          if (packets) wrote_packet(to.begin + j);
        }
      }
      if (step.kind == Kind::kPut || packets) return;
      for (const AlgoChannelId channel : step.channels) signal(channel);
      return;
    }
    for (std::size_t i = 0; i < step.targets.size(); ++i) {
      const Cells from = cells(source_of(step, i), step, false);
      const Cells to = cells(step.targets[i], step, packets);
      for (std::uint32_t j = 0; j < std::min(from.count, to.count); ++j) {
        node(index, j + 1);
        build_.move({from.begin + j}, {to.begin + j});
        if (packets) wrote_packet(to.begin + j);
      }
    }
    if (step.kind == Kind::kPutSignal || step.kind == Kind::kPutSignalFlush) {
      node(index, 0);
      for (const AlgoChannelId channel : step.channels) signal(channel);
    }
  }

  static const AlgoRange& source_of(const AlgoStep& step, std::size_t i) {
    return step.sources[std::min(i, step.sources.size() - 1)];
  }

  // Adds the moves that set all targets to the sum of the sources.
  void add_sum(const AlgoStep& step, std::uint32_t index) {
    const bool own_is_last =
        step.kind >= Kind::kReducePackets && step.kind <= Kind::kReduceCopySendPackets;
    const auto is_packet_source = [&](std::size_t i) {
      return step.kind == Kind::kReadPutPackets || step.kind == Kind::kUnpackPackets ||
             step.kind == Kind::kSwitchStorePackets || (own_is_last && i > 0);
    };
    const auto is_packet_target = [&](std::size_t i) {
      return step.kind == Kind::kReadPutPackets || step.kind == Kind::kCopyPackets ||
             step.kind == Kind::kSwitchStorePackets || (own_is_last && i > 0);
    };
    std::vector<Cells> from;
    std::vector<Cells> to;
    std::uint32_t count = 0xffffffff;
    for (std::size_t i = 0; i < step.sources.size(); ++i) {
      from.push_back(cells(step.sources[i], step, is_packet_source(i)));
      count = std::min(count, from.back().count);
    }
    for (std::size_t i = 0; i < step.targets.size(); ++i) {
      to.push_back(cells(step.targets[i], step, is_packet_target(i)));
      count = std::min(count, to.back().count);
    }
    if (from.empty() || to.empty()) return;
    for (std::uint32_t j = 0; j < count; ++j) {
      node(index, j + 1);
      reads_.clear();
      writes_.clear();
      for (std::size_t i = 0; i < from.size(); ++i) {
        // Packets are summed first, and the rank's own value is added last.
        const std::size_t at = own_is_last ? (i + 1) % from.size() : i;
        reads_.push_back(from[at].begin + j);
        if (is_packet_source(at)) build_.need(packet_counter(from[at].begin + j), 1);
      }
      for (std::size_t i = 0; i < to.size(); ++i) {
        writes_.push_back(to[i].begin + j);
        if (is_packet_target(i)) wrote_packet(to[i].begin + j);
      }
      build_.move(reads_, writes_, step.kind == Kind::kSwitchReduce);
    }
  }

  // Returns the cells of this block's part of `range`.
  Cells cells(const AlgoRange& range, const AlgoStep& step, bool packet) const {
    const AlgoMemory& memory = build_.network.memory;
    const std::uint64_t size = std::uint64_t{range.size} * memory.parts;
    std::uint64_t begin = size * step.part / step.parts;
    std::uint64_t end = size * (step.part + 1) / step.parts;
    if (unit_ != kNoAlgoIndex) {
      const std::uint64_t middle = (begin + end) / 2;
      (unit_ == 0 ? end : begin) = middle;
    }
    std::uint32_t first = cell_of(algorithm_, memory, range.rank, range.buffer, range.index, 0);
    if (packet && range.buffer == AlgoBuffer::kScratch) {
      const std::uint32_t scratch = algorithm_.ranks[range.rank].scratch_chunks;
      const std::uint32_t half = algorithm_.double_scratch ? launch_ % 2 : 0;
      first += (1 + half) * scratch * memory.parts;
    }
    return {first + static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - begin)};
  }

  // Returns the counter of a packet. Packets carry the number of their launch, so a read waits for
  // the write of its own launch.
  std::uint32_t packet_counter(std::uint32_t cell) {
    const auto [found, is_new] = packets_.emplace(std::pair(cell, launch_), 0);
    if (is_new) {
      found->second = build_.counter({sim::WaitKind::kPacket, 0, rank_, rank_, cell});
    }
    return found->second;
  }
  void wrote_packet(std::uint32_t cell) { build_.post(packet_counter(cell)); }

  // Marks counters from which several thread blocks take: the result depends on the order of the
  // takes.
  void find_contested() {
    AlgoNetwork& network = build_.network;
    for (const auto& [counter, takers] : takers_) {
      if (takers.size() < 2) continue;
      network.counters[counter].contested = true;
      network.searched_only = true;
    }
  }

  const CollectiveAlgorithm& algorithm_;
  const std::uint32_t launches_;
  const bool surrounded_;
  NetworkBuilder build_;
  std::vector<std::uint32_t> signals_;                  // counter of each channel
  std::vector<std::vector<std::uint32_t>> semaphores_;  // counters per rank
  std::vector<std::uint32_t> launched_;                 // counter of launches, per rank
  std::vector<std::uint32_t> ended_;  // counter of ended thread blocks, per rank and launch
  std::uint32_t unheard_ = 0;
  // (rank, barrier, use) to counter; (rank, barrier, block) to number of uses.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> barriers_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> barrier_uses_;
  std::map<std::uint32_t, std::uint32_t> barrier_members_;
  // Counter by (cell, launch).
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> packets_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> taken_;
  std::map<std::uint32_t, std::set<std::pair<std::uint32_t, std::uint32_t>>> takers_;
  // State of the current block:
  std::uint32_t rank_ = 0, block_ = 0, launch_ = 0;
  std::uint32_t unit_ = kNoAlgoIndex;  // unit of the current pipeline
  std::uint32_t lanes_ = 0, first_lane_ = 0;
  std::vector<std::uint32_t> lane_last_;
  std::uint32_t joined_ = kNoAlgoIndex;
  std::vector<std::uint32_t> reads_, writes_;
};

}  // namespace

AlgoNetwork build_mscclpp_network(const CollectiveAlgorithm& algorithm,
                                  const AlgoNetworkOptions& options, AlgoMemory memory) {
  return MscclppNetwork(algorithm, options, std::move(memory)).run();
}

}  // namespace pipesim::models
