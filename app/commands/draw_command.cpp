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
#include "models/graph/whole_number.hpp"
#include "models/result/memory.hpp"
#include "models/result/timeline.hpp"
#include "viz/pictures/pictures.hpp"
#include "viz/report/words.hpp"

namespace pipesim::app {
namespace {

// Maximum number of ops in a drawn run: drawing keeps the times of all ops, at least 32 bytes each.
constexpr std::uint64_t kMaxOps = 5'000'000;

constexpr std::uint64_t kFontSize = 11;  // default size of the text in bars

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

// Returns the value of --aspect, "16:9", as a number; 0 without the option.
double aspect_option(const Arguments& arguments) {
  const auto text = arguments.text("aspect");
  if (!text) return 0;
  const std::size_t colon = text->find(':');
  const auto side = [&](std::size_t begin, std::size_t end) {
    const std::string number = text->substr(begin, end - begin);
    return number.size() > 4 ? 0U : models::whole_number<std::uint32_t>(number).value_or(0);
  };
  const double width = colon == std::string::npos ? 0 : side(0, colon);
  const double height = colon == std::string::npos ? 0 : side(colon + 1, text->size());
  constexpr double kMaxRatio = 10;
  if (width > 0 && height > 0 && width <= kMaxRatio * height && height <= kMaxRatio * width) {
    return width / height;
  }
  throw UsageError(models::Code::kOptionValue,
                   fmt::format("invalid value '{}' for '--aspect'", *text),
                   "expected width and height, as in --aspect 16:9");
}

viz::TimelineStyle style_option(const Arguments& arguments) {
  viz::TimelineStyle style;
  style.title = models::printable(arguments.text("title").value_or(""));
  style.aspect = aspect_option(arguments);
  style.font_scale =
      static_cast<double>(arguments.number("font-size", 4, 72, kFontSize)) / kFontSize;
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
  scene.finish(picture.style);
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

// A job to draw, and its run.
struct DrawnJob {
  formats::Scenario scenario;
  models::RankSet ranks;
  models::Simulation run{};
  std::string model{};  // note on the NCCL model of the run
};

std::string picture_of_run(Picture picture, const std::vector<DrawnJob>& jobs) {
  const DrawnJob& job = jobs.front();
  const models::TaskGraph& graph = job.scenario.graph;
  picture.style.model = job.model;
  if (picture.subject == Subject::kWaitFor) {
    return drawing_of_end(graph, job.run, picture.style, picture.format);
  }
  if (picture.subject == Subject::kMemory) {
    const models::MemoryUse use = models::memory_over_time(graph, job.run.lowered, job.run.outcome);
    viz::Scene scene =
        viz::draw_memory(graph, job.run, use, job.ranks, !picture.style.all, picture.limit);
    return styled_drawing(scene, picture);
  }
  std::vector<models::Timeline> timelines;
  timelines.reserve(jobs.size());
  std::vector<viz::TimelineRun> runs;
  for (const DrawnJob& each : jobs) {
    models::TimelineOptions options;
    options.ranks = each.ranks;
    const models::Timeline& timeline =
        timelines.emplace_back(models::timeline(each.scenario.graph, each.run, options));
    runs.push_back({&each.scenario.graph, &each.run, &timeline, each.model});
  }
  viz::Scene scene = viz::draw_timelines(runs, picture.style);
  return styled_drawing(scene, picture);
}

// Returns the NCCL models to try, in the order in which `check` decides. The picture shows the
// first model that hangs or, if none hangs, the first one. Only a record has several models; a
// scenario chooses its model.
std::vector<models::NcclMode> modes_to_try(const Arguments& arguments,
                                           const formats::Scenario& scenario,
                                           const ScenarioInput& input) {
  using models::NcclMode;
  const bool tries = input.foreign_job() != nullptr && !arguments.has("reading") &&
                     models::has_nccl_modes(scenario.graph);
  if (!tries) return {scenario.graph.nccl_mode};
  return {NcclMode::kCold, NcclMode::kReal, NcclMode::kContract};
}

// Describes the NCCL model of the drawn run, the last of `tried`. `chosen`: whether there was no
// other model to try.
std::string model_text(const models::TaskGraph& graph, const std::vector<models::NcclMode>& tried,
                       bool chosen, bool completes) {
  if (!models::has_nccl_modes(graph)) return "";
  if (chosen) return fmt::format("NCCL model {}", nccl_mode_name(tried.front()));
  if (completes) {
    return "completes in the NCCL models cold, real and contract; 'pipesim check' tries every "
           "interleaving";
  }
  std::string others;
  for (std::size_t i = 0; i + 1 < tried.size(); ++i) {
    others += (i == 0 ? "" : " and ") + std::string(nccl_mode_name(tried[i]));
  }
  return fmt::format("hangs in the NCCL model {} ({}){}", nccl_mode_name(tried.back()),
                     viz::nccl_mode_about(tried.back()),
                     others.empty() ? "" : fmt::format("; {} would complete", others));
}

// Gives the calls of a recorded job that take no time the time of a kernel, because no picture
// could show them. Returns whether there are such calls.
bool add_times(models::TaskGraph& graph) {
  constexpr std::int64_t kCallNs = 5'000;  // the default of the parameter `kernel`
  bool found = false;
  const auto add = [&](models::Expr& takes) {
    if (!takes.is_constant() || takes.value(0) != 0) return;
    takes = models::Expr::constant(kCallNs);
    found = true;
  };
  for (models::ActorTemplate& actor : graph.actors) {
    if (!actor.step) continue;
    for (models::CallTemplate& call : actor.step->calls) add(call.takes);
  }
  return found;
}

// Runs the job in the first NCCL model in which it hangs or, if it never hangs, in the first model.
// Returns false if interrupted.
bool run_job(const Arguments& arguments, const Console& console, bool keep_times,
             ScenarioInput& input, DrawnJob& job) {
  models::TaskGraph& graph = job.scenario.graph;
  const std::vector<models::NcclMode> modes = modes_to_try(arguments, job.scenario, input);
  std::vector<models::NcclMode> tried;
  const auto simulate = [&](models::NcclMode mode) {
    graph.nccl_mode = mode;
    auto lowered = input.require(models::lower(graph, input.diagnostics()));
    if (keep_times && lowered.plan.op_count > kMaxOps) {
      input.fail(models::Code::kPictureSize,
                 fmt::format("{} ops are too many for a picture over time (at most {}); draw fewer "
                             "ranks or micro-batches (--set)",
                             lowered.plan.op_count, kMaxOps));
    }
    WatchedRun watched(console);
    watched.options.jitter = jitter(arguments);
    watched.options.keep_op_times = keep_times;
    job.run = models::simulate(graph, std::move(lowered), watched.options);
    return job.run.outcome.end != sim::RunEnd::kInterrupted;
  };
  const auto completes = [&] { return job.run.explanation.verdict == sim::Verdict::kCompleted; };
  for (const models::NcclMode mode : modes) {
    tried.push_back(mode);
    if (!simulate(mode)) return false;
    if (!completes()) break;
  }
  const bool all_complete = completes();
  if (all_complete && modes.size() > 1 && !simulate(modes.front())) return false;
  job.model = model_text(graph, tried, modes.size() == 1, all_complete);
  if (!keep_times || !graph.recorded) return true;
  // A record has no times. Made-up times are used only if they leave the verdict as it is.
  models::TaskGraph untimed = graph;
  if (!add_times(graph)) return true;
  models::Simulation run = std::move(job.run);
  if (!simulate(graph.nccl_mode)) return false;
  if (job.run.explanation.verdict == run.explanation.verdict) {
    job.model +=
        (job.model.empty() ? "" : "; ") + std::string("times are made up, 5 us for each call");
    return true;
  }
  graph = std::move(untimed);
  job.run = std::move(run);
  return true;
}

int run_draw(const Arguments& arguments, const Console& console) {
  const auto path = arguments.text("output");
  const Subject subject = subject_option(arguments);
  if (arguments.positional().size() < 2 || subject != Subject::kTimeline) arguments.one_file();
  std::vector<ScenarioFiles> files;
  for (const std::string& file : arguments.positional()) {
    files.push_back(scenario_files(arguments, file));
  }
  if (!path) {
    throw UsageError(models::Code::kOptionNeeds, "'pipesim draw' needs '--output FILE'",
                     "for example: -o picture.svg");
  }
  check_one_standard_input(arguments.positional());
  const Picture picture{subject, viz::picture_format(*path), style_option(arguments),
                        quantity_option(arguments, "limit", formats::ValueType::kBytes, "80GiB")};
  jitter(arguments);
  const bool keep_times = needs_times(picture.subject);
  std::vector<DrawnJob> jobs;
  jobs.reserve(files.size());
  for (const ScenarioFiles& file : files) {
    ScenarioInput input(file, console);
    formats::Scenario scenario = [&] {
      const ProgressLine progress(console);
      return input.read();
    }();
    note_choices(scenario, console);
    models::RankSet ranks = ranks_option(arguments, scenario, input);
    if (picture.subject == Subject::kTasks || picture.subject == Subject::kStages) {
      const auto lowered = input.require(models::lower(scenario.graph, input.diagnostics()));
      input.report();
      write_file(*path, picture_of_plan(picture, scenario.graph, lowered, ranks));
      return kExitGood;
    }
    jobs.push_back({std::move(scenario), std::move(ranks)});
    if (!run_job(arguments, console, keep_times, input, jobs.back())) return kExitInterrupted;
    input.report();
  }
  write_file(*path, [&] {
    const ProgressLine progress(console, [] { return std::string("drawing ..."); });
    return picture_of_run(picture, jobs);
  }());
  const bool completes = jobs.front().run.explanation.verdict == sim::Verdict::kCompleted;
  if (picture.subject == Subject::kWaitFor && completes) {
    console.err << "note: this run completes, so the picture has no waits\n";
  }
  return kExitGood;
}

OptionGroup picture_options() {
  std::vector<std::string> names;
  for (const auto& [name, about] : kSubjects) names.emplace_back(name);
  return {
      "Picture",
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
       {.name = "limit", .value = "SIZE", .about = "Memory: draw a line at this size, as in 80GiB"},
       {.name = "title", .value = "TEXT", .about = "Title instead of name and verdict"},
       {.name = "font-size",
        .value = "POINTS",
        .about = "Size of the text in bars; all other texts follow",
        .otherwise = "11"},
       {.name = "aspect",
        .value = "W:H",
        .about = "Width and height of a slide, as in 16:9; wait-for graphs take the direction "
                 "with the larger text"},
       {.name = "dark", .about = "Light text on a dark page"},
       {.name = "all", .about = "Fold nothing: draw each rank by itself, and every wait"}}};
}

}  // namespace

Command draw_command() {
  HelpTable subjects = {"Pictures", {kSubjects.begin(), kSubjects.end()}};
  return {
      .name = "draw",
      .about = "Draw the timeline, the wait-for graph, tasks, stages or memory",
      .usage = {"FILE --output PICTURE [options]", "FILE... --output PICTURE [options]"},
      .description = {"Draws the scenario in FILE, or how its run went. Several files: their "
                      "timelines below each other, on one scale.",
                      "A record is drawn in the NCCL model in which it hangs, if there is one; "
                      "--reading chooses another.",
                      kScenarioFileNote},
      .tables = {std::move(subjects)},
      .options = {picture_options(),
                  scenario_options(),
                  {"Run", {jitter_option(), seed_option()}},
                  general_options()},
      .examples =
          {"pipesim draw scenarios/swin_2x2x2.yaml -o timeline.svg",
           "pipesim draw scenarios/swin_2x2x2.yaml --what wait-for -o hang.png",
           "pipesim draw scenarios/pipeline_1f1b.yaml --set kind=gpipe -o gpipe.pdf",
           "pipesim draw a.yaml b.yaml --aspect 16:9 --title \"1F1B and ZB1P\" -o both.svg"},
      .exit_status =
          "0 success, whatever the picture shows, 2 invalid input or usage, or nothing to "
          "draw, 74 a file could not be read or written, 130 interrupted",
      .pages = {"docs/how-to/draw.md"},
      .run = run_draw,
  };
}

}  // namespace pipesim::app
