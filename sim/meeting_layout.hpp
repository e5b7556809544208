// The meetings of hosts in a plan (docs/reference/rules.md, 9.7): which first uses there are, and
// which actors come to each.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/plan.hpp"

namespace pipesim::sim {

/// Adds a meeting of `ranks`, ascending, that nobody comes to yet.
MeetingId open_meeting(Plan& plan, MeetingKind kind, CommunicatorId communicator,
                       const std::vector<RankId>& ranks);

/// Adds those of the communicators that connect at first use, and fills in what acts need: the
/// actors of role kMeet in `meets` each their own. Linear in calls, but for a sort.
void lay_out_meetings(Plan& plan, const std::vector<std::pair<ActorId, MeetingId>>& meets);

/// Whether the first act of an actor may have to wait, before its launch, for hosts of other ranks:
/// a communicator is initialized (3.3), or calls connect (9.7). Later acts need not.
bool joins_at_first_act(const Plan& plan, ActorId id);

/// What each call connects, see Call::connection.
using Connections = IdVector<CallId, std::uint32_t>;

/// Gives each size of a connection of `plan`, which is laid out, a connection of its own: as if
/// NCCL used another algorithm for it. Returns those that it had; nothing, and nothing is changed,
/// if none has several sizes.
std::optional<Connections> connect_by_size(Plan& plan);

/// Lays `plan`, which is laid out, out anew with these connections.
void connect_as(Plan& plan, const Connections& connections);

}  // namespace pipesim::sim
