#include "sim/interleavings/state_key.hpp"

#include <algorithm>
#include <utility>

namespace pipesim::sim {
namespace {

class Mixer {
 public:
  void add(std::uint64_t word) {
    low_ = (low_ ^ word) * 0xff51afd7ed558ccd;
    low_ ^= low_ >> 32;
    high_ = (high_ + word) * 0xc4ceb9fe1a85ec53;
    high_ ^= high_ >> 29;
  }
  StateKey key() const {
    // All zeros mean an empty slot.
    return {low_ == 0 && high_ == 0 ? 1 : low_, high_};
  }

 private:
  std::uint64_t low_ = 0x9e3779b97f4a7c15;
  std::uint64_t high_ = 0xd1b54a32d192ed03;
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
    // The last actor of an idle thread matters only while it may act again.
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
  for (const std::uint8_t arrived : state.arrived) mixer.add(arrived);
  for (const MeetingState& meeting : state.meetings) mixer.add(meeting.met);
  for (const std::uint32_t often : state.came) mixer.add(often);
  for (const std::uint32_t number : state.joined) mixer.add(number);
  for (const CallId call : state.in_round) mixer.add(call.value);
  for (const Rounds& all : state.rounds) {
    for (const Round& round : all.rounds) {
      mixer.add(std::uint64_t{round.first.call.value} << 32 | round.first.k);
      mixer.add(round.mismatched ? 1 : 0);
    }
    mixer.add(all.passed);
  }
  for (const std::uint32_t seq : state.seqs) mixer.add(seq);
  for (const CallStage stage : state.calls) mixer.add(static_cast<std::uint64_t>(stage));
  for (const ChannelState& channel : state.channels) {
    mixer.add(std::uint64_t{channel.sender.value} << 32 | channel.receiver.value);
    for (std::uint32_t i = 0; i < channel.messages.size(); ++i) {
      mixer.add(std::uint64_t{channel.messages[i].call.value} << 32 | channel.messages[i].k);
    }
    mixer.add(channel.messages.size());
  }
  for (const Ring<StreamId>& line : state.lines) {
    for (std::uint32_t i = 0; i < line.size(); ++i) mixer.add(line[i].value);
    mixer.add(0xffffffff);
  }
}

// The order in which acts on a limited device were launched.
void add_devices(const Plan& plan, const State& state, Mixer& mixer) {
  for (const DeviceId id : ids_of(plan.devices)) {
    const Device& device = plan.devices[id];
    const DeviceState& room = state.devices[id];
    if (device.launch_queue > 0) {
      mixer.add(room.unfinished);
      add_line(state, room.waiting, mixer);
    }
    if (!device.limited()) continue;
    mixer.add(room.resident);
    const auto add_ring = [&](const Ring<StreamId>& ring) {
      for (std::uint32_t i = 0; i < ring.size(); ++i) mixer.add(ring[i].value);
      mixer.add(0xffffffff);
    };
    for (const Ring<StreamId>& ring : room.hardware_queues) add_ring(ring);
    add_ring(room.launch_order);
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

// Some of this decides nothing, and no test can fail without it: who has arrived follows from which
// threads are blocked, the pending events follow from all the rest, and a line for a lock or a
// launch queue in another order is also reached by coming to it later, since being in a line has no
// effect that others see. It stays, because keys that say too much cost only time.
StateKey state_key(const Plan& plan, const State& state, const std::vector<Event>& pending,
                   bool mismatched) {
  Mixer mixer;
  mixer.add(mismatched ? 1 : 0);
  for (const ActorState& actor : state.actors) {
    mixer.add(std::uint64_t{actor.launched} << 32 | actor.done);
    mixer.add(actor.calls_left);
  }
  for (const EdgeState& edge : state.edges) {
    mixer.add(std::uint64_t{edge.available} << 32 | edge.acknowledged);
  }
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
  // A sum, since their order means nothing.
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (const Event& event : pending) {
    Mixer one;
    one.add(static_cast<std::uint64_t>(event.kind) << 32 | event.target);
    low += one.key().low;
    high += one.key().high;
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
