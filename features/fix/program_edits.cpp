#include "features/fix/program_edits.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/document/tree.hpp"
#include "formats/document/value_writer.hpp"

namespace pipesim::formats {

using models::Change;

namespace {

using Kind = Change::Kind;

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

Path joined(Path path, std::string key) {
  path.push_back(std::move(key));
  return path;
}

// Two steps of one list. A step can be alone in a block that is an item of the list.
struct Both {
  Path list;
  std::size_t first = 0;  // positions in the list
  std::size_t second = 0;
  Path first_path;
  Path second_path;
};

class Editor {
 public:
  Editor(const YamlValue& root, std::uint32_t ranks) : root_(root), ranks_(ranks) {}

  std::optional<YamlNode> edit(const Change& change) const;

 private:
  std::optional<Both> both(const Change& change) const;
  bool is_alone_in(const Path& path, std::size_t depth) const;
  std::optional<YamlNode> wait(const Change& change) const;
  std::optional<YamlNode> batch(const Change& change) const;
  bool add_calls(const Path& path, std::size_t depth, YamlNode& calls, YamlNode& group,
                 YamlNode& after, std::map<std::string, std::string, std::less<>>& said) const;
  std::optional<YamlNode> move(const Change& change) const;
  std::optional<YamlNode> communicator(const Change& change) const;
  std::optional<YamlNode> everywhere(const Change& change) const;
  std::optional<YamlNode> copy(const Change& change) const;
  std::optional<YamlNode> other_end(const Change& change) const;
  std::optional<YamlNode> one_order(const Change& change) const;
  std::optional<YamlNode> drop(const Change& change) const;
  std::optional<YamlNode> value(const Change& change) const;
  YamlNode on(const models::RankSet& some) const;
  models::RankSet others(const models::RankSet& some) const;

  YamlValue root_;
  std::uint32_t ranks_;
};

// ---------------------------------------------------------------------------------------------
// Ranks

models::RankSet Editor::others(const models::RankSet& some) const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (!some.contains(rank)) ranks.push_back(rank);
  }
  return models::RankSet(std::move(ranks));
}

// Returns the value of the key `on` for the ranks `some`. Writes every second rank as a condition:
// "rank % 2 == 0".
YamlNode Editor::on(const models::RankSet& some) const {
  for (const std::uint32_t remainder : {0u, 1u}) {
    std::vector<std::uint32_t> half;
    for (std::uint32_t rank = remainder; rank < ranks_; rank += 2) half.push_back(rank);
    if (half.size() > 1 && models::RankSet(half) == some) {
      return YamlNode::value("rank % 2 == " + std::to_string(remainder));
    }
  }
  return formats::ranks(some, 0);
}

// ---------------------------------------------------------------------------------------------
// Two steps

// Whether the item at path[depth] of a list contains only the step at `path`.
bool Editor::is_alone_in(const Path& path, std::size_t depth) const {
  for (std::size_t i = depth + 1; i < path.size(); i += 2) {
    const auto block = at(root_, Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(i)));
    const auto steps = block ? child(*block, "do") : std::nullopt;
    const bool alone = path[i] == "do" && steps && steps->is_list() && steps->items().size() == 1 &&
                       !child(*block, "repeat");
    if (!alone) return false;
  }
  return true;
}

std::optional<Both> Editor::both(const Change& change) const {
  const std::optional<Path> first = find_place(root_, change.place);
  const std::optional<Path> second = find_place(root_, change.second);
  if (!first || !second) return std::nullopt;
  const auto [a, b] = std::mismatch(first->begin(), first->end(), second->begin(), second->end());
  if (a == first->end() || b == second->end()) return std::nullopt;
  Both result;
  result.list = Path(first->begin(), a);
  const auto list = at(root_, result.list);
  if (!list || !list->is_list() || result.list.back() == "programs" ||
      result.list.back() == "group") {
    return std::nullopt;
  }
  const std::size_t depth = result.list.size();
  if (!is_alone_in(*first, depth) || !is_alone_in(*second, depth)) return std::nullopt;
  result.first = number_of(*a);
  result.second = number_of(*b);
  result.first_path = *first;
  result.second_path = *second;
  return result;
}

