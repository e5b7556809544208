// What nothing promises of devices, and what a plan becomes if the worst is assumed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/plan.hpp"

namespace pipesim::sim {

/// See the head of this file.
struct DeviceReading {
  /// Each device runs one act with collective calls after the other, in the order of their
  /// launches: it may have no room for two, and the order is what all ranks have to agree on.
  bool serial_collectives = false;
  /// All streams of a device share one launch queue, as long as the longest of theirs.
  bool shared_launches = false;
  /// Of each stream, its hardware queue. Empty: as the plan has it.
  std::vector<std::uint32_t> queues;

  bool any() const { return serial_collectives || shared_launches || !queues.empty(); }
};

/// `plan`, run so.
Plan with_reading(Plan plan, const DeviceReading& reading);

/// Whether acts with collective calls of several communicators may run on a device at one time, of
/// which nothing says how many have room.
bool has_open_room(const Plan& plan);

/// Whether hosts can wait for places in launch queues if the streams of a device share one, and
/// nothing says whether they do.
bool has_open_launches(const Plan& plan);

/// Whether streams share hardware queues, and nothing says which.
bool has_open_queues(const Plan& plan);

/// `plan` on devices on which records stand in hardware queues as kernels do. Nothing where that is
/// no other plan: no record is on a stream that shares a queue, or all are held to the end.
std::optional<Plan> with_records_in_queues(const Plan& plan);

}  // namespace pipesim::sim
