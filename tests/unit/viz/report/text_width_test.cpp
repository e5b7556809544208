#include "viz/report/text_width.hpp"

#include <array>
#include <string>

#include "tests/support/catch.hpp"

using namespace pipesim::viz;

namespace {

// Widths of the characters 32 to 126 in Adobe's font metrics of Helvetica, in thousandths of the
// font size. Arial and Liberation Sans have the same widths.
constexpr std::array<int, 95> kHelvetica = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};
constexpr std::array<int, 95> kHelveticaBold = {
    278, 333, 474, 556, 556, 889, 722, 238, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 333, 333, 584, 584, 584, 611, 975, 722, 722, 722, 722, 667,
    611, 778, 722, 278, 556, 722, 611, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667,
    667, 611, 333, 278, 333, 584, 556, 333, 556, 611, 556, 611, 556, 333, 611, 611, 278, 278, 556,
    278, 889, 611, 611, 611, 611, 389, 556, 333, 611, 556, 778, 556, 556, 500, 389, 280, 389, 584};

}  // namespace

TEST_CASE("no character of Helvetica is wider than it counts", "[viz][draw]") {
  for (std::size_t i = 0; i < kHelvetica.size(); ++i) {
    const std::string character(1, static_cast<char>(' ' + static_cast<int>(i)));
    CAPTURE(character);
    CHECK(text_width(character, 1000) >= kHelvetica[i]);
    CHECK(text_width(character, 1000) >= kHelveticaBold[i]);
    // A box twice as wide as its text would look empty.
    CHECK(text_width(character, 1000) <= 2 * kHelvetica[i]);
  }
}

TEST_CASE("texts are cut so that they fit", "[viz][draw]") {
  CHECK(fitted("abc", 10, 100) == "abc");
  const std::string cut = fitted("a rather long sentence", 10, 60);
  CHECK(cut.size() > 4);
  CHECK(cut.substr(cut.size() - 2) == "..");
  CHECK(text_width(cut, 10) <= 60);
  CHECK(fitted("a rather long sentence", 10, 12).empty());
  // fitted() does not cut within a character.
  for (double width = 0; width < 80; width += 1) {
    const std::string found = fitted("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4", 10, width);
    const std::string letters = found.substr(0, found.find('.'));
    CHECK(letters.size() % 2 == 0);
  }
}
