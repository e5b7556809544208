#include <string>
#include <vector>

#include <fmt/format.h>

#include "formats/document/yaml_document.hpp"
#include "tests/support/catch.hpp"
#include "tests/twin/random.hpp"

using namespace pipesim;
using formats::YamlDocument;
using formats::YamlValue;

namespace {

// Appends each value with its place, kind and text.
void append(const YamlValue& value, std::string& text) {
  const models::Place place = value.place();
  text += fmt::format("{}:{} ", place.line, place.column);
  if (value.is_scalar()) text += (value.quoted() ? "q" : "p") + std::string(value.text());
  if (value.is_null()) text += "null";
  if (value.is_list() || value.is_map()) {
    text += value.is_list() ? "[" : "{";
    for (const YamlValue& item : value.items()) append(item, text);
    text += "]";
  }
  text += "\n";
}

std::string read(const std::string& text) {
  models::Diagnostics diagnostics;
  const auto document = YamlDocument::parse(text, diagnostics);
  std::string result;
  if (document) append(document->root(), result);
  for (const models::Diagnostic& it : diagnostics.sorted()) {
    result += fmt::format("{}:{} {}\n", it.place.line, it.place.column, it.message);
  }
  return result;
}

// Appends a comment, which JSON does not have, so that yaml-cpp reads the text.
std::string read_as_yaml(const std::string& text) { return read(text + " # not JSON"); }

class RandomJson {
 public:
  explicit RandomJson(std::uint64_t seed) : random_(seed) {}

  std::string object(int depth) {
    std::string text = "{" + space();
    for (int i = 0, count = random_.below(4); i < count; ++i) {
      text += (i == 0 ? "" : "," + space()) + string() + space_of_key() + ":" + space() +
              value(depth) + space();
    }
    return text + "}";
  }

 private:
  std::string one_of(const std::vector<std::string>& all) {
    return all[static_cast<std::size_t>(random_.below(static_cast<int>(all.size())))];
  }
  // Returns space for the place between a key and its colon, where YAML allows no line break.
  std::string space_of_key() { return one_of({"", "", " "}); }
  std::string space() { return one_of({"", "", "", " ", "  ", "\n", "\n  ", "\r\n "}); }
  std::string string() {
    std::string text;
    for (int i = random_.below(4); i > 0; --i) {
      text += one_of({"a", "B7", " x", R"(\")", R"(\\)", R"(\n)", R"(\u00e9)", "ö", "{", "]", ":",
                      "null", "#", ", "});
    }
    return "\"" + text + "\"";
  }
  std::string list(int depth) {
    std::string text = "[" + space();
    for (int i = 0, count = random_.below(4); i < count; ++i) {
      text += (i == 0 ? "" : "," + space()) + value(depth) + space();
    }
    return text + "]";
  }
  std::string value(int depth) {
    const int kind = random_.below(depth > 0 ? 6 : 3);
    if (kind == 0) return string();
    if (kind <= 2) return one_of({"0", "-1", "12", "1.5e3", "true", "false", "null"});
    return kind == 3 ? list(depth - 1) : object(depth - 1);
  }

  twin::Random random_;
};

}  // namespace

// Copies of the strings would double the memory of a large file.
TEST_CASE("strings of JSON are parts of its text", "[formats][json_values]") {
  const std::string text = R"({"a": "without escapes", "b": "with \u0065scapes"})";
  models::Diagnostics diagnostics;
  const auto document = YamlDocument::parse(text, diagnostics);
  REQUIRE(document);
  const std::vector<YamlValue::Entry> entries = document->root().entries();
  CHECK(entries.at(0).value.text().data() == text.data() + text.find("without"));
  CHECK(entries.at(1).value.text() == "with escapes");
}

TEST_CASE("JSON gives the values and places that it gives as YAML", "[formats][json_values]") {
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    const std::string text = RandomJson(seed).object(4);
    INFO(text);
    const std::string found = read(text);
    CHECK(found == read_as_yaml(text));
    CHECK(found.find('{') != std::string::npos);
  }
}

TEST_CASE("strings of JSON mean what RFC 8259 says", "[formats][json_values]") {
  CHECK(read(R"({"a\/\u0041": "\t\"\ud83d\ude00", "b": "1", "c": 1})") ==
        "1:1 {1:2 qa/A\n1:15 q\t\"\xF0\x9F\x98\x80\n1:35 qb\n1:40 q1\n1:45 qc\n1:50 p1\n]\n");
}

TEST_CASE("what is nearly JSON is read as YAML", "[formats][json_values]") {
  for (const char* text : {"{\"a\": 1us}", "{\"a\": 1,}", "{a: 1}", "{'a': 1}", "{\"a\": [1,]}",
                           "{\"a\": 01}", "{\"a\": +1}", "{\"a\": .5}", "{\"a\": yes}", "{\"a\": }",
                           "{\"a\"}", "{\"a\": -}", "{\"a\": tru}"}) {
    INFO(text);
    CHECK(read(text) == read_as_yaml(text));
    CHECK(read(text).substr(0, 4) == "1:1 ");
  }
}

TEST_CASE("broken JSON gets the messages of YAML", "[formats][json_values]") {
  for (const char* text : {"{", "{\"a\": [1}", "{\"a\": 1} 2", "{\"a\": 1}}", "{\"a\": 1",
                           "{\"a\": \"\\x\"}", "{\"a\": \"\xFF\"}", "{\"a\" 1: [}"}) {
    INFO(text);
    CHECK(read(text) == read_as_yaml(text));
    CHECK(read(text).find('{') == std::string::npos);
  }
}

TEST_CASE("JSON that nests too deep is refused where it does", "[formats][json_values]") {
  const std::string deep = "{\"a\": " + std::string(100, '[') + std::string(100, ']') + "}";
  CHECK(read(deep) == "1:106 nested more than 100 deep\n");
  CHECK(read(deep) == read_as_yaml(deep));
}

TEST_CASE("entries that are not released stay") {
  constexpr std::size_t kEntries = 5000;
  std::string text = "{";
  for (std::size_t i = 0; i < kEntries; ++i) {
    text += fmt::format("{}\"k{}\": [{}, {{\"v\": \"{}\"}}]", i == 0 ? "" : ",\n", i, i, i);
  }
  text += "}";
  const std::string all = read(text);
  models::Diagnostics diagnostics;
  std::optional<YamlDocument> document = YamlDocument::parse(text, diagnostics);
  REQUIRE(document);
  std::vector<YamlValue::Entry> kept;
  std::size_t at = 0;
  document->root().for_each_entry([&](const YamlValue::Entry& entry) {
    // Releases long and short runs of entries, with one or more entries kept between the runs.
    const bool stays = at % 1500 == 0 || (at > 3200 && at % 5 < 2);
    if (stays) kept.push_back(entry);
    if (!stays) document->release(entry);
    ++at;
  });
  CHECK(at == kEntries);
  std::size_t from = 0;
  for (const YamlValue::Entry& entry : kept) {
    std::string told;
    append(entry.key, told);
    append(entry.value, told);
    from = all.find(told, from);
    REQUIRE(from != std::string::npos);
  }
}
