// One function for each pass of this folder, in the file of its name.
#pragma once

#include "models/passes/pass.hpp"

namespace pipesim::models {

Pass canonicalize_pass();
Pass insert_buffer_pass();
Pass move_to_stream_pass();
Pass order_collectives_pass();
Pass set_slots_pass();
Pass use_own_stream_pass();

}  // namespace pipesim::models
