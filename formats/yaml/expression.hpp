// Expressions in scenarios: numbers, times, sizes and bandwidths with units, parameters, the rank.
//
//   or, and, not, == != < <= > >=, in, + - * / %, min(a, b), max(a, b), parentheses,
//   if(condition, a, another condition, b, otherwise)
//   10us, 0.3 ms, 4MiB, 300GB/s, 7, on, off, 'a word', acc, rank, ranks
//
// Everything is checked for its type: a time and a number do not add up.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "models/graph/expr.hpp"
#include "models/graph/rank_set.hpp"

namespace pipesim::formats {

enum class ValueType : std::uint8_t { kNumber, kTime, kBytes, kBandwidth, kTruth, kWord };

/// "a number", "a time", ... for messages.
std::string_view type_name(ValueType type);

/// Adds what to do where a time, a size or a bandwidth is wanted and its unit is missing or
/// another.
void suggest_unit(models::Diagnostic& diagnostic, ValueType found, ValueType wanted);

/// A value with its type. Times are nanoseconds, sizes bytes, bandwidths bytes per second, truths 0
/// or 1.
struct Value {
  ValueType type = ValueType::kNumber;
  models::Expr expr;  // all but words
  std::string word;   // words

  static Value number(std::int64_t value) {
    return {ValueType::kNumber, models::Expr::constant(value), {}};
  }
};

/// A value in the words of the file: "43600ns" as "43.6us", bytes and bandwidths with the largest
/// unit that leaves a whole number, truths as on and off. As an expression if it depends on the
/// rank.
std::string to_text(const Value& value);

/// What of the job may go either way, as a parameter that is on or off.
enum class JobChoice : std::uint8_t { kNone, kEachRank, kAllRanks };

/// What a user can set from outside, and may use in expressions.
struct Parameter {
  std::string name;
  models::Place place;
  std::string about;
  std::vector<std::string> options;  // of a word: all that it may be
  std::string default_text;
  std::optional<std::int64_t> at_least;
  JobChoice choice = JobChoice::kNone;
  bool is_set = false;  // `value` is not the default
  Value value;
};

/// Sets of ranks by name.
using RankSets = std::map<std::string, models::RankSet, std::less<>>;

/// The names that an expression may use.
struct Scope {
  const std::vector<Parameter>* parameters = nullptr;
  std::optional<std::int64_t> ranks;        // nothing: `ranks` is not known yet
  bool rank = false;                        // whether `rank` may be used
  std::optional<std::uint32_t> chosen_for;  // the rank whose option choices by rank pick, if any
  const RankSets* sets = nullptr;           // behind `in`; none: not known yet

  const Parameter* find(std::string_view name) const;
};

/// Where an expression stands. `column_of(i)` is that of its i-th byte.
struct TextPlace {
  models::Place start;
  bool quoted = false;

  models::Place at(std::size_t i) const {
    const std::size_t column = start.column + i + (quoted ? 1 : 0);
    return {start.line, start.line == 0 ? 0 : static_cast<std::uint32_t>(column), start.file};
  }
};

/// The value of `text`, or nothing with an error at the byte where it goes wrong.
std::optional<Value> parse_expression(std::string_view text, const TextPlace& place,
                                      const Scope& scope, models::Diagnostics& diagnostics);

}  // namespace pipesim::formats
