#include "models/graph/graph_edit.hpp"
#include "models/passes/shipped_passes.hpp"

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
          "gives an op a stream and a host thread that nothing else is on",
          {{"op", OptionType::kText, {}, "what gets them"},
           {"name", OptionType::kText, "", "what they are called; they have no name"}},
          run_use_own_stream};
}

}  // namespace pipesim::models
