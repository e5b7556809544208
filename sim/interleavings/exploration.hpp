// All orders of a plan: whether any of them hangs (docs/explanation/check.md).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine.hpp"
#include "sim/event.hpp"
#include "sim/plan.hpp"

namespace pipesim::sim {

/// How an order ends.
enum class OrderEnd : std::uint8_t { kCompletes, kHangs };

enum class Answer : std::uint8_t {
  kProved,        // no order hangs
  kHangPossible,  // one does; others complete, or it is not known whether they do
  kHangCertain,   // all do
  kUndecided,     // none was found that does, and not all were seen
};

/// Which way the answer was found.
enum class Method : std::uint8_t {
  kOneRun,       // timing decides nothing in this plan: one order shows all
  kNoCircle,     // no circle of waits is possible (see wait_circles)
  kExploration,  // all orders that differ in effect were followed
  kSearch,       // not all were, since the answer was known or the budget ran out
};

/// How far an exploration has come, for another thread to look at.
struct ExploreProgress {
  std::atomic<std::uint64_t> states{0};
  std::atomic<std::uint64_t> steps{0};
};

struct ExploreOptions {
  std::uint64_t max_states = 200'000;  // states with more than one way on that are remembered
  std::uint64_t max_steps = 100'000'000;
  std::uint32_t walks = 64;  // random orders that are tried first
  // For tests: without, all orders are followed, or at least those of steps that do not disturb
  // each other, and nothing is known beforehand.
  bool reduce = true;
  bool look_for_circles = true;
  const std::atomic<bool>* stop = nullptr;  // looked at now and then; true ends the exploration
  ExploreProgress* progress = nullptr;      // brought up to date now and then
};

struct Exploration {
  Answer answer = Answer::kUndecided;
  Method method = Method::kSearch;
  const char* timing = nullptr;  // why timing may decide something (see timing_obstacle)
  bool stopped = false;          // by ExploreOptions::stop
  bool hang_found = false;
  bool completion_found = false;
  std::vector<Event> hang;    // the shortest order found that hangs: for RunOptions::order
  std::uint64_t states = 0;   // states with more than one way on, as remembered
  std::uint64_t steps = 0;    // events that happened, all orders together
  std::uint64_t orders = 0;   // orders that were followed to their end
  std::uint64_t longest = 0;  // the most steps of an order
};

/// Whether `plan` can hang, and whether it must. The answer is for all timings: each act, launch,
/// wait for outside input and wake of a thread may take any finite time. Guards are left out, since
/// any of them can be outlasted; a plan with other faults is answered by one run, in its own times,
/// which can but show a hang. Cost: that of one run where timing decides nothing; otherwise up to
/// the budget of `options`. Each state takes 16 bytes, and each that is on the way to the present
/// one a copy of the run's state. `usual` is
/// the run in the plan's own times, if the caller has it.
Exploration explore(const Plan& plan, const ExploreOptions& options = {},
                    const Outcome* usual = nullptr);

}  // namespace pipesim::sim
