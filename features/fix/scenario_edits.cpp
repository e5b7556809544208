#include "features/fix/scenario_edits.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "formats/document/patch.hpp"
#include "formats/document/value_writer.hpp"
#include "formats/document/versions.hpp"

namespace pipesim::formats {

using models::Edit;
using models::RankSet;

namespace {

constexpr std::string_view kConditions[] = {"on", "when"};
// Keys that move to the merged step; all other keys stay on the calls.
constexpr std::string_view kOfSteps[] = {"at", "phase", "blocking", "stream"};

template <typename Keys>
bool contains(const Keys& keys, std::string_view key) {
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

std::size_t number_of(const std::string& position) {
  return static_cast<std::size_t>(std::stoul(position));
}

// Returns the path of the items `first` to `last` of a list.
Path range_in(Path list, std::size_t first, std::size_t last) {
  list.push_back(std::to_string(first) + ".." + std::to_string(last));
  return list;
}

Path joined(Path path, std::string key) {
  path.push_back(std::move(key));
  return path;
}

Path first_keys(const Path& path, std::size_t count) {
  return {path.begin(), path.begin() + static_cast<std::ptrdiff_t>(count)};
}

// Adds copies of the items `first` to `last` (the first item is 1) to `list`.
void copy_items(const std::vector<YamlValue>& items, std::size_t first, std::size_t last,
                YamlNode& list) {
  for (std::size_t i = first; i <= last; ++i) list.add(copied(items[i - 1]));
}

YamlNode list_of(YamlNode item) {
  YamlNode list = YamlNode::list();
  list.add(std::move(item));
  return list;
}

// Returns keys that append `item` to `list`, or a new list with `item` if there is no list.
PatchKeys added_to(const std::optional<YamlValue>& list, YamlNode item) {
  YamlNode items = list_of(std::move(item));
  if (!list) return items;
  if (!list->is_list()) return std::nullopt;
  return one("+", std::move(items));
}

// The values of a patch and their paths.
using Values = std::vector<std::pair<Path, YamlNode>>;

// Merges `values` into one map. Their paths must agree in the first `depth` keys.
YamlNode merged(const Values& values, std::size_t depth = 0) {
  if (values.front().first.size() == depth) return values.front().second;
  YamlNode map = YamlNode::map();
  Values left = values;
  while (!left.empty()) {
    const std::string key = left.front().first[depth];
    const auto others = std::stable_partition(
        left.begin(), left.end(), [&](const auto& entry) { return entry.first[depth] == key; });
    map.add(key, merged(Values(left.begin(), others), depth + 1));
    left.erase(left.begin(), others);
  }
  return map;
}

}  // namespace

// ---------------------------------------------------------------------------------------------
// Ranks

RankSet ScenarioEdits::others(const RankSet& some) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (!some.contains(rank)) ranks.push_back(rank);
  }
  return RankSet(std::move(ranks));
}

// Returns the value of the key `on` for the ranks `some`. Writes all even or all odd ranks as a
// condition: "rank % 2 == 0".
YamlNode ScenarioEdits::on(const RankSet& some) const {
  for (const std::uint32_t remainder : {0u, 1u}) {
    std::vector<std::uint32_t> half;
    for (std::uint32_t rank = remainder; rank < ranks_; rank += 2) half.push_back(rank);
    if (half.size() > 1 && RankSet(half) == some) {
      return YamlNode::value("rank % 2 == " + std::to_string(remainder));
    }
  }
  return formats::ranks(some, 0);
}

// ---------------------------------------------------------------------------------------------
// Communicators and actors

