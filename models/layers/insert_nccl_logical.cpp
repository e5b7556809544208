// NCCL ops in the graph itself, with a fixed position in the order of their stage and a stream:
// OneFlow's core/job_rewriter/insert_nccl_logical_op_pass.cpp.
//
// In each stage, ops that data connects and that run equally often form a subgraph; variables,
// repeats, accumulates, packs and buffers are its borders. So each stage has one subgraph for the
// forward and one for the backward. Only the last stage has one subgraph for both, because no
// buffers separate them there. The largest subgraph fixes how often the ops run. The other
// subgraphs follow in order, if they run equally often and do not overlap. In a subgraph
//
//   * all ops get one order, through control registers if data does not order them;
//   * an edge that changes the signature gets an NCCL op after its producer, if one exists for the
//     change (models/layers/boxing.hpp); build-tasks boxes the remaining edges;
//   * the ops get a separate stream, NCCL_COMPUTE_0 and so on. The exception is the first subgraph,
//     which stays on COMPUTE with the buffers. This exception is one half of the Swin-T hang (see
//     pipeline_buffers.cpp for the other half); #8226 removes the exception.
//
// Gradients that are reduced after an accumulate also get NCCL ops. These ops wait for the last op
// of the backward and for one another, so their order is fixed.
#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/layers/boxing.hpp"
#include "models/layers/logical_pass.hpp"
#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {
namespace {

constexpr std::uint32_t kMaxStreams = 8;  // OneFlow's kMaxNcclComputeStreamCount

class CollectiveInserter {
 public:
  CollectiveInserter(LogicalGraph& graph, bool first_has_stream)
      : graph_(graph), first_has_stream_(first_has_stream) {}

