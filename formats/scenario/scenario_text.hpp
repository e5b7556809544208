// Builds the text of a scenario key by key: for importers of other formats, and for task graphs in
// code. formats/scenario/scenario_writer.hpp writes task graphs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/document/yaml_document.hpp"
#include "formats/document/yaml_writer.hpp"
#include "models/graph/operation.hpp"
#include "models/graph/rank_set.hpp"

namespace pipesim::formats {

/// The keys of a step, an actor or another part of a scenario, in the order of addition.
class ScenarioMap {
 public:
  ScenarioMap() = default;
  /// Begins a step with its first key and value: `lock: gil`.
  ScenarioMap(std::string_view word, std::string_view what) { text(word, what); }

  /// Add a name or other text, an expression, a number, on or off, a list of names, and any value.
  ScenarioMap& text(std::string_view key, std::string_view text);
  ScenarioMap& value(std::string_view key, std::string_view expression);
  ScenarioMap& number(std::string_view key, std::int64_t number);
  ScenarioMap& truth(std::string_view key, bool value);
  ScenarioMap& names(std::string_view key, const std::vector<std::string>& names);
  ScenarioMap& add(std::string_view key, YamlNode value);

  /// Adds `text` unless it is empty.
  ScenarioMap& optional_text(std::string_view key, std::string_view text);

  bool empty() const { return map_.empty(); }
  std::size_t size() const { return map_.size(); }
  operator YamlNode() const& { return map_; }         // NOLINT(google-explicit-constructor)
  operator YamlNode() && { return std::move(map_); }  // NOLINT(google-explicit-constructor)

 private:
  YamlNode map_ = YamlNode::map();
};

/// Returns a list of ranks, without ranges: [0, 1, 2].
YamlNode rank_list(const std::vector<std::uint32_t>& ranks);

/// Returns the key of a call's peer: `to`, `from` or `root`.
const char* peer_key(models::Operation operation);

/// Returns `text` with characters that a name should not have replaced by '_'.
std::string plain_name(std::string_view text);

class ScenarioText {
 public:
  /// Begins a scenario; an empty name is not written.
  explicit ScenarioText(std::string_view name);

  /// Sets a top-level key.
  void set(std::string_view key, YamlNode value) {
    sections_.insert_or_assign(key, std::move(value));
  }
  /// Sets a top-level key to a map or list, unless it is empty.
  void set_any(std::string_view key, YamlNode items) {
    if (!items.empty()) set(key, std::move(items));
  }
  void set_ranks(std::size_t count);

  /// Adds an entry to a section of names: params, groups, streams, actors.
  void add(std::string_view section, std::string_view name, YamlNode value);
  /// Adds an item to a section that is a list: programs, faults.
  void add(std::string_view section, YamlNode item);
  /// Adds the program of one rank, unless it has no steps.
  void add_program(std::uint32_t rank, YamlNode steps);

  bool has(std::string_view key) const { return sections_.contains(key); }

  /// Returns the text, with the keys in their usual order. Uses up the sections, which can be
  /// large. If `dense` is set, a step that fits on no line is written on filled lines.
  std::string take_text(bool dense = false);

  /// Returns the document of take_text() without writing the text, see YamlNode::tree(). Uses up
  /// the sections.
  std::optional<YamlDocument> take_tree();

 private:
  YamlNode take_top();

  std::map<std::string_view, YamlNode> sections_;
};

}  // namespace pipesim::formats
