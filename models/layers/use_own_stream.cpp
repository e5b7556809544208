#include "models/graph/graph_edit.hpp"
#include "models/layers/shipped_passes.hpp"

namespace pipesim::models {
namespace {

void run_use_own_stream(TaskGraph& graph, const PassOptions& options, Diagnostics& diagnostics) {
  const auto index = find_actor(graph, options.text("op"), diagnostics);
  if (!index) return;
  const std::string& name = options.text("name");
  graph.actors[*index].thread = kNoIndex;
  graph.actors[*index].stream =
      name.empty() ? kNoIndex : add_stream(graph, free_name(graph.streams, name));
}

}  // namespace

Pass use_own_stream_pass() {
  return {"use-own-stream",
          "gives an op its own stream and host thread",
          {{"op", OptionType::kText, {}, "the op"},
           {"name", OptionType::kText, "", "name of the stream and the thread; default: unnamed"}},
          run_use_own_stream};
}

}  // namespace pipesim::models
