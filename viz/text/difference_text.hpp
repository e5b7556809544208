// What differs between two runs, as text for people and as JSON (docs/reference/json.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

/// What a key says; "nothing" where it is not there.
std::string value_text(const std::optional<models::KeyValue>& value);

/// "+6.1 us, +12.3 %".
std::string delta_of(std::int64_t before_ns, std::int64_t after_ns);

/// The op at which the runs first differ, and how; none where they do not.
std::vector<std::string> first_lines(const models::RunDifference& run);

/// An actor that does other numbers of ops, on ranks on which it is the same.
struct CountRow {
  std::string op;
  std::string before;  // "2 of 4"
  std::string after;
  std::vector<std::uint32_t> ranks;
};

std::vector<CountRow> count_rows(const Difference& difference);

std::string difference_text(const Difference& difference, const DifferenceOptions& options);

/// Of the graphs alone; empty where nothing differs.
std::string graph_difference_text(const models::GraphDifference& graph,
                                  const DifferenceOptions& options);

/// One JSON object with a line end. Nothing is left out.
std::string difference_json(const Difference& difference);

}  // namespace pipesim::viz
