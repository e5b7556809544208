#include "sim/interleavings/exploration.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "sim/determinacy.hpp"
#include "sim/engine.hpp"
#include "sim/interleavings/potential_cycles.hpp"
#include "sim/interleavings/state_key.hpp"
#include "sim/interleavings/stubborn_set.hpp"
#include "sim/splitmix.hpp"
#include "sim/stepper.hpp"

namespace pipesim::sim {
namespace {

// Steps between two reports of progress.
constexpr std::uint64_t kLookInterval = 1 << 12;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    const std::uint64_t number = splitmix(state_);
    state_ += kSplitmixStep;
    return number;
  }

 private:
  std::uint64_t state_;
};

class Explorer {
 public:
  Explorer(const Plan& plan, const ExploreOptions& options)
      : plan_(plan), options_(options), stepper_(plan), sets_(plan) {}

  Exploration run();

 private:
  // A state with several possible next events.
  struct BranchPoint {
    Moment moment;
    std::vector<std::uint32_t> ways;  // indices of the next events in Moment::pending
    std::size_t next = 0;
    std::size_t depth = 0;  // number of steps to this state
  };

  template <typename Key>
  void walk(std::uint64_t seed, const Key& key);
  void walk_alike();
  void follow_all();
  bool advance();
  bool choose();
  bool branch();
  bool turn_back();
  void step(std::uint32_t way);
  void note_end();
  bool out_of_budget();

  const Plan& plan_;
  const ExploreOptions& options_;
  Stepper stepper_;
  StubbornSets sets_;
  StateKeys seen_;
  std::vector<BranchPoint>
      branch_points_;  // [0, branch_count_) are in use; later items keep memory for reuse
  std::size_t branch_count_ = 0;
  Moment begin_;
  std::vector<std::uint32_t> ways_;
  std::vector<Event> order_;
  bool over_budget_ = false;
  bool stuck_found_ = false;  // whether a hang was found that is not only a mismatch
  // Number of branch points when the first hang was found, and when both a hang and a completion
  // were known.
  std::size_t hang_at_ = std::numeric_limits<std::size_t>::max();
  std::size_t known_at_ = std::numeric_limits<std::size_t>::max();
  Exploration result_;
};

Exploration Explorer::run() {
  // Limits the search to about one second.
  constexpr std::uint64_t kMaxCycleSteps = 2'000'000;
  if (options_.reduce && options_.look_for_cycles &&
      potential_cycles(plan_, sets_.happens_before(), kMaxCycleSteps) == PotentialCycles::kNone) {
    result_.method = Method::kNoCycle;
    result_.answer = Answer::kProved;
    return std::move(result_);
  }
  stepper_.save(begin_);
  for (std::uint32_t seed = 0; seed < options_.walks && !out_of_budget(); ++seed) {
    walk(seed, [](const Event& event) { return event.target; });
  }
  // If groups of ranks prefer different calls, completing interleavings are rare among random ones.
  if (options_.walks > 0 && result_.hang_found && !result_.completion_found) walk_alike();
  follow_all();
  result_.states = seen_.size();
  const bool all = !over_budget_ && !result_.stopped;
  result_.method = all ? Method::kExploration : Method::kSearch;
  if (!result_.hang_found) {
    result_.answer = all ? Answer::kProved : Answer::kUndecided;
  } else if (!all || result_.completion_found) {
    result_.answer = Answer::kHangPossible;
  } else {
    result_.answer = stuck_found_ ? Answer::kHangCertain : Answer::kMismatch;
  }
  return std::move(result_);
}

void Explorer::step(std::uint32_t way) {
  order_.push_back(stepper_.pending()[way]);
  stepper_.step(way);
  ++result_.steps;
}

