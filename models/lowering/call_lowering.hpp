// Calls on communicators, and the communicators themselves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/lowering/call_times.hpp"
#include "models/lowering/fault_lowering.hpp"
#include "models/lowering/placement.hpp"
#include "models/lowering/rank_diagnostics.hpp"
#include "models/lowering/transport.hpp"
#include "sim/plan.hpp"

namespace pipesim::models {

/// Whether a collective of no elements waits for other ranks: NCCL launches nothing for it.
bool waits_without_elements(const CommunicatorTemplate& communicator, Operation operation);

class CallLowering {
 public:
  CallLowering(const TaskGraph& graph, const RankSet* kept, const Placement& placement,
               RankDiagnostics& diagnostics, sim::PlanBuilder& builder);

  FaultLowering& faults() { return faults_; }

  /// Before any call is added: as large as the largest number behind a tag asks for. `acts` by
  /// ActorId.
  void find_tag_range(const std::vector<std::int64_t>& acts);

  /// Adds a call to the step that was added last.
  void add(sim::ActorId id, const CallTemplate& from);

  /// Whether the communicator is used by calls that NCCL does, and not the host itself.
  bool is_nccl(std::uint32_t communicator) const;

  /// Where hosts meet to split or destroy a communicator of `list`.
  sim::MeetingId meeting_of(sim::ActorId id, const CallTemplate& call, std::uint32_t list);

  /// How long the collective of an actor takes, which says `takes` itself.
  std::int64_t time_of(sim::ActorId id, const CollectiveTemplate& from, std::int64_t takes);

  /// The list of the communicator's group that the rank of `id` is in. Where it is in none, that is
  /// an error at `place`, and kNoIndex.
  std::uint32_t list_of(sim::ActorId id, std::uint32_t communicator, Place place);

  /// A new one for a collective that names none (kNoIndex), else that of the list.
  sim::CommunicatorId communicator_of(std::uint32_t communicator, std::uint32_t list,
                                      std::uint32_t group);

 private:
  sim::CommunicatorId communicator_of_one(sim::RankId rank);
  std::uint32_t number_of(const std::string& name);
  void set_tag(sim::ActorId id, const CallTemplate& from, sim::CallSpec& spec);
  void set_buffering(sim::ActorId id, std::uint32_t index, std::uint32_t list, sim::CallSpec& spec);
  const Transport& transport(std::uint32_t communicator, std::uint32_t list);
  void set_peer(sim::ActorId id, const CallTemplate& from, std::uint32_t list, sim::CallSpec& spec);
  void set_time(sim::ActorId id, const CallTemplate& from, sim::CallSpec& spec);
  void add_faults(sim::ActorId id, const CallTemplate& from, std::uint32_t list,
                  sim::CallSpec& spec);

  bool is_kept(std::uint32_t rank) const { return kept_ == nullptr || kept_->contains(rank); }

  const TaskGraph& graph_;
  const RankSet* kept_;  // the ranks that communicators are made of; null: all
  const Placement& placement_;
  RankDiagnostics& diagnostics_;
  sim::PlanBuilder& builder_;
  CallTimes call_times_;
  FaultLowering faults_;
  // By named communicator and list of its group.
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim::CommunicatorId> shared_communicators_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Transport> transports_;  // likewise
  std::map<std::uint32_t, sim::CommunicatorId> of_one_;  // by rank: for calls that wait for nobody
  std::map<std::tuple<bool, std::uint32_t, std::uint32_t>, sim::MeetingId> meetings_;
  std::vector<std::uint8_t> called_;                    // of communicators: by steps of programs
  std::map<std::string, std::uint32_t> numbers_;        // of operations, types and tags
  std::map<std::string, std::uint32_t> numbered_tags_;  // of tags before a number
  std::uint32_t tag_range_ = 1;
};

}  // namespace pipesim::models
