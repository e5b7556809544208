// The schema and the readers know the same keys and the same words, both ways. Neither list is
// written here: candidates are all words that stand as literals in the sources of the readers, and
// what of these a reader takes is asked of it, in the probes of tests/support/schema_probes.txt.
#include "formats/scenario/scenario_schema.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;

namespace {

using Json = nlohmann::json;
using Words = std::set<std::string>;

// Where a probe takes what is tried.
constexpr char kHere = '@';
// What no reader knows.
const std::string kUnknown = "zzz_unknown";

const Json& schema() {
  static const Json kSchema = Json::parse(formats::scenario_schema());
  return kSchema;
}

/// The probes of a kind, "object" or "words": what they are of, and their scenario.
std::vector<std::pair<std::string, std::string>> probes(const std::string& kind) {
  std::vector<std::pair<std::string, std::string>> result;
  std::string text = testing::file_text("tests/support/schema_probes.txt");
  text += "== ";
  const std::string head = "== " + kind + " ";
  for (std::size_t at = 0; text.compare(at, 3, "== ") == 0;) {
    const std::size_t line = text.find('\n', at);
    if (line == std::string::npos) break;
    const std::size_t end = text.find("\n== ", line) + 1;
    if (text.compare(at, head.size(), head) == 0) {
      result.emplace_back(text.substr(at + head.size(), line - at - head.size()),
                          text.substr(line + 1, end - line - 1));
    }
    at = end;
  }
  return result;
}

// What is tried stands in a line, or in lines of its own.
std::string filled(std::string probe, const std::string& what) {
  const std::size_t here = probe.find(kHere);
  const bool in_lines = here > 0 && probe[here - 1] == '\n';
  return probe.replace(here, 1, in_lines ? std::regex_replace(what, std::regex(", "), "\n") : what);
}

std::vector<std::string> messages(const std::string& scenario) {
  models::Diagnostics diagnostics;
  formats::read_scenario(scenario, {}, diagnostics);
  std::vector<std::string> found;
  for (const models::Diagnostic& item : diagnostics.sorted()) {
    found.push_back(item.message);
    for (const std::string& note : item.notes) found.push_back(note);
  }
  return found;
}

/// What is refused as a key, and of what.
std::map<std::string, std::string> unknown_keys(const std::string& scenario) {
  static constexpr std::string_view kPhrase = " has no key '";
  std::map<std::string, std::string> keys;
  for (const std::string& message : messages(scenario)) {
    const std::size_t at = message.find(kPhrase);
    if (at == std::string::npos) continue;
    const std::size_t key = at + kPhrase.size();
    keys[message.substr(key, message.size() - key - 1)] = message.substr(0, at);
  }
  return keys;
}

/// Whether the readers refuse neither `key` nor, because of it, what stands in the object already.
bool is_taken(const std::string& probe, const std::string& key) {
  return unknown_keys(filled(probe, key + ": 1")).empty();
}

/// The same, and the readers read on to the end.
bool is_taken_among_others(const std::string& probe, const std::string& key) {
  const auto refused = unknown_keys(filled(probe, key + ": 1, " + kUnknown + ": 1"));
  return refused.size() == 1 && refused.count(kUnknown) == 1;
}

/// All literals of the sources in `folder` that could be keys.
void collect_literals(const std::string& folder, Words& words) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
  };
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string ending = entry.path().extension().string();
    if (ending != ".cpp" && ending != ".hpp") continue;
    const std::string text = testing::file_text(entry.path().string());
    // Between any two quotes: what stands between two literals is no word, so that this is all.
    for (std::size_t at = text.find('"'); at != std::string::npos;) {
      const std::size_t end = text.find('"', at + 1);
      if (end == std::string::npos) break;
      const std::string word = text.substr(at + 1, end - at - 1);
      const bool good = std::all_of(word.begin(), word.end(), fits) &&
                        std::any_of(word.begin(), word.end(), is_letter);
      if (good) words.insert(word);
      at = end;
    }
  }
}