void Explorer::note_end() {
  ++result_.orders;
  result_.longest = std::max<std::uint64_t>(result_.longest, order_.size());
  if (stepper_.ops_done() == plan_.op_count && !stepper_.mismatched()) {
    result_.completion_found = true;
    return;
  }
  stuck_found_ = stuck_found_ || stepper_.ops_done() != plan_.op_count;
  if (!result_.hang_found || order_.size() < result_.hang.size()) result_.hang = order_;
  result_.hang_found = true;
}

bool Explorer::out_of_budget() {
  // Once both a hang and a completion are known, the answer is known; the search goes on only for a
  // shorter example.
  constexpr std::size_t kBranchPointsToShorten = 1000;
  const bool known = result_.hang_found && result_.completion_found;
  std::uint64_t most = options_.max_states;
  if (result_.hang_found) {
    hang_at_ = std::min(hang_at_, seen_.size());
    most = std::min(most, hang_at_ + options_.max_states_after_hang);
  }
  if (known) {
    known_at_ = std::min(known_at_, seen_.size());
    most = std::min<std::uint64_t>(most, known_at_ + kBranchPointsToShorten);
  }
  const bool too_many = seen_.size() >= most;
  if (too_many || result_.steps >= options_.max_steps) over_budget_ = true;
  if (too_many && !known) result_.budget = most;
  if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
    result_.stopped = true;
  }
  if (result_.steps % kLookInterval == 0 && options_.progress != nullptr) {
    options_.progress->states.store(seen_.size(), std::memory_order_relaxed);
    options_.progress->steps.store(result_.steps, std::memory_order_relaxed);
  }
  return over_budget_ || result_.stopped;
}

// Runs one interleaving with random priorities, and lowers some of them at random points. This
// method finds hangs that need few late ops far more often than drawing each event at random. (S.
// Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte: "A randomized scheduler with probabilistic
// guarantees of finding bugs", 2010.) A priority belongs to a stream, thread or communicator, or to
// all objects with the same `key`.
template <typename Key>
void Explorer::walk(std::uint64_t seed, const Key& key) {
  Random random(seed);
  const std::uint64_t salt = random.next();
  std::uint64_t lowered = 0;
  std::vector<std::pair<Event, std::uint64_t>> late;
  const auto priority = [&](const Event& event) {
    for (const auto& [other, value] : late) {
      if (other == event) return value;
    }
    return splitmix(salt ^ (static_cast<std::uint64_t>(event.kind) << 40 | key(event))) | 1u << 16;
  };
  const std::uint64_t between = 1 + random.next() % (2 * plan_.op_count + 1);
  std::uint64_t next_change = 1 + random.next() % between;
  for (std::uint64_t steps = 0; !stepper_.pending().empty() && !out_of_budget(); ++steps) {
    std::uint32_t best = 0;
    std::uint64_t highest = 0;
    for (std::uint32_t i = 0; i < stepper_.pending().size(); ++i) {
      const std::uint64_t value = priority(stepper_.pending()[i]);
      if (value >= highest) {
        highest = value;
        best = i;
      }
    }
    if (steps == next_change && late.size() < 8) {
      late.emplace_back(stepper_.pending()[best], 8 - ++lowered);
      next_change += 1 + random.next() % between;
      continue;
    }
    step(best);
  }
  if (stepper_.pending().empty()) note_end();
  stepper_.restore(begin_);
  order_.clear();
}

// Returns the index of each of `parts` within its rank.
template <typename Parts>
std::vector<std::uint32_t> places_in_rank(const Parts& parts) {
  std::map<std::uint32_t, std::uint32_t> counts;
  std::vector<std::uint32_t> places;
  for (const auto& part : parts) places.push_back(counts[part.rank.value]++);
  return places;
}

