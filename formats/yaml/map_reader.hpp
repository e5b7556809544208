// Reading a map key by key, so that what nobody asked for can be told as a mistake.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/yaml/key_table.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// Reads one map. finish() reports keys that are not in its table, or that nobody asked for.
/// Repeated keys and merge keys are reported at once.
class MapReader {
 public:
  /// `table`, which outlives this reader, has the keys of the map. What is not a map is reported
  /// and reads as empty.
  MapReader(const YamlValue& value, const KeyTable& table, models::Diagnostics& diagnostics);

  /// The value of `key`, or nothing where the map has none, or where its table has no such key.
  std::optional<YamlValue> take(std::string_view key);

  /// Whether the map has `key`. That alone does not take it.
  bool has(std::string_view key) const;

  /// As take(); a missing key is reported.
  std::optional<YamlValue> require(std::string_view key);

  /// As take(), for text that only people read: `about`. A list or a map is reported.
  std::string take_text(std::string_view key);

  /// The words that `key` can be, by its table.
  std::vector<std::string> words(std::string_view key) const;

  /// Reports what was not taken.
  void finish();

  models::Place place() const { return place_; }

 private:
  struct Entry {
    YamlValue::Entry entry;
    std::string_view key;  // its text, since each is asked for dozens of keys
    bool taken = false;
  };

  const KeyTable& table_;
  models::Diagnostics& diagnostics_;
  models::Place place_;
  bool is_map_;
  std::vector<Entry> entries_;
  std::uint64_t beginnings_ = 0;  // bits of their keys: most keys that are asked for are not there
};

/// The first of `tables` with a head that the map `value` has, or nullptr.
const KeyTable* table_with_head(const YamlValue& value, std::span<const KeyTable* const> tables);

/// The entries of a map from names to things: keys that are no plain scalars, and repeated ones,
/// are reported and left out. Nothing where `value` is no map, which is reported too.
std::vector<YamlValue::Entry> named_entries(const YamlValue& value, std::string_view what,
                                            models::Diagnostics& diagnostics);

/// Calls `visit` for each of these, of which there may be a million, once all keys are checked.
void for_each_named_entry(const YamlValue& value, std::string_view what,
                          models::Diagnostics& diagnostics,
                          const std::function<void(const YamlValue::Entry&)>& visit);

}  // namespace pipesim::formats
