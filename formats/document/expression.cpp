// A recursive-descent parser of expressions, with one function per level of precedence.
#include "formats/document/expression.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "formats/document/expression_writer.hpp"
#include "models/characters.hpp"

namespace pipesim::formats {
namespace {

using models::Diagnostics;
using models::Expr;
using models::is_digit;

// Limit on the length of an expression, in bytes: far beyond real expressions, and low enough for
// fast parsing.
constexpr std::size_t kMaxExpression = 10'000;

constexpr std::int64_t kMaxValue = std::numeric_limits<std::int64_t>::max();

struct Unit {
  std::string_view name;
  ValueType type;
  std::int64_t factor;
};

// All units. Times are first, in ascending order, as time_text() requires.
constexpr std::array kUnits = {
    Unit{"ns", ValueType::kTime, 1},
    Unit{"us", ValueType::kTime, 1'000},
    Unit{"ms", ValueType::kTime, 1'000'000},
    Unit{"s", ValueType::kTime, 1'000'000'000},
    Unit{"min", ValueType::kTime, 60'000'000'000},
    Unit{"B", ValueType::kBytes, 1},
    Unit{"kB", ValueType::kBytes, 1'000},
    Unit{"MB", ValueType::kBytes, 1'000'000},
    Unit{"GB", ValueType::kBytes, 1'000'000'000},
    Unit{"KiB", ValueType::kBytes, 1 << 10},
    Unit{"MiB", ValueType::kBytes, 1 << 20},
    Unit{"GiB", ValueType::kBytes, 1 << 30},
    Unit{"B/s", ValueType::kBandwidth, 1},
    Unit{"kB/s", ValueType::kBandwidth, 1'000},
    Unit{"MB/s", ValueType::kBandwidth, 1'000'000},
    Unit{"GB/s", ValueType::kBandwidth, 1'000'000'000},
    Unit{"KiB/s", ValueType::kBandwidth, 1 << 10},
    Unit{"MiB/s", ValueType::kBandwidth, 1 << 20},
    Unit{"GiB/s", ValueType::kBandwidth, 1 << 30},
    // Network bandwidths are usually given in bits.
    Unit{"Mb/s", ValueType::kBandwidth, 1'000'000 / 8},
    Unit{"Gb/s", ValueType::kBandwidth, 1'000'000'000 / 8},
};

const Unit* find_unit(std::string_view name) {
  const auto found = std::find_if(kUnits.begin(), kUnits.end(),
                                  [&](const Unit& known) { return known.name == name; });
  return found == kUnits.end() ? nullptr : &*found;
}

const char* whole(ValueType type) {
  switch (type) {
    case ValueType::kTime:
      return "nanoseconds";
    case ValueType::kBandwidth:
      return "bytes per second";
    default:
      return "bytes";
  }
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// Suggests a unit if one operand is a plain number and could lack the unit of the other operand.
void suggest_unit_of_one(models::Diagnostic& diagnostic, const Value& left, const Value& right) {
  suggest_unit(diagnostic, left.type, right.type);
  suggest_unit(diagnostic, right.type, left.type);
}

// The numbers first, first + step, ..., last.
struct Members {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t step = 1;
};

// Returns an expression for whether `number` is one of `members`.
Expr is_member(const Expr& number, const Members& members) {
  using Op = Expr::Op;
  const Expr first = Expr::constant(members.first);
  if (members.first == members.last) return Expr::binary(Op::kEqual, number, first);
  Expr result = Expr::binary(Op::kAnd, Expr::binary(Op::kGreaterEqual, number, first),
                             Expr::binary(Op::kLessEqual, number, Expr::constant(members.last)));
  if (members.step == 1) return result;
  const Expr off = Expr::binary(Op::kModulo, number, Expr::constant(members.step));
  return Expr::binary(Op::kAnd, result,
                      Expr::binary(Op::kEqual, off, Expr::constant(members.first % members.step)));
}

// Reads an integer with or without a unit, the form of nearly all values. Returns nullopt for any
// text that the parser would reject or read differently.
std::optional<Value> plain_number(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return std::nullopt;
  const char* const end = text.data() + text.size();
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  if (rest == end) return Value::number(number);
  const Unit* const unit = find_unit(std::string_view(rest, end));
  if (unit == nullptr || __builtin_mul_overflow(number, unit->factor, &number)) return std::nullopt;
  return Value{unit->type, Expr::constant(number), {}};
}

class Parser {
 public:
  Parser(std::string_view text, const TextPlace& place, const Scope& scope,
         Diagnostics& diagnostics)
      : text_(text), place_(place), scope_(scope), diagnostics_(diagnostics) {}

  std::optional<Value> run() {
    if (text_.size() > kMaxExpression) {
      fail(0, models::Code::kLimit,
           fmt::format("an expression can have at most {} characters", kMaxExpression));
      return std::nullopt;
    }
    std::optional<Value> result = parse_or();
    skip_space();
    if (result && at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      models::Diagnostic& error =
          diagnostics_.error(place_.at(at_), models::Code::kExpressionSyntax,
                             fmt::format("did not expect '{}' here", rest.substr(0, 20)));
      // Operators of other languages get advice.
      if (rest.starts_with("&&")) error.notes.emplace_back("write 'and'");
      if (rest.starts_with("||")) error.notes.emplace_back("write 'or'");
      return std::nullopt;
    }
    return result;
  }

 private:
  using Result = std::optional<Value>;
  using Op = Expr::Op;

  Result parse_or();
  Result parse_and();
  Result parse_not();
  Result parse_comparison();
  Result parse_sum();
  Result parse_product();
  Result parse_sign();
  Result parse_primary();
  Result parse_number();
  Result parse_name();
  Result parse_call(std::string_view name, std::size_t start);
  Result parse_choice(std::size_t start);
  std::optional<bool> take_in();
  Result parse_membership(const Value& left, bool inside, std::size_t at);
  bool parse_members(std::vector<Members>& members);
  bool parse_some_members(std::vector<Members>& members);
  const models::RankSet* take_set();
  std::optional<std::int64_t> parse_member();
  Result unknown_name(std::string_view name, std::size_t start);
  Result with_unit(std::size_t start, std::int64_t digits, std::int64_t scale);

  Result compared(Op op, const Value& left, const Value& right, std::size_t at);
  Result combined(Op op, const Value& left, const Value& right, std::size_t at);
  Result truth(Op op, const Value& left, const Value& right, std::size_t at);

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  // Skips spaces and returns the position of the next token.
  std::size_t next() {
    skip_space();
    return at_;
  }
  bool take(std::string_view symbol) {
    skip_space();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }
  bool take_word(std::string_view word) {
    skip_space();
    const std::size_t end = at_ + word.size();
    if (text_.substr(at_, word.size()) != word) return false;
    if (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) return false;
    at_ = end;
    return true;
  }
  Result fail(std::size_t at, models::Code code, std::string message) {
    diagnostics_.error(place_.at(at), code, std::move(message));
    return std::nullopt;
  }

  void refuse_unit(std::size_t at, const std::string& name) {
    models::Diagnostic& error = diagnostics_.error(place_.at(at), models::Code::kUnit,
                                                   fmt::format("unknown unit '{}'", name));
    if (name == "sec" || name.starts_with("second")) error.notes.emplace_back("did you mean 's'?");
    error.notes.emplace_back(
        "units are ns, us, ms, s, min for times; B, kB, MB, GB, KiB, MiB, GiB for sizes; and "
        "sizes per second (GB/s), Mb/s, Gb/s for bandwidths");
  }

  std::string_view text_;
  TextPlace place_;
  const Scope& scope_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::optional<Value> Parser::parse_or() {
  constexpr int kMaxNesting = 100;
  if (++depth_ > kMaxNesting) {
    return fail(at_, models::Code::kLimit,
                fmt::format("parentheses are nested more than {} deep", kMaxNesting));
  }
  Result left = parse_and();
  while (left) {
    const std::size_t at = next();
    if (!take_word("or")) break;
    const Result right = parse_and();
    left = right ? truth(Op::kOr, *left, *right, at) : std::nullopt;
  }
  --depth_;
  return left;
}

std::optional<Value> Parser::parse_and() {
  Result left = parse_not();
  while (left) {
    const std::size_t at = next();
    if (!take_word("and")) break;
    const Result right = parse_not();
    left = right ? truth(Op::kAnd, *left, *right, at) : std::nullopt;
  }
  return left;
}

std::optional<Value> Parser::parse_not() {
  bool negated = false;
  const std::size_t at = next();
  while (take_word("not")) negated = !negated;
  Result operand = parse_comparison();
  if (!operand || !negated) return operand;
  if (operand->type != ValueType::kTruth) {
    return fail(at, models::Code::kExpressionType,
                fmt::format("expected on or off after 'not', found {}", type_name(operand->type)));
  }
  return Value{ValueType::kTruth, Expr::unary(Op::kNot, operand->expr), {}};
}

std::optional<Value> Parser::parse_comparison() {
  Result left = parse_sum();
  if (!left) return left;
  static constexpr std::array<std::pair<std::string_view, Op>, 6> kOperators = {{
      {"==", Op::kEqual},
      {"!=", Op::kNotEqual},
      {"<=", Op::kLessEqual},
      {">=", Op::kGreaterEqual},
      {"<", Op::kLess},
      {">", Op::kGreater},
  }};
  const std::size_t at = next();
  for (const auto& [symbol, op] : kOperators) {
    if (!take(symbol)) continue;
    const Result right = parse_sum();
    return right ? compared(op, *left, *right, at) : std::nullopt;
  }
  const std::optional<bool> inside = take_in();
  return inside ? parse_membership(*left, *inside, at) : left;
}

// Skips "in" or "not in". Returns true after "in", false after "not in", and nullopt if the text
// has neither.
std::optional<bool> Parser::take_in() {
  const std::size_t start = at_;
  const bool negated = take_word("not");
  if (take_word("in")) return !negated;
  at_ = start;
  return std::nullopt;
}

// Parses the part of "rank in slow" or "rank in [0, 4..7, slow]" after "in". Negates the result
// unless `inside`.
std::optional<Value> Parser::parse_membership(const Value& left, bool inside, std::size_t at) {
  if (left.type != ValueType::kNumber) {
    return fail(at, models::Code::kExpressionType,
                fmt::format("expected a number before 'in', found {}", type_name(left.type)));
  }
  std::vector<Members> members;
  const std::size_t start = next();
  if (!parse_members(members)) return std::nullopt;
  // Each range of numbers becomes part of the expression, to be evaluated for each rank.
  constexpr std::size_t kMaxPieces = 100;
  if (members.size() > kMaxPieces) {
    diagnostics_
        .error(place_.at(start), models::Code::kLimit,
               fmt::format("these ranks are {} pieces, and an expression can have at most {}",
                           members.size(), kMaxPieces))
        .notes.emplace_back("use 'on' instead, which takes sets of any size");
    return std::nullopt;
  }
  Expr result = Expr::constant(0);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Expr one = is_member(left.expr, members[i]);
    result = i == 0 ? one : Expr::binary(Op::kOr, result, one);
  }
  if (!inside) result = Expr::unary(Op::kNot, result);
  return Value{ValueType::kTruth, result, {}};
}

bool Parser::parse_members(std::vector<Members>& members) {
  if (!take("[")) return parse_some_members(members);
  if (take("]")) return true;
  do {
    if (!parse_some_members(members)) return false;
  } while (take(","));
  if (take("]")) return true;
  fail(at_, models::Code::kExpressionSyntax, "expected ']' here");
  return false;
}

bool Parser::parse_some_members(std::vector<Members>& members) {
  const std::size_t start = next();
  if (const models::RankSet* set = take_set()) {
    for (const models::RankRun& run : models::runs_of(*set)) {
      members.push_back({run.first, run.last, run.step});
    }
    return true;
  }
  const std::optional<std::int64_t> first = parse_member();
  if (!first) return false;
  const std::optional<std::int64_t> last = take("..") ? parse_member() : first;
  if (last && *first > *last) {
    fail(start, models::Code::kUnknownRank, fmt::format("{}..{} has no numbers", *first, *last));
    return false;
  }
  if (last) members.push_back({*first, *last, 1});
  return last.has_value();
}

const models::RankSet* Parser::take_set() {
  const std::size_t start = next();
  if (scope_.sets == nullptr || at_ >= text_.size()) return nullptr;
  const bool quoted = text_[at_] == '\'';
  std::size_t end = quoted ? text_.find('\'', at_ + 1) : at_;
  if (end == std::string_view::npos) return nullptr;
  const auto is_name = [&](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.'; };
  while (!quoted && end < text_.size() && is_name(text_[end])) ++end;
  const std::size_t begin = quoted ? start + 1 : start;
  const auto found = scope_.sets->find(text_.substr(begin, end - begin));
  if (found == scope_.sets->end()) return nullptr;
  at_ = quoted ? end + 1 : end;
  return &found->second;
}

// Parses a number that is the same on all ranks.
std::optional<std::int64_t> Parser::parse_member() {
  const std::size_t start = next();
  std::size_t end = start;
  while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
  const std::string_view name = text_.substr(start, end - start);
  const bool is_name = !name.empty() && is_letter(name.front()) && name != "ranks" &&
                       name != "rank" && name != "min" && name != "max" && name != "if";
  if (is_name && scope_.find(name) == nullptr) {
    models::Diagnostic& error = diagnostics_.error(place_.at(start), models::Code::kRankSet,
                                                   fmt::format("unknown set of ranks '{}'", name));
    if (scope_.sets == nullptr) {
      error.notes.emplace_back("sets and groups are read after this; use numbers here");
    } else {
      std::vector<std::string> known;
      for (const auto& [set, ranks] : *scope_.sets) known.push_back(set);
      models::suggest_name(error, name, known);
    }
    return std::nullopt;
  }
  const Result value = parse_sum();
  if (!value) return std::nullopt;
  if (value->type == ValueType::kNumber && value->expr.is_constant()) return value->expr.value(0);
  fail(start, models::Code::kRankSet,
       value->type == ValueType::kNumber
           ? "the value after 'in' must be the same on every rank"
           : fmt::format("expected ranks after 'in', found {}", type_name(value->type)));
  return std::nullopt;
}

std::optional<Value> Parser::parse_sum() {
  Result left = parse_product();
  while (left) {
    const std::size_t at = next();
    const bool plus = take("+");
    if (!plus && !take("-")) break;
    const Result right = parse_product();
    left = right ? combined(plus ? Op::kAdd : Op::kSubtract, *left, *right, at) : std::nullopt;
  }
  return left;
}

std::optional<Value> Parser::parse_product() {
  Result left = parse_sign();
  while (left) {
    const std::size_t at = next();
    Op op = Op::kMultiply;
    if (take("/")) {
      op = Op::kDivide;
    } else if (take("%")) {
      op = Op::kModulo;
    } else if (!take("*")) {
      break;
    }
    const Result right = parse_sign();
    left = right ? combined(op, *left, *right, at) : std::nullopt;
  }
  return left;
}

std::optional<Value> Parser::parse_sign() {
  const std::size_t at = next();
  bool negative = false;
  while (take("-")) negative = !negative;
  Result operand = parse_primary();
  if (!operand || !negative) return operand;
  if (operand->type == ValueType::kTruth || operand->type == ValueType::kWord) {
    return fail(at, models::Code::kExpressionType,
                fmt::format("expected a number after '-', found {}", type_name(operand->type)));
  }
  operand->expr = Expr::unary(Op::kNegate, operand->expr);
  return operand;
}

std::optional<Value> Parser::parse_primary() {
  skip_space();
  if (at_ >= text_.size())
    return fail(at_, models::Code::kExpressionSyntax, "expected a value here");
  const char c = text_[at_];
  if (is_digit(c)) return parse_number();
  if (is_letter(c)) return parse_name();
  if (take("(")) {
    Result inner = parse_or();
    if (inner && !take(")")) return fail(at_, models::Code::kExpressionSyntax, "expected ')' here");
    return inner;
  }
  if (c == '\'') {
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos)
      return fail(at_, models::Code::kExpressionSyntax, "unterminated quote");
    Value word;
    word.type = ValueType::kWord;
    word.word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return word;
  }
  return fail(at_, models::Code::kExpressionSyntax,
              fmt::format("expected a number, a name or '(' here, found '{}'", c));
}

std::optional<Value> Parser::parse_number() {
  const std::size_t start = at_;
  std::int64_t digits = 0;
  std::int64_t scale = 1;
  bool fraction = false;
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '.' && !fraction && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) {
      fraction = true;
      continue;
    }
    if (c == '_' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) continue;
    if (!is_digit(c)) break;
    const bool overflow = __builtin_mul_overflow(digits, 10, &digits) ||
                          __builtin_add_overflow(digits, c - '0', &digits) ||
                          (fraction && __builtin_mul_overflow(scale, 10, &scale));
    if (overflow) {
      while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
      return fail(start, models::Code::kArithmetic,
                  fmt::format("number out of range: '{}' is more than {}",
                              text_.substr(start, at_ - start), kMaxValue));
    }
  }
  return with_unit(start, digits, scale);
}

// Returns `digits` / `scale` with the unit that follows, if any. Rejects fractions of a nanosecond,
// of a byte or of a byte per second: rounding would silently change the user's value.
std::optional<Value> Parser::with_unit(std::size_t start, std::int64_t digits, std::int64_t scale) {
  const std::size_t number_end = at_;
  std::size_t unit_start = at_;
  while (unit_start < text_.size() && text_[unit_start] == ' ') ++unit_start;
  std::size_t unit_end = unit_start;
  while (unit_end < text_.size() && is_letter(text_[unit_end])) ++unit_end;
  // "GB/s" is one unit, unless more letters follow: "8GiB/slices" is a quotient.
  const bool per_second = text_.substr(unit_end, 2) == "/s" &&
                          (unit_end + 2 >= text_.size() ||
                           (!is_letter(text_[unit_end + 2]) && !is_digit(text_[unit_end + 2])));
  if (per_second && find_unit(text_.substr(unit_start, unit_end + 2 - unit_start)) != nullptr) {
    unit_end += 2;
  }
  const std::string_view name = text_.substr(unit_start, unit_end - unit_start);
  Unit unit{"", ValueType::kNumber, 1};
  const bool is_word = name == "and" || name == "or" || name == "in" || name == "not";
  if (!name.empty() && !is_word) {
    const Unit* found = find_unit(name);
    if (found == nullptr) {
      refuse_unit(unit_start, std::string(name));
      return std::nullopt;
    }
    unit = *found;
    at_ = unit_end;
  }
  std::int64_t value = 0;
  const std::string number(text_.substr(start, number_end - start));
  if (__builtin_mul_overflow(digits, unit.factor, &value)) {
    return fail(start, models::Code::kArithmetic,
                fmt::format("number out of range: '{}{}' is more than {} {}", number, unit.name,
                            kMaxValue, whole(unit.type)));
  }
  if (value % scale != 0) {
    if (unit.name.empty())
      return fail(start, models::Code::kUnit, fmt::format("'{}' is not an integer", number));
    return fail(
        start, models::Code::kUnit,
        fmt::format("'{}{}' is not an integer number of {}", number, unit.name, whole(unit.type)));
  }
  return Value{unit.type, Expr::constant(value / scale), {}};
}

std::optional<Value> Parser::parse_name() {
  const std::size_t start = at_;
  while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  const std::string_view name = text_.substr(start, at_ - start);
  if (name == "on" || name == "true") return Value{ValueType::kTruth, Expr::constant(1), {}};
  if (name == "off" || name == "false") return Value{ValueType::kTruth, Expr::constant(0), {}};
  if (name == "min" || name == "max") return parse_call(name, start);
  if (name == "if") return parse_choice(start);
  if (name == "rank") {
    if (!scope_.rank) {
      return fail(start, models::Code::kDependsOnRank,
                  "'rank' cannot be used here: the value must be the same on every rank");
    }
    return Value{ValueType::kNumber, Expr::rank(), {}};
  }
  if (name == "ranks" && scope_.ranks) return Value::number(*scope_.ranks);
  if (const Parameter* parameter = scope_.find(name)) return parameter->value;
  return unknown_name(name, start);
}

std::optional<Value> Parser::unknown_name(std::string_view name, std::size_t start) {
  std::vector<std::string> known;
  if (scope_.rank) known.emplace_back("rank");
  if (scope_.ranks) known.emplace_back("ranks");
  if (scope_.parameters != nullptr) {
    for (const Parameter& parameter : *scope_.parameters) known.push_back(parameter.name);
  }
  models::Diagnostic& error = diagnostics_.error(place_.at(start), models::Code::kUnknownParameter,
                                                 fmt::format("unknown parameter '{}'", name));
  models::suggest_name(error, name, known);
  return std::nullopt;
}

std::optional<Value> Parser::parse_call(std::string_view name, std::size_t start) {
  if (!take("("))
    return fail(at_, models::Code::kExpressionSyntax, fmt::format("expected '(' after '{}'", name));
  Result result = parse_or();
  while (result && take(",")) {
    const Result next = parse_or();
    const Op op = name == "min" ? Op::kMinimum : Op::kMaximum;
    if (!next) return std::nullopt;
    if (next->type != result->type || next->type == ValueType::kWord) {
      return fail(start, models::Code::kExpressionType,
                  fmt::format("'{}' needs values of one type, found {} and {}", name,
                              type_name(result->type), type_name(next->type)));
    }
    result->expr = Expr::binary(op, result->expr, next->expr);
  }
  if (result && !take(")")) return fail(at_, models::Code::kExpressionSyntax, "expected ')' here");
  return result;
}

// Parses the rest of if(condition, value, condition, value, ..., otherwise).
std::optional<Value> Parser::parse_choice(std::size_t start) {
  if (!take("(")) return fail(at_, models::Code::kExpressionSyntax, "expected '(' after 'if'");
  std::vector<Value> parts;
  do {
    const Result part = parse_or();
    if (!part) return std::nullopt;
    parts.push_back(*part);
  } while (take(","));
  if (!take(")")) return fail(at_, models::Code::kExpressionSyntax, "expected ')' here");
  if (parts.size() < 3 || parts.size() % 2 == 0) {
    return fail(start, models::Code::kExpressionSyntax,
                "'if' needs a condition, a value and another value: if(rank == 0, 1us, 2us)");
  }
  Value result = parts.back();
  for (std::size_t i = parts.size() - 1; i >= 2; i -= 2) {
    const Value& condition = parts[i - 2];
    const Value& then = parts[i - 1];
    if (condition.type != ValueType::kTruth) {
      return fail(start, models::Code::kExpressionType,
                  fmt::format("the condition of 'if' must be on or off, found {}",
                              type_name(condition.type)));
    }
    if (then.type != result.type) {
      return fail(start, models::Code::kExpressionType,
                  fmt::format("both branches of 'if' must have the same type, found {} and {}",
                              type_name(then.type), type_name(result.type)));
    }
    if (then.type == ValueType::kWord) {
      diagnostics_
          .error(place_.at(start), models::Code::kExpressionType,
                 "the branches of 'if' cannot be words")
          .notes.emplace_back("choose words with {case: PARAMETER, one: this, else: that}");
      return std::nullopt;
    }
    result.expr = Expr::select(condition.expr, then.expr, result.expr);
  }
  return result;
}

std::optional<Value> Parser::truth(Op op, const Value& left, const Value& right, std::size_t at) {
  if (left.type != ValueType::kTruth || right.type != ValueType::kTruth) {
    const Value& wrong = left.type != ValueType::kTruth ? left : right;
    return fail(at, models::Code::kExpressionType,
                fmt::format("'{}' needs on or off on both sides, found {}",
                            op == Op::kAnd ? "and" : "or", type_name(wrong.type)));
  }
  return Value{ValueType::kTruth, Expr::binary(op, left.expr, right.expr), {}};
}

std::optional<Value> Parser::compared(Op op, const Value& left, const Value& right,
                                      std::size_t at) {
  if (left.type != right.type) {
    suggest_unit_of_one(
        diagnostics_.error(
            place_.at(at), models::Code::kExpressionType,
            fmt::format("cannot compare {} with {}", type_name(left.type), type_name(right.type))),
        left, right);
    return std::nullopt;
  }
  if (left.type == ValueType::kWord) {
    if (op != Op::kEqual && op != Op::kNotEqual) {
      return fail(at, models::Code::kExpressionType, "words can only be compared with == and !=");
    }
    const bool equal = left.word == right.word;
    return Value{ValueType::kTruth, Expr::constant(equal == (op == Op::kEqual) ? 1 : 0), {}};
  }
  return Value{ValueType::kTruth, Expr::binary(op, left.expr, right.expr), {}};
}

// Combines two values. Sums and remainders need two values of one type; a product needs at least
// one number; a quotient of two values of one type is a number.
std::optional<Value> Parser::combined(Op op, const Value& left, const Value& right,
                                      std::size_t at) {
  const auto counts = [](const Value& value) {
    return value.type != ValueType::kTruth && value.type != ValueType::kWord;
  };
  const bool left_number = left.type == ValueType::kNumber;
  const bool right_number = right.type == ValueType::kNumber;
  ValueType type = left.type;
  bool fits = counts(left) && counts(right);
  if (op == Op::kMultiply) {
    fits = fits && (left_number || right_number);
    type = left_number ? right.type : left.type;
  } else if (op == Op::kDivide) {
    fits = fits && (right_number || left.type == right.type);
    type = right_number ? left.type : ValueType::kNumber;
  } else {
    fits = fits && left.type == right.type;
  }
  if (!fits) {
    static constexpr std::string_view kSymbols = "+-*/%";
    const auto index = static_cast<std::size_t>(op) - static_cast<std::size_t>(Op::kAdd);
    suggest_unit_of_one(
        diagnostics_.error(place_.at(at), models::Code::kExpressionType,
                           fmt::format("cannot compute {} {} {}", type_name(left.type),
                                       kSymbols[index], type_name(right.type))),
        left, right);
    return std::nullopt;
  }
  return Value{type, Expr::binary(op, left.expr, right.expr), {}};
}

// Formats a time with the largest unit in which the time is at least 1 and a whole number of
// thousandths.
std::string time_text(std::int64_t ns) {
  if (ns == 0) return "0s";
  for (const Unit* unit = &kUnits[3]; unit != &kUnits[0]; --unit) {
    const std::int64_t thousandth = unit->factor / 1000;
    if (ns < unit->factor || ns % thousandth != 0) continue;
    std::string decimals = fmt::format(".{:03}", ns % unit->factor / thousandth);
    decimals.erase(decimals.find_last_not_of('0') + 1);
    return fmt::format("{}{}{}", ns / unit->factor, decimals == "." ? "" : decimals, unit->name);
  }
  return fmt::format("{}ns", ns);
}

// Formats bytes with the largest unit that gives a whole number. Never uses units of bits, which
// are only for input.
std::string bytes_text(std::int64_t bytes, ValueType type) {
  const Unit* best = nullptr;
  for (const Unit& unit : kUnits) {
    if (unit.type != type || bytes % unit.factor != 0 || unit.name.substr(1) == "b/s") continue;
    if (bytes == 0 || best == nullptr || unit.factor > best->factor) best = &unit;
    if (bytes == 0) break;
  }
  return fmt::format("{}{}", bytes / best->factor, best->name);
}

}  // namespace

std::string_view type_name(ValueType type) {
  switch (type) {
    case ValueType::kNumber:
      return "a number";
    case ValueType::kTime:
      return "a time";
    case ValueType::kBytes:
      return "a size";
    case ValueType::kBandwidth:
      return "a bandwidth";
    case ValueType::kTruth:
      return "on or off";
    case ValueType::kWord:
      break;
  }
  return "a word";
}

void suggest_unit(models::Diagnostic& diagnostic, ValueType found, ValueType wanted) {
  if (found == ValueType::kBytes && wanted == ValueType::kBandwidth) {
    diagnostic.notes.emplace_back("a bandwidth is a size per second: 300GB/s");
  }
  if (found != ValueType::kNumber) return;
  if (wanted == ValueType::kTime) {
    diagnostic.notes.emplace_back("a time needs a unit: ns, us, ms, s or min");
  } else if (wanted == ValueType::kBytes) {
    diagnostic.notes.emplace_back("a size needs a unit: B, KiB, MiB, GiB, kB, MB or GB");
  } else if (wanted == ValueType::kBandwidth) {
    diagnostic.notes.emplace_back("a bandwidth needs a unit: GB/s, MB/s, GiB/s, MiB/s or Gb/s");
  }
}

std::string to_text(const Value& value) {
  if (value.type == ValueType::kWord) return value.word;
  if (value.expr.depends_on_rank()) return expression_text(value.expr, value.type);
  const std::int64_t number = value.expr.value(0).value_or(0);
  switch (value.type) {
    case ValueType::kTruth:
      return number != 0 ? "on" : "off";
    case ValueType::kTime:
      return time_text(number);
    case ValueType::kBytes:
    case ValueType::kBandwidth:
      return bytes_text(number, value.type);
    case ValueType::kNumber:
    case ValueType::kWord:
      break;
  }
  return std::to_string(number);
}

const Parameter* Scope::find(std::string_view name) const {
  if (parameters == nullptr) return nullptr;
  const auto found = std::find_if(parameters->begin(), parameters->end(),
                                  [&](const Parameter& known) { return known.name == name; });
  return found == parameters->end() ? nullptr : &*found;
}

std::optional<Value> parse_expression(std::string_view text, const TextPlace& place,
                                      const Scope& scope, Diagnostics& diagnostics) {
  if (std::optional<Value> number = plain_number(text)) return number;
  return Parser(text, place, scope, diagnostics).run();
}

std::optional<std::int64_t> constant_value(std::string_view text, ValueType type) {
  Diagnostics ignored;
  const std::optional<Value> value = parse_expression(text, {}, Scope(), ignored);
  return value && value->type == type ? value->expr.value(0) : std::nullopt;
}

}  // namespace pipesim::formats
