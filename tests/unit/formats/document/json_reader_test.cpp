#include "formats/document/json_reader.hpp"

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

// Appends the value and all values in it to `text`, each with its place and kind.
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

// Reads the text with yaml-cpp: the comment at the end is not JSON.
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
TEST_CASE("strings of JSON are parts of its text", "[formats][json_reader]") {
  const std::string text = R"({"a": "without escapes", "b": "with \u0065scapes"})";
  models::Diagnostics diagnostics;
  const auto document = YamlDocument::parse(text, diagnostics);
  REQUIRE(document);
  const std::vector<YamlValue::Entry> entries = document->root().entries();
  CHECK(entries.at(0).value.text().data() == text.data() + text.find("without"));
  CHECK(entries.at(1).value.text() == "with escapes");
}

TEST_CASE("JSON gives the values and places that it gives as YAML", "[formats][json_reader]") {
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    const std::string text = RandomJson(seed).object(4);
    INFO(text);
    const std::string found = read(text);
    CHECK(found == read_as_yaml(text));
    CHECK(found.find('{') != std::string::npos);
  }
}

TEST_CASE("strings of JSON mean what RFC 8259 says", "[formats][json_reader]") {
  CHECK(read(R"({"a\/\u0041": "\t\"\ud83d\ude00", "b": "1", "c": 1})") ==
        "1:1 {1:2 qa/A\n1:15 q\t\"\xF0\x9F\x98\x80\n1:35 qb\n1:40 q1\n1:45 qc\n1:50 p1\n]\n");
}

TEST_CASE("what is nearly JSON is read as YAML", "[formats][json_reader]") {
  for (const char* text : {"{\"a\": 1us}", "{\"a\": 1,}", "{a: 1}", "{'a': 1}", "{\"a\": [1,]}",
                           "{\"a\": 01}", "{\"a\": +1}", "{\"a\": .5}", "{\"a\": yes}", "{\"a\": }",
                           "{\"a\"}", "{\"a\": -}", "{\"a\": tru}"}) {
    INFO(text);
    CHECK(read(text) == read_as_yaml(text));
    CHECK(read(text).substr(0, 4) == "1:1 ");
  }
}

TEST_CASE("broken JSON gets the messages of YAML", "[formats][json_reader]") {
  for (const char* text : {"{", "{\"a\": [1}", "{\"a\": 1} 2", "{\"a\": 1}}", "{\"a\": 1",
                           "{\"a\": \"\\x\"}", "{\"a\": \"\xFF\"}", "{\"a\" 1: [}"}) {
    INFO(text);
    CHECK(read(text) == read_as_yaml(text));
    CHECK(read(text).find('{') == std::string::npos);
  }
}

TEST_CASE("JSON that nests too deep is refused where it does", "[formats][json_reader]") {
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

namespace {

// Returns the values of a JSON file, or its mistake.
std::string read_file(const std::string& text) {
  models::Diagnostics diagnostics;
  const auto document = formats::read_json(text, {"a list of things", models::Code::kOwnFile},
                                           diagnostics, {7, 1, 3});
  std::string result;
  if (document) append(document->root(), result);
  for (const models::Diagnostic& it : diagnostics.sorted()) {
    result += fmt::format("{}:{}:{} {}", it.place.file, it.place.line, it.place.column, it.message);
  }
  return result;
}

}  // namespace

TEST_CASE("a JSON file can be any value", "[formats][json_reader]") {
  CHECK(read_file("[1, \"a\"]") == "7:1 [7:2 p1\n7:5 qa\n]\n");
  CHECK(read_file("\xEF\xBB\xBF null\n") == "7:5 null\n");
  CHECK(read_file("-0.5E+3") == "7:1 p-0.5E+3\n");
}

TEST_CASE("a mistake in a JSON file is at its first wrong byte", "[formats][json_reader]") {
  const std::string invalid = " not a list of things: invalid JSON";
  CHECK(read_file("{\n \"a\" 1}") == "3:8:6" + invalid);
  CHECK(read_file("[1,]") == "3:7:4" + invalid);
  CHECK(read_file("[tru]") == "3:7:5" + invalid);
  CHECK(read_file("[01]") == "3:7:3" + invalid);
  CHECK(read_file("[1.x]") == "3:7:4" + invalid);
  CHECK(read_file("[NaN]") == "3:7:2" + invalid);
  CHECK(read_file("[-Infinity]") == "3:7:3" + invalid);
  CHECK(read_file("['a']") == "3:7:2" + invalid);
  CHECK(read_file("[\"\\x\"]") == "3:7:4" + invalid);
  CHECK(read_file("[\"\\ud83dx\"]") == "3:7:9" + invalid);
  CHECK(read_file("[\"a\tb\"]") == "3:7:4" + invalid);
  CHECK(read_file("[1] 2") == "3:7:5" + invalid);
  CHECK(read_file("[\"a\xFF\"]") == "3:7:4 not a list of things: invalid UTF-8");
  CHECK(read_file("[2, 1e999]") == "3:7:5 invalid list of things: a number is too large");
  CHECK(read_file("[1e-999]") == "7:1 [7:2 p1e-999\n]\n");
}

TEST_CASE("a truncated JSON file says so at its end", "[formats][json_reader]") {
  const std::string truncated = " truncated list of things: it ends too early";
  const std::string whole = R"({"a": [1, true, "b\u00e9"]})";
  CHECK(read_file("") == "3:7:1" + truncated);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    CHECK(read_file(whole.substr(0, size)) == fmt::format("3:7:{}", size + 1) + truncated);
  }
}

TEST_CASE("a value of a document is asked for by key and type", "[formats][json_reader]") {
  const std::string text = R"({"n": 5, "big": 9223372036854775808, "real": 1.0, "text": "5",
                               "yes": true, "no": false, "nothing": null, "n": 6})";
  const auto document = formats::read_json(text);
  REQUIRE(document);
  const YamlValue root = document->root();
  CHECK(root.find("n")->integer<int>() == 6);  // the last one counts
  CHECK(root.find("big")->integer<std::int64_t>() == std::nullopt);
  CHECK(root.find("big")->integer<std::uint64_t>() == std::uint64_t{1} << 63U);
  CHECK(root.find("real")->integer<int>() == std::nullopt);
  CHECK(root.find("text")->integer<int>() == std::nullopt);
  CHECK(root.find("text")->is_text());
  CHECK_FALSE(root.find("n")->is_text());
  CHECK(root.find("yes")->truth() == true);
  CHECK(root.find("no")->truth() == false);
  CHECK(root.find("text")->truth() == std::nullopt);
  CHECK(root.find("nothing")->is_null());
  CHECK_FALSE(root.find("other"));
  CHECK_FALSE(root.find("n")->find("x"));
}
