#include "formats/document/plain_yaml.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
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

// Appends a value with the places, kinds and texts of all its parts.
void append_parts(const YamlValue& value, std::string& text) {
  text += fmt::format("{}:{}:{} ", value.place().file, value.place().line, value.place().column);
  if (value.is_scalar()) text += (value.quoted() ? "q" : "p") + std::string(value.text());
  if (value.is_null()) text += "null";
  if (value.is_list()) text += "[";
  if (value.is_map()) text += "{";
  value.for_each_item([&](const YamlValue& item) { append_parts(item, text); });
  text += "\n";
}

// Returns the parts of a text in the plain style; nullopt for other texts.
std::optional<std::string> plain_parts(const std::string& text) {
  YamlDocument document;
  formats::DocumentBuilder builder(document, 0);
  if (!formats::add_plain_yaml(text, builder)) return std::nullopt;
  std::string parts;
  append_parts(document.root(), parts);
  return parts;
}

// Returns the parts of a text as yaml-cpp reads it: a comment that is not ASCII is not plain.
std::string yaml_parts(const std::string& text) {
  const std::string with_comment = text + "\n# \u00e9\n";
  models::Diagnostics diagnostics;
  const auto document = YamlDocument::parse(with_comment, diagnostics);
  if (!document) return "invalid: " + diagnostics.sorted().front().message;
  std::string parts;
  append_parts(document->root(), parts);
  return parts;
}

bool is_plain(const std::string& text) {
  const std::optional<std::string> parts = plain_parts(text);
  if (parts) CHECK(*parts == yaml_parts(text));
  return parts.has_value();
}

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> paths;
  for (const char* folder : {"scenarios", "data/new"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    std::ifstream file(path);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

}  // namespace

TEST_CASE("plain YAML is read as yaml-cpp reads it", "[formats][plain_yaml]") {
  const std::vector<std::string> plain = {
      "a: 1\n",
      "a: 1",
      "\n# first\na: b c  # last\n\nd: -5\n",
      "a:\n  b: 1\n  c:\n    - x\n    - y: 1\n      z: 2\n\n    - - 1\n      - 2\nd: 3\n",
      "a: {b: 1, c: [x, y z, {d: 'e, f'}], g: []}\n",
      "a: [b,\n    c]\n",
      "a: {b:\n  c}\n",
      "\"a b\": \"c: d # e\"\n'f': ''\n",
      "on: rank % 8 != 0\nat: train.py:11\nx: (a + b) * 2 <= 4, or else\n",
      "- a\n- {b: c}\n-\n  d: e\n- - f\n",
      "a:  # comment\n  b: c#d\n",
      "a: x:y\nb: {c: x:y}\n",
  };
  for (const std::string& text : plain) {
    CAPTURE(text);
    CHECK(is_plain(text));
  }
}

TEST_CASE("unusual YAML is left to yaml-cpp", "[formats][plain_yaml]") {
  const std::vector<std::string> unusual = {
      "",           "a",         "a:\n",          "a: ~\n",        "a: null\n",      "a: b\n c\n",
      "a: |\n b",   "a: &x b\n", "a: *x\n",       "a: !t b\n",     "--- \na: b\n",   "a: b\n...\n",
      "a:\tb\n",    "a: b\r\n",  "a: \"\\n\"\n",  "a: 'b''c'\n",   "a: b: c\n",      "a: [b\nc]\n",
      "a: [b",      "a: [b: c]", "a: {b}\n",      "a: [b, ]\n",    "a: b\n  c: d\n", "a:\n- b\n",
      " a: b\n",    "? a\n: b",  "a: [b c\n  d]", "a: {b: c} d\n", "a: \"b\" c\n",   "a : b\n",
      "a: \u00e9\n"};
  for (const std::string& text : unusual) {
    CAPTURE(text);
    CHECK_FALSE(is_plain(text));
  }
}

TEST_CASE("scenarios are plain, also with changed bytes", "[formats][plain_yaml]") {
  const std::string bytes = " \n:-#,[]{}'\"a1.?&*!|>%@`~";
  twin::Random random(1);
  std::size_t plain = 0;
  std::size_t changed_plain = 0;
  const std::vector<std::string> texts = shipped_scenarios();
  for (const std::string& text : texts) {
    if (is_plain(text)) ++plain;
    if (text.size() > 4000) continue;
    for (int i = 0; i < 40; ++i) {
      std::string changed = text;
      const auto at = static_cast<std::size_t>(random.below(static_cast<int>(text.size())));
      const char byte =
          bytes[static_cast<std::size_t>(random.below(static_cast<int>(bytes.size())))];
      if (random.below(2) == 0) {
        changed[at] = byte;
      } else {
        changed.insert(at, 1, byte);
      }
      CAPTURE(changed);
      if (is_plain(changed)) ++changed_plain;
    }
  }
  CHECK(2 * plain > texts.size());
  CHECK(changed_plain > 100);
}
