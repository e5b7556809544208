// Applies a merge patch (RFC 7386) to the tree of the document, with three additions:
// * positions in lists (`3`, `3..4`, `+`)
// * `+NAME` for a new name in a map of known names
// * `=` for a value to set without merging
#include "formats/document/patch.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "formats/document/map_reader.hpp"
#include "formats/document/versions.hpp"
#include "models/graph/whole_number.hpp"

namespace pipesim::formats {

using models::Diagnostics;
using models::Place;

namespace {

using Entry = YamlValue::Entry;
using Entries = std::vector<Entry>;

// The position of a change in a list: items `first` to `last` or, if `inserts`, the place after
// item `last`. Items count from 1, 0 is the front, and negative numbers count from the end.
struct Position {
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool inserts = false;
};

// Reads a position such as "3", "-1", "3..4", "3+" or "+".
std::optional<Position> parse_position(std::string_view text) {
  if (text == "+") return Position{-1, -1, true};
  const bool inserts = !text.empty() && text.back() == '+';
  if (inserts) text.remove_suffix(1);
  const std::size_t dots = text.find("..");
  if (inserts || dots == std::string_view::npos) {
    const auto at = models::whole_number<std::int64_t>(text);
    if (!at) return std::nullopt;
    return Position{*at, *at, inserts};
  }
  const auto first = models::whole_number<std::int64_t>(text.substr(0, dots));
  const auto last = models::whole_number<std::int64_t>(text.substr(dots + 2));
  if (!first || !last) return std::nullopt;
  return Position{*first, *last, false};
}

// Whether a map of a patch changes a list.
bool is_list_change(const Entries& entries) {
  return !entries.empty() && std::all_of(entries.begin(), entries.end(), [](const Entry& entry) {
    return parse_position(entry.key.text()).has_value();
  });
}

const Entry* find(const Entries& entries, std::string_view key) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.key.is_scalar() && entry.key.text() == key;
  });
  return found == entries.end() ? nullptr : &*found;
}

// The entries of a map that a patch changes, indexed by key: a patch can have a million entries.
class ChangedMap {
 public:
  explicit ChangedMap(Entries entries) : entries_(std::move(entries)) {
    for (std::size_t i = 0; i < entries_.size(); ++i) remember(i);
  }

  Entry* find(std::string_view key) {
    const auto found = places_.find(std::string(key));
    return found == places_.end() ? nullptr : &entries_[found->second];
  }
  void add(const Entry& entry) {
    entries_.push_back(entry);
    removed_.push_back(false);
    remember(entries_.size() - 1);
  }
  void remove(std::string_view key) {
    const auto found = places_.find(std::string(key));
    removed_[found->second] = true;
    places_.erase(found);
  }
  Entries entries() const {
    Entries result;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!removed_[i]) result.push_back(entries_[i]);
    }
    return result;
  }

 private:
  void remember(std::size_t i) {
    if (entries_[i].key.is_scalar()) places_.emplace(entries_[i].key.text(), i);
  }

  Entries entries_;
  std::vector<bool> removed_ = std::vector<bool>(entries_.size());
  std::unordered_map<std::string, std::size_t> places_;
};

class Patcher {
 public:
  Patcher(YamlDocument& document, std::vector<GivenSetting>& settings, Diagnostics& diagnostics)
      : document_(document), settings_(settings), diagnostics_(diagnostics) {}

  void run(const YamlValue& patch);

 private:
  using Path = std::vector<std::string>;

  bool check_head(const Entries& entries, const YamlValue& patch);
  void check_scenario(const YamlValue& of);
  void read_settings(const YamlValue& value);
  YamlValue merged(const YamlValue& target, const YamlValue& change, const Path& path);
  YamlValue merged_map(const YamlValue& target, const Entries& changes, const Path& path);
  void change_entry(ChangedMap& map, const Entry& change, const Path& path);
  void add_entry(ChangedMap& map, const Entry& change, const Path& path);
  void refuse_unknown(const ChangedMap& map, const Entry& change, const std::string& what);
  YamlValue fresh(const YamlValue& value, const Path& path);
  bool is_too_deep(const YamlValue& value, const Path& path);
  YamlValue merged_list(const YamlValue& target, const Entries& changes, const Path& path);
  std::optional<Position> position_in(const Entry& change, std::size_t size);
  bool check_once(const Position& position, Place place, std::vector<bool>& changed);

