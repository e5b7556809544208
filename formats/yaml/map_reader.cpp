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
    if (by_text_.empty() && count_ < kFew) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (few_[i].text() == key.text()) return few_[i].place();
      }
      few_[count_++] = key;
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
  std::array<YamlValue, kFew> few_;  // the first `count_` of them, until there are more
  std::size_t count_ = 0;
  std::unordered_map<std::string_view, models::Place> by_text_;
};

// Reports a key that is no name, or that was there before.
bool check_key(const YamlValue& key, FirstPlaces& seen, Diagnostics& diagnostics) {
  if (!key.is_scalar()) {
    diagnostics.error(key.place(), models::Code::kWrongType,
                      fmt::format("a key must be a name, found {}", key.described()));
    return false;
  }
  if (key.text() == "<<" && !key.quoted()) {
    diagnostics.error(key.place(), models::Code::kYamlAlias, "merge keys are not supported")
        .notes.emplace_back("write the keys out, or use an alias for the whole value");
    return false;
  }
  if (!check_name(key.text(), key, diagnostics)) return false;
  const auto first = seen.add(key);
  if (!first) return true;
  diagnostics
      .error(key.place(), models::Code::kDuplicateKey,
             fmt::format("duplicate key {}", key.described()))
      .notes.push_back(fmt::format("the first is in {}", models::line_text(*first)));
  return false;
}

// What `word` of other libraries is called here: that one of `known`, or nothing.
std::string_view our_word(std::string_view word, const std::vector<std::string>& known) {
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

MapReader::MapReader(const YamlValue& value, const KeyTable& table, Diagnostics& diagnostics)
    : table_(table), diagnostics_(diagnostics), place_(value.place()), is_map_(value.is_map()) {
  entries_.reserve(value.size() / 2);
  for_each_named_entry(value, table.what, diagnostics, [this](const YamlValue::Entry& entry) {
    entries_.push_back({entry, false});
  });
}

std::optional<YamlValue> MapReader::take(std::string_view key) {
  for (Entry& entry : entries_) {
    if (entry.entry.key.text() != key) continue;
    if (table_.find(key) == nullptr) return std::nullopt;
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
    diagnostics_.error(place_, models::Code::kMissingKey,
                       fmt::format("{} needs the key '{}'", table_.what, key));
  }
  return value;
}

std::string MapReader::take_text(std::string_view key) {
  const std::optional<YamlValue> value = take(key);
  if (!value || value->is_null()) return {};
  if (value->is_scalar()) return std::string(value->text());
  diagnostics_.error(value->place(), models::Code::kWrongType,
                     fmt::format("'{}' must be text, found {}", key, value->described()));
  return {};
}

void MapReader::finish() {
  for (const Entry& entry : entries_) {
    if (entry.taken) continue;
    const std::string_view key = entry.entry.key.text();
    const models::Place place = entry.entry.key.place();
    if (table_.find(key) != nullptr) {
      diagnostics_.error(
          place, models::Code::kConflictingKeys,
          fmt::format("'{}' cannot be combined with the other keys of {}", key, table_.what));
      continue;
    }
    models::Diagnostic& error = diagnostics_.error(
        place, models::Code::kUnknownKey,
        fmt::format("unknown key {} in {}", entry.entry.key.described(), table_.what));
    const std::vector<std::string> known = table_.names();
    if (const std::string_view ours = our_word(key, known); !ours.empty()) {
      error.notes.push_back(fmt::format("did you mean '{}'?", ours));
    } else {
      models::suggest_name(error, key, known, known.size());  // nobody knows them by heart
    }
  }
}

std::vector<std::string> MapReader::words(std::string_view key) const {
  return quoted_words(table_.find(key)->type);
}

const KeyTable* table_with_head(const YamlValue& value, std::span<const KeyTable* const> tables) {
  const std::vector<YamlValue::Entry> entries = value.entries();
  for (const KeyTable* table : tables) {
    for (std::size_t i = 0; i < table->heads; ++i) {
      for (const YamlValue::Entry& entry : entries) {
        if (entry.key.text() == table->own[i].name) return table;
      }
    }
  }
  return nullptr;
}

std::vector<YamlValue::Entry> named_entries(const YamlValue& value, std::string_view what,
                                            Diagnostics& diagnostics) {
  std::vector<YamlValue::Entry> result;
  result.reserve(value.size() / 2);
  for_each_named_entry(value, what, diagnostics,
                       [&](const YamlValue::Entry& entry) { result.push_back(entry); });
  return result;
}

void for_each_named_entry(const YamlValue& value, std::string_view what, Diagnostics& diagnostics,
                          const std::function<void(const YamlValue::Entry&)>& visit) {
  if (!value.is_map()) {
    diagnostics.error(value.place(), models::Code::kWrongType,
                      fmt::format("{} must be a map, found {}", what, value.described()));
    return;
  }
  std::vector<bool> is_good;
  is_good.reserve(value.size() / 2);
  {
    FirstPlaces seen(value.size() / 2);
    value.for_each_entry([&](const YamlValue::Entry& entry) {
      is_good.push_back(check_key(entry.key, seen, diagnostics));
    });
  }
  auto good = is_good.begin();
  value.for_each_entry([&](const YamlValue::Entry& entry) {
    if (*good++) visit(entry);
  });
}

}  // namespace pipesim::formats
