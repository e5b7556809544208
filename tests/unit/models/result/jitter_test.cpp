#include "models/result/jitter.hpp"

#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim;
using models::jitter_text;
using models::parse_jitter;

TEST_CASE("a jitter is a percentage, free or nothing", "[models][jitter]") {
  CHECK(parse_jitter("0") == sim::Jitter{});
  CHECK(parse_jitter("10%") == sim::Jitter{.permille = 100});
  CHECK(parse_jitter("0.5%") == sim::Jitter{.permille = 5});
  CHECK(parse_jitter("100000%") == sim::Jitter{.permille = 1'000'000});
  CHECK(parse_jitter("free") == sim::Jitter{.free = true});
  CHECK(parse_jitter("0%") == sim::Jitter{});
}

TEST_CASE("what is no jitter is refused", "[models][jitter]") {
  for (const char* text : {"", "%", "10", "-1%", "1.25%", "1.%", ".5%", "100001%", "100000.1%",
                           "99999999999%", "Free", "10 %", "1e2%"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_jitter(text).has_value());
  }
}

TEST_CASE("a jitter is written in words that read back", "[models][jitter]") {
  for (const char* text : {"0", "10%", "0.5%", "12.3%", "100000%", "free"}) {
    CHECK(jitter_text(*parse_jitter(text)) == text);
  }
  CHECK(jitter_text(*parse_jitter("7.0%")) == "7%");
}
