// OneFlow's boxing logs (with ONEFLOW_DEBUG=1): how each tensor gets from the signature of its
// producer to that of its consumer. Of a graph that is boxing/log/JOB.csv; eager boxings write
// lines "Boxing route: ...", "Altered state of sbp: (B, B) -> (P, B)" and so on into the log of the
// rank (oneflow/core/boxing/eager_boxing_logger.cpp), and name no op.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/diagnostics.hpp"

namespace pipesim::formats {

/// Larger files are refused.
inline constexpr std::size_t kMostBoxingBytes = std::size_t{256} << 20;

/// One row, as it stands in the file; of an eager boxing a step of its way, without ops.
struct BoxingRow {
  std::size_t line = 0;
  std::string producer;
  std::string consumer;
  std::string placement;  // of the consumer
  std::string from;       // "(B, B)"
  std::string to;
  std::string tensor;
  std::string shape;
  std::string builder;

  /// Whether a dimension of the placement goes from broadcast to partial sum: then some ranks read
  /// the tensor and the others zeros, which differ in what they wait for.
  bool makes_partial_sum() const;
};

/// The rows of a boxing log. Nothing where `text` is none; `diagnostics` says why, with line and
/// column.
std::optional<std::vector<BoxingRow>> read_boxing(const std::string& text,
                                                  models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
