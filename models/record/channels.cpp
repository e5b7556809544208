#include "models/record/channels.hpp"

#include <algorithm>
#include <set>

namespace pipesim::models {
namespace {

// A name that means nothing else in a scenario, and needs no quotes.
std::string plain_name(const std::string& text) {
  constexpr std::size_t kMaxName = 100;
  std::string name;
  for (const char c : text.substr(0, kMaxName)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    name += plain ? c : '_';
  }
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) name = "g" + name;
  static const std::set<std::string> kTaken = {
      "all", "rank", "ranks", "device", "compute", "lazy", "p2p", "kernel", "store", "on", "off"};
  return kTaken.count(name) > 0 ? name + "_group" : name;
}

// "src/parallel_state.py:189" is parallel_state_189.
std::string name_of_place(const RecordPlace& place) {
  const std::size_t slash = place.at.rfind('/');
  std::string name = place.at.substr(slash == std::string::npos ? 0 : slash + 1);
  const std::size_t ending = name.find(".py:");
  if (ending != std::string::npos) name.erase(ending, 3);
  return name;
}

bool is_member(const Channel& channel, std::uint32_t rank) {
  return channel.list_of(rank) != nullptr;
}

}  // namespace

const std::vector<std::uint32_t>* Channel::list_of(std::uint32_t rank) const {
  for (const auto& list : lists) {
    if (std::find(list.begin(), list.end(), rank) != list.end()) return &list;
  }
  return nullptr;
}

Channels::Channels(const Record& record, RecordRules rules) : record_(record), rules_(rules) {
  find_groups();
  find_messages();
}

std::uint32_t Channels::add(const std::string& name,
                            std::vector<std::vector<std::uint32_t>> lists) {
  Channel channel;
  const std::uint32_t copy = ++names_[name];
  channel.name = copy == 1 ? name : name + " " + std::to_string(copy);
  channel.lists = std::move(lists);
  channels_.push_back(std::move(channel));
  return static_cast<std::uint32_t>(channels_.size() - 1);
}

std::uint32_t Channels::store() {
  if (store_ == kNotSaid) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t rank = 0; rank < record_.ranks.size(); ++rank) all.push_back(rank);
    store_ = add("store", {std::move(all)});
    channels_[store_].of_store = true;
  }
  return store_;
}

// What a group is known by: equal texts are one family of groups.
std::string Channels::source_of(const RecordGroup& group) const {
  const bool described = !group.description.empty() && group.description != "undefined" &&
                         group.description != "default_pg";
  if (described) return group.description;
  if (group.place == kNotSaid) return "group_" + group.name;
  return record_.places[group.place].at;
}

std::string Channels::name_of(const RecordGroup& group) const {
  const std::string source = source_of(group);
  const bool is_place = group.place != kNotSaid && source == record_.places[group.place].at;
  return plain_name(is_place ? name_of_place(record_.places[group.place]) : source);
}

// Adds `ranks` to the first channel of a family that has none of them, or else to a new one.
std::uint32_t Channels::add_to_family(std::vector<std::uint32_t>& family, const std::string& name,
                                      const std::vector<std::uint32_t>& ranks) {
  for (const std::uint32_t known : family) {
    const bool taken = std::any_of(ranks.begin(), ranks.end(), [&](std::uint32_t rank) {
      return is_member(channels_[known], rank);
    });
    if (taken || channels_[known].lists.front().size() != ranks.size()) continue;
    channels_[known].lists.push_back(ranks);
    return known;
  }
  family.push_back(add(name, {ranks}));
  return family.back();
}

void Channels::find_groups() {
  std::map<std::string, std::vector<std::uint32_t>> families;  // names can be cut, so not by them
  bool has_world = false;
  for (const RecordGroup& group : record_.groups) {
    const bool world = !has_world && group.ranks.size() == record_.ranks.size();
    has_world = has_world || world;
    const std::string name = world ? "world" : name_of(group);
    of_group_.push_back(
        add_to_family(families[world ? name : source_of(group)], name, group.ranks));
  }
  for (Channel& channel : channels_) std::sort(channel.lists.begin(), channel.lists.end());
}

Channels::MessageKey Channels::key_of(std::uint32_t rank, const RecordEntry& entry) const {
  std::uint32_t from = rank;
  std::uint32_t to = entry.peer;
  if (entry.operation == Operation::kReceive) std::swap(from, to);
  const bool by_tag = rules_ == RecordRules::kGloo;
  if (!by_tag && from > to) std::swap(from, to);
  const MessageKey any{of_group_[entry.group], entry.tag, kNotSaid, to};
  if (by_tag && (entry.any_source || from_any_.count(any) > 0)) return any;
  return {of_group_[entry.group], by_tag ? entry.tag : 0, from, to};
}

void Channels::find_messages() {
  const auto for_each_message = [&](const auto& visit) {
    for (std::uint32_t rank = 0; rank < record_.ranks.size(); ++rank) {
      for (const RecordEntry& entry : record_.ranks[rank].entries) {
        if (entry.kind != RecordEntry::Kind::kCall || is_collective(entry.operation)) continue;
        const bool alone = rules_ == RecordRules::kGloo || entry.batch == kNotSaid;
        if (alone) visit(rank, entry);
      }
    }
  };
  for_each_message([&](std::uint32_t rank, const RecordEntry& entry) {
    if (entry.any_source && rules_ == RecordRules::kGloo) from_any_.insert(key_of(rank, entry));
  });
  std::map<MessageKey, std::set<std::uint32_t>> keys;  // and their ranks
  for_each_message([&](std::uint32_t rank, const RecordEntry& entry) {
    std::set<std::uint32_t>& ranks = keys[key_of(rank, entry)];
    ranks.insert({rank, entry.peer});
  });
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<std::uint32_t>> families;
  for (const auto& [key, ranks] : keys) {
    const auto& [group, tag, from, to] = key;
    const std::string kind = rules_ == RecordRules::kNccl ? " pair"
                             : tag == 0                   ? " messages"
                                                          : " tag " + std::to_string(tag);
    std::vector<std::uint32_t> list(ranks.begin(), ranks.end());
    if (from != kNotSaid && from > to) std::reverse(list.begin(), list.end());
    of_message_.emplace(key,
                        add_to_family(families[{group, tag}], channels_[group].name + kind, list));
  }
}

std::uint32_t Channels::of_message(std::uint32_t rank, const RecordEntry& entry) const {
  return of_message_.at(key_of(rank, entry));
}

}  // namespace pipesim::models
