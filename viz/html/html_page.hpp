// One page that shows a run: verdict, cycle, wait-for graph, timeline and tables. It needs nothing
// but itself: what it looks like and does stands in viz/html/page/, and is put into it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/explain/simulation.hpp"
#include "models/measure/timeline.hpp"
#include "viz/report.hpp"

namespace pipesim::viz {

/// How much a page holds at most. What is left out is said on the page, with what to do.
struct PageLimits {
  std::size_t slices = 20'000;    // of the timeline: other ranks are shown in parts
  std::size_t parts = 20'000;     // of these: a part stands for several slices
  std::size_t waits = 4'000;      // those of the cycle first
  std::size_t rows = 4'000;       // of a table
  std::size_t graph_nodes = 400;  // of the wait-for graph: it is folded, or else left out
};

/// The page as HTML. `report` has all waits (report_of_end with `all`), `run` is what it was made
/// from, `timeline` has all ranks. `unfold`: acts that are not on the cycle are drawn one by one.
std::string html_page(const Report& report, const models::Simulation& run,
                      const models::Timeline& timeline, bool unfold, const PageLimits& limits = {});

/// What a page says of all interleavings, beside the run that it shows.
struct CheckPage {
  struct Reading {
    std::string name;
    std::string about;
    std::string answer;
    std::string end;  // with the scenario's own durations
    std::string why;  // of the run that hangs
  };
  std::string headline;            // what stands behind the name: "can hang"
  std::string verdict;             // "hang possible"
  std::vector<std::string> story;  // paragraphs
  std::vector<Reading> readings;   // none: the program has one
  std::vector<std::string> rests_on;
  std::vector<std::string> steps;  // of the run, or of another that ends in the same way
  std::string text;                // all that is known, as the terminal shows it
};

/// Likewise of `check`; `run` is that which hangs, or the usual one.
std::string html_page(const Report& report, const models::Simulation& run,
                      const models::Timeline& timeline, const CheckPage& check, bool unfold,
                      const PageLimits& limits = {});

/// What a page says of a real job or an algorithm, of which there is no run to show.
struct JobPage {
  std::string headline;            // what stands behind its name: "hangs"
  std::vector<std::string> story;  // paragraphs below
  std::string text;                // all that is known, as the terminal shows it
  std::string verdict{};           // in words; empty: that of the explanation
};

/// Likewise from evidence of a real job, or of an algorithm: with waits and their graph, without a
/// timeline.
std::string html_page(const Report& report, const JobPage& job, bool unfold,
                      const PageLimits& limits = {});

/// The data of the page, one JSON object: what the scripts of the page read. In it stands no `<`.
std::string html_page_data(const Report& report, const models::Simulation& run,
                           const models::Timeline& timeline, const PageLimits& limits = {});

}  // namespace pipesim::viz
