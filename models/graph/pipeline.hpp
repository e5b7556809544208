// A pipeline schedule with its costs, as a part of the task graph: host programs that do it, one
// per rank, with messages as one of eight models has them.
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

/// How sends and receives of a schedule are done. In all of them a message starts after all that
/// stands before it in its rank's row and computes.
enum class MessageModel : std::uint8_t {
  kDir,        // buffered; in order per peer and direction, a communicator and a stream each
  kEdge,       // as kDir, but a send waits for its receive, as it does in all that follow
  kPair,       // in order per peer: both directions share a stream
  kDirection,  // in order per direction of the pipeline: the forwards' messages of a rank share one
               // communicator and stream, and so do the backwards'
  kPg,         // in order per rank: all messages of a rank share one communicator and stream
  kSync,       // as kPg, and the host waits for each message
  kBatch,      // as kPg; slots of several messages are groups: see in_megatron_order()
  kOverlap,    // as kPg, in Megatron-LM's order without groups
};

std::optional<MessageModel> find_message_model(std::string_view name);
std::vector<std::string> message_model_names();

/// What a stage costs.
struct StageCost {
  std::int64_t forward_ns = 0;
  std::int64_t input_grad_ns = 0;
  std::int64_t weight_grad_ns = 0;
  std::int64_t activation_bytes = 0;  // of one micro-batch, from its forward to its last gradient
  std::int64_t weight_bytes = 0;      // for the whole time
  std::int64_t unsharded_bytes = 0;   // from each kUnshard to its kReshard

  friend bool operator==(const StageCost&, const StageCost&) = default;
};

/// Amounts by stage or, where they differ, by stage and micro-batch. One alone is that of all.
struct StageAmounts {
  std::vector<std::int64_t> values;  // of each stage; of a stage, those of its micro-batches
  std::uint32_t micro_batches = 1;   // values of a stage

  bool by_micro_batch() const { return micro_batches > 1; }
  std::int64_t of(std::uint32_t stage, std::uint32_t micro_batch) const {
    if (values.size() == 1) return values.front();
    return values[std::size_t{stage} * micro_batches + (by_micro_batch() ? micro_batch : 0)];
  }

  friend bool operator==(const StageAmounts&, const StageAmounts&) = default;
};

/// When ranks of a stage do a collective.
enum class StageMoment : std::uint8_t {
  kForward,       // within each forward
  kBackward,      // within each backward, or gradient of the input
  kLastBackward,  // within the last gradient of the stage's weights, which does not wait for it
  kGradients,     // behind it
  kUnshard,       // before the stage's weights are used, see add_unshard_reshard()
  kStep,          // behind all that the rank computes
};

std::optional<StageMoment> find_stage_moment(std::string_view name);
std::vector<std::string> stage_moment_names();

/// What else than a collective it is: an exchange of each rank with its neighbors in a ring.
enum class RingOrder : std::uint8_t {
  kNone,       // a collective
  kBatch,      // the send and the receive in one group
  kSendFirst,  // one after the other
  kRecvFirst,
};

std::optional<RingOrder> find_ring_order(std::string_view name);
std::vector<std::string> ring_order_names();

/// A collective of the ranks that share a stage, or exchanges in a ring of them. What it is within
/// is computed in parts: one before the first call, one behind each. An exchange runs beside the
/// part behind it, and the next waits for it.
struct StageCollective {
  Place place;
  Operation operation = Operation::kAllReduce;
  std::string over;  // a communicator, or a group
  RingOrder ring = RingOrder::kNone;
  StageMoment moment = StageMoment::kForward;
  std::uint32_t times = 1;            // at that moment; 0: as often as a ring needs it
  std::optional<StageAmounts> bytes;  // of each
  std::optional<StageAmounts> takes_ns;

  std::string name() const;  // of what is called
  bool by_micro_batch() const {
    return (bytes && bytes->by_micro_batch()) || (takes_ns && takes_ns->by_micro_batch());
  }

  friend bool operator==(const StageCollective&, const StageCollective&) = default;
};

/// See the head of this file. Of a job with more dimensions there are many equal pipelines; rows of
/// the schedule are those of each.
struct Pipeline {
  Pipeline();
  Pipeline(const Pipeline&);
  Pipeline(Pipeline&&) noexcept;
  Pipeline& operator=(const Pipeline&);
  Pipeline& operator=(Pipeline&&) noexcept;
  ~Pipeline();

  Place place;
  Schedule schedule;                       // valid, with messages
  std::vector<StageCost> costs;            // of each stage or, where they differ, of each forward
  bool costs_differ = false;               // by micro-batch: see Schedule::index()
  std::optional<StageAmounts> overlap_ns;  // with this forward; nothing: the sum
  // Of what a stage of a pipeline sends to the next, and gets back.
  std::optional<StageAmounts> message_bytes;
  std::optional<StageAmounts> message_ns;  // nothing: it follows from size and cluster, if said
  MessageModel messages = MessageModel::kPg;
  bool shape_exchange = false;  // before each group ranks exchange shapes, and the host waits
  std::vector<StageCollective> collectives;
  std::vector<std::uint32_t> layers;  // of each stage; none: one of each
  bool has_memory = false;            // sizes of activations or weights are known

  std::vector<std::uint32_t> row_of_rank;  // empty: rank r does row r
  std::uint32_t stride = 1;                // from the rank of a row to that of the next

  /// The templates of its actions, in TaskGraph::actors: [first_actor, end_actor). Made by
  /// add_pipeline.
  std::uint32_t first_actor = 0;
  std::uint32_t end_actor = 0;
  /// Beside them: in how many parts, one actor each, the slot is done that begins with it.
  std::vector<std::uint32_t> parts;

  std::uint32_t row_of(std::uint32_t rank) const {
    return row_of_rank.empty() ? rank : row_of_rank[rank];
  }
  std::uint32_t rank_count() const {
    return static_cast<std::uint32_t>(row_of_rank.empty() ? schedule.ranks.size()
                                                          : row_of_rank.size());
  }
  /// The ranks that do each row.
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

/// Makes `pipeline` a part of `graph`, which has as many ranks: programs of the thread `main`, the
/// streams and communicators that they need. False, with an error, where `main` is no thread of a
/// program.
bool add_pipeline(Pipeline pipeline, TaskGraph& graph, Diagnostics& diagnostics);

}  // namespace pipesim::models
