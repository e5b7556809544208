// Files with collective algorithms: MSCCL's XML and MSCCL++'s execution plans.
// docs/reference/algorithms.md describes both.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "models/algorithm/collective_algorithm.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {

/// Above so many bytes a file is refused.
inline constexpr std::size_t kMaxAlgorithmBytes = std::size_t{256} << 20;

/// The algorithm in `text`: an execution plan if it begins with '{', else XML. Nothing where there
/// are mistakes, which `diagnostics` then has, each with what the parser of RCCL or MSCCL++ would
/// do. What is read is safe to run: indices are in range, connections have one thread block at each
/// end.
std::optional<models::CollectiveAlgorithm> read_algorithm(const std::string& text,
                                                          models::Diagnostics& diagnostics);

/// The two formats.
std::optional<models::CollectiveAlgorithm> read_msccl_xml(const std::string& text,
                                                          models::Diagnostics& diagnostics);
std::optional<models::CollectiveAlgorithm> read_mscclpp_plan(const std::string& text,
                                                             models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
