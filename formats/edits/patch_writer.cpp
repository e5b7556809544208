#include "formats/edits/patch_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "formats/yaml/patch.hpp"
#include "formats/yaml/value_writer.hpp"
#include "formats/yaml/yaml_writer.hpp"

namespace pipesim::formats {

using models::Change;

namespace {

using Kind = Change::Kind;
using Path = std::vector<std::string>;

std::optional<YamlValue> child(const YamlValue& map, std::string_view key) {
  for (const YamlValue::Entry& entry : map.entries()) {
    if (entry.key.is_scalar() && entry.key.text() == key) return entry.value;
  }
  return std::nullopt;
}

std::optional<YamlValue> at(YamlValue value, const std::vector<std::string_view>& keys) {
  for (const std::string_view key : keys) {
    const std::optional<YamlValue> inner = child(value, key);
    if (!inner) return std::nullopt;
    value = *inner;
  }
  return value;
}

YamlNode one(std::string_view key, YamlNode value) {
  YamlNode map = YamlNode::map();
  map.add(key, std::move(value));
  return map;
}

// A map of maps down to `value`.
YamlNode below(const Path& path, YamlNode value) {
  for (std::size_t i = path.size(); i > 0; --i) value = one(path[i - 1], std::move(value));
  return value;
}

YamlNode copied(const YamlValue& value) {
  if (value.is_list()) {
    YamlNode list = YamlNode::list();
    for (const YamlValue& item : value.items()) list.add(copied(item));
    return list;
  }
  if (value.is_map()) {
    YamlNode map = YamlNode::map();
    for (const YamlValue::Entry& entry : value.entries()) {
      map.add(entry.key.text(), copied(entry.value));
    }
    return map;
  }
  if (value.is_null()) return YamlNode::nothing();
  return value.quoted() ? YamlNode::text(value.text()) : YamlNode::value(value.text());
}

// Where the item of a list that stands at `place` is: keys, and positions from 1.
bool find_item(const YamlValue& value, models::Place place, Path& path) {
  std::size_t position = 0;
  const std::vector<YamlValue> items = value.is_list() ? value.items() : std::vector<YamlValue>();
  for (const YamlValue& item : items) {
    path.push_back(std::to_string(++position));
    const bool here = item.is_map() && item.place() == place;
    if (here || find_item(item, place, path)) return true;
    path.pop_back();
  }
  for (const YamlValue::Entry& entry : value.entries()) {
    path.emplace_back(entry.key.text());
    if (find_item(entry.value, place, path)) return true;
    path.pop_back();
  }
  return false;
}

std::optional<YamlValue> item_at(YamlValue value, const Path& path) {
  for (const std::string& key : path) {
    if (value.is_list()) {
      value = value.items()[static_cast<std::size_t>(std::stoul(key) - 1)];
    } else if (const auto inner = child(value, key)) {
      value = *inner;
    } else {
      return std::nullopt;
    }
  }
  return value;
}

// Adds an item to what stands at `path`, a list or nothing.
std::optional<YamlNode> added_to(const std::optional<YamlValue>& list, YamlNode item) {
  YamlNode items = YamlNode::list();
  items.add(std::move(item));
  if (!list) return items;
  if (!list->is_list()) return std::nullopt;
  return one("+", std::move(items));
}

// What makes one step of two; the rest is said of their calls.
constexpr std::string_view kOfSteps[] = {"when", "on", "at", "phase", "blocking", "stream"};

bool is_of_step(std::string_view key) {
  return std::find(std::begin(kOfSteps), std::end(kOfSteps), key) != std::end(kOfSteps);
}

class Writer {
 public:
  explicit Writer(const YamlValue& root) : root_(root) {}

  std::optional<YamlNode> change(const Change& change) const;

 private:
  std::optional<YamlNode> order(const Change& change) const;
  std::optional<YamlNode> step_after(const Change& change) const;
  std::optional<YamlNode> batch(const Change& change) const;
  std::optional<YamlNode> creation() const;

