#include "formats/document/value_reader.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/document/map_reader.hpp"

namespace pipesim::formats {

using models::Expr;
using models::Place;
using models::RankSet;

namespace {

TextPlace text_place(const YamlValue& value) { return {value.place(), value.quoted()}; }

// Finds the dots of a range. Skips dots in brackets, which belong to a condition: `rank in [0,
// 2..3]`.
std::size_t find_dots(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (depth == 0 && text.substr(i, 2) == "..") return i;
  }
  return std::string_view::npos;
}

}  // namespace

bool ValueReader::is_choice(const YamlValue& value) {
  if (!value.is_map()) return false;
  const std::vector<YamlValue::Entry> entries = value.entries();
  return !entries.empty() && entries.front().key.is_scalar() &&
         entries.front().key.text() == "case";
}

/// The parts of a `case` map.
struct ValueReader::Choice {
  Value condition;
  std::vector<YamlValue::Entry> options;
  std::optional<YamlValue> otherwise;
};

std::optional<Value> ValueReader::scalar(const YamlValue& value, const Scope& scope) const {
  if (!value.is_scalar()) {
    diagnostics_.error(value.place(), models::Code::kWrongType,
                       fmt::format("expected a value, found {}", value.described()));
    return std::nullopt;
  }
  return parse_expression(value.text(), text_place(value), scope, diagnostics_);
}

bool ValueReader::read_choice(const YamlValue& value, const Scope& scope, Choice& choice) const {
  YamlValue condition;
  for (const YamlValue::Entry& entry : named_entries(value, "a choice", diagnostics_)) {
    if (entry.key.text() == "case") {
      condition = entry.value;
      const std::optional<Value> found = scalar(entry.value, scope);
      if (!found) return false;
      choice.condition = *found;
    } else if (entry.key.text() == "else") {
      choice.otherwise = entry.value;
    } else {
      choice.options.push_back(entry);
    }
  }
  return check_options(choice, condition);
}

// Checks that every option is a word of the parameter that decides the choice.
bool ValueReader::check_options(const Choice& choice, const YamlValue& condition) const {
  const Parameter* parameter = scope_.find(condition.text());
  if (parameter == nullptr || parameter->options.empty()) return true;
  bool good = true;
  for (const YamlValue::Entry& option : choice.options) {
    const std::string name(option.key.text());
    const auto& known = parameter->options;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    models::Diagnostic& error = diagnostics_.error(
        option.key.place(), models::Code::kChoice,
        fmt::format("'{}' is not one of the values of '{}'", name, parameter->name));
    models::suggest_name(error, name, known);
    good = false;
  }
  return good;
}

// Returns the key of an option as a value. In a choice by word, the key is the word itself.
std::optional<Value> ValueReader::option_value(const YamlValue& key, ValueType type) const {
  if (type == ValueType::kWord) {
    Value value;
    value.type = ValueType::kWord;
    value.word = key.text();
    return value;
  }
  std::optional<Value> value = scalar(key, scope_);
  if (!value) return std::nullopt;
  if (value->type == type) return value;
  diagnostics_.error(key.place(), models::Code::kChoice,
                     fmt::format("this choice is by {}, but this option is {}", type_name(type),
                                 type_name(value->type)));
  return std::nullopt;
}

std::optional<YamlValue> ValueReader::resolved(const YamlValue& value) const {
  if (!is_choice(value)) return value;
  Choice choice;
  Scope constant = scope_;
  constant.rank = scope_.chosen_for.has_value();
  if (!read_choice(value, constant, choice)) return std::nullopt;
  const bool word = choice.condition.type == ValueType::kWord;
  const Place condition = value.entries().front().value.place();
  if (const auto own = choice.condition.expr.value(scope_.chosen_for.value_or(0));
      scope_.chosen_for && !word && own) {
    choice.condition.expr = Expr::constant(*own);
  }
  if (!word && !fixed(choice.condition.expr, condition)) return std::nullopt;
  for (const YamlValue::Entry& option : choice.options) {
    const std::optional<Value> key = option_value(option.key, choice.condition.type);
    if (!key) return std::nullopt;
    const bool same = word ? key->word == choice.condition.word
                           : key->expr.value(0) == choice.condition.expr.value(0);
    if (same) return resolved(option.value);
  }
  if (choice.otherwise) return resolved(*choice.otherwise);
  diagnostics_.error(
      value.place(), models::Code::kChoice,
      fmt::format("this choice has no option for '{}' and no 'else'", to_text(choice.condition)));
  return std::nullopt;
}

