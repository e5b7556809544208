// JSON as a tree whose values have places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "formats/plain_tree.hpp"

namespace pipesim::formats {

struct JsonTree {
  PlainTree tree;
  PlainTree::Index root = 0;
  std::deque<std::uint32_t> bytes;  // of each value: where it begins in the text
};

/// Why a text was not read, and at which byte (from 0) that was found.
struct JsonProblem {
  std::string limit;  // that it exceeds, in words; empty: it is not JSON
  std::size_t byte = 0;
};

/// `text` (at most 4 GiB) as a tree, without recursion. Nothing where it is not JSON, or has more
/// than kMaxPlainValues values, or is deeper than kMaxJsonDepth. An integer above the range of 64
/// bits with sign is a real number.
std::optional<JsonTree> read_json_tree(std::string_view text, JsonProblem& problem);

}  // namespace pipesim::formats
