// A collective algorithm as a network of processes: the work of each thread block in pieces, and
// the needs of each piece.
//
// A thread block runs its nodes in order. A node waits until counters reach given values, moves and
// sums cells, and then raises counters. Counters only grow, and each counter has waiters in one
// thread block only (otherwise it is `contested`). So this is a Kahn process network: every order
// of the thread blocks ends in the same state, and one run is a proof.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/wait_graph.hpp"

#include "features/algorithm/collective_algorithm.hpp"

namespace pipesim::models {

/// A count that no counter reaches.
inline constexpr std::uint32_t kNeverReached = 0xffffffff;

/// The index of no step, block, rank or counter.
inline constexpr std::uint32_t kNoAlgoIndex = 0xffffffff;

/// A counter. `kind` is the kind of the waits for this counter.
struct AlgoCounter {
  sim::WaitKind kind = sim::WaitKind::kDependency;
  std::uint32_t initial = 0;
  std::uint32_t rank = 0;  // the rank that waits
  std::uint32_t peer = 0;  // the rank that raises the counter
  // Index of the object that is counted, by `kind`: a connection, a channel in
  // CollectiveAlgorithm::channels, a thread block, a semaphore, a barrier or a cell.
  std::uint32_t channel = 0;
  // Whether several thread blocks take from the counter, so that their order can matter.
  bool contested = false;
};

/// The condition that `counter` reaches `count`. A counter of kind kSlot may lag by the number of
/// slots.
struct AlgoNeed {
  std::uint32_t counter = 0;
  std::uint32_t count = 0;
};

/// A move sets all cells that it writes to the sum of the cells that it reads, added in this order.
/// A switch adds in its own order, which is the same for all ranks.
struct AlgoMove {
  std::uint32_t reads_begin = 0;
  std::uint32_t writes_begin = 0;
  bool by_switch = false;
};

struct AlgoNode {
  std::uint32_t block = 0;            // index in AlgoNetwork::blocks
  std::uint32_t step = kNoAlgoIndex;  // index in its block; kNoAlgoIndex: begin or end of a launch
  std::uint32_t launch = 0;
  std::uint32_t lane = 0;  // nodes of one lane run in order
  bool relaxed = false;    // whether its waits and signals order no data
  std::uint32_t needs_begin = 0;
  std::uint32_t posts_begin = 0;
  std::uint32_t moves_begin = 0;
  std::uint32_t after_begin = 0;
};

struct AlgoNetworkBlock {
  std::uint32_t rank = 0;
  // Index in its rank; kNoAlgoIndex: the stream's kernels around the launches.
  std::uint32_t block = 0;
  std::uint32_t nodes_begin = 0;
};

/// A connection of MSCCL: (from, to, channel).
struct AlgoConnection {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t channel = 0;
  std::uint32_t filled = kNoAlgoIndex;  // counter of messages sent
  std::uint32_t freed = kNoAlgoIndex;   // counter of messages taken
  std::uint32_t sender = kNoAlgoIndex;  // sending block
  std::uint32_t receiver = kNoAlgoIndex;
  std::vector<std::uint32_t> sent;      // sending steps, in order
  std::vector<std::uint32_t> received;  // receiving steps, in order
};

/// The memory of all ranks in cells. A cell is a chunk, or a part of a chunk if thread blocks share
/// chunks.
struct AlgoMemory {
  bool in_place = false;
  std::uint32_t parts = 1;                // cells per chunk
  std::vector<std::uint32_t> rank_begin;  // first cell of each rank, then the end; includes packets
  std::uint32_t cell_count = 0;           // includes the cells of messages, which follow all ranks
  // Numbers of chunks that the collective needs on each rank.
  std::uint32_t input_chunks = 0, output_chunks = 0;
};

struct AlgoNetwork {
  AlgoMemory memory;
  std::vector<AlgoNetworkBlock> blocks;  // plus an end block, whose nodes_begin ends the last block
  std::vector<AlgoNode> nodes;  // plus an end node, whose begins end the last node's ranges
  std::vector<AlgoNeed> needs;
  std::vector<std::uint32_t> posts;  // counters to raise
  std::vector<AlgoMove> moves;       // plus an end move, whose begins end the last move's ranges
  std::vector<std::uint32_t> reads;  // cells
  std::vector<std::uint32_t> writes;
  std::vector<std::uint32_t> after;  // earlier nodes of the node's block
  std::vector<AlgoCounter> counters;
  std::vector<AlgoConnection> connections;
  std::uint32_t lanes = 0;
  std::uint32_t launches = 1;
  bool searched_only = false;   // whether it has a contested counter
  bool uneven_barrier = false;  // whether more thread blocks reach a barrier than it waits for

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes.size() - 1); }
  std::uint32_t block_count() const { return static_cast<std::uint32_t>(blocks.size() - 1); }
};

