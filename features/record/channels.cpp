#include "features/record/channels.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <set>
#include <utility>

#include "features/record/record_text.hpp"

namespace pipesim::models {
namespace {

// Returns a name that needs no quotes and has no other meaning in a scenario.
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

// Turns "src/parallel_state.py:189" into "parallel_state_189".
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

constexpr std::size_t kMaxPending = 32;  // per group, for collectives that are pending together

using Number = std::pair<std::uint32_t, std::int64_t>;  // group, sequence number

/// The gloo collectives of a record that are pending together on some rank.
class PendingCollectives {
 public:
  PendingCollectives(bool waits_assumed, std::function<bool(const RecordEntry&)> counts)
      : waits_assumed_(waits_assumed), counts_(std::move(counts)) {}

  void add(const RankRecord& rank) {
    std::map<std::uint32_t, std::set<std::int64_t>> pending;  // by group: sequence numbers
    std::map<std::int64_t, Number> of_work;
    for (const RecordEntry& entry : rank.entries) {
      if (entry.kind == RecordEntry::Kind::kWait) {
        for (const std::int64_t work : entry.amounts) {
          const auto call = of_work.find(work);
          if (call != of_work.end()) pending[call->second.first].erase(call->second.second);
        }
      }
      if (!counts_(entry)) continue;
      const Number number{entry.group, entry.number};
      add_call(number, entry, pending[entry.group]);
      if (entry.sync || waits_assumed_) continue;
      pending[entry.group].insert(entry.number);
      if (entry.work >= 0) of_work.emplace(entry.work, number);
    }
  }

  /// Returns, by call, the sequence numbers of earlier calls for which some rank had not waited
  /// yet, at most kMaxPending + 1 of them.
  const std::map<Number, std::set<std::int64_t>>& together() const { return together_; }

  /// Whether a call and the calls that are pending with it end in order even on different channels:
  /// in each of them, every rank waits for all ranks.
  bool end_in_order(const Number& number) const {
    const std::set<std::int64_t>& others = together_.at(number);
    return is_meeting(number) && std::all_of(others.begin(), others.end(), [&](std::int64_t other) {
             return is_meeting({number.first, other});
           });
  }

 private:
  void add_call(const Number& number, const RecordEntry& entry,
                const std::set<std::int64_t>& pending) {
    operations_[number].insert(entry.operation);
    if (entry.on_device || (entry.sized && entry.bytes == 0)) uneven_.insert(number);
    std::set<std::int64_t>& others = together_[number];
    for (auto call = pending.rbegin(); call != pending.rend() && others.size() <= kMaxPending;
         ++call) {
      others.insert(*call);
    }
  }

  // Whether every rank waits for all ranks in the call.
  bool is_meeting(const Number& number) const {
    const auto called = operations_.find(number);
    return called != operations_.end() && called->second.size() == 1 &&
           !has_root(*called->second.begin()) && uneven_.count(number) == 0;
  }

