#include "models/passes/shipped_passes.hpp"

namespace pipesim::models {

PassRegistry shipped_passes() {
  PassRegistry registry;
  for (Pass (*const make)() : {canonicalize_pass, insert_buffer_pass, move_to_stream_pass,
                               order_collectives_pass, set_slots_pass, use_own_stream_pass}) {
    registry.add(make());
  }
  return registry;
}

}  // namespace pipesim::models
