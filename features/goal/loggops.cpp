// Simulates a LogGOPS program with one queue ("line") per set of lanes. An op needs its cpu, and a
// message also needs a nic on either side. Cpus and nics are `lanes`; each lane has the time at
// which it becomes free. Ops that need the same lanes wait in one line, ordered by turn. A turn is
// a number. An op gets its turn when it becomes free to run; a message gets its turn when it leaves
// its sender. A line is checked only when all its lanes are free, and only its first op: if the
// first op cannot run, no later op can. So a rank with a million ops that wait for one cpu costs
// only a million events, whereas retrying every op whenever the cpu is free would be quadratic.
//
// Events are ordered by (time, turn). There are three kinds of event: the check of a line, the post
// of a recv, the arrival of a message. An event of a line whose turn or time has changed is stale
// and ignored.
//
// tests/twin/loggops_test.cpp compares this run with a second implementation that retries every op,
// and tests/scenarios/goal_test.cpp compares it with results of LogGOPSim.
#include "features/goal/loggops.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <unordered_map>
#include <utility>

#include "sim/assert.hpp"
#include "sim/match_queue.hpp"
#include "sim/ring.hpp"

namespace pipesim::sim {
namespace {

constexpr std::uint32_t kNothing = 0xffffffff;

/// A heap with the smallest item on top.
template <typename Item>
using Earliest = std::priority_queue<Item, std::vector<Item>, std::greater<>>;

/// An event; the caller defines `target`.
struct TurnEvent {
  Time time;
  std::uint32_t turn = 0;
  std::uint32_t target = 0;

  friend bool operator>(const TurnEvent& a, const TurnEvent& b) {
    return a.time != b.time ? a.time > b.time : a.turn > b.turn;
  }
};

/// The pending events, ordered by (time, turn). sim/event_queue.hpp orders the events of one
/// instant by the order of push() instead; here a turn outlives its events. Events of the present
/// instant need no heap as long as their turns increase, which is the common case.
class TurnQueue {
 public:
  bool empty() const { return present_.empty() && future_.empty(); }
  Time next_time() const { return present_.empty() ? future_.top().time : now_; }

  void push(const TurnEvent& event) {
    const bool last = present_.empty() || present_.back().turn < event.turn;
    if (event.time == now_ && last) {
      present_.push(event);
    } else {
      future_.push(event);
    }
  }

  TurnEvent pop() {
    const bool future = present_.empty() || (!future_.empty() && future_.top().time == now_ &&
                                             future_.top().turn < present_.front().turn);
    if (!future) return present_.pop();
    const TurnEvent event = future_.top();
    future_.pop();
    now_ = event.time;
    return event;
  }

 private:
  Time now_{0};  // time of the last event taken
  Ring<TurnEvent> present_;
  Earliest<TurnEvent> future_;
};

struct Waiting {
  std::uint32_t turn = 0;
  std::uint32_t op = 0;

  friend bool operator>(const Waiting& a, const Waiting& b) { return a.turn > b.turn; }
};

/// The purpose of a line or lane. Without many units, each rank has one line and one lane per
/// purpose, in this order.
enum class Use : std::uint32_t { kCpu, kSending, kReceiving };
constexpr std::uint32_t kUses = 3;

/// Indices of the lanes that an op needs. If it needs no nic, `nic` is also the lane of the cpu.
struct Lanes {
  std::uint32_t cpu = 0;
  std::uint32_t nic = 0;
};

struct Line {
  Lanes lanes;
  Time looked_at = kNever;
  std::uint32_t first_turn = kNothing;  // turn of the pending check; kNothing: none
  Earliest<Waiting> waiting;
};

constexpr std::int64_t kMaxTime = std::numeric_limits<std::int64_t>::max();

std::int64_t sum(std::int64_t a, std::int64_t b) { return a > kMaxTime - b ? kMaxTime : a + b; }

// Returns base + (bytes - 1) * each. For 0 bytes, like LogGOPSim, returns `each` less than for 1
// byte, but at least 0.
Duration with_bytes(std::int64_t base, std::uint64_t bytes, std::int64_t each) {
  if (bytes == 0) return {std::max<std::int64_t>(base - each, 0)};
  const bool fits = each == 0 || bytes - 1 <= static_cast<std::uint64_t>(kMaxTime / each);
  return {fits ? sum(base, static_cast<std::int64_t>(bytes - 1) * each) : kMaxTime};
}

// Returns the time per byte of a recv. The gap and the overhead pass concurrently, so the longer
// time counts. For 0 bytes, LogGOPSim compares unsigned numbers, so the shorter time counts.
std::int64_t per_byte_of_receive(const LogGopsParameters& parameters, std::uint64_t bytes) {
  const std::int64_t gap = parameters.gap_per_byte_ns;
  const std::int64_t overhead = parameters.overhead_per_byte_ns;
  const bool less = bytes == 0 && gap > 0 && overhead > 0;
  return less ? std::min(gap, overhead) : std::max(gap, overhead);
}

class LogGopsRun {
 public:
  LogGopsRun(const LogGopsProgram& program, const LogGopsParameters& parameters,
             const LogGopsOptions& options)
      : program_(program),
        parameters_(parameters),
        options_(options),
        posted_(program.rank_count, program.has_wildcards),
        arrived_(program.rank_count, program.has_wildcards) {}

