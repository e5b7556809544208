// A report, written once for all outputs: terminal, JSON and HTML page render the same sections.
// Each entry has a value for JSON, words for people, or both.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "viz/report/styled.hpp"

namespace pipesim::viz {

/// A JSON value, as text. Lists and objects have one item per line, indented by two spaces.
class JsonValue {
 public:
  // NOLINTBEGIN(google-explicit-constructor): values are written as they are
  JsonValue(std::nullptr_t) : text_("null") {}
  JsonValue(std::string_view text);
  JsonValue(const std::string& text) : JsonValue(std::string_view(text)) {}
  JsonValue(const char* text) : JsonValue(std::string_view(text)) {}
  template <std::integral T>
  JsonValue(T number) : text_(std::to_string(number)) {}
  JsonValue(bool value) : text_(value ? "true" : "false") {}
  template <typename T>
  JsonValue(const std::vector<T>& items)
      : JsonValue(std::vector<JsonValue>(items.begin(), items.end()), '[', ']') {}
  // NOLINTEND(google-explicit-constructor)

  /// Wraps text that already is JSON, such as another report.
  static JsonValue of_text(std::string json);

  const std::string& text() const { return text_; }

  /// Returns this object with another key. The object must not be empty.
  JsonValue with(std::string_view key, const JsonValue& value) const;

 private:
  friend class Section;

  /// Joins `items` to a list or object; an item of an object includes its key.
  JsonValue(const std::vector<JsonValue>& items, char open, char close);

  std::string text_;
};

/// A part of a report.
class Section {
 public:
  /// A line for people. Lines with a label form a table of two columns.
  struct Line {
    std::string words;
    std::string label;
    const char* style = nullptr;  // style of the label on a terminal; null: none
  };

  explicit Section(std::string id = {}) : id_(std::move(id)) {}

  /// Adds a key of the data, and a line for people if `words` is not empty.
  Section& say(std::string_view key, const JsonValue& value, std::string words = {},
               std::string label = {});

  /// Adds a line for people unless `words` is empty.
  Section& line(std::string words, std::string label = {}, const char* style = nullptr);

  /// Adds the lines of another section.
  Section& lines_of(const Section& other);

  /// Adds the data of another section.
  Section& part(const Section& other);

  /// Adds a list of sections to the data.
  Section& list(std::string_view key, std::vector<Section> items);

  /// Adds the place of a finding to the data.
  Section& at(const models::Place& place);

  const std::string& id() const { return id_; }
  const std::vector<Line>& lines() const { return lines_; }
  const std::vector<Section>& items() const { return items_; }

  JsonValue data() const { return {data_, '{', '}'}; }
  /// Returns the data as a JSON object with a line end.
  std::string json() const { return data().text() + "\n"; }

  /// Returns the lines for a terminal. Words begin in column `column`, after their labels.
  std::string text(const TextOptions& options, std::size_t column) const;

 private:
  std::string id_;
  std::vector<JsonValue> data_;
  std::vector<Line> lines_;
  std::vector<Section> items_;
};

/// Returns the first keys of a report's data: its schema, and `what` with the name of its subject.
Section report_about(std::string_view what, std::string_view name);

}  // namespace pipesim::viz
