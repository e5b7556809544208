// A pipeline schedule with its costs, as a part of the task graph: host programs that do it, one
// per rank, with messages as one of six models has them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

  friend bool operator==(const StageCost&, const StageCost&) = default;
};

/// See the head of this file.
struct Pipeline {
  Place place;
  Schedule schedule;                       // valid, with messages
  std::vector<StageCost> stages;           // as many as the schedule has
  std::optional<std::int64_t> overlap_ns;  // of actions that overlap; nothing: the sum
  std::optional<std::int64_t> message_bytes;
  std::optional<std::int64_t> message_ns;  // nothing: it follows from size and cluster, if said
  MessageModel messages = MessageModel::kPg;
  bool has_memory = false;  // sizes of activations or weights are known

  /// The templates of its actions, in TaskGraph::actors: [first_actor, end_actor). Made by
  /// add_pipeline.
  std::uint32_t first_actor = 0;
  std::uint32_t end_actor = 0;

  std::int64_t takes(const Action& action) const;
  std::int64_t takes(const Actions& actions, std::size_t slot) const;

  friend bool operator==(const Pipeline&, const Pipeline&) = default;
};

/// Makes `pipeline` a part of `graph`, which has as many ranks: programs of the thread `main`, the
/// streams and communicators that they need. False, with an error, where `main` is no thread of a
/// program.
bool add_pipeline(Pipeline pipeline, TaskGraph& graph, Diagnostics& diagnostics);

}  // namespace pipesim::models
