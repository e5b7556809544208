// `pipesim draw`: a scenario, or how its run went, as a picture.
#pragma once

#include <optional>
#include <string>

#include "app/input/scenario_input.hpp"
#include "app/output/console.hpp"
#include "sim/jitter.hpp"
#include "viz/draw/graphviz.hpp"

namespace pipesim::app {

enum class Subject { kTasks, kStages, kWaitFor, kTimeline, kMemory };

struct DrawCommand {
  ScenarioFiles files;
  Subject subject = Subject::kTimeline;
  std::string path;  // of the picture
  viz::PictureFormat format = viz::PictureFormat::kSvg;
  std::optional<std::string> ranks;  // only these: "0..3,7"
  bool all = false;                  // nothing is folded
  sim::Jitter jitter;
};

/// By the names that --what takes: tasks, stages, wait-for, timeline, memory.
std::optional<Subject> find_subject(const std::string& name);

/// Runs the command and returns its exit code: kExitGood if there is a picture, whatever it shows.
/// Throws FileError.
int run_draw(const DrawCommand& command, const Console& console);

}  // namespace pipesim::app
