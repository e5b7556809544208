#include "features/diagnose/end_place.hpp"

#include <algorithm>
#include <utility>

#include "models/result/end_names.hpp"
#include "models/result/hang_signature.hpp"

namespace pipesim::models {
EndPlace end_place(const Diagnosis& diagnosis, std::string name) {
  EndPlace place;
  place.name = std::move(name);
  place.verdict = verdict_name(diagnosis.explanation.verdict);
  place.words = EndWords::kCalls;
  place.blamed = blamed_ranks(diagnosis.explanation);
  for (const RankStanding& rank : diagnosis.ranks) {
    place.at.push_back(rank.at ? rank.at->name : "");
    place.waits.push_back(rank.pending > 0);
    place.known.push_back(rank.has_dump);
  }
  return place;
}

EndPlace end_place(const Explanation& explanation, std::string name) {
  EndPlace place;
  place.name = std::move(name);
  place.verdict = verdict_name(explanation.verdict);
  place.blamed = blamed_ranks(explanation);
  for (const RankReport& rank : explanation.ranks) {
    const auto stuck = std::find_if(rank.progress.begin(), rank.progress.end(),
                                    [](const Progress& it) { return it.stuck.has_value(); });
    place.at.push_back(stuck == rank.progress.end() ? "" : stuck->stuck->name);
    place.waits.push_back(stuck != rank.progress.end() && !rank.dead);
    place.known.push_back(true);
  }
  return place;
}

// Describes each rank by the last op that each of its threads entered.
EndPlace end_place(const LaunchLog& log, const LaunchLogDiagnosis& diagnosis, std::string name) {
  EndPlace place;
  place.name = std::move(name);
  place.words = EndWords::kLaunches;
  const sim::Verdict verdict = diagnosis.explanation.verdict;
  place.verdict = verdict == sim::Verdict::kLimit ? "undecided" : verdict_name(verdict);
  place.decided = verdict != sim::Verdict::kLimit;
  place.blamed.insert(diagnosis.roots.begin(), diagnosis.roots.end());
  for (const LoggedStanding& rank : diagnosis.ranks) {
    std::set<std::string> at;
    bool waits = false;
    for (const LoggedThread& thread : log.ranks[rank.rank].threads) {
      at.insert(thread.last_entered.substr(0, thread.last_entered.rfind('#')));
      waits = waits || !thread.open.empty();
    }
    for (const LoggedProgress& progress : rank.progress) {
      waits = waits || progress.rounds < progress.expected;
    }
    std::string text;
    for (const std::string& op : at) text += (text.empty() ? "" : ", ") + op;
    place.at.push_back(std::move(text));
    place.waits.push_back(waits);
    place.known.push_back(rank.has_log);
  }
  return place;
}

EndPlace end_place(const StackDiagnosis& diagnosis, std::string name) {
  EndPlace place;
  place.name = std::move(name);
  place.words = EndWords::kStacks;
  place.verdict = verdict_name(diagnosis.verdict);
  place.decided = diagnosis.verdict == StackVerdict::kStragglers;
  place.blamed.insert(diagnosis.roots.begin(), diagnosis.roots.end());
  std::uint32_t ranks = 0;
  for (const StackGroup& group : diagnosis.groups) {
    ranks = std::max(ranks, group.ranks.empty() ? 0 : group.ranks.back() + 1);
  }
  place.at.resize(ranks);
  place.waits.resize(ranks);
  place.known.resize(ranks);
  for (const StackGroup& group : diagnosis.groups) {
    const std::string frame = group.frames.empty() ? "" : group.frames.front().function;
    const std::string& at = group.op.empty() ? frame : group.op;
    // An idle thread of an actor runtime does not show what its rank waits for.
    const bool says = group.place != WaitPlace::kMessages;
    for (const std::uint32_t rank : group.ranks) {
      place.at[rank] = place.at[rank] + (place.at[rank].empty() ? "" : ", ") + at;
      place.waits[rank] = place.waits[rank] || waits_for_others(group.place);
      place.known[rank] = place.known[rank] || says;
    }
  }
  return place;
}

EndDifference compare(const EndPlace& a, const EndPlace& b) {
  EndDifference difference;
  const bool same_words = a.words == b.words;
  const bool of_stacks = a.words == EndWords::kStacks || b.words == EndWords::kStacks;
  difference.verdict = (same_words || !of_stacks) && a.verdict != b.verdict;
  difference.blamed = (same_words || (a.decided && b.decided)) && a.blamed != b.blamed;
  difference.ranks = a.at.size() != b.at.size();
  for (std::size_t i = 0; i < std::min(a.at.size(), b.at.size()); ++i) {
    if (!a.known[i] || !b.known[i]) continue;
    const auto rank = static_cast<std::uint32_t>(i);
    // The two ends can describe a blamed rank differently: a failed device, or a dead rank.
    const bool blamed = a.blamed.count(rank) > 0 && b.blamed.count(rank) > 0;
    if (a.waits[i] != b.waits[i]) {
      if (!blamed) difference.waits.push_back(rank);
    } else if (same_words && a.at[i] != b.at[i]) {
      difference.at.push_back(rank);
    }
  }
  return difference;
}

}  // namespace pipesim::models
