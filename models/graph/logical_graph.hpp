// A model as it is trained, before there are tasks: what OneFlow calls a job.
//
// Layers with their ops stand in Model, as the user gave them. Passes make ops of them step by step
// (models/passes/, in the order of model_passes()), and the last of them makes the actors of the
// task graph. An op stands once for all ranks of its stage, and names the signatures in which it
// takes and gives tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/operation.hpp"
#include "models/graph/sbp.hpp"

namespace pipesim::models {

/// A tensor's type and logical shape: that of all ranks together.
struct TensorType {
  std::vector<std::int64_t> shape;
  std::string dtype = "float";

  std::int64_t elements() const;
  /// What one rank has of it. Cuts that do not divide are rounded up.
  std::int64_t bytes_on_a_rank(const NdSbp& signature, Hierarchy hierarchy) const;
  /// `(169 6)`
  std::string shape_text() const;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// Bytes of an element of this type; nothing for what is no type.
std::optional<std::int64_t> dtype_bytes(std::string_view dtype);
std::vector<std::string> dtype_names();

/// Weights of an op.
struct ModelVariable {
  std::string name;
  Place place;
  TensorType type;
  NdSbp signature = {Sbp::broadcast(), Sbp::broadcast()};
  NdSbp gradient = {Sbp::partial_sum(), Sbp::partial_sum()};  // as the op's gradient gives it
  NdSbp like = {Sbp::broadcast(), Sbp::broadcast()};  // as the op's gradient reads the weights
  bool read_by_gradient = true;

  friend bool operator==(const ModelVariable&, const ModelVariable&) = default;
};

/// What the gradient of an op reads of the forward, beside the gradient of the op's output.
enum class Saved : std::uint8_t { kInput, kOutput, kNothing };

/// An op of a layer, as the user gave it. It reads the op before it.
struct ModelOp {
  std::string name;
  Place place;
  std::int64_t takes_ns = 0;  // of one micro-batch, on one rank
  std::int64_t gradient_takes_ns = 0;
  bool only_backward = false;  // it has no part in the forward
  NdSbp in = {Sbp::split(0), Sbp::broadcast()};
  NdSbp out = {Sbp::split(0), Sbp::broadcast()};
  TensorType type;      // of what it gives
  NdSbp gradient_in{};  // in which its gradient takes the gradient of `out`
  NdSbp gradient_out{};
  Saved saves = Saved::kInput;
  std::vector<ModelVariable> variables;

  friend bool operator==(const ModelOp&, const ModelOp&) = default;
};

struct ModelLayer {
  std::string name;
  Place place;
  std::optional<std::int64_t> stage;  // negative: from the last; nothing: it is shared out
  std::vector<ModelOp> ops;

  friend bool operator==(const ModelLayer&, const ModelLayer&) = default;
};

/// How long what passes put in takes, per act.
struct SystemCosts {
  std::int64_t input_ns = 0;  // of the user's data, per step
  std::int64_t copy_ns = 0;   // D2H, H2D and COMM_NET, each
  std::int64_t buffer_ns = 0;
  std::int64_t repeat_ns = 0;
  std::int64_t zeros_ns = 0;
  std::int64_t accumulate_ns = 0;
  std::int64_t pack_ns = 0;        // and unpack
  std::int64_t slice_ns = 0;       // of boxing by copies
  std::int64_t collective_ns = 0;  // without a cluster
  std::int64_t update_ns = 0;      // of one variable, by the optimizer

  friend bool operator==(const SystemCosts&, const SystemCosts&) = default;
};

struct Model {
  Place place;
  TensorType input;
  NdSbp input_signature = {Sbp::split(0), Sbp::broadcast()};
  std::vector<ModelLayer> layers;  // a layer that is there several times stands as often
  SystemCosts costs;

  friend bool operator==(const Model&, const Model&) = default;
};

/// How the model is laid out. Ranks are stage after stage, then data, then tensor.
struct ParallelLayout {
  Hierarchy hierarchy;
  std::uint32_t stages = 1;
  Place stages_place;

  std::uint32_t ranks() const { return hierarchy.size() * stages; }