std::optional<YamlNode> Editor::move(const Change& change) const {
  const std::optional<Both> steps = both(change);
  if (!steps) return std::nullopt;
  const auto [from, to] = std::minmax(steps->first, steps->second);
  const std::vector<YamlValue> items = at(root_, steps->list)->items();
  std::vector<std::size_t> order;
  for (std::size_t i = from; i <= to; ++i) {
    if (i == steps->first) continue;
    if (i == steps->second && !change.behind) order.push_back(steps->first);
    order.push_back(i);
    if (i == steps->second && change.behind) order.push_back(steps->first);
  }
  YamlNode moved = YamlNode::list();
  for (const std::size_t i : order) moved.add(copied(items[i - 1]));
  const std::string range = std::to_string(from) + ".." + std::to_string(to);
  if (change.on.empty()) return below(joined(steps->list, range), std::move(moved));
  YamlNode kept = YamlNode::list();
  for (std::size_t i = from; i <= to; ++i) kept.add(copied(items[i - 1]));
  YamlNode halves = YamlNode::list();
  YamlNode some = one("on", on(change.on));
  some.add("do", std::move(moved));
  halves.add(std::move(some));
  YamlNode rest = one("on", on(others(change.on)));
  rest.add("do", std::move(kept));
  halves.add(std::move(rest));
  return below(joined(steps->list, range), std::move(halves));
}

// Adds the calls of the step at `path` to `calls`, and the other keys of the step to `group` and
// `after`. Conditions of the blocks around the step become conditions of the calls. Returns false
// if keys conflict.
bool Editor::add_calls(const Path& path, std::size_t depth, YamlNode& calls, YamlNode& group,
                       YamlNode& after,
                       std::map<std::string, std::string, std::less<>>& said) const {
  std::map<std::string, YamlNode, std::less<>> conditions;
  YamlNode own = YamlNode::map();
  std::vector<YamlValue> inner;
  for (std::size_t i = depth + 1; i <= path.size(); i += 2) {
    const auto step = at(root_, Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(i)));
    for (const YamlValue::Entry& entry : step->entries()) {
      const std::string key(entry.key.text());
      if (contains(kConditions, key)) {
        if (!conditions.emplace(key, copied(entry.value)).second) return false;
      } else if (key == "after") {
        if (!entry.value.is_list()) return false;
        for (const YamlValue& item : entry.value.items()) {
          if (said.emplace("after " + std::string(item.text()), "").second) after.add(copied(item));
        }
      } else if (contains(kOfSteps, key)) {
        const auto [known, is_new] = said.emplace(key, entry.value.text());
        if (is_new) group.add(key, copied(entry.value));
        if (!is_new && key != "at" && known->second != entry.value.text()) return false;
      } else if (key == "group") {
        inner = entry.value.items();
      } else if (key != "name" && key != "do") {
        own.add(key, copied(entry.value));
      }
    }
  }
  const auto add = [&](YamlNode call, const YamlValue* said_of_it) {
    for (const auto& [key, value] : conditions) {
      if (said_of_it != nullptr && child(*said_of_it, key)) return false;
      call.add(key, value);
    }
    calls.add(std::move(call));
    return true;
  };
  if (inner.empty()) return add(std::move(own), nullptr);
  return std::all_of(inner.begin(), inner.end(),
                     [&](const YamlValue& call) { return add(copied(call), &call); });
}

