#include "features/record/record_line.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "formats/document/json_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/twin/random.hpp"

using namespace pipesim;
using formats::RecordField;
using formats::RecordLine;

namespace {

std::string fields_text(const RecordLine& line) {
  std::string text;
  for (const RecordField& field : line.fields()) {
    text += fmt::format("{}:", field.key);
    switch (field.kind) {
      case RecordField::Kind::kText:
        text += fmt::format("'{}' ", field.text);
        break;
      case RecordField::Kind::kInteger:
        text += fmt::format("{} ", field.integer);
        break;
      case RecordField::Kind::kIntegers:
        for (std::uint32_t i = field.first; i < field.end; ++i) {
          text += fmt::format("{},", line.integers()[i]);
        }
        break;
      case RecordField::Kind::kTrue:
      case RecordField::Kind::kFalse:
        text += field.kind == RecordField::Kind::kTrue ? "true " : "false ";
        break;
      case RecordField::Kind::kOther:
        field.value.for_each_item([&](const formats::YamlValue& item) {
          text += fmt::format("{},", item.integer<std::int64_t>().value_or(-99));
        });
    }
  }
  return text;
}

// Whether read_plain() accepts the line. If so, checks that the JSON reader finds the same fields.
bool is_plain_line(const std::string& text) {
  RecordLine line;
  if (!line.read_plain(text)) return false;
  const auto document = formats::read_json(text);
  REQUIRE(document);
  RecordLine other;
  other.read(document->root());
  CHECK(fields_text(line) == fields_text(other));
  return true;
}

}  // namespace

TEST_CASE("usual lines of records need no document", "[formats][record_line]") {
  for (const char* text :
       {R"({"record":1,"rank":0,"world":8})", R"({"a": "b", "c": -5, "d": true})",
        R"({"wait":[1, 2,3],"l":"l1"})", R"({"": 0})"}) {
    CAPTURE(text);
    CHECK(is_plain_line(text));
  }
  for (const char* text :
       {"", "{}", "[1]", R"({"a":"\n"})", R"({"a":{}})", R"({"a":[]})", R"({"a":["b"]})",
        R"({"a":1.5})", R"({"a":01})", R"({"a":-})", R"({"a":1} )", R"({"a":1)", R"({"a" :1})",
        R"({"a":null})", R"({"a":1234567890123456789})", "{\"a\":\"\u00e9\"}"}) {
    CAPTURE(text);
    CHECK_FALSE(is_plain_line(text));
  }
}

TEST_CASE("changed lines of records have the same fields as their documents",
          "[formats][record_line]") {
  const std::string line =
      R"({"call":"all_reduce","g":"g0","n":12,"to":[1,20],"type":"float32","sync":true,"k":-3})";
  const std::string bytes = " :-,[]{}\"a10.e\\";
  twin::Random random(1);
  int plain = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string changed = line;
    const auto at = static_cast<std::size_t>(random.below(static_cast<int>(line.size())));
    changed[at] = bytes[static_cast<std::size_t>(random.below(static_cast<int>(bytes.size())))];
    CAPTURE(changed);
    if (is_plain_line(changed)) ++plain;
  }
  CHECK(plain > 500);
}

TEST_CASE("the last field with a key counts", "[formats][record_line]") {
  RecordLine line;
  REQUIRE(line.read_plain(R"({"ab":1,"a":2,"ab":3})"));
  CHECK(line.find("ab")->integer == 3);
  CHECK(line.find("a")->integer == 2);
  CHECK(line.find("b") == nullptr);
  CHECK(line.fields()[0].is_known);
}