  bool waits_assumed_;
  std::function<bool(const RecordEntry&)> counts_;  // whether an entry is a collective of gloo
  std::map<Number, std::set<std::int64_t>> together_;
  std::map<Number, std::set<Operation>> operations_;
  std::set<Number> uneven_;  // calls without elements, or with tensors of a device, on some rank
};

// The calls of a collective, by the position of the calling rank in its group.
using CallsByPosition = std::map<std::uint32_t, const RecordEntry*>;

// Whether the data of a rooted collective fit into the buffer of the rank at `position`, one of
// `count`. The root, which is at position `root`, makes the call, too.
bool data_fit(const CallsByPosition& calls, std::uint32_t position, std::uint32_t root,
              std::uint32_t count) {
  const RecordEntry& entry = *calls.at(position);
  if (entry.operation == Operation::kGather) return entry.bytes <= calls.at(root)->bytes;
  const std::uint32_t place = (position + count - root) % count;
  if (place == 0) return true;
  // The rank that sends to this rank: in a broadcast, the parent in the binomial tree; in a
  // scatter, the root.
  const std::uint32_t above =
      entry.operation == Operation::kBroadcast ? place ^ std::bit_floor(place) : 0;
  const auto sender = calls.find((above + root) % count);
  return sender == calls.end() || sender->second->bytes <= entry.bytes;
}

// Returns the name of the channel for sends and recvs with `tag` on the channel of a group.
std::string channel_name(const Channel& of_group, std::int64_t tag) {
  if (!of_group.is_gloo) return of_group.name + " pair";
  return of_group.name + (tag == 0 ? " messages" : " tag " + std::to_string(tag));
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
  find_pending_collectives();
  find_uneven_collectives();
  find_partly_filled_collectives();
  find_messages();
}

std::uint32_t Channels::add(const std::string& name, std::vector<std::vector<std::uint32_t>> lists,
                            const Channel& like) {
  Channel channel;
  channel.on_host = like.on_host;
  channel.is_gloo = like.is_gloo;
  std::uint32_t& uses = names_[name];
  channel.name = ++uses == 1 ? name : name + " " + std::to_string(uses);
  while (uses > 1 && names_.count(channel.name) > 0) {  // a channel beside "g 2" is not "g 2", too
    channel.name = name + " " + std::to_string(++uses);
  }
  if (uses > 1) names_[channel.name] = 1;
  channel.lists = std::move(lists);
  channels_.push_back(std::move(channel));
  return static_cast<std::uint32_t>(channels_.size() - 1);
}

std::uint32_t Channels::store() {
  if (store_ == kNotSaid) {
    std::vector<std::uint32_t> all;
    for (std::uint32_t rank = 0; rank < record_.ranks.size(); ++rank) all.push_back(rank);
    Channel hosts;
    hosts.on_host = true;
    store_ = add("store", {std::move(all)}, hosts);
  }
  return store_;
}

// Returns the description of a group. Without a description, returns the line that creates the
// group; if the line is also unknown, its name. Groups with equal sources form one family.
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

// Adds the list `ranks` to the first channel of the family whose lists have this size and none of
// these ranks. Adds a channel if there is no such channel.
std::uint32_t Channels::add_to_family(std::vector<std::uint32_t>& family, const std::string& name,
                                      const std::vector<std::uint32_t>& ranks,
                                      const Channel& like) {
  for (const std::uint32_t known : family) {
    const bool taken = std::any_of(ranks.begin(), ranks.end(), [&](std::uint32_t rank) {
      return is_member(channels_[known], rank);
    });
    if (taken || channels_[known].lists.front().size() != ranks.size()) continue;
    channels_[known].lists.push_back(ranks);
    return known;
  }
  family.push_back(add(name, {ranks}, like));
  return family.back();
}

void Channels::find_groups() {
  // Channels by the source of their groups. Names do not identify a source, because they can be
  // cut.
  std::map<std::string, std::vector<std::uint32_t>> families;
  const RecordGroup* world = nullptr;
  for (const RecordGroup& group : record_.groups) {
    if (world == nullptr && group.ranks.size() == record_.ranks.size()) world = &group;
    Channel like;
    like.on_host = like.is_gloo = !group.under_nccl(rules_);
    // The record lists a group with two backends twice; each half has its own communicator.
    const bool is_half = world != nullptr && &group != world && group.name == world->name &&
                         group.ranks == world->ranks && group.nccl != world->nccl;
    const bool is_world = &group == world || is_half;
    const std::string backend = record_.uses_nccl(rules_) && like.is_gloo ? " gloo" : "";
    const std::string name = (is_world ? "world" : name_of(group)) + backend;
    of_group_.push_back(add_to_family(families[(is_world ? "world" : source_of(group)) + backend],
                                      name, group.ranks, like));
  }
  for (Channel& channel : channels_) std::sort(channel.lists.begin(), channel.lists.end());
}

bool Channels::is_gloo_collective(const RecordEntry& entry) const {
  return entry.kind == RecordEntry::Kind::kCall && is_collective(entry.operation) &&
         !nccl(entry.group);
}

// Gives each gloo collective the first channel of its group on which no rank can have another
// pending call. Beyond kMaxPending, collectives share the last channel.
void Channels::find_pending_collectives() {
  PendingCollectives pending(record_.waits_assumed,
                             [&](const RecordEntry& entry) { return is_gloo_collective(entry); });
  for (const RankRecord& rank : record_.ranks) pending.add(rank);
  std::map<Number, std::size_t> of;  // by call: index of its channel within the group
  for (const auto& [number, others] : pending.together()) {
    std::set<std::size_t> taken;
    for (const std::int64_t other : others) taken.insert(of[{number.first, other}]);
    std::size_t index = 0;
    while (taken.count(index) > 0) ++index;
    if (index >= kMaxPending) in_one_line_ = in_one_line_ || !pending.end_in_order(number);
    index = std::min(index, kMaxPending - 1);
    of[number] = index;
    if (index == 0) continue;
    const std::uint32_t first = of_group_[number.first];
    std::vector<std::uint32_t>& more = beside_[first];
    while (more.size() < index) more.push_back(beside(first));
    of_collective_[number] = more[index - 1];
  }
}

// Adds another channel for the group of `channel`.
std::uint32_t Channels::beside(std::uint32_t channel) {
  const Channel like = channels_[channel];
  const std::uint32_t made = add(like.name, like.lists, like);
  channels_[made].group = channel;
  for_collectives_.insert(made);
  return made;
}

// Gives another channel to each gloo collective that some member never joins although the member
// continues:
// * In a collective in which only some ranks have elements, the ranks without elements return at
//   once, and their next call has another sequence number.
// * A rank skips a sequence number if its collective fails in gloo's worker, and two numbers in a
//   monitored_barrier, which consists of sends and recvs.
void Channels::find_uneven_collectives() {
  const std::set<Operation> sums = {Operation::kAllReduce, Operation::kReduceScatter};
  const std::set<Operation> end_without_elements = {
      Operation::kAllReduce, Operation::kReduceScatter, Operation::kAllGather, Operation::kReduce};
  struct Calls {
    bool empty = false;
    bool full = false;
    bool skipped = false;
    std::set<Operation> operations;
  };
  std::map<std::pair<std::uint32_t, std::int64_t>, Calls> all;
  // Gaps in the sequence numbers of a rank: the group, and the numbers before and after the gap.
  std::set<std::array<std::int64_t, 3>> gaps;
  for (const RankRecord& rank : record_.ranks) {
    std::map<std::uint32_t, std::int64_t> last;  // number of the last collective, by group
    for (const RecordEntry& entry : rank.entries) {
      if (!is_gloo_collective(entry)) continue;
      std::int64_t& before = last[entry.group];
      if (entry.number > before + 1) gaps.insert({entry.group, before, entry.number});
      before = std::max(before, entry.number);
      Calls& calls = all[{entry.group, entry.number}];
      if (!entry.sized || end_without_elements.count(entry.operation) == 0) continue;
      (entry.bytes == 0 ? calls.empty : calls.full) = true;
      calls.operations.insert(entry.operation);
    }
  }
  for (const auto& [group, before, after] : gaps) {
    const auto first = static_cast<std::uint32_t>(group);
    std::for_each(all.upper_bound({first, before}), all.lower_bound({first, after}),
                  [](auto& call) { call.second.skipped = true; });
  }
  for (const auto& [number, calls] : all) {
    if (calls.operations == sums) sums_differ_.insert(number);
    const bool uneven = calls.empty && calls.full;
    if (uneven || calls.skipped) of_collective_[number] = beside(of_group_[number.first]);
  }
}

// Finds collectives with a root whose ranks pass different sizes, but whose data always fit into
// the receivers' buffers. gloo does not compare sizes; only data that do not fit end the receiver's
// process.
void Channels::find_partly_filled_collectives() {
  const std::set<Operation> rooted = {Operation::kBroadcast, Operation::kGather,
                                      Operation::kScatter};
  std::map<Number, CallsByPosition> all;
  for (std::uint32_t rank = 0; rank < record_.ranks.size(); ++rank) {
    for (const RecordEntry& entry : record_.ranks[rank].entries) {
      if (!is_gloo_collective(entry) || rooted.count(entry.operation) == 0) continue;
      const std::uint32_t position = record_.groups[entry.group].position(rank);
      all[{entry.group, entry.number}].emplace(position, &entry);
    }
  }
  for (const auto& [number, calls] : all) {
    const RecordEntry& first = *calls.begin()->second;
    const auto& members = record_.groups[number.first].ranks;
    const auto count = static_cast<std::uint32_t>(members.size());
    const std::uint32_t root = record_.groups[number.first].position(first.peer);
    const auto of_root = calls.find(root);
    if (of_root == calls.end()) continue;
    bool differ = false;
    const bool fit =
        std::all_of(calls.begin(), calls.end(), [&, &all_calls = calls](const auto& call) {
          const auto& [position, entry] = call;
          differ = differ || entry->bytes != first.bytes;
          return entry->operation == first.operation && entry->peer == first.peer &&
                 data_fit(all_calls, position, root, count);
        });
    if (fit && differ) bytes_of_root_.emplace(number, of_root->second->bytes);
  }
}

std::int64_t Channels::bytes_of_root(const RecordEntry& entry) const {
  const auto found = bytes_of_root_.find({entry.group, entry.number});
  return found == bytes_of_root_.end() ? -1 : found->second;
}

std::uint32_t Channels::of_collective(const RecordEntry& entry) const {
  const auto found = of_collective_.find({entry.group, entry.number});
  return found == of_collective_.end() ? of_group_[entry.group] : found->second;
}

Channels::MessageKey Channels::key_of(std::uint32_t rank, const RecordEntry& entry) const {
  std::uint32_t from = rank;
  std::uint32_t to = entry.peer;
  if (entry.operation == Operation::kReceive) std::swap(from, to);
  const bool by_tag = !nccl(entry.group);
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
        const bool alone = !nccl(entry.group) || entry.batch == kNotSaid;
        if (alone) visit(rank, entry);
      }
    }
  };
  for_each_message([&](std::uint32_t rank, const RecordEntry& entry) {
    if (entry.any_source && !nccl(entry.group)) from_any_.insert(key_of(rank, entry));
  });
  std::map<MessageKey, std::set<std::uint32_t>> keys;  // by key: senders and receivers
  for_each_message([&](std::uint32_t rank, const RecordEntry& entry) {
    std::set<std::uint32_t>& ranks = keys[key_of(rank, entry)];
    ranks.insert({rank, entry.peer});
  });
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<std::uint32_t>> families;
  for (const auto& [key, ranks] : keys) {
    const auto& [group, tag, from, to] = key;
    const Channel& of_group = channels_[group];
    std::vector<std::uint32_t> list(ranks.begin(), ranks.end());
    if (from != kNotSaid && from > to) std::reverse(list.begin(), list.end());
    of_message_.emplace(key, add_to_family(families[{group, tag}], channel_name(of_group, tag),
                                           list, Channel(of_group)));
  }
}

std::string Channels::text(std::uint32_t channel, std::uint32_t rank) const {
  const bool in_parallel = for_collectives_.count(channel) > 0;
  const std::uint32_t first = in_parallel ? channels_[channel].group : channel;
  for (std::uint32_t group = 0; group < of_group_.size(); ++group) {
    const bool is_member = record_.groups[group].position(rank) != kNotSaid;
    if (of_group_[group] != first || !is_member) continue;
    return group_text(record_, group) + (in_parallel ? ", in parallel" : "");
  }
  std::string others;
  for (const std::uint32_t other : *channels_[channel].list_of(rank)) {
    if (other != rank) others += (others.empty() ? " " : ", ") + std::to_string(other);
  }
  return channel == store_ ? "the store" : "messages with rank" + others;
}

std::uint32_t Channels::of_message(std::uint32_t rank, const RecordEntry& entry) const {
  return of_message_.at(key_of(rank, entry));
}

}  // namespace pipesim::models