std::optional<YamlNode> Editor::batch(const Change& change) const {
  const std::optional<Both> steps = both(change);
  if (!steps || steps->first > steps->second) return std::nullopt;
  const std::vector<YamlValue> items = at(root_, steps->list)->items();
  YamlNode group = YamlNode::map();
  YamlNode calls = YamlNode::list();
  YamlNode after = YamlNode::list();
  std::map<std::string, std::string, std::less<>> said;
  const std::size_t depth = steps->list.size();
  for (const Path* path : {&steps->first_path, &steps->second_path}) {
    if (!add_calls(*path, depth, calls, group, after, said)) return std::nullopt;
  }
  group.add("group", std::move(calls));
  if (!after.empty()) group.add("after", std::move(after));
  YamlNode result = YamlNode::list();
  if (!change.behind) result.add(group);
  for (std::size_t i = steps->first + 1; i < steps->second; ++i) result.add(copied(items[i - 1]));
  if (change.behind) result.add(group);
  return below(
      joined(steps->list, std::to_string(steps->first) + ".." + std::to_string(steps->second)),
      std::move(result));
}

// ---------------------------------------------------------------------------------------------
// One step

std::optional<YamlNode> Editor::wait(const Change& change) const {
  std::optional<Path> path = find_place(root_, change.place);
  if (!path) return std::nullopt;
  const auto list = child(*at(root_, *path), "after");
  YamlNode items = YamlNode::list();
  items.add(YamlNode::text(change.part));
  if (list && !list->is_list()) return std::nullopt;
  path->emplace_back("after");
  return below(*path, list ? one("+", std::move(items)) : std::move(items));
}

std::optional<YamlNode> Editor::everywhere(const Change& change) const {
  const std::optional<Path> path = find_place(root_, change.place);
  if (!path || path->size() < 3) return std::nullopt;
  const auto without_conditions = [&](const Path& of) -> std::optional<YamlNode> {
    YamlNode keys = YamlNode::map();
    for (const std::string_view key : kConditions) {
      if (child(*at(root_, of), key)) keys.add(key, YamlNode::nothing());
    }
    if (keys.empty()) return std::nullopt;
    return below(of, std::move(keys));
  };
  if (const auto own = without_conditions(*path)) {
    if (change.behind) return std::nullopt;
    return own;
  }
  // The block around the step, if the block is an item of a list of steps.
  const Path block(path->begin(), path->end() - 2);
  const bool is_block = (*path)[path->size() - 2] == "do" && block.size() >= 3 &&
                        (block[block.size() - 2] == "do" || block.front() == "blocks");
  if (!is_block) return std::nullopt;
  const YamlValue step = *at(root_, block);
  if (!child(step, "on") && !child(step, "when")) return std::nullopt;
  if (change.behind) return without_conditions(block);
  const std::vector<YamlValue> items = child(step, "do")->items();
  const std::size_t here = number_of(path->back());
  YamlNode result = YamlNode::list();
  const auto add_part = [&](std::size_t from, std::size_t to) {
    YamlNode inner = YamlNode::list();
    for (std::size_t i = from; i < to; ++i) inner.add(copied(items[i]));
    if (inner.empty()) return;
    YamlNode part = copied_without(step, {"do"});
    part.add("do", std::move(inner));
    result.add(std::move(part));
  };
  // A loop stays a single loop, which all ranks run.
  if (child(step, "repeat")) {
    YamlNode steps = YamlNode::list();
    const auto add_rest = [&](std::size_t from, std::size_t to) {
      YamlNode inner = YamlNode::list();
      for (std::size_t i = from; i < to; ++i) inner.add(copied(items[i]));
      if (inner.empty()) return;
      YamlNode part = YamlNode::map();
      for (const std::string_view key : kConditions) {
        if (const auto condition = child(step, key)) part.add(key, copied(*condition));
      }
      part.add("do", std::move(inner));
      steps.add(std::move(part));
    };
    add_rest(0, here - 1);
    steps.add(copied(items[here - 1]));
    add_rest(here, items.size());
    YamlNode loop = copied_without(step, {"do", "on", "when"});
    loop.add("do", std::move(steps));
    result.add(std::move(loop));
    Path range = block;
    range.back() = block.back() + ".." + block.back();
    return below(range, std::move(result));
  }
  add_part(0, here - 1);
  result.add(copied(items[here - 1]));
  add_part(here, items.size());
  Path range = block;
  range.back() = block.back() + ".." + block.back();
  return below(range, std::move(result));
}