  friend bool operator==(const ParallelLayout&, const ParallelLayout&) = default;
};

struct Training {
  std::int64_t accumulation = 1;  // micro-batches of a step
  bool has_optimizer = false;     // gradients are summed up and variables updated

  friend bool operator==(const Training&, const Training&) = default;
};

/// What an op of the logical graph is.
enum class OpKind : std::uint8_t {
  kInput,       // what the user gives, once per step, on the host
  kUnpack,      // 1:N
  kVariable,    // weights
  kRepeat,      // 1:N
  kCompute,     // an op of a layer, or its gradient
  kBuffer,      // identity_buffer
  kCollective,  // an NCCL op put in by insert-nccl-logical
  kAccumulate,  // N:1
  kAccTick,     // N:1, order only
  kPack,        // N:1
  kOutput,      // what the user gets, on the host
  kUpdate,      // of a variable, by the optimizer
};

/// For what a step computes an op.
enum class OpPass : std::uint8_t { kForward, kBackward, kOptimizer };

/// What an op reads.
struct LogicalInput {
  std::uint32_t op = 0;
  std::uint32_t output = 0;
  NdSbp signature = {Sbp::broadcast(), Sbp::broadcast()};  // as it is wanted
  bool control = false;                                    // only the order counts

  friend bool operator==(const LogicalInput&, const LogicalInput&) = default;
};

/// What an op gives.
struct LogicalOutput {
  std::string name = "out";
  TensorType type;
  NdSbp signature = {Sbp::broadcast(), Sbp::broadcast()};

  friend bool operator==(const LogicalOutput&, const LogicalOutput&) = default;
};

struct LogicalOp {
  std::string name;
  Place place;
  OpKind kind = OpKind::kCompute;
  OpPass pass = OpPass::kForward;
  std::uint32_t layer = 0;  // in Model::layers
  std::uint32_t model_op = 0xffffffff;
  std::uint32_t stage = 0;
  bool on_host = false;
  bool counts = true;                           // its acts count for the progress of its pass
  std::int64_t takes_ns = 0;                    // of an act
  std::int64_t acts = 1;                        // per step
  std::int64_t times = 1;                       // of kinds with a rate
  std::int64_t slots = 1;                       // of a buffer
  std::string stream;                           // a hint; empty: that of its kind
  bool stream_of_reader = false;                // of a buffer: it stands where what reads it does
  Operation operation = Operation::kAllReduce;  // of a collective
  std::string form;                             // of a collective: (*S0)2(*B)
  Dimensions over = Dimensions::kBoth;
  std::uint32_t gradient_of = 0xffffffff;  // a forward op, or a repeat or an unpack
  std::vector<LogicalInput> inputs;
  std::vector<LogicalOutput> outputs;

  friend bool operator==(const LogicalOp&, const LogicalOp&) = default;
};

/// What passes have decided for those after them.
struct LogicalDecisions {
  bool collectives_on_compute_streams = true;  // nccl_use_compute_stream
  std::string collective_messages = "gated";
  std::int64_t repeat_control_slots = 1;

  friend bool operator==(const LogicalDecisions&, const LogicalDecisions&) = default;
};

/// See the head of this file.
struct LogicalGraph {
  Model model;
  ParallelLayout layout;
  Training training;
  std::vector<LogicalOp> ops;
  std::vector<std::uint32_t> stage_of_layer;  // by pipeline-stages
  std::vector<std::string> done;              // passes, by name
  LogicalDecisions decisions;

  std::uint32_t add(LogicalOp op) {
    ops.push_back(std::move(op));
    return static_cast<std::uint32_t>(ops.size() - 1);
  }
  bool has_done(std::string_view pass) const;

  friend bool operator==(const LogicalGraph&, const LogicalGraph&) = default;
};

/// The ops after all that they read, in the order of the graph where that leaves it open.
std::vector<std::uint32_t> topological_order(const LogicalGraph& graph);

/// The ops with what they read and give, a line each, for people who follow passes.
std::string logical_text(const LogicalGraph& graph);

/// The passes that make tasks of a model, in their order.
const std::vector<std::string>& model_passes();

}  // namespace pipesim::models
