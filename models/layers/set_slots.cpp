#include "models/graph/graph_edit.hpp"
#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {
namespace {

void run_set_slots(TaskGraph& graph, const PassOptions& options, Diagnostics& diagnostics) {
  const auto index = find_actor(graph, options.text("op"), diagnostics);
  if (!index) return;
  ActorTemplate& actor = graph.actors[*index];
  const auto reg = find_register(actor, options.text("register"), diagnostics);
  const std::int64_t slots = options.number("slots");
  if (slots < 1) {
    diagnostics.error({}, Code::kPassTarget,
                      "a register needs at least 1 slot, found " + std::to_string(slots));
  } else if (reg) {
    actor.registers[*reg].slots = Expr::constant(slots);
  }
}

}  // namespace

Pass set_slots_pass() {
  return {"set-slots",
          "sets the credits of a register",
          {{"op", OptionType::kText, {}, "the op"},
           {"slots", OptionType::kNumber, {}, "number of slots"},
           {"register", OptionType::kText, "out", "name of its register"}},
          run_set_slots};
}

}  // namespace pipesim::models
