#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "formats/document/expression.hpp"
#include "models/result/memory.hpp"
#include "models/result/timeline.hpp"
#include "viz/pictures/pictures.hpp"

namespace pipesim::app {
namespace {

// Maximum number of ops in a drawn run: drawing keeps the times of all ops, at least 32 bytes each.
constexpr std::uint64_t kMaxOps = 5'000'000;

enum class Subject { kTimeline, kWaitFor, kTasks, kStages, kMemory };

// Values of --what, in the order of Subject.
constexpr std::array<std::pair<const char*, const char*>, 5> kSubjects = {{
    {"timeline", "what each stream of each rank did when, and what it waits for at the end"},
    {"wait-for", "who waits for whom when it hangs, with the cycle"},
    {"tasks", "the task graph: what runs where, what feeds what, with how many slots"},
    {"stages", "pipeline stages and groups of ranks, and what goes between them"},
    {"memory", "the memory in use on each rank over time"},
}};

struct Picture {
  Subject subject = Subject::kTimeline;
  viz::PictureFormat format = viz::PictureFormat::kSvg;
  viz::TimelineStyle style;
  std::optional<std::int64_t> limit;
};

Subject subject_option(const Arguments& arguments) {
  std::size_t index = 0;
  while (arguments.value("what") != kSubjects.at(index).first) ++index;
  return static_cast<Subject>(index);
}

models::RankSet ranks_option(const Arguments& arguments, const formats::Scenario& scenario,
                             TextInput& input) {
  const std::uint32_t count = scenario.graph.ranks;
  const auto text = arguments.text("ranks");
  if (!text) return models::RankSet::range(0, count);
  std::vector<std::uint32_t> all;
  for (const std::string& part : split_at_commas(*text)) {
    const auto set = scenario.sets.find(part);
    const auto ranks = set == scenario.sets.end() ? parse_rank_list(part) : std::nullopt;
    if (set != scenario.sets.end()) {
      all.insert(all.end(), set->second.begin(), set->second.end());
    } else if (ranks && ranks->back() < count) {
      all.insert(all.end(), ranks->begin(), ranks->end());
    } else {
      std::vector<std::string> names;
      for (const auto& [name, members] : scenario.sets) names.push_back(name);
      models::Diagnostic& error = input.diagnostics().error(
          {}, models::Code::kOptionValue,
          fmt::format("--ranks: expected some of the ranks 0 to {}, as in 0..3,7, or the name of a "
                      "set or group, found '{}'",
                      count - 1, part));
      models::suggest_name(error, part, names);
      input.fail();
    }
  }
  return models::RankSet(std::move(all));
}

/// Reads the value of an option as a time or size, written as in scenarios.
std::optional<std::int64_t> quantity_option(const Arguments& arguments, const char* name,
                                            formats::ValueType type, const char* example) {
  const auto text = arguments.text(name);
  if (!text) return std::nullopt;
  const auto found = formats::constant_value(*text, type);
  if (found && *found >= 0) return found;
  throw UsageError(models::Code::kOptionValue,
                   fmt::format("invalid value '{}' for '--{}'", *text, name),
                   fmt::format("for example: --{} {}", name, example));
}

viz::TimelineStyle style_option(const Arguments& arguments) {
  viz::TimelineStyle style;
  style.all = arguments.has("all");
  style.dark = arguments.has("dark");
  style.made_by = made_by(arguments);
  style.from_ns = quantity_option(arguments, "from", formats::ValueType::kTime, "12ms");
  style.to_ns = quantity_option(arguments, "to", formats::ValueType::kTime, "20ms");
  if (style.from_ns && style.to_ns && *style.from_ns >= *style.to_ns) {
    throw UsageError(models::Code::kOptionValue, "'--from' is not before '--to'",
                     "for example: --from 12ms --to 20ms");
  }
  constexpr double kDotsPerPoint = 96.0 / 72;  // PNG pixels per point
  if (arguments.has("width")) {
    style.width = static_cast<double>(arguments.number("width", 600, 20000, 1707)) / kDotsPerPoint;
  }
  return style;
}

bool needs_times(Subject subject) {
  return subject == Subject::kTimeline || subject == Subject::kMemory;
}

std::string styled_drawing(viz::Scene& scene, const Picture& picture) {
  scene.set_dark(picture.style.dark);
  scene.set_made_by(picture.style.made_by);
  return scene.drawing(picture.format);
}

// Draws the scenario itself, without a run.
std::string picture_of_plan(const Picture& picture, const models::TaskGraph& graph,
                            const models::Lowered& lowered, const models::RankSet& ranks) {
  if (picture.subject == Subject::kTasks) {
    return viz::draw_tasks(graph, lowered, ranks, picture.style, picture.format);
  }
  viz::Scene scene = viz::draw_stages(graph, lowered, !picture.style.all);
  return styled_drawing(scene, picture);
}

std::string picture_of_run(const Picture& picture, const models::TaskGraph& graph,
                           const models::Simulation& run, const models::RankSet& ranks) {
  if (picture.subject == Subject::kWaitFor) {
    return drawing_of_end(graph, run, picture.style, picture.format);
  }
  if (picture.subject == Subject::kMemory) {
    const models::MemoryUse use = models::memory_over_time(graph, run.lowered, run.outcome);
    viz::Scene scene = viz::draw_memory(graph, run, use, ranks, !picture.style.all, picture.limit);
    return styled_drawing(scene, picture);
  }
  models::TimelineOptions options;
  options.ranks = ranks;
  viz::Scene scene =
      viz::draw_timeline(graph, run, models::timeline(graph, run, options), picture.style);
  return styled_drawing(scene, picture);
}

int run_draw(const Arguments& arguments, const Console& console) {
  const ScenarioFiles files = scenario_files(arguments);
  const auto path = arguments.text("output");
  if (!path) {
    throw UsageError(models::Code::kOptionNeeds, "'pipesim draw' needs '--output FILE'",
                     "for example: -o picture.svg");
  }
  const Picture picture{subject_option(arguments), viz::picture_format(*path),
                        style_option(arguments),
                        quantity_option(arguments, "limit", formats::ValueType::kBytes, "80GiB")};
  const sim::Jitter variation = jitter(arguments);

  ScenarioInput input(files, console);
  const formats::Scenario scenario = input.read();
  note_choices(scenario, console);
  const models::TaskGraph& graph = scenario.graph;
  const models::RankSet ranks = ranks_option(arguments, scenario, input);
  auto lowered = input.require(models::lower(graph, input.diagnostics()));
  const bool keep_times = needs_times(picture.subject);
  if (keep_times && lowered.plan.op_count > kMaxOps) {
    input.fail(models::Code::kPictureSize,
               fmt::format("{} ops are too many for a picture over time (at most {}); draw fewer "
                           "ranks or micro-batches (--set)",
                           lowered.plan.op_count, kMaxOps));
  }
  if (picture.subject == Subject::kTasks || picture.subject == Subject::kStages) {
    input.report();
    write_file(*path, picture_of_plan(picture, graph, lowered, ranks));
    return kExitGood;
  }
  WatchedRun watched(console);
  watched.options.jitter = variation;
  watched.options.keep_op_times = keep_times;
  const models::Simulation run = models::simulate(graph, std::move(lowered), watched.options);
  if (run.outcome.end == sim::RunEnd::kInterrupted) return kExitInterrupted;
  input.report();
  write_file(*path, picture_of_run(picture, graph, run, ranks));
  if (picture.subject == Subject::kWaitFor && run.explanation.verdict == sim::Verdict::kCompleted)
    console.err << "note: this run completes, so the picture has no waits\n";
  return kExitGood;
}

}  // namespace

Command draw_command() {
  HelpTable subjects = {"Pictures", {kSubjects.begin(), kSubjects.end()}};
  std::vector<std::string> names;
  for (const auto& [name, about] : kSubjects) names.emplace_back(name);
  return {
      .name = "draw",
      .about = "Draw the timeline, the wait-for graph, tasks, stages or memory",
      .usage = {"FILE --output PICTURE [options]"},
      .description = {"Draws the scenario in FILE, or how its run went.", kScenarioFileNote},
      .tables = {std::move(subjects)},
      .options =
          {{"Picture",
            {{.name = "what",
              .value = "WHAT",
              .about = "What to draw",
              .choices = std::move(names),
              .otherwise = "timeline"},
             {.name = "output",
              .letter = 'o',
              .value = "FILE",
              .about = "Output file; the extension selects the format: .svg, .png, .pdf or "
                       ".dot",
              .output = true},
             {.name = "ranks",
              .value = "RANKS",
              .about = "Only these ranks, as in 0..3,7, or those of a set or group"},
             {.name = "from", .value = "TIME", .about = "Timeline: start at this time, as in 12ms"},
             {.name = "to", .value = "TIME", .about = "Timeline: end at this time"},
             {.name = "width",
              .value = "PIXELS",
              .about = "Timeline: width in pixels of a PNG",
              .otherwise = "1707"},
             {.name = "limit",
              .value = "SIZE",
              .about = "Memory: draw a line at this size, as in 80GiB"},
             {.name = "dark", .about = "Light text on a dark page"},
             {.name = "all", .about = "Fold nothing: draw each rank by itself, and every wait"}}},
           scenario_options(),
           {"Run", {jitter_option(), seed_option()}},
           general_options()},
      .examples = {"pipesim draw scenarios/swin_2x2x2.yaml -o timeline.svg",
                   "pipesim draw scenarios/swin_2x2x2.yaml --what wait-for -o hang.png",
                   "pipesim draw scenarios/pipeline_1f1b.yaml --set kind=gpipe -o gpipe.pdf"},
      .exit_status =
          "0 success, whatever the picture shows, 2 invalid input or usage, or nothing to "
          "draw, 74 a file could not be read or written, 130 interrupted",
      .pages = {"docs/how-to/draw.md"},
      .run = run_draw,
  };
}

}  // namespace pipesim::app
