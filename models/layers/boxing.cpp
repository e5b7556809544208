#include "models/layers/boxing.hpp"

#include <algorithm>
#include <utility>

namespace pipesim::models {
namespace {

// Whether OneFlow's executor of collectives supports `change`.
bool has_collective(const Transition& change) {
  return !change.from.is_broadcast() && !change.to.is_partial_sum() &&
         !(change.from.is_partial_sum() && change.to.is_partial_sum());
}

bool can_slice(const Transition& change) { return !change.to.is_partial_sum(); }

std::string dispatcher_of(const ReducedChange& reduced, const Transition& change) {
  if (!reduced.two_dimensional) return "Flat";
  return change.over == Dimensions::kTensor ? "IntraGroup" : "InterGroup";
}

// Returns the first builder of the chain that supports `change`; nullopt if none does. Sets `why`
// to the reason for the result.
std::optional<BoxingBuilder> choose(const Transition& change, const BoxingEdge& edge,
                                    bool collective_boxing, std::string& why) {
  if (change.from == change.to) {
    why = "each rank reads its like";
    return BoxingBuilder::kOneToOne;
  }
  const bool on_devices = !edge.from_host && !edge.to_host;
  const bool same_ranks = edge.from_stage == edge.to_stage;
  if (collective_boxing && has_collective(change) && on_devices && same_ranks) {
    if (edge.ops == 1) {
      why = "once per step and nccl_use_compute_stream is off";
      return BoxingBuilder::kCollectiveBoxing;
    }
    why = "no CollectiveBoxing: " + std::to_string(edge.ops) + " times per step";
  }
  if (can_slice(change)) {
    why += std::string(why.empty() ? "" : "; ") + "pieces are copied";
    return BoxingBuilder::kSliceBoxing;
  }
  if (change.from.is_broadcast()) {
    why = "the first rank of each group reads the tensor and the others zeros";
    return BoxingBuilder::kNaiveB2P;
  }
  why = "no builder makes " + sbp_text(change.to) + " of " + sbp_text(change.from);
  return std::nullopt;
}

std::string parallel_desc(const LogicalGraph& graph, const LogicalOp& op) {
  const Hierarchy hierarchy = graph.layout.hierarchy;
  const std::string device = op.on_host ? "cpu" : "cuda";
  std::string text = "{";
  for (std::uint32_t i = 0; i < hierarchy.size(); ++i) {
    const std::string rank = std::to_string(op.stage * hierarchy.size() + i);
    text += rank;
    text += ':';
    text += device;
    text += ':';
    text += rank;
    text += '-';
    text += rank;
    text += ' ';
  }
  return text + "(" + std::to_string(hierarchy.data) + " " + std::to_string(hierarchy.tensor) +
         ")}";
}

std::string builder_text(const BoxingRoute& route) {
  std::string text;
  for (const BoxingStep& step : route.steps) {
    if (!text.empty()) text += " then ";
    if (step.dispatcher != "Flat") text += step.dispatcher + ":";
    text += builder_name(step.builder);
  }
  return text.empty() ? "none" : text;
}

BoxingRow row(const LogicalGraph& graph, const LogicalInput& from, const LogicalOp& to,
              const NdSbp& wanted) {
  const LogicalOp& source = graph.ops[from.op];
  const LogicalOutput& tensor = source.outputs[from.output];
  return {source.name,
          to.name,
          parallel_desc(graph, source),
          parallel_desc(graph, to),
          nd_sbp_text(tensor.signature),
          nd_sbp_text(wanted),
          source.name + "/" + tensor.name,
          tensor.type.dtype,
          tensor.type.shape_text(),
          "",
          "-"};
}

}  // namespace

std::string_view builder_name(BoxingBuilder builder) {
  switch (builder) {
    case BoxingBuilder::kOneToOne:
      return "OneToOne";
    case BoxingBuilder::kCollectiveBoxing:
      return "CollectiveBoxing";
    case BoxingBuilder::kSliceBoxing:
      return "SliceBoxing";
    case BoxingBuilder::kNaiveB2P:
      break;
  }
  return "NaiveB2P";
}

BoxingRoute boxing_route(const BoxingEdge& edge, Hierarchy hierarchy, bool collective_boxing) {
  BoxingRoute route;
  const ReducedChange change = reduced(edge.from, edge.to, hierarchy);
  std::vector<Transition> transitions = change.changes;
  if (transitions.empty())
    transitions.push_back({Sbp::broadcast(), Sbp::broadcast(), Dimensions::kBoth});
  for (std::size_t i = 0; i < transitions.size(); ++i) {
    // All steps except the last one stay on the ranks of the producer.
    BoxingEdge here = edge;
    if (i + 1 < transitions.size()) here.to_stage = edge.from_stage;
    std::string why;
    const auto builder = choose(transitions[i], here, collective_boxing, why);
    if (!route.why.empty()) route.why += "; then ";
    route.why += why;
    if (!builder) {
      route.steps.clear();
      return route;
    }
    const std::string dispatcher =
        change.changes.empty() ? "Flat" : dispatcher_of(change, transitions[i]);
    route.steps.push_back({*builder, transitions[i], dispatcher});
  }
  if (transitions.size() == 2) route.why = "both dimensions change: " + route.why;
  return route;
}

BoxingEdge edge_of(const LogicalGraph& graph, const LogicalOp& reader, const LogicalInput& input) {
  const LogicalOp& source = graph.ops[input.op];
  const bool gathers = source.kind == OpKind::kAccumulate || source.kind == OpKind::kPack;
  BoxingEdge edge;
  edge.from = source.outputs[input.output].signature;
  edge.to = input.signature;
  edge.from_stage = source.stage;
  edge.to_stage = reader.stage;
  edge.from_host = source.on_host;
  edge.to_host = reader.on_host;
  edge.ops = gathers ? source.executions / source.times : source.executions;
  return edge;
}

bool needs_boxing(const BoxingEdge& edge, Hierarchy hierarchy) {
  return edge.from_stage != edge.to_stage || edge.from_host != edge.to_host ||
         !reduced(edge.from, edge.to, hierarchy).changes.empty();
}

std::optional<LogicalCollective> logical_collective(const NdSbp& from, const NdSbp& to,
                                                    Hierarchy hierarchy) {
  const ReducedChange change = reduced(from, to, hierarchy);
  if (change.changes.size() != 1) return std::nullopt;
  const Transition& only = change.changes.front();
  const bool partial = only.from.is_partial_sum();
  if (!has_collective(only)) return std::nullopt;
  LogicalCollective found;
  found.over = only.over;
  if (only.to.is_broadcast()) {
    found.operation = partial ? Operation::kAllReduce : Operation::kAllGather;
  } else {
    found.operation = partial ? Operation::kReduceScatter : Operation::kAllToAll;
  }
  const std::string axis = only.from.axis == 0 ? "S0" : "S1";
  if (!change.two_dimensional) {
    found.form = std::string(partial ? "P" : "S") + "2" + (only.to.is_broadcast() ? "B" : "S");
  } else if (only.over == Dimensions::kData) {
    if (!partial || !only.to.is_broadcast()) return std::nullopt;
    found.form = "(P*)2(B*)";
  } else if (only.to.is_broadcast()) {
    found.form = "(*" + (partial ? "P" : axis) + ")2(*B)";
  } else {
    if (partial) return std::nullopt;
    found.form = "(*S)2(*S)";
  }
  return found;
}

std::vector<BoxingRow> boxing_rows(const LogicalGraph& graph) {
  std::vector<BoxingRow> rows;
  for (const std::uint32_t index : topological_order(graph)) {
    const LogicalOp& op = graph.ops[index];
    if (op.kind == OpKind::kCollective) continue;  // the rows of its readers name the collective
    for (const LogicalInput& input : op.inputs) {
      if (input.control) continue;
      const LogicalOp& source = graph.ops[input.op];
      if (source.kind == OpKind::kCollective) {
        const LogicalInput& before = source.inputs.front();
        BoxingRow told = row(graph, before, op, input.signature);
        told[9] = "InsertNcclLogicalOpPass";
        told[10] = operation_name(source.operation) + " " + source.form + " is " + source.name;
        rows.push_back(std::move(told));
        continue;
      }
      const BoxingEdge edge = edge_of(graph, op, input);
      if (!needs_boxing(edge, graph.layout.hierarchy)) continue;
      const BoxingRoute route = boxing_route(edge, graph.layout.hierarchy,
                                             !graph.decisions.collectives_on_compute_streams);
      BoxingRow told = row(graph, input, op, input.signature);
      told[9] = builder_text(route);
      told[10] = route.why;
      rows.push_back(std::move(told));
    }
  }
  return rows;
}

}  // namespace pipesim::models