// Returns a value that must be the same on all ranks. Reports a value that depends on the rank, as
// the parameter of a block can.
std::optional<std::int64_t> ValueReader::fixed(const Expr& expr, Place place) const {
  if (expr.depends_on_rank()) {
    diagnostics_.error(place, models::Code::kDependsOnRank,
                       "this depends on the rank, but must be the same on every rank");
    return std::nullopt;
  }
  std::string why;
  const std::optional<std::int64_t> result = expr.value(0, &why);
  if (!result) diagnostics_.error(place, models::Code::kArithmetic, why);
  return result;
}

std::optional<Expr> ValueReader::typed(const YamlValue& value, const Value& found,
                                       ValueType wanted) const {
  Expr result = found.expr;
  result.set_place(value.place());
  if (found.type == wanted) return result;
  const bool zero = found.type == ValueType::kNumber && found.expr.is_constant() &&
                    found.expr.value(0) == 0 &&
                    (wanted == ValueType::kTime || wanted == ValueType::kBytes);
  if (zero) return result;
  models::Diagnostic& error = diagnostics_.error(
      value.place(), models::Code::kWrongType,
      fmt::format("expected {}, found {}",
                  wanted == ValueType::kNumber ? "an integer" : type_name(wanted),
                  value.described()));
  const bool negative =
      found.type == ValueType::kNumber && found.expr.is_constant() && found.expr.value(0) < 0;
  if (negative && wanted != ValueType::kTruth) {
    error.notes.push_back(fmt::format("{} cannot be negative", type_name(wanted)));
  } else {
    suggest_unit(error, found.type, wanted);
  }
  return std::nullopt;
}

std::optional<Expr> ValueReader::expr(const YamlValue& value, ValueType type) const {
  if (is_choice(value)) return chosen_expr(value, type, scope_);
  const std::optional<Value> found = scalar(value, scope_);
  if (!found) return std::nullopt;
  return typed(value, *found, type);
}

std::optional<Expr> ValueReader::chosen_expr(const YamlValue& value, ValueType type,
                                             const Scope& scope) const {
  Choice choice;
  if (!read_choice(value, scope, choice)) return std::nullopt;
  if (choice.condition.type == ValueType::kWord || choice.condition.expr.is_constant()) {
    const std::optional<YamlValue> picked = resolved(value);
    return picked ? expr(*picked, type) : std::nullopt;
  }
  if (!choice.otherwise) {
    diagnostics_.error(value.place(), models::Code::kChoice, "a choice by rank needs an 'else'");
    return std::nullopt;
  }
  std::optional<Expr> result = expr(*choice.otherwise, type);
  for (std::size_t i = choice.options.size(); i > 0 && result; --i) {
    const YamlValue::Entry& option = choice.options[i - 1];
    const std::optional<Value> key = option_value(option.key, choice.condition.type);
    const std::optional<Expr> then = expr(option.value, type);
    if (!key || !then) return std::nullopt;
    result = Expr::select(Expr::binary(Expr::Op::kEqual, choice.condition.expr, key->expr), *then,
                          *result);
    result->set_place(value.place());
  }
  return result;
}

std::optional<std::int64_t> ValueReader::constant(const YamlValue& value, ValueType type) const {
  Scope constant_scope = scope_;
  constant_scope.rank = false;
  const ValueReader reader(constant_scope, diagnostics_);
  const std::optional<YamlValue> picked = reader.resolved(value);
  if (!picked) return std::nullopt;
  const std::optional<Expr> found = reader.expr(*picked, type);
  return found ? fixed(*found, picked->place()) : std::nullopt;
}

std::optional<std::int64_t> ValueReader::integer(const YamlValue& value, std::string_view key,
                                                 std::int64_t least, std::int64_t most) const {
  const std::optional<std::int64_t> found = constant(value, ValueType::kNumber);
  if (!found || (*found >= least && *found <= most)) return found;
  diagnostics_.error(
      value.place(), models::Code::kOutOfRange,
      fmt::format("'{}' must be between {} and {}, found {}", key, least, most, *found));
  return std::nullopt;
}

std::optional<bool> ValueReader::truth(const YamlValue& value) const {
  const std::optional<std::int64_t> result = constant(value, ValueType::kTruth);
  if (!result) return std::nullopt;
  return *result != 0;
}

std::optional<RankSet> ValueReader::ranks_where(const YamlValue& value, const RankSet& of) const {
  const std::optional<Expr> condition = expr(value, ValueType::kTruth);
  if (!condition) return std::nullopt;
  if (!condition->depends_on_rank()) {
    const std::optional<std::int64_t> holds = fixed(*condition, value.place());
    if (!holds) return std::nullopt;
    return *holds != 0 ? of : RankSet();
  }
  auto parts = by_value(*condition, of);
  return parts ? std::optional((*parts)[1]) : std::nullopt;
}

