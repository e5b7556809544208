// The ways to look at the end of a run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command.hpp"
#include "app/output/console.hpp"
#include "models/explain/folded_run.hpp"
#include "models/explain/simulation.hpp"
#include "models/graph/task_graph.hpp"
#include "viz/draw/scene.hpp"
#include "viz/html/html_page.hpp"
#include "viz/styled.hpp"
#include "viz/text/text_report.hpp"

namespace pipesim::app {

/// What the user asked for. A path `-` is standard output, which takes only one thing: by default
/// the report as text.
struct Views {
  bool quiet = false;     // something else goes to standard output
  bool json = false;      // the report as data
  bool by_class = false;  // of which ranks that say the same are one item
  bool stacks = false;    // where host threads are
  bool all = false;       // every wait, not only the cycle
  bool timeline = false;  // below the report, as text
  std::optional<std::string> dot_path;
  std::optional<std::string> html_path;      // the page
  std::optional<std::string> schedule_path;  // the pipeline schedule as PyTorch's CSV
  std::optional<std::string> log_path;       // the log of all ranks
  std::optional<std::string> log_folder;     // a log for each rank
  std::optional<std::string> trace_path;     // see write_trace

  std::string made_by;  // version and command, for all that is written

  /// Only the report as text, which says little of a run that completes, or as data by class.
  bool only_report() const {
    return !quiet && (!json || by_class) && !stacks && !all && !dot_path && !schedule_path &&
           !need_log() && !need_timeline();
  }
  bool need_log() const { return log_path || log_folder; }
  bool need_timeline() const { return timeline || trace_path || html_path; }
};

/// "pipesim 0.1: pipesim run a.yaml --set acc=2": the version and the command line, without the
/// options that only say what is written where.
std::string made_by(const Arguments& arguments);

/// Likewise of a command and its words.
std::string made_by(const std::vector<std::string>& words);

/// made_by() as the last line of a report as text.
std::string last_line(std::string_view made_by, const Console& console);
std::string last_line(const Arguments& arguments, const Console& console);

/// Prints what a command found: as data for --json, else as text, with made_by() as its last line.
/// Makes only the one that is printed.
void print_report(const Arguments& arguments, const Console& console,
                  const std::function<std::string()>& data,
                  const std::function<std::string(const viz::TextOptions&)>& text);

/// Writes what `views` asks for. `shown_path` is the file that the scenario came from. Returns the
/// exit code of the run. Throws FileError.
int show(const models::TaskGraph& graph, const models::Simulation& simulation,
         const std::string& shown_path, const Views& views, const Console& console);

/// Prints the report of a job of which some ranks stood for the others; returns its exit code.
int show(const models::TaskGraph& graph, const models::FoldedRun& run,
         const std::string& shown_path, const Views& views, const Console& console);

/// The report as far as it follows from the end of the run alone: without remedies, which take runs
/// of their own, pipeline and memory. `all`: with every wait, not only the cycle. Both must outlive
/// it.
viz::Report report_of_end(const models::TaskGraph& graph, const models::Simulation& simulation,
                          bool all);

/// Writes the page of `check`. `simulation`, of the lowered `graph`, kept the times of its acts.
void write_check_page(const models::TaskGraph& graph, const models::Simulation& simulation,
                      const viz::CheckPage& page, bool all, std::string made_by,
                      const std::string& path);

/// The wait-for graph of the end for Graphviz.
std::string dot_of_end(const models::TaskGraph& graph, const models::Simulation& simulation,
                       bool all, std::string made_by);

/// The same as a picture. Throws viz::DrawingError.
std::string drawing_of_end(const models::TaskGraph& graph, const models::Simulation& simulation,
                           const viz::PictureStyle& style, viz::PictureFormat format);

/// The exit code that says how the run ended.
int exit_code(const models::Explanation& explanation);

}  // namespace pipesim::app
