#include "features/oneflow/text_proto.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using formats::TextProto;

namespace {

TextProto read(const std::string& text) {
  models::Diagnostics diagnostics;
  auto tree = formats::read_text_proto(text, diagnostics);
  INFO(testing::text_of(diagnostics));
  REQUIRE(tree);
  return std::move(*tree);
}

std::string proto_problem(const std::string& text) {
  models::Diagnostics diagnostics;
  if (formats::read_text_proto(text, diagnostics)) return "read";
  CHECK(diagnostics.error_count() == 1);
  return testing::text_of(diagnostics);
}

// Returns the values of all fields with this name.
std::vector<std::string> values(const std::string& text, const std::string& name) {
  const TextProto tree = read(text);
  std::vector<std::string> result;
  for (const auto field : tree.all(0, name)) result.push_back(tree.text(field));
  return result;
}

std::string string_of(const std::string& literal) { return values("s: " + literal, "s").at(0); }

}  // namespace

TEST_CASE("fields of a text proto are found in all ways of writing", "[formats][text_proto]") {
  const std::string text =
      "# a comment\n"
      "a: 1, a: 2; b { c < d: kWord > }\n"
      "a: [3, 4] m [{ x: 5 }, < x: 6 >] empty: [] [pkg.ext]: inf\n"
      "b: { c { d: -1.5e+3 } c { d: true } }";
  const TextProto tree = read(text);
  CHECK(values(text, "a") == std::vector<std::string>{"1", "2", "3", "4"});
  REQUIRE(tree.all(0, "m").size() == 2);
  CHECK(tree.text(*tree.find(tree.all(0, "m")[1], "x")) == "6");
  CHECK(values(text, "[pkg.ext]") == std::vector<std::string>{"inf"});
  CHECK(tree.all(0, "empty").empty());
  CHECK(tree.text(*tree.find(tree.all(0, "b")[0], {"c", "d"})) == "kWord");
  CHECK(tree.text(*tree.find(0, {"b", "c", "d"})) == "true");  // the last field of each name
  CHECK_FALSE(tree.find(0, {"b", "d"}));
  CHECK(tree.place(*tree.find(0, {"m", "x"})) == models::Place{3, 26});
  CHECK(read("").all(0, "a").empty());
}

TEST_CASE("strings of a text proto say what their escapes stand for", "[formats][text_proto]") {
  CHECK(string_of(R"("a\tb\n\"\'\\")") == "a\tb\n\"'\\");
  CHECK(string_of(R"('\351\230\237 \xe9\x98\x9F')") == "\u961f \u961f");
  CHECK(string_of(R"("\u961f\U0001F600")") == "\u961f\U0001F600");
  CHECK(string_of("\"a#b\" # and\n  'c\"' \"\"") == "a#bc\"");
}

TEST_CASE("integers of a text proto have to fit", "[formats][text_proto]") {
  const auto integer = [](const std::string& value) {
    const std::string text = "n: " + value;
    const TextProto tree = read(text);
    return tree.integer(*tree.find(0, "n"));
  };
  CHECK(integer("0") == 0);
  CHECK(integer("-12") == -12);
  CHECK(integer("0x1F") == 31);
  CHECK(integer("017") == 15);
  CHECK(integer("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  for (const char* other : {"9223372036854775808", "1.5", "kWord", "\"1\"", "08", "0x", "{}"}) {
    INFO(other);
    CHECK_FALSE(integer(other));
  }
}

TEST_CASE("what is no text proto is reported with its place", "[formats][text_proto]") {
  CHECK(proto_problem("a {\n  b: 1\n") == "3:1: unexpected end of file: expected '}'\n");
  CHECK(proto_problem("a: 1\n}") == "2:1: expected the name of a field, found '}'\n");
  CHECK(proto_problem("a 1") == "1:3: 'a' needs ':' and a value, or '{': found '1'\n");
  CHECK(proto_problem("a:\n  ]") ==
        "2:3: 'a' needs a value (a number, a word, a string or a message), found ']'\n");
  CHECK(proto_problem("a: [1\n  2]") == "2:3: expected ',' or ']', found '2'\n");
  CHECK(proto_problem("a: \"b\nc\"") == "1:4: unterminated string\n");
  CHECK(proto_problem("a: 'b\\q'") == "1:6: unknown escape '\\q'\n");
  CHECK(proto_problem("a: '\\u12'") == "1:5: unknown escape '\\u'\n");
  CHECK(proto_problem("[a.b: 1") == "1:1: expected ']' to close the name of an extension\n");
  CHECK(proto_problem("a: -") ==
        "1:4: 'a' needs a value (a number, a word, a string or a message), found '-'\n");
  CHECK(proto_problem("\xe9t\xe9: 1") ==
        "1:1: expected the name of a field, found the byte 0xe9\n");
  CHECK(proto_problem("a: {>") == "1:5: expected the name of a field, found '>'\n");
  CHECK(proto_problem(std::string("a: 1 \0 b: 2", 11)) ==
        "1:6: expected the name of a field, found '?'\n");
}

TEST_CASE("a text proto may not be too deep", "[formats][text_proto]") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "a{";
  CHECK(proto_problem(text + std::string(100, '}')) == "read");
  CHECK(proto_problem(text + "a{" + std::string(101, '}')) ==
        "1:202: more than 100 nested messages\n");
  std::string lists;
  for (int i = 0; i < 1'000'000; ++i) lists += "a[{";
  CHECK(proto_problem(lists) == "1:303: more than 100 nested messages\n");
}

TEST_CASE("each beginning of a text proto is read or refused", "[formats][text_proto]") {
  const std::string text =
      "a { b: [1, 'x\\n' \"y\"] [e]: -0x1 # c\n c < d: 1.5e-3; > }, f: '\\351'";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    models::Diagnostics diagnostics;
    const std::string part = text.substr(0, size);
    const auto tree = formats::read_text_proto(part, diagnostics);
    CHECK(tree.has_value() != diagnostics.has_errors());
  }
}