Words keys_of(const Json& object) {
  Words keys;
  for (const auto& [key, value] : object["properties"].items()) keys.insert(key);
  return keys;
}

/// The objects of the schema that have keys of their own, with these.
const std::map<std::string, Words>& objects() {
  static const std::map<std::string, Words> kObjects = [] {
    std::map<std::string, Words> result = {{"scenario", keys_of(schema())}};
    for (const auto& [name, definition] : schema()["definitions"].items()) {
      if (definition.value("additionalProperties", Json()) == Json(false)) {
        result.emplace(name, keys_of(definition));
      }
    }
    return result;
  }();
  return kObjects;
}

Words all_keys() {
  Words all;
  for (const auto& [name, keys] : objects()) all.insert(keys.begin(), keys.end());
  return all;
}

/// Whether `key` makes of an object with `keys` another one of the schema, which has all of them:
/// `repeat` of a block.
bool makes_another(Words keys, const std::string& key) {
  keys.insert(key);
  return std::any_of(objects().begin(), objects().end(), [&](const auto& other) {
    return std::includes(other.second.begin(), other.second.end(), keys.begin(), keys.end());
  });
}

/// How many objects with keys of their own stand in `value`.
std::size_t count_objects(const Json& value) {
  std::size_t count = 0;
  if (value.is_object() && value.value("additionalProperties", Json()) == Json(false)) ++count;
  if (value.is_structured()) {
    for (const Json& inner : value) count += count_objects(inner);
  }
  return count;
}

/// Of the words of a list in the schema.
Words words_of(const std::string& name) {
  Words words;
  for (const Json& word : schema()["definitions"][name]["anyOf"][0]["enum"]) {
    words.insert(word.get<std::string>());
  }
  return words;
}

/// The lists of words in the schema, which also take $ and a parameter.
Words word_lists() {
  Words names;
  for (const auto& [name, definition] : schema()["definitions"].items()) {
    const Json& forms = definition.value("anyOf", Json::array());
    const bool of_words =
        forms.size() == 3 && forms[0].contains("enum") && forms[1].value("pattern", "") == "^\\$.";
    if (of_words) names.insert(name);
  }
  return names;
}

/// Whether the readers say that they do not know `word`.
bool is_refused(const std::vector<std::string>& messages, const std::string& word) {
  const std::regex refusal("(?:.*, found|there is no [a-z ]+|the cluster has no [a-z ]+) '" + word +
                           "'");
  return std::any_of(messages.begin(), messages.end(), [&](const std::string& message) {
    return std::regex_match(message, refusal);
  });
}

/// The words that the readers say they do know: "expected one of a, b, found 'c'".
Words listed_words(const std::vector<std::string>& messages) {
  static const std::regex kList(
      "(?:expected|option '.*' is) one of (.*), found '.*'|known here: (.*)|the kinds are (.*)");
  static const std::regex kBetween("'?(?:, | and )'?");
  Words words;
  for (const std::string& message : messages) {
    std::smatch parts;
    if (!std::regex_match(message, parts, kList)) continue;
    std::string list = parts[1].str() + parts[2].str() + parts[3].str();
    if (list.front() == '\'') list = list.substr(1, list.size() - 2);
    for (std::sregex_token_iterator at(list.begin(), list.end(), kBetween, -1), end; at != end;
         ++at) {
      words.insert(*at);
    }
  }
  return words;
}

template <typename Items>
Words names_of(const Items& items) {
  Words names;
  for (const auto& [name, item] : items) names.insert(name);
  return names;
}

}  // namespace

TEST_CASE("every object and every list of words of the schema has its probe", "[schema]") {
  CHECK(names_of(probes("object")) == names_of(objects()));
  CHECK(names_of(probes("words")) == word_lists());
  // None stands where it has no name and no probe.
  CHECK(count_objects(schema()) == objects().size());
  for (const auto& [name, probe] : probes("object")) {
    CAPTURE(name, probe);
    CHECK(unknown_keys(filled(probe, "")).empty());
    CHECK(unknown_keys(filled(probe, kUnknown + ": 1")).count(kUnknown) == 1);
  }
}

