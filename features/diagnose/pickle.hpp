// Reads Python's pickles of plain data, protocols 0 to 5, without executing anything. Refuses
// opcodes that import, call or build an object.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "formats/document/yaml_document.hpp"

namespace pipesim::formats {

/// The reason why a pickle was not read, and the position of the mistake (byte, from 0).
struct PickleProblem {
  std::string message;
  std::size_t byte = 0;
};

/// Reads the pickle at the beginning of `bytes`: None, bool, int, float, str, bytes, lists, tuples,
/// sets (all three as lists) and dicts. The values have no places; strings count as quoted. A value
/// that the pickle uses again is an alias. Ignores the bytes after the pickle. Returns nullopt if
/// the pickle has other objects, is truncated, contains itself, is too large or too deep, or has an
/// int of more than 64 bits; `problem` has the reason. `bytes` must outlive the document.
std::optional<YamlDocument> read_pickle(const std::string& bytes, PickleProblem& problem);

}  // namespace pipesim::formats
