// OneFlow's boxing logs (with ONEFLOW_DEBUG=1). Of a graph that is boxing/log/JOB.csv; eager
// boxings write lines "Boxing route: ...", "Altered state of sbp: (B, B) -> (P, B)" and so on into
// the log of the rank (oneflow/core/boxing/eager_boxing_logger.cpp), and name no op.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/postmortem/boxing_log.hpp"

namespace pipesim::formats {

/// Larger files are refused.
inline constexpr std::size_t kMaxBoxingBytes = std::size_t{256} << 20;

/// The rows of a boxing log. Nothing where `text` is none; `diagnostics` says why, with line and
/// column.
std::optional<std::vector<models::LoggedBoxing>> read_boxing(const std::string& text,
                                                             models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
