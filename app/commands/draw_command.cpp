#include "app/commands/draw_command.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "models/graph/whole_number.hpp"
#include "models/measure/memory.hpp"
#include "models/measure/timeline.hpp"
#include "viz/draw/draw_memory.hpp"
#include "viz/draw/draw_stages.hpp"
#include "viz/draw/draw_tasks.hpp"
#include "viz/draw/draw_timeline.hpp"

namespace pipesim::app {
namespace {

// Of so many acts the times are kept: 32 bytes each, and more while they are drawn.
constexpr std::uint64_t kMostActs = 5'000'000;

// "0..3,7" of `count` ranks; an error in `diagnostics` otherwise.
std::optional<models::RankSet> read_ranks(const std::string& text, std::uint32_t count,
                                          models::Diagnostics& diagnostics) {
  std::vector<std::uint32_t> ranks;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    const std::size_t dots = part.find("..");
    const auto first = models::whole_number<std::uint32_t>(part.substr(0, dots));
    const auto last = dots == std::string_view::npos
                          ? first
                          : models::whole_number<std::uint32_t>(part.substr(dots + 2));
    if (!first || !last || *first > *last || *last >= count) {
      diagnostics.error({}, fmt::format("--ranks is a list like 0..3,7 of the ranks 0 to {}, found "
                                        "'{}'",
                                        count - 1, models::printable(std::string(part))));
      return std::nullopt;
    }
    for (std::uint32_t rank = *first; rank <= *last; ++rank) ranks.push_back(rank);
  }
  return models::RankSet(std::move(ranks));
}

bool needs_times(Subject subject) {
  return subject == Subject::kTimeline || subject == Subject::kMemory;
}

// Of the scenario itself, which is not run for it.
std::string picture_of_plan(const DrawCommand& command, const models::TaskGraph& graph,
                            const models::Lowered& lowered, const models::RankSet& ranks) {
  return command.subject == Subject::kStages
             ? viz::draw_stages(graph, lowered, command.format)
             : viz::draw_tasks(graph, lowered, ranks, !command.all, command.format);
}

std::string picture_of_run(const DrawCommand& command, const models::TaskGraph& graph,
                           const models::Simulation& run, const models::RankSet& ranks) {
  const bool fold = !command.all;
  if (command.subject == Subject::kWaitFor) {
    return drawing_of_end(graph, run, command.all, command.format);
  }
  if (command.subject == Subject::kMemory) {
    const models::MemoryUse use = models::memory_over_time(graph, run.lowered, run.outcome);
    return viz::draw_memory(graph, run, use, ranks, fold).drawing(command.format);
  }
  models::TimelineOptions options;
  options.ranks = ranks;
  return viz::draw_timeline(graph, run, models::timeline(graph, run, options), fold)
      .drawing(command.format);
}

}  // namespace

std::optional<Subject> find_subject(const std::string& name) {
  constexpr std::pair<std::string_view, Subject> kSubjects[] = {{"tasks", Subject::kTasks},
                                                                {"stages", Subject::kStages},
                                                                {"wait-for", Subject::kWaitFor},
                                                                {"timeline", Subject::kTimeline},
                                                                {"memory", Subject::kMemory}};
  for (const auto& [known, subject] : kSubjects) {
    if (known == name) return subject;
  }
  return std::nullopt;
}

int run_draw(const DrawCommand& command, const Console& console) {
  ScenarioInput input(command.files, console);
  models::Diagnostics diagnostics;
  const auto complain = [&] { return input.complain(diagnostics, console); };
  const auto scenario = input.read(diagnostics);
  if (!scenario) return complain();
  const models::TaskGraph& graph = scenario->graph;
  const auto ranks = command.ranks ? read_ranks(*command.ranks, graph.ranks, diagnostics)
                                   : models::RankSet::range(0, graph.ranks);
  auto lowered = ranks ? models::lower(graph, diagnostics) : std::nullopt;
  if (!lowered) return complain();
  const bool keep_times = needs_times(command.subject);
  if (keep_times && lowered->plan.act_count > kMostActs) {
    diagnostics.error({}, fmt::format("{} acts are too many for a picture of times (at most {}); "
                                      "draw fewer ranks or micro-batches (--set)",
                                      lowered->plan.act_count, kMostActs));
    return complain();
  }
  const bool is_of_plan = command.subject == Subject::kTasks || command.subject == Subject::kStages;
  std::optional<models::Simulation> run;
  if (!is_of_plan) {
    WatchedRun watched(console);
    watched.options.jitter = command.jitter;
    watched.options.keep_act_times = keep_times;
    run = models::simulate(graph, std::move(*lowered), watched.options);
    if (run->outcome.end == sim::RunEnd::kInterrupted) return kExitInterrupted;
  }
  complain();  // what is left are warnings
  try {
    write_file(command.path, run ? picture_of_run(command, graph, *run, *ranks)
                                 : picture_of_plan(command, graph, *lowered, *ranks));
  } catch (const viz::DrawingError& error) {
    console.err << fmt::format("pipesim: error: {}\n", error.what());
    return kExitUsage;
  }
  return kExitGood;
}

}  // namespace pipesim::app
