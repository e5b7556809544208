// The network of MSCCL's steps: see docs/reference/algorithms.md. The rules are those of the
// interpreter and parser of microsoft/msccl b23e9cd (src/collectives/device/msccl_interpreter.h,
// src/graph/topo.cc).
#include <algorithm>
#include <map>
#include <tuple>

#include "features/algorithm/network_builder.hpp"

namespace pipesim::models {
namespace {

// Maximum number of adjacent `re` that RCCL and microsoft/msccl fuse (MSCCL_MAX_REDUCE_FUSION).
constexpr std::uint32_t kMaxFusedReductions = 16;

class MscclNetwork {
 public:
  MscclNetwork(const CollectiveAlgorithm& algorithm, const AlgoNetworkOptions& options,
               AlgoMemory memory)
      : algorithm_(algorithm), per_slot_(std::max(1U, options.chunks_per_slot)) {
    build_.network.memory = std::move(memory);
  }

  AlgoNetwork run() {
    std::uint32_t index = 0;
    for (std::uint32_t rank = 0; rank < algorithm_.ranks.size(); ++rank) {
      first_block_.push_back(index);
      for (const AlgoBlock& block : algorithm_.ranks[rank].blocks) collect(rank, block, index++);
    }
    for (std::uint32_t rank = 0; rank < algorithm_.ranks.size(); ++rank) {
      const std::vector<AlgoBlock>& blocks = algorithm_.ranks[rank].blocks;
      for (std::uint32_t i = 0; i < blocks.size(); ++i) {
        build_.block(rank, i);
        add(rank, blocks[i], first_block_[rank] + i);
      }
    }
    build_.network.lanes = index;
    return build_.finish();
  }

 private:
  struct Message {
    std::uint32_t cells = 0;  // first cell
    std::uint32_t chunks = 0;
  };
  // The steps of a block that release waiters in other blocks of its rank.
  struct Published {
    std::uint32_t counter = 0;
    std::vector<std::uint32_t> steps;  // steps with `hasdep`, in order
  };

  std::uint32_t pieces(std::uint32_t count) const {
    return count / per_slot_ + (count % per_slot_ != 0 ? 1 : 0);
  }
  std::uint32_t piece_size(std::uint32_t count, std::uint32_t piece) const {
    return std::min(per_slot_, count - piece * per_slot_);
  }

  AlgoConnection& connection(std::uint32_t from, std::uint32_t to, std::uint32_t channel) {
    auto& connections = build_.network.connections;
    const auto [at, is_new] = connection_of_.emplace(
        std::tuple(from, to, channel), static_cast<std::uint32_t>(connections.size()));
    if (!is_new) return connections[at->second];
    AlgoConnection made;
    made.from = from;
    made.to = to;
    made.channel = channel;
    made.filled = build_.counter({sim::WaitKind::kPeerOfMessage, 0, to, from, at->second});
    made.freed = build_.counter({sim::WaitKind::kSlot, 0, from, to, at->second});
    messages_.emplace_back();
    connections.push_back(std::move(made));
    return connections.back();
  }

  std::uint32_t number_of(const AlgoConnection& of) const {
    return static_cast<std::uint32_t>(&of - build_.network.connections.data());
  }

  // Collects the messages and published steps of a block, to which other blocks refer.
  void collect(std::uint32_t rank, const AlgoBlock& block, std::uint32_t index) {
    Published& published = published_.emplace_back();
    published.counter = build_.counter({sim::WaitKind::kDependency, 0, rank, rank, index});
    for (std::uint32_t i = 0; i < block.steps.size(); ++i) {
      const AlgoStep& step = block.steps[i];
      if (step.publishes && step.kind != AlgoStepKind::kNop) published.steps.push_back(i);
      if (step.count == 0) continue;
      if (receives(step.kind)) {
        AlgoConnection& from = connection(block.receive_peer, rank, block.channel);
        from.receiver = index;
        from.received.push_back(i);
      }
      if (!sends(step.kind)) continue;
      AlgoConnection& to = connection(rank, block.send_peer, block.channel);
      to.sender = index;
      to.sent.push_back(i);
      std::uint32_t& cells = build_.network.memory.cell_count;
      for (std::uint32_t piece = 0; piece < pieces(step.count); ++piece) {
        const std::uint32_t size = piece_size(step.count, piece);
        messages_[number_of(to)].push_back({cells, size});
        cells += size;
      }
    }
  }

  // The state while a thread block is added.
  struct Progress {
    const AlgoConnection* in = nullptr;
    const AlgoConnection* out = nullptr;
    std::uint32_t received = 0;
    std::uint32_t sent = 0;
    // Dependencies of `nop`s, for the next step that begins a transfer.
    std::vector<AlgoDependency> pending;
    std::uint32_t last = kNoAlgoIndex;  // last node
  };

