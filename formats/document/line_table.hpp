// Places of bytes in a text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// The beginnings of all lines of a text, for fast lookup of many places.
class LineTable {
 public:
  explicit LineTable(std::string_view text) : begins_{0} {
    for (std::size_t end = text.find('\n'); end != std::string_view::npos;
         end = text.find('\n', end + 1)) {
      begins_.push_back(end + 1);
    }
  }

  /// Returns the line and column, from 1, of byte `byte` (from 0).
  models::Place place(std::size_t byte) const {
    const auto after = std::upper_bound(begins_.begin(), begins_.end(), byte);
    return {static_cast<std::uint32_t>(after - begins_.begin()),
            static_cast<std::uint32_t>(byte - *(after - 1) + 1)};
  }

 private:
  std::vector<std::size_t> begins_;
};

}  // namespace pipesim::formats
