#include "sim/interleavings/state_key.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace pipesim::sim {
namespace {

__extension__ using Wide = unsigned __int128;

// A hash function that mixes 32 bytes at a time. Each of four chains takes two of the four words,
// in different pairs, so that each half of the key depends on all words.
class Mixer {
 public:
  void add(std::uint64_t word) {
    words_[count_++] = word;
    if (count_ == words_.size()) mix_words();
  }

  /// Adds an array. If its size is not the same in all states of the plan, the caller also adds the
  /// size.
  template <typename Items>
  void add_all(const Items& items) {
    using Item = std::iter_value_t<decltype(items.begin())>;
    static_assert(std::has_unique_object_representations_v<Item>);
    const auto* at = reinterpret_cast<const char*>(std::to_address(items.begin()));
    Words words;
    std::size_t left = items.size() * sizeof(Item);
    for (; left >= sizeof(words); left -= sizeof(words), at += sizeof(words)) {
      std::memcpy(words.data(), at, sizeof(words));
      mix(words);
    }
    if (left == 0) return;
    words = {};
    std::memcpy(words.data(), at, left);
    mix(words);
  }

  StateKey key() {
    if (count_ > 0) {
      std::fill(words_.begin() + count_, words_.end(), 0);
      mix_words();
    }
    const std::uint64_t low = folded(chains_[0], chains_[1] ^ kKeys[2]);
    const std::uint64_t high = folded(chains_[2], chains_[3] ^ kKeys[0]);
    // An all-zero key would mean an empty slot.
    return {low == 0 && high == 0 ? 1 : low, high};
  }

 private:
  using Words = std::array<std::uint64_t, 4>;

  // Odd numbers without a pattern: digits of pi.
  static constexpr Words kKeys = {0x243f6a8885a308d3, 0x13198a2e03707345, 0xa4093822299f31d1,
                                  0x082efa98ec4e6c89};

  static std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
    const Wide product = Wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  void mix(const Words& words) {
    chains_[0] = folded(words[0] ^ kKeys[0], words[1] ^ chains_[0]);
    chains_[1] = folded(words[2] ^ kKeys[1], words[3] ^ chains_[1]);
    chains_[2] = folded(words[0] ^ kKeys[2], words[2] ^ chains_[2]);
    chains_[3] = folded(words[1] ^ kKeys[3], words[3] ^ chains_[3]);
  }

  void mix_words() {
    mix(words_);
    count_ = 0;
  }

