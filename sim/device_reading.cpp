#include "sim/device_reading.hpp"

#include <algorithm>
#include <cstddef>

namespace pipesim::sim {
namespace {

// Returns the largest launch-queue limit of the device's streams.
std::uint32_t longest_queue(const Plan& plan, const Device& device) {
  std::uint32_t longest = 0;
  for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
    longest = std::max(longest, plan.streams[plan.device_streams[i]].launch_queue);
  }
  return longest;
}

void share_launches(Plan& plan) {
  for (Device& device : plan.devices) {
    if (device.launch_queue > 0) continue;
    device.launch_queue = longest_queue(plan, device);
    for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
      Stream& stream = plan.streams[plan.device_streams[i]];
      stream.shares_queue = true;
      stream.launch_queue = device.launch_queue;
    }
  }
}

}  // namespace

Plan with_reading(Plan plan, const DeviceReading& reading) {
  if (reading.serial_collectives) {
    for (Device& device : plan.devices) {
      if (device.resident == 0 && !device.serial()) device.order = LaunchOrder::kSerialCollectives;
    }
  }
  if (reading.shared_launches) share_launches(plan);
  // A reading from a file may belong to another plan.
  const auto count = std::min<std::size_t>(reading.queues.size(), plan.streams.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    Stream& stream = plan.streams[StreamId{i}];
    const std::uint32_t queues =
        stream.device.valid() ? plan.devices[stream.device].hardware_queues : 0;
    if (queues > 0) stream.hardware_queue = reading.queues[i] % queues;
  }
  return plan;
}

bool has_open_slots(const Plan& plan) {
  IdVector<DeviceId, CommunicatorId> first(plan.devices.size());
  for (const Actor& actor : plan.actors) {
    if (!actor.collects || actor.ops == 0) continue;
    const DeviceId id = plan.streams[actor.stream].device;
    if (!id.valid() || plan.devices[id].resident > 0 || plan.devices[id].serial()) continue;
    for (std::uint32_t i = actor.calls; i < actor.calls_end; ++i) {
      const Call& call = plan.calls[CallId{i}];
      const Communicator& communicator = plan.communicators[call.communicator];
      if (call.kind != CallKind::kCollective || communicator.size < 2) continue;
      if (!first[id].valid()) first[id] = call.communicator;
      if (first[id] != call.communicator) return true;
    }
  }
  return false;
}

bool has_open_launches(const Plan& plan) {
  IdVector<StreamId, std::uint64_t> ops(plan.streams.size(), 0);
  for (const Actor& actor : plan.actors) {
    if (actor.stream.valid()) ops[actor.stream] += actor.ops;
  }
  return std::any_of(plan.devices.begin(), plan.devices.end(), [&](const Device& device) {
    if (device.launch_queue > 0) return false;
    std::uint64_t all = 0;
    std::uint32_t used = 0;
    for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
      all += ops[plan.device_streams[i]];
      used += ops[plan.device_streams[i]] > 0 ? 1u : 0u;
    }
    return used > 1 && all > longest_queue(plan, device);
  });
}

bool has_open_queues(const Plan& plan) {
  return std::any_of(plan.devices.begin(), plan.devices.end(), [](const Device& device) {
    return device.any_queue && device.hardware_queues > 1;
  });
}

std::optional<Plan> with_records_in_queues(const Plan& plan) {
  const auto shares = [&](const Device& device) {
    const std::uint32_t streams = device.streams_end - device.streams;
    return device.hardware_queues > 0 && device.hardware_queues < streams && !device.holds_queues;
  };
  const bool matters = std::any_of(plan.actors.begin(), plan.actors.end(), [&](const Actor& actor) {
    if (actor.role != Role::kRecord || actor.ops == 0) return false;
    const DeviceId id = plan.streams[actor.stream].device;
    return id.valid() && shares(plan.devices[id]);
  });
  if (!matters) return std::nullopt;
  Plan changed = plan;
  for (Device& device : changed.devices) device.records_queue = shares(device);
  return changed;
}

}  // namespace pipesim::sim
