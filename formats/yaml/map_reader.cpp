#include "formats/yaml/map_reader.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

namespace pipesim::formats {

using models::Diagnostics;

namespace {

// Where keys of a map first stand. Nearly all maps have a few keys, and some a million.
class FirstPlaces {
 public:
  explicit FirstPlaces(std::size_t size) {
    if (size > kFew) by_text_.reserve(size);
  }

  // The place of the key if it was there before.
  std::optional<models::Place> add(const YamlValue& key) {
    if (by_text_.empty() && few_.size() < kFew) {
      for (const YamlValue& other : few_) {
        if (other.text() == key.text()) return other.place();
      }
      few_.push_back(key);
      return std::nullopt;
    }
    if (by_text_.empty()) {
      for (const YamlValue& other : few_) by_text_.emplace(other.text(), other.place());
    }
    const auto [first, is_new] = by_text_.emplace(key.text(), key.place());
    return is_new ? std::nullopt : std::optional(first->second);
  }

 private:
  static constexpr std::size_t kFew = 16;
  std::vector<YamlValue> few_;
  std::unordered_map<std::string_view, models::Place> by_text_;
};

// What `word` of other libraries is called here: that one of `known`, or nothing.
std::string_view our_word(std::string_view word, const std::vector<std::string_view>& known) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kWords = {{
      {"dst", "to"},  // torch.distributed
      {"dest", "to"},
      {"dst", "root"},
      {"src", "from"},
      {"src", "root"},
      {"size", "bytes"},
      {"duration", "takes"},
      {"time", "takes"},
      {"line", "at"},
  }};
  for (const auto& [other, ours] : kWords) {
    if (word == other && std::find(known.begin(), known.end(), ours) != known.end()) return ours;
  }
  return {};
}

}  // namespace

MapReader::MapReader(const YamlValue& value, std::string what, Diagnostics& diagnostics)
    : what_(std::move(what)),
      diagnostics_(diagnostics),
      place_(value.place()),
      is_map_(value.is_map()) {
  const std::vector<YamlValue::Entry> entries = named_entries(value, what_, diagnostics);
  entries_.reserve(entries.size());
  for (const YamlValue::Entry& entry : entries) entries_.push_back({entry, false});
}

std::optional<YamlValue> MapReader::take(std::string_view key) {
  known_.push_back(key);
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
  if (!value && is_map_) {
    diagnostics_.error(place_, fmt::format("{} needs the key '{}'", what_, key));
  }
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
    if (const std::string_view ours = our_word(key, known_); !ours.empty()) {
      error.notes.push_back(fmt::format("did you mean '{}'?", ours));
    } else {
      models::suggest_name(error, key, {known_.begin(), known_.end()});
    }
  }
}

std::vector<YamlValue::Entry> named_entries(const YamlValue& value, std::string_view what,
                                            Diagnostics& diagnostics) {
  std::vector<YamlValue::Entry> result;
  if (!value.is_map()) {
    diagnostics.error(value.place(), fmt::format("{} is a map, found {}", what, value.described()));
    return result;
  }
  const std::vector<YamlValue::Entry> entries = value.entries();
  FirstPlaces seen(entries.size());
  result.reserve(entries.size());
  for (const YamlValue::Entry& entry : entries) {
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
    if (const auto first = seen.add(entry.key)) {
      diagnostics
          .error(entry.key.place(),
                 fmt::format("the key {} stands here twice", entry.key.described()))
          .notes.push_back(fmt::format("the first is in {}", models::line_text(*first)));
      continue;
    }
    result.push_back(entry);
  }
  return result;
}

}  // namespace pipesim::formats
