// Converts the twin's description of a plan to the engine's, and back.
#pragma once

#include <array>
#include <utility>

#include "sim/plan.hpp"
#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// The twin's roles, each with the engine's role of the same meaning.
inline constexpr std::array<std::pair<Role, sim::Role>, sim::kRoleCount> kRolePairs = {{
    {Role::kOp, sim::Role::kOp},
    {Role::kCalls, sim::Role::kCalls},
    {Role::kRecord, sim::Role::kRecord},
    {Role::kWait, sim::Role::kWait},
    {Role::kWork, sim::Role::kWork},
    {Role::kSynchronize, sim::Role::kSynchronize},
    {Role::kAwait, sim::Role::kAwait},
    {Role::kSet, sim::Role::kSet},
    {Role::kLock, sim::Role::kLock},
    {Role::kUnlock, sim::Role::kUnlock},
    {Role::kCreate, sim::Role::kCreate},
    {Role::kMeet, sim::Role::kMeet},
    {Role::kAbort, sim::Role::kAbort},
    {Role::kDrain, sim::Role::kDrain},
}};

/// Returns the engine's form of a plan, made with a sim::PlanBuilder. Threads, streams, actors,
/// collectives, communicators, devices, events and locks keep their numbers. The streams of a
/// device must use its hardware queues in turn, as the builder assigns them.
sim::Plan to_plan(const Spec& spec);

/// Returns the engine's plan as a Spec, for plans that the random generator did not make.
Spec from_plan(const sim::Plan& plan);

}  // namespace pipesim::twin
