// A pipeline schedule with its costs, as a part of the task graph. One host program per rank runs
// the schedule; one of eight models defines its sends and recvs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/operation.hpp"
#include "models/graph/rank_set.hpp"
#include "models/graph/schedule.hpp"

namespace pipesim::models {

struct TaskGraph;

/// The implementation of a schedule's sends and recvs. In all models, a send or recv starts after
/// all earlier computation in the rank's row of the schedule.
enum class MessageModel : std::uint8_t {
  kDir,   // buffered; one communicator and stream per peer and direction, in order
  kEdge,  // as kDir, but a send waits for its recv, as in all models below
  kPair,  // in order per peer: sends and recvs of both directions share a stream
  // In order per direction of the pipeline: a rank's forward sends and recvs share one communicator
  // and stream, and its backward ones share another.
  kDirection,
  kPg,       // in order per rank: all sends and recvs of a rank share a communicator and stream
  kSync,     // as kPg, and the host waits for each send and recv
  kBatch,    // as kPg; sends and recvs of one slot form a group: see in_megatron_order()
  kOverlap,  // as kPg, in Megatron-LM's order without groups
};

std::optional<MessageModel> find_message_model(std::string_view name);
std::vector<std::string> message_model_names();

/// The costs of a stage.
struct StageCost {
  std::int64_t forward_ns = 0;
  std::int64_t input_grad_ns = 0;
  std::int64_t weight_grad_ns = 0;
  std::int64_t activation_bytes = 0;  // size per micro-batch, from its forward to its last gradient
  std::int64_t weight_bytes = 0;      // size of the weights, held all the time
  std::int64_t unsharded_bytes = 0;   // size held from each kUnshard to its kReshard

  friend bool operator==(const StageCost&, const StageCost&) = default;
};

/// Amounts per stage or, if they differ, per stage and micro-batch. A single value applies to all.
struct StageAmounts {
  // One value per stage, or per stage and micro-batch (stage-major).
  std::vector<std::int64_t> values;
  std::uint32_t micro_batches = 1;  // number of values per stage

  bool by_micro_batch() const { return micro_batches > 1; }
  std::int64_t of(std::uint32_t stage, std::uint32_t micro_batch) const {
    if (values.size() == 1) return values.front();
    return values[std::size_t{stage} * micro_batches + (by_micro_batch() ? micro_batch : 0)];
  }

  friend bool operator==(const StageAmounts&, const StageAmounts&) = default;
};

/// The point in a schedule at which the ranks of a stage run a collective.
enum class StageMoment : std::uint8_t {
  kForward,   // within each forward
  kBackward,  // within each backward or input gradient
  // Within the last weight gradient of the stage, which does not wait for the collective.
  kLastBackward,
  kGradients,  // after the last weight gradient
  kUnshard,    // before the stage's weights are used, see add_unshard_reshard()
  kStep,       // after all computation of the rank
};

std::optional<StageMoment> find_stage_moment(std::string_view name);
std::vector<std::string> stage_moment_names();

/// The order of send and recv in an exchange of each rank with its neighbors in a ring.
enum class RingOrder : std::uint8_t {
  kNone,       // not an exchange: a collective
  kBatch,      // the send and the recv in one group
  kSendFirst,  // the send before the recv
  kRecvFirst,
};

std::optional<RingOrder> find_ring_order(std::string_view name);
std::vector<std::string> ring_order_names();

/// A collective of the ranks that share a stage, or exchanges among these ranks in a ring. The
/// calls split the surrounding computation into parts: one before the first call and one after each
/// call. An exchange overlaps the part after it, and the next part waits for the exchange.
struct StageCollective {
  Place place;
  Operation operation = Operation::kAllReduce;
  std::string over;  // name of a communicator or a group
  RingOrder ring = RingOrder::kNone;
  StageMoment moment = StageMoment::kForward;
  std::uint32_t times = 1;            // calls per moment; 0: the number that a ring needs
  std::optional<StageAmounts> bytes;  // size per call
  std::optional<StageAmounts> takes_ns;

  std::string name() const;  // name of the operation, or "ring_exchange"
  bool by_micro_batch() const {
    return (bytes && bytes->by_micro_batch()) || (takes_ns && takes_ns->by_micro_batch());
  }

  friend bool operator==(const StageCollective&, const StageCollective&) = default;
};

/// A pipeline schedule with its costs, see the head of this file. A job with more dimensions has
/// many equal pipelines; the rows of the schedule apply to each of them.
struct Pipeline {
  Place place;
  Schedule schedule;             // valid, with sends and recvs
  std::vector<StageCost> costs;  // costs per stage or, if they differ, per stage and micro-batch
  bool costs_differ = false;     // whether costs are per stage and micro-batch (Schedule::index())
  // Duration of a slot that overlaps a forward with a backward, looked up by the forward; empty:
  // the sum of both durations.
  std::optional<StageAmounts> overlap_ns;
  // Size of a send between neighboring stages of a pipeline.
  std::optional<StageAmounts> message_bytes;
  // Duration of a send; empty: it follows from size and cluster, if these are known.
  std::optional<StageAmounts> message_ns;
  MessageModel messages = MessageModel::kPg;
  bool shape_exchange = false;  // whether ranks exchange shapes, and hosts wait, before each group
  std::vector<StageCollective> collectives;
  std::vector<std::uint32_t> layers;  // number of layers of each stage; empty: 1
  bool has_memory = false;            // whether activation or weight sizes are known

  std::vector<std::uint32_t> row_of_rank;  // row of each rank; empty: rank r runs row r
  std::uint32_t stride = 1;                // difference between the ranks of neighboring rows

  /// The templates of its actions, in TaskGraph::actors: [first_actor, end_actor). Set by
  /// add_pipeline.
  std::uint32_t first_actor = 0;
  std::uint32_t end_actor = 0;
  /// The number of parts (actors) of the slot that begins with each actor of [first_actor,
  /// end_actor).
  std::vector<std::uint32_t> parts;

  std::uint32_t row_of(std::uint32_t rank) const {
    return row_of_rank.empty() ? rank : row_of_rank[rank];
  }
  std::uint32_t rank_count() const {
    return static_cast<std::uint32_t>(row_of_rank.empty() ? schedule.ranks.size()
                                                          : row_of_rank.size());
  }
  /// Returns the set of ranks that run each row.
  std::vector<RankSet> ranks_of_rows() const;

  const StageCost& cost(std::uint32_t stage, std::uint32_t micro_batch) const {
    return costs[costs_differ ? schedule.index(stage, micro_batch) : stage];
  }
  std::uint32_t layers_of(std::uint32_t stage) const {
    return layers.empty() ? 1 : layers[stage % schedule.depth()];
  }
  std::int64_t takes(const Action& action) const;
  std::int64_t takes(const Actions& actions, std::size_t slot) const;

  friend bool operator==(const Pipeline&, const Pipeline&) = default;
};

/// Adds `pipeline` to `graph`, which has the same number of ranks: programs on the thread `main`,
/// and the streams and communicators that they need. Reports an error and returns false if `main`
/// launches by arrival, or if a collective names an unknown or unsuitable group.
bool add_pipeline(Pipeline pipeline, TaskGraph& graph, Diagnostics& diagnostics);

}  // namespace pipesim::models