  YamlDocument& document_;
  std::vector<GivenSetting>& settings_;
  Diagnostics& diagnostics_;
};

// Returns the kind of the names in the map at `path`, if such names must be known; else an empty
// string. In these maps, an unknown name is an error, and `+` adds a new name.
std::string named_at(const std::vector<std::string>& path) {
  static const std::map<std::string, std::string, std::less<>> kTop = {
      {"params", "parameter"}, {"sets", "set"},     {"groups", "group"}, {"threads", "thread"},
      {"streams", "stream"},   {"actors", "actor"}, {"blocks", "block"}};
  if (path.size() == 1) {
    const auto found = kTop.find(path[0]);
    return found == kTop.end() ? "" : found->second;
  }
  if (path.size() == 2 && path[0] == "communicators" && path[1] == "named") return "communicator";
  if (path.size() == 3 && path[0] == "actors" && path[2] == "registers") return "register";
  return {};
}

void Patcher::run(const YamlValue& patch) {
  const Entries entries = named_entries(patch, "a patch", diagnostics_);
  if (diagnostics_.has_errors() || !check_head(entries, patch)) return;
  Entries changes;
  for (const Entry& entry : entries) {
    const std::string_view key = entry.key.text();
    if (key == "set") {
      read_settings(entry.value);
    } else if (key == "schema") {
      diagnostics_.error(entry.key.place(), models::Code::kNotAPatch,
                         "a patch cannot change 'schema'");
    } else if (key != "patch" && key != "of" && key != "about") {
      changes.push_back(entry);
    }
  }
  document_.set_root(merged_map(document_.root(), changes, {}));
}

bool Patcher::check_head(const Entries& entries, const YamlValue& patch) {
  const Entry* version = find(entries, "patch");
  if (version == nullptr) {
    models::Diagnostic& error = diagnostics_.error(
        patch.place(), models::Code::kNotAPatch,
        fmt::format("not a patch: it does not begin with 'patch: {}'", kPatchVersion));
    if (find(entries, "schema") != nullptr) {
      error.notes.emplace_back(
          "this is a scenario; only one scenario is run, and patches change it");
    }
    return false;
  }
  if (version->value.text() != kPatchVersion) {
    diagnostics_.error(version->value.place(), models::Code::kSchema,
                       fmt::format("this pipesim reads patches of version {}, found {}",
                                   kPatchVersion, version->value.described()));
    return false;
  }
  if (const Entry* of = find(entries, "of")) check_scenario(of->value);
  return !diagnostics_.has_errors();
}

void Patcher::check_scenario(const YamlValue& of) {
  const Entries scenario = document_.root().entries();
  const Entry* name = find(scenario, "name");
  if (name != nullptr && of.is_scalar() && of.text() == name->value.text()) return;
  diagnostics_.error(
      of.place(), models::Code::kNotAPatch,
      fmt::format("this patch is of {}, and the scenario {}", of.described(),
                  name == nullptr ? "has no name" : "is " + name->value.described()));
}

void Patcher::read_settings(const YamlValue& value) {
  for (const Entry& entry : named_entries(value, "'set'", diagnostics_)) {
    if (!entry.value.is_scalar()) {
      diagnostics_.error(entry.value.place(), models::Code::kWrongType,
                         fmt::format("expected a word or a number for a parameter, found {}",
                                     entry.value.described()));
      continue;
    }
    settings_.push_back(
        {{std::string(entry.key.text()), std::string(entry.value.text())}, entry.value.place()});
  }
}

// Returns `target`, a part of the scenario, after `change`.
YamlValue Patcher::merged(const YamlValue& target, const YamlValue& change, const Path& path) {
  if (!change.is_map() || is_too_deep(change, path)) return change;
  const Entries changes = named_entries(change, "a patch", diagnostics_);
  if (changes.size() == 1 && changes.front().key.text() == "=") return changes.front().value;
  if (target.is_list() && is_list_change(changes)) return merged_list(target, changes, path);
  // A choice is one value: a mix of two choices makes no sense.
  const bool is_choice = find(changes, "case") != nullptr;
  if (target.is_map() && !is_choice) return merged_map(target, changes, path);
  return change;
}

