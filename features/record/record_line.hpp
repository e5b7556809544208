// The fields of one line of a record. Nearly all lines are objects of plain strings, integers and
// lists of integers, which need no document.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/document/yaml_document.hpp"

namespace pipesim::formats {

/// A field of a line. `key` and `text` point into the line or its document.
struct RecordField {
  enum class Kind : std::uint8_t { kText, kInteger, kTrue, kFalse, kIntegers, kOther };

  std::string_view key;
  Kind kind = Kind::kOther;
  bool is_known = false;    // whether find() was asked for the key
  std::uint8_t same = 0;    // number of the previous field with the same slot; 0: none
  std::uint32_t first = 0;  // kIntegers: [first, end) in RecordLine::integers()
  std::uint32_t end = 0;
  std::int64_t integer = 0;  // kInteger
  std::string_view text;     // kText
  YamlValue value;           // kOther: any value of a document
};

class LineParts;

class RecordLine {
 public:
  /// Reads a line. Returns false if the line is not a plain object; read() then reads its document.
  bool read_plain(std::string_view line);
  /// Takes the fields from the document of a line.
  void read(const YamlValue& object);

  const std::vector<RecordField>& fields() const { return fields_; }
  const std::vector<std::int64_t>& integers() const { return integers_; }

  /// Returns the field with this key, the last one if the key is repeated, or null.
  const RecordField* find(std::string_view key);

 private:
  static constexpr std::size_t kMaxFields = 200;  // numbers of fields fit in a byte

  static std::size_t slot_of(std::string_view key) {
    if (key.empty()) return 0;
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(key[i]); };
    return (byte(0) * 7U + byte(key.size() - 1) * 3U + key.size()) % kSlots;
  }
  void clear();
  void add(const RecordField& field);
  bool read_value(LineParts& parts, RecordField& field);

  static constexpr std::size_t kSlots = 64;
  std::vector<RecordField> fields_;
  std::vector<std::int64_t> integers_;
  std::array<std::uint8_t, kSlots> slots_{};  // number of the last field with this slot, from 1
};

}  // namespace pipesim::formats
