// Matchers for Catch2, versions 2 and 3.
//
//   REQUIRE_THAT(run(graph), completes());
//   CHECK_THAT(run(graph), deadlocks_through("gather") && cycle_has(6));
//   CHECK_THAT(check(graph), never_hangs());
//   CHECK_THAT(graph, says_the_same_as(expected));
//
// If a matcher fails, the test shows the report of the run, or the difference of the graphs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#if __has_include(<catch2/matchers/catch_matchers.hpp>)
#include <catch2/catch_tostring.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include "pipesim/check.hpp"
#include "pipesim/graph.hpp"
#include "pipesim/run.hpp"

namespace pipesim {

#if __has_include(<catch2/matchers/catch_matchers.hpp>)
template <typename Of>
using MatcherBase = Catch::Matchers::MatcherBase<Of>;
#else
template <typename Of>
using MatcherBase = Catch::MatcherBase<Of>;
#endif

/// A matcher for a Result, made from a function.
template <typename Holds>
class ResultMatcher : public MatcherBase<Result> {
 public:
  ResultMatcher(Holds holds, std::string description)
      : holds_(std::move(holds)), description_(std::move(description)) {}

  bool match(const Result& result) const override { return holds_(result); }
  std::string describe() const override { return description_; }

 private:
  Holds holds_;
  std::string description_;
};

/// Matches a run that ended with this verdict.
inline auto has_verdict(Verdict verdict) {
  return ResultMatcher([verdict](const Result& result) { return result.verdict() == verdict; },
                       "has the verdict " + verdict_name(verdict));
}

/// Matches a run in which every op completed.
inline auto completes() {
  return ResultMatcher([](const Result& result) { return result.completed(); }, "completes");
}

/// Matches a run whose ops wait for one another in a cycle.
inline auto deadlocks() {
  return ResultMatcher([](const Result& result) { return result.verdict() == Verdict::kDeadlock; },
                       "deadlocks");
}

/// Matches a deadlock whose shortest cycle contains all of `ops`, in any order.
template <typename... Ops>
auto deadlocks_through(const Ops&... ops) {
  std::vector<std::string> names = {std::string(ops)...};
  std::string description = "deadlocks through";
  for (const std::string& name : names) description += " '" + name + "'";
  return ResultMatcher(
      [names = std::move(names)](const Result& result) {
        return result.verdict() == Verdict::kDeadlock &&
               std::all_of(names.begin(), names.end(), [&](const std::string& name) {
                 return result.cycle_goes_through(name);
               });
      },
      std::move(description));
}

/// Matches a run whose shortest cycle has `waits` waits.
inline auto cycle_has(std::size_t waits) {
  return ResultMatcher([waits](const Result& result) { return result.cycle().size() == waits; },
                       "has a cycle of " + std::to_string(waits) + " waits");
}

/// Matches a run with waits that end at this rank, which is dead or missing.
inline auto waits_for_rank(std::uint32_t rank) {
  return ResultMatcher(
      [rank](const Result& result) {
        return std::any_of(result.roots().begin(), result.roots().end(),
                           [rank](const Root& root) { return root.rank == rank; });
      },
      "has acts that wait for rank " + std::to_string(rank));
}

/// Matches a run that completes in exactly `time`, in simulated time.
inline auto takes(std::chrono::nanoseconds time) {
  return ResultMatcher(
      [time](const Result& result) { return result.completed() && result.time() == time; },
      "completes in exactly " + std::to_string(time.count()) + " ns");
}

/// Matches a run that completes in at most `time`, in simulated time.
inline auto takes_at_most(std::chrono::nanoseconds time) {
  return ResultMatcher(
      [time](const Result& result) { return result.completed() && result.time() <= time; },
      "completes in at most " + std::to_string(time.count()) + " ns");
}

/// See never_hangs().
class NeverHangs : public MatcherBase<CheckResult> {
 public:
  bool match(const CheckResult& result) const override { return result.proved(); }
  std::string describe() const override { return "never hangs, in any interleaving"; }
};

/// Matches a graph for which `pipesim check` answers "proved": no interleaving hangs. Does not
/// match if the answer is undecided.
inline NeverHangs never_hangs() { return {}; }

/// See says_the_same_as().
class SaysTheSame : public MatcherBase<Graph> {
 public:
  explicit SaysTheSame(Graph expected) : expected_(std::move(expected)) {}

  bool match(const Graph& graph) const override {
    found_ = difference(expected_, graph);
    return graph == expected_;
  }
  std::string describe() const override {
    if (found_.empty()) return "says the same as the expected graph";
    return "says the same as the expected graph; it differs:\n" + found_;
  }

 private:
  Graph expected_;
  mutable std::string found_;  // difference of the last graph matched
};

/// Matches an equal graph (==). If the graphs differ, the test shows the difference.
inline SaysTheSame says_the_same_as(Graph expected) { return SaysTheSame(std::move(expected)); }

}  // namespace pipesim
