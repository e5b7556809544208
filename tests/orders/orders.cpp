#include "tests/orders/orders.hpp"

#include <algorithm>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "tests/twin/machine.hpp"

namespace pipesim::twin {
namespace {

/// Returns a plan in which every step is an event: launches have an overhead, and outside items
/// arrive late. The times of events do not matter.
Spec without_times(Spec spec) {
  for (Actor& actor : spec.actors) {
    actor.takes = 1;
    actor.launch_overhead = 1;
    actor.outside.first = 1;
    actor.outside.every = 0;
    for (Call& call : actor.calls) call.takes = 1;
  }
  return spec;
}

/// Text of the parts of a state that can affect later states.
class StateText {
 public:
  explicit StateText(const Machine& machine) : machine_(machine) {
    add(machine.launched);
    add(machine.done);
    for (const ThreadState& thread : machine.threads) add_thread(thread);
    for (const StreamState& stream : machine.streams) add_stream(stream);
    for (const CommunicatorState& communicator : machine.communicators) {
      add(communicator.exists);
      add(communicator.arrived);
      add(communicator.blocked);
      add(communicator.streams_marked);
    }
    for (const std::set<int>& slots : machine.available) add(slots);
    for (const auto& slots : machine.slots_out) {
      for (const auto& [slot, edges] : slots) {
        add(slot);
        add(edges);
      }
      mark();
    }
    for (const DeviceState& device : machine.devices) add_device(device);
    for (const SignalState& signal : machine.signals) add_signal(signal);
    for (const LockState& lock : machine.locks) {
      add(lock.holder.value_or(-1));
      add(lock.line);
    }
    add_calls();
    add_meetings();
    add_of_ops();
    add(!machine.mismatches.empty());
    std::vector<Event> events = machine.pending();
    std::sort(events.begin(), events.end());
    for (const Event& event : events) add_event(event);
  }

  std::string take() { return std::move(text_); }

 private:
  void mark() { text_ += ';'; }
  void add(int number) { text_ += std::to_string(number) + ','; }
  void add(Op op) {
    add(op.actor);
    add(op.k);
  }
  void add(const CallRef& ref) {
    add(ref.op);
    add(ref.call);
  }
  void add(const MeetingKey& meeting) {
    for (int part : {meeting.step, meeting.communicator, meeting.from, meeting.to}) add(part);
  }
  void add(const Message& message) {
    add(static_cast<int>(message.kind));
    for (int part : {message.to, message.edge, message.slot}) add(part);
  }
  template <std::ranges::range T>
  void add(const T& items) {
    for (const auto& item : items) add(item);
    mark();
  }

  void add_thread(const ThreadState& thread) {
    add(thread.wake_is_due);
    add(thread.blocked.has_value());
    if (thread.blocked) {
      add(thread.blocked->op);
      add(static_cast<int>(thread.blocked->step));
      add(thread.blocked->communicator);
    }
    add(thread.inbox);
    add(thread.at);
    add(thread.position);
    add(thread.streams_marked);
    for (const Coming& coming : thread.waits_at) {
      add(coming.meeting);
      add(coming.number);
    }
    add(thread.has_come);
  }

  void add_stream(const StreamState& stream) {
    for (const Entry& entry : stream.entries) {
      if (entry.op) {
        add(*entry.op);
        add(machine_.was_started(*entry.op));
      } else if (entry.acknowledgement) {
        add(*entry.acknowledgement);
      } else {
        add(entry.communicator);
        add(entry.synchronizes);
      }
      mark();
    }
    add(stream.queue.waiters);
    add(stream.queue.place_kept);
  }

  void add_device(const DeviceState& device) {
    add(device.queue.waiters);
    add(device.queue.place_kept);
    std::vector<std::pair<int, Op>> launches;
    for (const auto& [op, turn] : device.turn) {
      if (!machine_.was_started(op)) launches.emplace_back(turn, op);
    }
    std::sort(launches.begin(), launches.end());
    for (const auto& [turn, op] : launches) add(op);
    mark();
    for (const auto& [number, queue] : device.hardware_queues) {
      add(number);
      add(queue);
    }
    add(device.launch_order);
    for (const auto& [op, slots] : device.holds) {
      add(op);
      add(slots);
    }
    mark();
  }

