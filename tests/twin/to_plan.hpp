// From the twin's description of a plan to the engine's.
#pragma once

#include "sim/plan.hpp"
#include "tests/twin/spec.hpp"

namespace pipesim::twin {

/// The same plan, made with a sim::PlanBuilder. Threads, streams, actors, collectives and
/// communicators keep their numbers.
sim::Plan to_plan(const Spec& spec);

}  // namespace pipesim::twin