  Words chains_ = kKeys;
  Words words_ = {};
  std::uint32_t count_ = 0;
};

void add_line(const State& state, const ThreadLine& line, Mixer& mixer) {
  if (!line.empty()) {
    for (ThreadId id = line.first; id.valid(); id = state.threads[id].next_in_line) {
      mixer.add(id.value);
      if (id == line.last) break;
    }
  }
  mixer.add(0xffffffff);
}

void add_streams(const State& state, Mixer& mixer) {
  for (const StreamId id : ids_of(state.streams)) {
    const StreamState& stream = state.streams[id];
    mixer.add(stream.items.size() << 1 | (stream.head_start == kNever ? 0u : 1u));
    for (const StreamItem item : state.items_of(id)) {
      mixer.add(std::uint64_t{item.mark()} << 32 | item.needed());
    }
    mixer.add(stream.unfinished);
    add_line(state, stream.waiting, mixer);
  }
}

void add_threads(const Plan& plan, const State& state, Mixer& mixer) {
  for (const ThreadId id : ids_of(plan.threads)) {
    const ThreadState& thread = state.threads[id];
    const bool blocked = thread.mode == ThreadMode::kBlocked;
    // The last actor of an idle thread matters only while its next op can be ready without another
    // message.
    const bool reads = plan.threads[id].order == ThreadOrder::kArrival;
    const bool at =
        thread.at.valid() && (blocked || (reads && state.actors[thread.at].missing == 0));
    mixer.add(static_cast<std::uint64_t>(thread.mode) << 56 |
              static_cast<std::uint64_t>(thread.step) << 48 |
              (at ? std::uint64_t{thread.at.value} + 1 : 0));
    mixer.add(std::uint64_t{thread.marks} << 32 | (blocked ? thread.needed : 0));
    for (std::uint32_t i = 0; i < thread.inbox.size(); ++i) {
      const Message message = thread.inbox[i];
      const bool starts = message.kind() == Message::Kind::kStart;
      mixer.add(static_cast<std::uint64_t>(message.kind()) << 32 |
                (starts ? message.actor().value : message.edge().value));
    }
    mixer.add(thread.inbox.size());
  }
}

void add_calls(const State& state, Mixer& mixer) {
  for (const CommunicatorState& communicator : state.communicators) {
    mixer.add(std::uint64_t{communicator.marks} << 32 | communicator.in_round << 2 |
              (communicator.exists ? 2u : 0u) | (communicator.mismatched ? 1u : 0u));
  }
  mixer.add_all(state.arrived);
  for (const MeetingState& meeting : state.meetings) mixer.add(meeting.met);
  mixer.add_all(state.came);
  mixer.add_all(state.joined);
  mixer.add_all(state.in_round);
  if (!state.aborted.empty()) mixer.add_all(state.aborted);
  for (const Rounds& all : state.rounds) {
    for (const Round& round : all.rounds) {
      mixer.add(std::uint64_t{round.first.call.value} << 32 | round.first.k);
      mixer.add(round.mismatched ? 1 : 0);
    }
    mixer.add(all.passed);
  }
  mixer.add_all(state.seqs);
  mixer.add_all(state.calls);
  for (const ChannelState& channel : state.channels) {
    mixer.add(std::uint64_t{channel.sender.value} << 32 | channel.receiver.value);
    for (std::uint32_t i = 0; i < channel.messages.size(); ++i) {
      mixer.add(std::uint64_t{channel.messages[i].call.value} << 32 | channel.messages[i].k);
    }
    mixer.add(channel.messages.size());
  }
  for (const std::vector<CallId>& stalled : state.stalled) {
    std::vector<CallId> calls = stalled;
    std::sort(calls.begin(), calls.end());
    mixer.add_all(calls);
    mixer.add(calls.size());
  }
  for (const Ring<StreamId>& line : state.lines) {
    for (std::uint32_t i = 0; i < line.size(); ++i) mixer.add(line[i].value);
    mixer.add(0xffffffff);
  }
}

// Adds the queues and slots of devices, and the launch order if it decides which op starts.
void add_devices(const Plan& plan, const State& state, Mixer& mixer) {
  for (const DeviceId id : ids_of(plan.devices)) {
    const Device& device = plan.devices[id];
    const DeviceState& device_state = state.devices[id];
    if (device.launch_queue > 0) {
      mixer.add(device_state.unfinished);
      add_line(state, device_state.waiting, mixer);
    }
    if (!device.limited()) continue;
    mixer.add(device_state.resident);
    const auto add_ring = [&](const Ring<StreamId>& ring) {
      for (std::uint32_t i = 0; i < ring.size(); ++i) mixer.add(ring[i].value);
      mixer.add(0xffffffff);
    };
    for (const Ring<StreamId>& ring : device_state.hardware_queues) add_ring(ring);
    add_ring(device_state.launch_order);
    for (std::uint32_t i = device.streams; i < device.streams_end && device.resident > 0; ++i) {
      mixer.add(state.streams[plan.device_streams[i]].slots);
    }
    if (device.resident == 0 || device.starts_freely()) continue;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> launches;
    for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
      const StreamId stream = plan.device_streams[i];
      const StreamState& of = state.streams[stream];
      if (of.launch.count > 0) launches.emplace_back(of.launch.number, stream.value);
      for (std::uint32_t j = 0; j < of.later_launches.size(); ++j) {
        launches.emplace_back(of.later_launches[j].number, stream.value);
      }
    }
    std::sort(launches.begin(), launches.end());
    for (const auto& [number, stream] : launches) mixer.add(stream);
  }
}

}  // namespace

// The key contains some redundant facts, and no test can fail without them. Arrivals at
// communicator inits and meetings follow from the blocked threads, and the pending events follow
// from all other facts. A different order in the queue of a lock or launch queue is also reachable
// by joining later, because waiting in a queue has no effect on other threads. Redundant facts in a
// key only cost time.
StateKey state_key(const Plan& plan, const State& state, const std::vector<Event>& pending,
                   bool mismatched) {
  Mixer mixer;
  mixer.add(mismatched ? 1 : 0);
  mixer.add_all(state.actors);
  mixer.add_all(state.edges);
  add_streams(state, mixer);
  add_threads(plan, state, mixer);
  add_calls(state, mixer);
  for (const SignalState& signal : state.signals) {
    mixer.add(std::uint64_t{signal.recorded} << 32 | signal.fired);
  }
  for (const LockState& lock : state.locks) {
    mixer.add(lock.holder.value);
    add_line(state, lock.waiting, mixer);
  }
  add_devices(plan, state, mixer);
  // A sum, because the order of pending events does not matter.
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (const Event& event : pending) {
    Mixer one;
    one.add(static_cast<std::uint64_t>(event.kind) << 32 | event.target);
    const StateKey key = one.key();
    low += key.low;
    high += key.high;
  }
  mixer.add(low);
  mixer.add(high);
  return mixer.key();
}

bool StateKeys::insert(const StateKey& key) {
  const auto place = [](const std::vector<StateKey>& slots, const StateKey& of) {
    std::size_t at = static_cast<std::size_t>(of.low) & (slots.size() - 1);
    while (slots[at] != StateKey() && slots[at] != of) at = (at + 1) & (slots.size() - 1);
    return at;
  };
  const std::size_t at = place(slots_, key);
  if (slots_[at] == key) return false;
  slots_[at] = key;
  if (++size_ * 4 > slots_.size() * 3) {
    std::vector<StateKey> larger(slots_.size() * 2);
    for (const StateKey& old : slots_) {
      if (old != StateKey()) larger[place(larger, old)] = old;
    }
    slots_.swap(larger);
  }
  return true;
}

}  // namespace pipesim::sim
