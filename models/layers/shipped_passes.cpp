#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {

PassRegistry shipped_passes() {
  PassRegistry registry;
  for (Pass (*const make)() :
       {autograd_pass, build_forward_pass, build_tasks_pass, canonicalize_pass,
        gradient_accumulation_pass, insert_buffer_pass, insert_nccl_logical_pass,
        move_to_stream_pass, order_collectives_pass, pipeline_buffers_pass, pipeline_stages_pass,
        set_slots_pass, use_own_stream_pass}) {
    registry.add(make());
  }
  return registry;
}

}  // namespace pipesim::models