TEST_CASE("every map that a reader reads is in the schema", "[schema]") {
  Words known;
  for (const auto& [name, probe] : probes("object")) {
    for (const auto& [key, of] : unknown_keys(filled(probe, kUnknown + ": 1"))) known.insert(of);
  }
  Words read;
  const std::regex reader("MapReader \\w+\\([^\"]*\"([^\"]+)\"");
  for (const auto& entry : std::filesystem::recursive_directory_iterator("formats")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = testing::file_text(entry.path().string());
    for (std::sregex_iterator at(text.begin(), text.end(), reader), end; at != end; ++at) {
      read.insert((*at)[1]);
    }
  }
  CHECK(read.size() > 30);
  read.erase("pass '{}'");  // these are in the schema by their names: the map 'passes' has them
  for (const std::string& what : read) {
    CAPTURE(what);
    CHECK(known.count(what) == 1);
  }
}

TEST_CASE("every key of the schema is one of the readers", "[schema]") {
  std::map<std::string, Words> taken;
  for (const auto& [name, probe] : probes("object")) {
    for (const std::string& key : objects().at(name)) {
      if (is_taken(probe, key)) taken[name].insert(key);
    }
  }
  for (const auto& [name, keys] : objects()) {
    CAPTURE(name);
    CHECK(taken[name] == keys);
  }
}

TEST_CASE("every key of the readers is one of the schema", "[schema]") {
  Words candidates;
  collect_literals("formats", candidates);
  collect_literals("models", candidates);
  const Words somewhere = all_keys();
  for (const std::string& key : somewhere) {
    CAPTURE(key);
    CHECK(candidates.count(key) == 1);
  }
  std::string nowhere;  // keys of no object at all, tried together
  Words refused = {kUnknown};
  for (const std::string& word : candidates) {
    if (somewhere.count(word) > 0) continue;
    nowhere += "'" + word + "': 1, ";  // in quotes null is one, too
    refused.insert(word);
  }
  CHECK(refused.size() > 200);
  for (const auto& [name, probe] : probes("object")) {
    CAPTURE(name, probe);
    Words left = refused;
    for (const auto& [key, of] : unknown_keys(filled(probe, nowhere + kUnknown + ": 1")))
      left.erase(key);
    CAPTURE(left);
    CHECK(left.empty());
    const Words& keys = objects().at(name);
    for (const std::string& key : somewhere) {
      if (keys.count(key) > 0 || makes_another(keys, key)) continue;
      CAPTURE(key);
      CHECK_FALSE(is_taken_among_others(probe, key));
    }
  }
}

TEST_CASE("the words of the schema are those of the readers", "[schema]") {
  for (const auto& [name, probe] : probes("words")) {
    CAPTURE(name, probe);
    const Words words = words_of(name);
    for (const std::string& word : words) {
      CAPTURE(word);
      CHECK_FALSE(is_refused(messages(filled(probe, word)), word));
    }
    const std::vector<std::string> answer = messages(filled(probe, kUnknown));
    CHECK(is_refused(answer, kUnknown));
    const Words listed = listed_words(answer);
    CHECK_FALSE(listed.empty());
    CHECK(std::includes(words.begin(), words.end(), listed.begin(), listed.end()));
  }
}

TEST_CASE("what can be the name of a parameter is the same for both", "[schema]") {
  Words names = {"a", "A1", "_", "1a", "a-b", "rank_", "Rank"};
  collect_literals("formats", names);
  const std::regex pattern(
      schema()["properties"]["params"]["propertyNames"]["pattern"].get<std::string>());
  for (const std::string& name : names) {
    CAPTURE(name);
    const bool good = messages("schema: 1\nactors: {}\nparams: {'" + name + "': 1}\n").empty();
    CHECK(good == std::regex_match(name, pattern));
  }
}
