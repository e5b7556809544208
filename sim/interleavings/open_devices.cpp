// The answer of `check` for a plan that leaves device behavior open.
//
// Kernel slots: if collectives of several communicators can be on a device at once, neither the
// number of slots nor the start order is known. NCCL requires one order of calls on all ranks. A
// plan has such an order if it completes when each device runs its collectives one at a time, in
// launch order. Otherwise the plan may hang.
//
// Launch queues: each stream may have one, or all streams of a device may share one. A plan that
// completes with a queue per stream is also tried with a queue per device, which holds fewer
// launches.
//
// Hardware queues: if there are more streams than queues, streams share queues, and the assignment
// is unknown. Each assignment is a plan. If timing decides nothing, more sharing can only add
// waits: a plan that completes with a single queue completes with every assignment.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/determinacy.hpp"
#include "sim/interleavings/exploration.hpp"

namespace pipesim::sim {
namespace {

bool hangs(const Exploration& found) {
  return found.answer == Answer::kHangPossible || found.answer == Answer::kHangCertain;
}

bool is_open(const Device& device) { return device.any_queue && device.hardware_queues > 1; }

// Enumerates the assignments of streams to the queues of all open devices, such that each queue has
// a stream. The queues of a device are equivalent, so a stream takes a queue used by an earlier
// stream or the first unused one ("restricted growth strings").
class QueueWays {
 public:
  explicit QueueWays(const Plan& plan) : plan_(plan) {
    for (const Device& device : plan.devices) {
      if (is_open(device)) devices_.push_back(&device);
    }
    ways_.resize(devices_.size());
    for (std::size_t i = 0; i < devices_.size(); ++i) first(i);
  }

  std::vector<std::uint32_t> queues() const {
    std::vector<std::uint32_t> queues = planned();
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      for (std::size_t j = 0; j < ways_[i].size(); ++j) queues[stream(i, j).value] = ways_[i][j];
    }
    return queues;
  }

  /// Returns an assignment in which streams `a` and `b` of each device share a hardware queue, and
  /// all other streams take queues round-robin.
  std::vector<std::uint32_t> with_pair(std::uint32_t a, std::uint32_t b) const {
    std::vector<std::uint32_t> queues = planned();
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const std::uint32_t count = devices_[i]->streams_end - devices_[i]->streams;
      std::uint32_t others = 0;
      for (std::uint32_t j = 0; j < count; ++j) {
        const bool of_pair = j == a || j == b;
        queues[stream(i, j).value] =
            of_pair ? 0 : 1 + others++ % (devices_[i]->hardware_queues - 1);
      }
    }
    return queues;
  }

  std::uint32_t most_streams() const {
    std::uint32_t most = 0;
    for (const Device* device : devices_) {
      most = std::max(most, device->streams_end - device->streams);
    }
    return most;
  }

  /// Moves to the next assignment. Returns false if there is none.
  bool next() {
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      if (advance(i)) return true;
      first(i);
    }
    return false;
  }

 private:
  StreamId stream(std::size_t device, std::size_t place) const {
    return plan_.device_streams[devices_[device]->streams + place];
  }

  std::vector<std::uint32_t> planned() const {
    std::vector<std::uint32_t> queues;
    for (const Stream& stream : plan_.streams) queues.push_back(stream.hardware_queue);
    return queues;
  }

  void first(std::size_t i) {
    const std::uint32_t count = devices_[i]->streams_end - devices_[i]->streams;
    ways_[i].assign(count, 0);
    fill(i, 0, 0);
  }

  // Fills the assignment, starting at `place`, with the smallest continuation, given that queues
  // below `used` are in use.
  void fill(std::size_t i, std::size_t place, std::uint32_t used) {
    std::vector<std::uint32_t>& way = ways_[i];
    const std::uint32_t queues = devices_[i]->hardware_queues;
    for (; place < way.size(); ++place) {
      const bool must = way.size() - place <= queues - used;
      way[place] = must ? used : 0;
      used = std::max(used, way[place] + 1);
    }
  }

  bool advance(std::size_t i) {
    std::vector<std::uint32_t>& way = ways_[i];
    const std::uint32_t queues = devices_[i]->hardware_queues;
    for (std::size_t place = way.size(); place-- > 1;) {
      const std::uint32_t used =
          1 + *std::max_element(way.begin(), way.begin() + static_cast<std::ptrdiff_t>(place));
      if (way[place] >= used || way[place] + 1 >= queues) continue;
      const std::uint32_t now = std::max(used, way[place] + 2);
      if (way.size() - place - 1 < queues - now) continue;
      ++way[place];
      fill(i, place + 1, now);
      return true;
    }
    return false;
  }

  const Plan& plan_;
  std::vector<const Device*> devices_;
  std::vector<std::vector<std::uint32_t>> ways_;  // per device
};

void set_queues(Plan& plan, std::uint32_t queues) {
  for (Device& device : plan.devices) {
    if (!is_open(device)) continue;
    device.hardware_queues = queues;
    for (std::uint32_t i = device.streams; i < device.streams_end; ++i) {
      plan.streams[plan.device_streams[i]].hardware_queue = 0;
    }
  }
}

// Restores the devices and streams of a plan at the end of a scope.
class ChangedDevices {
 public:
  explicit ChangedDevices(Plan& plan)
      : plan_(plan), devices_(plan.devices), streams_(plan.streams) {}
  ~ChangedDevices() {
    std::copy(devices_.begin(), devices_.end(), plan_.devices.begin());
    std::copy(streams_.begin(), streams_.end(), plan_.streams.begin());
  }
  ChangedDevices(const ChangedDevices&) = delete;
  ChangedDevices& operator=(const ChangedDevices&) = delete;

