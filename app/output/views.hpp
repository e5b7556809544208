// Views of the end of a run.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/command.hpp"
#include "app/output/console.hpp"
#include "app/output/report.hpp"
#include "models/graph/task_graph.hpp"
#include "models/result/folded_run.hpp"
#include "models/result/simulation.hpp"
#include "viz/page/html_page.hpp"
#include "viz/pictures/scene.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/text_report.hpp"

namespace pipesim::app {

/// The views that the user asks for. A path `-` is standard output, which takes only one output: by
/// default the report as text.
struct Views {
  bool json = false;      // the report as JSON
  bool by_class = false;  // JSON with one item per class of identical ranks
  bool stacks = false;    // positions of host threads
  bool all = false;       // every wait, not only the cycle
  bool timeline = false;  // timeline as text, below the report
  std::optional<std::string> dot_path;
  std::optional<std::string> html_path;      // HTML page
  std::optional<std::string> schedule_path;  // pipeline schedule as PyTorch's CSV
  std::optional<std::string> log_path;       // log of all ranks
  std::optional<std::string> log_folder;     // folder for one log per rank
  std::optional<std::string> trace_path;     // see write_trace()

  std::string made_by;           // version and command, for all outputs
  std::vector<std::string> job;  // words that name the job for other commands

  /// Whether only the report is wanted, as text or as JSON by class. Both forms are short for a run
  /// that completes.
  bool only_report() const {
    return (!json || by_class) && !stacks && !all && !dot_path && !schedule_path && !need_log() &&
           !need_timeline();
  }
  bool need_log() const { return log_path || log_folder; }
  bool need_timeline() const { return timeline || trace_path || html_path; }
};

/// Writes the outputs in `views`. `shown_path` is the path of the scenario's file. Returns the exit
/// status of the run. Throws FileError.
int show(const models::TaskGraph& graph, const models::Simulation& simulation,
         const std::string& shown_path, const Views& views, const Console& console);

/// Prints the report of a job that was run with representative ranks. Returns its exit status.
int show(const models::TaskGraph& graph, const models::FoldedRun& run,
         const std::string& shown_path, const Views& views, const Console& console);

/// Returns the part of the report that follows from the end of the run alone: without remedies,
/// which need further runs, pipeline and memory. `all`: with every wait, not only the cycle.
/// `graph` and `simulation` must outlive the report.
viz::Report report_of_end(const models::TaskGraph& graph, const models::Simulation& simulation,
                          bool all);

/// Writes the page of `check`. `simulation`, a run of `graph`, must have kept the times of its ops.
void write_check_page(const models::TaskGraph& graph, const models::Simulation& simulation,
                      const viz::CheckPage& page, bool all, std::string made_by,
                      const std::string& path);

/// Returns the wait-for graph at the end, for Graphviz.
std::string dot_of_end(const models::TaskGraph& graph, const models::Simulation& simulation,
                       bool all, std::string made_by);

/// Draws the wait-for graph at the end as a picture. Throws viz::DrawingError.
std::string drawing_of_end(const models::TaskGraph& graph, const models::Simulation& simulation,
                           const viz::PictureStyle& style, viz::PictureFormat format);

/// Returns the exit status for the end of a run.
int exit_code(const models::Explanation& explanation);

}  // namespace pipesim::app
