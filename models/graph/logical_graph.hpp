// A training model before tasks exist: OneFlow calls it a job.
//
// Model holds the layers with their ops, as the user gave them. Passes turn them into ops step by
// step (models/layers/, in the order of model_passes()), and the last pass makes the actors of the
// task graph. An op represents all ranks of its stage, and names the signatures of the tensors that
// it reads and gives. The *gradient op* of an op computes the op's backward.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/operation.hpp"
#include "models/graph/sbp.hpp"

namespace pipesim::models {

/// A tensor's type and its logical shape, over all ranks together.
struct TensorType {
  std::vector<std::int64_t> shape;
  std::string dtype = "float";

  std::int64_t elements() const;
  /// Returns the bytes that one rank holds. Splits that do not divide evenly are rounded up.
  std::int64_t bytes_on_a_rank(const NdSbp& signature, Hierarchy hierarchy) const;
  /// Returns the shape as text, such as `(169 6)`.
  std::string shape_text() const;

  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// Returns the bytes of an element of `dtype`; nullopt for an unknown type.
std::optional<std::int64_t> dtype_bytes(std::string_view dtype);
std::vector<std::string> dtype_names();

/// Weights of an op.
struct ModelVariable {
  std::string name;
  Place place;
  TensorType type;
  NdSbp signature = {Sbp::broadcast(), Sbp::broadcast()};
  // Signature in which the gradient op gives the gradient of the variable.
  NdSbp gradient = {Sbp::partial_sum(), Sbp::partial_sum()};
  // Signature in which the gradient op reads the variable.
  NdSbp like = {Sbp::broadcast(), Sbp::broadcast()};
  bool read_by_gradient = true;

  friend bool operator==(const ModelVariable&, const ModelVariable&) = default;
};

/// The tensor of the forward that a gradient op reads, in addition to the gradient of the op's
/// output.
enum class Saved : std::uint8_t { kInput, kOutput, kNothing };

/// An op of a layer, as the user gave it. The op reads the output of the previous op in the model.
struct ModelOp {
  std::string name;
  Place place;
  std::int64_t takes_ns = 0;  // duration for one micro-batch on one rank
  std::int64_t gradient_takes_ns = 0;
  bool only_backward = false;  // whether it has no forward
  NdSbp in = {Sbp::split(0), Sbp::broadcast()};
  NdSbp out = {Sbp::split(0), Sbp::broadcast()};
  TensorType type;      // type of the output
  NdSbp gradient_in{};  // signature in which the gradient op reads the output's gradient
  NdSbp gradient_out{};
  Saved saves = Saved::kInput;
  std::vector<ModelVariable> variables;

  friend bool operator==(const ModelOp&, const ModelOp&) = default;
};

struct ModelLayer {
  std::string name;
  Place place;
  // Index of the stage. Negative: counted from the last stage; empty: assigned by pipeline-stages.
  std::optional<std::int64_t> stage;
  std::vector<ModelOp> ops;

  friend bool operator==(const ModelLayer&, const ModelLayer&) = default;
};

/// Durations of the ops that passes insert, per op and in nanoseconds.
struct SystemCosts {
  std::int64_t input_ns = 0;  // input of the user's data, once per step
  std::int64_t copy_ns = 0;   // each D2H, H2D or COMM_NET copy
  std::int64_t buffer_ns = 0;
  std::int64_t repeat_ns = 0;
  std::int64_t zeros_ns = 0;
  std::int64_t accumulate_ns = 0;
  std::int64_t pack_ns = 0;        // pack or unpack
  std::int64_t slice_ns = 0;       // boxing by copies
  std::int64_t collective_ns = 0;  // collective, without a cluster
  std::int64_t update_ns = 0;      // optimizer, per variable

  friend bool operator==(const SystemCosts&, const SystemCosts&) = default;
};

struct Model {
  Place place;
  TensorType input;
  NdSbp input_signature = {Sbp::split(0), Sbp::broadcast()};
  std::vector<ModelLayer> layers;  // repeated layers are listed once per repetition
  SystemCosts costs;

  friend bool operator==(const Model&, const Model&) = default;
};

/// The parallel layout of the model. Rank numbers vary fastest over tensor, then data, then stages.
struct ParallelLayout {
  Hierarchy hierarchy;
  std::uint32_t stages = 1;
  Place stages_place;