// Tries interleavings in which all ranks prefer the same streams and threads.
void Explorer::walk_alike() {
  constexpr std::uint32_t kWalks = 16;
  const std::vector<std::uint32_t> streams = places_in_rank(plan_.streams);
  const std::vector<std::uint32_t> threads = places_in_rank(plan_.threads);
  const auto key = [&](const Event& event) {
    switch (event.kind) {
      case EventKind::kOpStarts:
      case EventKind::kOpEnds:
        return streams[event.target];
      case EventKind::kThreadWakes:
        return threads[event.target];
      default:
        return event.target;
    }
  };
  for (std::uint32_t seed = 0; seed < kWalks && !out_of_budget(); ++seed) {
    if (result_.completion_found) return;
    walk(seed, key);
  }
}

void Explorer::follow_all() {
  for (;;) {
    if (out_of_budget()) return;
    const bool branched = advance();
    if (!branched && !turn_back()) return;
    BranchPoint& branch_point = branch_points_[branch_count_ - 1];
    if (!branched) {
      stepper_.restore(branch_point.moment);
      order_.resize(branch_point.depth);
    }
    step(branch_point.ways[branch_point.next++]);
  }
}

// Continues to the next new branch point. Returns false if none is left on this path.
bool Explorer::advance() {
  while (!stepper_.pending().empty()) {
    if (!choose()) return branch();
    step(ways_.front());
    if (out_of_budget()) return false;
  }
  note_end();
  return false;
}

// Sets `ways_` to the events to try next. Returns true if there is only one.
bool Explorer::choose() {
  if (stepper_.pending().size() == 1) {
    ways_.assign(1, 0);
    return true;
  }
  if (options_.reduce) {
    sets_.choose(stepper_.state(), stepper_.pending(), ways_);
  } else {
    ways_.resize(stepper_.pending().size());
    std::iota(ways_.begin(), ways_.end(), 0u);
  }
  return ways_.size() == 1;
}

bool Explorer::branch() {
  const StateKey key =
      state_key(plan_, stepper_.state(), stepper_.pending(), stepper_.mismatched());
  if (!seen_.insert(key)) return false;
  if (branch_points_.size() == branch_count_) branch_points_.emplace_back();
  BranchPoint& branch_point = branch_points_[branch_count_++];
  stepper_.save(branch_point.moment);
  branch_point.ways = ways_;
  branch_point.next = 0;
  branch_point.depth = order_.size();
  return true;
}

// Goes back to the last branch point with an untried event. Returns false if none is left.
bool Explorer::turn_back() {
  while (branch_count_ > 0 &&
         branch_points_[branch_count_ - 1].next == branch_points_[branch_count_ - 1].ways.size()) {
    --branch_count_;
  }
  return branch_count_ > 0;
}

// Derives an answer about all interleavings from the run with the plan's own times.
Exploration judge(const Outcome& usual, const char* timing) {
  Exploration result;
  result.timing = timing;
  result.orders = 1;
  result.steps = usual.events;
  result.stopped = usual.end == RunEnd::kInterrupted;
  if (usual.end == RunEnd::kInterrupted || usual.end == RunEnd::kTimeLimit) return result;
  result.completion_found = usual.completed();
  result.hang_found = !result.completion_found;
  if (timing == nullptr) {
    result.method = Method::kOneRun;
    result.answer = !result.hang_found                ? Answer::kProved
                    : usual.end == RunEnd::kCompleted ? Answer::kMismatch
                                                      : Answer::kHangCertain;
  } else if (result.hang_found) {
    result.answer = Answer::kHangPossible;
  }
  return result;
}

}  // namespace

Exploration explore_as_planned(const Plan& plan, const ExploreOptions& options,
                               const Outcome* usual) {
  const char* const timing = options.reduce ? determinacy_obstacle(plan) : "not asked";
  if (timing == nullptr || plan.faulty) {
    if (usual != nullptr) return judge(*usual, timing);
    RunOptions run_options;
    run_options.stop = options.stop;
    return judge(run(plan, run_options), timing);
  }
  Exploration result = Explorer(plan, options).run();
  result.timing = timing;
  return result;
}

}  // namespace pipesim::sim
