// Reads Python's pickles of plain data, protocols 0 to 5, without executing anything. Refuses
// opcodes that import, call or build an object.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "formats/document/plain_tree.hpp"

namespace pipesim::formats {

/// A value and the values that it refers to.
struct PlainValue {
  PlainTree tree;
  PlainTree::Index root = 0;
};

/// The reason why a value was not read, and the position of the mistake (byte, from 0).
struct PlainProblem {
  std::string message;
  std::size_t byte = 0;
};

/// Reads the pickle at the beginning of `bytes`: None, bool, int, float, str, bytes, lists, tuples,
/// sets (all three as lists) and dicts. Ignores the bytes after it. Returns nullopt if the pickle
/// has other objects, is truncated, or has an int of more than 64 bits; `problem` has the reason.
std::optional<PlainValue> read_pickle(const std::string& bytes, PlainProblem& problem);

}  // namespace pipesim::formats
