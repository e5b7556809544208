// Sections of reports, written as JSON and as text.
#include "viz/report/section.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

using namespace pipesim;
using viz::JsonValue;
using viz::Section;

namespace {

viz::TextOptions columns(std::size_t width) {
  viz::TextOptions options;
  options.width = width;
  return options;
}

}  // namespace

TEST_CASE("a section writes JSON as nlohmann's library does", "[viz][report]") {
  Section section = viz::report_about("scenario", "a \"b\"\n\xff");
  section.say("none", nullptr).say("yes", true).say("count", std::uint64_t{1} << 63);
  section.say("below", -1).say("names", std::vector<std::string>{"x", "y"});
  section.say("empty", std::vector<int>{}).say("inner", Section().say("a", 1).data());
  section.list("items", {Section().say("a", std::vector<int>{1, 2}), Section()});
  const nlohmann::ordered_json same = {
      {"schema", 1},
      {"scenario", "a \"b\"\n\xff"},
      {"none", nullptr},
      {"yes", true},
      {"count", std::uint64_t{1} << 63},
      {"below", -1},
      {"names", {"x", "y"}},
      {"empty", nlohmann::ordered_json::array()},
      {"inner", {{"a", 1}}},
      {"items", {{{"a", {1, 2}}}, nlohmann::ordered_json::object()}}};
  CHECK(section.json() ==
        same.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

TEST_CASE("a report becomes part of another one", "[viz][report]") {
  const JsonValue inner = JsonValue::of_text("{\n  \"a\": [\n    1\n  ]\n}\n").with("b", "c");
  CHECK(Section().say("inner", inner).json() ==
        "{\n  \"inner\": {\n    \"a\": [\n      1\n    ],\n    \"b\": \"c\"\n  }\n}\n");
  Section whole;
  whole.part(Section().say("a", 1, "one")).say("b", 2);
  CHECK(whole.json() == "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
  CHECK(whole.lines().empty());
}

TEST_CASE("the place of a finding names its patch, if it is in one", "[viz][report]") {
  CHECK(Section().at({3, 5, 0}).json() == "{\n  \"line\": 3,\n  \"column\": 5\n}\n");
  CHECK(Section().at({3, 5, 2}).json() ==
        "{\n  \"line\": 3,\n  \"column\": 5,\n  \"patch\": 2\n}\n");
}

TEST_CASE("words stand in a column after their labels, and are wrapped there", "[viz][report]") {
  Section section("answer");
  section.say("hangs", true, "in two of the three ways", "hangs").line("").line("always");
  CHECK(section.id() == "answer");
  CHECK(section.text(columns(33), 8) == "hangs   in two of the three ways\n        always\n");
  CHECK(section.text(columns(32), 8) == "hangs   in two of the three ways\n        always\n");
  CHECK(section.text(columns(31), 8) ==
        "hangs   in two of the three\n        ways\n        always\n");
}

TEST_CASE("a style colors the label only", "[viz][report]") {
  viz::TextOptions options;
  options.colour = true;
  CHECK(Section().line("yes", "hangs?", viz::ansi::kRed).text(options, 8) ==
        "\033[31;1mhangs?  \033[0myes\n");
}
