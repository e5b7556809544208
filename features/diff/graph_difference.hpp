// The differences between two task graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// The value of a template's key: a word, or a number that can depend on the rank.
struct KeyValue {
  enum class Unit : std::uint8_t { kText, kNumber, kTime, kBytes, kRanks };
  Unit unit = Unit::kText;
  std::string text;  // for kText
  /// Pairs of value and ranks, sorted by value; no ranks: all ranks of the template.
  std::vector<std::pair<std::int64_t, std::vector<std::uint32_t>>> numbers;
  std::vector<std::uint32_t> ranks;  // for kRanks

  friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

/// A key with different values; nullopt: the key is missing on that side.
struct KeyChange {
  std::string key;
  std::optional<KeyValue> before;
  std::optional<KeyValue> after;
};

/// A template that exists on one side only, or has different keys.
struct TemplateChange {
  std::string what;  // kind of template: "actor", "stream", ...
  std::string name;
  std::optional<Place> before;  // nullopt: added
  std::optional<Place> after;   // nullopt: removed
  std::vector<KeyChange> keys;
};

struct GraphDifference {
  std::vector<KeyChange> top;  // keys of the graph as a whole
  /// Changes in the order of the first graph, followed by added templates. Actors come last in both
  /// parts.
  std::vector<TemplateChange> templates;

  bool empty() const { return top.empty() && templates.empty(); }
};

/// Compares templates of the same name by their meaning. Places, `about` and the order of
/// declarations do not count as differences. Steps of host programs are actors; a program is the
/// order of its steps.
GraphDifference compare_graphs(const TaskGraph& before, const TaskGraph& after);

}  // namespace pipesim::models
