// The text format of Protocol Buffers, read without a schema: what fields there are, and where.
// What they mean, and which of them matter, is for who asks.
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

/// So deep may messages stand in messages; protobuf's own parsers stop there too.
inline constexpr std::uint32_t kMaxTextProtoDepth = 100;
/// Above so many fields a text is refused: 10 million take half a gigabyte.
inline constexpr std::size_t kMaxTextProtoFields = 10'000'000;

enum class TextProtoKind : std::uint8_t { kMessage, kString, kWord };

/// A field of a message. A list `[a, b]` is as many fields of its name.
struct TextProtoField {
  std::string_view name;   // of extensions with their brackets
  std::string_view value;  // as it stands in the text: a string with its quotes; none of a message
  std::uint32_t line = 0;
  std::uint32_t column = 0;                   // of the name; in bytes
  std::uint32_t end = 0;                      // one past the last field inside this one
  TextProtoKind kind = TextProtoKind::kWord;  // numbers are words
};

/// Fields in the order of the text, each followed by what is inside it. Field 0 is the whole text.
class TextProto {
 public:
  using Index = std::uint32_t;

  const TextProtoField& operator[](Index field) const { return fields_[field]; }
  models::Place place(Index field) const { return {fields_[field].line, fields_[field].column}; }

  /// The fields of that name in `message`, in their order.
  std::vector<Index> all(Index message, std::string_view name) const;
  /// The last of them, as protobuf has it.
  std::optional<Index> find(Index message, std::string_view name) const;
  /// That of a path of names, such as {"op_conf", "name"}.
  std::optional<Index> find(Index message, std::initializer_list<std::string_view> path) const;

  /// What a string says, with its escapes done; of all others the value as it stands.
  std::string text(Index field) const;
  /// The integer (decimal, 0x.., 0..). Nothing where it is none or does not fit.
  std::optional<std::int64_t> integer(Index field) const;

 private:
  friend class TextProtoParser;
  std::deque<TextProtoField> fields_;  // grows without being copied
};

/// The fields in `text`, which must outlive the result. Nothing where it is not such a text:
/// `diagnostics` then has the first mistake, as what follows one cannot be told.
std::optional<TextProto> read_text_proto(std::string_view text, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
