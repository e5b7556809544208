#include "models/graph/expr.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pipesim::models {
namespace {

using Op = Expr::Op;
using Value = std::optional<std::int64_t>;

Value fail(std::string* why, const char* reason) {
  if (why != nullptr) *why = reason;
  return std::nullopt;
}

Value divided(Op op, std::int64_t a, std::int64_t b, std::string* why) {
  if (b == 0) return fail(why, "division by zero");
  if (b == -1) {  // the only quotient that can overflow
    std::int64_t negated = 0;
    if (__builtin_sub_overflow(std::int64_t{0}, a, &negated))
      return fail(why, "the result is out of range");
    return op == Op::kDivide ? negated : 0;
  }
  const std::int64_t remainder = a % b;
  const bool rounds_up = remainder != 0 && (remainder < 0) != (b < 0);
  if (op == Op::kDivide) return a / b - (rounds_up ? 1 : 0);
  return rounds_up ? remainder + b : remainder;
}

Value applied(Op op, std::int64_t a, std::int64_t b, std::string* why) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
    case Op::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Op::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Op::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Op::kDivide:
    case Op::kModulo:
      return divided(op, a, b, why);
    case Op::kMinimum:
      return std::min(a, b);
    case Op::kMaximum:
      return std::max(a, b);
    case Op::kEqual:
      return a == b;
    case Op::kNotEqual:
      return a != b;
    case Op::kLess:
      return a < b;
    case Op::kLessEqual:
      return a <= b;
    case Op::kGreater:
      return a > b;
    case Op::kGreaterEqual:
      return a >= b;
    case Op::kAnd:
      return a != 0 && b != 0;
    case Op::kOr:
      return a != 0 || b != 0;
    case Op::kConstant:
    case Op::kRank:
    case Op::kNot:
    case Op::kNegate:
    case Op::kSelect:
      break;
  }
  if (overflow) return fail(why, "the result is out of range");
  return result;
}

}  // namespace

Expr Expr::constant(std::int64_t value) {
  Expr result;
  result.value_.constant = value;
  return result;
}

Expr Expr::rank() { return Expr(Program{{Op::kRank, 0}}); }

Expr Expr::unary(Op op, const Expr& operand) {
  std::vector<Step> steps = operand.steps();
  steps.push_back({op, 0});
  return folded(std::move(steps));
}

Expr Expr::binary(Op op, const Expr& left, const Expr& right) {
  std::vector<Step> steps = left.steps();
  const std::vector<Step> second = right.steps();
  steps.insert(steps.end(), second.begin(), second.end());
  steps.push_back({op, 0});
  return folded(std::move(steps));
}

Expr Expr::select(const Expr& condition, const Expr& then, const Expr& otherwise) {
  if (condition.is_constant()) return condition.value_.constant != 0 ? then : otherwise;
  Program steps = condition.steps();
  for (const Expr* part : {&then, &otherwise}) {
    const Program own = part->steps();
    steps.insert(steps.end(), own.begin(), own.end());
  }
  steps.push_back({Op::kSelect, 0});
  return Expr(std::move(steps));
}

std::vector<Expr::Step> Expr::steps() const {
  if (is_constant()) return {{Op::kConstant, value_.constant}};
  return *value_.program;
}

bool Expr::depends_on_rank() const {
  return !is_constant() && std::any_of(value_.program->begin(), value_.program->end(),
                                       [](const Step& step) { return step.op == Op::kRank; });
}

// Folds a program that does not depend on the rank into a constant. If its evaluation fails, keeps
// the program, so that the error is reported at use.
Expr Expr::folded(Program steps) {
  Expr expr(std::move(steps));
  if (expr.depends_on_rank()) return expr;
  const Value value = expr.value(0);
  return value ? constant(*value) : expr;
}

std::optional<std::int64_t> Expr::value(std::uint32_t rank, std::string* why) const {
  if (is_constant()) return value_.constant;
  // Avoids the heap: most programs are short, and up to a million ranks evaluate them.
  constexpr std::size_t kMaxSteps = 16;
  std::array<std::int64_t, kMaxSteps> few;
  std::vector<std::int64_t> many;
  std::int64_t* stack = few.data();
  if (value_.program->size() > few.size()) {
    many.resize(value_.program->size());
    stack = many.data();
  }
  std::size_t size = 0;
  for (const Step& step : *value_.program) {
    switch (step.op) {
      case Op::kConstant:
        stack[size++] = step.constant;
        break;
      case Op::kRank:
        stack[size++] = rank;
        break;
      case Op::kNot:
        stack[size - 1] = stack[size - 1] == 0;
        break;
      case Op::kNegate: {
        const Value negated = applied(Op::kSubtract, 0, stack[size - 1], why);
        if (!negated) return std::nullopt;
        stack[size - 1] = *negated;
        break;
      }
      case Op::kSelect:
        size -= 2;
        stack[size - 1] = stack[size - 1] != 0 ? stack[size] : stack[size + 1];
        break;
      default: {
        --size;
        const Value result = applied(step.op, stack[size - 1], stack[size], why);
        if (!result) return std::nullopt;
        stack[size - 1] = *result;
      }
    }
  }
  return stack[0];
}

}  // namespace pipesim::models
