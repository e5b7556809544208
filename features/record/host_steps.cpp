// Turns entries into steps, as the tables of docs/explanation/record.md define.
#include "features/record/host_steps.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "models/characters.hpp"

#include "features/record/number_table.hpp"
#include "features/record/record_checks.hpp"
#include "features/record/record_ends.hpp"
#include "features/record/thread_order.hpp"

namespace pipesim::models {
namespace {

using EntryKind = RecordEntry::Kind;
using StepKind = HostStep::Kind;

// Returns `text` as a word of a scenario: cuts the text after kMaxWord bytes and writes "_" for
// each character that could have another meaning in a scenario.
std::string word(const std::string& text) {
  constexpr std::size_t kMaxWord = 200;
  std::string result;
  for (const char c : text.substr(0, kMaxWord)) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '.' || c == '/' || c == ' ';
    result += plain ? c : '_';
  }
  return result;
}

// Returns the first kMaxCharacters characters of a string. The text of an exception can fill pages,
// and step names are limited.
std::string beginning(const std::string& text) {
  constexpr std::size_t kMaxCharacters = 500;
  std::size_t end = 0;
  for (std::size_t i = 0; i < kMaxCharacters && end < text.size(); ++i) {
    ++end;
    while (end < text.size() && continues_character(text[end])) ++end;
  }
  return end == text.size() ? text : text.substr(0, end) + "...";
}

// Numbers the events of one stream. Reuses a number once nothing waits for its event, so all
// iterations of a loop have equal numbers.
class EventSlots {
 public:
  std::uint32_t take() {
    while (first_free_ < taken_.size() && taken_[first_free_]) ++first_free_;
    if (first_free_ == taken_.size()) taken_.push_back(false);
    taken_[first_free_] = true;
    return ++first_free_;
  }
  void free(std::uint32_t slot) {
    taken_[slot - 1] = false;
    first_free_ = std::min(first_free_, slot - 1);
  }

 private:
  std::vector<bool> taken_;       // [slot - 1]
  std::uint32_t first_free_ = 0;  // all slots below this index are taken
};

// Names of the keys in the store. Keys get distinct names even if word() cuts or replaces the
// characters in which they differ.
class KeyNames {
 public:
  const std::string& name(const std::string& key) {
    const auto [known, is_new] = names_.try_emplace(key);
    if (is_new) {
      const std::string plain = "key " + word(key);
      const std::uint32_t copy = ++copies_[plain];
      known->second = copy == 1 ? plain : plain + "~" + std::to_string(copy);
    }
    return known->second;
  }

 private:
  std::unordered_map<std::string, std::string> names_;
  std::unordered_map<std::string, std::uint32_t> copies_;
};

class StepNumbers {
 public:
  explicit StepNumbers(std::vector<HostStep>& steps) : steps_(steps) {}

  std::uint32_t number(HostStep step) {
    key_.clear();
    add(static_cast<std::uint64_t>(step.kind));
    add((step.blocking ? 1U : 0U) + (step.later ? 2U : 0U) + (step.assumed ? 4U : 0U));
    for (const std::uint32_t part : {step.place, step.channel, step.shared, step.slot}) {
      add(part);
    }
    add(step.thread);
    add(static_cast<std::uint64_t>(step.number));
    add(step.name);
    add(step.stream);
    for (const HostCall& call : step.calls) {
      add(static_cast<std::uint64_t>(call.operation));
      for (const std::uint32_t part : {call.channel, call.shared, call.peer.value}) add(part);
      add(static_cast<std::uint64_t>(call.peer.kind));
      add(static_cast<std::uint64_t>(call.bytes));
      add(call.sized ? 1 : 0);
      add(call.type);
    }
    const auto [at, is_new] = numbers_.emplace(key_, static_cast<std::uint32_t>(steps_.size()));
    if (is_new) steps_.push_back(std::move(step));
    return at->second;
  }

 private:
  void add(std::uint64_t value) {
    std::array<char, sizeof value> bytes{};
    std::memcpy(bytes.data(), &value, sizeof value);
    key_.append(bytes.data(), bytes.size());
  }
  void add(const std::string& text) {
    add(text.size());
    key_ += text;
  }

  std::vector<HostStep>& steps_;
  std::string key_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// Numbers that determine a step of a common kind. With this key, a step is made once even if its
// entry occurs thousands of times.
using StepKey = std::array<std::uint64_t, 7>;

struct StepKeyHash {
  std::size_t operator()(const StepKey& key) const {
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
    constexpr unsigned kShift = 29;
    std::uint64_t hash = 0;
    for (const std::uint64_t part : key) {
      hash = (hash ^ part) * kFactor;
      hash ^= hash >> kShift;
    }
    return hash;
  }
};

std::uint64_t pair_of(std::uint32_t low, std::uint32_t high) {
  constexpr unsigned kBits = 32;
  return low | std::uint64_t{high} << kBits;
}

std::uint64_t bits_of(std::initializer_list<bool> flags) {
  std::uint64_t bits = 0;
  for (const bool flag : flags) bits = 2 * bits + (flag ? 1 : 0);
  return bits;
}

// Steps and names that all ranks share.
struct JobNames {
  StepNumbers steps;
  std::set<std::pair<std::uint32_t, std::size_t>> unmatched;
  KeyNames keys{};
  std::unordered_map<StepKey, std::uint32_t, StepKeyHash> known{};  // numbers of steps
  std::unordered_map<std::string, std::uint32_t> streams{};         // numbers of stream names
};

// Builds the program of one rank.
class RankSteps {
 public:
  RankSteps(const Record& record, std::uint32_t rank, const NewGroupClashes& clashes,
            const std::set<std::pair<std::uint32_t, std::int64_t>>& split_calls, JobNames& names,
            HostPrograms& programs, bool with_entries)
      : record_(record),
        own_(record.ranks[rank]),
        rank_(rank),
        clashes_(clashes),
        split_calls_(split_calls),
        names_(names),
        programs_(programs),
        with_entries_(with_entries) {
    name_streams();
    find_last_uses();
  }

