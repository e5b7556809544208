#include "models/lowering/rank_diagnostics.hpp"

#include <optional>

namespace pipesim::models {

Diagnostic* RankDiagnostics::error_once(Place place, Code code, std::string message) {
  // The key omits digits, so that one mistake on ranks 3 and 4 counts as one.
  std::string key;
  for (const char c : message) {
    if (c < '0' || c > '9') key += c;
  }
  if (!told_.emplace(place, key).second) return nullptr;
  return &diagnostics_.error(place, code, std::move(message));
}

std::int64_t RankDiagnostics::number(const Expr& expr, std::uint32_t rank, std::int64_t least,
                                     std::int64_t most, Place place, const char* what,
                                     const char* unit) {
  if (expr.place().line != 0) place = expr.place();
  std::string why;
  const std::optional<std::int64_t> value = expr.value(rank, &why);
  if (!value) {
    error_once(place, Code::kArithmetic, std::string(what) + " on " + rank_text(rank) + ": " + why);
    return least;
  }
  if (*value < least || *value > most) {
    const std::string limit =
        *value < least ? "at least " + std::to_string(least) : "at most " + std::to_string(most);
    error_once(place, Code::kOutOfRange,
               std::string(what) + " is " + std::to_string(*value) + unit + " on " +
                   rank_text(rank) + ", but must be " + limit + unit);
    return least;
  }
  return *value;
}

}  // namespace pipesim::models
