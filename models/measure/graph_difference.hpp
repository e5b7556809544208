// What differs between two task graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::models {

/// What a key of a template says: a word, or a number, which may depend on the rank.
struct KeyValue {
  enum class Unit : std::uint8_t { kText, kNumber, kTime, kBytes, kRanks };
  Unit unit = Unit::kText;
  std::string text;  // kText
  /// Values with the ranks that they hold on, by value; no ranks: all that the template is on.
  std::vector<std::pair<std::int64_t, std::vector<std::uint32_t>>> numbers;
  std::vector<std::uint32_t> ranks;  // kRanks

  friend bool operator==(const KeyValue&, const KeyValue&) = default;
};

/// A key that says something else; on a side where nothing is said there is nothing.
struct KeyChange {
  std::string key;
  std::optional<KeyValue> before;
  std::optional<KeyValue> after;
};

/// A template that is on one side only, or says something else.
struct TemplateChange {
  std::string what;  // "actor", "stream", ...
  std::string name;
  std::optional<Place> before;  // nothing: added
  std::optional<Place> after;   // nothing: removed
  std::vector<KeyChange> keys;
};

struct GraphDifference {
  std::vector<KeyChange> top;  // of the graph as a whole
  /// In the order of the first graph, those that were added after them; actors last.
  std::vector<TemplateChange> templates;

  bool empty() const { return top.empty() && templates.empty(); }
};

/// Compares by name and meaning: places, `about` and the order of declarations are no difference.
/// Steps of host programs are actors, and what a program says is the order of its steps.
GraphDifference compare_graphs(const TaskGraph& before, const TaskGraph& after);

}  // namespace pipesim::models
