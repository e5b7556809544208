// Rules about the actors of an actor runtime: their streams, and the registers that limit them.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "features/lint/lint_rules.hpp"

namespace pipesim::models {
namespace {

using sim::ActorId;
using sim::EdgeId;
using sim::RegisterId;
using sim::StreamId;

// Whether two sorted lists of ranks share a rank. On such a rank, the reader needs both the tensor
// and the zeros.
bool share_any(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](std::uint32_t number) {
    return std::binary_search(b.begin(), b.end(), number);
  });
}

class ActorLint : PlanLint {
 public:
  using PlanLint::PlanLint;

  void run() {
    find_collectives();
    find_reads();
    for (const ActorId id : ids_of(plan_.actors)) {
      if (plan_.actors[id].role != sim::Role::kOp) continue;
      check_stream(id);
      check_credits(id);
    }
    check_partial_sums();
  }

 private:
  void find_collectives();
  void find_reads();
  void check_stream(ActorId id);
  void check_credits(ActorId id);
  void check_control(ActorId id, RegisterId control, RegisterId data);
  // Ranks of the reader, by the indices of reader and source in TaskGraph::actors.
  using Ends = std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>>;

  Ends ends_of(bool control) const;
  void check_partial_sums();
  void report_partial_sum(std::uint32_t reader, std::uint32_t zeros, std::uint32_t tensor,
                          const std::vector<std::uint32_t>& with_zeros,
                          const std::vector<std::uint32_t>& with_tensor);

  std::uint32_t template_of(ActorId id) const { return lowered_.actor_template[id]; }
  ActorId producer_of(EdgeId edge) const {
    return plan_.registers[plan_.edges[edge].source].producer;
  }
  bool is_read(RegisterId reg) const {
    return plan_.registers[reg].edges != plan_.registers[reg].edges_end;
  }
  std::vector<EdgeId> inputs_of(ActorId id) const {
    const sim::Actor& actor = plan_.actors[id];
    return {plan_.inputs.begin() + actor.inputs, plan_.inputs.begin() + actor.inputs_end};
  }

  // Registers that are read on any rank, as pairs of actor template and register template.
  std::set<std::pair<std::uint32_t, std::uint32_t>> read_;
  std::map<std::uint32_t, ActorId> collectives_;  // by stream: its first collective with peers
};

void ActorLint::find_collectives() {
  for (const ActorId id : ids_of(plan_.actors)) {
    const sim::Actor& actor = plan_.actors[id];
    if (!actor.stream.valid() || !actor.collective.valid()) continue;
    const sim::Collective& collective = plan_.collectives[actor.collective];
    if (collective.members_end - collective.members < 2) continue;
    collectives_.try_emplace(actor.stream.value, id);
  }
}

void ActorLint::find_reads() {
  for (const RegisterId reg : ids_of(plan_.registers)) {
    if (!is_read(reg)) continue;
    read_.insert({template_of(plan_.registers[reg].producer), lowered_.register_template[reg]});
  }
}

// Reports an op that only passes data to another stream. The op gains nothing from this stream and
// is queued behind collectives that wait. Skips sources, sinks and collectives, since collectives
// belong on their own stream.
void ActorLint::check_stream(ActorId id) {
  const sim::Actor& actor = plan_.actors[id];
  const auto collective = collectives_.find(actor.stream.value);
  if (actor.collective.valid() || collective == collectives_.end()) return;
  const std::vector<EdgeId> inputs = inputs_of(id);
  if (inputs.empty()) return;
  for (const EdgeId edge : inputs) {
    if (plan_.actors[producer_of(edge)].stream == actor.stream) return;
  }
  std::set<std::string> to;
  for (const RegisterId reg : plan_.registers_of(id)) {
    for (const EdgeId edge : plan_.edges_of(reg)) {
      const ActorId reader = plan_.edges[edge].consumer;
      if (plan_.actors[reader].stream == actor.stream) return;
      to.insert(names_.stream_of(reader));
    }
  }
  if (to.empty()) return;
  const std::string& name = names_.name(id);
  const std::string& stream = names_.stream_of(id);
  const bool one = to.size() == 1;
  findings_.push_back(
      {.rule = kBufferStream,
       .place = names_.actor(id).place,
       .message = fmt::format(
           "'{}' runs on stream '{}', but its inputs and its readers are on other streams", name,
           stream),
       .ops = {name},
       .ranks = RankSet({actor.rank.value}),
       .why = fmt::format("while '{}' waits for its peers on '{}', '{}' is queued behind it{}",
                          names_.name(collective->second), stream, name,
                          one ? fmt::format(", and stream '{}' waits too", *to.begin()) : ""),
       .advice = one ? fmt::format("put '{}' on stream '{}'", name, *to.begin()) : ""});
}

