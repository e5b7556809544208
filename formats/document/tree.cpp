#include "formats/document/tree.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace pipesim::formats {
namespace {

bool find_below(const YamlValue& value, models::Place place, Path& path) {
  const auto found_in = [&](const YamlValue& inner) {
    return inner.place() == place && (inner.is_map() || inner.is_scalar());
  };
  std::size_t position = 0;
  const std::vector<YamlValue> items = value.is_list() ? value.items() : std::vector<YamlValue>();
  for (const YamlValue& item : items) {
    path.push_back(std::to_string(++position));
    if (found_in(item) || find_below(item, place, path)) return true;
    path.pop_back();
  }
  for (const YamlValue::Entry& entry : value.entries()) {
    path.emplace_back(entry.key.text());
    if (found_in(entry.value) || find_below(entry.value, place, path)) return true;
    path.pop_back();
  }
  return false;
}

// Whether the names in the map at `path` must be known, so that a new name needs a '+'.
bool holds_names(const Path& path) {
  constexpr std::array<std::string_view, 8> kMaps = {"params",  "sets",   "groups", "threads",
                                                     "streams", "blocks", "actors", "named"};
  if (path.empty()) return false;
  const bool known =
      std::find(kMaps.begin(), kMaps.end(), std::string_view(path.back())) != kMaps.end();
  return (known && path.size() <= 2) || (path.size() == 3 && path.back() == "registers");
}

YamlNode items_of(const std::vector<YamlValue>& items, std::size_t begin, std::size_t end) {
  YamlNode list = YamlNode::list();
  for (std::size_t i = begin; i < end; ++i) list.add(copied(items[i]));
  return list;
}

std::optional<YamlNode> differences(const YamlValue& before, const YamlValue& after, Path& path);

YamlNode list_difference(const YamlValue& before, const YamlValue& after, Path& path) {
  const std::vector<YamlValue> a = before.items();
  const std::vector<YamlValue> b = after.items();
  std::size_t head = 0;
  while (head < a.size() && head < b.size() && equal(a[head], b[head])) ++head;
  std::size_t tail = 0;
  while (tail < a.size() - head && tail < b.size() - head &&
         equal(a[a.size() - 1 - tail], b[b.size() - 1 - tail])) {
    ++tail;
  }
  const std::size_t a_end = a.size() - tail;
  const std::size_t b_end = b.size() - tail;
  if (a_end == head) {
    return one(std::to_string(head) + "+", items_of(b, head, b_end));
  }
  const std::string range = a_end - head == 1
                                ? std::to_string(head + 1)
                                : std::to_string(head + 1) + ".." + std::to_string(a_end);
  if (b_end == head) return one(range, YamlNode::nothing());
  if (a_end - head == 1 && b_end - head == 1 && a[head].is_map() && b[head].is_map()) {
    path.push_back(range);
    std::optional<YamlNode> inner = differences(a[head], b[head], path);
    path.pop_back();
    if (inner) return one(range, std::move(*inner));
  }
  const std::string replaced = a_end - head == 1 ? range + ".." + range : range;
  return one(replaced, items_of(b, head, b_end));
}

YamlNode map_difference(const YamlValue& before, const YamlValue& after, Path& path) {
  YamlNode map = YamlNode::map();
  const bool names = holds_names(path);
  for (const YamlValue::Entry& entry : after.entries()) {
    const std::string key(entry.key.text());
    const std::optional<YamlValue> old = child(before, key);
    if (!old) {
      map.add(names ? "+" + key : key, copied(entry.value));
      continue;
    }
    path.push_back(key);
    std::optional<YamlNode> inner = differences(*old, entry.value, path);
    path.pop_back();
    if (inner) map.add(key, std::move(*inner));
  }
  for (const YamlValue::Entry& entry : before.entries()) {
    if (!child(after, entry.key.text())) map.add(entry.key.text(), YamlNode::nothing());
  }
  return map;
}

std::optional<YamlNode> differences(const YamlValue& before, const YamlValue& after, Path& path) {
  if (equal(before, after)) return std::nullopt;
  const bool chooses = child(after, "case").has_value();
  if (before.is_map() && after.is_map() && !chooses) return map_difference(before, after, path);
  if (before.is_list() && after.is_list()) return list_difference(before, after, path);
  return copied(after);
}

}  // namespace

std::optional<YamlValue> child(const YamlValue& map, std::string_view key) { return map.find(key); }

std::optional<YamlValue> at(YamlValue value, const Path& path) {
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

std::optional<Path> find_place(const YamlValue& root, models::Place place) {
  Path path;
  if (place.line == 0 || !find_below(root, place, path)) return std::nullopt;
  return path;
}

YamlNode one(std::string_view key, YamlNode value) {
  YamlNode map = YamlNode::map();
  map.add(key, std::move(value));
  return map;
}

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
  if (value.is_map()) return copied_without(value, {});
  if (value.is_null()) return YamlNode::nothing();
  return value.quoted() ? YamlNode::text(value.text()) : YamlNode::value(value.text());
}

YamlNode copied_without(const YamlValue& map, const std::vector<std::string_view>& keys) {
  YamlNode result = YamlNode::map();
  for (const YamlValue::Entry& entry : map.entries()) {
    if (std::find(keys.begin(), keys.end(), entry.key.text()) != keys.end()) continue;
    result.add(entry.key.text(), copied(entry.value));
  }
  return result;
}

bool equal(const YamlValue& a, const YamlValue& b) {
  if (a.is_map() != b.is_map() || a.is_list() != b.is_list()) return false;
  if (a.is_list()) {
    const std::vector<YamlValue> of_a = a.items();
    const std::vector<YamlValue> of_b = b.items();
    return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), equal);
  }
  if (a.is_map()) {
    const std::vector<YamlValue::Entry> of_a = a.entries();
    const std::vector<YamlValue::Entry> of_b = b.entries();
    return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(),
                      [](const YamlValue::Entry& x, const YamlValue::Entry& y) {
                        return x.key.text() == y.key.text() && equal(x.value, y.value);
                      });
  }
  return a.is_null() == b.is_null() && a.text() == b.text() && a.quoted() == b.quoted();
}

std::optional<YamlNode> difference(const YamlValue& before, const YamlValue& after) {
  Path path;
  return differences(before, after, path);
}

}  // namespace pipesim::formats
