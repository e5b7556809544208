// Lowering of calls and communicators.
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

/// Whether the calls of a step run on copy engines (`ctas: 0`, one-sided communicators), without a
/// kernel: they need no kernel slots and no connections of pairs, and join no launch order.
/// Sources: NVIDIA/nccl 2.31, src/ce_coll.cc, src/rma.
bool runs_on_copy_engines(const TaskGraph& graph, const StepTemplate& step, std::uint32_t rank);

/// Whether a collective of 0 elements waits for other ranks. NCCL launches nothing, so it does not
/// wait; nor do some of gloo's collectives.
bool waits_without_elements(const CommunicatorTemplate& communicator, Operation operation);

class CallLowering {
 public:
  CallLowering(const TaskGraph& graph, const RankSet* kept, const Placement& placement,
               RankDiagnostics& diagnostics, sim::PlanBuilder& builder);

  FaultLowering& faults() { return faults_; }

  /// Makes the range of numbered tags large enough for the largest number. Call before the first
  /// add(). `ops` is indexed by ActorId.
  void find_tag_range(const std::vector<std::int64_t>& ops);

  /// Adds a call to the most recently added step.
  void add(sim::ActorId id, const CallTemplate& from);

  /// Whether the communicator has calls, and NCCL, not the host, runs them.
  bool is_nccl(std::uint32_t communicator) const;

  /// Returns the meeting in which hosts split, destroy or suspend a communicator of `list`.
  sim::MeetingId meeting_of(sim::ActorId id, const CallTemplate& call, std::uint32_t list);

  /// Returns the duration of an actor's collective; `takes` is the actor's stated time.
  std::int64_t time_of(sim::ActorId id, const CollectiveTemplate& from, std::int64_t takes);

  /// Returns the index of the list of the communicator's group that contains the rank of `id`. If
  /// there is none, reports an error at `place` and returns kNoIndex.
  std::uint32_t list_of(sim::ActorId id, std::uint32_t communicator, Place place);

  /// Returns a new communicator if `communicator` is kNoIndex, else the list's communicator.
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
  const RankSet* kept_;  // the ranks that communicators contain; null: all
  const Placement& placement_;
  RankDiagnostics& diagnostics_;
  sim::PlanBuilder& builder_;
  CallTimes call_times_;
  FaultLowering faults_;
  // Keyed by named communicator and list of its group.
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim::CommunicatorId> shared_communicators_;
  // Keyed by named communicator and list of its group.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Transport> transports_;
  // Keyed by rank: for calls that do not wait for other ranks.
  std::map<std::uint32_t, sim::CommunicatorId> of_one_;
  std::map<std::tuple<Operation, std::uint32_t, std::uint32_t>, sim::MeetingId> meetings_;
  std::vector<std::uint8_t> called_;  // indexed by communicator: whether a step calls it
  std::map<std::string, std::uint32_t> numbers_;  // ids of operations, types and tags
  // Ids of the strings that precede the numbers of tags.
  std::map<std::string, std::uint32_t> numbered_tags_;
  std::uint32_t tag_range_ = 1;
};

}  // namespace pipesim::models
