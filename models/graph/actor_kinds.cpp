#include "models/graph/actor_kinds.hpp"

#include <algorithm>

namespace pipesim::models {

const std::vector<ActorKind>& actor_kinds() {
  static const std::vector<ActorKind> kKinds = {
      {.name = "compute", .about = "one op per input: kernels, boxing, casts (naive_actor.cpp)"},
      {.name = "buffer", .about = "an identity op with as many slots as `slots` says"},
      {.name = "repeat",
       .about = "gives each input `times` times; data credits `times`, the input is acknowledged "
                "with the last (repeat_actor.cpp)",
       .rate = Rate::kOneToMany,
       .slots = 0,
       .drains = true},
      {.name = "unpack",
       .about = "cuts each input into `times` pieces (unpack_actor.cpp)",
       .rate = Rate::kOneToMany},
      {.name = "accumulate",
       .about = "adds up `times` inputs and gives the sum (acc_actor.cpp)",
       .rate = Rate::kManyToOne},
      {.name = "pack",
       .about = "joins `times` inputs into one (pack_actor.cpp)",
       .rate = Rate::kManyToOne},
      {.name = "acc_tick",
       .about = "as accumulate, without data (acc_tick_actor.cpp)",
       .rate = Rate::kManyToOne},
      {.name = "zeros",
       .about = "gives zeros when a control register says so; no data input (boxing_zeros_actor)",
       .control_only = true},
      {.name = "tick", .about = "order without work (tick_actor.cpp)"},
      {.name = "source_tick", .about = "a tick that starts a chain, with 2 slots", .slots = 2},
      {.name = "wait_and_send_ids",
       .about = "waits on its host thread for the next call of the user; 100 slots "
                "(wait_and_send_ids_actor.cpp)",
       .slots = 100,
       .waits_for_input = true,
       .blocking = true},
      {.name = "critical_section_wait",
       .about = "waits on its host thread for an input of the user; 128 slots",
       .slots = 128,
       .waits_for_input = true,
       .blocking = true},
      {.name = "callback_notify",
       .about = "tells the user that a step is over; a sink (callback_notify_actor)",
       .blocking = true},
      {.name = "copy", .about = "between host and device (copy_hd_actor)"},
      {.name = "comm_net",
       .about = "fetches a register of another rank, on the receiving rank; acknowledged when "
                "the read is over (copy_comm_net_actor.cpp)",
       .immediate = false},
      {.name = "collective_boxing",
       .about = "a collective of the boxing executor; messages leave when it is done",
       .immediate = false},
  };
  return kKinds;
}

const ActorKind* find_actor_kind(std::string_view name) {
  const std::vector<ActorKind>& kinds = actor_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const ActorKind& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

void apply_kind(const ActorKind& kind, const Expr& times, ActorTemplate& actor) {
  actor.kind = kind.name;
  actor.times = times;
  actor.immediate = kind.immediate;
  actor.blocking = kind.blocking;
  RegisterTemplate& out = actor.registers.front();
  out.slots = kind.slots == 0 ? times : Expr::constant(kind.slots);
  if (kind.rate == Rate::kManyToOne) out.ops_per_slot = times;
  if (kind.drains) {
    for (RegisterTemplate& reg : actor.registers) reg.drain_every = times;
  }
}

Expr ops_per_read(const ActorKind& kind, const Expr& times) {
  return kind.rate == Rate::kOneToMany ? times : Expr::constant(1);
}

}  // namespace pipesim::models
