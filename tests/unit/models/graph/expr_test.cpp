#include "models/graph/expr.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "tests/support/catch.hpp"

using pipesim::models::Expr;
using pipesim::models::Place;
using pipesim::models::UsualExpr;
using Op = Expr::Op;

namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

// Returns the value on rank 5, or the reason why the expression has no value.
std::string on_rank_5(const Expr& expr) {
  std::string why;
  const auto value = expr.value(5, &why);
  return value ? std::to_string(*value) : why;
}

// Returns `left` op `right` with constant operands. Checks that the result is the same if `left` is
// made from the rank: the function tests both folding and evaluation.
std::string computed(Op op, std::int64_t left, std::int64_t right) {
  const Expr second = Expr::constant(right);
  const Expr folded = Expr::binary(op, Expr::constant(left), second);
  const Expr zero = Expr::binary(Op::kMultiply, Expr::rank(), Expr::constant(0));
  const Expr open = Expr::binary(op, Expr::binary(Op::kAdd, Expr::constant(left), zero), second);
  CHECK(!open.is_constant());
  CHECK(on_rank_5(open) == on_rank_5(folded));
  return on_rank_5(folded);
}

}  // namespace

TEST_CASE("an expression that nobody set is the constant 0", "[models][expr]") {
  CHECK(Expr().is_constant());
  CHECK(on_rank_5(Expr()) == "0");
  CHECK(on_rank_5(Expr::binary(Op::kAdd, Expr(), Expr::constant(2))) == "2");
  CHECK(on_rank_5(Expr::binary(Op::kSubtract, Expr::constant(2), Expr())) == "2");
  CHECK(on_rank_5(Expr::unary(Op::kNot, Expr())) == "1");
}

TEST_CASE("operators compute whole numbers", "[models][expr]") {
  CHECK(computed(Op::kAdd, 2, 3) == "5");
  CHECK(computed(Op::kSubtract, 2, 3) == "-1");
  CHECK(computed(Op::kMultiply, -2, 3) == "-6");
  CHECK(computed(Op::kMinimum, 2, -3) == "-3");
  CHECK(computed(Op::kMaximum, 2, -3) == "2");
  CHECK(computed(Op::kEqual, 2, 2) == "1");
  CHECK(computed(Op::kNotEqual, 2, 2) == "0");
  CHECK(computed(Op::kLess, 2, 3) == "1");
  CHECK(computed(Op::kLess, 3, 3) == "0");
  CHECK(computed(Op::kLessEqual, 3, 3) == "1");
  CHECK(computed(Op::kGreater, 3, 3) == "0");
  CHECK(computed(Op::kGreaterEqual, 3, 3) == "1");
  CHECK(computed(Op::kAnd, 2, 3) == "1");
  CHECK(computed(Op::kAnd, 2, 0) == "0");
  CHECK(computed(Op::kOr, 0, 3) == "1");
  CHECK(computed(Op::kOr, 0, 0) == "0");
}

TEST_CASE("division rounds down, and the remainder has the sign of the divisor", "[models][expr]") {
  for (std::int64_t a = -7; a <= 7; ++a) {
    for (std::int64_t b = -3; b <= 3; ++b) {
      if (b == 0) continue;
      INFO(a << " by " << b);
      const std::int64_t quotient = std::stoll(computed(Op::kDivide, a, b));
      const std::int64_t remainder = std::stoll(computed(Op::kModulo, a, b));
      REQUIRE(quotient * b + remainder == a);
      REQUIRE((b > 0 ? remainder >= 0 && remainder < b : remainder <= 0 && remainder > b));
    }
  }
}

TEST_CASE("what leaves 64 bits or divides by zero has no value and says why", "[models][expr]") {
  CHECK(computed(Op::kAdd, kMax, 1) == "the result is out of range");
  CHECK(computed(Op::kSubtract, kMin, 1) == "the result is out of range");
  CHECK(computed(Op::kMultiply, kMax, 2) == "the result is out of range");
  CHECK(computed(Op::kDivide, 1, 0) == "division by zero");
  CHECK(computed(Op::kModulo, 1, 0) == "division by zero");
  CHECK(computed(Op::kDivide, kMin, -1) == "the result is out of range");
  CHECK(on_rank_5(Expr::unary(Op::kNegate, Expr::constant(kMin))) == "the result is out of range");
  CHECK(!Expr::binary(Op::kDivide, Expr::constant(1), Expr()).value(0).has_value());
}