std::optional<YamlNode> Editor::copy(const Change& change) const {
  const std::optional<Path> source = find_place(root_, change.place);
  const std::optional<Path> target = find_place(root_, change.second);
  if (!source || !target || target->size() < 2) return std::nullopt;
  Path list(target->begin(), target->end() - 1);
  const auto steps = at(root_, list);
  if (!steps || !steps->is_list() || list.back() == "group") return std::nullopt;
  YamlNode step = copied_without(*at(root_, *source), {"on", "when", "name"});
  if (!change.on.empty()) step.add("on", on(change.on));
  YamlNode items = YamlNode::list();
  items.add(std::move(step));
  const std::size_t position = number_of(target->back()) - (change.behind ? 0 : 1);
  return below(joined(std::move(list), std::to_string(position) + "+"), std::move(items));
}

// Adds the matching send or recv, with the same size and type. Returns nullopt if the size or type
// depends on the rank.
std::optional<YamlNode> Editor::other_end(const Change& change) const {
  const std::optional<Path> source = find_place(root_, change.place);
  const std::optional<Path> target = find_place(root_, change.second);
  if (!source || !target || target->size() < 2) return std::nullopt;
  Path list(target->begin(), target->end() - 1);
  const auto steps = at(root_, list);
  if (!steps || !steps->is_list() || list.back() == "group") return std::nullopt;
  const bool is_recv = change.part == "recv";
  const YamlValue call = *at(root_, *source);
  const auto communicator = child(call, is_recv ? "send" : "recv");
  if (!communicator) return std::nullopt;
  YamlNode step = one(change.part, copied(*communicator));
  step.add(is_recv ? "from" : "to", number(change.number));
  for (const std::string_view key : {"bytes", "type", "tag"}) {
    const auto value = child(call, key);
    if (!value) continue;
    // In the new step, `rank` would be another rank, so an expression with `rank` is not copied.
    if (!value->is_scalar() || value->text().find("rank") != std::string_view::npos) {
      return std::nullopt;
    }
    step.add(key, copied(*value));
  }
  step.add("on", on(change.on));
  YamlNode items = YamlNode::list();
  items.add(std::move(step));
  const std::size_t position = number_of(target->back()) - (change.behind ? 0 : 1);
  return below(joined(std::move(list), std::to_string(position) + "+"), std::move(items));
}

std::optional<YamlNode> Editor::drop(const Change& change) const {
  const std::optional<Path> path = find_place(root_, change.place);
  if (!path) return std::nullopt;
  if (change.on.empty()) return below(*path, YamlNode::nothing());
  std::vector<std::uint32_t> left;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    const bool has = change.has.empty() || change.has.contains(rank);
    if (has && !change.on.contains(rank)) left.push_back(rank);
  }
  return below(joined(*path, "on"), on(models::RankSet(std::move(left))));
}

std::optional<YamlNode> Editor::value(const Change& change) const {
  const std::optional<Path> path = find_place(root_, change.place);
  if (!path) return std::nullopt;
  const auto node = [](const models::NewValue& value) {
    if (value.key == "bytes") return bytes(std::stoll(value.to));
    return value.key == "type" ? YamlNode::text(value.to) : YamlNode::value(value.to);
  };
  if (path->back() == change.values.front().key) return below(*path, node(change.values.front()));
  YamlNode values = YamlNode::map();
  for (const models::NewValue& value : change.values) values.add(value.key, node(value));
  return below(*path, std::move(values));
}

// ---------------------------------------------------------------------------------------------
// Several steps

// Changes of a patch at several paths, in order.
using PatchKeys = std::vector<std::pair<Path, YamlNode>>;

