#include "features/algorithm/algorithm_network.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

#include "features/algorithm/network_builder.hpp"

namespace pipesim::models {
namespace {

// Returns the number of chunks that the collective needs in a rank's `buffer`; 0 for kOther, whose
// number is unknown.
std::uint32_t needed_chunks(const CollectiveAlgorithm& algorithm, AlgoBuffer buffer) {
  const std::uint32_t all = algorithm.chunks_per_loop;
  const auto ranks = static_cast<std::uint32_t>(std::max<std::size_t>(1, algorithm.ranks.size()));
  const bool input = buffer == AlgoBuffer::kInput;
  switch (algorithm.collective) {
    case AlgoCollective::kAllReduce:
    case AlgoCollective::kAllToAll:
      return all;
    case AlgoCollective::kAllGather:
      return input ? all / ranks : all;
    case AlgoCollective::kReduceScatter:
      return input ? all : all / ranks;
    case AlgoCollective::kOther:
      break;
  }
  return 0;
}

// The offsets of a rank's buffers, in chunks.
struct Layout {
  std::uint32_t input = 0, output = 0, scratch = 0, packets = 0, end = 0;
};

Layout layout_of(const CollectiveAlgorithm& algorithm, bool in_place, std::uint32_t rank) {
  const std::uint32_t in = buffer_chunks(algorithm, rank, AlgoBuffer::kInput);
  const std::uint32_t out = buffer_chunks(algorithm, rank, AlgoBuffer::kOutput);
  const std::uint32_t scratch = algorithm.ranks[rank].scratch_chunks;
  Layout layout;
  if (!in_place) {
    layout.output = in;
    layout.scratch = in + out;
  } else {
    const auto piece = [&](AlgoBuffer buffer) { return rank * needed_chunks(algorithm, buffer); };
    if (algorithm.collective == AlgoCollective::kAllGather)
      layout.input = piece(AlgoBuffer::kInput);
    if (algorithm.collective == AlgoCollective::kReduceScatter) {
      layout.output = piece(AlgoBuffer::kOutput);
    }
    layout.scratch = std::max(layout.input + in, layout.output + out);
  }
  layout.packets = layout.scratch + scratch;
  const std::uint32_t halves = algorithm.format == AlgoFormat::kMscclXml ? 0
                               : algorithm.double_scratch                ? 2
                                                                         : 1;
  layout.end = layout.packets + halves * scratch;
  return layout;
}

// Returns a number of parts per chunk such that all ranges of all steps begin and end at the
// boundary of a part.
std::uint32_t chunk_parts(const CollectiveAlgorithm& algorithm) {
  std::uint64_t parts = 1;
  bool pipeline = false;
  std::set<std::uint64_t> denominators;
  for (const AlgoRank& rank : algorithm.ranks) {
    for (const AlgoBlock& block : rank.blocks) {
      for (const AlgoStep& step : block.steps) {
        pipeline = pipeline || step.in_pipeline;
        if (step.parts == 1) continue;
        for (const auto* ranges : {&step.sources, &step.targets}) {
          for (const AlgoRange& range : *ranges) {
            denominators.insert(step.parts / std::gcd(step.parts, std::max(1U, range.size)));
          }
        }
      }
    }
  }
  for (const std::uint64_t denominator : denominators) {
    parts = std::lcm(parts, denominator);
    if (parts > kMaxChunkParts) throw std::length_error("chunks are cut into too many parts");
  }
  return static_cast<std::uint32_t>(pipeline ? 2 * parts : parts);
}

class Runner {
 public:
  Runner(const AlgoNetwork& network, std::uint32_t slots)
      : network_(network), slots_(slots), first_waiter_(network.counters.size(), kNoAlgoIndex) {
    run.counts.reserve(network.counters.size());
    for (const AlgoCounter& counter : network.counters) run.counts.push_back(counter.initial);
    run.next.reserve(network.block_count());
    for (std::uint32_t block = 0; block < network.block_count(); ++block) {
      run.next.push_back(network.blocks[block].nodes_begin);
    }
    next_waiter_.assign(network.block_count(), kNoAlgoIndex);
    taken_.assign(network.counters.size(), 0);
  }

  // Runs all nodes that need no choice. A thread block that reaches a contested counter stops
  // there.
  void finish() {
    run.order.reserve(network_.node_count());
    for (std::uint32_t block = network_.block_count(); block-- > 0;) ready_.push_back(block);
    work();
  }

