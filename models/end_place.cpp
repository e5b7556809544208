#include "models/end_place.hpp"

#include <algorithm>
#include <utility>

#include "models/expectation.hpp"

namespace pipesim::models {
namespace {

void add_blamed(const Explanation& explanation, EndPlace& place) {
  for (const Wait& wait : explanation.cycle) place.blamed.insert(wait.from.rank);
  if (!place.blamed.empty()) return;
  for (const Root& root : explanation.roots) {
    if (root.party.kind == sim::WaitNodeKind::kRank) place.blamed.insert(root.party.rank);
  }
  for (const Misfit& misfit : explanation.mismatches) {
    place.blamed.insert(misfit.ranks.begin(), misfit.ranks.end());
  }
}

}  // namespace

EndPlace end_place(const Diagnosis& diagnosis, std::string name) {
  EndPlace place;
  place.name = std::move(name);
  place.verdict = verdict_name(diagnosis.explanation.verdict);
  place.named = true;
  add_blamed(diagnosis.explanation, place);
  for (const RankStanding& rank : diagnosis.ranks) {
    place.at.push_back(rank.at ? rank.at->op : "");
    place.waits.push_back(rank.pending > 0);
    place.known.push_back(rank.has_dump);
  }
  return place;
}

EndPlace end_place(const Explanation& explanation, std::string name) {
  EndPlace place;
  place.name = std::move(name);
  place.verdict = verdict_name(explanation.verdict);
  add_blamed(explanation, place);
  for (const RankReport& rank : explanation.ranks) {
    const auto stuck = std::find_if(rank.progress.begin(), rank.progress.end(),
                                    [](const Progress& it) { return it.stuck.has_value(); });
    place.at.push_back(stuck == rank.progress.end() ? "" : stuck->stuck->op);
    place.waits.push_back(stuck != rank.progress.end() && !rank.dead);
    place.known.push_back(true);
  }
  return place;
}

EndDifference compare(const EndPlace& a, const EndPlace& b) {
  EndDifference difference;
  difference.verdict = a.verdict != b.verdict;
  difference.blamed = a.blamed != b.blamed;
  difference.ranks = a.at.size() != b.at.size();
  const bool tell_alike = a.named == b.named;
  for (std::size_t i = 0; i < std::min(a.at.size(), b.at.size()); ++i) {
    if (!a.known[i] || !b.known[i]) continue;
    const auto rank = static_cast<std::uint32_t>(i);
    // Of who is to blame the two may say it in other ways: a device that failed, a rank that died.
    const bool blamed = a.blamed.count(rank) > 0 && b.blamed.count(rank) > 0;
    if (a.waits[i] != b.waits[i]) {
      if (!blamed) difference.waits.push_back(rank);
    } else if (tell_alike && a.at[i] != b.at[i]) {
      difference.at.push_back(rank);
    }
  }
  return difference;
}

}  // namespace pipesim::models
