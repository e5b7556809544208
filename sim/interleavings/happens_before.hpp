// The happens-before order that every interleaving of a plan keeps.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/ids.hpp"
#include "sim/plan.hpp"

namespace pipesim::sim {

/// The two events of an op. A host step has only one event.
enum class Phase : std::uint8_t { kLaunch, kEnd };

/// Calls f(sender, op, phase) for each launch or end whose message op `k` of an actor needs: the
/// data of its inputs, and the acknowledgements of its outputs. `op` has 64 bits and can exceed
/// the sender's work; the message then never arrives.
template <typename F>
void for_each_sender(const Plan& plan, ActorId id, std::uint32_t k, F f) {
  const Actor& actor = plan.actors[id];
  for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
    const Edge& edge = plan.edges[plan.inputs[i]];
    if (k % edge.ops_per_slot != 0) continue;
    const Register& reg = plan.registers[edge.source];
    const std::uint64_t slot = k / edge.ops_per_slot;
    f(reg.producer, (slot + 1) * reg.ops_per_slot - 1,
      edge.data_at_launch ? Phase::kLaunch : Phase::kEnd);
  }
  for (const RegisterId reg_id : plan.registers_of(id)) {
    const Register& reg = plan.registers[reg_id];
    if (k == 0 || k % reg.ops_per_slot != 0) continue;
    const std::uint32_t group = k / reg.ops_per_slot;
    const bool drains = reg.drain_every > 0 && k % reg.drain_every == 0;
    if (!drains && group < reg.slots) continue;
    const std::uint64_t slot = drains ? group - 1 : group - reg.slots;
    for (const EdgeId edge_id : plan.edges_of(reg_id)) {
      const Edge& edge = plan.edges[edge_id];
      f(edge.consumer, (slot + 1) * edge.ops_per_slot - 1,
        edge.ack_at_launch ? Phase::kLaunch : Phase::kEnd);
    }
  }
}

/// A partial order of the launches and ends of all ops that every run keeps, for any timing. This
/// order contains: data before its reader; a credit before the op that needs it; a program in its
/// order; a stream in launch order if that order is certain. The relation is sound but not
/// complete: all its pairs are true, but some true pairs are missing.
class HappensBefore {
 public:
  /// A launch or end of an op; all ends of one instance of a collective share a node.
  using Node = std::uint32_t;

  /// Computes the order. Cost: the square of the number of nodes (two per op) in time, an eighth of
  /// the square in bytes. Above `max_nodes` nodes, or if a rank aborts a communicator, the relation
  /// contains only the order of ops within each actor.
  HappensBefore(const Plan& plan, std::uint32_t max_nodes);

  /// Whether the relation contains more than the order of ops within each actor.
  bool known() const { return known_; }
  /// Returns the number of nodes of ops; node() returns smaller numbers.
  std::uint32_t nodes() const { return node_count_; }
  Node node(ActorId actor, std::uint32_t k, Phase phase) const {
    if (phase == Phase::kLaunch) return first_[actor.value] + k * step_[actor.value];
    // The extra op of a source, after its last one, does not belong to a collective.
    const std::uint32_t by = k < work_[actor.value] ? end_of_[actor.value].value : actor.value;
    return first_[by] + k * step_[by] + (step_[by] - 1u);
  }

  /// Whether `a` happens before `b` in every interleaving in which `b` happens.
  bool before(Node a, Node b) const {
    return known_ && (rows_[std::size_t{b} * words_ + a / 64] >> (a % 64) & 1) != 0;
  }

  /// Whether the node certainly happens in no interleaving.
  bool never(Node node) const { return known_ && never_[node]; }

 private:
  struct Edges;
  class Calls;

  void add_ops(const Plan& plan, Edges& edges) const;
  void add_programs(const Plan& plan, Edges& edges) const;
  void add_registers(const Plan& plan, Edges& edges) const;
  void add_calls(const Plan& plan, Edges& edges);
  void close(const Edges& edges);
  bool add_streams(const Plan& plan, Edges& edges) const;
  bool add_inboxes(const Plan& plan, Edges& edges) const;
  bool reads_first(const Plan& plan, ActorId actor, std::uint32_t k, ActorId other,
                   std::uint32_t other_k) const;

  std::vector<std::uint32_t> first_;  // per actor: node of the launch of op 0
  std::vector<std::uint8_t> step_;    // per actor: nodes per op: 1 for host steps, else 2
  std::vector<ActorId> end_of_;       // per actor: the actor whose end nodes it shares
  std::vector<std::uint32_t> work_;   // per actor: number of ops
  std::uint32_t node_count_ = 0;      // number of nodes of ops; calls have additional nodes
  std::uint32_t all_nodes_ = 0;
  bool known_ = false;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> rows_;  // per node: the set of nodes before it
  std::vector<std::uint8_t> never_;
};

}  // namespace pipesim::sim
