#include "formats/document/map_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "formats/document/name_table.hpp"

namespace pipesim::formats {

using models::Diagnostics;

namespace {

// The place of each key's first use. The class is optimized for few keys, but is also fast for a
// million.
class FirstPlaces {
 public:
  explicit FirstPlaces(std::size_t size) {
    if (size <= kMaxFew) return;
    all_.reserve(size);
    many_.reserve(size);
  }

  // Returns the first place of the key with this text, or nullopt if the key is new.
  std::optional<models::Place> add(const YamlValue& key, std::string_view text) {
    if (count_ < kMaxFew && all_.empty()) {
      for (std::size_t i = 0; i < count_; ++i) {
        if (few_[i].text == text) return few_[i].key.place();
      }
      few_[count_++] = {text, key};
      return std::nullopt;
    }
    if (all_.empty()) {
      for (const Known& known : few_) put(known.text, known.key);
    }
    const std::uint32_t first =
        many_.find(text, [&](std::uint32_t i) { return all_[i].text() == text; });
    if (first != NameTable::kNone) return all_[first].place();
    put(text, key);
    return std::nullopt;
  }

 private:
  struct Known {
    std::string_view text;
    YamlValue key;
  };

  void put(std::string_view text, const YamlValue& key) {
    many_.add(text, static_cast<std::uint32_t>(all_.size()));
    all_.push_back(key);
  }

  static constexpr std::size_t kMaxFew = 8;
  std::array<Known, kMaxFew>
      few_;  // the first `count_` keys; more than kMaxFew keys are all in `all_`
  std::size_t count_ = 0;
  std::vector<YamlValue> all_;
  NameTable many_;  // index of `all_` by the text of keys
};

// Returns the text of a key. After an error (the key is not a name, or is repeated), returns
// nullopt.
std::optional<std::string_view> name_of(const YamlValue& key, FirstPlaces& seen,
                                        Diagnostics& diagnostics) {
  if (!key.is_scalar()) {
    diagnostics.error(key.place(), models::Code::kWrongType,
                      fmt::format("a key must be a name, found {}", key.described()));
    return std::nullopt;
  }
  const std::string_view text = key.text();
  if (text == "<<" && !key.quoted()) {
    diagnostics.error(key.place(), models::Code::kYamlAlias, "merge keys are not supported")
        .notes.emplace_back("write the keys out, or use an alias for the whole value");
    return std::nullopt;
  }
  if (!check_name(text, key, diagnostics)) return std::nullopt;
  const auto first = seen.add(key, text);
  if (!first) return text;
  diagnostics
      .error(key.place(), models::Code::kDuplicateKey,
             fmt::format("duplicate key {}", key.described()))
      .notes.push_back(fmt::format("the first is in {}", models::line_text(*first)));
  return std::nullopt;
}

bool check_is_map(const YamlValue& value, std::string_view what, Diagnostics& diagnostics) {
  if (value.is_map()) return true;
  diagnostics.error(value.place(), models::Code::kWrongType,
                    fmt::format("{} must be a map, found {}", what, value.described()));
  return false;
}

// Returns the key in `known` that other libraries call `word`, or an empty string.
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

// Returns a mask of one bit, which depends on the first and the last letter of `key`.
std::uint64_t bit_of(std::string_view key) {
  constexpr unsigned kBits = 64;
  if (key.empty()) return 1;
  const unsigned first = static_cast<unsigned char>(key.front());
  const unsigned last = static_cast<unsigned char>(key.back());
  return std::uint64_t{1} << ((first * 5 + last) % kBits);
}

}  // namespace

MapReader::MapReader(const YamlValue& value, const KeyTable& table, Diagnostics& diagnostics)
    : table_(table), diagnostics_(diagnostics), place_(value.place()), is_map_(value.is_map()) {
  entries_.reserve(value.size() / 2);
  if (!check_is_map(value, table.what, diagnostics)) return;
  FirstPlaces seen(value.size() / 2);
  value.for_each_entry([&](const YamlValue::Entry& entry) {
    const auto name = name_of(entry.key, seen, diagnostics);
    if (!name) return;
    entries_.push_back({entry, *name, false});
    beginnings_ |= bit_of(*name);
  });
}

std::optional<YamlValue> MapReader::take(std::string_view key) {
  if ((beginnings_ & bit_of(key)) == 0) return std::nullopt;
  for (Entry& entry : entries_) {
    if (entry.key != key) continue;
    if (table_.find(key) == nullptr) return std::nullopt;
    entry.taken = true;
    return entry.entry.value;
  }
  return std::nullopt;
}

bool MapReader::has(std::string_view key) const {
  if ((beginnings_ & bit_of(key)) == 0) return false;
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.key == key; });
}

models::Place MapReader::place_of(std::string_view key) const {
  return std::find_if(entries_.begin(), entries_.end(),
                      [&](const Entry& entry) { return entry.key == key; })
      ->entry.value.place();
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
    const std::string_view key = entry.key;
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
      // A long list helps, because users do not know these keys by heart.
      models::suggest_name(error, key, known, known.size());
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
  if (!check_is_map(value, what, diagnostics)) return;
  std::vector<std::size_t> bad;  // indices of entries with errors, in ascending order
  {
    FirstPlaces seen(value.size() / 2);
    std::size_t at = 0;
    value.for_each_entry([&](const YamlValue::Entry& entry) {
      if (!name_of(entry.key, seen, diagnostics)) bad.push_back(at);
      ++at;
    });
  }
  auto next_bad = bad.begin();
  std::size_t at = 0;
  value.for_each_entry([&](const YamlValue::Entry& entry) {
    const bool is_bad = next_bad != bad.end() && *next_bad == at;
    ++at;
    if (is_bad) {
      ++next_bad;
    } else {
      visit(entry);
    }
  });
}

}  // namespace pipesim::formats
