#include "app/input/op_query.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "formats/document/expression.hpp"
#include "models/graph/by_name.hpp"
#include "models/graph/whole_number.hpp"
#include "models/outside_text.hpp"
#include "viz/report/words.hpp"

namespace pipesim::app {

std::optional<OpQuery> parse_op(std::string_view text) {
  constexpr std::string_view kRank = "rank";
  if (text.substr(0, kRank.size()) != kRank) return std::nullopt;
  text.remove_prefix(kRank.size());
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::size_t end_of_rank = text.find_first_of(": ");
  if (end_of_rank == std::string_view::npos || end_of_rank + 1 == text.size()) return std::nullopt;
  const auto rank = models::whole_number<std::uint32_t>(text.substr(0, end_of_rank));
  const std::string_view op = text.substr(end_of_rank + 1);
  const std::size_t hash = op.rfind('#');
  if (!rank) return std::nullopt;
  if (hash == std::string_view::npos) return OpQuery{*rank, std::string(op), 0};
  const auto number = models::whole_number<std::uint32_t>(op.substr(hash + 1));
  if (hash == 0 || !number || *number == 0) return std::nullopt;
  return OpQuery{*rank, std::string(op.substr(0, hash)), *number};
}

namespace {

bool has_call(const models::ActorTemplate& actor, std::string_view name) {
  return actor.step &&
         std::any_of(actor.step->calls.begin(), actor.step->calls.end(),
                     [&](const models::CallTemplate& call) { return call.name == name; });
}

// Adds the name of the actor, and the names of the calls that the actor groups.
void add_names(const models::ActorTemplate& actor, std::vector<std::string>& names) {
  names.push_back(actor.name);
  if (!actor.step) return;
  for (const models::CallTemplate& call : actor.step->calls) {
    if (!call.name.empty()) names.push_back(call.name);
  }
}

// Whether the actor, one of its ops, or one of the calls that it groups has the queried name.
bool names(const OpQuery& query, const models::ActorTemplate& actor) {
  constexpr std::uint32_t kMaxOps = std::numeric_limits<std::uint32_t>::max();
  return actor.name == query.name || has_call(actor, query.name) ||
         (actor.numbers && models::find_op(actor, kMaxOps, {query.name, 1}) != models::kNoIndex);
}

// Finds an op of a recorded script by its name in reports: "rank 0 all_reduce #23 on the world
// group".
std::optional<OpQuery> of_record(std::string_view text, const models::TaskGraph& graph) {
  constexpr std::string_view kRank = "rank ";
  if (graph.recorded == nullptr || !text.starts_with(kRank)) return std::nullopt;
  text.remove_prefix(kRank.size());
  const std::size_t end = std::min(text.find(' '), text.size());
  const auto rank = models::whole_number<std::uint32_t>(text.substr(0, end));
  if (!rank || end == text.size()) return std::nullopt;
  const auto found = graph.recorded->find(*rank, std::string(text.substr(end + 1)));
  if (!found) return std::nullopt;
  return OpQuery{*rank, found->name, found->number};
}

}  // namespace

std::optional<OpQuery> read_op(std::string_view text, const models::TaskGraph& graph,
                               std::string_view who, models::Diagnostics& diagnostics) {
  std::optional<OpQuery> query = of_record(text, graph);
  if (!query) query = parse_op(text);
  if (query) return query;
  query = parse_op(fmt::format("rank 0 {}", text));
  std::set<std::uint32_t> ranks;
  for (const models::ActorTemplate& actor : graph.actors) {
    if (query && names(*query, actor)) ranks.insert(actor.on.begin(), actor.on.end());
  }
  if (ranks.size() == 1) {
    query->rank = *ranks.begin();
    return query;
  }
  if (!ranks.empty()) {
    diagnostics
        .error({}, models::Code::kUnknownOp,
               fmt::format("{}: '{}' is on {}", who, query->name,
                           viz::ranks_text({ranks.begin(), ranks.end()})))
        .notes.push_back(fmt::format("say which: 'rank {} {}'", *ranks.begin(), text));
    return std::nullopt;
  }
  models::Diagnostic& error =
      diagnostics.error({}, models::Code::kUnknownOp,
                        fmt::format("{}: '{}' does not name an op", who, models::printable(text)));
  std::vector<std::string> known;
  for (const models::ActorTemplate& actor : graph.actors) add_names(actor, known);
  models::suggest_name(error, query ? query->name : std::string(text), known);
  error.notes.emplace_back("write it as in reports: 'rank 0 gather#3', or rank0:gather#3");
  if (who == "--until") error.notes.emplace_back("a time is a number with a unit, as in 12ms");
  return std::nullopt;
}

std::string op_query_text(const OpQuery& query) {
  if (query.number == 0) return fmt::format("rank {} {}", query.rank, query.name);
  return fmt::format("rank {} {}#{}", query.rank, query.name, query.number);
}

namespace {

// Replaces the name of a grouped call by the name of the op that runs the group. An op with the
// queried name takes precedence.
OpQuery of_group(const OpQuery& query, const models::TaskGraph& graph,
                 const models::Lowered& lowered) {
  std::string found;
  for (const sim::ActorId id : ids_of(lowered.plan.actors)) {
    if (lowered.plan.actors[id].rank.value != query.rank) continue;
    const models::ActorTemplate& from = graph.actors[lowered.actor_template[id]];
    if (from.name == query.name) return query;
    if (found.empty() && has_call(from, query.name)) found = from.name;
  }
  return found.empty() ? query : OpQuery{query.rank, found, query.number};
}

void say_unknown(const OpQuery& query, const models::TaskGraph& graph, std::string_view who,
                 models::Diagnostics& diagnostics) {
  models::Diagnostic& error = diagnostics.error(
      {}, models::Code::kUnknownOp, fmt::format("{}: there is no {}", who, op_query_text(query)));
  std::vector<std::string> names;
  for (const models::ActorTemplate& actor : graph.actors) {
    if (!actor.on.contains(query.rank)) continue;
    add_names(actor, names);
  }
  models::suggest_name(error, query.name, names);
}

// Finds an op named without `#k`. Adds an error if there is no such op, or if the op runs several
// times.
std::optional<FoundOp> find_only_op(const OpQuery& query, const models::TaskGraph& graph,
                                    const models::Lowered& lowered, std::string_view who,
                                    models::Diagnostics& diagnostics) {
  for (const sim::ActorId id : ids_of(lowered.plan.actors)) {
    const sim::Actor& actor = lowered.plan.actors[id];
    const models::ActorTemplate& from = graph.actors[lowered.actor_template[id]];
    if (actor.rank.value != query.rank) continue;
    // A numbered actor gives each op its own name, such as 0F3.
    const std::uint32_t k =
        from.numbers ? models::find_op(from, actor.ops, {query.name, 1}) : models::kNoIndex;
    if (k < actor.ops) return FoundOp{id, k};
    if (from.name != query.name) continue;
    if (actor.ops == 1) return FoundOp{id, 0};
    const auto name_of = [&](std::uint32_t index) {
      return from.numbers ? models::op_name(from, index).name
                          : fmt::format("{}#{}", query.name, index + 1);
    };
    diagnostics
        .error({}, models::Code::kUnknownOp,
               fmt::format("{}: {} runs {} times", who, op_query_text(query), actor.ops))
        .notes.push_back(fmt::format("say which: rank {} {} to {}", query.rank, name_of(0),
                                     name_of(actor.ops - 1)));
    return std::nullopt;
  }
  say_unknown(query, graph, who, diagnostics);
  return std::nullopt;
}

}  // namespace

std::optional<FoundOp> find_op(const OpQuery& query, const models::TaskGraph& graph,
                               const models::Lowered& lowered, std::string_view who,
                               models::Diagnostics& diagnostics) {
  if (query.rank >= graph.ranks) {
    diagnostics.error(
        {}, models::Code::kUnknownRank,
        fmt::format("{}: unknown rank {}: ranks are 0 to {}", who, query.rank, graph.ranks - 1));
    return std::nullopt;
  }
  const OpQuery meant = of_group(query, graph, lowered);
  if (meant.number == 0) return find_only_op(meant, graph, lowered, who, diagnostics);
  for (const sim::ActorId id : ids_of(lowered.plan.actors)) {
    const sim::Actor& actor = lowered.plan.actors[id];
    if (actor.rank.value != meant.rank) continue;
    const std::uint32_t k = models::find_op(graph.actors[lowered.actor_template[id]], actor.ops,
                                            {meant.name, meant.number});
    if (k == models::kNoIndex) continue;
    if (k < actor.ops) return FoundOp{id, k};
    diagnostics.error({}, models::Code::kUnknownOp,
                      fmt::format("{}: rank {} {} runs {} times, so there is no #{}", who,
                                  meant.rank, meant.name, actor.ops, meant.number));
    return std::nullopt;
  }
  say_unknown(meant, graph, who, diagnostics);
  return std::nullopt;
}

std::optional<Until> parse_until(const std::string& text) {
  Until until;
  until.text = text;
  const auto time = formats::constant_value(text, formats::ValueType::kTime);
  if (time && *time >= 0) {
    until.time = sim::Time{*time};
    return until;
  }
  const bool is_name = text.find_first_not_of("0123456789. ") != std::string::npos;
  return is_name ? std::optional(until) : std::nullopt;
}

}  // namespace pipesim::app
