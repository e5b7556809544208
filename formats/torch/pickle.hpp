// Python's pickles of plain data, protocols 0 to 5, read without executing anything: what would
// import, call or build an object is refused.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "formats/plain_tree.hpp"

namespace pipesim::formats {

/// A value and what it refers to.
struct PlainValue {
  PlainTree tree;
  PlainTree::Index root = 0;
};

/// Why something was not read, and at which byte (from 0) that was found.
struct PlainProblem {
  std::string message;
  std::size_t byte = 0;
};

/// What the pickle at the beginning of `bytes` holds: None, truth, int, float, str, bytes, lists,
/// tuples, sets (all three as lists) and dicts. What follows it is not looked at. Nothing where it
/// is something else, is cut off, or has an int of more than 64 bits; `problem` says why.
std::optional<PlainValue> read_pickle(const std::string& bytes, PlainProblem& problem);

}  // namespace pipesim::formats
