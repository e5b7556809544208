#include "models/graph/graph_edit.hpp"
#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {
namespace {

void run_move_to_stream(TaskGraph& graph, const PassOptions& options, Diagnostics& diagnostics) {
  const auto actors = find_actors(graph, options.text("op"), diagnostics);
  const auto stream = find_stream(graph, options.text("stream"), diagnostics);
  if (!stream) return;
  for (const std::uint32_t index : actors) {
    ActorTemplate& actor = graph.actors[index];
    if (actor.step && on_host(actor.step->role)) {
      diagnostics.error(actor.place, Code::kPassTarget,
                        "'" + actor.name + "' runs on the host, not on a stream");
      return;
    }
    actor.stream = *stream;
  }
}

}  // namespace

Pass move_to_stream_pass() {
  return {"move-to-stream",
          "puts an op on another stream",
          {{"op", OptionType::kText, {}, "the op"},
           {"stream", OptionType::kText, {}, "the new stream"}},
          run_move_to_stream};
}

}  // namespace pipesim::models
