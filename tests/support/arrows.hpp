// Reads the arrows of pictures, and computes the expected arrows from the plan.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/graph/pipeline.hpp"
#include "models/graph/task_graph.hpp"
#include "models/lowering/lowering.hpp"

namespace pipesim::testing {

/// Pairs of box names: the sender's box and the receiver's box.
using Arrows = std::set<std::pair<std::string, std::string>>;

/// Returns the arrows between stages in an SVG, from their tooltips.
inline Arrows arrows_in(const std::string& svg) {
  static const std::regex kArrow("<title>((?:rank|stage)s? [^:<]*?) to ([^:<]*?): ");
  Arrows arrows;
  for (std::sregex_iterator found(svg.begin(), svg.end(), kArrow), end; found != end; ++found) {
    arrows.emplace((*found)[1], (*found)[2]);
  }
  return arrows;
}

/// Returns the ranks in a name such as "ranks 0-4, 6 (x6)"; empty if the name is shortened.
inline std::vector<std::uint32_t> numbers_of(const std::string& name) {
  static const std::regex kRange("([0-9]+)(-([0-9]+))?");
  std::vector<std::uint32_t> numbers;
  if (name.find("...") != std::string::npos) return numbers;
  const std::string list = name.substr(0, name.find(" ("));
  for (std::sregex_iterator found(list.begin(), list.end(), kRange), end; found != end; ++found) {
    const unsigned long first = std::stoul((*found)[1]);
    const unsigned long last = (*found)[3].matched ? std::stoul((*found)[3]) : first;
    for (unsigned long number = first; number <= last; ++number) {
      numbers.push_back(static_cast<std::uint32_t>(number));
    }
  }
  return numbers;
}

/// Returns the box of each rank, or nullopt if a name is shortened.
inline std::optional<std::map<std::uint32_t, std::string>> boxes_in(const std::string& svg,
                                                                    std::uint32_t ranks) {
  static const std::regex kName(">(ranks? [0-9][^<:]*)<");
  std::map<std::uint32_t, std::string> boxes;
  for (std::sregex_iterator found(svg.begin(), svg.end(), kName), end; found != end; ++found) {
    for (const std::uint32_t rank : numbers_of((*found)[1])) boxes[rank] = (*found)[1];
  }
  if (boxes.size() != ranks) return std::nullopt;
  return boxes;
}

/// Calls `send(sender, receiver rank)` for each send, and `edge` for each edge between two actors.
/// The peer of a send is an index into the plan's `communicator_ranks`.
template <typename Sends, typename Edges>
void each_transfer(const sim::Plan& plan, const Sends& send, const Edges& edge) {
  for (const sim::Call& call : plan.calls) {
    // Skips recvs: without a send, nothing is transferred.
    if (call.kind != sim::CallKind::kSend) continue;
    send(call.actor, plan.communicator_ranks[call.peer].value);
  }
  for (const sim::Edge& each : plan.edges) {
    edge(plan.registers[each.source].producer, each.consumer);
  }
}

/// Returns the expected arrows between the ranks of `svg`, or nullopt if a name is shortened.
inline std::optional<Arrows> arrows_of(const models::Lowered& lowered, const std::string& svg) {
  const sim::Plan& plan = lowered.plan;
  const auto boxes = boxes_in(svg, plan.rank_count);
  if (!boxes) return std::nullopt;
  const auto rank_of = [&](sim::ActorId id) { return plan.actors[id].rank.value; };
  Arrows result;
  const auto add = [&](std::uint32_t from, std::uint32_t to) {
    if (boxes->at(from) != boxes->at(to)) result.emplace(boxes->at(from), boxes->at(to));
  };
  each_transfer(
      plan, [&](sim::ActorId from, std::uint32_t to) { add(rank_of(from), to); },
      [&](sim::ActorId from, sim::ActorId to) { add(rank_of(from), rank_of(to)); });
  return result;
}

/// Pairs of rows of a pipeline schedule: the sender's row and the receiver's row.
using RowArrows = std::set<std::pair<std::uint32_t, std::uint32_t>>;

inline RowArrows row_arrows_in(const models::Pipeline& pipeline, const Arrows& stages) {
  RowArrows rows;
  for (const auto& [from, to] : stages) {
    for (const std::uint32_t a : numbers_of(from)) {
      for (const std::uint32_t b : numbers_of(to)) {
        const std::pair of(pipeline.schedule.rank_of_stage[a], pipeline.schedule.rank_of_stage[b]);
        if (of.first != of.second) rows.insert(of);
      }
    }
  }
  return rows;
}

inline RowArrows row_arrows_of(const models::Pipeline& pipeline, const sim::Plan& plan) {
  RowArrows rows;
  const auto add = [&](std::uint32_t from, std::uint32_t to) {
    const std::pair of(pipeline.row_of(from), pipeline.row_of(to));
    if (of.first != of.second) rows.insert(of);
  };
  const auto rank_of = [&](sim::ActorId id) { return plan.actors[id].rank.value; };
  each_transfer(
      plan, [&](sim::ActorId from, std::uint32_t to) { add(rank_of(from), to); },
      [&](sim::ActorId from, sim::ActorId to) { add(rank_of(from), rank_of(to)); });
  return rows;
}

/// Arrows between tasks: the rank and name of the sender's task, then of the receiver's. Ranks that
/// share a frame have the frame's number.
using TaskArrows = std::set<std::tuple<std::uint32_t, std::string, std::uint32_t, std::string>>;

/// Returns the arrows between actors in DOT.
inline TaskArrows task_arrows_in(const std::string& dot) {
  static const std::regex kArrow("\"([0-9]+) ([^\"]*)\" -> \"([0-9]+) ([^\"]*)\"");
  TaskArrows arrows;
  for (std::sregex_iterator found(dot.begin(), dot.end(), kArrow), end; found != end; ++found) {
    arrows.emplace(std::stoul((*found)[1]), (*found)[2], std::stoul((*found)[3]), (*found)[4]);
  }
  return arrows;
}

/// Returns the frame of each rank in DOT, or nullopt if a name is shortened.
inline std::optional<std::map<std::uint32_t, std::uint32_t>> frames_in(const std::string& dot,
                                                                       std::uint32_t ranks) {
  static const std::regex kFrame(
      "subgraph cluster_ranks_([0-9]+) \\{[^{}]*?\\slabel=\"(ranks? [^\"]*)\"");
  std::map<std::uint32_t, std::uint32_t> frames;
  for (std::sregex_iterator found(dot.begin(), dot.end(), kFrame), end; found != end; ++found) {
    const auto frame = static_cast<std::uint32_t>(std::stoul((*found)[1]));
    for (const std::uint32_t rank : numbers_of((*found)[2])) frames[rank] = frame;
  }
  if (frames.size() != ranks) return std::nullopt;
  return frames;
}

/// Returns the expected arrows between tasks.
inline std::optional<TaskArrows> task_arrows_of(const models::TaskGraph& graph,
                                                const models::Lowered& lowered,
                                                const std::string& dot) {
  const sim::Plan& plan = lowered.plan;
  const auto frames = frames_in(dot, plan.rank_count);
  if (!frames) return std::nullopt;
  const auto frame_of = [&](sim::ActorId id) { return frames->at(plan.actors[id].rank.value); };
  const auto name_of = [&](sim::ActorId id) {
    return graph.actors[lowered.actor_template[id]].name;
  };
  TaskArrows result;
  for (const sim::Edge& edge : plan.edges) {
    const sim::ActorId from = plan.registers[edge.source].producer;
    const sim::ActorId to = edge.consumer;
    result.emplace(frame_of(from), name_of(from), frame_of(to), name_of(to));
  }
  return result;
}

/// Peers that program steps name, as (rank, "to" or "from", peer's rank).
using Peers = std::set<std::tuple<std::uint32_t, std::string, std::uint32_t>>;

/// Returns the peers in the lanes of an SVG; each lane has one rank.
inline Peers peers_in(const std::string& svg) {
  static const std::regex kText("(bold\">|>)(rank|to|from) (ranks? )?([0-9][^<]*)<");
  Peers peers;
  std::uint32_t rank = 0;
  for (std::sregex_iterator found(svg.begin(), svg.end(), kText), end; found != end; ++found) {
    const std::vector<std::uint32_t> numbers = numbers_of((*found)[4]);
    if ((*found)[1] != ">" && (*found)[2] == "rank") rank = numbers.at(0);
    if ((*found)[2] == "rank" || !(*found)[3].matched) continue;
    for (const std::uint32_t peer : numbers) peers.emplace(rank, (*found)[2], peer);
  }
  return peers;
}

/// Returns the expected peers: the receiver of each send and the sender of each recv. The peers of
/// a recv from any rank are all ranks that send to its rank.
inline Peers peers_of(const sim::Plan& plan) {
  const auto rank_of = [&](const sim::Call& call) { return plan.actors[call.actor].rank.value; };
  const auto peer_of = [&](const sim::Call& call) {
    return plan.communicator_ranks[call.peer].value;
  };
  Peers peers;
  for (const sim::Call& call : plan.calls) {
    if (call.kind == sim::CallKind::kSend) peers.emplace(rank_of(call), "to", peer_of(call));
    if (call.kind != sim::CallKind::kReceive) continue;
    if (!call.from_any()) peers.emplace(rank_of(call), "from", peer_of(call));
    if (!call.from_any()) continue;
    for (const sim::Call& send : plan.calls) {
      if (send.kind != sim::CallKind::kSend || send.communicator != call.communicator) continue;
      if (peer_of(send) == rank_of(call)) peers.emplace(rank_of(call), "from", rank_of(send));
    }
  }
  return peers;
}

}  // namespace pipesim::testing
