#include "formats/map_reader.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace pipesim::formats {

using models::Diagnostics;

MapReader::MapReader(const YamlValue& value, std::string what, Diagnostics& diagnostics)
    : what_(std::move(what)), diagnostics_(diagnostics), place_(value.place()) {
  for (const YamlValue::Entry& entry : named_entries(value, what_, diagnostics)) {
    entries_.push_back({entry, false});
  }
}

std::optional<YamlValue> MapReader::take(std::string_view key) {
  known_.emplace_back(key);
  for (Entry& entry : entries_) {
    if (entry.entry.key.text() != key) continue;
    entry.taken = true;
    return entry.entry.value;
  }
  return std::nullopt;
}

bool MapReader::has(std::string_view key) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.entry.key.text() == key; });
}

std::optional<YamlValue> MapReader::require(std::string_view key) {
  std::optional<YamlValue> value = take(key);
  if (!value) diagnostics_.error(place_, fmt::format("{} needs the key '{}'", what_, key));
  return value;
}

std::string MapReader::take_text(std::string_view key) {
  const std::optional<YamlValue> value = take(key);
  if (!value || value->is_null()) return {};
  if (value->is_scalar()) return std::string(value->text());
  diagnostics_.error(value->place(),
                     fmt::format("'{}' is a text, found {}", key, value->described()));
  return {};
}

void MapReader::finish() {
  for (const Entry& entry : entries_) {
    if (entry.taken) continue;
    const std::string_view key = entry.entry.key.text();
    models::Diagnostic& error =
        diagnostics_.error(entry.entry.key.place(),
                           fmt::format("{} has no key {}", what_, entry.entry.key.described()));
    models::suggest_name(error, key, known_);
  }
}

std::vector<YamlValue::Entry> named_entries(const YamlValue& value, std::string_view what,
                                            Diagnostics& diagnostics) {
  std::vector<YamlValue::Entry> result;
  if (!value.is_map()) {
    diagnostics.error(value.place(), fmt::format("{} is a map, found {}", what, value.described()));
    return result;
  }
  std::map<std::string_view, models::Place> seen;
  for (const YamlValue::Entry& entry : value.entries()) {
    if (!entry.key.is_scalar()) {
      diagnostics.error(entry.key.place(),
                        fmt::format("a key is a name, found {}", entry.key.described()));
      continue;
    }
    if (entry.key.text() == "<<" && !entry.key.quoted()) {
      diagnostics.error(entry.key.place(), "merge keys are not understood")
          .notes.emplace_back("write the keys out, or use an alias for the whole value");
      continue;
    }
    if (!check_name(entry.key.text(), entry.key, diagnostics)) continue;
    const auto [first, is_new] = seen.emplace(entry.key.text(), entry.key.place());
    if (!is_new) {
      diagnostics
          .error(entry.key.place(),
                 fmt::format("the key {} stands here twice", entry.key.described()))
          .notes.push_back(fmt::format("the first is in line {}", first->second.line));
      continue;
    }
    result.push_back(entry);
  }
  return result;
}

}  // namespace pipesim::formats
