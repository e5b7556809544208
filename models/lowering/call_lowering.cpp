#include "models/lowering/call_lowering.hpp"

#include <algorithm>
#include <limits>

#include "models/graph/cluster.hpp"
#include "models/lowering/transport.hpp"

namespace pipesim::models {
namespace {

constexpr std::int64_t kMinTag = std::numeric_limits<std::int64_t>::min();

std::int64_t longer(std::int64_t takes, std::int64_t slower) {
  return takes > kMaxNs / slower ? kMaxNs : takes * slower;
}

sim::Flow flow_of(Operation operation) {
  switch (operation) {
    case Operation::kBroadcast:
      return sim::Flow::kFromRoot;
    case Operation::kReduce:
      return sim::Flow::kToRoot;
    default:
      return sim::Flow::kAll;
  }
}

// Returns gloo's data flow: a binomial tree for broadcast; transfers between each rank and the root
// for gather and scatter.
sim::Flow flow_of_gloo(Operation operation) {
  switch (operation) {
    case Operation::kBroadcast:
      return sim::Flow::kTree;
    case Operation::kGather:
    case Operation::kScatter:
      return sim::Flow::kStar;
    default:
      return sim::Flow::kAll;
  }
}

}  // namespace

using sim::ActorId;
using sim::RankId;

bool runs_on_copy_engines(const TaskGraph& graph, const StepTemplate& step, std::uint32_t rank) {
  if (step.calls.empty()) return false;
  if (step.ctas) return step.ctas->value(rank) == 0;
  return std::all_of(step.calls.begin(), step.calls.end(), [&](const CallTemplate& call) {
    return graph.communicators[call.communicator].one_sided;
  });
}

bool waits_without_elements(const CommunicatorTemplate& communicator, Operation operation) {
  if (!communicator.is_gloo) return communicator.on_host;
  switch (operation) {
    case Operation::kAllReduce:
    case Operation::kReduceScatter:
    case Operation::kAllGather:
    case Operation::kReduce:
      return false;
    default:
      return true;
  }
}

CallLowering::CallLowering(const TaskGraph& graph, const RankSet* kept, const Placement& placement,
                           RankDiagnostics& diagnostics, sim::PlanBuilder& builder)
    : graph_(graph),
      kept_(kept),
      placement_(placement),
      diagnostics_(diagnostics),
      builder_(builder),
      call_times_(graph),
      faults_(graph, builder),
      called_(graph.communicators.size(), 0) {
  for (const ActorTemplate& actor : graph.actors) {
    if (!actor.step) continue;
    for (const CallTemplate& call : actor.step->calls) called_[call.communicator] = 1;
  }
}

bool CallLowering::is_nccl(std::uint32_t communicator) const {
  return communicator != kNoIndex && called_[communicator] != 0 &&
         !graph_.communicators[communicator].on_host;
}

std::uint32_t CallLowering::list_of(ActorId id, std::uint32_t communicator, Place place) {
  const CommunicatorTemplate& from = graph_.communicators[communicator];
  const std::uint32_t list = graph_.groups[from.group].list_of(placement_.rank_of(id));
  if (list == kNoIndex) {
    diagnostics_.error_once(place, Code::kNotInGroup,
                            "'" + placement_.actor(id).name + "' is on " +
                                rank_text(placement_.rank_of(id)) + ", which is not in group '" +
                                graph_.groups[from.group].name + "'");
  }
  return list;
}

std::uint32_t CallLowering::number_of(const std::string& name) {
  return numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

void CallLowering::add(ActorId id, const CallTemplate& from) {
  const std::uint32_t list = list_of(id, from.communicator, from.place);
  if (list == kNoIndex) return;
  const CommunicatorTemplate& communicator = graph_.communicators[from.communicator];
  if (from.from_any() && !communicator.on_host) {
    diagnostics_.error_once(from.place, Code::kConflictingKeys,
                            "NCCL has no recv from any rank: '" + communicator.name +
                                "' is not a communicator of the host (host: on)");
    return;
  }
  sim::CallSpec spec;
  spec.communicator = communicator_of(from.communicator, list, communicator.group);
  const std::uint32_t rank = placement_.rank_of(id);
  spec.kind = from.kind;
  spec.signature.operation = number_of(operation_name(from.operation));
  spec.signature.type = number_of(from.type);
  spec.signature.count =
      diagnostics_.number(from.bytes, rank, 0, kMaxNs, from.place, "the size", " bytes");
  if (from.sized && spec.signature.count == 0 && from.kind == sim::CallKind::kCollective &&
      !waits_without_elements(communicator, from.operation)) {
    // The call launches nothing, but keeps its place among the calls of a group.
    spec.communicator = communicator_of_one(RankId{rank});
    builder_.add_call(spec);
    return;
  }
  set_tag(id, from, spec);
  spec.takes = {
      diagnostics_.number(from.takes, rank, 0, kMaxNs, from.place, "the time it takes", " ns")};
  // NCCL runs a barrier as an all_reduce of one element.
  spec.connection = number_of(operation_name(
      from.operation == Operation::kBarrier ? Operation::kAllReduce : from.operation));
  const bool by_copies =
      runs_on_copy_engines(graph_, *placement_.actor(id).step, placement_.rank_of(id));
  spec.connects_pairs = from.operation == Operation::kAllToAll && !by_copies;
  set_peer(id, from, list, spec);
  if (!communicator.on_host) spec.flow = flow_of(from.operation);
  if (communicator.is_gloo) spec.flow = flow_of_gloo(from.operation);
  if (!from.registered) {
    set_buffering(id, from.communicator, list, spec);
  }
  if (from.timed) set_time(id, from, spec);
  if (communicator.one_sided) spec.signature.count = 0;  // a signal has no size
  add_faults(id, from, list, spec);
  if (!diagnostics_.has_errors()) builder_.add_call(spec);
}

// Sets whether a send can complete without its recv, and whether a rank can leave a broadcast or
// reduce before others have entered it.
void CallLowering::set_buffering(ActorId id, std::uint32_t index, std::uint32_t list,
                                 sim::CallSpec& spec) {
  const CommunicatorTemplate& communicator = graph_.communicators[index];
  // A schedule decides whether its sends are buffered, whatever the NcclMode.
  const bool never_waits = communicator.eager_bytes == std::numeric_limits<std::int64_t>::max();
  if (communicator.one_sided) {
    spec.buffered = spec.kind == sim::CallKind::kSend;
    return;
  }
  if (communicator.on_host || never_waits) {
    spec.buffered = communicator.eager_bytes && spec.signature.count <= *communicator.eager_bytes;
    return;
  }
  const std::uint32_t rank = placement_.rank_of(id);
  if (!spec.peer.valid()) return;
  const bool sends = spec.kind == sim::CallKind::kSend && spec.peer.value != rank;
  const bool buffered = graph_.nccl_mode != NcclMode::kContract && !communicator.registered;
  const auto count =
      static_cast<std::int64_t>(graph_.groups[communicator.group].lists[list].size());
  if (spec.flow != sim::Flow::kAll) {
    // NcclMode::kContract lets no rank leave before all have entered.
    if (!buffered) spec.flow = sim::Flow::kAll;
    if (buffered) spec.steps = ring_steps(transport(index, list), spec.signature.count);
  } else if (buffered && sends) {
    const bool over_network = graph_.cluster && !graph_.cluster->same_host(rank, spec.peer.value);
    spec.steps = buffer_steps(transport(index, list), spec.signature.count, count, over_network);
  }
}

// Returns the transport of a communicator. Caches it, because finding a transport scans all
// members.
const Transport& CallLowering::transport(std::uint32_t communicator, std::uint32_t list) {
  const auto [found, is_new] = transports_.try_emplace({communicator, list});
  if (is_new) {
    const CommunicatorTemplate& of = graph_.communicators[communicator];
    found->second = transport_of(graph_, of, graph_.groups[of.group].lists[list]);
  }
  return found->second;
}

sim::MeetingId CallLowering::meeting_of(ActorId id, const CallTemplate& call, std::uint32_t list) {
  const CommunicatorTemplate& communicator = graph_.communicators[call.communicator];
  const sim::CommunicatorId owner = communicator_of(call.communicator, list, communicator.group);
  // All ranks of a communicator split or suspend it together; the ranks of one host destroy it
  // together, some by `finalize`.
  const bool destroys =
      call.operation == Operation::kDestroy || call.operation == Operation::kFinalize;
  const bool by_host = destroys && graph_.cluster.has_value();
  const std::uint32_t rank = placement_.rank_of(id);
  const std::uint32_t host = by_host ? graph_.cluster->host_of_rank[rank] : 0;
  const auto [meeting, is_new] =
      meetings_.try_emplace({destroys ? Operation::kDestroy : call.operation, owner.value, host});
  if (!is_new) return meeting->second;
  std::vector<RankId> ranks;
  for (const std::uint32_t member : graph_.groups[communicator.group].lists[list]) {
    if (by_host && graph_.cluster->host_of_rank[member] != host) continue;
    if (is_kept(member)) ranks.push_back(RankId{member});
  }
  meeting->second = builder_.add_meeting(owner, std::move(ranks));
  return meeting->second;
}

// Sets the tag of a call. Numbered tags count down from the largest tag. Each string before a
// number has a separate range.
void CallLowering::set_tag(ActorId id, const CallTemplate& from, sim::CallSpec& spec) {
  const std::uint32_t rank = placement_.rank_of(id);
  if (from.tag_number)
    diagnostics_.number(*from.tag_number, rank, kMinTag, kMaxNs, from.place, "the tag");
  if (!from.tag_numbers) {
    spec.tag = number_of(from.tag_on(rank));
    return;
  }
  const std::uint32_t next = static_cast<std::uint32_t>(numbered_tags_.size());
  const std::uint32_t text = numbered_tags_.emplace(from.tag_on(rank), next).first->second;
  const std::uint32_t first = static_cast<std::uint32_t>(from.tag_numbers->first);
  spec.tag = ~(text * tag_range_ + first);
  spec.tag_step = ~static_cast<std::uint32_t>(from.tag_numbers->step) + 1;  // counts down
}

void CallLowering::find_tag_range(const std::vector<std::int64_t>& ops) {
  for (const ActorId id : placement_.ids()) {
    if (!placement_.actor(id).step || ops[id.value] == 0) continue;
    for (const CallTemplate& call : placement_.actor(id).step->calls) {
      if (!call.tag_numbers) continue;
      const std::int64_t last =
          call.tag_numbers->number(static_cast<std::uint32_t>(ops[id.value]) - 1);
      const std::int64_t most = std::max(call.tag_numbers->first, last);
      tag_range_ = std::max(tag_range_, static_cast<std::uint32_t>(most) + 1);
    }
  }
}

void CallLowering::set_peer(ActorId id, const CallTemplate& from, std::uint32_t list,
                            sim::CallSpec& spec) {
  const std::uint32_t rank = placement_.rank_of(id);
  const Group& group = graph_.groups[graph_.communicators[from.communicator].group];
  const auto& members = group.lists[list];
  if (from.from_any() && members.size() == 1) {
    diagnostics_.error_once(from.place, Code::kNotInGroup,
                            rank_text(rank) + " has no other rank in its list of group '" +
                                group.name + "' to receive from");
  }
  if (!from.peer) return;
  const std::int64_t peer =
      diagnostics_.number(*from.peer, rank, 0, graph_.ranks - 1, from.place, "the other rank");
  if (std::find(members.begin(), members.end(), peer) == members.end()) {
    const Place place = from.peer->place().line == 0 ? from.place : from.peer->place();
    diagnostics_.error_once(place, Code::kNotInGroup,
                            rank_text(static_cast<std::uint32_t>(peer)) +
                                " is not in the list of group '" + group.name + "' that " +
                                rank_text(rank) + " is in");
    return;
  }
  spec.peer = RankId{static_cast<std::uint32_t>(peer)};
  spec.signature.root = static_cast<std::uint32_t>(peer);
}

// Derives the time of a call from its bytes and the cluster.
void CallLowering::set_time(ActorId id, const CallTemplate& from, sim::CallSpec& spec) {
  if (diagnostics_.has_errors()) return;  // the error can concern its peer or size
  std::string why;
  const auto time = call_times_.of(from, placement_.rank_of(id), spec, &why);
  if (!time) {
    diagnostics_.error_once(from.place, Code::kArithmetic,
                            "the time of '" + placement_.actor(id).name + "': " + why);
  }
  spec.takes = {time.value_or(0)};
}

std::int64_t CallLowering::time_of(ActorId id, const CollectiveTemplate& from, std::int64_t takes) {
  const std::uint32_t rank = placement_.rank_of(id);
  const Group& group = graph_.groups[from.group];
  const std::uint32_t list = group.list_of(rank);
  // make_collectives() reports a rank outside the group.
  if (list == kNoIndex) return from.timed ? 0 : takes;
  if (from.timed) {
    std::string why;
    const auto time = call_times_.of(from, rank, &why);
    if (!time) {
      diagnostics_.error_once(from.place, Code::kArithmetic,
                              "the time of '" + placement_.actor(id).name + "': " + why);
    }
    takes = time.value_or(0);
  }
  return longer(takes, faults_.slower(from.communicator, group.lists[list]));
}

// Sets the faults that affect a call.
void CallLowering::add_faults(ActorId id, const CallTemplate& from, std::uint32_t list,
                              sim::CallSpec& spec) {
  const std::uint32_t rank = placement_.rank_of(id);
  const auto& members = graph_.groups[graph_.communicators[from.communicator].group].lists[list];
  if (from.kind == sim::CallKind::kCollective) {
    spec.takes.ns = longer(spec.takes.ns, faults_.slower(from.communicator, members));
  } else if (spec.peer.valid()) {
    const std::uint32_t peer = spec.peer.value;
    const bool sends = from.kind == sim::CallKind::kSend;
    spec.link =
        faults_.link_of_message(from.communicator, sends ? rank : peer, sends ? peer : rank);
    spec.takes.ns = longer(spec.takes.ns, faults_.slower(from.communicator, rank, peer));
  }
  spec.fatal = faults_.dies_reading(from, rank, members, spec);
}

sim::CommunicatorId CallLowering::communicator_of_one(RankId rank) {
  const auto [known, is_new] = of_one_.try_emplace(rank.value);
  if (is_new) known->second = builder_.add_communicator({rank}, false, false);
  return known->second;
}

sim::CommunicatorId CallLowering::communicator_of(std::uint32_t communicator, std::uint32_t list,
                                                  std::uint32_t group) {
  const bool named = communicator != kNoIndex;
  const auto known = shared_communicators_.find({communicator, list});
  if (named && known != shared_communicators_.end()) return known->second;
  const InitRule& rule = named ? graph_.communicators[communicator].init : graph_.init;
  std::vector<std::uint32_t> members = graph_.groups[group].lists[list];
  const auto size = static_cast<std::uint32_t>(members.size());
  std::erase_if(members, [&](std::uint32_t rank) { return !is_kept(rank); });
  std::vector<RankId> ranks;
  for (const std::uint32_t rank : members) ranks.push_back(RankId{rank});
  const bool one_sided = named && graph_.communicators[communicator].one_sided;
  const bool is_cold = graph_.nccl_mode == NcclMode::kCold && is_nccl(communicator) && !one_sided;
  const sim::CommunicatorId id = builder_.add_communicator(
      std::move(ranks), rule.at_first_use || (is_cold && !rule.said), rule.waits_for_device);
  builder_.set_size(id, size);
  if (named && graph_.communicators[communicator].on_host) builder_.set_on_host(id);
  if (named && graph_.communicators[communicator].in_calls) builder_.set_in_calls(id);
  if (is_cold) builder_.connect_at_first_use(id);
  faults_.set_up(id, communicator, members);
  if (named) shared_communicators_.emplace(std::pair(communicator, list), id);
  return id;
}

}  // namespace pipesim::models
