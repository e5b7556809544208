// Reading a map key by key, so that what nobody asked for can be told as a mistake.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/yaml/yaml_document.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// Reads one map. Keys that were asked for are known; finish() reports the others with the
/// nearest known one. Repeated keys and merge keys are reported at once.
class MapReader {
 public:
  /// `what` names the map in messages: "an actor". What is no map is reported and reads as empty.
  MapReader(const YamlValue& value, std::string what, models::Diagnostics& diagnostics);

  /// The value of `key`, which outlives this reader, or nothing where the map has none.
  std::optional<YamlValue> take(std::string_view key);

  /// Whether the map has `key`. That alone does not make it a known one.
  bool has(std::string_view key) const;

  /// As take(); a missing key is reported.
  std::optional<YamlValue> require(std::string_view key);

  /// As take(), for text that only people read: `about`. A list or a map is reported.
  std::string take_text(std::string_view key);

  /// Reports what was never asked for.
  void finish();

  models::Place place() const { return place_; }

 private:
  struct Entry {
    YamlValue::Entry entry;
    bool taken = false;
  };

  std::string what_;
  models::Diagnostics& diagnostics_;
  models::Place place_;
  bool is_map_;
  std::vector<Entry> entries_;
  std::vector<std::string_view> known_;  // keys of the readers, which outlive it
};

/// The entries of a map from names to things: keys that are no plain scalars, and repeated ones,
/// are reported and left out. Nothing where `value` is no map, which is reported too.
std::vector<YamlValue::Entry> named_entries(const YamlValue& value, std::string_view what,
                                            models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
