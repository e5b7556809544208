#include "features/lint/unused_names.hpp"

#include <cstddef>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "formats/document/yaml_document.hpp"
#include "models/characters.hpp"
#include "models/graph/by_name.hpp"
#include "models/graph/graph_edit.hpp"

#include "features/lint/lint_rules.hpp"

namespace pipesim::formats {
namespace {

// Returns the kind of name that this top-level key declares; empty for other keys.
std::string_view kind_of(std::string_view key) {
  if (key == "params") return "parameter";
  if (key == "groups") return "group";
  if (key == "streams") return "stream";
  return key == "blocks" ? "block" : "";
}

// Returns the declared names: the keys of a map, or the items of a list.
std::vector<YamlValue> declared_in(const YamlValue& value) {
  std::vector<YamlValue> names;
  for (const YamlValue::Entry& entry : value.entries()) names.push_back(entry.key);
  for (const YamlValue& item : value.is_list() ? value.items() : std::vector<YamlValue>()) {
    if (item.is_scalar()) names.push_back(item);
  }
  return names;
}

models::LintFinding finding_of(std::string_view kind, const YamlValue& name) {
  models::LintFinding finding;
  finding.rule = models::kUnused;
  finding.place = name.place();
  finding.message = fmt::format("{} '{}' is not used", kind, name.text());
  finding.why = "what was meant to use it uses another one, or nothing";
  finding.advice = "use it, or leave it out";
  return finding;
}

class Mentions {
 public:
  /// Adds every word of a value, except names that the value itself declares.
  void add(const YamlValue& value, int depth = 0) {
    if (value.is_scalar()) add_words(value.text());
    for (const YamlValue& item : value.is_list() ? value.items() : std::vector<YamlValue>()) {
      add(item, depth + 1);
    }
    for (const YamlValue::Entry& entry : value.entries()) {
      if (entry.key.text() == "about") continue;
      if (depth > 0 || kind_of(entry.key.text()).empty()) {
        add(entry.key, depth + 1);
        add(entry.value, depth + 1);
      }
      // Declarations contribute only the values under their names.
      if (depth > 0) continue;
      for (const YamlValue::Entry& declared : entry.value.entries()) add(declared.value, 2);
    }
  }

  bool has(std::string_view name) const { return words_.count(std::string(name)) > 0; }

 private:
  // Adds the whole string, for names of several words, and each word in it, for expressions.
  void add_words(std::string_view text) {
    words_.emplace(text);
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (i < text.size() && (models::is_alphanumeric(text[i]) || text[i] == '_')) continue;
      if (i > begin) words_.emplace(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }

  std::unordered_set<std::string> words_;
};

}  // namespace

std::vector<models::LintFinding> unused_names(const std::string& text,
                                              const std::vector<PatchText>& patches,
                                              const models::TaskGraph& graph) {
  std::vector<models::LintFinding> findings;
  models::Diagnostics unheard;
  const auto document = YamlDocument::parse(text, unheard);
  if (!document || !document->root().is_map()) return findings;
  Mentions mentions;
  mentions.add(document->root());
  for (const PatchText& patch : patches) {
    const auto changes = YamlDocument::parse(patch.text, unheard);
    if (changes) mentions.add(changes->root(), 1);
  }
  // Steps can use a stream without naming it: the default stream of their kind.
  const std::vector<bool> streams = models::used(graph, models::To::kStream);
  for (const YamlValue::Entry& entry : document->root().entries()) {
    const std::string_view kind = kind_of(entry.key.text());
    if (kind.empty()) continue;
    for (const YamlValue& name : declared_in(entry.value)) {
      const std::uint32_t stream =
          kind == "stream" ? models::index_of(graph.streams, name.text()) : models::kNoIndex;
      const bool used = stream != models::kNoIndex && streams[stream];
      if (!used && !mentions.has(name.text())) findings.push_back(finding_of(kind, name));
    }
  }
  return findings;
}

}  // namespace pipesim::formats