  void add_signal(const SignalState& signal) {
    add(signal.fired);
    add(count_of(signal.records));
    for (const auto* waiters : {&signal.threads, &signal.streams}) {
      for (const Waiter& waiter : *waiters) {
        add(waiter.need);
        add(waiter.thread);
        if (waiter.wait) add(*waiter.wait);
      }
      mark();
    }
  }

  void add_calls() {
    for (const RoundState& round : machine_.rounds) {
      add(round.arrived);
      add(round.mismatched);
    }
    for (const auto& [key, channel] : machine_.channels) {
      for (int part : {key.communicator, key.from, key.to}) add(part);
      add(channel.messages);
      add(channel.in_buffer);
      if (channel.send) add(*channel.send);
      mark();
      if (channel.receive) add(*channel.receive);
      mark();
    }
    for (const auto& [key, line] : machine_.lines) add(line);
    for (const auto& [communicator, rank] : machine_.aborted) {
      add(communicator);
      add(rank);
    }
    mark();
  }

  void add_meetings() {
    for (const auto& [key, state] : machine_.meetings) {
      add(key);
      for (const auto& [rank, often] : state.came) {
        add(rank);
        add(often);
      }
      for (const auto& [thread, coming] : state.waiting) {
        add(thread);
        add(coming.number);
      }
      mark();
    }
    for (const auto& [key, often] : machine_.met) {
      add(key);
      add(often);
    }
    for (const auto& [key, number] : machine_.connections) {
      add(key.first);
      for (int part : {key.second.first, key.second.second, number}) add(part);
    }
  }

  /// Adds the call states of ops that are not done.
  void add_of_ops() {
    for (const auto& [op, states] : machine_.calls) {
      if (machine_.is_done(op)) continue;
      add(op);
      for (const CallState& call : states) {
        for (bool part : {call.active, call.running, call.done, call.is_short, call.cut}) add(part);
        if (call.met) add(*call.met);
        mark();
      }
    }
    for (const auto& [op, need] : machine_.needs) {
      if (!machine_.is_done(op)) add(need);
    }
    for (const auto& [op, before] : machine_.stays_behind) {
      if (!machine_.is_done(op)) add(before);
    }
  }

  void add_event(const Event& event) {
    add(event.ends);
    add(event.wakes);
    add(event.calls);
    add(event.round_of);
    add(event.starts);
    if (event.taken) add(event.taken->from);
    if (event.taken) add(event.taken->to);
  }

  const Machine& machine_;
  std::string text_;
};

class Orders {
 public:
  Orders(const Spec& spec, std::size_t max_states)
      : spec_(without_times(spec)), max_states_(max_states) {}

  Ends run() {
    Machine machine(spec_);
    machine.offers_starts = true;
    machine.begin();
    ends_.all = true;
    follow(machine);
    ends_.states = seen_.size();
    return ends_;
  }

 private:
  void follow(Machine& machine) {
    machine.log.clear();  // no rule reads these two, and they make copies larger
    machine.branches.clear();
    if (!seen_.insert(StateText(machine).take()).second) return;
    if (seen_.size() > max_states_) {
      ends_.all = false;
      return;
    }
    const std::vector<Event> pending = machine.pending();
    if (pending.empty()) note_end(machine);
    for (const Event& event : pending) {
      if (!ends_.all) return;
      Machine next = machine;
      next.happen(event);
      follow(next);
    }
  }

  void note_end(const Machine& machine) {
    bool stuck = false;
    for (int a = 0; a < count_of(spec_.actors); ++a) {
      if (at(machine.done, a) < at(spec_.actors, a).ops) stuck = true;
    }
    (stuck || !machine.mismatches.empty() ? ends_.hangs : ends_.completes) = true;
    if (stuck) ends_.stuck = true;
  }

  const Spec spec_;
  const std::size_t max_states_;
  std::set<std::string> seen_;
  Ends ends_;
};

}  // namespace

Ends ends_of_all_orders(const Spec& spec, std::size_t max_states) {
  return Orders(spec, max_states).run();
}

}  // namespace pipesim::twin