// Compares control registers with the data register that has the most slots. Includes data that
// only other ranks read, because this rank can fall behind those readers.
void ActorLint::check_credits(ActorId id) {
  RegisterId data;  // the data register with the most slots
  for (const RegisterId reg : plan_.registers_of(id)) {
    const bool is_read_somewhere =
        read_.count({template_of(id), lowered_.register_template[reg]}) > 0;
    if (plan_.registers[reg].control || !is_read_somewhere) continue;
    if (!data.valid() || plan_.registers[reg].slots > plan_.registers[data].slots) data = reg;
  }
  if (!data.valid()) return;
  for (const RegisterId reg : plan_.registers_of(id)) {
    if (plan_.registers[reg].control && is_read(reg)) check_control(id, reg, data);
  }
}

void ActorLint::check_control(ActorId id, RegisterId control, RegisterId data) {
  const std::uint32_t few = plan_.registers[control].slots;
  const std::uint32_t many = plan_.registers[data].slots;
  if (few >= many) return;
  const ActorTemplate& from = names_.actor(id);
  const RegisterTemplate& reg = from.registers[lowered_.register_template[control]];
  const std::string& reader = names_.name(plan_.edges[*plan_.edges_of(control).begin()].consumer);
  findings_.push_back(
      {.rule = kControlCredits,
       .place = reg.place.line > 0 ? reg.place : from.place,
       .message =
           fmt::format("control register '{}' of '{}' has fewer slots ({}) than its data ({})",
                       reg.name, from.name, few, many),
       .ops = {from.name},
       .ranks = RankSet({plan_.actors[id].rank.value}),
       .why = fmt::format("'{}' can be {} op{} ahead of '{}', which needs only its order, although "
                          "its data slots allow {}: ranks without '{}' run ahead of the others",
                          from.name, few, few == 1 ? "" : "s", reader, many, reader),
       .advice = "give it as many slots as the data"});
}

ActorLint::Ends ActorLint::ends_of(bool control) const {
  Ends ends;
  for (const ActorId id : ids_of(plan_.actors)) {
    for (const EdgeId edge : inputs_of(id)) {
      if (plan_.registers[plan_.edges[edge].source].control != control) continue;
      std::vector<std::uint32_t>& ranks = ends[{template_of(id), template_of(producer_of(edge))}];
      const std::uint32_t rank = plan_.actors[id].rank.value;
      if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
    }
  }
  return ends;
}

// Finds the boxing of a broadcast into a partial sum. The reader takes the tensor on some ranks and
// zeros on all other ranks. The zeros wait only for a control register of the tensor's producer.
void ActorLint::check_partial_sums() {
  const Ends ordered = ends_of(true);
  if (ordered.empty()) return;
  const Ends reads = ends_of(false);
  for (const auto& [edge, with_zeros] : reads) {
    const auto [reader, zeros] = edge;
    for (auto order = ordered.lower_bound({zeros, 0}); order != ordered.end(); ++order) {
      if (order->first.first != zeros) break;
      const auto tensor = reads.find({reader, order->first.second});
      if (tensor == reads.end() || share_any(with_zeros, tensor->second)) continue;
      report_partial_sum(reader, zeros, tensor->first.second, with_zeros, tensor->second);
    }
  }
}

void ActorLint::report_partial_sum(std::uint32_t reader, std::uint32_t zeros, std::uint32_t tensor,
                                   const std::vector<std::uint32_t>& with_zeros,
                                   const std::vector<std::uint32_t>& with_tensor) {
  const std::string& tensor_name = graph_.actors[tensor].name;
  const std::string& zeros_name = graph_.actors[zeros].name;
  findings_.push_back(
      {.rule = kPartialSum,
       .place = graph_.actors[zeros].place,
       .message = fmt::format(
           "'{}' takes '{}', and on other ranks '{}': a partial sum made from a broadcast",
           graph_.actors[reader].name, zeros_name, tensor_name),
       .ops = {graph_.actors[zeros].name},
       .ranks = RankSet(with_zeros),
       .why = fmt::format(
           "'{}' waits for the order of '{}' and limits it through its credits; on ranks without "
           "it (rank {}{}) nothing does, so the ranks of a group drift apart",
           zeros_name, tensor_name, with_tensor.front(),
           with_tensor.size() > 1 ? " and others" : ""),
       .advice = "make all ranks the same: zeros on all ranks, or more slots for the zeros and "
                 "their control "
                 "register"});
}

}  // namespace

void lint_actors(const TaskGraph& graph, const Lowered& lowered,
                 std::vector<LintFinding>& findings) {
  ActorLint(graph, lowered, findings).run();
}

}  // namespace pipesim::models
