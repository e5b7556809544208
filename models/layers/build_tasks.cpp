#include "models/layers/logical_pass.hpp"
#include "models/layers/shipped_passes.hpp"
#include "models/layers/task_builder.hpp"

namespace pipesim::models {
namespace {

void run_build_tasks(TaskGraph& graph, const PassOptions& options, Diagnostics& diagnostics) {
  if (begin_model_pass(graph, "build-tasks", diagnostics) == nullptr) return;
  TaskOptions tasks;
  tasks.zeros_on_all_ranks = options.text("zeros") == "all";
  tasks.zeros_slots = options.number("zeros_slots");
  tasks.partial_sums_name_tensor = options.truth("partial_sums_name_tensor");
  tasks.memory_guard = options.truth("memory_guard");
  if (build_tasks(graph, tasks, diagnostics)) graph.logical.reset();
}

}  // namespace

Pass build_tasks_pass() {
  PassOption zeros = {"zeros", OptionType::kText, "others",
                      "which ranks of a partial sum have zeros: all but the first, or all"};
  zeros.one_of = {"others", "all"};
  PassOption slots = {"zeros_slots", OptionType::kNumber, "1", "how many zeros hold"};
  slots.at_least = 1;
  return {
      "build-tasks",
      "makes the tasks of a model, with boxing, chains and the registers that guard their memory",
      {zeros,
       slots,
       {"partial_sums_name_tensor", OptionType::kTruth, "on",
        "the edge to zeros names its tensor; off: before #8052"},
       {"memory_guard", OptionType::kTruth, "on",
        "a chain lets one micro-batch at a time into its memory"}},
      run_build_tasks};
}

}  // namespace pipesim::models
