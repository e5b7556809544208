// The arrows of a picture of stages, and those that the plan has.
#pragma once

#include <cstdint>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "models/lowering/lowering.hpp"
#include "models/lowering/rank_classes.hpp"

namespace pipesim::testing {

using Arrows = std::set<std::pair<int, int>>;

/// From and to which class of ranks the arrows of DOT text lead.
inline Arrows arrows_in(const std::string& dot) {
  static const std::regex kArrow("\"class ([0-9]+)\" -> \"class ([0-9]+)\"");
  Arrows arrows;
  for (std::sregex_iterator found(dot.begin(), dot.end(), kArrow), end; found != end; ++found) {
    arrows.emplace(std::stoi((*found)[1]), std::stoi((*found)[2]));
  }
  return arrows;
}

/// The same from the sends and the edges of the plan: a send says which member of its communicator
/// it goes to, whatever its channel says.
inline Arrows arrows_of(const models::Lowered& lowered) {
  const sim::Plan& plan = lowered.plan;
  const auto classes = models::rank_classes(lowered, models::RankSet::range(0, plan.rank_count));
  std::map<std::uint32_t, int> class_of;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (const std::uint32_t rank : classes[i]) class_of[rank] = static_cast<int>(i);
  }
  Arrows arrows;
  for (const sim::Call& call : plan.calls) {
    if (call.kind == sim::CallKind::kCollective) continue;
    int own = class_of.at(plan.actors[call.actor].rank.value);
    int other = class_of.at(plan.communicator_ranks[call.peer].value);
    if (call.kind == sim::CallKind::kReceive) std::swap(own, other);
    arrows.emplace(own, other);
  }
  for (const sim::Edge& edge : plan.edges) {
    const auto from = plan.actors[plan.registers[edge.source].producer].rank.value;
    const auto to = plan.actors[edge.consumer].rank.value;
    if (from != to) arrows.emplace(class_of.at(from), class_of.at(to));
  }
  return arrows;
}

}  // namespace pipesim::testing