TEST_CASE("the rank is the only variable", "[models][expr]") {
  CHECK(on_rank_5(Expr::rank()) == "5");
  CHECK(!Expr::rank().is_constant());
  CHECK(Expr::rank().value(7) == 7);
  const Expr next = Expr::binary(
      Op::kModulo, Expr::binary(Op::kAdd, Expr::rank(), Expr::constant(1)), Expr::constant(4));
  CHECK(next.value(2) == 3);
  CHECK(next.value(3) == 0);
  CHECK(on_rank_5(Expr::unary(Op::kNegate, Expr::rank())) == "-5");
  CHECK(on_rank_5(Expr::unary(Op::kNot, Expr::rank())) == "0");
}

TEST_CASE("what does not depend on the rank becomes one number", "[models][expr]") {
  const Expr sum = Expr::binary(Op::kAdd, Expr::constant(2), Expr::constant(3));
  CHECK(sum.is_constant());
  CHECK(Expr::unary(Op::kNegate, sum).is_constant());
  const Expr failing = Expr::binary(Op::kDivide, Expr::constant(1), Expr::constant(0));
  CHECK(!failing.is_constant());
  CHECK(on_rank_5(Expr::binary(Op::kAdd, failing, sum)) == "division by zero");
}

TEST_CASE("a selection takes one of two by a condition", "[models][expr]") {
  const Expr is_5 = Expr::binary(Op::kEqual, Expr::rank(), Expr::constant(5));
  const Expr either = Expr::select(is_5, Expr::constant(1), Expr());
  CHECK(either.value(5) == 1);
  CHECK(either.value(4) == 0);
  CHECK(Expr::select(Expr::constant(0), Expr::rank(), Expr::constant(9)).is_constant());
  CHECK(Expr::select(Expr::constant(2), Expr::rank(), Expr::constant(9)).value(5) == 5);
  const Expr nested = Expr::select(is_5, either, Expr::rank());
  CHECK(nested.value(5) == 1);
  CHECK(nested.value(3) == 3);
}

TEST_CASE("copies of an expression are apart, and keep its place", "[models][expr]") {
  CHECK(sizeof(Expr) == 16);  // an actor has many of them
  Expr first = Expr::binary(Op::kAdd, Expr::rank(), Expr::constant(2));
  first.set_place({3, 14, 1});
  Expr second = first;
  CHECK(second == first);
  CHECK(second.place() == Place{3, 14, 1});
  second = Expr::constant(kMax);
  CHECK(second != first);
  CHECK(on_rank_5(first) == "7");
  CHECK(on_rank_5(second) == std::to_string(kMax));
  second.set_place({1, 2, 0});
  CHECK(second.is_constant());
  const Expr third = std::move(first);
  CHECK(on_rank_5(third) == "7");
  CHECK(third.place() == Place{3, 14, 1});
  second = third;
  const Expr& same = second;
  second = same;
  CHECK(on_rank_5(second) == "7");
  CHECK(!second.is_constant());
  CHECK(second.place() == Place{3, 14, 1});
}

TEST_CASE("an expression that is as usual is equal to one that says so") {
  UsualExpr<1> usual;
  CHECK(usual == UsualExpr<1>(Expr::constant(1)));
  CHECK(static_cast<const Expr&>(usual) == Expr::constant(1));
  Expr written = Expr::constant(1);
  written.set_place(Place{3, 4});
  usual = written;
  CHECK(static_cast<const Expr&>(usual).place() == Place{3, 4});
  CHECK(usual == UsualExpr<1>());  // expressions are equal whatever their places
  usual = Expr::rank();
  CHECK_FALSE(usual == UsualExpr<1>());
  usual = Expr::constant(1);
  CHECK(static_cast<const Expr&>(usual).place() == Place{});
}