// Merges changes that agree in the first `depth` keys into one map.
YamlNode patch_of(const PatchKeys& keys, std::size_t depth) {
  if (keys.front().first.size() == depth) return keys.front().second;
  YamlNode map = YamlNode::map();
  PatchKeys left = keys;
  while (!left.empty()) {
    const std::string key = left.front().first[depth];
    const auto others = std::stable_partition(
        left.begin(), left.end(), [&](const auto& entry) { return entry.first[depth] == key; });
    map.add(key, patch_of(PatchKeys(left.begin(), others), depth + 1));
    left.erase(left.begin(), others);
  }
  return map;
}

// Reorders each list: each step moves ahead of the steps that it must precede.
std::optional<YamlNode> Editor::one_order(const Change& change) const {
  PatchKeys patch;
  std::vector<Path> paths;
  for (const models::Place place : change.places) {
    if (place.line > 0) {
      std::optional<Path> path = find_place(root_, place);
      if (!path || path->size() < 2) return std::nullopt;
      paths.push_back(std::move(*path));
      continue;
    }
    const Path list(paths.front().begin(), paths.front().end() - 1);
    std::vector<std::size_t> sorted;
    for (const Path& path : paths) {
      if (Path(path.begin(), path.end() - 1) != list) return std::nullopt;
      sorted.push_back(number_of(path.back()));
    }
    paths.clear();
    const auto steps = at(root_, list);
    if (!steps || !steps->is_list() || list.back() == "group") return std::nullopt;
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
    const std::vector<YamlValue> items = steps->items();
    YamlNode changed = YamlNode::list();
    for (const std::size_t i : order) changed.add(copied(items[i - 1]));
    patch.emplace_back(joined(list, std::to_string(*from) + ".." + std::to_string(*to)),
                       std::move(changed));
  }
  if (patch.empty()) return std::nullopt;
  return patch_of(patch, 0);
}

// ---------------------------------------------------------------------------------------------
// Communicators

std::optional<YamlNode> Editor::communicator(const Change& change) const {
  PatchKeys patch;
  const auto named = at(root_, {"communicators", "named", change.part});
  const auto group = at(root_, {"groups", change.part});
  if (named) {
    patch.push_back(
        {{"communicators", "named", "+" + change.to}, copied_without(*named, {"stream"})});
  } else if (group) {
    patch.push_back({{"groups", "+" + change.to}, copied(*group)});
  } else {
    return std::nullopt;
  }
  for (const models::Place place : change.places) {
    std::optional<Path> path = find_place(root_, place);
    if (!path) return std::nullopt;
    const YamlValue call = *at(root_, *path);
    const char* key = child(call, "send") ? "send" : "recv";
    const auto old = child(call, key);
    if (!old || old->text() != change.part) return std::nullopt;
    patch.emplace_back(joined(std::move(*path), key), YamlNode::text(change.to));
  }
  return patch_of(patch, 0);
}

// ---------------------------------------------------------------------------------------------

std::optional<YamlNode> Editor::edit(const Change& change) const {
  switch (change.kind) {
    case Kind::kAfter:
      return wait(change);
    case Kind::kBatch:
      return batch(change);
    case Kind::kMove:
      return move(change);
    case Kind::kCommunicator:
      return communicator(change);
    case Kind::kEverywhere:
      return everywhere(change);
    case Kind::kCopy:
      return copy(change);
    case Kind::kOtherEnd:
      return other_end(change);
    case Kind::kOneOrder:
      return one_order(change);
    case Kind::kDrop:
      return drop(change);
    case Kind::kValue:
      return value(change);
    case Kind::kLaunchOrder:
      return below({"device", "launch_order"}, YamlNode::text("implicit"));
    case Kind::kRow:
      if (!at(root_, {"schedule", "rows"})) return std::nullopt;
      return below({"schedule", "rows", std::to_string(change.number)}, YamlNode::text(change.to));
    case Kind::kMessages:
      return below({"schedule", "messages"}, YamlNode::text(change.to));
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<YamlNode> program_edit(const YamlValue& root, std::uint32_t ranks,
                                     const Change& change) {
  return Editor(root, ranks).edit(change);
}

}  // namespace pipesim::formats
