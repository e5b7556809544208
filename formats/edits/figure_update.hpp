// Putting figures that have changed into the text of a scenario, and nothing else.
#pragma once

#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/measure/expectation.hpp"

namespace pipesim::formats {

/// A figure that a scenario expects, and what it should say.
struct Figure {
  models::Aspect aspect = models::Aspect::kTime;
  models::Place place;
  std::string text;      // "43.6us", "10", "deadlock"
  std::string old_text;  // of a verdict or a cause: what stands there
  bool changed = false;  // the run differs from what is expected

  friend bool operator==(const Figure&, const Figure&) = default;
};

/// The exact figures of `expectation`, which stands in a scenario that was read, as the run of
/// `graph` has them: time, cycle length and memory and, where `names`, verdict and cause. None
/// where `names` is off and verdict or cause are not what is expected: the figures of another end
/// are worth nothing.
std::vector<Figure> figures_of(const models::Expectation& expectation,
                               const models::TaskGraph& graph, const models::Simulation& run,
                               bool names);

/// What figure_update() made.
struct UpdatedText {
  std::string text;
  std::vector<models::Place> refused;  // no plain figure stands there, or others want another one
};

/// `text` with all of `figures` that have changed put in. Comments, order and line ends stay.
/// Several figures of one place (an alias, an anchor) have to agree. What is an expression stays.
UpdatedText update_figures(const std::string& text, const std::vector<Figure>& figures);

}  // namespace pipesim::formats