/// Returns the cell of `rank` with part `part` of chunk `index` of a buffer. If the output is the
/// input (or a piece of it) in place, input and output share cells.
std::uint32_t cell_of(const CollectiveAlgorithm& algorithm, const AlgoMemory& memory,
                      std::uint32_t rank, AlgoBuffer buffer, std::uint32_t index,
                      std::uint32_t part);

/// A description of a cell that belongs to a buffer. describe_cell() is the reverse of cell_of().
/// `packet`: whether the cell holds packets of the scratch buffer (in either half).
struct AlgoCell {
  std::uint32_t rank = 0;
  AlgoBuffer buffer = AlgoBuffer::kInput;
  std::uint32_t index = 0;
  std::uint32_t part = 0;
  bool packet = false;
};
AlgoCell describe_cell(const CollectiveAlgorithm& algorithm, const AlgoMemory& memory,
                       std::uint32_t cell);

/// Returns the number of chunks in a buffer of a rank: the declared number, or the number that the
/// collective needs, if that is larger.
std::uint32_t buffer_chunks(const CollectiveAlgorithm& algorithm, std::uint32_t rank,
                            AlgoBuffer buffer);

struct AlgoNetworkOptions {
  bool in_place = false;
  std::uint32_t chunks_per_slot = kMaxStepCount - 1;  // MSCCL: larger steps are split
  // MSCCL++: if more than 1, the network includes the kernels around the launches
  std::uint32_t launches = 1;
};

/// Limits of the network: parts of a chunk, nodes, and cells.
inline constexpr std::uint32_t kMaxChunkParts = 5040;
inline constexpr std::uint32_t kMaxAlgoNodes = 2'000'000;
inline constexpr std::uint32_t kMaxAlgoCells = 20'000'000;

/// Builds the network of `algorithm`, which a reader has checked. Throws std::length_error if the
/// network exceeds the limits above.
AlgoNetwork build_network(const CollectiveAlgorithm& algorithm, const AlgoNetworkOptions& options);

/// Number of slots that never blocks a send.
inline constexpr std::uint32_t kUnlimitedSlots = 0xffffffff;

struct AlgoRun {
  bool completed = false;
  std::vector<std::uint32_t> order;   // nodes in the order in which they ran
  std::vector<std::uint32_t> next;    // next node of each block
  std::vector<std::uint32_t> counts;  // value of each counter
};

/// Runs `network` in one order, in time linear in its nodes, needs and posts.
AlgoRun run_network(const AlgoNetwork& network, std::uint32_t slots);

/// The result of search_orders(). It searches a network with contested counters for an order that
/// hangs: it tries all orders in which thread blocks can take from these counters.
enum class AlgoSearch : std::uint8_t { kNone, kHangs, kGaveUp };
struct AlgoSearchResult {
  AlgoSearch found = AlgoSearch::kNone;
  std::uint64_t states = 0;
  AlgoRun hang;  // a run that hangs, if `found` is kHangs
};
AlgoSearchResult search_orders(const AlgoNetwork& network, std::uint32_t slots,
                               std::uint64_t max_states);

}  // namespace pipesim::models
