#include "sim/meeting_layout.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "sim/assert.hpp"

namespace pipesim::sim {
namespace {

class Layout {
 public:
  explicit Layout(Plan& plan)
      : plan_(plan),
        of_channel_(plan.channels.size()),
        of_communicator_(plan.communicators.size()) {}

  void add_call(const Call& call);
  void add_meet(ActorId actor, MeetingId meeting);
  void finish();

 private:
  struct Coming {
    ActorId actor;
    Need need;
  };

  MeetingId meeting_of_message(ChannelId channel);
  void add_pairs(const Call& call);
  MeetingId meeting_of_collective(const Call& call);
  std::uint32_t member_of(MeetingId id, RankId rank) const;
  void add(ActorId actor, MeetingId meeting, std::uint32_t connection);
  void set_needs();
  void set_users();

  Plan& plan_;
  IdVector<ChannelId, MeetingId> of_channel_;
  IdVector<CommunicatorId, MeetingId> of_communicator_;
  // Channels of each communicator with a call that connects all pairs; filled on first use.
  std::map<CommunicatorId, std::vector<ChannelId>> channels_;
  // Need::join by member and connection.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> joins_;
  std::vector<Coming> coming_;
};

std::uint32_t Layout::member_of(MeetingId id, RankId rank) const {
  const auto ranks = plan_.meeting_ranks.begin();
  const Meeting& meeting = plan_.meetings[id];
  const auto found = std::lower_bound(ranks + meeting.ranks, ranks + meeting.ranks_end, rank);
  PIPESIM_CHECK(found != ranks + meeting.ranks_end && *found == rank, {"rank", rank.value});
  return static_cast<std::uint32_t>(found - ranks);
}

// Returns the meeting for the sends and recvs on a channel; not valid if a rank sends to itself,
// which needs no connection.
MeetingId Layout::meeting_of_message(ChannelId channel) {
  MeetingId& id = of_channel_[channel];
  const Channel& of = plan_.channels[channel];
  if (id.valid() || of.from == of.to) return id;
  std::vector<RankId> ranks{plan_.communicator_ranks[of.from], plan_.communicator_ranks[of.to]};
  std::sort(ranks.begin(), ranks.end());
  id = open_meeting(plan_, MeetingKind::kMessage, of.communicator, ranks);
  return id;
}

// Adds the meetings of a call that connects all pairs of ranks: one per channel to or from the
// call's rank. Pairs without sends and recvs connect in the meeting of the collective.
void Layout::add_pairs(const Call& call) {
  const auto [known, is_new] = channels_.try_emplace(call.communicator);
  for (const ChannelId id : ids_of(plan_.channels)) {
    if (!is_new) break;
    const Channel& channel = plan_.channels[id];
    const bool carries = channel.from != kAnyPeer;
    if (carries && channel.communicator == call.communicator) known->second.push_back(id);
  }
  const auto ends = [&](ChannelId id) {
    return std::pair(plan_.channels[id].from, plan_.channels[id].to);
  };
  if (is_new) {
    std::sort(known->second.begin(), known->second.end(),
              [&](ChannelId a, ChannelId b) { return ends(a) < ends(b); });
  }
  for (const ChannelId id : known->second) {
    const Channel& channel = plan_.channels[id];
    if (channel.from != call.member && channel.to != call.member) continue;
    const MeetingId meeting = meeting_of_message(id);
    if (meeting.valid()) add(call.actor, meeting, 0);
  }
}

MeetingId Layout::meeting_of_collective(const Call& call) {
  MeetingId& id = of_communicator_[call.communicator];
  const Communicator& communicator = plan_.communicators[call.communicator];
  if (id.valid() || communicator.ranks_end - communicator.ranks == 1) return id;
  const auto ranks = plan_.communicator_ranks.begin();
  id = open_meeting(plan_, MeetingKind::kCollective, call.communicator,
                    {ranks + communicator.ranks, ranks + communicator.ranks_end});
  return id;
}

void Layout::add(ActorId actor, MeetingId meeting, std::uint32_t connection) {
  const std::uint32_t member = member_of(meeting, plan_.actors[actor].rank);
  const std::uint32_t next = static_cast<std::uint32_t>(joins_.size());
  const std::uint32_t join = joins_.try_emplace({member, connection}, next).first->second;
  coming_.push_back({actor, {meeting, member, join}});
}

void Layout::add_call(const Call& call) {
  if (!plan_.communicators[call.communicator].connects) return;
  if (call.kind != CallKind::kCollective) {
    const MeetingId meeting = meeting_of_message(call.channel);
    if (meeting.valid()) add(call.actor, meeting, 0);
    return;
  }
  if (call.connects_pairs) add_pairs(call);
  const MeetingId meeting = meeting_of_collective(call);
  if (meeting.valid()) add(call.actor, meeting, call.connection);
}

void Layout::add_meet(ActorId actor, MeetingId meeting) {
  coming_.push_back({actor, {meeting, member_of(meeting, plan_.actors[actor].rank), kNoOp}});
}

// Stores the needs of each actor without duplicates: sends and recvs before collectives, each in
// the order of calls.
void Layout::set_needs() {
  std::stable_sort(coming_.begin(), coming_.end(), [&](const Coming& a, const Coming& b) {
    return std::tuple(a.actor, plan_.meetings[a.need.meeting].kind) <
           std::tuple(b.actor, plan_.meetings[b.need.meeting].kind);
  });
  std::vector<Coming> kept;
  for (const Coming& coming : coming_) {
    Actor& actor = plan_.actors[coming.actor];
    if (actor.needs == actor.needs_end) {
      actor.needs = actor.needs_end = static_cast<std::uint32_t>(plan_.needs.size());
    }
    const auto own = plan_.needs.begin() + actor.needs;
    const bool known = std::any_of(own, plan_.needs.end(), [&](const Need& need) {
      return need.meeting == coming.need.meeting && need.join == coming.need.join;
    });
    if (known) continue;
    plan_.needs.push_back(coming.need);
    ++actor.needs_end;
    kept.push_back(coming);
  }
  coming_ = std::move(kept);
}

void Layout::set_users() {
  std::stable_sort(coming_.begin(), coming_.end(), [&](const Coming& a, const Coming& b) {
    return std::tuple(a.need.meeting, plan_.actors[a.actor].rank, a.actor) <
           std::tuple(b.need.meeting, plan_.actors[b.actor].rank, b.actor);
  });
  for (const Coming& coming : coming_) {
    Meeting& meeting = plan_.meetings[coming.need.meeting];
    if (meeting.users == meeting.users_end) {
      meeting.users = meeting.users_end = static_cast<std::uint32_t>(plan_.meeting_users.size());
    }
    plan_.meeting_users.push_back({coming.actor, coming.need.join});
    ++meeting.users_end;
  }
}

void Layout::finish() {
  set_needs();
  set_users();
  plan_.join_count = static_cast<std::uint32_t>(joins_.size());
}

}  // namespace

MeetingId open_meeting(Plan& plan, MeetingKind kind, CommunicatorId communicator,
                       const std::vector<RankId>& ranks) {
  Meeting meeting;
  meeting.kind = kind;
  meeting.communicator = communicator;
  meeting.ranks = static_cast<std::uint32_t>(plan.meeting_ranks.size());
  plan.meeting_ranks.insert(plan.meeting_ranks.end(), ranks.begin(), ranks.end());
  meeting.ranks_end = static_cast<std::uint32_t>(plan.meeting_ranks.size());
  return plan.meetings.push_back(meeting);
}

void lay_out_meetings(Plan& plan, const std::vector<std::pair<ActorId, MeetingId>>& meets) {
  Layout layout(plan);
  for (const auto& [actor, meeting] : meets) layout.add_meet(actor, meeting);
  for (const Call& call : plan.calls) layout.add_call(call);
  layout.finish();
}

std::optional<Connections> connect_by_size(Plan& plan) {
  const auto connects = [&](const Call& call) {
    return call.kind == CallKind::kCollective && plan.communicators[call.communicator].connects;
  };
  // Size of the first call on each (communicator, connection).
  std::map<std::pair<CommunicatorId, std::uint32_t>, std::int64_t> sizes;
  bool several = false;
  for (const Call& call : plan.calls) {
    if (!connects(call)) continue;
    const std::int64_t size = call.signature.count;
    several |= sizes.try_emplace({call.communicator, call.connection}, size).first->second != size;
  }
  if (!several) return std::nullopt;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> numbers;
  Connections before;
  Connections by_size;
  for (const Call& call : plan.calls) {
    before.push_back(call.connection);
    by_size.push_back(call.connection);
    if (!connects(call)) continue;
    const auto next = static_cast<std::uint32_t>(numbers.size());
    by_size[CallId{by_size.size() - 1}] =
        numbers.try_emplace({call.connection, call.signature.count}, next).first->second;
  }
  connect_as(plan, by_size);
  return before;
}

void connect_as(Plan& plan, const Connections& connections) {
  for (const CallId id : ids_of(plan.calls)) plan.calls[id].connection = connections[id];
  // Keeps the meetings of steps with role kMeet; lays out all other meetings again.
  std::vector<std::pair<ActorId, MeetingId>> meets;
  for (const ActorId id : ids_of(plan.actors)) {
    Actor& actor = plan.actors[id];
    for (std::uint32_t i = actor.needs; i < actor.needs_end; ++i) {
      if (plan.needs[i].join == kNoOp) meets.emplace_back(id, plan.needs[i].meeting);
    }
    actor.needs = actor.needs_end = 0;
  }
  plan.needs.clear();
  plan.meeting_users.clear();
  IdVector<MeetingId, Meeting> of_hosts;
  for (Meeting meeting : plan.meetings) {
    if (meeting.kind != MeetingKind::kHosts) break;  // the builder adds meetings of hosts first
    meeting.users = meeting.users_end = 0;
    of_hosts.push_back(meeting);
  }
  plan.meetings = std::move(of_hosts);
  plan.meeting_ranks.resize(
      plan.meetings.empty() ? 0 : plan.meetings[MeetingId{plan.meetings.size() - 1}].ranks_end);
  lay_out_meetings(plan, meets);
}

bool joins_at_first_op(const Plan& plan, ActorId id) {
  const Actor& actor = plan.actors[id];
  if (actor.role == Role::kCalls && actor.needs != actor.needs_end) return true;
  const auto is_made_later = [&](CommunicatorId communicator) {
    return communicator.valid() && plan.communicators[communicator].at_first_use;
  };
  if (actor.collective.valid()) {
    return is_made_later(plan.collectives[actor.collective].communicator);
  }
  if (!actor.drains && is_made_later(actor.communicator)) return true;
  const auto calls = plan.calls_of(id);
  return std::any_of(calls.begin(), calls.end(),
                     [&](CallId call) { return is_made_later(plan.calls[call].communicator); });
}

}  // namespace pipesim::sim
