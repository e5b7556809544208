// A self-contained page about a run: verdict, cycle, wait-for graph, timeline and tables. The
// styles and scripts come from viz/page/files/ and are embedded.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"
#include "viz/report/report.hpp"

namespace pipesim::viz {

/// Limits on the contents of a page. The page notes omitted parts, and how to get them.
struct PageLimits {
  std::size_t slices = 20'000;  // slices drawn one by one; further ranks are shown in parts
  std::size_t parts = 20'000;   // parts, each of which represents several slices
  std::size_t waits = 4'000;    // waits; waits on the cycle come first
  std::size_t rows = 4'000;     // rows of a table
  // Nodes of the wait-for graph; a larger graph is folded, then omitted.
  std::size_t graph_nodes = 400;
};

/// Returns the page as HTML. `report` has all waits (report_of_end with `all`) and describes `run`;
/// `timeline` has all ranks. `unfold`: ops that are not on the cycle are drawn one by one.
std::string html_page(const Report& report, const models::Simulation& run,
                      const models::Timeline& timeline, bool unfold, const PageLimits& limits = {});

/// Text about all interleavings, next to the run that the page shows.
struct CheckPage {
  struct NcclMode {
    std::string name;
    std::string about;
    std::string answer;
    std::string end;  // end of the run with the scenario's own durations
    std::string why;  // reason for the hang
  };
  std::string headline;            // text after the name: "can hang"
  std::string verdict;             // "hang possible"
  std::vector<std::string> story;  // paragraphs
  std::vector<NcclMode> modes;     // empty: the program has only one reading
  std::vector<std::string> rests_on;
  std::vector<std::string> steps;  // steps of the shown run, or of an equivalent one
  std::string text;                // full report, as in the terminal
};

/// Returns the page of `check`. `run` is the run that hangs; if none hangs, the default run.
std::string html_page(const Report& report, const models::Simulation& run,
                      const models::Timeline& timeline, const CheckPage& check, bool unfold,
                      const PageLimits& limits = {});

/// Text of a page about a real job or an algorithm, which has no run to show.
struct JobPage {
  std::string headline;            // text after the name: "hangs"
  std::vector<std::string> story;  // paragraphs below the headline
  std::string text;                // full report, as in the terminal
  std::string verdict{};           // verdict in words; empty: the explanation's
};

/// Returns the page for evidence of a real job or for an algorithm: waits and their graph, without
/// a timeline.
std::string html_page(const Report& report, const JobPage& job, bool unfold,
                      const PageLimits& limits = {});

/// Returns the data of the page for its scripts: one JSON object without any `<`.
std::string html_page_data(const Report& report, const models::Simulation& run,
                           const models::Timeline& timeline, const PageLimits& limits = {});

}  // namespace pipesim::viz
