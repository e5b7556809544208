#include "features/fix/patch_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include "formats/document/patch.hpp"
#include "formats/document/tree.hpp"
#include "formats/document/value_writer.hpp"
#include "formats/document/versions.hpp"
#include "formats/document/yaml_writer.hpp"

#include "features/fix/program_edits.hpp"

namespace pipesim::formats {

using models::Change;

namespace {

using Kind = Change::Kind;

// Appends an item to `list`, or starts a new list.
std::optional<YamlNode> added_to(const std::optional<YamlValue>& list, YamlNode item) {
  YamlNode items = YamlNode::list();
  items.add(std::move(item));
  if (!list) return items;
  if (!list->is_list()) return std::nullopt;
  return one("+", std::move(items));
}

// Returns the new value of a parameter.
YamlNode value_of(const Change& change) {
  return change.to.empty() ? number(change.number) : YamlNode::text(change.to);
}

class Writer {
 public:
  Writer(const YamlValue& root, std::uint32_t ranks) : root_(root), ranks_(ranks) {}

  std::optional<YamlNode> change(const Change& change) const;

 private:
  std::optional<YamlNode> order(const Change& change) const;
  std::optional<YamlNode> init() const;

  YamlValue root_;
  std::uint32_t ranks_;
};

// Returns the keys of the patch for `change`, without the line with the version.
std::optional<YamlNode> Writer::change(const Change& change) const {
  const YamlNode number = formats::number(change.number);
  switch (change.kind) {
    case Kind::kSwitch:
      return below({"set", change.what}, value_of(change));
    case Kind::kStream:
      return below({"actors", change.what, "stream"},
                   change.to.empty() ? YamlNode::nothing() : YamlNode::text(change.to));
    case Kind::kSlots:
      // The slots of the first output are a key of the actor itself.
      if (change.part == "out") return below({"actors", change.what, "slots"}, number);
      return below({"actors", change.what, "registers", change.part, "slots"}, number);
    case Kind::kInit:
      return init();
    case Kind::kOrder:
      return order(change);
    case Kind::kBuffer:
      return below({"communicators", "named", change.what, "eager"}, bytes(change.number));
    case Kind::kResident:
      return below({"device", "resident"}, number);
    case Kind::kHardwareQueues:
      return below({"device", "hardware_queues"}, number);
    case Kind::kLaunchQueue:
      return below({change.part == "device" ? "device" : "defaults", "launch_queue"}, number);
    default:
      return program_edit(root_, ranks_, change);
  }
}

// Sets `creation: start`, also for named communicators that set `creation` themselves.
std::optional<YamlNode> Writer::init() const {
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

}  // namespace

namespace {

// Returns the scenario after the patches. Returns nullopt if the patches do not apply; the reader
// of the scenario reports the reason.
std::optional<YamlDocument> patched(const std::string& text,
                                    const std::vector<PatchText>& patches) {
  models::Diagnostics told_elsewhere;
  std::optional<YamlDocument> document = YamlDocument::parse(text, told_elsewhere);
  std::vector<GivenSetting> settings;
  if (!document || !apply_patches(*document, patches, settings, told_elsewhere)) {
    return std::nullopt;
  }
  return document;
}

std::string patch_text(const YamlNode& keys) {
  return std::string("patch: ") + kPatchVersion + "\n" + keys.document({});
}

bool sets_parameters(const Change& change) { return change.kind == Kind::kSwitch; }

}  // namespace

PatchWriter::PatchWriter(std::string text, std::vector<PatchText> patches, std::uint32_t ranks)
    : text_(std::move(text)),
      patches_(std::move(patches)),
      ranks_(ranks),
      document_(patched(text_, patches_)) {}

std::optional<std::string> PatchWriter::write(const std::vector<Change>& changes) const {
  if (!document_) return std::nullopt;
  if (changes.size() == 1) {
    const std::optional<YamlNode> keys = Writer(document_->root(), ranks_).change(changes.front());
    return keys ? std::optional(patch_text(*keys)) : std::nullopt;
  }
  // Writes each change for the scenario after the previous changes. The patch combines all changes.
  // Parameters are set separately, not in the tree of the scenario.
  YamlNode settings = YamlNode::map();
  std::vector<PatchText> patches = patches_;
  for (const Change& change : changes) {
    if (sets_parameters(change)) {
      settings.add(change.what, value_of(change));
      continue;
    }
    const PatchWriter writer(text_, patches, ranks_);
    std::optional<std::string> patch = writer.write({change});
    if (!patch) return std::nullopt;
    patches.push_back({"a change", std::move(*patch)});
  }
  const std::optional<YamlDocument> changed = patched(text_, patches);
  if (!changed) return std::nullopt;
  const std::optional<YamlNode> keys = difference(document_->root(), changed->root());
  if (settings.empty()) return keys ? std::optional(patch_text(*keys)) : std::nullopt;
  std::string text = patch_text(one("set", std::move(settings)));
  if (keys) text += keys->document({});
  return text;
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