std::optional<std::map<std::int64_t, RankSet>> ValueReader::by_value(const Expr& expr,
                                                                     const RankSet& of) const {
  std::map<std::int64_t, std::vector<std::uint32_t>> ranks;
  for (const std::uint32_t rank : of) {
    std::string why;
    const std::optional<std::int64_t> found = expr.value(rank, &why);
    if (!found) {
      diagnostics_.error(expr.place(), models::Code::kArithmetic,
                         fmt::format("on rank {}: {}", rank, why));
      return std::nullopt;
    }
    ranks[*found].push_back(rank);
  }
  std::map<std::int64_t, RankSet> parts;
  for (auto& [number, own] : ranks) parts.emplace(number, RankSet(std::move(own)));
  return parts;
}

std::optional<Value> ValueReader::choice_condition(const YamlValue& choice) const {
  return scalar(choice.entries().front().value, scope_);
}

std::optional<std::string> ValueReader::word(const YamlValue& value) const {
  const std::optional<YamlValue> picked = resolved(value);
  if (!picked) return std::nullopt;
  if (!picked->is_scalar()) {
    diagnostics_.error(picked->place(), models::Code::kWrongType,
                       fmt::format("expected a name, found {}", picked->described()));
    return std::nullopt;
  }
  const std::string_view text = picked->text();
  if (!check_name(text, *picked, diagnostics_)) return std::nullopt;
  if (text.empty() || text.front() != '$' || picked->quoted()) return std::string(text);
  const std::optional<Value> found =
      parse_expression(text.substr(1), text_place(*picked), scope_, diagnostics_);
  if (!found) return std::nullopt;
  if (found->type == ValueType::kWord) {
    return check_name(found->word, *picked, diagnostics_) ? std::optional(found->word)
                                                          : std::nullopt;
  }
  diagnostics_.error(picked->place(), models::Code::kWrongType,
                     fmt::format("expected a word, found {}", type_name(found->type)));
  return std::nullopt;
}

std::optional<std::string> ValueReader::one_of(const YamlValue& value,
                                               const std::vector<std::string>& options) const {
  std::optional<std::string> found = word(value);
  if (!found) return found;
  if (std::find(options.begin(), options.end(), *found) != options.end()) return found;
  models::Diagnostic& error = diagnostics_.error(
      value.place(), models::Code::kUnknownWord,
      fmt::format("expected one of {}, found '{}'", fmt::join(options, ", "), *found));
  const std::string nearest = models::nearest_name(*found, options);
  if (!nearest.empty()) error.notes.push_back(fmt::format("did you mean '{}'?", nearest));
  return std::nullopt;
}

bool ValueReader::keep(std::uint64_t ranks, models::Place place) const {
  if (kept_ranks_ > kMaxKeptRanks) return false;
  kept_ranks_ += ranks;
  if (kept_ranks_ <= kMaxKeptRanks) return true;
  diagnostics_
      .error(
          place, models::Code::kLimit,
          fmt::format("more than {} ranks up to here, counting those of every actor, read and set",
                      kMaxKeptRanks))
      .notes.emplace_back("simulate fewer ranks, or fewer actors");
  return false;
}

std::optional<RankSet> ValueReader::rank_set(const YamlValue& value) const {
  const std::optional<YamlValue> picked = resolved(value);
  if (!picked) return std::nullopt;
  if (picked->is_null()) return RankSet();
  if (picked->is_list()) {
    std::vector<std::uint32_t> all;
    all.reserve(picked->size());
    bool good = true;
    picked->for_each_item([&](const YamlValue& item) {
      const std::optional<RankSet> part = good ? rank_set(item) : std::nullopt;
      good = part.has_value();
      if (good) all.insert(all.end(), part->begin(), part->end());
    });
    if (!good) return std::nullopt;
    return RankSet(std::move(all));
  }
  if (!picked->is_scalar()) {
    diagnostics_.error(picked->place(), models::Code::kRankSet,
                       fmt::format("expected ranks, found {}", picked->described()));
    return std::nullopt;
  }
  if (picked->text() == "all") {
    const auto ranks = static_cast<std::uint32_t>(scope_.ranks.value_or(0));
    return keep(ranks, picked->place()) ? std::optional(RankSet::range(0, ranks)) : std::nullopt;
  }
  if (scope_.sets != nullptr) {
    const auto named = scope_.sets->find(picked->text());
    if (named != scope_.sets->end()) {
      return keep(named->second.size(), picked->place()) ? std::optional(named->second)
                                                         : std::nullopt;
    }
  }
  const std::size_t dots = find_dots(picked->text());
  return dots == std::string_view::npos ? rank_condition(*picked) : rank_range(*picked, dots);
}

