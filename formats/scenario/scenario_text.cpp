#include "formats/scenario/scenario_text.hpp"

#include <array>

#include "formats/document/value_writer.hpp"
#include "formats/document/versions.hpp"
#include "models/characters.hpp"

namespace pipesim::formats {
namespace {

// The top-level keys, in the order in which people write them.
constexpr std::array<std::string_view, 17> kTopLevel = {
    "schema",  "name",   "about",    "rests_on",      "undecided", "params",
    "reading", "nccl",   "ranks",    "micro_batches", "groups",    "communicators",
    "streams", "actors", "programs", "faults",        "expect"};

// The keys whose values have their own lines.
const std::vector<std::string_view> kSections = {"rests_on", "undecided",     "params",
                                                 "groups",   "communicators", "streams",
                                                 "actors",   "programs",      "faults"};

}  // namespace

ScenarioMap& ScenarioMap::text(std::string_view key, std::string_view text) {
  return add(key, YamlNode::text(text));
}

ScenarioMap& ScenarioMap::value(std::string_view key, std::string_view expression) {
  return add(key, YamlNode::value(expression));
}

ScenarioMap& ScenarioMap::number(std::string_view key, std::int64_t number) {
  return add(key, formats::number(number));
}

ScenarioMap& ScenarioMap::truth(std::string_view key, bool value) {
  return add(key, formats::truth(value));
}

ScenarioMap& ScenarioMap::names(std::string_view key, const std::vector<std::string>& names) {
  return add(key, text_list(names));
}

ScenarioMap& ScenarioMap::add(std::string_view key, YamlNode value) {
  map_.add(key, std::move(value));
  return *this;
}

ScenarioMap& ScenarioMap::optional_text(std::string_view key, std::string_view text) {
  return text.empty() ? *this : this->text(key, text);
}

YamlNode rank_list(const std::vector<std::uint32_t>& ranks) {
  YamlNode list = YamlNode::list();
  for (const std::uint32_t rank : ranks) list.add(number(rank));
  return list;
}

const char* peer_key(models::Operation operation) {
  if (operation == models::Operation::kSend) return "to";
  return operation == models::Operation::kReceive ? "from" : "root";
}

std::string plain_name(std::string_view text) {
  std::string name(text);
  for (char& c : name) {
    if (!models::is_alphanumeric(c)) c = '_';
  }
  return name;
}

ScenarioText::ScenarioText(std::string_view name) {
  set("schema", YamlNode::value(kScenarioSchema));
  if (!name.empty()) set("name", YamlNode::text(name));
}

void ScenarioText::set_ranks(std::size_t count) {
  set("ranks", number(static_cast<std::int64_t>(count)));
}

void ScenarioText::add(std::string_view section, std::string_view name, YamlNode value) {
  sections_.try_emplace(section, YamlNode::map()).first->second.add(name, std::move(value));
}

void ScenarioText::add(std::string_view section, YamlNode item) {
  sections_.try_emplace(section, YamlNode::list()).first->second.add(std::move(item));
}

void ScenarioText::add_program(std::uint32_t rank, YamlNode steps) {
  if (steps.empty()) return;
  ScenarioMap program;
  program.number("on", rank).add("do", std::move(steps));
  add("programs", std::move(program));
}

YamlNode ScenarioText::take_top() {
  YamlNode top = YamlNode::map();
  for (const std::string_view key : kTopLevel) {
    if (const auto section = sections_.find(key); section != sections_.end()) {
      top.add(key, std::move(section->second));
    }
  }
  return top;
}

std::string ScenarioText::take_text(bool dense) { return take_top().document(kSections, dense); }

std::optional<YamlDocument> ScenarioText::take_tree() { return take_top().tree(kSections); }

}  // namespace pipesim::formats
