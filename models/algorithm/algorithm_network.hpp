// A collective algorithm as a network of processes: what each thread block does, piece by piece,
// and what each piece waits for.
//
// A thread block does its nodes in their order. A node waits until counters have reached values,
// moves and sums cells, and then raises counters. Counters only go up, and every one is waited for
// by one thread block (else `contested`), so this is a Kahn network: every order of the thread
// blocks ends in the same state, and one run is a proof.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithm/collective_algorithm.hpp"
#include "sim/wait_graph.hpp"

namespace pipesim::models {

/// The wait is never satisfied.
inline constexpr std::uint32_t kNeverReached = 0xffffffff;

/// No step, block, rank or counter.
inline constexpr std::uint32_t kNoAlgoIndex = 0xffffffff;

/// What is counted, by how a wait for it is called.
struct AlgoCounter {
  sim::WaitKind kind = sim::WaitKind::kDependency;
  std::uint32_t initial = 0;
  std::uint32_t rank = 0;     // who waits
  std::uint32_t peer = 0;     // whose work raises it
  std::uint32_t channel = 0;  // of a connection of MSCCL, else of CollectiveAlgorithm::channels
  bool contested = false;     // several thread blocks take from it: the order can matter
};

/// `counter` has to reach `count`. Of a counter of kind kSlot it may lag by the number of slots.
struct AlgoNeed {
  std::uint32_t counter = 0;
  std::uint32_t count = 0;
};

/// All of `writes` become the sum of `reads`, added up from the first on; or of a switch, in an
/// order that it chooses, the same for all.
struct AlgoMove {
  std::uint32_t reads_begin = 0;
  std::uint32_t writes_begin = 0;
  bool by_switch = false;
};

struct AlgoNode {
  std::uint32_t block = 0;            // index in AlgoNetwork::blocks
  std::uint32_t step = kNoAlgoIndex;  // in its block; none: the begin or end of a launch
  std::uint32_t launch = 0;
  std::uint32_t lane = 0;  // nodes of one lane happen in their order
  bool relaxed = false;    // what it waits for or raises carries no data
  std::uint32_t needs_begin = 0;
  std::uint32_t posts_begin = 0;
  std::uint32_t moves_begin = 0;
  std::uint32_t after_begin = 0;
};

struct AlgoNetworkBlock {
  std::uint32_t rank = 0;
  std::uint32_t block = 0;  // in its rank; kNoAlgoIndex: what the stream runs around the launches
  std::uint32_t nodes_begin = 0;
};

/// A connection of MSCCL: (from, to, channel).
struct AlgoConnection {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t channel = 0;
  std::uint32_t filled = kNoAlgoIndex;  // counters: messages sent,
  std::uint32_t freed = kNoAlgoIndex;   // and taken
  std::uint32_t sender = kNoAlgoIndex;  // blocks
  std::uint32_t receiver = kNoAlgoIndex;
  std::vector<std::uint32_t> sent;      // steps of the sender that send, in order
  std::vector<std::uint32_t> received;  // steps of the receiver that receive
};

/// The memory of all ranks in cells: a chunk, or where thread blocks share one, its parts.
struct AlgoMemory {
  bool in_place = false;
  std::uint32_t parts = 1;                // cells of a chunk
  std::vector<std::uint32_t> rank_begin;  // one more than ranks: cells of a rank, with packets
  std::uint32_t cell_count = 0;           // with those of messages, behind all ranks
  std::uint32_t input_chunks = 0, output_chunks = 0;  // of the collective, the same on all ranks
};

struct AlgoNetwork {
  AlgoMemory memory;
  std::vector<AlgoNetworkBlock> blocks;  // and one beyond, for nodes_begin
  std::vector<AlgoNode> nodes;           // and one beyond, for the begins
  std::vector<AlgoNeed> needs;
  std::vector<std::uint32_t> posts;  // counters
  std::vector<AlgoMove> moves;       // and one beyond
  std::vector<std::uint32_t> reads;  // cells
  std::vector<std::uint32_t> writes;
  std::vector<std::uint32_t> after;  // nodes of the same block that come before
  std::vector<AlgoCounter> counters;
  std::vector<AlgoConnection> connections;
  std::uint32_t lanes = 0;
  std::uint32_t launches = 1;
  bool searched_only = false;   // it has a contested counter
  bool uneven_barrier = false;  // more thread blocks come to a barrier than it waits for

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes.size() - 1); }
  std::uint32_t block_count() const { return static_cast<std::uint32_t>(blocks.size() - 1); }
};

/// Cells of `rank`: chunk `index` of a buffer, part `part` of it. Where in place the output is the
/// input (or a piece of it), they are the same cells.
std::uint32_t cell_of(const CollectiveAlgorithm& algorithm, const AlgoMemory& memory,
                      std::uint32_t rank, AlgoBuffer buffer, std::uint32_t index,
                      std::uint32_t part);

/// What a cell is: the reverse of cell_of. `packet`: it belongs to the packets of the scratch
/// buffer (of the second half, too). Not of messages.
struct AlgoCell {
  std::uint32_t rank = 0;
  AlgoBuffer buffer = AlgoBuffer::kInput;
  std::uint32_t index = 0;
  std::uint32_t part = 0;
  bool packet = false;
};
AlgoCell describe_cell(const CollectiveAlgorithm& algorithm, const AlgoMemory& memory,
                       std::uint32_t cell);

/// How many chunks a buffer of a rank has: what is declared, or what the collective needs.
std::uint32_t buffer_chunks(const CollectiveAlgorithm& algorithm, std::uint32_t rank,
                            AlgoBuffer buffer);

struct AlgoNetworkOptions {
  bool in_place = false;
  std::uint32_t chunks_per_slot = kMaxStepCount - 1;  // MSCCL: larger steps are done in pieces
  std::uint32_t launches = 1;  // MSCCL++: more than one with what surrounds them on each stream
};

/// More parts of a chunk, pieces of steps, or cells in all, than this are refused.
inline constexpr std::uint32_t kMaxChunkParts = 5040;
inline constexpr std::uint32_t kMaxAlgoNodes = 2'000'000;
inline constexpr std::uint32_t kMaxAlgoCells = 20'000'000;

/// The network of one use of `algorithm`, which the readers have checked. Throws
/// std::length_error where it is larger than the limits above.
AlgoNetwork build_network(const CollectiveAlgorithm& algorithm, const AlgoNetworkOptions& options);

/// How a run of a network went. Any number of slots: kUnlimitedSlots.
inline constexpr std::uint32_t kUnlimitedSlots = 0xffffffff;

struct AlgoRun {
  bool completed = false;
  std::vector<std::uint32_t> order;   // nodes, as they were done
  std::vector<std::uint32_t> next;    // of each block: the node that it comes to next
  std::vector<std::uint32_t> counts;  // of each counter
};

/// Runs `network` in one order. Linear in nodes, needs and posts.
AlgoRun run_network(const AlgoNetwork& network, std::uint32_t slots);

/// Whether some order hangs, of a network with contested counters: who takes is tried in every way.
enum class AlgoSearch : std::uint8_t { kNone, kHangs, kGaveUp };
struct AlgoSearchResult {
  AlgoSearch found = AlgoSearch::kNone;
  std::uint64_t states = 0;
  AlgoRun hang;  // if there is one
};
AlgoSearchResult search_orders(const AlgoNetwork& network, std::uint32_t slots,
                               std::uint64_t max_states);

}  // namespace pipesim::models
