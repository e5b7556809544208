#include "features/record/implied_waits.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace pipesim::models {
namespace {

using StepKind = HostStep::Kind;

// A step that records or awaits an event: kind, place, channel, shared channel, slot, later,
// assumed, thread and stream.
using EventStep = std::tuple<StepKind, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                             bool, bool, std::string>;

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

class WaitsOfProgram {
 public:
  WaitsOfProgram(HostPrograms& programs, std::vector<std::uint32_t>& program,
                 std::map<EventStep, std::uint32_t>& known)
      : programs_(programs), program_(program), known_(known) {}

  void run() {
    find_records();
    drop_waits();
    number_events();
  }

 private:
  const HostStep& step(std::size_t at) const { return programs_.steps[program_[at]]; }

  // Whether a step records or awaits an event of a stream that runs in order.
  bool is_of_stream(std::size_t at) const {
    const HostStep& of = step(at);
    return of.channel != kNotSaid && of.slot > 0 && !programs_.channels.all()[of.channel].on_host;
  }
  bool is_wait(std::size_t at) const {
    return (step(at).kind == StepKind::kWait || step(at).kind == StepKind::kAwait) &&
           is_of_stream(at);
  }
  bool is_record(std::size_t at) const {
    return step(at).kind == StepKind::kRecord && is_of_stream(at);
  }

  // Whether both waits block the same stream or host thread, at the same line.
  bool are_alike(std::size_t a, std::size_t b) const {
    const HostStep& one = step(a);
    const HostStep& other = step(b);
    return one.kind == other.kind && one.stream == other.stream && one.place == other.place &&
           one.thread == other.thread && one.assumed == other.assumed;
  }

  // Finds the record that each wait waits for.
  void find_records() {
    record_of_.assign(program_.size(), kNowhere);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> last;
    for (std::size_t at = 0; at < program_.size(); ++at) {
      const std::pair event(step(at).channel, step(at).slot);
      if (is_record(at)) {
        last[event] = at;
      } else if (is_wait(at)) {
        const auto found = last.find(event);
        if (found != last.end()) record_of_[at] = found->second;
      }
    }
  }

  // Keeps the wait for the last work of each stream, among waits in a row.
  void drop_waits() {
    dropped_.assign(program_.size(), false);
    for (std::size_t begin = 0, end = 0; begin < program_.size(); begin = end) {
      end = begin + 1;
      if (!is_wait(begin)) continue;
      while (end < program_.size() && is_wait(end) && are_alike(begin, end)) ++end;
      std::map<std::uint32_t, std::size_t> latest;  // keyed by channel
      for (std::size_t at = begin; at < end; ++at) {
        if (record_of_[at] == kNowhere) continue;
        const auto [kept, is_new] = latest.try_emplace(step(at).channel, at);
        if (is_new) continue;
        const bool later = record_of_[at] > record_of_[kept->second];
        dropped_[later ? kept->second : at] = true;
        if (later) kept->second = at;
      }
    }
  }

  // Gives each event the lowest number that is free on its stream, and drops records without a
  // wait.
  void number_events() {
    std::vector<std::size_t> last_wait(program_.size(), kNowhere);  // by record
    for (std::size_t at = 0; at < program_.size(); ++at) {
      if (record_of_[at] != kNowhere && !dropped_[at]) last_wait[record_of_[at]] = at;
    }
    std::map<std::uint32_t, std::vector<bool>> taken;        // keyed by channel
    std::vector<std::uint32_t> slot_of(program_.size(), 0);  // by record
    std::vector<std::uint32_t> result;
    for (std::size_t at = 0; at < program_.size(); ++at) {
      std::vector<bool>& slots = taken[step(at).channel];
      if (is_record(at)) {
        if (last_wait[at] == kNowhere) continue;
        const auto free = std::find(slots.begin(), slots.end(), false) - slots.begin();
        if (static_cast<std::size_t>(free) == slots.size()) slots.push_back(false);
        slots[static_cast<std::size_t>(free)] = true;
        slot_of[at] = static_cast<std::uint32_t>(free) + 1;
        result.push_back(with_slot(program_[at], slot_of[at]));
      } else if (record_of_[at] == kNowhere) {
        result.push_back(program_[at]);
      } else if (!dropped_[at]) {
        const std::size_t record = record_of_[at];
        result.push_back(with_slot(program_[at], slot_of[record]));
        if (last_wait[record] == at) slots[slot_of[record] - 1] = false;
      }
    }
    program_ = std::move(result);
  }

  // Returns the number of the step that equals `number` but for its event. Equal steps get equal
  // numbers, so that loops fold.
  std::uint32_t with_slot(std::uint32_t number, std::uint32_t slot) {
    HostStep copy = programs_.steps[number];
    copy.slot = slot;
    const EventStep key{copy.kind, copy.place, copy.channel, copy.shared,
                        copy.slot, copy.later, copy.assumed, copy.thread + '\n' + copy.stream};
    const bool same = programs_.steps[number].slot == slot;
    const auto [known, is_new] =
        known_.try_emplace(key, same ? number : static_cast<std::uint32_t>(programs_.steps.size()));
    if (is_new && !same) programs_.steps.push_back(std::move(copy));
    return known->second;
  }

  HostPrograms& programs_;
  std::vector<std::uint32_t>& program_;
  std::map<EventStep, std::uint32_t>& known_;
  std::vector<std::size_t> record_of_;  // record of each wait, else kNowhere
  std::vector<bool> dropped_;           // waits that another wait implies
};

}  // namespace

void drop_implied_waits(HostPrograms& programs) {
  std::map<EventStep, std::uint32_t> known;
  for (std::vector<std::uint32_t>& program : programs.programs) {
    WaitsOfProgram(programs, program, known).run();
  }
}

}  // namespace pipesim::models
