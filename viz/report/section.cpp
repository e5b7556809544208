#include "viz/report/section.hpp"

#include <fmt/format.h>

#include "models/report_schema.hpp"
#include "viz/report/json_string.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

// Appends `json` two spaces further to the right. Strings escape their line ends, so line ends
// occur only between values.
void append_indented(std::string& text, std::string_view json) {
  for (const char c : json) {
    text += c;
    if (c == '\n') text += "  ";
  }
}

}  // namespace

JsonValue::JsonValue(std::string_view text) : text_(json_string(text)) {}

JsonValue::JsonValue(const std::vector<JsonValue>& items, char open, char close) : text_(1, open) {
  for (const JsonValue& item : items) {
    text_ += &item == &items.front() ? "\n  " : ",\n  ";
    append_indented(text_, item.text_);
  }
  if (!items.empty()) text_ += '\n';
  text_ += close;
}

JsonValue JsonValue::of_text(std::string json) {
  JsonValue value(nullptr);
  json.erase(json.find_last_not_of('\n') + 1);
  value.text_ = std::move(json);
  return value;
}

JsonValue JsonValue::with(std::string_view key, const JsonValue& value) const {
  std::string member = json_string(key) + ": ";
  append_indented(member, value.text_);
  return of_text(text_.substr(0, text_.rfind('\n')) + ",\n  " + member + "\n}");
}

Section& Section::say(std::string_view key, const JsonValue& value, std::string words,
                      std::string label) {
  data_.push_back(JsonValue::of_text(json_string(key) + ": " + value.text()));
  return line(std::move(words), std::move(label));
}

Section& Section::lines_of(const Section& other) {
  lines_.insert(lines_.end(), other.lines_.begin(), other.lines_.end());
  return *this;
}

Section& Section::part(const Section& other) {
  data_.insert(data_.end(), other.data_.begin(), other.data_.end());
  return *this;
}

Section& Section::line(std::string words, std::string label, const char* style) {
  if (!words.empty()) lines_.push_back({std::move(words), std::move(label), style});
  return *this;
}

Section& Section::list(std::string_view key, std::vector<Section> items) {
  std::vector<JsonValue> values;
  for (const Section& item : items) values.push_back(item.data());
  items_.insert(items_.end(), std::make_move_iterator(items.begin()),
                std::make_move_iterator(items.end()));
  return say(key, values);
}

Section& Section::at(const models::Place& place) {
  say("line", place.line).say("column", place.column);
  return place.file > 0 ? say("patch", place.file) : *this;
}

std::string Section::text(const TextOptions& options, std::size_t column) const {
  std::string text;
  for (const Line& line : lines_) {
    std::string label = fmt::format("{:<{}}", line.label, column);
    std::string words = paragraph(line.words, options.width, column, column);
    words.replace(0, column, line.style == nullptr ? label : styled(options, line.style, label));
    text += words;
  }
  return text;
}

Section report_about(std::string_view what, std::string_view name) {
  return Section().say("schema", models::kReportSchema).say(what, name);
}

}  // namespace pipesim::viz