  // Lets thread blocks take from contested counters, in block order, until no thread block can
  // take.
  void take_in_order() {
    for (bool more = true; more;) {
      more = false;
      for (std::uint32_t block = 0; block < network_.block_count(); ++block) {
        if (!can_take(block)) continue;
        take(block);
        more = true;
      }
    }
  }

  bool can_take(std::uint32_t block) const {
    const std::uint32_t node = run.next[block];
    if (node == end_of(block)) return false;
    bool contested = false;
    for (std::uint32_t i = needs_begin(node); i < needs_begin(node + 1); ++i) {
      const AlgoNeed& need = network_.needs[i];
      if (!network_.counters[need.counter].contested) {
        if (!met(need)) return false;
        continue;
      }
      contested = true;
      if (run.counts[need.counter] <= taken_[need.counter]) return false;
    }
    return contested;
  }

  void take(std::uint32_t block) {
    const std::uint32_t node = run.next[block];
    for (std::uint32_t i = needs_begin(node); i < needs_begin(node + 1); ++i) {
      if (network_.counters[network_.needs[i].counter].contested) {
        ++taken_[network_.needs[i].counter];
      }
    }
    do_node(block);
    ready_.push_back(block);
    work();
  }

  bool all_done() const { return run.order.size() == network_.node_count(); }

  AlgoRun run;

 private:
  std::uint32_t needs_begin(std::uint32_t node) const { return network_.nodes[node].needs_begin; }
  std::uint32_t end_of(std::uint32_t block) const { return network_.blocks[block + 1].nodes_begin; }

  bool met(const AlgoNeed& need) const {
    const AlgoCounter& counter = network_.counters[need.counter];
    if (counter.kind == sim::WaitKind::kSlot && need.count <= slots_) return true;
    const std::uint32_t count =
        counter.kind == sim::WaitKind::kSlot ? need.count - slots_ : need.count;
    return run.counts[need.counter] >= count;
  }

  // Returns the counter of the node's first need that is unmet or contested; kNoAlgoIndex if there
  // is no such need.
  std::uint32_t blocking(std::uint32_t node) const {
    for (std::uint32_t i = needs_begin(node); i < needs_begin(node + 1); ++i) {
      const AlgoNeed& need = network_.needs[i];
      if (network_.counters[need.counter].contested || !met(need)) return need.counter;
    }
    return kNoAlgoIndex;
  }

  void do_node(std::uint32_t block) {
    const std::uint32_t node = run.next[block]++;
    run.order.push_back(node);
    for (std::uint32_t i = network_.nodes[node].posts_begin;
         i < network_.nodes[node + 1].posts_begin; ++i) {
      const std::uint32_t counter = network_.posts[i];
      ++run.counts[counter];
      // Wakes all waiters of this counter; waiters that are still blocked queue up again.
      for (std::uint32_t waiter = first_waiter_[counter]; waiter != kNoAlgoIndex;) {
        ready_.push_back(waiter);
        waiter = next_waiter_[waiter];
      }
      first_waiter_[counter] = kNoAlgoIndex;
    }
  }

  void work() {
    while (!ready_.empty()) {
      const std::uint32_t block = ready_.back();
      ready_.pop_back();
      for (;;) {
        if (run.next[block] == end_of(block)) break;
        const std::uint32_t counter = blocking(run.next[block]);
        if (counter == kNoAlgoIndex) {
          do_node(block);
          continue;
        }
        if (!network_.counters[counter].contested) {
          next_waiter_[block] = first_waiter_[counter];
          first_waiter_[counter] = block;
        }
        break;
      }
    }
  }

