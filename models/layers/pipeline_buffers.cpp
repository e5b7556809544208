// Buffers between stages, and between forward and backward, so that a stage can have several
// micro-batches in flight. Follows OneFlow's core/job_rewriter/pipeline_buffer_pass.cpp. The sizes
// are OneFlow's, in slots; S is the number of stages. With one stage or one micro-batch, the pass
// does nothing.
//
//   forward to backward   not in the last stage, not from a repeat or buffer: 2 S at the reader
//   host to device        forward, from the first stage to the last or first: 2 S at the reader
//   forward to forward    from stage s to t > s: 1 at the producer, then t - s at the reader
//   backward to backward  from stage s to t < s: 1 at the producer, then 1 at the reader
//
// There is one buffer per tensor and stage; all readers of the tensor on the stage share it. The
// pass runs before insert-nccl-logical gives streams to forward and backward. So a buffer is on
// COMPUTE, even if its reader is not. The buffers on COMPUTE are one half of the Swin-T hang.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/layers/logical_pass.hpp"
#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {
namespace {

class BufferInserter {
 public:
  BufferInserter(LogicalGraph& graph, const PassOptions& options)
      : graph_(graph), stream_(options.text("stream")), host_(options.truth("input_buffer")) {}

  void run() {
    const auto count = static_cast<std::uint32_t>(graph_.ops.size());
    // Handles all edges from forward to backward first. OneFlow's pass has two loops; if both need
    // the same buffer, the first loop sets its size.
    for (const bool first : {true, false}) {
      for (std::uint32_t reader = 0; reader < count; ++reader) {
        for (std::size_t i = 0; i < graph_.ops[reader].inputs.size(); ++i) {
          if (first) {
            forward_to_backward(reader, i);
          } else {
            between_stages(reader, i);
          }
        }
      }
    }
  }

 private:
  std::uint32_t last_stage() const { return graph_.layout.stages - 1; }

  void forward_to_backward(std::uint32_t reader, std::size_t i) {
    const LogicalOp& to = graph_.ops[reader];
    const LogicalOp& from = graph_.ops[to.inputs[i].op];
    if (to.pass != OpPass::kBackward || from.pass != OpPass::kForward) return;
    if (from.kind == OpKind::kRepeat || from.kind == OpKind::kBuffer) return;
    if (to.stage == last_stage()) return;
    put_at_reader(reader, i, 2 * std::int64_t{graph_.layout.stages}, false);
  }

  void between_stages(std::uint32_t reader, std::size_t i) {
    const LogicalOp& to = graph_.ops[reader];
    const LogicalOp& from = graph_.ops[to.inputs[i].op];
    if (to.pass != from.pass || to.inputs[i].control) return;
    const bool forward = to.pass == OpPass::kForward;
    const bool to_device = forward && from.on_host && !to.on_host;
    if (to_device && from.stage == 0 && (to.stage == last_stage() || to.stage == 0)) {
      if (to.stage != 0 || host_) {
        put_at_reader(reader, i, 2 * std::int64_t{graph_.layout.stages}, true);
      }
      return;
    }
    if (forward && from.stage < to.stage) {
      const std::int64_t slots = to.stage - from.stage;
      put_at_giver(reader, i);
      put_at_reader(reader, i, slots, true);
    } else if (to.pass == OpPass::kBackward && from.stage > to.stage) {
      put_at_giver(reader, i);
      put_at_reader(reader, i, 1, true);
    }
  }

  // Inserts a buffer on the stage of the reader. `counts`: whether executions of the buffer count
  // as progress of the forward or backward (LogicalOp::pass).
  void put_at_reader(std::uint32_t reader, std::size_t i, std::int64_t slots, bool counts) {
    const std::uint32_t stage = graph_.ops[reader].stage;
    const LogicalInput tensor = tensor_of(graph_.ops[reader].inputs[i]);
    const std::string name = name_of(tensor) + "-stage" + std::to_string(stage);
    LogicalOp buffer;
    buffer.pass = graph_.ops[reader].pass;
    buffer.layer = graph_.ops[reader].layer;
    buffer.stage = stage;
    buffer.slots = slots;
    buffer.counts = counts;
    put(name, std::move(buffer), reader, i);
  }

  void put_at_giver(std::uint32_t reader, std::size_t i) {
    const LogicalInput tensor = graph_.ops[reader].inputs[i];
    const LogicalOp& from = graph_.ops[tensor.op];
    LogicalOp buffer;
    buffer.pass = from.pass;
    buffer.layer = from.layer;
    buffer.stage = from.stage;
    buffer.slots = 1;
    buffer.counts = false;
    put(name_of(tensor), std::move(buffer), reader, i);
  }

  void put(const std::string& name, LogicalOp buffer, std::uint32_t reader, std::size_t i) {
    const auto known = std::find_if(graph_.ops.begin(), graph_.ops.end(),
                                    [&](const LogicalOp& op) { return op.name == name; });
    auto made = static_cast<std::uint32_t>(known - graph_.ops.begin());
    if (known == graph_.ops.end()) {
      const LogicalInput& input = graph_.ops[reader].inputs[i];
      const LogicalOutput& tensor = graph_.ops[input.op].outputs[input.output];
      buffer.name = name;
      buffer.kind = OpKind::kBuffer;
      buffer.place = graph_.ops[reader].place;
      buffer.takes_ns = graph_.model.costs.buffer_ns;
      buffer.executions = graph_.training.accumulation;
      buffer.stream_of_reader = stream_ == "reader";
      if (stream_ == "PIPELINE_BUFFER") buffer.stream = stream_;
      buffer.inputs = {{input.op, input.output, tensor.signature}};
      buffer.outputs = {{"out", tensor.type, tensor.signature}};
      made = graph_.add(std::move(buffer));
    }
    graph_.ops[reader].inputs[i].op = made;
    graph_.ops[reader].inputs[i].output = 0;
  }

  // Returns the tensor that `input` reads. If `input` reads a buffer, returns the original tensor.
  LogicalInput tensor_of(const LogicalInput& input) const {
    const LogicalOp& op = graph_.ops[input.op];
    return op.kind == OpKind::kBuffer ? tensor_of(op.inputs.front()) : input;
  }

  std::string name_of(const LogicalInput& tensor) const {
    const LogicalOp& op = graph_.ops[tensor.op];
    return "Buffer-" + op.name + (tensor.output == 0 ? "" : "-" + op.outputs[tensor.output].name);
  }

  LogicalGraph& graph_;
  const std::string stream_;
  const bool host_;
};

void run_pipeline_buffers(TaskGraph& graph, const PassOptions& options, Diagnostics& diagnostics) {
  LogicalGraph* logical = begin_model_pass(graph, "pipeline-buffers", diagnostics);
  if (logical == nullptr) return;
  const bool accumulates =
      logical->has_done("gradient-accumulation") && logical->training.accumulation > 1;
  if (accumulates && logical->layout.stages > 1) BufferInserter(*logical, options).run();
}

}  // namespace

Pass pipeline_buffers_pass() {
  PassOption stream = {"stream", OptionType::kText, "COMPUTE",
                       "of the buffers; PIPELINE_BUFFER: #8087; reader: that of what reads them"};
  stream.one_of = {"COMPUTE", "PIPELINE_BUFFER", "reader"};
  return {"pipeline-buffers",
          "puts buffers between the stages of a model, and between its forward and backward",
          {stream,
           {"input_buffer", OptionType::kTruth, "on",
            "between the user's input and the first stage; off: #8484"}},
          run_pipeline_buffers};
}

}  // namespace pipesim::models