  void run();
  std::vector<std::uint32_t> take_steps() { return std::move(steps_); }
  std::vector<std::uint32_t> take_entries() { return std::move(entries_); }

 private:
  // The signal of a work, or of an event of the user.
  struct Signal {
    std::uint32_t channel = kNotSaid;
    std::uint32_t shared = kNotSaid;
    std::uint32_t slot = 0;
    std::uint32_t stream = kNotSaid;  // stream of an event of the user: index in streams_
    std::uint32_t works = 0;          // number of its works with a wait to come
  };
  // The index of a signal or an entry, or kNotSaid.
  struct Index {
    std::uint32_t value = kNotSaid;
  };

  // Pending works of collectives, by group.
  using PendingWorks = std::map<std::uint32_t, std::set<std::int64_t>>;

  bool device() const { return programs_.device; }
  bool nccl(const RecordEntry& from) const {
    return record_.groups[from.group].under_nccl(programs_.rules);
  }
  const RecordEntry& entry(std::size_t i) const { return own_.entries[i]; }

  void name_streams();
  void find_last_uses();
  const std::vector<std::int64_t>& waited_for_by(std::size_t i, PendingWorks& pending);
  // Returns the work of a call. If nothing in the record waits for the call, returns a negative
  // number derived from its entry, because a barrier may still wait for the call.
  std::int64_t work_of(std::size_t i) const {
    return entry(i).work >= 0 ? entry(i).work : -1 - static_cast<std::int64_t>(i + 1);
  }
  void add_number(std::uint32_t step) {
    steps_.push_back(step);
    if (with_entries_) entries_.push_back(now_);
  }
  void add(HostStep step) { add_number(names_.steps.number(std::move(step))); }
  // Adds the step with this key. Calls `make()` for the first such step.
  template <typename Make>
  void add_known(const StepKey& key, const Make& make) {
    const auto [known, is_new] = names_.known.try_emplace(key);
    if (is_new) known->second = names_.steps.number(make());
    add_number(known->second);
  }
  // Returns a key whose first two words identify the step that step() returns.
  static StepKey key_of(StepKind kind, const RecordEntry& from, std::uint64_t flags) {
    constexpr unsigned kFlags = 8;
    const std::uint64_t all = 2 * flags + (from.later ? 1 : 0);
    return {static_cast<std::uint64_t>(kind) | all << kFlags, pair_of(from.place, from.thread)};
  }
  HostStep step(StepKind kind, const RecordEntry& from) const {
    HostStep result;
    result.kind = kind;
    result.place = from.place;
    if (from.thread != kNotSaid && !from.later) {
      result.thread = thread_name(record_.texts[from.thread]);
    }
    result.later = from.later;
    return result;
  }
  void add_kernels(const RecordEntry& from);
  std::size_t add_call(std::size_t i);
  std::size_t add_batch(std::size_t i);
  void add_single_call(std::size_t i);
  void add_splits(const RecordEntry& from, HostStep& made);
  HostCall call_of(const RecordEntry& from, bool batched);
  void add_calls(HostStep made, const RecordEntry& from, std::span<const std::size_t> entries);
  HostStep finished(HostStep made, const RecordEntry& from, bool sync);
  bool copies_to_host(const RecordEntry& from) const {
    return device() && from.on_device && is_collective(from.operation);
  }
  void note_called(std::uint32_t group, std::uint32_t channel, std::uint32_t shared);
  void add_end_of_calls(std::uint32_t channel, std::uint32_t shared, const RecordEntry& from,
                        std::span<const std::size_t> entries);
  void add_signal(StepKind kind, const Signal& signal, const RecordEntry& from);
  void add_work_wait(std::int64_t work, const RecordEntry& from, std::size_t i);
  void add_event(const RecordEntry& from, std::size_t i);
  void add_event_wait(const RecordEntry& from, std::size_t i);
  void add_new_group(const RecordEntry& from);
  void add_store_barrier(const RecordEntry& from);
  void add_destroy(const RecordEntry& from);
  void add_destroy_of(std::uint32_t group, const RecordEntry& from);
  void add_store(std::size_t i);
  void add_end();
  std::string name_of_last_wait() const;
  RecordPeer peer_of(const HostCall& call, std::uint32_t rank) const;

