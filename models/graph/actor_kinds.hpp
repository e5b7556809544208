// The actor kinds of OneFlow's runtime, as data on top of the general actor.
//
// A kind only sets what the general actor leaves open: credits, rates, and when messages leave.
// Source: Oneflow-Inc/oneflow at a90c81d589, oneflow/core/lazy/actor/ and the register numbers of
// the task nodes in oneflow/core/graph/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// The ratio between the ops of a kind and its slots. `times` is ActorTemplate::times.
enum class Rate : std::uint8_t {
  kOneToOne,
  kOneToMany,  // takes one slot per `times` ops; the last of them acknowledges the slot
  kManyToOne,  // fills its data output once per `times` ops
};

struct ActorKind {
  std::string_view name;
  std::string_view about;  // one line for `--help` and docs/explanation/models.md
  Rate rate = Rate::kOneToOne;
  std::uint32_t slots = 1;       // slots of the data output; 0: `times` slots
  bool drains = false;           // whether every `times`-th op waits until all slots are free
  bool waits_for_input = false;  // whether its ops wait for items from outside the job
  bool control_only = false;     // whether it consumes only control registers
  bool immediate = true;
  bool blocking = false;  // whether the host thread does the work
};

/// Returns all kinds, in the order of the documentation.
const std::vector<ActorKind>& actor_kinds();

/// Returns the kind called `name`, or nullptr.
const ActorKind* find_actor_kind(std::string_view name);

/// Sets the kind's defaults in `actor`, whose registers exist (data output first). Explicit
/// settings override these defaults later. `times` applies to kinds whose rate is not 1:1.
void apply_kind(const ActorKind& kind, const Expr& times, ActorTemplate& actor);

/// Returns the number of ops that share one slot, for a reader of this kind.
Expr ops_per_read(const ActorKind& kind, const Expr& times);

}  // namespace pipesim::models
