#include "formats/document/expression.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using namespace pipesim;
using formats::Value;
using formats::ValueType;

namespace {

const std::vector<formats::Parameter>& parameters() {
  static const std::vector<formats::Parameter> kParameters = [] {
    std::vector<formats::Parameter> result(3);
    result[0].name = "acc";
    result[0].value = Value::number(4);
    result[1].name = "t_copy";
    result[1].value = {ValueType::kTime, models::Expr::constant(300), {}};
    result[2].name = "mode";
    result[2].value = {ValueType::kWord, {}, "own"};
    return result;
  }();
  return kParameters;
}

// Returns the value of `text` on rank 5 of 8 as "type value", or the first error as "column:
// message".
std::string evaluated(const std::string& text) {
  formats::Scope scope;
  scope.parameters = &parameters();
  scope.ranks = 8;
  scope.rank = true;
  const formats::RankSets sets = {{"odd", models::RankSet({1, 3, 5, 7})},
                                  {"stage-0", models::RankSet({0, 1, 2, 6})},
                                  {"none", models::RankSet()}};
  scope.sets = &sets;
  models::Diagnostics diagnostics;
  const auto value = formats::parse_expression(text, {{1, 1}, false}, scope, diagnostics);
  if (!value) {
    const models::Diagnostic error = diagnostics.sorted().front();
    return std::to_string(error.place.column) + ": " + error.message;
  }
  if (value->type == ValueType::kWord) return "a word " + value->word;
  std::string why;
  const auto number = value->expr.value(5, &why);
  return std::string(formats::type_name(value->type)) + " " +
         (number ? std::to_string(*number) : why);
}

}  // namespace

TEST_CASE("numbers, times and sizes are exact whole numbers", "[formats][expression]") {
  CHECK(evaluated("7") == "a number 7");
  CHECK(evaluated("10_000") == "a number 10000");
  CHECK(evaluated("010") == "a number 10");
  CHECK(evaluated("0.3us") == "a time 300");
  CHECK(evaluated("1.5 ms") == "a time 1500000");
  CHECK(evaluated("2min") == "a time 120000000000");
  CHECK(evaluated("4MiB") == "a size 4194304");
  CHECK(evaluated("1.5kB") == "a size 1500");
  CHECK(evaluated("on") == "on or off 1");
  CHECK(evaluated("'own'") == "a word own");
}

TEST_CASE("a bandwidth is a size per second", "[formats][expression]") {
  CHECK(evaluated("300GB/s") == "a bandwidth 300000000000");
  CHECK(evaluated("25 GiB/s") == "a bandwidth 26843545600");
  CHECK(evaluated("1.2GB/s") == "a bandwidth 1200000000");
  CHECK(evaluated("100Gb/s") == "a bandwidth 12500000000");  // b is a bit, an eighth of a byte
  CHECK(evaluated("1Mb/s") == "a bandwidth 125000");
  CHECK(evaluated("2 * 25GB/s - 1B/s") == "a bandwidth 49999999999");
  CHECK(evaluated("100GB/s / 4") == "a bandwidth 25000000000");
  CHECK(evaluated("100GB/s/4") == "a bandwidth 25000000000");
  CHECK(evaluated("100GB/s / 25GB/s") == "a number 4");
  CHECK(evaluated("4MiB/slices") == "6: unknown parameter 'slices'");  // a quotient, not a unit
  CHECK(evaluated("1GB/s + 1GB") == "7: cannot compute a bandwidth + a size");
  CHECK(evaluated("0.5B/s") == "1: '0.5B/s' is not an integer number of bytes per second");
  CHECK(evaluated("1ms/s") == "5: unknown parameter 's'");
}

TEST_CASE("a number may be asked to be one of some", "[formats][expression]") {
  CHECK(evaluated("rank in odd") == "on or off 1");
  CHECK(evaluated("rank not in odd") == "on or off 0");
  CHECK(evaluated("rank - 1 in odd") == "on or off 0");
  CHECK(evaluated("rank in stage-0") == "on or off 0");
  CHECK(evaluated("rank + 1 in 'stage-0'") == "on or off 1");
  CHECK(evaluated("rank in none") == "on or off 0");
  CHECK(evaluated("rank in [0, 4..acc + 1]") == "on or off 1");
  CHECK(evaluated("rank in [0, 2..4, stage-0]") == "on or off 0");
  CHECK(evaluated("5 in odd and not rank in [1]") == "on or off 1");
  CHECK(evaluated("acc in [4]") == "on or off 1");
  CHECK(evaluated("rank in []") == "on or off 0");
  for (std::uint32_t rank = 0; rank < 10; ++rank) {
    const std::string number = std::to_string(rank);
    const bool odd = rank % 2 == 1 && rank < 8;
    CHECK(evaluated(number + " in odd") == std::string("on or off ") + (odd ? "1" : "0"));
    const bool some = rank < 3 || rank == 6;
    CHECK(evaluated(number + " in stage-0") == std::string("on or off ") + (some ? "1" : "0"));
  }
  CHECK(evaluated("rank in od") == "9: unknown set of ranks 'od'");
  CHECK(evaluated("rank in [1, rank]") ==
        "13: the value after 'in' must be the same on every rank");
  CHECK(evaluated("rank in 3..1") == "9: 3..1 has no numbers");
  CHECK(evaluated("rank in [1, 2") == "14: expected ']' here");
  CHECK(evaluated("rank in t_copy") == "9: expected ranks after 'in', found a time");
  CHECK(evaluated("t_copy in odd") == "8: expected a number before 'in', found a time");
}

