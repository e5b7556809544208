#include "app/output/views.hpp"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/sources.hpp"
#include "app/output/trace_files.hpp"
#include "formats/scenario/schedule_csv.hpp"
#include "models/result/memory.hpp"
#include "models/result/pipeline_report.hpp"
#include "models/result/remedies.hpp"
#include "models/result/timeline.hpp"
#include "viz/page/html_page.hpp"
#include "viz/pictures/wait_for_dot.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/run_log.hpp"
#include "viz/report/stack_dump.hpp"
#include "viz/report/terminal_timeline.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/words.hpp"

namespace pipesim::app {
namespace {

using models::Simulation;

std::vector<models::Wait> all_waits(const models::TaskGraph& graph, const Simulation& simulation) {
  std::vector<models::Wait> waits;
  waits.reserve(simulation.waits.edges.size());
  for (const sim::WaitEdge& edge : simulation.waits.edges) {
    waits.push_back(models::describe_wait(graph, simulation.lowered, simulation.outcome.state,
                                          simulation.waits, edge));
  }
  return waits;
}

void write_logs(const std::string& folder, const std::vector<std::string>& logs) {
  make_folder(folder);
  for (std::size_t rank = 0; rank < logs.size(); ++rank) {
    write_file(fmt::format("{}/rank_{}.log", folder, rank), logs[rank]);
  }
}

// Returns the report with remedies, pipeline and memory. `folding`: the representative ranks of the
// simulation; null: the simulation has all ranks.
viz::Report whole_report(const models::TaskGraph& graph, const Simulation& simulation, bool all,
                         const models::RankFolding* folding = nullptr) {
  viz::Report report = report_of_end(graph, simulation, all);
  report.pipeline = models::pipeline_report(graph, simulation.lowered, simulation.outcome, folding);
  report.memory = models::memory_report(graph, simulation.lowered, simulation.outcome);
  report.remedies = models::find_remedies(graph, simulation);
  return report;
}

// Returns the last line of a report on a terminal: the advice or, after a completed run, the next
// commands. The beginning of a long report scrolls away.
std::string next_line(const viz::Report& report, const std::string& path, std::size_t columns) {
  if (report.explanation.verdict != sim::Verdict::kCompleted) {
    return viz::paragraph(viz::advice_text(report), columns, 0, 2);
  }
  return viz::paragraph(
      fmt::format(
          "Next: 'pipesim check {0}' tries every interleaving; 'pipesim draw {0} -o run.svg' "
          "draws this one.",
          path),
      columns, 0, 2);
}

void show_next_line(const viz::Report& report, const std::string& path, const Console& console) {
  if (!console.err_terminal) return;
  console.out << std::flush;
  console.err << next_line(report, path, console.out_columns);
}

}  // namespace

viz::Report report_of_end(const models::TaskGraph& graph, const Simulation& simulation, bool all) {
  viz::Report report{graph, simulation.explanation, {}, {}, {}, {}, {}};
  report.misplacements = models::find_misplacements(graph, simulation);
  if (all) report.all_waits = all_waits(graph, simulation);
  report.jitter = simulation.jitter;
  return report;
}

void write_check_page(const models::TaskGraph& graph, const Simulation& simulation,
                      const viz::CheckPage& page, bool all, std::string made_by,
                      const std::string& path) {
  viz::Report report = whole_report(graph, simulation, true);
  report.made_by = std::move(made_by);
  report.sources = source_excerpts(report);
  write_file(path,
             viz::html_page(report, simulation, models::timeline(graph, simulation), page, all));
}

std::string dot_of_end(const models::TaskGraph& graph, const Simulation& simulation, bool all,
                       std::string made_by) {
  return drawing_of_end(graph, simulation, {.all = all, .made_by = std::move(made_by)},
                        viz::PictureFormat::kDot);
}

std::string drawing_of_end(const models::TaskGraph& graph, const Simulation& simulation,
                           const viz::PictureStyle& style, viz::PictureFormat format) {
  viz::WaitPicture picture =
      viz::wait_picture(graph, simulation.explanation, all_waits(graph, simulation), !style.all);
  picture.dark = style.dark;
  picture.made_by = style.made_by;
  picture.model = style.model;
  picture.font_scale = style.font_scale;
  picture.aspect = style.aspect;
  if (!style.title.empty()) picture.title = style.title;
  return viz::wait_for_drawing(picture, format);
}

int exit_code(const models::Explanation& explanation) {
  if (explanation.cause == models::Cause::kInterrupted) return kExitInterrupted;
  switch (explanation.verdict) {
    case sim::Verdict::kCompleted:
      return kExitGood;
    case sim::Verdict::kLimit:
      return kExitUndecided;
    case sim::Verdict::kDeadlock:
    case sim::Verdict::kStarved:
    case sim::Verdict::kMismatch:
    case sim::Verdict::kCrashed:
      break;
  }
  return kExitBad;
}

int show(const models::TaskGraph& graph, const Simulation& simulation,
         const std::string& shown_path, const Views& views, const Console& console) {
  const models::Explanation& explanation = simulation.explanation;
  // Writes the files first: if a write fails, nothing is printed.
  if (views.dot_path) {
    write_file(*views.dot_path, dot_of_end(graph, simulation, views.all, views.made_by));
  }
  if (views.schedule_path && graph.pipeline) {
    write_file(*views.schedule_path, formats::write_schedule(graph.pipeline->schedule));
  }
  if (views.log_folder) {
    write_logs(*views.log_folder, viz::run_logs(graph, simulation.lowered, simulation.outcome));
  }
  const models::Timeline timeline =
      views.need_timeline() ? models::timeline(graph, simulation) : models::Timeline();
  std::optional<viz::Report> report;
  if (views.html_path) {
    report.emplace(whole_report(graph, simulation, true));
    report->made_by = views.made_by;
    report->job = views.job;
    report->sources = source_excerpts(*report);
    write_file(*views.html_path, viz::html_page(*report, simulation, timeline, views.all));
    if (!views.all) report->all_waits.clear();
  }
  if (views.trace_path) {
    write_trace(graph, simulation, timeline, *views.trace_path, console);
    if (*views.trace_path == "-") return exit_code(explanation);
  }
  if (views.log_path) {
    const std::string log = viz::run_log(graph, simulation.lowered, simulation.outcome);
    if (write_or_print(*views.log_path, log, console.out)) return exit_code(explanation);
  }
  if (views.stacks) {
    console.out << viz::stack_dump(explanation, shown_path);
    return exit_code(explanation);
  }
  if (!report) report.emplace(whole_report(graph, simulation, views.all));
  report->made_by = views.made_by;
  report->job = views.job;
  console.out << (views.json
                      ? viz::json_report(*report, views.by_class)
                      : viz::text_report(*report, {console.out_colour, console.out_columns}));
  if (views.timeline) {
    console.out << '\n'
                << viz::terminal_timeline(graph, simulation, timeline,
                                          {console.out_columns, console.out_colour});
  }
  if (!views.json) show_next_line(*report, shown_path, console);
  return exit_code(explanation);
}

int show(const models::TaskGraph& graph, const models::FoldedRun& run,
         const std::string& shown_path, const Views& views, const Console& console) {
  viz::Report report = whole_report(graph, run.simulation, false, &run.folding);
  report.made_by = views.made_by;
  report.job = views.job;
  report.alike = run.alike;
  // The memory covers only representative ranks; the text report of a schedule omits it anyway.
  report.memory.reset();
  if (views.json) {
    console.out << viz::json_report(report, views.by_class);
  } else {
    console.out << viz::text_report(report, {console.out_colour, console.out_columns});
    show_next_line(report, shown_path, console);
  }
  return exit_code(run.simulation.explanation);
}

}  // namespace pipesim::app
