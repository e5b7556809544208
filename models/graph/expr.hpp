// Integer expressions over the rank, for template values that depend on the rank.
//
// The reader substitutes parameters, so `rank` is the only variable. Times are nanoseconds and
// sizes are bytes; the code that builds an expression converts units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/boxed.hpp"
#include "models/graph/diagnostics.hpp"

namespace pipesim::models {

/// A constant, or a program: a list of steps in postfix order.
class Expr {
 public:
  enum class Op : std::uint8_t {
    kConstant,
    kRank,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kModulo,
    kMinimum,
    kMaximum,
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kAnd,
    kOr,
    kNot,
    kNegate,
    kSelect,  // condition, then, else
  };

  /// One step of the program.
  struct Step {
    Op op;
    std::int64_t constant;

    friend bool operator==(const Step&, const Step&) = default;
  };

  Expr() = default;  // the constant 0
  Expr(const Expr& other) : place_(other.place_), value_(other.value_) {
    if (!is_constant()) value_.program = new Program(*other.value_.program);
  }
  Expr(Expr&& other) noexcept { swap(other); }
  Expr& operator=(Expr other) noexcept {
    swap(other);
    return *this;
  }
  ~Expr() {
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete): a move clears the mark
    if (!is_constant()) delete value_.program;
  }

  static Expr constant(std::int64_t value);
  static Expr rank();
  static Expr unary(Op op, const Expr& operand);
  static Expr binary(Op op, const Expr& left, const Expr& right);
  static Expr select(const Expr& condition, const Expr& then, const Expr& otherwise);

  bool is_constant() const { return !place_.mark(); }

  bool depends_on_rank() const;

  /// Returns the place where the user wrote the expression; line 0 if generated. The expressions
  /// that unary(), binary() and select() return have no place yet.
  Place place() const { return place_.place(); }
  void set_place(Place place) { place_ = SmallPlace(place, place_.mark()); }

  /// Returns the value on `rank`. If it divides by zero or overflows 64 bits, returns nullopt and
  /// sets `why`. Division rounds down, and the modulo has the sign of the divisor.
  std::optional<std::int64_t> value(std::uint32_t rank, std::string* why = nullptr) const;

  /// Returns the program in postfix order; a constant is one step.
  std::vector<Step> steps() const;

  /// Whether `a` and `b` are the same program. Different programs with equal values compare
  /// unequal.
  friend bool operator==(const Expr& a, const Expr& b) {
    if (a.is_constant() != b.is_constant()) return false;
    return a.is_constant() ? a.value_.constant == b.value_.constant
                           : *a.value_.program == *b.value_.program;
  }

 private:
  using Program = std::vector<Step>;

  explicit Expr(Program steps)
      : place_(Place(), true), value_{.program = new Program(std::move(steps))} {}
  static Expr folded(Program steps);

  void swap(Expr& other) noexcept {
    std::swap(place_, other.place_);
    std::swap(value_, other.value_);
  }

  // An actor has many expressions, nearly all constants. So an expression takes 16 bytes and stores
  // a program separately.
  union Held {
    std::int64_t constant;
    const Program* program;  // owned
  };
  SmallPlace place_;  // marked: the value is a program
  Held value_ = {.constant = 0};
};

/// An expression as small as a pointer, for values that the user rarely writes: nearly all are the
/// constant `kUsual`. Any other expression is stored separately.
template <std::int64_t kUsual>
class UsualExpr {
 public:
  UsualExpr() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): it takes the place of an expression
  UsualExpr(Expr expr) {
    const bool is_usual = expr.place().line == 0 && expr == usual();
    if (!is_usual) other_ = std::move(expr);
  }

  // NOLINTNEXTLINE(google-explicit-constructor): it takes the place of an expression
  operator const Expr&() const { return other_ ? *other_ : usual(); }

  /// Applies `change` to a copy of the expression and stores the result.
  template <typename Change>
  void update(const Change& change) {
    Expr expr = *this;
    change(expr);
    *this = std::move(expr);
  }

  friend bool operator==(const UsualExpr& a, const UsualExpr& b) {
    return static_cast<const Expr&>(a) == static_cast<const Expr&>(b);
  }

 private:
  static const Expr& usual() {
    static const Expr kExpr = Expr::constant(kUsual);
    return kExpr;
  }

  Boxed<Expr> other_;
};

}  // namespace pipesim::models
