// Replaces changed figures in the text of a scenario, and leaves the rest unchanged.
#pragma once

#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/result/expectation.hpp"

namespace pipesim::formats {

/// A figure that a scenario expects, with its new text.
struct Figure {
  models::Aspect aspect = models::Aspect::kTime;
  models::Place place;
  std::string text;      // new text: "43.6us", "10", "deadlock"
  std::string old_text;  // old text of a verdict or a cause
  bool changed = false;  // whether the run differs from the expectation

  friend bool operator==(const Figure&, const Figure&) = default;
};

/// Returns the exact figures of `expectation` with their values in the run of `graph`: time, cycle
/// length and memory; with `names`, also verdict and cause. Without `names`, returns no figures if
/// verdict or cause differ, because the figures of a run with another end are meaningless.
std::vector<Figure> figures_of(const models::Expectation& expectation,
                               const models::TaskGraph& graph, const models::Simulation& run,
                               bool names);

/// Result of update_figures().
struct UpdatedText {
  std::string text;
  std::vector<models::Place> refused;  // places without a plain figure, or with conflicting figures
};

/// Replaces the changed figures in `text`. Comments, order, line ends and expressions stay. Several
/// figures of one place (an alias, an anchor) must agree.
UpdatedText update_figures(const std::string& text, const std::vector<Figure>& figures);

}  // namespace pipesim::formats
