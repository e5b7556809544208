// Reads maps key by key, and reports keys that were not taken.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/document/key_table.hpp"
#include "formats/document/yaml_document.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// Reads one map. finish() reports keys that are not in its table or were not taken. Repeated keys
/// and merge keys are reported at once.
class MapReader {
 public:
  /// Reads `value` with the keys in `table`, which must outlive the reader. If `value` is not a
  /// map, reports an error and reads an empty map.
  MapReader(const YamlValue& value, const KeyTable& table, models::Diagnostics& diagnostics);

  /// Takes the value of `key` and returns it. Returns nullopt if the map or its table has no such
  /// key.
  std::optional<YamlValue> take(std::string_view key);

  /// Whether the map has `key`. Does not take the key.
  bool has(std::string_view key) const;

  /// The same as take(), but reports a missing key.
  std::optional<YamlValue> require(std::string_view key);

  /// The same as take(), for text that only people read, such as `about`. Reports a list or a map.
  std::string take_text(std::string_view key);

  /// Returns the words that the table allows for `key`.
  std::vector<std::string> words(std::string_view key) const;

  /// Reports the keys that were not taken.
  void finish();

  models::Place place() const { return place_; }

  /// Returns the place of the value of `key`, which the map must have.
  models::Place place_of(std::string_view key) const;

 private:
  struct Entry {
    YamlValue::Entry entry;
    std::string_view key;  // text of the key, stored for dozens of comparisons
    bool taken = false;
  };

  const KeyTable& table_;
  models::Diagnostics& diagnostics_;
  models::Place place_;
  bool is_map_;
  std::vector<Entry> entries_;
  std::uint64_t beginnings_ = 0;  // bit_of() of all keys; rejects most absent keys quickly
};

/// Returns the first of `tables` with a head that the map `value` has, or nullptr.
const KeyTable* table_with_head(const YamlValue& value, std::span<const KeyTable* const> tables);

/// Returns the entries of a map from names to things. Reports and skips repeated keys, and keys
/// that are not plain scalars. If `value` is not a map, reports an error and returns no entries.
std::vector<YamlValue::Entry> named_entries(const YamlValue& value, std::string_view what,
                                            models::Diagnostics& diagnostics);

/// Calls `visit` for each entry of named_entries() without building a list, which can have a
/// million entries. Checks all keys first.
void for_each_named_entry(const YamlValue& value, std::string_view what,
                          models::Diagnostics& diagnostics,
                          const std::function<void(const YamlValue::Entry&)>& visit);

}  // namespace pipesim::formats
