// Converts the twin's description of a plan to the engine's, and back.
#pragma once

#include "sim/plan.hpp"
#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// Returns the engine's form of a plan, made with a sim::PlanBuilder. Threads, streams, actors,
/// collectives, communicators, devices, events and locks keep their numbers. The streams of a
/// device must use its hardware queues in turn, as the builder assigns them.
sim::Plan to_plan(const Spec& spec);

/// Returns the engine's plan as a Spec, for plans that the random generator did not make.
Spec from_plan(const sim::Plan& plan);

}  // namespace pipesim::twin
