// Checks that the tables of keys, the readers and the reference page agree.
#include "formats/scenario/keys.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/scenario/scenario.hpp"
#include "models/graph/diagnostics.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/scenario.hpp"

using namespace pipesim;
using formats::Key;
using formats::KeyTable;

namespace {

const std::string kUnknown = "zzz_unknown";

/// A key table, and a scenario with '@' where a map of this table can have another key.
struct Probe {
  const KeyTable* table;
  std::string scenario;
};

std::vector<Probe> probes() {
  std::map<std::string, const KeyTable*, std::less<>> tables;
  for (const KeyTable* table : formats::keys::all_tables())
    tables[std::string(table->name)] = table;
  std::vector<Probe> result;
  const std::string text = testing::file_text("tests/support/schema_probes.txt");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::size_t space = text.find(' ', at);
    const std::string name = text.substr(at, space - at);
    REQUIRE(tables.count(name) == 1);
    result.push_back({tables[name], text.substr(space + 1, end - space - 1)});
    at = end + 1;
  }
  return result;
}

std::string filled(std::string probe, const std::string& what) {
  return probe.replace(probe.find('@'), 1, what);
}

std::vector<std::string> messages(const std::string& scenario) {
  models::Diagnostics diagnostics;
  formats::read_scenario(scenario, {}, diagnostics);
  std::vector<std::string> found;
  for (const models::Diagnostic& item : diagnostics.sorted()) found.push_back(item.message);
  return found;
}

bool says(const std::vector<std::string>& messages, const std::string& part) {
  return std::any_of(messages.begin(), messages.end(), [&](const std::string& message) {
    return message.find(part) != std::string::npos;
  });
}

/// Whether a reader accepts `key`: it reports neither an unknown key nor a conflict with other
/// keys.
bool is_taken(const std::string& probe, const std::string& key) {
  const auto answer = messages(filled(probe, key + ": 1"));
  return !says(answer, "unknown key") && !says(answer, "does not go with");
}

std::string type_text(std::string_view type) {
  if (type.ends_with('?') || type.ends_with('*')) type.remove_suffix(1);
  std::string text;
  bool word = false;
  for (const char c : type) {
    if (c == '\'') {
      text += '`';
      word = !word;
    } else if (c == '[' || c == '{') {
      text += c == '[' ? "list of " : "map of ";
    } else if (c == '|') {
      text += " or ";
    } else if (c == '~') {
      text += "`~`";
    } else if (c == '_' && !word) {
      text += ' ';
    } else if (std::string_view("]}+*?").find(c) == std::string_view::npos) {
      text += c;
    }
  }
  return text;
}

/// Returns the table as the reference page shows it.
std::string page_table(const KeyTable& table) {
  std::string text = "| key | type | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const Key& key : table.own) {
    text += "| `" + std::string(key.name) + "` | " + type_text(key.type) + " | " +
            std::string(key.otherwise) + " | " + std::string(key.meaning) + " |\n";
  }
  return text;
}

// Returns the page with the tables of the keys that it names, and removes these from `missing`.
std::string with_tables(const std::string& page,
                        std::map<std::string, const KeyTable*, std::less<>>& missing) {
  const std::string begin = "<!-- keys: ";
  const std::string end = "<!-- end -->\n";
  std::string expected;
  std::size_t at = 0;
  for (std::size_t mark = page.find(begin); mark != std::string::npos;
       mark = page.find(begin, at)) {
    const std::size_t line = page.find('\n', mark) + 1;
    const std::string name =
        page.substr(mark + begin.size(), page.find(" -->", mark) - mark - begin.size());
    CAPTURE(name);
    REQUIRE(missing.count(name) == 1);
    expected += page.substr(at, line - at) + page_table(*missing[name]);
    missing.erase(name);
    at = page.find(end, line);
    REQUIRE(at != std::string::npos);
  }
  return expected + page.substr(at);
}

}  // namespace