  std::uint32_t ranks() const { return hierarchy.size() * stages; }

  friend bool operator==(const ParallelLayout&, const ParallelLayout&) = default;
};

struct Training {
  std::int64_t accumulation = 1;  // micro-batches per step
  bool has_optimizer = false;     // whether gradients are summed and variables updated

  friend bool operator==(const Training&, const Training&) = default;
};

/// The kind of an op in the logical graph. N is LogicalOp::times.
enum class OpKind : std::uint8_t {
  kInput,       // the user's input, once per step, on the host
  kUnpack,      // cuts an input into N outputs
  kVariable,    // weights
  kRepeat,      // outputs its input N times
  kCompute,     // an op of a layer, or its gradient op
  kBuffer,      // OneFlow's identity_buffer: passes its input on
  kCollective,  // an NCCL op inserted by insert-nccl-logical
  kAccumulate,  // adds up N inputs
  kAccTick,     // order only: one output per N inputs
  kPack,        // joins N inputs into one output
  kOutput,      // the output for the user, on the host
  kUpdate,      // updates a variable, by the optimizer
};

/// The part of a training step that an op belongs to.
enum class OpPass : std::uint8_t { kForward, kBackward, kOptimizer };

/// An input of an op.
struct LogicalInput {
  std::uint32_t op = 0;
  std::uint32_t output = 0;
  NdSbp signature = {Sbp::broadcast(), Sbp::broadcast()};  // signature that the reader needs
  bool control = false;                                    // whether it only orders ops

  friend bool operator==(const LogicalInput&, const LogicalInput&) = default;
};

/// An output of an op.
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
  std::uint32_t layer = 0;  // index in Model::layers
  std::uint32_t model_op = 0xffffffff;
  std::uint32_t stage = 0;
  bool on_host = false;
  bool counts = true;                           // whether executions count as progress of its pass
  std::int64_t takes_ns = 0;                    // duration of an execution
  std::int64_t executions = 1;                  // executions per step
  std::int64_t times = 1;                       // the N of kinds such as kUnpack, see OpKind
  std::int64_t slots = 1;                       // number of slots of a buffer
  std::string stream;                           // preferred stream; empty: the stream of its kind
  bool stream_of_reader = false;                // whether a buffer uses the stream of its reader
  Operation operation = Operation::kAllReduce;  // operation of a collective
  std::string form;                             // change of signature by a collective: (*S0)2(*B)
  Dimensions over = Dimensions::kBoth;
  std::uint32_t gradient_of = 0xffffffff;  // gradient ops: the forward op, repeat or unpack
  std::vector<LogicalInput> inputs;
  std::vector<LogicalOutput> outputs;

  friend bool operator==(const LogicalOp&, const LogicalOp&) = default;
};

/// Decisions of passes for later passes.
struct LogicalDecisions {
  bool collectives_on_compute_streams = true;  // OneFlow's nccl_use_compute_stream
  std::string collective_messages = "gated";
  std::int64_t repeat_control_slots = 1;

  friend bool operator==(const LogicalDecisions&, const LogicalDecisions&) = default;
};

/// A model and its state between passes, see the head of this file.
struct LogicalGraph {
  Model model;
  ParallelLayout layout;
  Training training;
  std::vector<LogicalOp> ops;
  std::vector<std::uint32_t> stage_of_layer;  // set by pipeline-stages
  std::vector<std::string> done;              // names of the passes that ran
  LogicalDecisions decisions;

  std::uint32_t add(LogicalOp op) {
    ops.push_back(std::move(op));
    return static_cast<std::uint32_t>(ops.size() - 1);
  }
  bool has_done(std::string_view pass) const;

  friend bool operator==(const LogicalGraph&, const LogicalGraph&) = default;
};

/// Returns the ops in topological order; ops that are independent keep the order of the graph.
std::vector<std::uint32_t> topological_order(const LogicalGraph& graph);

/// Returns the ops with their inputs and outputs, one per line, to show the effect of passes.
std::string logical_text(const LogicalGraph& graph);

/// Returns the passes that turn a model into tasks, in order.
const std::vector<std::string>& model_passes();

}  // namespace pipesim::models
