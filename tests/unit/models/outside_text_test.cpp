#include "models/outside_text.hpp"

#include <string>
#include <type_traits>

#include "tests/support/catch.hpp"

using pipesim::models::OutsideText;

namespace {

template <typename T>
constexpr bool kGrows = requires(T text) {
  text += std::string("\x1b");
};
template <typename T>
constexpr bool kTakesBytes = requires(T text) {
  text.push_back('\x1b');
};
template <typename T>
constexpr bool kSetsBytes = requires(T text) {
  text[0] = '\x1b';
};

}  // namespace

TEST_CASE("text from outside is printable as soon as it is there", "[models][outside_text]") {
  OutsideText text = std::string("a\x1b[31m\xc2\x9b\xe2\x80\xae\xe2\x81\xa6z");
  CHECK(text == "a?[31m????????z");
  text = "\x7f";
  CHECK(text == "?");
  text = std::string_view("caf\xc3\xa9 \xe2\x82\xac");
  CHECK(text == "caf\xc3\xa9 \xe2\x82\xac");
}

TEST_CASE("nothing can be added to text from outside", "[models][outside_text]") {
  STATIC_REQUIRE(kGrows<std::string>);
  STATIC_REQUIRE_FALSE(kGrows<OutsideText>);
  STATIC_REQUIRE(kTakesBytes<std::string>);
  STATIC_REQUIRE_FALSE(kTakesBytes<OutsideText>);
  STATIC_REQUIRE(kSetsBytes<std::string>);
  STATIC_REQUIRE_FALSE(kSetsBytes<OutsideText>);
}
