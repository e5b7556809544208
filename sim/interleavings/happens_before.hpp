// What happens before what in every interleaving of a plan.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/ids.hpp"
#include "sim/plan.hpp"

namespace pipesim::sim {

/// One of the two events in the life of an act. A step of the host has only one.
enum class Phase : std::uint8_t { kLaunch, kEnd };

/// Calls f(sender, act, phase) for each launch or end that sends a message that act `k` of an actor
/// needs: the data of its inputs and the acknowledgements of its outputs. `act`, 64 bits, may be
/// beyond what the sender does; then the message never comes.
template <typename F>
void for_each_sender(const Plan& plan, ActorId id, std::uint32_t k, F f) {
  const Actor& actor = plan.actors[id];
  for (std::uint32_t i = actor.inputs; i < actor.inputs_end; ++i) {
    const Edge& edge = plan.edges[plan.inputs[i]];
    if (k % edge.acts_per_slot != 0) continue;
    const Register& reg = plan.registers[edge.source];
    const std::uint64_t slot = k / edge.acts_per_slot;
    f(reg.producer, (slot + 1) * reg.acts_per_slot - 1,
      edge.data_at_launch ? Phase::kLaunch : Phase::kEnd);
  }
  for (const RegisterId reg_id : plan.registers_of(id)) {
    const Register& reg = plan.registers[reg_id];
    if (k == 0 || k % reg.acts_per_slot != 0) continue;
    const std::uint32_t group = k / reg.acts_per_slot;
    const bool drains = reg.drain_every > 0 && k % reg.drain_every == 0;
    if (!drains && group < reg.slots) continue;
    const std::uint64_t slot = drains ? group - 1 : group - reg.slots;
    for (const EdgeId edge_id : plan.edges_of(reg_id)) {
      const Edge& edge = plan.edges[edge_id];
      f(edge.consumer, (slot + 1) * edge.acts_per_slot - 1,
        edge.ack_at_launch ? Phase::kLaunch : Phase::kEnd);
    }
  }
}

/// A partial order of the launches and ends of all acts that every run of the plan keeps, whatever
/// its timing: data before its reader, a credit before the act that needs it, a program in its
/// order, a stream in the order of its launches if that is itself certain. It is sound and not
/// complete: what it says is true, and it does not say all that is.
class HappensBefore {
 public:
  /// The launch or the end of an act; all ends of one instance of a collective are one node.
  using Node = std::uint32_t;

  /// Cost: the square of the number of nodes (twice that of acts), an eighth of that in bytes.
  /// Above `max_nodes` it knows only the order of the acts of one actor.
  HappensBefore(const Plan& plan, std::uint32_t max_nodes);

  /// Whether it knows more than the order of the acts of one actor.
  bool known() const { return known_; }
  /// How many nodes acts have: node() is below.
  std::uint32_t nodes() const { return node_count_; }
  Node node(ActorId actor, std::uint32_t k, Phase phase) const;

  /// True if `a` happens before `b` in every interleaving in which `b` happens.
  bool before(Node a, Node b) const {
    return known_ && (rows_[std::size_t{b} * words_ + a / 64] >> (a % 64) & 1) != 0;
  }

  /// True if the node happens in no interleaving, for certain.
  bool never(Node node) const { return known_ && never_[node]; }

 private:
  struct Edges;
  class Calls;

  void add_acts(const Plan& plan, Edges& edges) const;
  void add_programs(const Plan& plan, Edges& edges) const;
  void add_registers(const Plan& plan, Edges& edges) const;
  void add_calls(const Plan& plan, Edges& edges);
  void close(const Edges& edges);
  bool add_streams(const Plan& plan, Edges& edges) const;
  bool add_inboxes(const Plan& plan, Edges& edges) const;
  bool reads_first(const Plan& plan, ActorId actor, std::uint32_t k, ActorId other,
                   std::uint32_t other_k) const;

  std::vector<std::uint32_t> first_;  // node of the launch of act 0, of each actor
  std::vector<std::uint8_t> step_;    // nodes per act: 1 of steps of the host, else 2
  std::vector<ActorId> end_of_;       // of each actor: whose ends stand for its own
  std::vector<std::uint32_t> work_;   // acts of each actor
  std::uint32_t node_count_ = 0;      // of acts; of calls there are more
  std::uint32_t all_nodes_ = 0;
  bool known_ = false;
  std::size_t words_ = 0;
  std::vector<std::uint64_t> rows_;  // of each node, the set of those before it
  std::vector<std::uint8_t> never_;
};

}  // namespace pipesim::sim