  const Record& record_;
  const RankRecord& own_;
  std::uint32_t rank_;
  const NewGroupClashes& clashes_;
  const std::set<std::pair<std::uint32_t, std::int64_t>>& split_calls_;
  JobNames& names_;
  HostPrograms& programs_;
  bool with_entries_;
  std::vector<std::uint32_t> steps_;
  std::vector<std::uint32_t> entries_;         // entry of each step
  std::uint32_t now_ = kNotSaid;               // the entry being converted
  std::vector<std::string> streams_;           // names of streams
  std::vector<std::uint32_t> stream_numbers_;  // their numbers in JobNames::streams
  std::set<std::int64_t> abandoned_;           // works whose wait timed out at exit
  NumberTable<Index> last_wait_;               // entry of the last wait for each work
  std::vector<std::int64_t> before_;           // result of waited_for_by()
  // by entry that records an event: entry of the last wait for this recording
  std::unordered_map<std::size_t, std::size_t> last_use_;
  std::vector<Signal> signals_;
  NumberTable<Index> works_;  // signals of pending works
  // (signal, stream that waits for it; kNotSaid: the host), for signals with pending works
  std::set<std::pair<std::uint32_t, std::uint32_t>> waited_;
  // [event]: its signal, and the entry that records the event.
  std::unordered_map<std::uint32_t, std::pair<Signal, std::size_t>> events_;
  // [group]: the channels that the rank has called; for each, the setting of p2p as in
  // HostStep::number.
  std::map<std::uint32_t, std::map<std::uint32_t, std::int64_t>> called_;
  std::pair<std::uint32_t, std::uint32_t> last_called_{kNotSaid, kNotSaid};  // group, channel
  std::map<std::uint32_t, EventSlots> channel_slots_;
  std::map<std::string, EventSlots> stream_slots_;
};

void RankSteps::name_streams() {
  std::map<std::string, std::uint32_t> copies;
  for (const RecordStream& stream : own_.streams) {
    const std::string name = stream.name.empty() ? "stream" : word(stream.name);
    const std::uint32_t copy = ++copies[name];
    streams_.push_back(copy == 1 ? name : name + " " + std::to_string(copy));
    const auto next = static_cast<std::uint32_t>(names_.streams.size());
    stream_numbers_.push_back(names_.streams.emplace(streams_.back(), next).first->second);
  }
}

void RankSteps::find_last_uses() {
  std::unordered_map<std::uint32_t, std::size_t> recorded;  // last recording entry of each event
  PendingWorks pending;
  for (std::size_t i = 0; i < own_.entries.size(); ++i) {
    const RecordEntry& from = entry(i);
    for (const std::int64_t work : waited_for_by(i, pending)) {
      last_wait_[work].value = static_cast<std::uint32_t>(i);
    }
    if (from.kind == EntryKind::kWait && from.at_exit && from.timed_out) {
      abandoned_.insert(from.amounts.begin(), from.amounts.end());
    }
    if (from.kind == EntryKind::kRecordEvent) {
      recorded[from.event] = i;
    } else if (from.kind == EntryKind::kStreamWait || from.kind == EntryKind::kWaitForEvent) {
      const auto found = recorded.find(from.event);
      if (found != recorded.end()) last_use_[found->second] = i;
    }
  }
}

// Returns the works that entry `i` waits for. A gloo barrier begins once the earlier collectives of
// this rank in its group are done.
const std::vector<std::int64_t>& RankSteps::waited_for_by(std::size_t i, PendingWorks& pending) {
  const RecordEntry& from = entry(i);
  before_.clear();
  if (from.kind == EntryKind::kWait) {
    if (from.timed_out) return before_;  // the program continues without the works
    for (auto& [group, works] : pending) {
      for (const std::int64_t work : from.amounts) works.erase(work);
    }
    return from.amounts.list();
  }
  const bool counts = from.kind == EntryKind::kCall && is_collective(from.operation) &&
                      !nccl(from) && !record_.waits_assumed;
  if (!counts) return before_;
  std::set<std::int64_t>& works = pending[from.group];
  if (from.operation == Operation::kBarrier) before_.assign(works.begin(), works.end());
  if (from.operation == Operation::kBarrier && from.sync) works.clear();
  if (!from.sync) works.insert(work_of(i));
  return before_;
}

void RankSteps::run() {
  PendingWorks pending;
  for (std::size_t i = 0; i < own_.entries.size(); ++i) {
    now_ = static_cast<std::uint32_t>(i);
    const RecordEntry& from = entry(i);
    add_kernels(from);
    for (const std::int64_t work : waited_for_by(i, pending)) add_work_wait(work, from, i);
    switch (from.kind) {
      case EntryKind::kCall:
        // An abandoned call ends with its rank, even if other ranks never make the call.
        if (names_.unmatched.count({rank_, i}) == 0 && abandoned_.count(from.work) == 0) {
          i = add_call(i);
        }
        break;
      case EntryKind::kWait:
      case EntryKind::kInit:
        if (from.store_barrier) add_store_barrier(from);
        break;
      case EntryKind::kNewGroup:
        add_new_group(from);
        break;
      case EntryKind::kRecordEvent:
        add_event(from, i);
        break;
      case EntryKind::kStreamWait:
      case EntryKind::kWaitForEvent:
        add_event_wait(from, i);
        break;
      case EntryKind::kRead:
      case EntryKind::kWaitForStream:
      case EntryKind::kWaitForDevice: {
        if (!device()) break;  // tensors of gloo are in host memory
        HostStep wait = step(StepKind::kSynchronize, from);
        if (from.kind != EntryKind::kWaitForDevice) wait.stream = streams_[from.stream];
        add(std::move(wait));
        break;
      }
      case EntryKind::kStoreSet:
      case EntryKind::kStoreGet:
      case EntryKind::kStoreAdd:
        if (!from.timed_out) add_store(i);
        break;
      case EntryKind::kDestroy:
        add_destroy(from);
        break;
      case EntryKind::kPoll:
      case EntryKind::kDrop:
      case EntryKind::kBackward:
      case EntryKind::kStep:
      case EntryKind::kNote:
        break;
    }
  }
  now_ = kNotSaid;
  add_end();
}

void RankSteps::add_kernels(const RecordEntry& from) {
  if (from.kernels == 0 || !device()) return;
  programs_.has_kernels = true;
  add_known(
      {static_cast<std::uint64_t>(StepKind::kCompute), from.kernels, stream_numbers_[from.stream]},
      [&] {
        HostStep kernels;
        kernels.kind = StepKind::kCompute;
        kernels.number = from.kernels;
        kernels.stream = streams_[from.stream];
        return kernels;
      });
}

// ---------------------------------------------------------------------------------------------
// Calls

// Adds the call of entry `i`, or the whole batch of the call. Returns the index of the last entry
// added.
std::size_t RankSteps::add_call(std::size_t i) {
  const RecordEntry& from = entry(i);
  if (nccl(from) && from.batch != kNotSaid) return add_batch(i);
  if (from.operation == Operation::kAllToAll && split_calls_.count({from.group, from.number}) > 0) {
    HostStep made = step(StepKind::kCalls, from);
    add_splits(from, made);
    add_calls(std::move(made), from, {&i, 1});
  } else {
    add_single_call(i);
  }
  return i;
}

void RankSteps::add_single_call(std::size_t i) {
  const RecordEntry& from = entry(i);
  const bool of_nccl = nccl(from);
  const bool collective = is_collective(from.operation);
  const Channels& channels = programs_.channels;
  const std::uint32_t channel =
      collective ? channels.of_collective(from) : channels.of_message(rank_, from);
  const std::uint32_t shared = collective || !of_nccl ? kNotSaid : channels.of_group(from.group);
  const bool is_sum = !of_nccl && channels.sums_differ(from);
  const bool has_stream = of_nccl || copies_to_host(from);
  StepKey key =
      key_of(StepKind::kCalls, from,
             bits_of({from.sync, from.sized, from.any_source, of_nccl, is_sum, has_stream}));
  constexpr unsigned kOperation = 24;
  key[0] |= static_cast<std::uint64_t>(from.operation) << kOperation |
            pair_of(0, has_stream ? stream_numbers_[from.stream] : 0);
  key[2] = pair_of(from.group, channel);
  key[3] = static_cast<std::uint64_t>(from.bytes);
  key[4] = static_cast<std::uint64_t>(of_nccl ? -1 : channels.bytes_of_root(from));
  key[5] = pair_of(from.type, from.peer);
  key[6] = from.peer == kNotSaid ? kNotSaid : rank_;  // peers are relative to the rank
  add_known(key, [&] {
    HostStep made = step(StepKind::kCalls, from);
    made.calls.push_back(call_of(from, false));
    return finished(std::move(made), from, from.sync);
  });
  if (of_nccl) note_called(from.group, channel, shared);
  add_end_of_calls(channel, shared, from, {&i, 1});
}

std::size_t RankSteps::add_batch(std::size_t i) {
  const RecordEntry& from = entry(i);
  HostStep made = step(StepKind::kCalls, from);
  std::vector<std::size_t> entries;
  for (std::size_t k = i; k < own_.entries.size(); ++k) {
    if (entry(k).kind != EntryKind::kCall || entry(k).batch != from.batch) break;
    made.calls.push_back(call_of(entry(k), true));
    entries.push_back(k);
  }
  const std::size_t last = entries.back();
  add_calls(std::move(made), from, entries);
  return last;
}

HostCall RankSteps::call_of(const RecordEntry& from, bool batched) {
  HostCall call;
  call.operation = from.operation;
  call.bytes = from.bytes;
  call.sized = from.sized && is_collective(from.operation);
  if (from.type != kNotSaid) call.type = word(record_.texts[from.type]);
  const std::uint32_t of_group = programs_.channels.of_group(from.group);
  call.channel = is_collective(from.operation) ? programs_.channels.of_collective(from) : of_group;
  if (!is_collective(from.operation) && !batched) {
    call.channel = programs_.channels.of_message(rank_, from);
    if (nccl(from)) call.shared = of_group;
    programs_.has_pairs = programs_.has_pairs || nccl(from);
  }
  // NCCL's barrier is an all_reduce of one byte.
  if (from.operation == Operation::kBarrier && nccl(from)) {
    call.operation = Operation::kAllReduce;
    call.bytes = 1;
    call.sized = true;
    call.type = "barrier";
  }
  const bool of_gloo = !nccl(from) && is_collective(from.operation);
  if (of_gloo && programs_.channels.sums_differ(from)) {
    // gloo's reduce_scatter is an all_reduce of its whole input.
    call.operation = Operation::kAllReduce;
  }
  const std::int64_t filled = of_gloo ? programs_.channels.bytes_of_root(from) : -1;
  if (filled >= 0 && filled != from.bytes) {
    // The call completes like a call of the root's size. Distinct types make the run report the
    // mismatch.
    call.type += " of " + std::to_string(from.bytes) + " B";
    call.bytes = filled;
  }
  if (from.any_source && !nccl(from)) {
    call.peer = {RecordPeer::Kind::kAny, 0};
  } else if (from.peer != kNotSaid) {
    call.peer = peer_of(call, from.peer);
  }
  return call;
}

// Returns the other rank of a call: for a root, its position in the list, which is the same on all
// ranks; for the peer of a send or recv, its distance from this rank.
RecordPeer RankSteps::peer_of(const HostCall& call, std::uint32_t rank) const {
  const auto& list = *programs_.channels.all()[call.channel].list_of(rank_);
  const auto position = [&](std::uint32_t wanted) {
    return static_cast<std::uint32_t>(std::find(list.begin(), list.end(), wanted) - list.begin());
  };
  if (is_collective(call.operation)) return {RecordPeer::Kind::kPosition, position(rank)};
  const auto size = static_cast<std::uint32_t>(list.size());
  return {RecordPeer::Kind::kDistance, (position(rank) + size - position(rank_)) % size};
}

// Adds the calls of an all_to_all to `made`: a send to each member and a recv from each member, as
// in NCCL and gloo. This lets the run find mismatched splits.
void RankSteps::add_splits(const RecordEntry& from, HostStep& made) {
  const auto& members = record_.groups[from.group].ranks;
  const std::size_t count = members.size();
  for (std::size_t i = 0; i < count; ++i) {
    for (const bool sends : {true, false}) {
      HostCall call;
      call.operation = sends ? Operation::kSend : Operation::kReceive;
      call.channel = programs_.channels.of_collective(from);
      call.bytes = from.amounts.empty() ? from.bytes / static_cast<std::int64_t>(count)
                                        : from.amounts[sends ? i : count + i];
      if (call.bytes == 0 && nccl(from)) continue;
      if (from.type != kNotSaid) call.type = word(record_.texts[from.type]);
      call.peer = peer_of(call, members[i]);
      made.calls.push_back(std::move(call));
    }
  }
  std::sort(made.calls.begin(), made.calls.end(), [](const HostCall& a, const HostCall& b) {
    return std::pair(a.peer.value, a.operation) < std::pair(b.peer.value, b.operation);
  });
}

// Adds the step `made`, which has the calls of `entries`, and the steps that end these calls.
void RankSteps::add_calls(HostStep made, const RecordEntry& from,
                          std::span<const std::size_t> entries) {
  if (made.calls.empty()) return;
  const bool sync =
      std::any_of(entries.begin(), entries.end(), [&](std::size_t i) { return entry(i).sync; });
  if (nccl(from)) {
    for (const HostCall& call : made.calls) note_called(from.group, call.channel, call.shared);
  }
  const std::uint32_t channel = made.calls.front().channel;
  const std::uint32_t shared = made.calls.front().shared;
  add(finished(std::move(made), from, sync));
  add_end_of_calls(channel, shared, from, entries);
}

// Fills in the fields that all steps of calls have, and marks their channels as used. Returns the
// step.
HostStep RankSteps::finished(HostStep made, const RecordEntry& from, bool sync) {
  for (const HostCall& call : made.calls) {
    Channel& channel = programs_.channels.all()[call.channel];
    channel.used = true;
    if (channel.group != kNotSaid) programs_.channels.all()[channel.group].used = true;
    if (call.shared != kNotSaid) programs_.channels.all()[call.shared].used = true;
  }
  made.channel = made.calls.front().channel;
  made.shared = made.calls.front().shared;
  made.blocking = sync;
  made.assumed = record_.waits_assumed && !nccl(from) && from.operation != Operation::kBarrier;
  // gloo copies device tensors to the host once the current stream has reached the call.
  if (nccl(from) || copies_to_host(from)) made.stream = streams_[from.stream];
  return made;
}

// Notes that the rank calls a group under NCCL's rules. Destroying the group ends the noted
// channels.
void RankSteps::note_called(std::uint32_t group, std::uint32_t channel, std::uint32_t shared) {
  if (last_called_ == std::pair(group, channel)) return;
  last_called_ = {group, channel};
  auto& called = called_[group];
  if (shared == kNotSaid) {
    called[channel] = 0;
  } else {
    called.try_emplace(channel, 1);
    called.try_emplace(shared, 2);
  }
}

// Adds the steps that end the calls of `entries`. If some entry of the record waits for the calls,
// adds a step that records their event. If they are synchronous calls of NCCL, adds the wait at
// their end.
void RankSteps::add_end_of_calls(std::uint32_t channel, std::uint32_t shared,
                                 const RecordEntry& from, std::span<const std::size_t> entries) {
  bool sync = false;
  bool blocks = false;
  bool awaited = false;
  for (const std::size_t i : entries) {
    sync = sync || entry(i).sync;
    blocks = blocks || entry(i).blocks_host;
    awaited = awaited || last_wait_.get(work_of(i)).value != kNotSaid;
  }
  if (nccl(from) && from.operation == Operation::kBarrier && sync) {
    HostStep wait = step(StepKind::kSynchronize, from);
    wait.channel = channel;
    add(std::move(wait));
    return;
  }
  if (!awaited && !(sync && nccl(from))) return;
  EventSlots& slots = channel_slots_[channel];
  Signal signal{channel, shared, slots.take()};
  add_signal(StepKind::kRecord, signal, from);
  if (awaited) {
    const auto number = static_cast<std::uint32_t>(signals_.size());
    for (const std::size_t i : entries) {
      if (last_wait_.get(work_of(i)).value == kNotSaid) continue;
      works_[work_of(i)].value = number;
      ++signal.works;
    }
    signals_.push_back(signal);
  }
  if (sync && nccl(from)) add_signal(blocks ? StepKind::kAwait : StepKind::kWait, signal, from);
  if (!awaited) slots.free(signal.slot);
}

// Adds a step that records `signal` or waits for it.
void RankSteps::add_signal(StepKind kind, const Signal& signal, const RecordEntry& from) {
  const std::uint32_t stream = kind == StepKind::kWait ? from.stream : signal.stream;
  StepKey key = key_of(kind, from, 0);
  if (kind == StepKind::kRecord) key[1] = pair_of(kNotSaid, from.thread);
  key[2] = pair_of(signal.channel, signal.shared);
  key[3] = pair_of(signal.slot, stream == kNotSaid ? kNotSaid : stream_numbers_[stream]);
  key[4] = signal.stream == kNotSaid ? kNotSaid : stream_numbers_[signal.stream];
  add_known(key, [&] {
    HostStep made = step(kind, from);
    made.channel = signal.channel;
    made.shared = signal.shared;
    made.slot = signal.slot;
    if (stream != kNotSaid) made.stream = streams_[stream];
    if (kind == StepKind::kRecord) made.place = kNotSaid;
    made.assumed = record_.waits_assumed;
    if (signal.channel == kNotSaid) {
      made.name = "event " + std::to_string(signal.slot) + " of " + streams_[signal.stream];
    }
    return made;
  });
}

void RankSteps::add_work_wait(std::int64_t work, const RecordEntry& from, std::size_t i) {
  const std::uint32_t number = works_.get(work).value;
  if (number == kNotSaid) return;
  Signal& signal = signals_[number];
  if (from.kind == EntryKind::kCall && !from.sync) {  // an asynchronous barrier: its stream waits
    const std::uint32_t own = programs_.channels.of_collective(from);
    HostStep made = step(StepKind::kWait, from);
    made.channel = signal.channel;
    made.slot = signal.slot;
    made.stream = programs_.channels.all()[own].name;
    if (made.channel != own) add(std::move(made));
    // The works of a batch share an event, so the stream waits for it only once.
  } else if (waited_.emplace(number, from.blocks_host ? kNotSaid : from.stream).second) {
    const bool on_host = programs_.channels.all()[signal.channel].on_host;
    add_signal(on_host || from.blocks_host ? StepKind::kAwait : StepKind::kWait, signal, from);
  }
  if (last_wait_.get(work).value != i) return;
  works_[work].value = kNotSaid;
  if (--signal.works > 0) return;
  channel_slots_[signal.channel].free(signal.slot);
  waited_.erase(waited_.lower_bound({number, 0}), waited_.upper_bound({number, kNotSaid}));
}

// ---------------------------------------------------------------------------------------------
// Events of the user

void RankSteps::add_event(const RecordEntry& from, std::size_t i) {
  if (!device()) return;
  events_.erase(from.event);
  if (last_use_.count(i) == 0) return;
  EventSlots& slots = stream_slots_[streams_[from.stream]];
  const Signal signal{kNotSaid, kNotSaid, slots.take(), from.stream};
  add_signal(StepKind::kRecord, signal, from);
  events_[from.event] = {signal, i};
}

// Adds a wait for an event. Adds nothing if the event was never recorded, as CUDA does not wait
// then.
void RankSteps::add_event_wait(const RecordEntry& from, std::size_t i) {
  const auto found = events_.find(from.event);
  if (found == events_.end()) return;
  const auto [signal, recorded] = found->second;
  add_signal(from.kind == EntryKind::kStreamWait ? StepKind::kWait : StepKind::kAwait, signal,
             from);
  if (last_use_.at(recorded) == i) stream_slots_[streams_[signal.stream]].free(signal.slot);
}

// ---------------------------------------------------------------------------------------------
// Groups and the store

void RankSteps::add_new_group(const RecordEntry& from) {
  const RecordGroup& group = record_.groups[from.group];
  const bool member = group.position(rank_) != kNotSaid;
  const auto clash = clashes_.find(from.number);
  if (clash != clashes_.end()) {
    if (member) {
      // The ranks that use this key disagree on the members, so their calls cannot match.
      HostStep made = step(StepKind::kCalls, from);
      HostCall call;
      call.operation = Operation::kAllGather;
      call.channel = clash->second;
      call.type = "ranks";
      for (const std::uint32_t rank : group.ranks) call.type += " " + std::to_string(rank);
      call.bytes = from.group + 1;  // sizes must differ, because gloo does not compare types
      programs_.channels.all()[call.channel].used = true;
      made.channel = call.channel;
      made.calls.push_back(std::move(call));
      add(std::move(made));
    }
  } else if (member && !nccl(from)) {
    HostStep made = step(StepKind::kCreate, from);
    made.channel = programs_.channels.of_group(from.group);
    programs_.channels.all()[made.channel].used = true;
    add(std::move(made));
  } else if (from.parent != kNotSaid && record_.groups[from.parent].under_nccl(programs_.rules)) {
    HostStep made = step(StepKind::kSplit, from);
    made.channel = programs_.channels.of_group(from.parent);
    programs_.channels.all()[made.channel].used = true;
    add(std::move(made));
  }
  if (from.store_barrier) add_store_barrier(from);
}

void RankSteps::add_store_barrier(const RecordEntry& from) {
  HostStep made = step(StepKind::kCalls, from);
  HostCall call;
  call.operation = Operation::kBarrier;
  call.channel = programs_.channels.store();
  programs_.channels.all()[call.channel].used = true;
  made.channel = call.channel;
  made.calls.push_back(std::move(call));
  add(std::move(made));
}

// Adds the destroys of the NCCL communicators that destroy_process_group ends: those of its group
// or, for the world group, of all groups, in descending order of their names as text. gloo's groups
// end with their last reference; the recorder writes the waits at their ends.
void RankSteps::add_destroy(const RecordEntry& from) {
  const RecordGroup& group = record_.groups[from.group];
  const bool all = group.ranks.size() == record_.ranks.size() && group.name == "0";
  std::vector<std::uint32_t> groups;
  for (const auto& [other, channels] : called_) {
    if (all || other == from.group) groups.push_back(other);
  }
  std::stable_sort(groups.begin(), groups.end(), [&](std::uint32_t a, std::uint32_t b) {
    return record_.groups[a].name > record_.groups[b].name;
  });
  for (const std::uint32_t each : groups) add_destroy_of(each, from);
}

void RankSteps::add_destroy_of(std::uint32_t group, const RecordEntry& from) {
  for (const auto& [channel, setting] : called_[group]) {
    HostStep made = step(StepKind::kDestroy, from);
    made.channel = channel;
    made.number = setting;
    programs_.destroys = true;
    add(std::move(made));
  }
  called_.erase(group);
  last_called_ = {kNotSaid, kNotSaid};
}

// Adds a store step. A loop of adds of 0 polls a counter; such a step ends once ranks have added to
// the key as often as the last read showed.
void RankSteps::add_store(std::size_t i) {
  const RecordEntry& from = entry(i);
  const bool polls = from.kind == EntryKind::kStoreAdd && from.number <= 0;
  if (polls) {
    const bool again = i + 1 < own_.entries.size() && entry(i + 1).kind == EntryKind::kStoreAdd &&
                       entry(i + 1).number <= 0 && entry(i + 1).text == from.text;
    if (again || from.result <= 0) return;
  }
  const bool sets = !polls && from.kind != EntryKind::kStoreGet;
  HostStep made = step(sets ? StepKind::kSet : StepKind::kGet, from);
  made.name = names_.keys.name(record_.texts[from.text]);
  made.number = polls ? from.result : 1;
  add(std::move(made));
}

void RankSteps::add_end() {
  constexpr std::int64_t kKilledStatus = 137;  // the exit status that a shell reports for SIGKILL
  const bool killed = own_.end.kind == RecordEnd::Kind::kKilled;
  if (killed || own_.end.kind == RecordEnd::Kind::kRaised ||
      own_.end.kind == RecordEnd::Kind::kExited) {
    if (device() && !killed) {  // earlier kernels finish while the exception propagates
      HostStep wait;
      wait.kind = StepKind::kSynchronize;
      wait.place = own_.end.place;
      add(std::move(wait));
    }
    HostStep made;
    const bool raised = own_.end.kind == RecordEnd::Kind::kRaised;
    made.kind = raised ? StepKind::kRaise : StepKind::kExit;
    made.name = own_.end.text.empty() ? "an exception" : beginning(own_.end.text);
    made.number = killed ? kKilledStatus : own_.end.code;
    made.place = own_.end.place;
    add(std::move(made));
  } else if (ends_in_call(own_)) {
    // Blocks the rank here in any interleaving, because the recorded rank did not continue.
    HostStep made;
    made.kind = StepKind::kGet;
    made.name = name_of_last_wait();
    made.place = own_.end.place;
    add(std::move(made));
  }
}

// Names the last step of a quiescent rank, a wait that no call of another rank can end.
std::string RankSteps::name_of_last_wait() const {
  const auto last = std::find_if(own_.entries.rbegin(), own_.entries.rend(), [](const auto& entry) {
    return !entry.later && entry.kind != EntryKind::kNote;
  });
  if (last == own_.entries.rend()) return kEndOfRecord;
  if (last->kind == EntryKind::kPoll && last->never) return "is_completed() without a wait()";
  if (last->kind != EntryKind::kWait || last->amounts.size() != 1) return kEndOfRecord;
  const auto waits =
      std::count_if(own_.entries.begin(), own_.entries.end(), [&](const RecordEntry& entry) {
        return entry.kind == EntryKind::kWait && !entry.timed_out && entry.amounts == last->amounts;
      });
  return waits > 1 ? "second wait() for a message" : kEndOfRecord;
}

}  // namespace

std::uint32_t RecordPeer::of(std::uint32_t rank, const std::vector<std::uint32_t>& list) const {
  if (kind == Kind::kPosition) return list[value];
  const auto own =
      static_cast<std::size_t>(std::find(list.begin(), list.end(), rank) - list.begin());
  return list[(own + value) % list.size()];
}

namespace {

// Adds a channel for each new_group key under which ranks create different groups.
NewGroupClashes add_clashes(const Record& record, RecordRules rules, Channels& channels) {
  NewGroupClashes clashes;
  Channel clash;
  clash.on_host = !record.uses_nccl(rules);
  for (const auto& [key, ranks] : clashing_new_groups(record)) {
    clashes.emplace(key, channels.add("new_group " + std::to_string(key), {ranks}, clash));
  }
  return clashes;
}

// Numbers programs. Equal programs share a number.
class ProgramNumbers {
 public:
  explicit ProgramNumbers(std::vector<std::vector<std::uint32_t>>& programs)
      : programs_(programs) {}

