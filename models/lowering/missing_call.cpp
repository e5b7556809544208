// Search for a missing call. The search walks the calls of two ranks side by side. At a difference,
// a call that one rank makes more often in total is the missing call; otherwise the two calls are
// only in a different order. The search takes linear time and is exact within one scenario, whose
// steps have one order: the result is the shortest difference.
#include "models/lowering/missing_call.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "models/lowering/names.hpp"

namespace pipesim::models {
namespace {

// Numbers for the calls of two ranks: a call that both ranks make has one number.
class SameCalls {
 public:
  SameCalls(const TaskGraph& graph, const Lowered& lowered, const CallsOfRank& more,
            const CallsOfRank& fewer)
      : plan_(lowered.plan), names_(graph, lowered), lowered_(lowered) {
    std::set<Step> of_more = steps_of(more);
    for (const Step& step : steps_of(fewer)) {
      if (of_more.contains(step)) shared_.insert(step);
    }
    const std::set<std::string> places = places_of(more);
    for (const std::string& place : places_of(fewer)) {
      if (places.contains(place)) shared_places_.insert(place);
    }
  }

  std::vector<std::uint32_t> numbers(const CallsOfRank& calls) {
    std::vector<std::uint32_t> result;
    result.reserve(calls.size());
    for (const CallOfRank& made : calls) {
      const auto [found, is_new] = of_call_.try_emplace(made.call.value, 0);
      if (is_new) found->second = number(made.call);
      result.push_back(found->second);
    }
    return result;
  }

  std::size_t count() const { return known_.size(); }

 private:
  using Step = std::pair<std::uint32_t, std::uint32_t>;  // template, and index of its call
  // The step, if both ranks have it; else the operation, its arguments and, if both ranks make
  // calls there, the place.
  using Key =
      std::tuple<Step, std::uint32_t, std::uint32_t, std::uint32_t, std::int64_t, std::string>;

  Step step_of(sim::CallId call) const {
    const sim::ActorId actor = plan_.calls[call].actor;
    return {lowered_.actor_template[actor], call.value - plan_.actors[actor].calls};
  }
  const std::string& place_of(sim::CallId call) const {
    return names_.actor(plan_.calls[call].actor).step->at;
  }
  std::set<Step> steps_of(const CallsOfRank& calls) const {
    std::set<Step> steps;
    for (const CallOfRank& made : calls) steps.insert(step_of(made.call));
    return steps;
  }
  std::set<std::string> places_of(const CallsOfRank& calls) const {
    std::set<std::string> places;
    for (const CallOfRank& made : calls) {
      if (!shared_.contains(step_of(made.call))) places.insert(place_of(made.call));
    }
    return places;
  }
  std::uint32_t number(sim::CallId call) {
    const Step step = step_of(call);
    Key key;
    if (shared_.contains(step)) {
      key = {step, 0, 0, 0, 0, ""};
    } else {
      const sim::Signature& does = plan_.calls[call].signature;
      const std::string& place = place_of(call);
      key = {{kNoIndex, 0}, does.operation, does.root,
             does.type,     does.count,     shared_places_.contains(place) ? place : std::string()};
    }
    return known_.try_emplace(std::move(key), static_cast<std::uint32_t>(known_.size()))
        .first->second;
  }

  const sim::Plan& plan_;
  const Names names_;
  const Lowered& lowered_;
  std::set<Step> shared_;
  std::set<std::string> shared_places_;
  std::map<Key, std::uint32_t> known_;
  std::map<std::uint32_t, std::uint32_t> of_call_;
};

}  // namespace

std::optional<MissingCall> missing_call(const TaskGraph& graph, const Lowered& lowered,
                                        const CallsOfRank& more, const CallsOfRank& fewer) {
  if (more.size() <= fewer.size()) return std::nullopt;
  SameCalls same(graph, lowered, more, fewer);
  const std::vector<std::uint32_t> a = same.numbers(more);
  const std::vector<std::uint32_t> b = same.numbers(fewer);
  std::vector<std::int64_t> surplus(same.count(), 0);
  for (const std::uint32_t number : a) ++surplus[number];
  for (const std::uint32_t number : b) --surplus[number];
  std::size_t j = 0;
  for (std::size_t i = 0; i < a.size();) {
    const bool goes_on = j < b.size();
    if (goes_on && a[i] != b[j] && surplus[a[i]] <= 0 && surplus[b[j]] < 0) {
      ++j;  // a call that the rank of `more` does not make
      continue;
    }
    if ((!goes_on || a[i] != b[j]) && surplus[a[i]] > 0) return MissingCall{i, j};
    ++i;
    if (goes_on) ++j;
  }
  return std::nullopt;
}

CollectiveCalls::CollectiveCalls(const TaskGraph& graph, const Lowered& lowered)
    : graph_(graph),
      lowered_(lowered),
      calls_(lowered.plan.communicators.size()),
      threads_(lowered.plan.rank_count) {
  const sim::Plan& plan = lowered.plan;
  for (const sim::CallId id : ids_of(plan.calls)) {
    const sim::Call& call = plan.calls[id];
    if (call.kind == sim::CallKind::kCollective) calls_[call.communicator.value].push_back(id);
  }
  for (const sim::ThreadId id : ids_of(plan.threads)) {
    threads_[plan.threads[id].rank.value].push_back(id);
  }
}

CallsOfRank CollectiveCalls::of(sim::CommunicatorId communicator, std::uint32_t rank) const {
  const sim::Plan& plan = lowered_.plan;
  const Names names(graph_, lowered_);
  CallsOfRank result;
  std::map<std::uint32_t, std::uint32_t> ops;  // keyed by actor
  for (const sim::ThreadId id : threads_[rank]) {
    const sim::Thread& thread = plan.threads[id];
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      const sim::ActorId actor = plan.op(thread, i);
      const auto calls = plan.calls_of(actor);
      if (calls.begin() == calls.end() || names.actor(actor).step->implied) continue;
      const std::uint32_t k = ops[actor.value]++;
      for (const sim::CallId call : calls) {
        const bool meant = plan.calls[call].communicator == communicator &&
                           plan.calls[call].kind == sim::CallKind::kCollective;
        if (meant) result.push_back({call, k});
      }
    }
  }
  return result;
}

}  // namespace pipesim::models
