#include "formats/document/expression_writer.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"
#include "tests/twin/random.hpp"

using namespace pipesim;
using formats::ValueType;
using models::Expr;

namespace {

Expr parsed(const std::string& text, ValueType type) {
  formats::Scope scope;
  scope.rank = true;
  scope.ranks = 8;
  models::Diagnostics diagnostics;
  const auto value = formats::parse_expression(text, {}, scope, diagnostics);
  INFO(text << "\n" << testing::text_of(diagnostics));
  REQUIRE(value);
  const bool zero = value->expr == Expr() && value->type == ValueType::kNumber;
  CHECK((value->type == type || zero));
  return value->expr;
}

// Returns the expression in `text` as the writer writes it.
std::string rewritten(const std::string& text, ValueType type) {
  const Expr expr = parsed(text, type);
  const std::string written = formats::expression_text(expr, type);
  INFO(text << " became " << written);
  CHECK(parsed(written, type) == expr);
  return written;
}

}  // namespace

TEST_CASE("an expression is written with the parentheses that it needs", "[formats][expression]") {
  const auto number = [](const char* text) { return rewritten(text, ValueType::kNumber); };
  CHECK(number("rank + 4") == "rank + 4");
  CHECK(number("(rank + 4) + 1") == "rank + 4 + 1");
  CHECK(number("rank + (4 + rank)") == "rank + (4 + rank)");
  CHECK(number("(rank + 4) * 2 / 3 % 5") == "(rank + 4) * 2 / 3 % 5");
  CHECK(number("rank - (rank - 1)") == "rank - (rank - 1)");
  CHECK(number("-(rank + 1) * -3") == "-(rank + 1) * -3");
  CHECK(number("min(rank, 3, ranks)") == "min(min(rank, 3), 8)");
  CHECK(number("if(rank == 0, 1, rank > 5, 2, 3)") == "if(rank == 0, 1, rank > 5, 2, 3)");
  CHECK(number("if(not (rank == 0 or rank == 3 and on), 1, 2)") ==
        "if(not (rank == 0 or rank == 3 and on), 1, 2)");
  CHECK(number("1 / 0") == "1 / 0");
  CHECK(number("2 + 3") == "5");
}

TEST_CASE("a written expression has the units that its type asks for", "[formats][expression]") {
  const auto time = [](const char* text) { return rewritten(text, ValueType::kTime); };
  CHECK(time("0") == "0s");
  CHECK(time("1500ns + rank * 3us") == "1.5us + rank * 3us");
  CHECK(time("3us * (rank + 1)") == "3us * (rank + 1)");
  CHECK(time("if(rank == 3, 20us, 10us) / 2") == "if(rank == 3, 20us, 10us) / 2");
  CHECK(time("if(rank * 2us > 3us, 1ms, 2ms)") == "if(rank * 2000 > 3000, 1ms, 2ms)");
  CHECK(time("(rank * 4us) / 2us * 1us") == "rank * 4000 / 2000 * 1us");
  CHECK(rewritten("rank * 4MiB", ValueType::kBytes) == "rank * 4MiB");
  CHECK(rewritten("(rank == 0) == on", ValueType::kTruth) == "(rank == 0) == on");
}

TEST_CASE("an expression that has no units has values all the same", "[formats][expression]") {
  CHECK(formats::expression_text(Expr::rank(), ValueType::kTime) == "rank * 1ns");
  const Expr sum = Expr::binary(Expr::Op::kAdd, Expr::rank(), Expr::constant(1));
  CHECK(formats::expression_text(sum, ValueType::kBytes) == "(rank + 1) * 1B");
}

TEST_CASE("numbers at the ends of their range are written so that they read back",
          "[formats][expression]") {
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::min(),
                                   std::numeric_limits<std::int64_t>::max(), std::int64_t{-1}}) {
    for (const ValueType type : {ValueType::kNumber, ValueType::kTime, ValueType::kBytes}) {
      const Expr expr = Expr::constant(value);
      CHECK(parsed(formats::expression_text(expr, type), type) == expr);
    }
  }
}

namespace {

// Returns an integer expression at most `size` levels deep.
Expr random_number(twin::Random& random, int size);

Expr random_truth(twin::Random& random, int size) {
  if (size == 0) return Expr::constant(random.below(2));
  const auto op = static_cast<Expr::Op>(static_cast<int>(Expr::Op::kEqual) + random.below(9));
  if (op == Expr::Op::kNot) return Expr::unary(op, random_truth(random, size - 1));
  if (op == Expr::Op::kAnd || op == Expr::Op::kOr) {
    return Expr::binary(op, random_truth(random, size - 1), random_truth(random, size - 1));
  }
  return Expr::binary(op, random_number(random, size - 1), random_number(random, size - 1));
}

Expr random_number(twin::Random& random, int size) {
  if (size == 0) {
    return random.below(2) == 0 ? Expr::rank() : Expr::constant(random.below(9) - 4);
  }
  const int pick = random.below(9);
  if (pick == 8) {
    return Expr::select(random_truth(random, size - 1), random_number(random, size - 1),
                        random_number(random, size - 1));
  }
  if (pick == 7) return Expr::unary(Expr::Op::kNegate, random_number(random, size - 1));
  const auto op = static_cast<Expr::Op>(static_cast<int>(Expr::Op::kAdd) + pick);
  return Expr::binary(op, random_number(random, size - 1), random_number(random, size - 1));
}

}  // namespace

TEST_CASE("any expression of numbers reads back as itself", "[formats][expression]") {
  twin::Random random(20261121);
  for (int i = 0; i < 2000; ++i) {
    const Expr expr = random_number(random, 1 + i % 4);
    const std::string text = formats::expression_text(expr, ValueType::kNumber);
    INFO(text);
    CHECK(parsed(text, ValueType::kNumber) == expr);
  }
}
