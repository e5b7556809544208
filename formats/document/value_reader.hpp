// Converts YAML values to typed values: expressions, choices by parameter, words, sets of ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/document/expression.hpp"
#include "formats/document/yaml_document.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/expr.hpp"
#include "models/graph/rank_set.hpp"

namespace pipesim::formats {

/// Limit on the total size of all sets of ranks in a scenario, at four bytes per rank. Each actor
/// and each read has a set.
inline constexpr std::uint64_t kMaxKeptRanks = 100'000'000;

/// Reads values in a scope. Functions that return nullopt have reported the reason.
///
/// Every value can be a choice, `{case: EXPRESSION, VALUE: ..., VALUE: ..., else: ...}`, and then
/// reads as the picked option. A choice of expressions can depend on the rank. Other choices can do
/// so only while the scope names the rank to choose for.
class ValueReader {
 public:
  ValueReader(const Scope& scope, models::Diagnostics& diagnostics)
      : scope_(scope), diagnostics_(diagnostics) {}

  /// Returns `value`, or the option that its choice picks. An option can be null (`~`).
  std::optional<YamlValue> resolved(const YamlValue& value) const;

  /// Returns an expression of `type`. A 0 needs no unit as a time or size.
  std::optional<models::Expr> expr(const YamlValue& value, ValueType type) const;

  /// Returns the value of an expression of `type` that cannot depend on the rank.
  std::optional<std::int64_t> constant(const YamlValue& value, ValueType type) const;

  /// Returns an integer in [least, most]. `key` names the value in the error message.
  std::optional<std::int64_t> integer(const YamlValue& value, std::string_view key,
                                      std::int64_t least, std::int64_t most) const;

  std::optional<bool> truth(const YamlValue& value) const;

  /// Returns the ranks of `of` on which `value` is on; all or none if `value` does not depend on
  /// the rank.
  std::optional<models::RankSet> ranks_where(const YamlValue& value,
                                             const models::RankSet& of) const;

  /// Splits `of` by the value of `expr`. Returns nullopt if `expr` has no value on some rank.
  std::optional<std::map<std::int64_t, models::RankSet>> by_value(const models::Expr& expr,
                                                                  const models::RankSet& of) const;

  /// Whether `value` is a choice. choice_condition() returns the condition of a choice, if
  /// readable.
  static bool is_choice(const YamlValue& value);
  std::optional<Value> choice_condition(const YamlValue& choice) const;

  /// Returns a plain word, or the value of a parameter: `$name`.
  std::optional<std::string> word(const YamlValue& value) const;

  /// Returns `value` if it is one of `options`; otherwise reports all options.
  std::optional<std::string> one_of(const YamlValue& value,
                                    const std::vector<std::string>& options) const;

  /// Reads `all`, the name of a set, a rank, `a..b` (inclusive), a condition on `rank`, or a list
  /// of these.
  std::optional<models::RankSet> rank_set(const YamlValue& value) const;

  /// Counts ranks to be stored: of an actor, of its reads, of a group. Returns false if the
  /// scenario exceeds kMaxKeptRanks, and reports this once.
  bool keep(std::uint64_t ranks, models::Place place) const;

  models::Diagnostics& diagnostics() const { return diagnostics_; }
  const Scope& scope() const { return scope_; }

 private:
  struct Choice;

  std::optional<std::int64_t> fixed(const models::Expr& expr, models::Place place) const;
  std::optional<Value> scalar(const YamlValue& value, const Scope& scope) const;
  bool read_choice(const YamlValue& value, const Scope& scope, Choice& choice) const;
  std::optional<Value> option_value(const YamlValue& key, ValueType type) const;
  bool check_options(const Choice& choice, const YamlValue& condition) const;
  std::optional<models::Expr> chosen_expr(const YamlValue& value, ValueType type,
                                          const Scope& scope) const;
  std::optional<models::RankSet> rank_range(const YamlValue& value, std::size_t dots) const;
  std::optional<models::RankSet> rank_condition(const YamlValue& value) const;
  bool is_unknown_name(const YamlValue& value) const;
  std::optional<models::Expr> typed(const YamlValue& value, const Value& found,
                                    ValueType wanted) const;

  const Scope& scope_;
  models::Diagnostics& diagnostics_;
  mutable std::uint64_t kept_ranks_ = 0;
};

}  // namespace pipesim::formats