  LogGopsOutcome run();

 private:
  // flag of a target: an op, not a line
  static constexpr std::uint32_t kOfOp = std::uint32_t{1} << 31;

  void begin();
  RunEnd loop();
  void handle(const TurnEvent& event);
  void look_at(std::uint32_t line);
  void look_later(std::uint32_t line);
  void wait_in(std::uint32_t line, std::uint32_t op, std::uint32_t turn);
  void run_now(std::uint32_t op, Lanes lanes);
  void calculate(std::uint32_t op, Lanes lanes);
  void send(std::uint32_t op, Lanes lanes);
  void receive(std::uint32_t op, Lanes lanes);
  void post(std::uint32_t op);
  const MatchItem* receive_for(std::uint32_t send) const;
  const MatchItem* message_for(std::uint32_t receive) const;
  void meet(std::uint32_t send, std::uint32_t receive, Time received);
  void occupy_cpu(std::uint32_t lane, std::uint32_t rank, Time until);
  void tell_start(std::uint32_t op);
  void tell_end(std::uint32_t op, Time at);
  void satisfy(std::uint32_t op, Time at);
  void release();
  std::uint32_t line_of(std::uint32_t op);
  std::uint32_t lane_of(std::uint32_t rank, Use use, std::uint8_t unit);
  Time free_from(Lanes lanes) const { return std::max(lanes_[lanes.cpu], lanes_[lanes.nic]); }
  bool is_rendezvous(std::uint32_t send) const {
    return program_.ops[send].size > parameters_.eager_bytes;
  }
  Duration overhead_of_send(const LogGopsOp& send) const {
    return with_bytes(parameters_.overhead_ns, send.size, parameters_.overhead_per_byte_ns);
  }
  Duration gap_of(const LogGopsOp& send) const {
    return with_bytes(parameters_.gap_ns, send.size, parameters_.gap_per_byte_ns);
  }