std::optional<RankSet> ValueReader::rank_range(const YamlValue& value, std::size_t dots) const {
  const auto end_of = [&](std::size_t begin, std::size_t size) -> std::optional<std::int64_t> {
    TextPlace place = text_place(value);
    place.start.column += static_cast<std::uint32_t>(begin);
    const std::optional<Value> end =
        parse_expression(value.text().substr(begin, size), place, scope_, diagnostics_);
    if (!end) return std::nullopt;
    if (end->type == ValueType::kNumber && end->expr.is_constant()) return end->expr.value(0);
    diagnostics_.error(place.at(0), models::Code::kRankSet,
                       "the ends of a range of ranks must be constants");
    return std::nullopt;
  };
  const std::optional<std::int64_t> first = end_of(0, dots);
  const std::optional<std::int64_t> last = end_of(dots + 2, std::string_view::npos);
  if (!first || !last) return std::nullopt;
  const std::int64_t ranks = scope_.ranks.value_or(0);
  if (*first < 0 || *last >= ranks || *first > *last) {
    diagnostics_.error(
        value.place(), models::Code::kUnknownRank,
        fmt::format("'{}' is not within the ranks 0 to {}", value.text(), ranks - 1));
    return std::nullopt;
  }
  if (!keep(static_cast<std::uint64_t>(*last - *first) + 1, value.place())) return std::nullopt;
  return RankSet::range(static_cast<std::uint32_t>(*first), static_cast<std::uint32_t>(*last) + 1);
}

// Whether the text can only be the name of a set, but no set has this name. If so, reports the
// name.
bool ValueReader::is_unknown_name(const YamlValue& value) const {
  const std::string_view text = value.text();
  static constexpr std::string_view kSimple =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  const bool name = !text.empty() && text.find_first_not_of(kSimple) == std::string_view::npos &&
                    (text.front() < '0' || text.front() > '9') && text.front() != '-';
  if (!name || text == "rank" || text == "ranks" || text == "on" || text == "off" ||
      scope_.find(text) != nullptr) {
    return false;
  }
  std::vector<std::string> known = {"all"};
  if (scope_.sets != nullptr) {
    for (const auto& [set, ranks] : *scope_.sets) known.push_back(set);
  }
  models::Diagnostic& error = diagnostics_.error(value.place(), models::Code::kRankSet,
                                                 fmt::format("unknown set of ranks '{}'", text));
  models::suggest_name(error, text, known);
  return true;
}

// Reads ranks: a number is that rank, and a condition is evaluated for every rank.
std::optional<RankSet> ValueReader::rank_condition(const YamlValue& value) const {
  Scope with_rank = scope_;
  with_rank.rank = true;
  if (is_unknown_name(value)) return std::nullopt;
  const std::optional<Value> found = scalar(value, with_rank);
  if (!found) return std::nullopt;
  const auto ranks = static_cast<std::uint32_t>(scope_.ranks.value_or(0));
  if (found->type == ValueType::kNumber && found->expr.is_constant()) {
    const std::int64_t rank = found->expr.value(0).value_or(-1);
    if (rank >= 0 && rank < ranks) return RankSet({static_cast<std::uint32_t>(rank)});
    diagnostics_.error(
        value.place(), models::Code::kUnknownRank,
        fmt::format("there is no rank {}: ranks are 0 to {}", rank, std::int64_t{ranks} - 1));
    return std::nullopt;
  }
  if (found->type != ValueType::kTruth) {
    diagnostics_.error(value.place(), models::Code::kRankSet,
                       fmt::format("expected ranks or a condition on 'rank', found "
                                   "{}",
                                   type_name(found->type)));
    return std::nullopt;
  }
  if (!keep(ranks, value.place())) return std::nullopt;  // the condition is evaluated for each rank
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    std::string why;
    const std::optional<std::int64_t> holds = found->expr.value(rank, &why);
    if (!holds) {
      diagnostics_.error(value.place(), models::Code::kArithmetic,
                         fmt::format("on rank {}: {}", rank, why));
      return std::nullopt;
    }
    if (*holds != 0) chosen.push_back(rank);
  }
  return RankSet(std::move(chosen));
}

}  // namespace pipesim::formats