TEST_CASE("every key of the tables is read, and no other", "[keys]") {
  std::map<std::string_view, std::set<std::string>> taken;
  for (const auto& [table, probe] : probes()) {
    CAPTURE(table->name, probe);
    CHECK_FALSE(says(messages(filled(probe, "")), "unknown key"));
    CHECK(says(messages(filled(probe, kUnknown + ": 1")),
               "unknown key '" + kUnknown + "' in " + std::string(table->what)));
    for (const std::string& key : table->names()) {
      if (is_taken(probe, key)) taken[table->name].insert(key);
    }
  }
  for (const KeyTable* table : formats::keys::all_tables()) {
    CAPTURE(table->name);
    const std::vector<std::string> names = table->names();
    CHECK(taken[table->name] == std::set<std::string>(names.begin(), names.end()));
  }
}

TEST_CASE("every word of the tables is read, and no other", "[keys]") {
  std::size_t lists = 0;
  for (const auto& [table, probe] : probes()) {
    for (const Key* key : table->all()) {
      std::vector<std::string> words = formats::keys::words_of(key->type);
      if (words.empty() && key->type.front() == '\'') words = formats::quoted_words(key->type);
      const bool all = !words.empty() && key->type.find('*') == std::string_view::npos;
      const bool there = probe.find(std::string(key->name) + ":") != std::string::npos;
      if (!all || there || !is_taken(probe, std::string(key->name))) continue;
      CAPTURE(table->name, key->name);
      ++lists;
      // In clang 14, a lambda cannot capture a structured binding.
      const auto refuses = [&, &text = probe](const std::string& word) {
        const auto answer = messages(filled(text, std::string(key->name) + ": " + word));
        return std::any_of(answer.begin(), answer.end(), [&](const std::string& message) {
          return message.ends_with("found '" + word + "'") ||
                 (message.starts_with("unknown ") && message.ends_with("'" + word + "'"));
        });
      };
      CHECK(refuses(kUnknown));
      for (const std::string& word : words) {
        CAPTURE(word);
        CHECK_FALSE(refuses(word));
      }
    }
  }
  CHECK(lists > 20);
}

TEST_CASE("a type lists each word once", "[keys]") {
  CHECK(formats::quoted_words("'a'|'b c'|name") == std::vector<std::string>{"a", "b c"});
  CHECK(formats::quoted_words("name").empty());
}

// PIPESIM_UPDATE_DOCS=1 writes the tables into the pages.
TEST_CASE("the tables of the reference pages are those of the keys", "[keys]") {
  std::map<std::string, const KeyTable*, std::less<>> missing;
  for (const auto& tables : {formats::keys::shared_tables(), formats::keys::shared_by_steps(),
                             formats::keys::steps(), formats::keys::faults()}) {
    for (const KeyTable* table : tables) missing[std::string(table->name)] = table;
  }
  for (const KeyTable* table : formats::keys::all_tables())
    missing[std::string(table->name)] = table;
  // Two kinds of tables are not on a page: calls in a group, which the tables of steps cover, and
  // passes, which `pipesim opt --list` prints.
  for (const KeyTable* table : formats::keys::calls_of_group())
    missing.erase(std::string(table->name));
  std::erase_if(missing, [](const auto& item) { return item.first.starts_with("pass"); });
  for (const char* part : {"format", "cluster", "programs", "actors", "schedules", "faults"}) {
    const std::string path = std::string("docs/reference/scenario-") + part + ".md";
    CAPTURE(path);
    const std::string page = testing::file_text(path);
    const std::string expected = with_tables(page, missing);
    if (std::getenv("PIPESIM_UPDATE_DOCS") != nullptr) {
      std::ofstream(path, std::ios::binary) << expected;
    } else {
      CHECK(page == expected);
    }
  }
  CHECK(missing.empty());
}

TEST_CASE("the key of a step that names an object begins such a step", "[keys]") {
  std::set<std::string_view> words;
  for (const formats::keys::ObjectStep& kind : formats::keys::object_steps()) {
    INFO(kind.word);
    CHECK(words.insert(kind.word).second);
    CHECK(sim::facts(kind.role).object != sim::Object::kNone);
    const auto tables = formats::keys::steps();
    CHECK(std::any_of(tables.begin(), tables.end(), [&](const KeyTable* table) {
      const auto heads = table->own.first(table->heads);
      return std::any_of(heads.begin(), heads.end(),
                         [&](const Key& key) { return key.name == kind.word; });
    }));
  }
}
