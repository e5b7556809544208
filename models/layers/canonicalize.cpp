// The pass removes only items that do not affect a run, so the fingerprint does not change.
#include "models/graph/graph_edit.hpp"
#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {
namespace {

void run_canonicalize(TaskGraph& graph, const PassOptions& /*options*/,
                      Diagnostics& /*diagnostics*/) {
  drop_actors_on_no_rank(graph);
  drop_registers_without_readers(graph);
  drop_unused(graph, To::kStream);
  drop_unused(graph, To::kThread);
}

}  // namespace

Pass canonicalize_pass() {
  return {"canonicalize",
          "drops what has no part in a run: actors and reads on no rank, registers that nobody "
          "reads, streams and threads that nothing is on",
          {},
          run_canonicalize};
}

}  // namespace pipesim::models
