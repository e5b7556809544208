// Named sets of ranks, and groups of ranks that communicate.
#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "formats/scenario/keys.hpp"
#include "formats/scenario/section_readers.hpp"
#include "models/graph/by_name.hpp"

namespace pipesim::formats {
namespace {

using models::kNoIndex;
using models::RankSet;

// Whether `ranks`, the value of a set, uses one of `names`.
bool names_one_of(const YamlValue& ranks, const std::set<std::string, std::less<>>& names) {
  if (ranks.is_scalar()) return names.find(ranks.text()) != names.end();
  const std::vector<YamlValue> items = ranks.is_list() ? ranks.items() : std::vector<YamlValue>();
  return std::any_of(items.begin(), items.end(),
                     [&](const YamlValue& item) { return names_one_of(item, names); });
}

class GroupReader {
 public:
  GroupReader(const ValueReader& values, Scenario& scenario)
      : values_(values),
        diagnostics_(values.diagnostics()),
        scenario_(scenario),
        graph_(scenario.graph) {}

  void run(MapReader& map);

 private:
  void read_set(const YamlValue::Entry& entry);
  void read_groups(const YamlValue& value);
  void read_group_lists(const YamlValue& value, models::Group& group);
  void read_regular_group(const YamlValue& value, models::Group& group);
  void check_group(const YamlValue& value, models::Group& group);

  const ValueReader& values_;
  models::Diagnostics& diagnostics_;
  Scenario& scenario_;
  models::TaskGraph& graph_;
};

void GroupReader::run(MapReader& map) {
  const auto sets = map.take("sets");
  const auto groups = map.take("groups");
  for (const models::Group& group : graph_.groups)
    scenario_.sets.emplace(group.name, group.members());
  std::set<std::string, std::less<>> later;  // names of groups, and of sets that use groups
  const auto entries =
      sets ? named_entries(*sets, "'sets'", diagnostics_) : std::vector<YamlValue::Entry>();
  if (groups && groups->is_map()) {
    for (const YamlValue::Entry& entry : groups->entries()) later.emplace(entry.key.text());
  }
  for (const YamlValue::Entry& entry : entries) later.erase(std::string(entry.key.text()));
  std::vector<YamlValue::Entry> of_groups;
  for (const YamlValue::Entry& entry : entries) {
    if (names_one_of(entry.value, later)) {
      of_groups.push_back(entry);
      later.emplace(entry.key.text());
    } else {
      read_set(entry);
    }
  }
  if (groups) read_groups(*groups);
  for (const YamlValue::Entry& entry : of_groups) read_set(entry);
}

void GroupReader::read_set(const YamlValue::Entry& entry) {
  const std::optional<RankSet> ranks = values_.rank_set(entry.value);
  // An invalid set stays known, so that its uses are not also errors. A set takes precedence over a
  // group of the same name.
  scenario_.sets.insert_or_assign(std::string(entry.key.text()), ranks.value_or(RankSet()));
}

void GroupReader::read_groups(const YamlValue& value) {
  for (const YamlValue::Entry& entry : named_entries(value, "'groups'", diagnostics_)) {
    if (!values_.keep(graph_.ranks, entry.key.place())) return;  // each group has an index by rank
    models::Group group;
    group.name = entry.key.text();
    group.place = entry.key.place();
    if (index_of(graph_.groups, group.name) != kNoIndex) {
      diagnostics_.error(group.place, models::Code::kDuplicateName,
                         fmt::format("'parallel' makes a group '{}' already", group.name));
      continue;
    }
    const std::optional<YamlValue> lists = values_.resolved(entry.value);
    if (lists && lists->is_map()) {
      read_regular_group(*lists, group);
    } else if (lists) {
      read_group_lists(*lists, group);
    }
    group.index();
    // A set takes precedence over a group of the same name.
    scenario_.sets.try_emplace(group.name, group.members());
    graph_.groups.push_back(std::move(group));
  }
}

// Reads several lists, [[0, 1], [2, 3]], or a single list: [0, 1], `all` or a set.
void GroupReader::read_group_lists(const YamlValue& value, models::Group& group) {
  std::vector<YamlValue> lists = {value};
  if (value.is_list() && !value.items().empty() && value.items().front().is_list()) {
    lists = value.items();
  }
  for (const YamlValue& list : lists) {
    std::vector<std::uint32_t> members;
    // Keeps the order of the list: it is the order of the group's members.
    for (const YamlValue& item : list.is_list() ? list.items() : std::vector<YamlValue>{list}) {
      const std::optional<RankSet> ranks = values_.rank_set(item);
      if (ranks) members.insert(members.end(), ranks->begin(), ranks->end());
    }
    group.lists.push_back(std::move(members));
  }
  check_group(value, group);
}

// Reads {size: N, stride: S}: ranks r, r + S, ..., r + (N - 1) S.
void GroupReader::read_regular_group(const YamlValue& value, models::Group& group) {
  MapReader map(value, keys::kRegularGroup, diagnostics_);
  const auto number = [&](const char* key, std::int64_t otherwise) {
    const std::optional<YamlValue> field = map.take(key);
    if (!field) return otherwise;
    const std::int64_t found = values_.constant(*field, ValueType::kNumber).value_or(1);
    if (found >= 1) return found;
    diagnostics_.error(field->place(), models::Code::kOutOfRange,
                       fmt::format("'{}' must be at least 1, found {}", key, found));
    return std::int64_t{1};
  };
  const std::int64_t size = number("size", graph_.ranks);
  const std::int64_t stride = number("stride", 1);
  map.finish();
  if (size > graph_.ranks || stride > graph_.ranks || graph_.ranks % (size * stride) != 0) {
    diagnostics_.error(value.place(), models::Code::kGroupLayout,
                       fmt::format("'ranks' ({}) is not a multiple of size x stride ({} x {})",
                                   graph_.ranks, size, stride));
    return;
  }
  for (std::int64_t first = 0; first < graph_.ranks; ++first) {
    if (first / stride % size != 0) continue;
    std::vector<std::uint32_t> members;
    for (std::int64_t i = 0; i < size; ++i) {
      members.push_back(static_cast<std::uint32_t>(first + i * stride));
    }
    group.lists.push_back(std::move(members));
  }
}

void GroupReader::check_group(const YamlValue& value, models::Group& group) {
  std::vector<std::uint8_t> seen(graph_.ranks, 0);
  for (std::vector<std::uint32_t>& list : group.lists) {
    for (const std::uint32_t rank : list) {
      if (seen[rank]++ == 0) continue;
      diagnostics_.error(value.place(), models::Code::kGroupLayout,
                         fmt::format("rank {} appears twice in group '{}'", rank, group.name));
      group.lists.clear();
      return;
    }
  }
}

}  // namespace

void read_sets_and_groups(MapReader& map, const ValueReader& values, Scenario& scenario) {
  GroupReader(values, scenario).run(map);
}

}  // namespace pipesim::formats
