#include "app/input/act_query.hpp"

#include <vector>

#include <fmt/format.h>

#include "models/graph/whole_number.hpp"

namespace pipesim::app {

std::optional<ActQuery> parse_act(std::string_view text) {
  constexpr std::string_view kRank = "rank";
  if (text.substr(0, kRank.size()) != kRank) return std::nullopt;
  text.remove_prefix(kRank.size());
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::size_t end_of_rank = text.find_first_of(": ");
  const std::size_t hash = text.rfind('#');
  if (end_of_rank == std::string_view::npos || hash == std::string_view::npos ||
      hash <= end_of_rank + 1) {
    return std::nullopt;
  }
  const auto rank = models::whole_number<std::uint32_t>(text.substr(0, end_of_rank));
  const auto act = models::whole_number<std::uint32_t>(text.substr(hash + 1));
  if (!rank || !act || *act == 0) return std::nullopt;
  return ActQuery{*rank, std::string(text.substr(end_of_rank + 1, hash - end_of_rank - 1)), *act};
}

std::string act_query_text(const ActQuery& query) {
  return fmt::format("rank {} {}#{}", query.rank, query.op, query.act);
}

std::optional<FoundAct> find_act(const ActQuery& query, const models::TaskGraph& graph,
                                 const models::Lowered& lowered, std::string_view who,
                                 models::Diagnostics& diagnostics) {
  for (const sim::ActorId id : ids_of(lowered.plan.actors)) {
    const sim::Actor& actor = lowered.plan.actors[id];
    if (actor.rank.value != query.rank) continue;
    const std::uint32_t k = models::find_act(graph.actors[lowered.actor_template[id]], actor.acts,
                                             {query.op, query.act});
    if (k == models::kNoIndex) continue;
    if (k < actor.acts) return FoundAct{id, k};
    diagnostics.error({}, models::Code::kUnknownOp,
                      fmt::format("{}: rank {} {} runs {} times, so there is no #{}", who,
                                  query.rank, query.op, actor.acts, query.act));
    return std::nullopt;
  }
  if (query.rank >= graph.ranks) {
    diagnostics.error(
        {}, models::Code::kUnknownRank,
        fmt::format("{}: there is no rank {}, only 0 to {}", who, query.rank, graph.ranks - 1));
    return std::nullopt;
  }
  models::Diagnostic& error = diagnostics.error(
      {}, models::Code::kUnknownOp, fmt::format("{}: there is no {}", who, act_query_text(query)));
  std::vector<std::string> names;
  for (const models::ActorTemplate& actor : graph.actors) {
    if (actor.on.contains(query.rank)) names.push_back(actor.name);
  }
  models::suggest_name(error, query.op, names);
  return std::nullopt;
}

}  // namespace pipesim::app