  void add(std::uint32_t rank, const AlgoBlock& block, std::uint32_t index) {
    Progress at;
    if (block.receive_peer != kNoPeer) at.in = find(block.receive_peer, rank, block.channel);
    if (block.send_peer != kNoPeer) at.out = find(rank, block.send_peer, block.channel);
    const AlgoStep* fused = nullptr;  // an `re` that the next `re` can be fused with
    std::uint32_t fused_count = 0;
    for (std::uint32_t i = 0; i < block.steps.size(); ++i) {
      const AlgoStep& step = block.steps[i];
      at.pending.insert(at.pending.end(), step.dependencies.begin(), step.dependencies.end());
      if (step.kind == AlgoStepKind::kNop) continue;
      const bool continues = fused != nullptr && can_be_fused(*fused, step);
      const std::uint32_t count = sends(step.kind) || receives(step.kind) ? pieces(step.count) : 1;
      for (std::uint32_t piece = 0; piece < std::max(1U, count); ++piece) {
        const std::uint32_t node = build_.node(i, 0, index);
        if (at.last != kNoAlgoIndex) build_.after(at.last);
        at.last = node;
        if (piece == 0 && !continues) need_pending(rank, at);
        if (count > 0) add_piece(step, piece, at);
      }
      if (step.publishes) build_.post(published_[index].counter);
      fused_count = continues ? fused_count + 1 : 1;
      fused = fused_count < kMaxFusedReductions ? &step : nullptr;
    }
  }

  const AlgoConnection* find(std::uint32_t from, std::uint32_t to, std::uint32_t channel) const {
    const auto found = connection_of_.find({from, to, channel});
    return found == connection_of_.end() ? nullptr : &build_.network.connections[found->second];
  }

  void need_pending(std::uint32_t rank, Progress& at) {
    for (const AlgoDependency& dependency : at.pending) need_step(rank, dependency);
    at.pending.clear();
  }

  void add_piece(const AlgoStep& step, std::uint32_t piece, Progress& at) {
    const bool whole = !sends(step.kind) && !receives(step.kind);
    const Message* from = nullptr;
    const Message* to = nullptr;
    if (receives(step.kind)) {
      build_.need(at.in->filled, ++at.received);
      build_.post(at.in->freed);
      const auto& queue = messages_[number_of(*at.in)];
      if (at.received <= queue.size()) from = &queue[at.received - 1];
    }
    if (sends(step.kind)) {
      build_.need(at.out->freed, ++at.sent);
      build_.post(at.out->filled);
      to = &messages_[number_of(*at.out)][at.sent - 1];
    }
    const std::uint32_t size = whole ? step.count : piece_size(step.count, piece);
    add_moves(step, piece * per_slot_, size, from, to);
  }

  // Adds the wait for a dependency. If the named step has no `hasdep`, the next step with `hasdep`
  // releases the waiter.
  void need_step(std::uint32_t rank, const AlgoDependency& dependency) {
    const Published& published = published_[first_block_[rank] + dependency.block];
    const auto found =
        std::lower_bound(published.steps.begin(), published.steps.end(), dependency.step);
    build_.need(published.counter,
                found == published.steps.end()
                    ? kNeverReached
                    : static_cast<std::uint32_t>(found - published.steps.begin()) + 1);
  }

  void add_moves(const AlgoStep& step, std::uint32_t begin, std::uint32_t size, const Message* from,
                 const Message* to) {
    using Kind = AlgoStepKind;
    const bool reads_source = step.kind != Kind::kReceive && step.kind != Kind::kReceiveCopySend;
    const bool writes_target = step.kind != Kind::kSend && step.kind != Kind::kReceiveReduceSend;
    AlgoNetwork& network = build_.network;
    // A receive without a message reads a cell that no step writes.
    if (receives(step.kind) && (from == nullptr || from->chunks < size) && unwritten_ == 0) {
      unwritten_ = network.memory.cell_count++;
    }
    for (std::uint32_t i = begin; i < begin + size; ++i) {
      build_.begin_move();
      // `re` adds the source to the target. The kinds that receive and reduce add the received data
      // to the source.
      if (step.kind == Kind::kReduce) network.reads.push_back(cell(step.targets[0], i));
      if (reads_source) network.reads.push_back(cell(step.sources[0], i));
      if (receives(step.kind)) {
        const bool sent = from != nullptr && i - begin < from->chunks;
        network.reads.push_back(sent ? from->cells + (i - begin) : unwritten_);
      }
      if (writes_target) network.writes.push_back(cell(step.targets[0], i));
      if (to != nullptr) network.writes.push_back(to->cells + (i - begin));
    }
  }

  std::uint32_t cell(const AlgoRange& range, std::uint32_t offset) const {
    return cell_of(algorithm_, build_.network.memory, range.rank, range.buffer,
                   range.index + offset, 0);
  }

  const CollectiveAlgorithm& algorithm_;
  const std::uint32_t per_slot_;
  NetworkBuilder build_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> connection_of_;
  std::vector<std::vector<Message>> messages_;  // messages per connection
  std::vector<Published> published_;            // published steps per block
  std::vector<std::uint32_t> first_block_;      // first block per rank
  std::uint32_t unwritten_ = 0;
};

}  // namespace

AlgoNetwork build_msccl_network(const CollectiveAlgorithm& algorithm,
                                const AlgoNetworkOptions& options, AlgoMemory memory) {
  return MscclNetwork(algorithm, options, std::move(memory)).run();
}

}  // namespace pipesim::models
