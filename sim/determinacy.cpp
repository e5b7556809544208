#include "sim/determinacy.hpp"

#include <algorithm>
#include <cstdint>

namespace pipesim::sim {
namespace {

/// The only thread that uses each object. A second thread makes timing matter.
template <typename IdType>
class Users {
 public:
  explicit Users(std::size_t count) : thread_(count) {}

  bool add(IdType id, ThreadId thread) {
    if (!thread_[id].valid()) thread_[id] = thread;
    return thread_[id] == thread;
  }
  ThreadId of(IdType id) const { return thread_[id]; }

 private:
  IdVector<IdType, ThreadId> thread_;
};

// The threads that launch on each stream and device, use each line and fire each signal.
struct UsersOfPlan {
  explicit UsersOfPlan(const Plan& plan)
      : streams(plan.streams.size()),
        devices(plan.devices.size()),
        signals(plan.signals.size()),
        lines(plan.lines.size()),
        readers(plan.threads.size()) {}

  Users<StreamId> streams;
  Users<DeviceId> devices;
  Users<SignalId> signals;
  Users<LineId> lines;
  IdVector<ThreadId, ActorId> readers;  // the only actor with ops on each thread in arrival order
};

constexpr const char* kTooFewSlots = "a device has fewer kernel slots than streams";

// Whether a launch of one thread on this device can hold up another thread.
bool is_shared(const Device& device) {
  return device.hardware_queues > 0 || device.ordered() || device.launch_queue > 0;
}

const char* obstacle_of_use(const Plan& plan, ActorId id, UsersOfPlan& users) {
  const Actor& actor = plan.actors[id];
  // Messages to a single actor have the same effect in any order.
  if (plan.threads[actor.thread].order == ThreadOrder::kArrival && actor.ops > 0) {
    ActorId& reader = users.readers[actor.thread];
    if (reader.valid()) return "a thread launches ops in the order in which their inputs arrive";
    reader = id;
  }
  if (const char* obstacle = facts(actor.role).obstacle) return obstacle;
  if (actor.stream.valid()) {
    const DeviceId device = plan.streams[actor.stream].device;
    const bool in_order = actor.role == Role::kCalls && actor.kernel_slots == 1;
    if (device.valid() && plan.devices[device].may_lack_slots() && needs_slot(actor.role) &&
        !in_order) {
      return kTooFewSlots;
    }
    if (!users.streams.add(actor.stream, actor.thread)) return "two threads use one stream";
    if (device.valid() && is_shared(plan.devices[device]) &&
        !users.devices.add(device, actor.thread)) {
      return "two threads use a device with hardware queues, a launch order or a launch queue";
    }
  }
  for (std::uint32_t i = actor.lines; i < actor.lines_end; ++i) {
    if (!users.lines.add(plan.actor_lines[i], actor.thread)) {
      return "two threads call one communicator on several streams";
    }
  }
  if (facts(actor.role).fires && !users.signals.add(actor.signal, actor.thread))
    return "two threads set one event";
  return nullptr;
}

const char* obstacle_of_wait(const Plan& plan, const Actor& actor, const UsersOfPlan& users) {
  const auto is_of_another = [&](StreamId stream) {
    const ThreadId user = users.streams.of(stream);
    return user.valid() && user != actor.thread;
  };
  const bool waits = actor.signal.valid() && !facts(actor.role).fires;
  if (waits && plan.signals[actor.signal].recorded() &&
      users.signals.of(actor.signal) != actor.thread) {
    return "a thread waits for what another records";
  }
  bool of_another = actor.behind.valid() && is_of_another(actor.behind);
  for (std::uint32_t i = actor.streams; i < actor.streams_end; ++i) {
    of_another = of_another || is_of_another(plan.synchronized[i]);
  }
  return of_another ? "a thread waits for the stream of another" : nullptr;
}

}  // namespace

const char* determinacy_obstacle(const Plan& plan) {
  if (plan.faulty) return "there are faults or timers";
  // Streams compete for the slots, unless the launch order decides which call takes the next slot.
  if (std::any_of(plan.devices.begin(), plan.devices.end(), [](const Device& device) {
        return device.may_lack_slots() && device.order != LaunchOrder::kImplicit;
      })) {
    return kTooFewSlots;
  }
  if (plan.in_calls) return "calls advance only while their ranks make others";
  if (!plan.sources.empty()) return "a recv accepts a send from any rank";
  for (const Communicator& communicator : plan.communicators) {
    if (communicator.at_first_use && communicator.waits_for_device) {
      return "communicator initialization waits for devices";
    }
  }
  // The acknowledgement of a reused slot is queued after all ops launched before the credit
  // returns, so its place in the stream depends on timing.
  for (const Edge& edge : plan.edges) {
    if (edge.in_place.valid() && !edge.ack_at_launch) return "an output reuses memory in place";
  }
  for (const Meeting& meeting : plan.meetings) {
    for (std::uint32_t u = meeting.users + 1; u < meeting.users_end; ++u) {
      const Actor& a = plan.actors[plan.meeting_users[u - 1].actor];
      const Actor& b = plan.actors[plan.meeting_users[u].actor];
      if (a.rank == b.rank && a.thread != b.thread) {
        return "two threads of a rank synchronize with other hosts";
      }
    }
  }
  UsersOfPlan users(plan);
  for (const ActorId id : ids_of(plan.actors)) {
    if (const char* obstacle = obstacle_of_use(plan, id, users)) return obstacle;
  }
  for (const Actor& actor : plan.actors) {
    if (const char* obstacle = obstacle_of_wait(plan, actor, users)) return obstacle;
  }
  return nullptr;
}

}  // namespace pipesim::sim