  std::uint32_t number(std::vector<std::uint32_t> program) {
    std::uint64_t hash = program.size();
    for (const std::uint32_t step : program) hash = hash * 0x9e3779b97f4a7c15 + step + 1;
    std::vector<std::uint32_t>& alike = by_hash_[hash];
    for (const std::uint32_t known : alike) {
      if (programs_[known] == program) return known;
    }
    alike.push_back(static_cast<std::uint32_t>(programs_.size()));
    program.shrink_to_fit();
    programs_.push_back(std::move(program));
    return alike.back();
  }

 private:
  std::vector<std::vector<std::uint32_t>>& programs_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_hash_;
};

}  // namespace

Channels channels_of(const Record& record, RecordRules rules) {
  Channels channels(record, rules);
  add_clashes(record, rules, channels);
  return channels;
}

namespace {

// Makes no step wait for a stream on which no step of the job runs: such a wait is over at once,
// and in a scenario the name of such a stream is an error.
void forget_unused_streams(HostPrograms& programs) {
  std::set<std::string_view> used = {"", "compute"};
  for (const HostStep& step : programs.steps) {
    const bool only_waits = step.kind == StepKind::kCalls || step.kind == StepKind::kSynchronize;
    if (!only_waits) used.insert(step.stream);
  }
  std::set<std::uint32_t> dropped;
  for (std::uint32_t i = 0; i < programs.steps.size(); ++i) {
    HostStep& step = programs.steps[i];
    if (used.count(step.stream) > 0) continue;
    if (step.kind == StepKind::kSynchronize) {
      dropped.insert(i);
    } else {
      step.stream.clear();
    }
  }
  if (dropped.empty()) return;
  for (std::uint32_t rank = 0; rank < programs.entries.size(); ++rank) {
    std::vector<std::uint32_t> kept;
    for (std::size_t at = 0; at < programs.entries[rank].size(); ++at) {
      if (dropped.count(programs.program_of(rank)[at]) > 0) continue;
      kept.push_back(programs.entries[rank][at]);
    }
    programs.entries[rank] = std::move(kept);
  }
  for (std::vector<std::uint32_t>& program : programs.programs) {
    std::erase_if(program, [&](std::uint32_t step) { return dropped.count(step) > 0; });
  }
}

}  // namespace

HostPrograms host_programs(const Record& record, RecordRules rules, bool with_entries) {
  HostPrograms programs{rules, record.uses_nccl(rules), Channels(record, rules), {}};
  const NewGroupClashes clashes = add_clashes(record, rules, programs.channels);
  std::set<std::pair<std::uint32_t, std::int64_t>> split_calls;
  for (const RankRecord& rank : record.ranks) {
    for (const RecordEntry& entry : rank.entries) {
      const bool split = entry.kind == EntryKind::kCall &&
                         entry.operation == Operation::kAllToAll && !entry.amounts.empty();
      if (split) split_calls.emplace(entry.group, entry.number);
    }
  }
  for (const RecordGroup& group : record.groups) {
    programs.lazy = programs.lazy && !group.init_at_once;
  }
  JobNames names{StepNumbers(programs.steps), unmatched_messages(record, rules)};
  ProgramNumbers numbers(programs.programs);
  for (std::uint32_t rank = 0; rank < record.ranks.size(); ++rank) {
    RankSteps made(record, rank, clashes, split_calls, names, programs, with_entries);
    made.run();
    programs.ranks.push_back(numbers.number(made.take_steps()));
    if (with_entries) programs.entries.push_back(made.take_entries());
  }
  forget_unused_streams(programs);
  return programs;
}

}  // namespace pipesim::models
