// The table of keys of a file format: the keys of each kind of map. The readers, the JSON Schema
// and the reference page use it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::formats {

/// A key of a map.
///
/// `type` is a name (`time`, `ranks`, `register`: see scenario_schema.cpp), `'word'`, `~` (null),
/// `[T]` (a list), `{T}` (a map from names), or alternatives `A|B`. At the end of the type, `*`
/// allows a choice (`case`), and `?` allows null or a choice. After a list or a map, `+` means not
/// empty; after a list, `2` means two items. `time(rank)` can depend on the rank.
struct Key {
  std::string_view name;
  std::string_view type;
  std::string_view meaning;         // description in one line, without the default
  std::string_view otherwise = {};  // default; "required" if there is none
};

/// Whether a value of this type can depend on the rank.
inline bool is_by_rank(std::string_view type) {
  return type.find("(rank)") != std::string_view::npos;
}

/// The keys of one kind of map.
struct KeyTable {
  std::string_view name;     // name in the schema: actor
  std::string_view what;     // name in messages: an actor
  std::string_view meaning;  // description in one line
  std::span<const Key> own;
  std::array<const KeyTable*, 6> also{};  // keys shared with other kinds
  // The first `heads` keys are heads: a map has exactly one, which identifies its table.
  std::size_t heads = 0;
  std::string_view rules = {};  // further keywords of JSON Schema

  const Key* find(std::string_view key) const {
    for (const Key& row : own) {
      if (row.name == key) return &row;
    }
    for (const KeyTable* table : also) {
      const Key* found = table == nullptr ? nullptr : table->find(key);
      if (found != nullptr) return found;
    }
    return nullptr;
  }

  std::vector<const Key*> all() const {
    std::vector<const Key*> rows;
    for (const Key& row : own) rows.push_back(&row);
    for (const KeyTable* table : also) {
      if (table == nullptr) continue;
      const std::vector<const Key*> more = table->all();
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Key* row : all()) result.emplace_back(row->name);
    return result;
  }
};

/// Returns the words in a type such as `'ring'|'tree'`.
inline std::vector<std::string> quoted_words(std::string_view type) {
  std::vector<std::string> words;
  for (std::size_t at = type.find('\''); at != std::string_view::npos; at = type.find('\'', at)) {
    const std::size_t end = type.find('\'', at + 1);
    words.emplace_back(type.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return words;
}

}  // namespace pipesim::formats
