// Reads the text format of Protocol Buffers without a schema: the fields and their places. The
// caller decides what the fields mean and which fields matter.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// Maximum nesting of messages, which is the limit of protobuf's own parsers.
inline constexpr std::uint32_t kMaxTextProtoDepth = 100;
/// Maximum number of fields in a text. 10 million fields take half a gigabyte.
inline constexpr std::size_t kMaxTextProtoFields = 10'000'000;

enum class TextProtoKind : std::uint8_t { kMessage, kString, kWord };

/// A field of a message. A list `[a, b]` becomes one field per item, all with its name.
struct TextProtoField {
  std::string_view name;   // an extension's name includes the brackets
  std::string_view value;  // raw text: strings include their quotes; empty for a message
  std::uint32_t line = 0;
  std::uint32_t column = 0;                   // column of the name, in bytes
  std::uint32_t end = 0;                      // index after the last nested field
  TextProtoKind kind = TextProtoKind::kWord;  // numbers are words
};

/// Fields in text order, each followed by its nested fields. Field 0 is the whole text.
class TextProto {
 public:
  using Index = std::uint32_t;

  const TextProtoField& operator[](Index field) const { return fields_[field]; }
  models::Place place(Index field) const { return {fields_[field].line, fields_[field].column}; }

  /// Returns the fields with this name in `message`, in order.
  std::vector<Index> all(Index message, std::string_view name) const;
  /// Returns the last field with this name, as protobuf does; nullopt if there is none.
  std::optional<Index> find(Index message, std::string_view name) const;
  /// Returns the field at a path of names, such as {"op_conf", "name"}.
  std::optional<Index> find(Index message, std::initializer_list<std::string_view> path) const;

  /// Returns the content of a string, with escapes resolved. For other fields, returns the raw
  /// value.
  std::string text(Index field) const;
  /// Returns the value of a decimal, hexadecimal (0x..) or octal (0..) integer; nullopt if the
  /// field is not an integer or the value does not fit.
  std::optional<std::int64_t> integer(Index field) const;

 private:
  friend class TextProtoParser;
  std::deque<TextProtoField> fields_;  // a deque grows without copies
};

/// Reads the fields in `text`, which must outlive the result. Returns nullopt after a syntax error.
/// `diagnostics` has only the first error, because the text after it is ambiguous.
std::optional<TextProto> read_text_proto(std::string_view text, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