  void run() {
    order_ = topological_order(graph_);
    position_.assign(graph_.ops.size(), 0);
    for (std::uint32_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
    for (std::uint32_t stage = 0; stage < graph_.layout.stages; ++stage) {
      std::uint32_t next_stream = 0;
      const auto subgraphs = subgraphs_of(stage);
      for (std::size_t i = 0; i < subgraphs.size(); ++i) {
        const std::vector<std::uint32_t> ops = insert_in(subgraphs[i]);
        const bool has_collective = ops.size() > subgraphs[i].size();
        if (!has_collective || (i == 0 && !first_has_stream_) || next_stream == kMaxStreams) {
          continue;
        }
        const std::string stream = "NCCL_COMPUTE_" + std::to_string(next_stream++);
        for (const std::uint32_t op : ops) graph_.ops[op].stream = stream;
      }
      if (!subgraphs.empty()) insert_after_accumulation(stage, subgraphs.back().back());
    }
  }

 private:
  bool is_candidate(std::uint32_t index, std::uint32_t stage) const {
    const LogicalOp& op = graph_.ops[index];
    return op.stage == stage && !op.on_host &&
           (op.kind == OpKind::kCompute || op.kind == OpKind::kUpdate);
  }

  // Returns the subgraphs of `stage`: ops that data connects, in topological order. Subgraphs are
  // sorted by their first op.
  std::vector<std::vector<std::uint32_t>> components(std::uint32_t stage) const {
    std::vector<std::uint32_t> parent(graph_.ops.size());
    std::iota(parent.begin(), parent.end(), 0);
    const auto root = [&parent](std::uint32_t op) {
      while (parent[op] != op) op = parent[op] = parent[parent[op]];
      return op;
    };
    for (const std::uint32_t op : order_) {
      if (!is_candidate(op, stage)) continue;
      for (const LogicalInput& input : graph_.ops[op].inputs) {
        const bool joins = !input.control && is_candidate(input.op, stage) &&
                           graph_.ops[input.op].executions == graph_.ops[op].executions;
        if (joins) parent[root(op)] = root(input.op);
      }
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> by_root;
    std::vector<std::uint32_t> roots;
    for (const std::uint32_t op : order_) {
      if (!is_candidate(op, stage)) continue;
      std::vector<std::uint32_t>& members = by_root[root(op)];
      if (members.empty()) roots.push_back(root(op));
      members.push_back(op);
    }
    std::vector<std::vector<std::uint32_t>> result;
    for (const std::uint32_t each : roots) result.push_back(by_root[each]);
    return result;
  }

  std::vector<std::vector<std::uint32_t>> subgraphs_of(std::uint32_t stage) const {
    const auto all = components(stage);
    if (all.empty()) return {};
    const auto largest = std::max_element(
        all.begin(), all.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const std::int64_t ops = graph_.ops[largest->front()].executions;
    std::vector<std::vector<std::uint32_t>> result;
    for (const std::vector<std::uint32_t>& each : all) {
      if (graph_.ops[each.front()].executions != ops) continue;
      const bool is_largest = each == *largest;
      const bool before = position_[each.back()] < position_[largest->front()];
      const bool after = position_[each.front()] > position_[largest->back()];
      const bool follows =
          result.empty() || position_[each.front()] > position_[result.back().back()];
      if (is_largest || ((before || after) && follows)) result.push_back(each);
    }
    return result;
  }

  // Puts the ops of `subgraph` into one order, with collectives inserted. Returns the ops and
  // collectives in this order.
  std::vector<std::uint32_t> insert_in(const std::vector<std::uint32_t>& subgraph) {
    std::vector<std::uint32_t> ops;
    for (const std::uint32_t op : subgraph) {
      ops.push_back(op);
      for (const std::uint32_t reader : subgraph) {
        for (std::size_t i = 0; i < graph_.ops[reader].inputs.size(); ++i) {
          if (graph_.ops[reader].inputs[i].op != op) continue;
          const auto collective = insert(reader, i);
          if (collective) ops.push_back(*collective);
        }
      }
    }
    for (std::size_t i = 1; i < ops.size(); ++i) order_after(ops[i - 1], ops[i]);
    return ops;
  }

  void order_after(std::uint32_t before, std::uint32_t after) {
    std::vector<LogicalInput>& inputs = graph_.ops[after].inputs;
    const bool known = std::any_of(inputs.begin(), inputs.end(),
                                   [&](const LogicalInput& input) { return input.op == before; });
    if (!known) inputs.push_back({before, 0, {}, true});
  }

  // Makes `reader` read its input `i` through a collective, if the signature changes and NCCL has a
  // collective for the change. Returns the collective if it is new.
  std::optional<std::uint32_t> insert(std::uint32_t reader, std::size_t i) {
    const LogicalInput input = graph_.ops[reader].inputs[i];
    if (input.control) return std::nullopt;
    const LogicalOutput tensor = graph_.ops[input.op].outputs[input.output];
    const auto form =
        logical_collective(tensor.signature, input.signature, graph_.layout.hierarchy);
    if (!form) return std::nullopt;
    const std::string name = "NCCL-" + form->form + "-" + graph_.ops[input.op].name +
                             (input.output == 0 ? "" : "-" + tensor.name);
    const auto known = std::find_if(graph_.ops.begin(), graph_.ops.end(), [&](const LogicalOp& op) {
      return op.kind == OpKind::kCollective &&
             op.inputs.front() == LogicalInput{input.op, input.output, tensor.signature} &&
             op.outputs.front().signature == input.signature;
    });
    auto made = static_cast<std::uint32_t>(known - graph_.ops.begin());
    const bool is_new = known == graph_.ops.end();
    if (is_new) {
      LogicalOp op;
      const LogicalOp& source = graph_.ops[input.op];
      op.name = name;
      op.kind = OpKind::kCollective;
      op.place = graph_.ops[reader].place;
      op.pass = source.pass;
      op.layer = source.layer;
      op.stage = source.stage;
      op.executions =
          source.kind == OpKind::kAccumulate ? source.executions / source.times : source.executions;
      op.takes_ns = graph_.model.costs.collective_ns;
      op.operation = form->operation;
      op.form = form->form;
      op.over = form->over;
      op.inputs = {{input.op, input.output, tensor.signature}};
      op.outputs = {{"out", tensor.type, input.signature}};
      made = graph_.add(std::move(op));
    }
    graph_.ops[reader].inputs[i].op = made;
    graph_.ops[reader].inputs[i].output = 0;
    return is_new ? std::optional(made) : std::nullopt;
  }

  // Inserts the collectives between accumulates and updates, which run once per step.
  void insert_after_accumulation(std::uint32_t stage, std::uint32_t last_op) {
    std::uint32_t before = kNoIndex;
    const auto count = static_cast<std::uint32_t>(graph_.ops.size());
    for (std::uint32_t reader = 0; reader < count; ++reader) {
      const LogicalOp& op = graph_.ops[reader];
      if (op.stage != stage || op.kind != OpKind::kUpdate) continue;
      if (graph_.ops[op.inputs.front().op].kind != OpKind::kAccumulate) continue;
      const auto collective = insert(reader, 0);
      if (!collective) continue;
      if (before == kNoIndex) before = add_tick(stage, last_op);
      graph_.ops[*collective].pass = OpPass::kOptimizer;
      graph_.ops[*collective].inputs.push_back({before, 0, {}, true});
      before = *collective;
    }
  }

  // Adds one op in place of OneFlow's cast_to_tick, acc_tick and device_tick. The op runs once per
  // step, after the backward.
  std::uint32_t add_tick(std::uint32_t stage, std::uint32_t last_op) {
    LogicalOp tick;
    tick.name = "AccTick-" + graph_.ops[last_op].name;
    tick.kind = OpKind::kAccTick;
    tick.place = graph_.ops[last_op].place;
    tick.pass = OpPass::kOptimizer;
    tick.stage = stage;
    tick.layer = graph_.ops[last_op].layer;
    tick.executions = graph_.ops[last_op].executions;
    tick.times = tick.executions;
    tick.inputs = {{last_op, 0, {}, true}};
    return graph_.add(std::move(tick));
  }

  LogicalGraph& graph_;
  const bool first_has_stream_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> position_;
};

void run_insert_nccl_logical(TaskGraph& graph, const PassOptions& options,
                             Diagnostics& diagnostics) {
  LogicalGraph* logical = begin_model_pass(graph, "insert-nccl-logical", diagnostics);
  if (logical == nullptr) return;
  logical->decisions.collectives_on_compute_streams = options.truth("use_compute_stream");
  logical->decisions.collective_messages = options.text("messages");
  if (!options.truth("use_compute_stream")) return;
  graph.init.at_first_use = options.text("communicators") == "first_use";
  graph.init.said = graph.init.at_first_use;
  CollectiveInserter(*logical, options.text("first_subgraph") == "NCCL_COMPUTE").run();
}

}  // namespace

Pass insert_nccl_logical_pass() {
  PassOption first = {"first_subgraph", OptionType::kText, "COMPUTE",
                      "the stream of the first subgraph of each stage; NCCL_COMPUTE: #8226"};
  first.one_of = {"COMPUTE", "NCCL_COMPUTE"};
  PassOption messages = {"messages", OptionType::kText, "gated",
                         "of NCCL ops to their own thread; gated: #7924; auto: #8455"};
  messages.one_of = {"gated", "immediate", "auto"};
  PassOption communicators = {"communicators", OptionType::kText, "first_use",
                              "when communicators are initialized; start: #8263"};
  communicators.one_of = {"first_use", "start"};
  return {"insert-nccl-logical",
          "puts NCCL ops into a model, with their order and streams",
          {{"use_compute_stream", OptionType::kTruth, "on",
            "off: the pass does nothing (nccl_use_compute_stream)"},
           first,
           messages,
           communicators},
          run_insert_nccl_logical};
}

}  // namespace pipesim::models
