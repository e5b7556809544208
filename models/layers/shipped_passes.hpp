// Functions that return the passes of this folder, each defined in the file of the same name.
#pragma once

#include "models/layers/pass.hpp"

namespace pipesim::models {

Pass autograd_pass();
Pass build_forward_pass();
Pass build_tasks_pass();
Pass canonicalize_pass();
Pass gradient_accumulation_pass();
Pass insert_buffer_pass();
Pass insert_nccl_logical_pass();
Pass move_to_stream_pass();
Pass order_collectives_pass();
Pass pipeline_buffers_pass();
Pass pipeline_stages_pass();
Pass set_slots_pass();
Pass use_own_stream_pass();

}  // namespace pipesim::models