  YamlValue root_;
};

// The keys of a patch but its head.
std::optional<YamlNode> Writer::change(const Change& change) const {
  const YamlNode number = formats::number(change.number);
  switch (change.kind) {
    case Kind::kSwitch:
      return below({"set", change.what}, change.to.empty() ? number : YamlNode::text(change.to));
    case Kind::kStream:
      return below({"actors", change.what, "stream"},
                   change.to.empty() ? YamlNode::nothing() : YamlNode::text(change.to));
    case Kind::kSlots:
      // The slots of the first output are said of the actor itself.
      if (change.part == "out") return below({"actors", change.what, "slots"}, number);
      return below({"actors", change.what, "registers", change.part, "slots"}, number);
    case Kind::kCreation:
      return creation();
    case Kind::kOrder:
      return order(change);
    case Kind::kAfter:
      return step_after(change);
    case Kind::kBatch:
      return batch(change);
    case Kind::kEager:
      return below({"communicators", "named", change.what, "eager"}, bytes(change.number));
    case Kind::kResident:
      return below({"device", "resident"}, number);
    case Kind::kHardwareQueues:
      return below({"device", "hardware_queues"}, number);
    case Kind::kLaunchQueue:
      return below({"defaults", "launch_queue"}, number);
  }
  return std::nullopt;
}

// Of all that say something else.
std::optional<YamlNode> Writer::creation() const {
  YamlNode result = YamlNode::map();
  result.add("creation", YamlNode::text("start"));
  YamlNode named = YamlNode::map();
  if (const auto all = at(root_, {"communicators", "named"})) {
    for (const YamlValue::Entry& entry : all->entries()) {
      if (!child(entry.value, "creation")) continue;
      named.add(entry.key.text(), one("creation", YamlNode::text("start")));
    }
  }
  if (!named.empty()) result.add("named", std::move(named));
  return one("communicators", std::move(result));
}

std::optional<YamlNode> Writer::order(const Change& change) const {
  const auto registers = at(root_, {"actors", change.part, "registers"});
  std::string name = "order";
  for (int copy = 2; registers && child(*registers, name); ++copy) {
    name = "order." + std::to_string(copy);
  }
  YamlNode reg = YamlNode::map();
  reg.add("control", truth(true));
  if (change.number != 1) reg.add("slots", formats::number(change.number));
  YamlNode read = YamlNode::text(change.part + "." + name);
  if (!change.on.empty()) {
    YamlNode some = one("from", std::move(read));
    some.add("on", ranks(change.on, 0));
    read = std::move(some);
  }
  auto after = added_to(at(root_, {"actors", change.what, "after"}), std::move(read));
  if (!after) return std::nullopt;
  YamlNode actors = YamlNode::map();
  actors.add(change.part, below({"registers", "+" + name}, std::move(reg)));
  actors.add(change.what, one("after", std::move(*after)));
  return one("actors", std::move(actors));
}

std::optional<YamlNode> Writer::step_after(const Change& change) const {
  Path path;
  if (!find_item(root_, change.place, path)) return std::nullopt;
  const auto step = item_at(root_, path);
  auto after = added_to(child(*step, "after"), YamlNode::text(change.part));
  if (!after) return std::nullopt;
  path.emplace_back("after");
  return below(path, std::move(*after));
}

std::optional<YamlNode> Writer::batch(const Change& change) const {
  Path first;
  Path second;
  if (!find_item(root_, change.place, first) || !find_item(root_, change.second, second)) {
    return std::nullopt;
  }
  const auto position = std::stoul(first.back());
  const bool neighbours = first.size() == second.size() &&
                          std::equal(first.begin(), first.end() - 1, second.begin()) &&
                          std::stoul(second.back()) == position + 1;
  if (!neighbours) return std::nullopt;
  YamlNode group = YamlNode::map();
  YamlNode calls = YamlNode::list();
  YamlNode after = YamlNode::list();
  std::vector<std::pair<std::string, std::string>> said;  // of the step
  for (const Path* path : {&first, &second}) {
    YamlNode call = YamlNode::map();
    for (const YamlValue::Entry& entry : item_at(root_, *path)->entries()) {
      const std::string key(entry.key.text());
      const bool known = std::any_of(said.begin(), said.end(),
                                     [&](const auto& known_key) { return known_key.first == key; });
      if (key == "after") {
        if (!entry.value.is_list()) return std::nullopt;
        for (const YamlValue& item : entry.value.items()) after.add(copied(item));
      } else if (is_of_step(key)) {
        if (known) continue;
        said.emplace_back(key, std::string(entry.value.text()));
        group.add(key, copied(entry.value));
      } else if (key != "name") {
        call.add(key, copied(entry.value));
      }
    }
    calls.add(std::move(call));
  }
  group.add("group", std::move(calls));
  if (!after.empty()) group.add("after", std::move(after));
  YamlNode steps = YamlNode::list();
  steps.add(std::move(group));
  first.back() = std::to_string(position) + ".." + std::to_string(position + 1);
  return below(first, std::move(steps));
}

}  // namespace

PatchWriter::PatchWriter(const std::string& text, const std::vector<PatchText>& patches) {
  models::Diagnostics told_elsewhere;
  document_ = YamlDocument::parse(text, told_elsewhere);
  std::vector<GivenSetting> settings;
  if (document_ && !apply_patches(*document_, patches, settings, told_elsewhere)) {
    document_.reset();
  }
}

std::optional<std::string> PatchWriter::write(const Change& change) const {
  if (!document_) return std::nullopt;
  const std::optional<YamlNode> keys = Writer(document_->root()).change(change);
  if (!keys) return std::nullopt;
  const std::string text = keys->document({});
  return "patch: 1\n" + text;
}

std::vector<models::Switch> switches_of(const Scenario& scenario) {
  std::vector<models::Switch> result;
  for (const Parameter& parameter : scenario.parameters) {
    models::Switch given;
    given.name = parameter.name;
    given.value = to_text(parameter.value);
    given.at_least = parameter.at_least;
    const auto add = [&](const std::string& value) {
      if (value != given.value) given.others.push_back(value);
    };
    switch (parameter.value.type) {
      case ValueType::kWord:
        for (const std::string& option : parameter.options) add(option);
        break;
      case ValueType::kTruth:
        add("off");
        add("on");
        break;
      case ValueType::kBytes:
      case ValueType::kNumber:
        given.bytes = parameter.value.type == ValueType::kBytes;
        given.number = parameter.value.expr.value(0);
        break;
      case ValueType::kTime:
      case ValueType::kBandwidth:
        continue;
    }
    result.push_back(std::move(given));
  }
  return result;
}

}  // namespace pipesim::formats
