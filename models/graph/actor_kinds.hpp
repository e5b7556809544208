// The kinds of actor that OneFlow's runtime has, as data on top of the general one.
//
// A kind only fills in what the general actor leaves open: credits, rates, how messages leave.
// Source: Oneflow-Inc/oneflow at a90c81d589, oneflow/core/lazy/actor/ and the register numbers of
// the task nodes in oneflow/core/graph/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// How the acts of a kind relate to what it takes and gives.
enum class Rate : std::uint8_t {
  kOneToOne,
  kOneToMany,  // takes one slot per `times` acts, and acknowledges it with the last of them
  kManyToOne,  // fills its data output once per `times` acts
};

struct ActorKind {
  std::string_view name;
  std::string_view about;  // one line for `--help` and docs/explanation/models.md
  Rate rate = Rate::kOneToOne;
  std::uint32_t slots = 1;       // of the data output; 0: `times` of them
  bool drains = false;           // a new group of acts waits until all slots have come back
  bool waits_for_input = false;  // its source is outside
  bool control_only = false;     // it consumes no data
  bool immediate = true;
  bool blocking = false;  // the host thread does the work
};

/// All kinds, by name in the order of the documentation.
const std::vector<ActorKind>& actor_kinds();

/// The kind of this name, or nullptr.
const ActorKind* find_actor_kind(std::string_view name);

/// Sets what the kind decides in `actor`, whose registers stand (first the data output); what the
/// user says afterwards goes above it. `times` counts for kinds with a rate other than 1:1.
void apply_kind(const ActorKind& kind, const Expr& times, ActorTemplate& actor);

/// How many acts share one slot of what an actor of this kind reads.
Expr acts_per_read(const ActorKind& kind, const Expr& times);

}  // namespace pipesim::models
