// Reads OneFlow's boxing logs (with ONEFLOW_DEBUG=1). A graph writes boxing/log/JOB.csv. Eager
// boxings write lines such as "Boxing route: ..." and "Altered state of sbp: (B, B) -> (P, B)" to
// the log of the rank (oneflow/core/boxing/eager_boxing_logger.cpp), without op names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"

#include "features/diagnose/boxing_log.hpp"

namespace pipesim::formats {

/// The maximum size of a boxing log, in bytes.
inline constexpr std::size_t kMaxBoxingBytes = std::size_t{256} << 20;

/// Reads the rows of a boxing log. Returns nullopt if `text` is not one; `diagnostics` has the
/// reason, with line and column.
std::optional<std::vector<models::LoggedBoxing>> read_boxing(const std::string& text,
                                                             models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
