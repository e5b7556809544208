// The table of keys of a file format: what its maps may hold. Readers, the JSON Schema and the
// reference page are made from it.
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
/// `type` is written as: a name (`time`, `ranks`, `register`: see scenario_schema.cpp), `'word'`,
/// `~` (nothing), `[T]` (a list), `{T}` (a map from names), alternatives `A|B`. Behind the whole,
/// `*` says that it may be a choice (`case`), `?` that it may be nothing or a choice. `+` behind a
/// list or a map: not empty; `2` behind a list: of two. `time(rank)` may differ from rank to rank.
struct Key {
  std::string_view name;
  std::string_view type;
  std::string_view meaning;         // one line, without the default
  std::string_view otherwise = {};  // its default; "required" if there is none
};

/// Whether a value of this type may differ from rank to rank.
inline bool is_by_rank(std::string_view type) {
  return type.find("(rank)") != std::string_view::npos;
}

/// The keys of one kind of map.
struct KeyTable {
  std::string_view name;     // in the schema: actor
  std::string_view what;     // in messages: an actor
  std::string_view meaning;  // one line
  std::span<const Key> own;
  std::array<const KeyTable*, 6> also{};  // shared with other kinds
  std::size_t heads = 0;                  // exactly one of the first so many keys must be there
  std::string_view rules = {};            // further keywords of JSON Schema

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

/// The words in a type: `'ring'|'tree'`.
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
