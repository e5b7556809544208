// The meetings of hosts in a plan (docs/reference/rules.md, 9.7): the first uses of connections,
// and the actors that join each meeting.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/plan.hpp"

namespace pipesim::sim {

/// Adds a meeting of `ranks`, which are in ascending order. The meeting has no users yet.
MeetingId open_meeting(Plan& plan, MeetingKind kind, CommunicatorId communicator,
                       const std::vector<RankId>& ranks);

/// Adds the meetings of all communicators that connect at first use, and sets the needs of actors.
/// `meets` assigns a meeting to each actor of role kMeet. Cost: linear in calls, plus a sort.
void lay_out_meetings(Plan& plan, const std::vector<std::pair<ActorId, MeetingId>>& meets);

/// Whether the first op of an actor can block before its launch until hosts of other ranks arrive,
/// in a communicator init (3.3) or at a connection (9.7). Later ops never block in either.
bool joins_at_first_op(const Plan& plan, ActorId id);

/// The connection of each call, see Call::connection.
using Connections = IdVector<CallId, std::uint32_t>;

/// Splits each connection of `plan` into one per size of its calls, as if NCCL used a
/// different algorithm for each size. lay_out_meetings() must have run on `plan`. Returns the
/// former connections. If no connection has several sizes, leaves the plan unchanged and returns
/// nullopt.
std::optional<Connections> connect_by_size(Plan& plan);

/// Lays out the meetings of `plan` again, with these connections. lay_out_meetings() must have run
/// on `plan`.
void connect_as(Plan& plan, const Connections& connections);

}  // namespace pipesim::sim
