// From YAML values to typed ones: expressions, choices by parameter, words, sets of ranks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/yaml/expression.hpp"
#include "formats/yaml/yaml_document.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/graph/expr.hpp"
#include "models/graph/rank_set.hpp"

namespace pipesim::formats {

/// Ranks of all sets of a scenario together: each actor has one, each thing that it reads too, and
/// a set is four bytes a rank.
inline constexpr std::uint64_t kMaxKeptRanks = 100'000'000;

/// Reads values in a scope. Whatever returns nothing has reported why.
///
/// Anywhere, a value may be a choice: `{case: EXPRESSION, VALUE: ..., VALUE: ..., else: ...}`
/// stands for what the expression picks. Where an expression is expected the choice may depend on
/// the rank; elsewhere only while the scope says for which rank to choose.
class ValueReader {
 public:
  ValueReader(const Scope& scope, models::Diagnostics& diagnostics)
      : scope_(scope), diagnostics_(diagnostics) {}

  /// `value` itself, or what its choice picks. An option may be nothing (`~`).
  std::optional<YamlValue> resolved(const YamlValue& value) const;

  /// An expression of `type`. 0 is a time and a size without a unit.
  std::optional<models::Expr> expr(const YamlValue& value, ValueType type) const;

  /// The same where it may not depend on the rank.
  std::optional<std::int64_t> constant(const YamlValue& value, ValueType type) const;

  std::optional<bool> truth(const YamlValue& value) const;

  /// The ranks of `of` on which `value` is on; all or none where it does not depend on the rank.
  std::optional<models::RankSet> ranks_where(const YamlValue& value,
                                             const models::RankSet& of) const;

  /// `of` in parts on which `expr` has one value each, by that value. Nothing where a rank has
  /// none.
  std::optional<std::map<std::int64_t, models::RankSet>> by_value(const models::Expr& expr,
                                                                  const models::RankSet& of) const;

  /// Whether `value` is a choice; of one, what it is by, if that can be read.
  static bool is_choice(const YamlValue& value);
  std::optional<Value> choice_condition(const YamlValue& choice) const;

  /// A plain word, or the value of a parameter: `$name`.
  std::optional<std::string> word(const YamlValue& value) const;

  /// One of `options`, which are all named in the message otherwise.
  std::optional<std::string> one_of(const YamlValue& value,
                                    const std::vector<std::string>& options) const;

  /// `all`, the name of a set, a rank, `a..b` (both ends belong to it), a condition on `rank`, or a
  /// list of these.
  std::optional<models::RankSet> rank_set(const YamlValue& value) const;

  /// Counts `ranks` that are to be kept beside those before: of an actor, of what it reads, of a
  /// group. False where the scenario comes to more than kMaxKeptRanks, which is told once.
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