PatchKeys ScenarioEdits::init_at_start() const {
  YamlNode result = one("creation", YamlNode::text("start"));
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

PatchKeys ScenarioEdits::actor_order(const std::string& first, const std::string& second,
                                     const RankSet& on, std::int64_t ahead) const {
  const auto registers = at(root_, {"actors", first, "registers"});
  std::string name = "order";
  for (int copy = 2; registers && child(*registers, name); ++copy) {
    name = "order." + std::to_string(copy);
  }
  YamlNode reg = one("control", truth(true));
  if (ahead != 1) reg.add("slots", number(ahead));
  YamlNode read = YamlNode::text(first + "." + name);
  if (!on.empty()) {
    read = one("from", std::move(read));
    read.add("on", ranks(on, 0));
  }
  auto after = added_to(at(root_, {"actors", second, "after"}), std::move(read));
  if (!after) return std::nullopt;
  YamlNode actors = one(first, below({"registers", "+" + name}, std::move(reg)));
  actors.add(second, one("after", std::move(*after)));
  return one("actors", std::move(actors));
}

PatchKeys ScenarioEdits::communicator(const std::vector<Place>& calls, const std::string& from,
                                      const std::string& to) const {
  Values values;
  const auto named = at(root_, {"communicators", "named", from});
  const auto group = at(root_, {"groups", from});
  if (named) {
    values.push_back({{"communicators", "named", "+" + to}, copied_without(*named, {"stream"})});
  } else if (group) {
    values.push_back({{"groups", "+" + to}, copied(*group)});
  } else {
    return std::nullopt;
  }
  for (const Place place : calls) {
    std::optional<Path> path = find_place(root_, place);
    if (!path) return std::nullopt;
    const YamlValue call = *at(root_, *path);
    const char* key = child(call, "send") ? "send" : "recv";
    const auto old = child(call, key);
    if (!old || old->text() != from) return std::nullopt;
    values.emplace_back(joined(std::move(*path), key), YamlNode::text(to));
  }
  return merged(values);
}

// ---------------------------------------------------------------------------------------------
// One step

std::optional<ScenarioEdits::Item> ScenarioEdits::item_at(Place step) const {
  const std::optional<Path> path = find_place(root_, step);
  if (!path || path->size() < 2) return std::nullopt;
  Item item{first_keys(*path, path->size() - 1), 0, {}};
  const auto list = at(root_, item.list);
  if (!list || !list->is_list() || item.list.back() == "group") return std::nullopt;
  item.position = number_of(path->back());
  item.items = list->items();
  return item;
}

PatchKeys ScenarioEdits::wait(Place step, const std::string& stream) const {
  const std::optional<Path> path = find_place(root_, step);
  if (!path) return std::nullopt;
  auto after = added_to(child(*at(root_, *path), "after"), YamlNode::text(stream));
  if (!after) return std::nullopt;
  return below(joined(*path, "after"), std::move(*after));
}

// Inserts `step` before or after the step `next`.
PatchKeys ScenarioEdits::inserted(Place next, bool behind, YamlNode step) const {
  std::optional<Item> item = item_at(next);
  if (!item) return std::nullopt;
  const std::size_t position = item->position - (behind ? 0 : 1);
  return below(joined(std::move(item->list), std::to_string(position) + "+"),
               list_of(std::move(step)));
}

PatchKeys ScenarioEdits::copy(Place step, Place next, bool behind, const RankSet& on) const {
  const std::optional<Path> source = find_place(root_, step);
  if (!source) return std::nullopt;
  YamlNode copy = copied_without(*at(root_, *source), {"on", "when", "name"});
  if (!on.empty()) copy.add("on", this->on(on));
  return inserted(next, behind, std::move(copy));
}

PatchKeys ScenarioEdits::matching_call(Place call, std::uint32_t peer, Place next, bool behind,
                                       const RankSet& on) const {
  const std::optional<Path> source = find_place(root_, call);
  if (!source) return std::nullopt;
  const YamlValue made = *at(root_, *source);
  const auto sent_on = child(made, "send");
  const auto communicator = sent_on ? sent_on : child(made, "recv");
  if (!communicator) return std::nullopt;
  YamlNode step = one(sent_on ? "recv" : "send", copied(*communicator));
  step.add(sent_on ? "from" : "to", number(peer));
  for (const std::string_view key : {"bytes", "type", "tag"}) {
    const auto value = child(made, key);
    if (!value) continue;
    // An expression with `rank` is not copied: `rank` would be another rank in the new step.
    if (!value->is_scalar() || value->text().find("rank") != std::string_view::npos) {
      return std::nullopt;
    }
    step.add(key, copied(*value));
  }
  step.add("on", this->on(on));
  return inserted(next, behind, std::move(step));
}

PatchKeys ScenarioEdits::drop(Place step, const std::optional<RankSet>& left) const {
  const std::optional<Path> path = find_place(root_, step);
  if (!path) return std::nullopt;
  return left ? below(joined(*path, "on"), on(*left)) : below(*path, YamlNode::nothing());
}

PatchKeys ScenarioEdits::set(Place step,
                             const std::vector<std::pair<std::string, YamlNode>>& values) const {
  const std::optional<Path> path = find_place(root_, step);
  if (!path) return std::nullopt;
  if (path->back() == values.front().first) return below(*path, values.front().second);
  YamlNode map = YamlNode::map();
  for (const auto& [key, value] : values) map.add(key, value);
  return below(*path, std::move(map));
}

PatchKeys ScenarioEdits::row(std::uint32_t number, const std::string& row) const {
  if (!at(root_, {"schedule", "rows"})) return std::nullopt;
  return below({"schedule", "rows", std::to_string(number)}, YamlNode::text(row));
}

// Returns keys that remove the conditions of the step or block at `path`; nullopt if it has none.
std::optional<YamlNode> ScenarioEdits::without_conditions(const Path& path) const {
  YamlNode keys = YamlNode::map();
  for (const std::string_view key : kConditions) {
    if (child(*at(root_, path), key)) keys.add(key, YamlNode::nothing());
  }
  if (keys.empty()) return std::nullopt;
  return below(path, std::move(keys));
}

PatchKeys ScenarioEdits::everywhere(Place step, bool whole_block) const {
  const std::optional<Path> path = find_place(root_, step);
  if (!path || path->size() < 3) return std::nullopt;
  if (auto own = without_conditions(*path)) return whole_block ? std::nullopt : std::move(own);
  // Finds the block around the step. The block must be an item of a list of steps, or a named
  // block.
  const Path block_path = first_keys(*path, path->size() - 2);
  const bool is_block =
      (*path)[path->size() - 2] == "do" && block_path.size() >= 3 &&
      (block_path[block_path.size() - 2] == "do" || block_path.front() == "blocks");
  if (!is_block) return std::nullopt;
  if (whole_block) return without_conditions(block_path);
  const YamlValue block = *at(root_, block_path);
  if (!child(block, "on") && !child(block, "when")) return std::nullopt;
  // Splits the block at the step, which all ranks then run. A loop stays a single loop, which all
  // ranks run.
  const bool is_loop = child(block, "repeat").has_value();
  const std::vector<YamlValue> items = child(block, "do")->items();
  const std::size_t here = number_of(path->back());
  YamlNode parts = YamlNode::list();
  const auto add_part = [&](std::size_t first, std::size_t last) {
    if (first > last) return;
    YamlNode inner = YamlNode::list();
    copy_items(items, first, last, inner);
    YamlNode part = is_loop ? YamlNode::map() : copied_without(block, {"do"});
    for (const std::string_view key : kConditions) {
      const auto condition = is_loop ? child(block, key) : std::nullopt;
      if (condition) part.add(key, copied(*condition));
    }
    part.add("do", std::move(inner));
    parts.add(std::move(part));
  };
  add_part(1, here - 1);
  copy_items(items, here, here, parts);
  add_part(here + 1, items.size());
  if (is_loop) {
    YamlNode loop = copied_without(block, {"do", "on", "when"});
    loop.add("do", std::move(parts));
    parts = list_of(std::move(loop));
  }
  const std::size_t position = number_of(block_path.back());
  return below(range_in(first_keys(block_path, block_path.size() - 1), position, position),
               std::move(parts));
}

// ---------------------------------------------------------------------------------------------
// Two steps

// Whether the list item at path[depth] contains only the step at `path`.
bool ScenarioEdits::is_alone_in(const Path& path, std::size_t depth) const {
  for (std::size_t i = depth + 1; i < path.size(); i += 2) {
    const auto block = at(root_, first_keys(path, i));
    const auto steps = block ? child(*block, "do") : std::nullopt;
    const bool alone = path[i] == "do" && steps && steps->is_list() && steps->items().size() == 1 &&
                       !child(*block, "repeat");
    if (!alone) return false;
  }
  return true;
}

std::optional<ScenarioEdits::Pair> ScenarioEdits::pair_at(Place first_place,
                                                          Place second_place) const {
  const std::optional<Path> first = find_place(root_, first_place);
  const std::optional<Path> second = find_place(root_, second_place);
  if (!first || !second) return std::nullopt;
  const auto [a, b] = std::mismatch(first->begin(), first->end(), second->begin(), second->end());
  if (a == first->end() || b == second->end()) return std::nullopt;
  Pair pair{Path(first->begin(), a), 0, 0, *first, *second, {}};
  const auto list = at(root_, pair.list);
  const bool is_steps =
      list && list->is_list() && pair.list.back() != "programs" && pair.list.back() != "group";
  const std::size_t depth = pair.list.size();
  if (!is_steps || !is_alone_in(*first, depth) || !is_alone_in(*second, depth)) {
    return std::nullopt;
  }
  pair.first = number_of(*a);
  pair.second = number_of(*b);
  pair.items = list->items();
  return pair;
}

PatchKeys ScenarioEdits::move(Place step, Place other, bool behind, const RankSet& on) const {
  const std::optional<Pair> pair = pair_at(step, other);
  if (!pair) return std::nullopt;
  const std::size_t from = std::min(pair->first, pair->second);
  const std::size_t to = std::max(pair->first, pair->second);
  YamlNode moved = YamlNode::list();
  for (std::size_t i = from; i <= to; ++i) {
    if (i == pair->first) continue;
    const bool is_other = i == pair->second;
    if (is_other && !behind) copy_items(pair->items, pair->first, pair->first, moved);
    copy_items(pair->items, i, i, moved);
    if (is_other && behind) copy_items(pair->items, pair->first, pair->first, moved);
  }
  if (on.empty()) return below(range_in(pair->list, from, to), std::move(moved));
  YamlNode kept = YamlNode::list();
  copy_items(pair->items, from, to, kept);
  YamlNode some = one("on", this->on(on));
  some.add("do", std::move(moved));
  YamlNode rest = one("on", this->on(others(on)));
  rest.add("do", std::move(kept));
  YamlNode halves = list_of(std::move(some));
  halves.add(std::move(rest));
  return below(range_in(pair->list, from, to), std::move(halves));
}

// A step that is being merged from two steps.
struct ScenarioEdits::Merged {
  YamlNode calls = YamlNode::list();
  YamlNode keys = YamlNode::map();
  YamlNode after = YamlNode::list();
  std::map<std::string, std::string, std::less<>> said;  // values of `keys` and `after`

  // Adds a key of one of the two steps. Returns false if the other step has another value for this
  // key.
  bool add_key(const std::string& key, const YamlValue& value) {
    const auto [known, is_new] = said.emplace(key, value.text());
    if (is_new) keys.add(key, copied(value));
    return is_new || key == "at" || known->second == value.text();
  }

  bool add_after(const YamlValue& streams) {
    if (!streams.is_list()) return false;
    for (const YamlValue& item : streams.items()) {
      if (said.emplace("after " + std::string(item.text()), "").second) after.add(copied(item));
    }
    return true;
  }
};

// Adds the calls and the other keys of the step at `path` to `merged`. Conditions of the blocks
// around the step become conditions of the calls. Returns false if keys conflict.
bool ScenarioEdits::add_calls(const Path& path, std::size_t depth, Merged& merged) const {
  std::map<std::string, YamlNode, std::less<>> conditions;
  YamlNode own = YamlNode::map();
  std::vector<YamlValue> inner;
  const auto add_key = [&](const std::string& key, const YamlValue& value) {
    if (contains(kConditions, key)) return conditions.emplace(key, copied(value)).second;
    if (key == "after") return merged.add_after(value);
    if (contains(kOfSteps, key)) return merged.add_key(key, value);
    if (key == "group") {
      inner = value.items();
    } else if (key != "name" && key != "do") {
      own.add(key, copied(value));
    }
    return true;
  };
  for (std::size_t i = depth + 1; i <= path.size(); i += 2) {
    const auto step = at(root_, first_keys(path, i));
    for (const YamlValue::Entry& entry : step->entries()) {
      if (!add_key(std::string(entry.key.text()), entry.value)) return false;
    }
  }
  const auto add_call = [&](YamlNode call, const YamlValue* written) {
    for (const auto& [key, value] : conditions) {
      if (written != nullptr && child(*written, key)) return false;
      call.add(key, value);
    }
    merged.calls.add(std::move(call));
    return true;
  };
  if (inner.empty()) return add_call(std::move(own), nullptr);
  return std::all_of(inner.begin(), inner.end(),
                     [&](const YamlValue& call) { return add_call(copied(call), &call); });
}

PatchKeys ScenarioEdits::batch(Place first, Place second, bool at_second) const {
  const std::optional<Pair> pair = pair_at(first, second);
  if (!pair || pair->first > pair->second) return std::nullopt;
  Merged merged;
  for (const Path* path : {&pair->first_path, &pair->second_path}) {
    if (!add_calls(*path, pair->list.size(), merged)) return std::nullopt;
  }
  merged.keys.add("group", std::move(merged.calls));
  if (!merged.after.empty()) merged.keys.add("after", std::move(merged.after));
  YamlNode steps = YamlNode::list();
  if (!at_second) steps.add(merged.keys);
  copy_items(pair->items, pair->first + 1, pair->second - 1, steps);
  if (at_second) steps.add(merged.keys);
  return below(range_in(pair->list, pair->first, pair->second), std::move(steps));
}

// ---------------------------------------------------------------------------------------------
// Several steps

PatchKeys ScenarioEdits::reorder(const std::vector<std::vector<Place>>& lists) const {
  Values values;
  for (const std::vector<Place>& places : lists) {
    std::optional<Item> item;
    std::vector<std::size_t> sorted;
    for (const Place place : places) {
      std::optional<Item> next = item_at(place);
      if (!next || (item && item->list != next->list)) return std::nullopt;
      sorted.push_back(next->position);
      item = std::move(next);
    }
    const auto [from, to] = std::minmax_element(sorted.begin(), sorted.end());
    std::vector<std::size_t> order;
    for (std::size_t i = *from; i <= *to; ++i) order.push_back(i);
    for (std::size_t k = 0; k + 1 < sorted.size(); ++k) {
      const auto later =
          std::find_first_of(order.begin(), order.end(),
                             sorted.begin() + static_cast<std::ptrdiff_t>(k) + 1, sorted.end());
      const auto moved = std::find(order.begin(), order.end(), sorted[k]);
      if (later < moved) std::rotate(later, moved, moved + 1);
    }
    YamlNode changed = YamlNode::list();
    for (const std::size_t i : order) copy_items(item->items, i, i, changed);
    values.emplace_back(range_in(item->list, *from, *to), std::move(changed));
  }
  if (values.empty()) return std::nullopt;
  return merged(values);
}

// ---------------------------------------------------------------------------------------------
// The scenario

namespace {

std::string patch_text(const std::string& keys) {
  return std::string("patch: ") + kPatchVersion + "\n" + keys;
}

}  // namespace

EditedScenario::EditedScenario(const Scenario& scenario, std::string text,
                               std::vector<PatchText> patches, Read read)
    : scenario_(scenario),
      text_(std::move(text)),
      patches_(std::move(patches)),
      read_(std::move(read)) {}

YamlDocument EditedScenario::document(const std::vector<Edit>& edits) const {
  std::vector<PatchText> patches = patches_;
  for (const Edit& edit : edits) patches.push_back({"a change", patch_text(edit.patch)});
  models::Diagnostics unheard;
  std::vector<GivenSetting> settings;
  YamlDocument document = YamlDocument::parse(text_, unheard).value();
  apply_patches(document, patches, settings, unheard);
  return document;
}

std::string EditedScenario::patch(const std::vector<Edit>& edits) const {
  if (edits.size() == 1) return patch_text(edits.front().patch);
  // Edits of parameters are not in the document, so their patches are copied.
  std::string keys;
  for (const Edit& edit : edits) {
    if (edit.kind == &models::edit_kinds::kParameter) keys += edit.patch;
  }
  const YamlDocument before = document({});
  const YamlDocument after = document(edits);
  const PatchKeys others = difference(before.root(), after.root());
  if (others) keys += others->document({});
  return keys.empty() ? keys : patch_text(keys);
}

std::optional<models::TaskGraph> EditedScenario::graph(const std::vector<Edit>& edits) const {
  const std::string text = patch(edits);
  if (text.empty()) return std::nullopt;
  std::optional<Scenario> changed = read_({"a change", text});
  if (!changed) return std::nullopt;
  return std::move(changed->graph);
}

}  // namespace pipesim::formats