YamlValue Patcher::merged_map(const YamlValue& target, const Entries& changes, const Path& path) {
  ChangedMap map(target.entries());
  for (const Entry& change : changes) change_entry(map, change, path);
  return document_.make_map(target.place(), map.entries());
}

void Patcher::change_entry(ChangedMap& map, const Entry& change, const Path& path) {
  Entry* const found = map.find(change.key.text());
  if (found == nullptr) {
    add_entry(map, change, path);
  } else if (change.value.is_null()) {
    map.remove(change.key.text());
  } else {
    Path inner = path;
    inner.emplace_back(change.key.text());
    found->value = merged(found->value, change.value, inner);
  }
}

void Patcher::add_entry(ChangedMap& map, const Entry& change, const Path& path) {
  const std::string_view key = change.key.text();
  const std::string what = named_at(path);
  if (change.value.is_null()) {
    refuse_unknown(map, change, what);
    return;
  }
  Entry added = change;
  // A patch cannot add a register `out`; the reader reports the attempt.
  if (!what.empty() && !(what == "register" && key == "out")) {
    if (key.size() < 2 || key.front() != '+') {
      refuse_unknown(map, change, what);
      return;
    }
    const std::string name(key.substr(1));
    if (map.find(name) != nullptr) {
      diagnostics_
          .error(change.key.place(), models::Code::kPatchTarget,
                 fmt::format("{} '{}' already exists", what, name))
          .notes.emplace_back("without the '+', its keys are changed");
      return;
    }
    added.key = document_.make_scalar(change.key.place(), name);
  }
  Path inner = path;
  inner.emplace_back(added.key.text());
  added.value = fresh(change.value, inner);
  map.add(added);
}

void Patcher::refuse_unknown(const ChangedMap& map, const Entry& change, const std::string& what) {
  const std::string name(change.key.text());
  models::Diagnostic& error = diagnostics_.error(
      change.key.place(), models::Code::kPatchTarget,
      change.value.is_null()
          ? fmt::format("there is no {} '{}' to remove", what.empty() ? "key" : what, name)
          : fmt::format("there is no {} '{}' to change", what, name));
  std::vector<std::string> known;
  for (const Entry& entry : map.entries()) {
    if (entry.key.is_scalar()) known.emplace_back(entry.key.text());
  }
  models::suggest_name(error, name, known);
  if (!what.empty() && !change.value.is_null() && !name.empty() && name.front() != '+') {
    error.notes.push_back(fmt::format("'+{}' adds a new one", name));
  }
}

// Whether `path` is too deep; if so, reports an error. With aliases, values can nest deeper than a
// file can.
bool Patcher::is_too_deep(const YamlValue& value, const Path& path) {
  constexpr std::size_t kMaxPatchDepth = 100;
  if (path.size() <= kMaxPatchDepth) return false;
  diagnostics_.error(value.place(), models::Code::kLimit,
                     fmt::format("nested more than {} deep", kMaxPatchDepth));
  return true;
}

// Returns the result of setting `value` at a path at which the scenario has no value. Insertions go
// into an empty list or map of names; everything else is as written.
YamlValue Patcher::fresh(const YamlValue& value, const Path& path) {
  if (!value.is_map() || is_too_deep(value, path)) return value;
  Entries entries = named_entries(value, "a patch", diagnostics_);
  if (entries.size() == 1 && entries.front().key.text() == "=") return entries.front().value;
  if (find(entries, "case") != nullptr) return value;
  const bool puts_in =
      is_list_change(entries) && std::all_of(entries.begin(), entries.end(), [](const Entry& e) {
        return parse_position(e.key.text())->inserts;
      });
  if (puts_in) return merged_list(document_.make_list(value.place(), {}), entries, path);
  const bool of_names = !named_at(path).empty();
  for (Entry& entry : entries) {
    const std::string name(entry.key.text());
    if (of_names && name.size() > 1 && name.front() == '+') {
      entry.key = document_.make_scalar(entry.key.place(), name.substr(1));
    }
    Path inner = path;
    inner.emplace_back(entry.key.text());
    entry.value = fresh(entry.value, inner);
  }
  return document_.make_map(value.place(), entries);
}

