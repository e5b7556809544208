// Diagnostics of the lowering, which can find the same mistake on many ranks.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "models/graph/diagnostics.hpp"
#include "models/graph/expr.hpp"

namespace pipesim::models {

inline constexpr std::int64_t kMax32 = std::numeric_limits<std::uint32_t>::max() - 1;
inline constexpr std::int64_t kMaxNs = std::numeric_limits<std::int64_t>::max();

inline std::string rank_text(std::uint32_t rank) { return "rank " + std::to_string(rank); }

/// A reporter of mistakes that many ranks share: reports each mistake for one rank only.
class RankDiagnostics {
 public:
  explicit RankDiagnostics(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  bool has_errors() const { return diagnostics_.has_errors(); }

  /// Adds an error. Returns null if the same mistake, ignoring digits, is already reported for this
  /// place.
  Diagnostic* error_once(Place place, Code code, std::string message);

  /// Returns the value of `expr` on `rank`. If it is out of bounds, reports an error and returns
  /// `least`.
  std::int64_t number(const Expr& expr, std::uint32_t rank, std::int64_t least, std::int64_t most,
                      Place place, const char* what, const char* unit = "");

 private:
  Diagnostics& diagnostics_;
  std::set<std::pair<Place, std::string>> told_;
};

}  // namespace pipesim::models