  const LogGopsProgram& program_;
  const LogGopsParameters& parameters_;
  const LogGopsOptions& options_;
  LogGopsOutcome out_;
  Time now_{0};
  std::uint32_t next_turn_ = 0;
  TurnQueue events_;
  std::vector<Time> lanes_;  // time from which each lane is free
  std::vector<Line> lines_;
  std::unordered_map<std::uint64_t, std::uint32_t> lane_ids_;  // used only with many units
  std::unordered_map<std::uint64_t, std::uint32_t> line_ids_;
  std::vector<Time> ready_;  // time of an op's last dependency; used only with many units
  std::vector<std::uint32_t> free_ops_;
  MatchQueue posted_;
  MatchQueue arrived_;
};

LogGopsOutcome LogGopsRun::run() {
  begin();
  out_.end = loop();
  out_.digests = RankDigests(program_.rank_count);
  for (const RankId rank : ids_of(out_.digests)) {
    for (std::uint32_t op = program_.rank_begin[rank]; op < program_.rank_end[rank]; ++op) {
      const LogGopsOpState& state = out_.ops[op];
      out_.digests[rank].add(op - program_.rank_begin[rank], 0, state.start, state.start,
                             state.done);
    }
  }
  return std::move(out_);
}

void LogGopsRun::begin() {
  const std::size_t count = program_.ops.size();
  PIPESIM_CHECK(count <= kMaxLogGopsOps && program_.rank_count <= kMaxLogGopsRanks);
  out_.finish = IdVector<RankId, Time>(program_.rank_count, Time{0});
  out_.ops.resize(count);
  for (std::size_t op = 0; op < count; ++op) out_.ops[op].missing = program_.required[op];
  if (program_.many_units) {
    ready_.assign(count, Time{0});
  } else {
    lanes_.assign(std::size_t{kUses} * program_.rank_count, Time{0});
    lines_.resize(std::size_t{kUses} * program_.rank_count);
    for (std::uint32_t line = 0; line < lines_.size(); ++line) {
      lines_[line].lanes = {line - line % kUses, line};
    }
  }
  for (std::uint32_t rank = 0; rank < program_.rank_count; ++rank) {
    const std::uint32_t end = program_.rank_end[RankId{rank}];
    for (std::uint32_t op = program_.rank_begin[RankId{rank}]; op < end; ++op) {
      if (program_.required[op] == 0) free_ops_.push_back(op);
    }
    release();
  }
}

RunEnd LogGopsRun::loop() {
  constexpr std::uint64_t kBetweenLooks = 4096;
  for (std::uint64_t handled = 1; !events_.empty(); ++handled) {
    if (events_.next_time() == kEndOfTime) return RunEnd::kTimeLimit;
    const bool look = handled % kBetweenLooks == 0;
    if (look && options_.progress != nullptr) options_.progress->tell(out_.ops_done, now_.ns);
    if (look && options_.stop != nullptr && *options_.stop) return RunEnd::kInterrupted;
    const TurnEvent event = events_.pop();
    PIPESIM_DCHECK(event.time >= now_, {"time", event.time.ns}, {"now", now_.ns});
    now_ = event.time;
    handle(event);
  }
  if (out_.last() == kEndOfTime) return RunEnd::kTimeLimit;
  return out_.ops_done == program_.ops.size() ? RunEnd::kCompleted : RunEnd::kStuck;
}

void LogGopsRun::handle(const TurnEvent& event) {
  if ((event.target & kOfOp) == 0) {
    Line& line = lines_[event.target];
    if (line.looked_at == event.time && line.first_turn == event.turn) look_at(event.target);
    return;
  }
  const std::uint32_t op = event.target & ~kOfOp;
  if (program_.ops[op].kind == LogGopsKind::kReceive) {
    post(op);
    return;
  }
  // The op's turn has come: all earlier ops of its line have had their turns.
  const std::uint32_t line = line_of(op);
  const Lanes lanes = lines_[line].lanes;
  if (free_from(lanes) <= now_) {
    run_now(op, lanes);
  } else {
    wait_in(line, op, event.turn);
  }
}

void LogGopsRun::look_at(std::uint32_t line) {
  const Lanes lanes = lines_[line].lanes;
  lines_[line].first_turn = kNothing;
  if (free_from(lanes) <= now_) {
    const std::uint32_t op = lines_[line].waiting.top().op;
    lines_[line].waiting.pop();
    run_now(op, lanes);
  }
  look_later(line);
}

// Schedules a check of the line's first op for the earliest time at which it could run.
void LogGopsRun::look_later(std::uint32_t line) {
  Line& it = lines_[line];
  if (it.waiting.empty() || it.first_turn == it.waiting.top().turn) return;
  it.first_turn = it.waiting.top().turn;
  it.looked_at = std::max(now_, free_from(it.lanes));
  events_.push({it.looked_at, it.first_turn, line});
}

void LogGopsRun::wait_in(std::uint32_t line, std::uint32_t op, std::uint32_t turn) {
  lines_[line].waiting.push({turn, op});
  look_later(line);
}

void LogGopsRun::run_now(std::uint32_t op, Lanes lanes) {
  switch (program_.ops[op].kind) {
    case LogGopsKind::kCalculate:
      calculate(op, lanes);
      break;
    case LogGopsKind::kSend:
      if (out_.ops[op].start == kNever) {
        send(op, lanes);
      } else {
        receive(op, lanes);
      }
      break;
    case LogGopsKind::kReceive:
      PIPESIM_CHECK(false, {"op", op});
  }
  release();
}

void LogGopsRun::calculate(std::uint32_t op, Lanes lanes) {
  const LogGopsOp& what = program_.ops[op];
  const std::uint64_t takes = std::min(what.size, static_cast<std::uint64_t>(kMaxTime));
  const Time end = later(now_, {static_cast<std::int64_t>(takes)});
  occupy_cpu(lanes.cpu, what.rank, end);
  tell_start(op);
  tell_end(op, end);
}

void LogGopsRun::send(std::uint32_t op, Lanes lanes) {
  const LogGopsOp& what = program_.ops[op];
  const Time end = later(now_, overhead_of_send(what));
  occupy_cpu(lanes.cpu, what.rank, end);
  lanes_[lanes.nic] = later(now_, gap_of(what));
  tell_start(op);
  const Duration travel{sum(parameters_.overhead_ns, parameters_.latency_ns)};
  events_.push({later(now_, travel), next_turn_++, op | kOfOp});
  if (!is_rendezvous(op)) tell_end(op, end);
}

// Receives the message of the send `op` at its destination.
void LogGopsRun::receive(std::uint32_t op, Lanes lanes) {
  const LogGopsOp& what = program_.ops[op];
  const std::int64_t per_byte = per_byte_of_receive(parameters_, what.size);
  const Time end = later(now_, with_bytes(parameters_.overhead_ns, what.size, per_byte));
  occupy_cpu(lanes.cpu, what.peer, end);
  lanes_[lanes.nic] = later(now_, gap_of(what));
  const MatchItem* found = receive_for(op);
  if (found == nullptr) {
    arrived_.push({what.peer, what.rank, what.tag}, op, end);
  } else {
    meet(op, posted_.take(found->key).op, end);
  }
}

void LogGopsRun::post(std::uint32_t op) {
  const LogGopsOp& what = program_.ops[op];
  tell_start(op);
  const MatchItem* found = message_for(op);
  if (found == nullptr) {
    posted_.push({what.rank, what.peer, what.tag}, op, now_);
  } else {
    const MatchItem message = arrived_.take(found->key);
    meet(message.op, op, message.time);
  }
  release();
}

// Returns the first posted recv that matches `send`, or nullptr.
const MatchItem* LogGopsRun::receive_for(std::uint32_t send) const {
  const LogGopsOp& what = program_.ops[send];
  if (!program_.has_wildcards) return posted_.first({what.peer, what.rank, what.tag});
  if (what.tag == kAnyTag) {
    return posted_.first_at(what.peer, [&](const MatchKey& key) {
      return key.peer == what.rank || key.peer == kAnyPeer;
    });
  }
  const MatchItem* best = nullptr;
  for (const std::uint32_t peer : {what.rank, kAnyPeer}) {
    for (const std::uint32_t tag : {what.tag, kAnyTag}) {
      const MatchItem* item = posted_.first({what.peer, peer, tag});
      if (item != nullptr && (best == nullptr || item->order < best->order)) best = item;
    }
  }
  return best;
}

// Returns the first arrived message that matches `receive`, or nullptr.
const MatchItem* LogGopsRun::message_for(std::uint32_t receive) const {
  const LogGopsOp& what = program_.ops[receive];
  if (!program_.has_wildcards) return arrived_.first({what.rank, what.peer, what.tag});
  return arrived_.first_at(what.rank, [&](const MatchKey& key) {
    return (what.peer == kAnyPeer || what.peer == key.peer) &&
           (what.tag == kAnyTag || key.tag == kAnyTag || what.tag == key.tag);
  });
}

// Matches a send with a recv. `received` is the time at which the cpu has received the message.
void LogGopsRun::meet(std::uint32_t send, std::uint32_t receive, Time received) {
  out_.ops[send].match = receive;
  out_.ops[receive].match = send;
  if (is_rendezvous(send)) {
    // The sender continues now: its next action cannot begin earlier.
    const LogGopsOp& from = program_.ops[send];
    const std::uint32_t cpu = lane_of(from.rank, Use::kCpu, from.cpu);
    const std::uint32_t nic = lane_of(from.rank, Use::kSending, from.nic);
    occupy_cpu(cpu, from.rank, std::max(lanes_[cpu], now_));
    lanes_[nic] = std::max(lanes_[nic], now_);
    tell_end(send, std::max(now_, later(out_.ops[send].start, overhead_of_send(from))));
  }
  tell_end(receive, std::max(now_, received));
}

void LogGopsRun::occupy_cpu(std::uint32_t lane, std::uint32_t rank, Time until) {
  lanes_[lane] = until;
  Time& finish = out_.finish[RankId{rank}];
  finish = std::max(finish, until);
}

void LogGopsRun::tell_start(std::uint32_t op) {
  out_.ops[op].start = now_;
  const std::uint32_t end = program_.dependents_begin[op + 1];
  for (std::uint32_t i = program_.dependents_begin[op]; i < end; ++i) {
    const std::uint32_t dependent = program_.dependents[i];
    if ((dependent & LogGopsProgram::kAtStart) == 0) continue;
    satisfy(dependent & ~LogGopsProgram::kAtStart, now_);
  }
}

void LogGopsRun::tell_end(std::uint32_t op, Time at) {
  out_.ops[op].done = at;
  ++out_.ops_done;
  const std::uint32_t end = program_.dependents_begin[op + 1];
  for (std::uint32_t i = program_.dependents_begin[op]; i < end; ++i) {
    const std::uint32_t dependent = program_.dependents[i];
    if ((dependent & LogGopsProgram::kAtStart) == 0) satisfy(dependent, at);
  }
}

// Counts a dependency of `op` that ended at time `at`. The time matters only with many units: with
// one cpu, the cpu is not free again before the dependency ends.
void LogGopsRun::satisfy(std::uint32_t op, Time at) {
  if (program_.many_units) ready_[op] = std::max(ready_[op], at);
  if (--out_.ops[op].missing == 0) free_ops_.push_back(op);
}

// Assigns turns to the ops that have become free: by rank, then by kind, then in the order in which
// they became free.
void LogGopsRun::release() {
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const LogGopsOp& x = program_.ops[a];
    const LogGopsOp& y = program_.ops[b];
    return x.rank != y.rank ? x.rank < y.rank : x.kind < y.kind;
  };
  if (free_ops_.size() > 1 && !std::is_sorted(free_ops_.begin(), free_ops_.end(), before)) {
    std::stable_sort(free_ops_.begin(), free_ops_.end(), before);
  }
  for (const std::uint32_t op : free_ops_) {
    const LogGopsOp& what = program_.ops[op];
    const std::uint32_t turn = next_turn_++;
    const Time ready = program_.many_units ? std::max(ready_[op], now_) : now_;
    if (what.kind == LogGopsKind::kReceive) {
      const Time cpu = lanes_[lane_of(what.rank, Use::kCpu, what.cpu)];
      events_.push({std::max(ready, cpu), turn, op | kOfOp});
    } else if (ready > now_) {
      events_.push({ready, turn, op | kOfOp});
    } else {
      wait_in(line_of(op), op, turn);
    }
  }
  free_ops_.clear();
}

// Returns the line of the op's next action: a started send is a message at its destination.
std::uint32_t LogGopsRun::line_of(std::uint32_t op) {
  const LogGopsOp& what = program_.ops[op];
  const bool message = out_.ops[op].start != kNever;
  const std::uint32_t rank = message ? what.peer : what.rank;
  const Use use = message                                ? Use::kReceiving
                  : what.kind == LogGopsKind::kCalculate ? Use::kCpu
                                                         : Use::kSending;
  if (!program_.many_units) return kUses * rank + static_cast<std::uint32_t>(use);
  const std::uint8_t nic = use == Use::kCpu ? 0 : what.nic;
  const std::uint64_t key = std::uint64_t{rank} << 24 | static_cast<std::uint64_t>(use) << 16 |
                            std::uint64_t{what.cpu} << 8 | nic;
  const auto [known, added] = line_ids_.try_emplace(key, lines_.size());
  if (added) {
    Line& line = lines_.emplace_back();
    line.lanes.cpu = lane_of(rank, Use::kCpu, what.cpu);
    line.lanes.nic = use == Use::kCpu ? line.lanes.cpu : lane_of(rank, use, nic);
  }
  return known->second;
}

std::uint32_t LogGopsRun::lane_of(std::uint32_t rank, Use use, std::uint8_t unit) {
  if (!program_.many_units) return kUses * rank + static_cast<std::uint32_t>(use);
  const std::uint64_t key = std::uint64_t{rank} << 16 | static_cast<std::uint64_t>(use) << 8 | unit;
  const auto [known, added] = lane_ids_.try_emplace(key, lanes_.size());
  if (added) lanes_.push_back(Time{0});
  return known->second;
}

}  // namespace

Time LogGopsOutcome::last() const {
  return finish.empty() ? Time{0} : *std::max_element(finish.begin(), finish.end());
}

LogGopsOutcome run(const LogGopsProgram& program, const LogGopsParameters& parameters,
                   const LogGopsOptions& options) {
  if (options.progress != nullptr) options.progress->ops = program.ops.size();
  LogGopsOutcome outcome = LogGopsRun(program, parameters, options).run();
  if (options.progress != nullptr) options.progress->over = true;
  return outcome;
}

}  // namespace pipesim::sim
