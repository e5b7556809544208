// Integer expressions over the rank: what a template leaves open until it stands on a rank.
//
// Parameters are gone by then (the reader puts their values in), so `rank` is the only variable.
// Times are nanoseconds and sizes are bytes; whoever builds an expression sees to the units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/graph/diagnostics.hpp"

namespace pipesim::models {

/// A constant, or a small program in postfix order.
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
  static Expr constant(std::int64_t value);
  static Expr rank();
  static Expr unary(Op op, const Expr& operand);
  static Expr binary(Op op, const Expr& left, const Expr& right);
  static Expr select(const Expr& condition, const Expr& then, const Expr& otherwise);

  bool is_constant() const { return steps_.empty(); }

  bool depends_on_rank() const;

  /// Where a user wrote it; line 0 where nobody did. What is computed from it has to be given its
  /// own.
  Place place;

  /// The value on `rank`. Nothing where it divides by zero or leaves 64 bits; `why` then says so.
  /// Division rounds down, and the modulo has the sign of the divisor.
  std::optional<std::int64_t> value(std::uint32_t rank, std::string* why = nullptr) const;

  /// In postfix order; a constant is one step.
  std::vector<Step> steps() const;

  /// Whether the two are the same program; that they have the same values is not asked.
  friend bool operator==(const Expr& a, const Expr& b) {
    return a.constant_ == b.constant_ && a.steps_ == b.steps_;
  }

 private:
  static Expr folded(std::vector<Step> steps);

  std::int64_t constant_ = 0;
  std::vector<Step>
      steps_;  // none: the constant; most expressions are one, and take no memory here
};

}  // namespace pipesim::models
