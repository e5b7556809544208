// The builder of the wait-for graph, for the source files wait_graph*.cpp only.
//
// wait_graph.cpp         nodes, streams, registers, devices   rule 7
// wait_graph_calls.cpp   communicators, calls, meetings       rules 7.3, 9.6
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/state.hpp"
#include "sim/wait_graph.hpp"

namespace pipesim::sim {

class WaitGraphBuilder {
 public:
  WaitGraphBuilder(const Plan& plan, const State& state) : plan_(plan), state_(state) {}

  WaitGraph build();

 private:
  void number_nodes();
  void add_launched_edges(StreamId id);
  void add_peers(ActorId actor, std::uint32_t k);
  void add_met(CallId id);
  void add_stalled(CallId id);
  void add_progress(RankId rank);
  void add_sources(const Call& call);
  ChannelId channel_of(CallId id) const;
  void add_link(LinkId id);
  void add_head_edges(StreamId id);
  void add_held_edges(StreamId id);
  void add_slot_edges(StreamId id);
  void add_calls(ActorId actor);
  void add_call(CallId id);
  void add_round(CallId id);
  void add_open_round(CallId id);
  void add_coming(WaitKind kind, std::uint32_t member, const Call& sort);
  bool add_coming_launched(WaitKind kind, ActorId user, const Call& sort);
  bool add_if_coming(WaitKind kind, StreamId stream, std::uint32_t i, StreamItem item,
                     const Call& sort);
  void add_record(WaitKind kind, SignalId id, std::uint32_t needed);
  void add_host_step_edges(ActorId id);
  void add_setters(SignalId id);
  void add_holder(LockId id);
  void add_next_edges(ActorId actor);
  void add_launch_edges(ActorId actor, Step step);
  void add_marked_streams(WaitKind kind, StreamItem mark);
  void find_marked_streams();
  CommunicatorId missing_communicator(ActorId id) const;
  void add_init_edges(ActorId actor);
  void add_connection_edges(ActorId actor);
  void add_meet_edges(ActorId actor);
  void add_absent(const Need& need, std::uint32_t number);
  void add_unmet_edges(ActorId id, std::uint32_t k);
  void add_input_edge(ActorId actor, EdgeId edge, std::uint32_t k);
  void add_register_edges(RegisterId id, std::uint32_t k);
  void add_unacknowledged(RegisterId reg, std::uint32_t slot, WaitKind kind);
  void add_acknowledgement(EdgeId edge, std::uint32_t slot, WaitKind kind);
  bool is_mark(EdgeId edge, std::uint32_t slot) const;
  WaitGraph compact();

  // Functions that add edges to node from_. end_node() drops duplicates.
  void begin_node(ActorId actor, std::uint32_t k);
  void add(WaitKind kind, std::uint32_t to, RegisterId reg = {});
  void add_rank(WaitKind kind, RankId rank);
  void add_op(WaitKind kind, ActorId actor, std::uint32_t k, RegisterId reg = {});
  void add_blocker(ThreadId thread);
  void add_head(WaitKind kind, StreamId stream);
  void add_launch_queue(StreamId id);
  void add_item(WaitKind kind, StreamId stream, std::uint32_t index);
  void make_any_set(std::size_t before);
  std::pair<std::uint32_t, std::uint32_t> users_of(CommunicatorId id, RankId rank) const;
  void end_node();

  std::uint32_t node_of(ActorId id, std::uint32_t k) const;
  ActorId next_actor(ActorId actor) const;
  bool has_next_node(ActorId id) const;
  bool dead(RankId rank) const { return state_.health[rank] == Health::kDead; }
  bool aborted(std::uint32_t member) const { return plan_.aborts && state_.aborted[member] != 0; }
  bool moves(RankId rank) const { return state_.health[rank] == Health::kSound; }
  bool program(ThreadId thread) const {
    return plan_.threads[thread].order == ThreadOrder::kProgram;
  }

  const Plan& plan_;
  const State& state_;
  IdVector<ActorId, std::uint32_t> first_node_;
  std::uint32_t op_nodes_ = 0;
  std::uint32_t from_ = 0;
  RankId from_rank_;
  std::size_t first_edge_ = 0;  // index of the first edge of from_
  CallId call_;                 // the call of from_ whose edges are being added
  std::uint32_t any_sets_ = 0;
  // Signals and the actors that set them, sorted by signal; filled on first use.
  std::vector<std::pair<SignalId, ActorId>> setters_;
  // Marks and the streams that hold them, sorted by mark; filled on first use.
  std::vector<std::pair<std::uint32_t, StreamId>> marked_streams_;
  bool has_marked_streams_ = false;
  std::vector<WaitEdge> edges_;
};

}  // namespace pipesim::sim
