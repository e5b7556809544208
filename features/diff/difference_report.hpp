// The differences between two runs, as text, as JSON (docs/reference/json.md), and as a page with
// the ends of both runs side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/result/explanation.hpp"
#include "viz/report/styled.hpp"

#include "features/diff/graph_difference.hpp"
#include "features/diff/run_difference.hpp"

namespace pipesim::viz {

/// Two runs, side by side.
struct Difference {
  std::string before_name;  // "a.yaml --set acc=2"
  std::string after_name;
  models::RunEndFigures before;
  models::RunEndFigures after;
  // Set only if both runs were simulated here and not read from a report:
  std::optional<models::GraphDifference> graph;
  std::optional<models::RunDifference> run;

  /// Whether nothing differs. Compares fingerprints only if a side was read from a report.
  bool same() const;
};

struct DifferenceOptions {
  TextOptions text;
  bool all = false;  // whether to show long lists in full
};

/// Maximum length of a list, unless `all` is set.
inline constexpr std::size_t kMaxDifferences = 12;

/// Returns the value of a key, or "nothing" for a missing key.
std::string value_text(const std::optional<models::KeyValue>& value);

/// Formats a difference of times: "+6.1 us, +12.3 %".
std::string delta_of(std::int64_t before_ns, std::int64_t after_ns);

/// Describes the first op at which the runs differ, and how; empty if they do not differ.
std::vector<std::string> first_lines(const models::RunDifference& run);

/// An op that runs a different number of times on the two sides. The numbers are the same on all
/// `ranks`.
struct CountRow {
  std::string op;
  std::string before;  // "2 of 4"
  std::string after;
  std::vector<std::uint32_t> ranks;
};

std::vector<CountRow> count_rows(const Difference& difference);

std::string difference_text(const Difference& difference, const DifferenceOptions& options);

/// Describes the differences between the graphs only; empty if nothing differs.
std::string graph_difference_text(const models::GraphDifference& graph,
                                  const DifferenceOptions& options);

/// Returns one JSON object with a line end, with lists in full.
std::string difference_json(const Difference& difference);

/// Returns the page as HTML. `before` and `after` are null for a side read from a report, which has
/// only the names of the cycle.
std::string difference_page(const Difference& difference, const models::Explanation* before,
                            const models::Explanation* after, std::string made_by);

}  // namespace pipesim::viz
