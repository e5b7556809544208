// Selects the pending events to try, such that no outcome of a run is missed.
//
// Events that do not disturb each other lead to the same state in any order, so one order is
// enough. A set of pending events is *stubborn* if no event outside the set disturbs it before one
// of its own events has happened. Trying only one such set in each state still reaches every
// quiescent state. (A. Valmari, "Stubborn sets for reduced state space generation", 1989; P.
// Godefroid's persistent sets, "Partial-order methods for the verification of concurrent systems",
// 1996, serve the same purpose.) Every event is progress, so no cycle of events can postpone
// another event forever.
//
// docs/explanation/check.md lists which events disturb each other, and why the list is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/event.hpp"
#include "sim/ids.hpp"
#include "sim/interleavings/happens_before.hpp"
#include "sim/plan.hpp"
#include "sim/state.hpp"

namespace pipesim::sim {

class StubbornSets {
 public:
  explicit StubbornSets(const Plan& plan);

  const HappensBefore& happens_before() const { return happens_before_; }

  /// Sets `chosen` to the indices of a small stubborn set of `pending`. `pending` must not be
  /// empty. The same state gives the same set.
  void choose(const State& state, const std::vector<Event>& pending,
              std::vector<std::uint32_t>& chosen);

 private:
  using Node = HappensBefore::Node;

  // A message for op k of an actor whose thread runs several actors.
  struct Push {
    ActorId actor;
    std::uint32_t k = 0;
  };
  // The effects of an event on other events.
  struct Effects {
    std::vector<Node> nodes;  // launches or ends of ops
    std::vector<Push> pushes;
    std::vector<std::uint32_t> touches;  // resources whose order of use matters
    ThreadId thread;                     // the thread that wakes, if any
    ChannelId any;                       // if a recv from any rank takes a message: its channel
    LockId held;                         // the lock that the thread would have to wait for, if any
  };
  // A use of a resource, by each launch or each end of an actor's ops.
  struct Use {
    ActorId actor;
    Phase phase = Phase::kLaunch;
  };
  using Resource = std::uint32_t;
  // A pending event from which to build a set.
  struct Seed {
    RankId rank;
    std::uint32_t pending = 0;
  };
  // A node of a pending event.
  struct Place {
    Node node = 0;
    std::uint32_t pending = 0;
  };
  // The launches of ops [begin, end) of an actor.
  struct Rival {
    ActorId actor;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  // For each taker of a thread: the result of first_lacking().
  struct Lacking {
    ThreadId thread;
    std::vector<std::uint16_t> first;
  };

  void find_senders();
  void find_sender_nodes();
  void find_blocking();
  void find_paired_locks();
  void find_resources();
  Resource add_resource();
  void use(Resource resource, ActorId actor, Phase phase);
  void use_if_of_several(const std::vector<ActorId>& users);
  void use_streams_of_several();
  void use_launch_queues_of_several();
  void use_lines_of_several();
  void use_signals_of_several();
  void use_devices();
  void use_inits();
  void use_meetings();

  void find_effects(const Event& event, Effects& effects) const;
  ActorId next_launch(ThreadId id) const;
  void add_op(ActorId id, std::uint32_t k, Phase phase, Effects& effects) const;
  void add_push(ActorId actor, std::uint64_t k, Effects& effects) const;
  void add_call_end(CallId call, Effects& effects) const;

  static bool disturbs_nothing(const Effects& effects);
  void choose_closed(std::vector<std::uint32_t>& chosen);
  RankId rank_of(const Event& event) const;
  void find_places(std::uint32_t count);
  void forget_places();
  bool close(std::uint32_t seed, std::size_t less_than);
  bool add_disturbers(std::uint32_t member);
  bool add_disturbers(const Effects& effects, const Push& push);
  bool add_senders(const Effects& effects, const Push& push, ActorId other, std::uint32_t k);
  bool add_users(const Effects& effects, Resource resource);
  bool add(ActorId actor, std::uint32_t k, Phase phase);
  bool add(std::uint32_t member);
  bool add_need(ActorId actor, std::uint32_t k, Phase phase, std::uint32_t depth);
  bool add_need_of_end(ActorId id, std::uint32_t depth);
  bool add_start(StreamId stream);
  bool add_sources(ChannelId any);
  bool add_sends(ActorId id, ChannelId any);
  bool add_need_of_launch(ActorId id, std::uint32_t depth);
  bool add_need_of_slots(DeviceId id, std::uint32_t depth);
  bool add_need_of_blocked(const ThreadState& thread, std::uint32_t depth);
  bool add_need_of_lock(LockId lock, std::uint32_t depth);
  bool has_happened(ActorId actor, std::uint32_t k, Phase phase) const;
  bool lacks(ActorId actor, std::uint32_t k, Node node) const;
  std::uint32_t first_lacking(ActorId id, Node node);
  bool comes_after(const Effects& effects, Node node) const;
  const std::vector<Rival>& rivals_of(const Push& push);
  bool commute(ActorId a, ActorId b) const;
  bool seen_at_launch(ActorId id) const;
  bool share_device(StreamId a, StreamId b) const;

  const Plan& plan_;
  HappensBefore happens_before_;
  bool all_disturb_ = false;                         // whether some effects are not modeled
  IdVector<ThreadId, std::vector<ActorId>> takers_;  // per thread: actors whose order may matter
  IdVector<ActorId, std::uint32_t> place_of_taker_;  // per actor: its index in takers_
  std::vector<std::optional<std::vector<Rival>>> rivals_;  // by node of a launch, see rivals_of()
  std::size_t rivals_count_ = 0;
  std::vector<std::vector<Lacking>> lacking_;  // per node, as far as they were needed
  IdVector<ActorId, std::uint8_t> may_block_;  // per actor: whether a launch can block
  IdVector<ActorId, std::uint8_t> sends_at_launch_;
  IdVector<ActorId, std::vector<Resource>> used_at_launch_;
  IdVector<ActorId, std::vector<Resource>> used_at_end_;
  std::vector<std::vector<Use>> users_;  // per resource: its uses by actors
  IdVector<DeviceId, Resource> device_resources_;
  IdVector<ChannelId, std::vector<ActorId>> senders_;  // per any-rank channel: actors that send
  IdVector<LockId, std::uint8_t> paired_;              // per lock: 1 if only its holder releases it
  // Nodes that send messages for a launch: [first, end) in sender_nodes_, by the launch's node.
  // Computed for actors of threads in takers_.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sent_by_;
  std::vector<Node> sender_nodes_;

  // Data of the current state:
  const State* state_ = nullptr;
  const std::vector<Event>* pending_ = nullptr;
  std::vector<Effects> effects_;
  std::vector<Place> places_;              // nodes of the pending events, in the order of events
  std::vector<std::uint32_t> pending_at_;  // by node: the first pending event with this node
  std::vector<Seed> seeds_;
  std::vector<std::uint8_t> outgrown_;  // by pending event: 1 if sets with it are too large
  std::vector<std::uint8_t> is_member_;
  std::vector<std::uint32_t> members_;
};

}  // namespace pipesim::sim