 private:
  Plan& plan_;
  IdVector<DeviceId, Device> devices_;
  IdVector<StreamId, Stream> streams_;
};

class OpenDevices {
 public:
  OpenDevices(Plan& plan, const ExploreOptions& options, Exploration planned)
      : plan_(plan), options_(options), result_(std::move(planned)) {}

  Exploration run() {
    if (has_open_queues(plan_)) see_queues();
    if (has_open_slots(plan_)) see_slots();
    if (has_open_launches(plan_)) see_launches();
    see_records();
    return std::move(result_);
  }

 private:
  void see_queues() {
    if (hangs(result_)) {
      const ChangedDevices changed(plan_);
      set_queues(plan_, 0);
      if (explore_as_planned(plan_, options_).answer == result_.answer) return;
      // Another assignment may complete.
      result_.rests_on.queues = true;
      result_.answer = Answer::kHangPossible;
      return;
    }
    if (result_.answer != Answer::kProved) return;
    result_.rests_on.queues = true;
    if (is_proved_with_one_queue(plan_)) {
      result_.rests_on.all_queue_runs = true;
      return;
    }
    QueueWays ways(plan_);
    if (any_pair_hangs(ways)) return;
    do {
      if (tries(ways.queues())) return;
      if (result_.stopped) break;
      if (result_.rests_on.queue_runs < options_.max_queue_runs) continue;
      result_.answer = Answer::kUndecided;
      result_.method = Method::kSearch;
      return;
    } while (ways.next());
    result_.rests_on.all_queue_runs = !result_.stopped;
  }

  Exploration explored(Plan& plan, const DeviceReading& reading) const {
    const ChangedDevices changed(plan);
    plan = with_reading(std::move(plan), reading);
    return explore_as_planned(plan, options_);
  }

  // Whether one run proves the plan with a single hardware queue; requires that timing decides
  // nothing.
  bool is_proved_with_one_queue(Plan& plan) const {
    const ChangedDevices changed(plan);
    set_queues(plan, 1);
    return determinacy_obstacle(plan) == nullptr &&
           explore_as_planned(plan, options_).answer == Answer::kProved;
  }

  bool any_pair_hangs(const QueueWays& ways) {
    for (std::uint32_t b = 1; b < ways.most_streams(); ++b) {
      for (std::uint32_t a = 0; a < b; ++a) {
        if (result_.rests_on.queue_runs >= options_.max_queue_runs || result_.stopped) return false;
        if (tries(ways.with_pair(a, b))) return true;
      }
    }
    return false;
  }

  // Whether the plan can hang with these queues. If so, the hang becomes the answer.
  bool tries(std::vector<std::uint32_t> queues) {
    DeviceReading reading;
    reading.queues = std::move(queues);
    ++result_.rests_on.queue_runs;
    return takes(explored(plan_, reading), reading);
  }

  void see_slots() {
    DeviceReading reading;
    reading.serial_collectives = true;
    if (!stays_proved(reading)) result_.rests_on.slots = true;
  }

  void see_launches() {
    DeviceReading reading;
    reading.shared_launches = true;
    if (!stays_proved(reading)) result_.rests_on.launches = true;
  }

  // Whether a proved plan stays proved under `reading`. If not, changes the answer.
  bool stays_proved(const DeviceReading& reading) {
    if (result_.answer != Answer::kProved) return true;
    const Exploration found = explored(plan_, reading);
    if (takes(found, reading)) return false;
    if (found.answer != Answer::kUndecided) return true;
    result_.answer = Answer::kUndecided;
    result_.method = found.method;
    result_.budget = found.budget;
    return false;
  }

  // Checks whether the proof would fail if records waited in hardware queues, with the plan's
  // queues or with two streams that share one.
  void see_records() {
    if (result_.answer != Answer::kProved) return;
    std::optional<Plan> with_records = with_records_in_queues(plan_);
    if (!with_records || is_proved_with_one_queue(*with_records)) return;
    const auto may_hang = [&](const DeviceReading& reading) {
      return hangs(explored(*with_records, reading));
    };
    result_.rests_on.records = may_hang({}) || (has_open_queues(plan_) && any_pair(may_hang));
  }

  template <typename MayHang>
  bool any_pair(const MayHang& may_hang) const {
    const QueueWays ways(plan_);
    std::uint64_t tried = 0;
    for (std::uint32_t b = 1; b < ways.most_streams(); ++b) {
      for (std::uint32_t a = 0; a < b && tried < options_.max_queue_runs; ++a, ++tried) {
        DeviceReading reading;
        reading.queues = ways.with_pair(a, b);
        if (may_hang(reading)) return true;
      }
    }
    return false;
  }

  bool takes(const Exploration& found, const DeviceReading& reading) {
    result_.steps += found.steps;
    result_.states += found.states;
    result_.orders += found.orders;
    result_.longest = std::max(result_.longest, found.longest);
    result_.stopped = result_.stopped || found.stopped;
    if (!hangs(found)) return false;
    result_.answer = Answer::kHangPossible;
    result_.method = found.method;
    result_.budget = found.budget;
    result_.timing = found.timing;
    result_.hang_found = true;
    result_.hang = found.hang;
    result_.reading = reading;
    return true;
  }

  Plan& plan_;
  const ExploreOptions& options_;
  Exploration result_;
};

}  // namespace

Exploration explore(const Plan& plan, const ExploreOptions& options, const Outcome* usual) {
  Plan copy = plan;
  return explore_in_place(copy, options, usual);
}

Exploration explore_in_place(Plan& plan, const ExploreOptions& options, const Outcome* usual) {
  Exploration planned = explore_as_planned(plan, options, usual);
  if (!options.open_devices || plan.faulty || planned.stopped) return planned;
  return OpenDevices(plan, options, std::move(planned)).run();
}

}  // namespace pipesim::sim
