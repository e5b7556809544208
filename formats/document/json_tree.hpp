// JSON as a tree of values with places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "formats/document/plain_tree.hpp"

namespace pipesim::formats {

struct JsonTree {
  PlainTree tree;
  PlainTree::Index root = 0;
  std::deque<std::uint32_t> bytes;  // offset of each value in the text
};

/// The reason why a text was not read, and the byte (from 0) at which it was found.
struct JsonProblem {
  std::string limit;  // exceeded limit, in words; empty: the text is not JSON
  std::size_t byte = 0;
};

/// Reads `text` (at most 4 GiB) as a tree, without recursion. Returns nullopt if `text` is not
/// JSON, has more than kMaxPlainValues values, or is deeper than kMaxJsonDepth. An integer above
/// the range of 64 bits with sign becomes a real number.
std::optional<JsonTree> read_json_tree(std::string_view text, JsonProblem& problem);

}  // namespace pipesim::formats