  const AlgoNetwork& network_;
  const std::uint32_t slots_;
  std::vector<std::uint32_t> first_waiter_;  // [counter]: first thread block that waits for it
  std::vector<std::uint32_t> next_waiter_;
  std::vector<std::uint32_t> taken_;  // [contested counter]: number of takes
  std::vector<std::uint32_t> ready_;
};

}  // namespace

std::uint32_t buffer_chunks(const CollectiveAlgorithm& algorithm, std::uint32_t rank,
                            AlgoBuffer buffer) {
  const AlgoRank& of = algorithm.ranks[rank];
  const std::uint32_t declared = buffer == AlgoBuffer::kInput    ? of.input_chunks
                                 : buffer == AlgoBuffer::kOutput ? of.output_chunks
                                                                 : of.scratch_chunks;
  if (buffer == AlgoBuffer::kScratch) return declared;
  return std::max(declared, needed_chunks(algorithm, buffer));
}

std::uint32_t cell_of(const CollectiveAlgorithm& algorithm, const AlgoMemory& memory,
                      std::uint32_t rank, AlgoBuffer buffer, std::uint32_t index,
                      std::uint32_t part) {
  const Layout layout = layout_of(algorithm, memory.in_place, rank);
  const std::uint32_t begin = buffer == AlgoBuffer::kInput    ? layout.input
                              : buffer == AlgoBuffer::kOutput ? layout.output
                                                              : layout.scratch;
  return memory.rank_begin[rank] + (begin + index) * memory.parts + part;
}

AlgoCell describe_cell(const CollectiveAlgorithm& algorithm, const AlgoMemory& memory,
                       std::uint32_t cell) {
  const auto after = std::upper_bound(memory.rank_begin.begin(), memory.rank_begin.end(), cell);
  AlgoCell result;
  result.rank = static_cast<std::uint32_t>(after - memory.rank_begin.begin()) - 1;
  const std::uint32_t place = cell - memory.rank_begin[result.rank];
  result.part = place % memory.parts;
  std::uint32_t chunk = place / memory.parts;
  const Layout layout = layout_of(algorithm, memory.in_place, result.rank);
  if (chunk >= layout.packets) {
    result.packet = true;
    result.buffer = AlgoBuffer::kScratch;
    result.index =
        (chunk - layout.packets) % std::max(1U, algorithm.ranks[result.rank].scratch_chunks);
    return result;
  }
  // In place, the larger one of input and output names a cell. If their sizes are equal, the input
  // names the cell, as in files.
  const bool by_output = algorithm.collective == AlgoCollective::kAllGather;
  if (chunk >= layout.scratch) {
    result.buffer = AlgoBuffer::kScratch;
    result.index = chunk - layout.scratch;
  } else if (memory.in_place ? by_output : chunk >= layout.output) {
    result.buffer = AlgoBuffer::kOutput;
    result.index = chunk - layout.output;
  } else {
    result.index = chunk - layout.input;
  }
  return result;
}

AlgoNetwork build_network(const CollectiveAlgorithm& algorithm, const AlgoNetworkOptions& options) {
  AlgoMemory memory;
  memory.in_place = options.in_place;
  memory.parts = chunk_parts(algorithm);
  memory.input_chunks = needed_chunks(algorithm, AlgoBuffer::kInput);
  memory.output_chunks = needed_chunks(algorithm, AlgoBuffer::kOutput);
  std::uint64_t cells = 0;
  for (std::uint32_t rank = 0; rank < algorithm.ranks.size(); ++rank) {
    memory.rank_begin.push_back(static_cast<std::uint32_t>(cells));
    cells += std::uint64_t{layout_of(algorithm, options.in_place, rank).end} * memory.parts;
    if (cells > kMaxAlgoCells) throw std::length_error("too many chunks");
  }
  memory.rank_begin.push_back(static_cast<std::uint32_t>(cells));
  memory.cell_count = static_cast<std::uint32_t>(cells);
  return algorithm.format == AlgoFormat::kMscclXml
             ? build_msccl_network(algorithm, options, std::move(memory))
             : build_mscclpp_network(algorithm, options, std::move(memory));
}

AlgoRun run_network(const AlgoNetwork& network, std::uint32_t slots) {
  Runner runner(network, slots);
  runner.finish();
  if (network.searched_only) runner.take_in_order();
  runner.run.completed = runner.all_done();
  return std::move(runner.run);
}

// Searches all orders in which thread blocks can take from contested counters. The positions of all
// thread blocks are the state, because they determine the counters. Nodes without a choice run at
// once: they take nothing that another block could take.
AlgoSearchResult search_orders(const AlgoNetwork& network, std::uint32_t slots,
                               std::uint64_t max_states) {
  AlgoSearchResult result;
  std::set<std::vector<std::uint32_t>> seen;
  Runner start(network, slots);
  start.finish();
  seen.insert(start.run.next);
  std::vector<Runner> stack = {std::move(start)};
  while (!stack.empty()) {
    if (++result.states > max_states) {
      result.found = AlgoSearch::kGaveUp;
      return result;
    }
    const Runner state = std::move(stack.back());
    stack.pop_back();
    bool any = false;
    for (std::uint32_t block = 0; block < network.block_count(); ++block) {
      if (!state.can_take(block)) continue;
      any = true;
      Runner next = state;
      next.take(block);
      if (seen.insert(next.run.next).second) stack.push_back(std::move(next));
    }
    if (any || state.all_done()) continue;
    result.found = AlgoSearch::kHangs;
    result.hang = state.run;
    return result;
  }
  return result;
}

}  // namespace pipesim::models
