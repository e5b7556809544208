// The meetings of hosts in a plan (docs/reference/rules.md, 9.7): the first uses of connections,
// and the actors that come to each meeting.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/plan.hpp"

namespace pipesim::sim {

/// Adds a meeting of `ranks`, sorted in ascending order, without users.
MeetingId open_meeting(Plan& plan, MeetingKind kind, CommunicatorId communicator,
                       const std::vector<RankId>& ranks);

/// Adds the meetings of all communicators that connect at first use, and sets the needs of actors.
/// `meets` assigns a meeting to each actor of role kMeet. Cost: linear in calls, plus a sort.
void lay_out_meetings(Plan& plan, const std::vector<std::pair<ActorId, MeetingId>>& meets);

/// Whether the first op of an actor can block before its launch, waiting for the hosts of other
/// ranks: a communicator init (3.3) or a connection (9.7). Later ops cannot.
bool joins_at_first_op(const Plan& plan, ActorId id);

/// The connection of each call, see Call::connection.
using Connections = IdVector<CallId, std::uint32_t>;

/// Gives each size of a connection of `plan`, which is laid out, a separate connection, as if NCCL
/// used another algorithm per size. Returns the former connections. If no connection has several
/// sizes, leaves the plan unchanged and returns nullopt.
std::optional<Connections> connect_by_size(Plan& plan);

/// Lays out `plan` again, with these connections. `plan` must be laid out already.
void connect_as(Plan& plan, const Connections& connections);

}  // namespace pipesim::sim
