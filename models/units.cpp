#include "models/units.hpp"

#include <cstddef>
#include <iterator>

namespace pipesim::models {

std::string exact_bytes_text(std::int64_t bytes) {
  static constexpr const char* kBinaryUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  static constexpr const char* kDecimalUnits[] = {"B", "kB", "MB", "GB", "TB"};
  const bool is_binary = bytes % 1024 == 0;
  const std::int64_t factor = is_binary ? 1024 : 1000;
  std::size_t unit = 0;
  while (unit + 1 < std::size(kBinaryUnits) && bytes != 0 && bytes % factor == 0) {
    bytes /= factor;
    ++unit;
  }
  std::string text = std::to_string(bytes);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text + " " + (is_binary ? kBinaryUnits : kDecimalUnits)[unit];
}

}  // namespace pipesim::models
