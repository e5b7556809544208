#include "models/lowering/balance.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using pipesim::models::BalanceError;
using pipesim::models::RatedEdge;

namespace {

constexpr std::int64_t kOpen = -1;
constexpr std::int64_t kMaxOps = 0xffffffff - 1;

struct Balanced {
  std::vector<std::int64_t> ops;
  std::vector<BalanceError> errors;
};

Balanced balance(const std::vector<std::int64_t>& given, const std::vector<RatedEdge>& edges) {
  Balanced result;
  result.ops = pipesim::models::balance(given, edges, result.errors);
  return result;
}

}  // namespace

TEST_CASE("the ops of a source carry through a chain", "[models][balance]") {
  const Balanced result = balance({4, kOpen, kOpen}, {{0, 1, 1, 1}, {1, 2, 1, 1}});
  CHECK(result.errors.empty());
  CHECK(result.ops == std::vector<std::int64_t>{4, 4, 4});
}

TEST_CASE("rates multiply and divide the ops", "[models][balance]") {
  // The actors are a source, an accumulation of 3, a reader of the sum, and a repetition of the
  // reader's output by 5.
  const Balanced result =
      balance({6, kOpen, kOpen, kOpen}, {{0, 1, 1, 1}, {1, 2, 3, 1}, {2, 3, 1, 5}});
  CHECK(result.errors.empty());
  CHECK(result.ops == std::vector<std::int64_t>{6, 6, 2, 10});
}

TEST_CASE("ops are also found against the arrow", "[models][balance]") {
  // Only the last actor has a count: 10 = 2 * 5, and the second actor runs once per 3 ops of the
  // first.
  const Balanced result = balance({kOpen, kOpen, 10}, {{0, 1, 3, 1}, {1, 2, 1, 5}});
  CHECK(result.errors.empty());
  CHECK(result.ops == std::vector<std::int64_t>{6, 2, 10});
}

TEST_CASE("two ways to an actor may agree", "[models][balance]") {
  const Balanced result =
      balance({4, kOpen, kOpen, 2}, {{0, 1, 2, 1}, {1, 2, 1, 1}, {0, 2, 2, 1}, {3, 2, 1, 1}});
  CHECK(result.errors.empty());
  CHECK(result.ops == std::vector<std::int64_t>{4, 2, 2, 2});
}

TEST_CASE("a source without ops makes no ops", "[models][balance]") {
  const Balanced result = balance({0, kOpen}, {{0, 1, 3, 2}});
  CHECK(result.errors.empty());
  CHECK(result.ops == std::vector<std::int64_t>{0, 0});
}

TEST_CASE("ops that are no multiple of a rate are blamed on their actor", "[models][balance]") {
  const Balanced result = balance({4, kOpen}, {{0, 1, 3, 1}});
  REQUIRE(result.errors.size() == 1);
  CHECK(result.errors[0].kind == BalanceError::Kind::kUneven);
  CHECK(result.errors[0].edge == 0);
  CHECK(result.errors[0].actor == 0);
  CHECK(result.errors[0].found == 4);
  CHECK(result.errors[0].wanted == 3);
}

TEST_CASE("against the arrow the consumer is blamed", "[models][balance]") {
  const Balanced result = balance({kOpen, 5}, {{0, 1, 1, 2}});
  REQUIRE(result.errors.size() == 1);
  CHECK(result.errors[0].kind == BalanceError::Kind::kUneven);
  CHECK(result.errors[0].actor == 1);
  CHECK(result.errors[0].found == 5);
  CHECK(result.errors[0].wanted == 2);
}

TEST_CASE("an edge that asks for another number than there is contradicts", "[models][balance]") {
  const Balanced result = balance({4, 2, kOpen}, {{0, 2, 1, 1}, {1, 2, 1, 1}});
  REQUIRE(result.errors.size() == 1);
  CHECK(result.errors[0].kind == BalanceError::Kind::kContradiction);
  CHECK(result.errors[0].edge == 1);
  CHECK(result.errors[0].actor == 2);
  CHECK(result.errors[0].found == 4);
  CHECK(result.errors[0].wanted == 2);
}

TEST_CASE("more ops than a plan can count are refused", "[models][balance]") {
  CHECK(balance({kMaxOps, kOpen}, {{0, 1, 1, 1}}).errors.empty());
  const Balanced result = balance({kMaxOps / 2 + 1, kOpen}, {{0, 1, 1, 2}});
  REQUIRE(result.errors.size() == 1);
  CHECK(result.errors[0].kind == BalanceError::Kind::kTooMany);
  CHECK(result.errors[0].actor == 1);
}

TEST_CASE("an actor that no source reaches has no number", "[models][balance]") {
  const Balanced result = balance({kOpen, 3, kOpen, kOpen}, {{2, 3, 1, 1}});
  REQUIRE(result.errors.size() == 3);
  CHECK(result.errors[0].kind == BalanceError::Kind::kUnknown);
  CHECK(result.errors[0].actor == 0);
  CHECK(result.errors[1].actor == 2);
  CHECK(result.errors[2].actor == 3);
}

TEST_CASE("each edge is blamed once, and where one is, unknown actors are not told",
          "[models][balance]") {
  // The two ends of each edge have counts, so each edge is visited twice, but reported once.
  const Balanced result = balance({4, 2, 8, kOpen}, {{0, 1, 1, 1}, {1, 2, 1, 1}});
  REQUIRE(result.errors.size() == 2);
  CHECK(result.errors[0].edge == 0);
  CHECK(result.errors[1].edge == 1);
}

TEST_CASE("an actor may read itself at one rate", "[models][balance]") {
  CHECK(balance({4}, {{0, 0, 1, 1}}).errors.empty());
  CHECK(balance({4}, {{0, 0, 2, 1}}).errors.size() == 1);
}