TEST_CASE("operators bind as people expect", "[formats][expression]") {
  CHECK(evaluated("2 + 3 * 4") == "a number 14");
  CHECK(evaluated("(2 + 3) * 4") == "a number 20");
  CHECK(evaluated("10 - 2 - 3") == "a number 5");
  CHECK(evaluated("7 / 2") == "a number 3");
  CHECK(evaluated("-7 / 2") == "a number -4");
  CHECK(evaluated("-7 % 4") == "a number 1");
  CHECK(evaluated("rank % 4 != 0 and not rank == 5") == "on or off 0");
  CHECK(evaluated("off and off or on") == "on or off 1");
  CHECK(evaluated("min(acc, 3, 9) + max(1, 2)") == "a number 5");
  CHECK(evaluated("if(rank == 5, 3us, 2us) * 2") == "a time 6000");
  CHECK(evaluated("if(rank < 3, 1, rank > 4, 2, 3)") == "a number 2");
  CHECK(evaluated("if(acc == 3, 1, 2)") == "a number 2");
  CHECK(evaluated("acc * t_copy + 1us") == "a time 2200");
  CHECK(evaluated("1ms / 4us") == "a number 250");
  CHECK(evaluated("mode == 'own'") == "on or off 1");
  CHECK(evaluated("ranks - rank") == "a number 3");
}

TEST_CASE("what makes no sense is refused at its column", "[formats][expression]") {
  CHECK(evaluated("1us + 2") == "5: cannot compute a time + a number");
  CHECK(evaluated("1us * 2us") == "5: cannot compute a time * a time");
  CHECK(evaluated("on + 1") == "4: cannot compute on or off + a number");
  CHECK(evaluated("0.0001us") == "1: '0.0001us' is not an integer number of nanoseconds");
  CHECK(evaluated("1.5") == "1: '1.5' is not an integer");
  CHECK(evaluated("3 parsecs").find("3: unknown unit 'parsecs'") == 0);
  CHECK(evaluated("1 + ac") == "5: unknown parameter 'ac'");
  CHECK(evaluated("(1 + 2") == "7: expected ')' here");
  CHECK(evaluated("1 +") == "4: expected a value here");
  CHECK(evaluated("1 2") == "3: did not expect '2' here");
  CHECK(evaluated("1 == 1us") == "3: cannot compare a number with a time");
  CHECK(evaluated("99999999999999999999") ==
        "1: number out of range: '99999999999999999999' is more than 9223372036854775807");
  CHECK(evaluated("9223372037s") ==
        "1: number out of range: '9223372037s' is more than 9223372036854775807 nanoseconds");
  CHECK(evaluated("min 3").substr(0, 17) == "5: expected '(' a");
  CHECK(evaluated("'open") == "1: unterminated quote");
  CHECK(evaluated("") == "1: expected a value here");
}

TEST_CASE("'if' needs a condition for each value but the last, and values of one type",
          "[formats][expression]") {
  CHECK(evaluated("if(rank == 0, 1)") ==
        "1: 'if' needs a condition, a value and another value: if(rank == 0, 1us, 2us)");
  CHECK(evaluated("if(on, 1, 2, 3)") ==
        "1: 'if' needs a condition, a value and another value: if(rank == 0, 1us, 2us)");
  CHECK(evaluated("if(rank, 1, 2)") ==
        "1: the condition of 'if' must be on or off, found a number");
  CHECK(evaluated("if(on, 1us, 2)") ==
        "1: both branches of 'if' must have the same type, found a time and a number");
  CHECK(evaluated("if(on, 'a', 'b')") == "1: the branches of 'if' cannot be words");
  CHECK(evaluated("if rank") == "4: expected '(' after 'if'");
  CHECK(evaluated("if(on, 1, 2") == "12: expected ')' here");
}

TEST_CASE("what fails only when computed says why", "[formats][expression]") {
  CHECK(evaluated("1 / (rank - 5)") == "a number division by zero");
  CHECK(evaluated("9223372036854775807 + rank") == "a number the result is out of range");
}

TEST_CASE("values are written back in the largest unit that stays short", "[formats][expression]") {
  const auto time = [](std::int64_t ns) {
    return formats::to_text({ValueType::kTime, models::Expr::constant(ns), {}});
  };
  CHECK(time(0) == "0s");
  CHECK(time(300) == "300ns");
  CHECK(time(43'600) == "43.6us");
  CHECK(time(1'500'000) == "1.5ms");
  CHECK(time(1'000'001) == "1000.001us");
  CHECK(time(60'000'000'000) == "60s");
  const auto bytes = [](std::int64_t count) {
    return formats::to_text({ValueType::kBytes, models::Expr::constant(count), {}});
  };
  CHECK(bytes(0) == "0B");
  CHECK(bytes(4194304) == "4MiB");
  CHECK(bytes(1500) == "1500B");
  const auto bandwidth = [](std::int64_t count) {
    return formats::to_text({ValueType::kBandwidth, models::Expr::constant(count), {}});
  };
  CHECK(bandwidth(300'000'000'000) == "300GB/s");
  CHECK(bandwidth(1'250'000'000) == "1250MB/s");
}
