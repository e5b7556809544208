// Device behavior that CUDA does not specify, and plans under an assumption about it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/plan.hpp"

namespace pipesim::sim {

/// Assumptions about unspecified device behavior.
struct DeviceReading {
  /// Each device runs ops with collective calls one at a time, in launch order. A device may lack
  /// slots for two such ops, and all ranks must agree on the order.
  bool serial_collectives = false;
  /// All streams of a device share one launch queue, with the largest limit of these streams.
  bool shared_launches = false;
  /// The hardware queue of each stream. If the list is empty, the plan's queues apply.
  std::vector<std::uint32_t> queues;

  bool any() const { return serial_collectives || shared_launches || !queues.empty(); }
};

/// Returns `plan` under the assumptions of `reading`.
Plan with_reading(Plan plan, const DeviceReading& reading);

/// Whether ops with collective calls of several communicators can run on a device at once and the
/// plan does not limit their number.
bool has_open_slots(const Plan& plan);

/// Whether the plan does not say if the streams of a device share a launch queue, and a shared
/// queue could fill up and block hosts.
bool has_open_launches(const Plan& plan);

/// Whether the plan leaves open which streams share a hardware queue.
bool has_open_queues(const Plan& plan);

/// Returns `plan` with records queued in hardware queues like kernels. Returns nullopt if the plan
/// would not change: no record is on a stream that shares a queue, or ops stay in their queues
/// until they end.
std::optional<Plan> with_records_in_queues(const Plan& plan);

}  // namespace pipesim::sim
