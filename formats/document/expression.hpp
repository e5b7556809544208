// Expressions in scenarios: numbers, times, sizes and bandwidths with units, parameters, the rank.
//
//   or, and, not, == != < <= > >=, in, + - * / %, min(a, b), max(a, b), parentheses,
//   if(condition, a, another condition, b, otherwise)
//   10us, 0.3 ms, 4MiB, 300GB/s, 7, on, off, 'a word', acc, rank, ranks
//
// All types are checked: adding a time and a number is an error.
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

/// Returns the name of a type in messages: "a number", "a time", ...
std::string_view type_name(ValueType type);

/// Adds advice if the unit of a time, size or bandwidth is missing or wrong.
void suggest_unit(models::Diagnostic& diagnostic, ValueType found, ValueType wanted);

/// A value with its type. Units: nanoseconds, bytes, bytes per second; a truth is 0 or 1.
struct Value {
  ValueType type = ValueType::kNumber;
  models::Expr expr;  // value of all types except words
  std::string word;   // value of a word

  static Value number(std::int64_t value) {
    return {ValueType::kNumber, models::Expr::constant(value), {}};
  }
};

/// Formats a value as in scenarios: "43600ns" as "43.6us", bytes and bandwidths with the largest
/// unit that gives a whole number, truths as on and off. A value that depends on the rank is
/// written as an expression.
std::string to_text(const Value& value);

/// Kind of a parameter that the job decides: on or off, either per rank or for all ranks.
enum class JobChoice : std::uint8_t { kNone, kEachRank, kAllRanks };

/// A named value that users can set and expressions can use.
struct Parameter {
  std::string name;
  models::Place place;
  std::string about;
  std::vector<std::string> options;  // all words that the parameter can have
  std::string default_text;
  std::optional<std::int64_t> at_least;
  JobChoice choice = JobChoice::kNone;
  bool is_set = false;  // whether `value` is not the default

  /// Whether the parameter is a choice that no setting fixes.
  bool is_free_choice() const { return choice != JobChoice::kNone && !is_set; }
  Value value;
};

/// Sets of ranks by name.
using RankSets = std::map<std::string, models::RankSet, std::less<>>;

/// The names that an expression can use.
struct Scope {
  const std::vector<Parameter>* parameters = nullptr;
  std::optional<std::int64_t> ranks;        // number of ranks; nullopt: not known yet
  bool rank = false;                        // whether `rank` can be used
  std::optional<std::uint32_t> chosen_for;  // rank for which choices by rank are decided, if any
  const RankSets* sets = nullptr;           // sets for `in`; null: not known yet

  const Parameter* find(std::string_view name) const;
};

/// Place of an expression in a file. at(i) is the place of its byte i.
struct TextPlace {
  models::Place start;
  bool quoted = false;

  models::Place at(std::size_t i) const {
    const std::size_t column = start.column + i + (quoted ? 1 : 0);
    return {start.line, start.line == 0 ? 0 : static_cast<std::uint32_t>(column), start.file};
  }
};

/// Returns the value of `text`. After a mistake, returns nullopt and reports an error at the byte
/// with the mistake.
std::optional<Value> parse_expression(std::string_view text, const TextPlace& place,
                                      const Scope& scope, models::Diagnostics& diagnostics);

/// Returns the value of `text`, a constant expression of type `type` without parameters; nullopt if
/// it is anything else.
std::optional<std::int64_t> constant_value(std::string_view text, ValueType type);

}  // namespace pipesim::formats
