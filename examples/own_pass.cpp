// A custom scheduler pass: builds pipesim with an additional pass.
//
//   own_pass opt scenarios/swin_2x2x2.yaml --passes rename=BdstBuf:to=gradient_buffer
//
// docs/how-to/passes.md explains this program line by line.
#include "pipesim/command.hpp"
#include "pipesim/task_graph.hpp"

namespace models = pipesim::models;

namespace {

void rename(models::TaskGraph& graph, const models::PassOptions& options,
            models::Diagnostics& diagnostics) {
  for (const std::uint32_t actor : find_actors(graph, options.text("op"), diagnostics)) {
    graph.actors[actor].name = options.text("to");
  }
}

}  // namespace

int main(int argc, char** argv) {
  models::PassRegistry passes = models::shipped_passes();
  passes.add({"rename",
              "gives an op another name",
              {{"op", models::OptionType::kText, {}, "which one"},
               {"to", models::OptionType::kText, {}, "what it is called then"}},
              rename});
  return pipesim::run_command(argc, argv, passes);
}
