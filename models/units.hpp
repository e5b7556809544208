// Quantities as text.
#pragma once

#include <cstdint>
#include <string>

namespace pipesim::models {

/// Formats a size exactly, so that different sizes never look the same: "64 MiB", "24 MB", "1,300
/// B".
std::string exact_bytes_text(std::int64_t bytes);

}  // namespace pipesim::models