// ---------------------------------------------------------------------------------------------
// Lists

// Converts a position to a position counted from the front. Reports a position out of range.
std::optional<Position> Patcher::position_in(const Entry& change, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  Position position = *parse_position(change.key.text());
  for (std::int64_t* at : {&position.first, &position.last}) {
    if (*at < 0) *at += count + 1;
  }
  const std::int64_t least = position.inserts ? 0 : 1;
  if (position.first >= least && position.first <= position.last && position.last <= count) {
    return position;
  }
  diagnostics_.error(change.key.place(), models::Code::kPatchTarget,
                     fmt::format("there is no position {}: the list has {} item{}",
                                 change.key.text(), size, size == 1 ? "" : "s"));
  return std::nullopt;
}

bool Patcher::check_once(const Position& position, Place place, std::vector<bool>& changed) {
  for (std::int64_t at = position.first; at <= position.last; ++at) {
    const auto index = static_cast<std::size_t>(at - 1);
    if (changed[index]) {
      diagnostics_.error(place, models::Code::kPatchTarget,
                         fmt::format("item {} of the list is changed twice", at));
      return false;
    }
    changed[index] = true;
  }
  return true;
}

// Applies changes to a list. All positions refer to the list before the patch.
YamlValue Patcher::merged_list(const YamlValue& target, const Entries& changes, const Path& path) {
  const std::vector<YamlValue> items = target.items();
  std::vector<bool> changed(items.size(), false);
  std::vector<std::vector<YamlValue>> instead(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) instead[i] = {items[i]};
  std::vector<std::vector<YamlValue>> behind(items.size() + 1);  // insertions after item i
  const auto several = [](const YamlValue& value) {
    return value.is_list() ? value.items() : std::vector<YamlValue>{value};
  };
  for (const Entry& change : changes) {
    const std::optional<Position> position = position_in(change, items.size());
    if (!position) continue;
    if (position->inserts) {
      for (const YamlValue& item : several(change.value)) {
        behind[static_cast<std::size_t>(position->last)].push_back(item);
      }
      continue;
    }
    if (!check_once(*position, change.key.place(), changed)) continue;
    const auto first = static_cast<std::size_t>(position->first - 1);
    const auto end = static_cast<std::size_t>(position->last);
    const bool one = change.key.text().find("..") == std::string_view::npos;
    for (std::size_t i = first; i < end; ++i) instead[i].clear();
    if (change.value.is_null()) continue;
    Path inner = path;
    inner.emplace_back(change.key.text());
    instead[first] = one ? std::vector<YamlValue>{merged(items[first], change.value, inner)}
                         : several(change.value);
  }
  std::vector<YamlValue> result = behind[0];
  for (std::size_t i = 0; i < items.size(); ++i) {
    result.insert(result.end(), instead[i].begin(), instead[i].end());
    result.insert(result.end(), behind[i + 1].begin(), behind[i + 1].end());
  }
  return document_.make_list(target.place(), result);
}

}  // namespace

bool apply_patches(YamlDocument& document, const std::vector<PatchText>& patches,
                   std::vector<GivenSetting>& settings, Diagnostics& diagnostics) {
  if (patches.size() > YamlDocument::kMaxFiles) {
    diagnostics.error({}, models::Code::kLimit,
                      fmt::format("a scenario takes at most {} patches, found {}",
                                  YamlDocument::kMaxFiles, patches.size()));
    return false;
  }
  std::uint32_t file = 0;
  for (const PatchText& patch : patches) {
    const std::optional<YamlValue> root = document.add(patch.text, ++file, diagnostics);
    if (!root) return false;
    Patcher(document, settings, diagnostics).run(*root);
    if (diagnostics.has_errors()) return false;
  }
  return true;
}

}  // namespace pipesim::formats
