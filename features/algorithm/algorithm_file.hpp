// Files with collective algorithms: MSCCL's XML and MSCCL++'s execution plans.
// docs/reference/algorithms.md describes both.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "models/graph/diagnostics.hpp"

#include "features/algorithm/collective_algorithm.hpp"

namespace pipesim::formats {

/// The maximum size of a file, in bytes.
inline constexpr std::size_t kMaxAlgorithmBytes = std::size_t{256} << 20;

/// Reads the algorithm in `text`: an execution plan if the text begins with '{', otherwise XML.
/// Returns nullopt after mistakes; `diagnostics` lists them, and names the effect of each on the
/// parser of RCCL or MSCCL++. The result is safe to run: indices are in range, and each end of a
/// connection has one thread block.
std::optional<models::CollectiveAlgorithm> read_algorithm(const std::string& text,
                                                          models::Diagnostics& diagnostics);

/// Reads a file of one format: MSCCL's XML, or MSCCL++'s execution plan.
std::optional<models::CollectiveAlgorithm> read_msccl_xml(const std::string& text,
                                                          models::Diagnostics& diagnostics);
std::optional<models::CollectiveAlgorithm> read_mscclpp_plan(const std::string& text,
                                                             models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
