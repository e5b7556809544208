// What differs between two runs, as text for people and as JSON (docs/reference/json.md).
#pragma once

#include <optional>
#include <string>

#include "models/measure/graph_difference.hpp"
#include "models/measure/run_difference.hpp"
#include "viz/styled.hpp"

namespace pipesim::viz {

/// Two runs, side by side.
struct Difference {
  std::string before_name;  // "a.yaml --set acc=2"
  std::string after_name;
  models::RunEndFigures before;
  models::RunEndFigures after;
  // Only where both were simulated here, and not read from a report:
  std::optional<models::GraphDifference> graph;
  std::optional<models::RunDifference> run;

  /// True if nothing differs. Of reports the fingerprint has to be the same, too.
  bool same() const;
};

struct DifferenceOptions {
  TextOptions text;
  bool all = false;  // nothing is left out of long lists
};

/// How long lists are where not all is asked for.
inline constexpr std::size_t kMaxDifferences = 12;

std::string difference_text(const Difference& difference, const DifferenceOptions& options);

/// Of the graphs alone; empty where nothing differs.
std::string graph_difference_text(const models::GraphDifference& graph,
                                  const DifferenceOptions& options);

/// One JSON object with a line end. Nothing is left out.
std::string difference_json(const Difference& difference);

}  // namespace pipesim::viz
