// The arrows of a picture of stages, and those that the plan has.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>

#include "models/lowering/lowering.hpp"

namespace pipesim::testing {

/// From the name of a box to that of another.
using Arrows = std::set<std::pair<std::string, std::string>>;

/// Those of an SVG, by what the mouse says on them.
inline Arrows arrows_in(const std::string& svg) {
  static const std::regex kArrow("<title>(ranks? [^:<]*?) to (ranks? [^:<]*?): ");
  Arrows arrows;
  for (std::sregex_iterator found(svg.begin(), svg.end(), kArrow), end; found != end; ++found) {
    arrows.emplace((*found)[1], (*found)[2]);
  }
  return arrows;
}

/// The box of each rank, as far as `arrows` name it: "ranks 0-4, 6 (x6)". Nothing where a name is
/// shortened.
inline std::optional<std::map<std::uint32_t, std::string>> boxes_in(const Arrows& arrows) {
  static const std::regex kRange("([0-9]+)(-([0-9]+))?");
  std::map<std::uint32_t, std::string> boxes;
  for (const auto& arrow : arrows) {
    for (const std::string& name : {arrow.first, arrow.second}) {
      if (name.find("...") != std::string::npos) return std::nullopt;
      const std::string list = name.substr(0, name.find(" ("));
      for (std::sregex_iterator found(list.begin(), list.end(), kRange), end; found != end;
           ++found) {
        const unsigned long first = std::stoul((*found)[1]);
        const unsigned long last = (*found)[3].matched ? std::stoul((*found)[3]) : first;
        for (unsigned long rank = first; rank <= last; ++rank) {
          boxes[static_cast<std::uint32_t>(rank)] = name;
        }
      }
    }
  }
  return boxes;
}

/// What `arrows` are to be, from the sends and the edges of the plan: a send says which member of
/// its communicator it goes to, whatever its channel says. Nothing where a name is shortened.
inline std::optional<Arrows> arrows_of(const models::Lowered& lowered, const Arrows& arrows) {
  const auto boxes = boxes_in(arrows);
  if (!boxes) return std::nullopt;
  const sim::Plan& plan = lowered.plan;
  const auto box_of = [&](std::uint32_t rank) {
    const auto found = boxes->find(rank);
    return found == boxes->end() ? "no box for rank " + std::to_string(rank) : found->second;
  };
  Arrows result;
  const auto add = [&](std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    // Ranks that only talk to others of their box need no arrow.
    if (boxes->count(from) == 0 && boxes->count(to) == 0) return;
    if (box_of(from) != box_of(to)) result.emplace(box_of(from), box_of(to));
  };
  for (const sim::Call& call : plan.calls) {
    // A recv whose send is missing gets nothing.
    if (call.kind != sim::CallKind::kSend) continue;
    add(plan.actors[call.actor].rank.value, plan.communicator_ranks[call.peer].value);
  }
  for (const sim::Edge& edge : plan.edges) {
    add(plan.actors[plan.registers[edge.source].producer].rank.value,
        plan.actors[edge.consumer].rank.value);
  }
  return result;
}

}  // namespace pipesim::testing
