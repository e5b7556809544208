#include "app/until.hpp"

#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/expression.hpp"
#include "models/memory.hpp"
#include "models/pipeline_report.hpp"
#include "sim/sweep.hpp"

namespace pipesim::app {
namespace {

std::optional<std::uint32_t> parse_number(std::string_view text) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<Until> parse_act(std::string_view text) {
  text.remove_prefix(4);  // "rank"
  if (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::size_t end_of_rank = text.find_first_of(": ");
  const std::size_t hash = text.rfind('#');
  if (end_of_rank == std::string_view::npos || hash == std::string_view::npos ||
      hash <= end_of_rank + 1) {
    return std::nullopt;
  }
  const auto rank = parse_number(text.substr(0, end_of_rank));
  const auto act = parse_number(text.substr(hash + 1));
  if (!rank || !act || *act == 0) return std::nullopt;
  Until result;
  result.rank = *rank;
  result.op = text.substr(end_of_rank + 1, hash - end_of_rank - 1);
  result.act = *act;
  return result;
}

std::optional<Until> parse_time(const std::string& text) {
  models::Diagnostics problems;
  const auto value = formats::parse_expression(text, {}, formats::Scope(), problems);
  if (!value || value->type != formats::ValueType::kTime) return std::nullopt;
  const std::optional<std::int64_t> time = value->expr.value(0);
  if (!time || *time < 0) return std::nullopt;
  Until result;
  result.time = sim::Time{*time};
  return result;
}

std::string name_of(const Until& until) {
  return fmt::format("rank {} {}#{}", until.rank, until.op, until.act);
}

// The actor whose act `k` is meant. Invalid, with a reason, where there is none.
sim::ActorId find_actor(const Until& until, const models::TaskGraph& graph,
                        const models::Lowered& lowered, std::uint32_t& k,
                        models::Diagnostics& diagnostics) {
  for (const sim::ActorId id : ids_of(lowered.plan.actors)) {
    const sim::Actor& actor = lowered.plan.actors[id];
    if (actor.rank.value != until.rank) continue;
    k = models::find_act(graph.actors[lowered.actor_template[id]], actor.acts,
                         {until.op, until.act});
    if (k == models::kNoIndex) continue;
    if (k < actor.acts) return id;
    diagnostics.error({}, fmt::format("--until: rank {} {} acts {} times, so there is no #{}",
                                      until.rank, until.op, actor.acts, until.act));
    return {};
  }
  if (until.rank >= graph.ranks) {
    diagnostics.error(
        {}, fmt::format("--until: there is no rank {}, only 0 to {}", until.rank, graph.ranks - 1));
    return {};
  }
  models::Diagnostic& error =
      diagnostics.error({}, fmt::format("--until: there is no {}", name_of(until)));
  std::vector<std::string> names;
  for (const models::ActorTemplate& actor : graph.actors) {
    if (actor.on.contains(until.rank)) names.push_back(actor.name);
  }
  models::suggest_name(error, until.op, names);
  return {};
}

}  // namespace

std::optional<Until> parse_until(const std::string& text) {
  std::optional<Until> result = text.substr(0, 4) == "rank" ? parse_act(text) : parse_time(text);
  if (result) result->text = text;
  return result;
}

std::optional<models::Simulation> simulate_until(const models::TaskGraph& graph,
                                                 const std::optional<Until>& until,
                                                 sim::RunOptions options,
                                                 models::Diagnostics& diagnostics) {
  std::optional<models::Lowered> lowered = models::lower(graph, diagnostics);
  if (!lowered) return std::nullopt;
  if (!options.keep_act_times) {
    const bool has_sizes = models::has_sizes(graph);
    options.keep_act_times = graph.pipeline.has_value() || has_sizes;
    if (graph.pipeline && !has_sizes) {
      options.last_times_of = models::actors_without_compute(*graph.pipeline, *lowered);
    }
  }
  if (until && until->time) options.until = *until->time;
  if (until && !until->time) {
    options.until_actor = find_actor(*until, graph, *lowered, options.until_k, diagnostics);
    if (!options.until_actor.valid()) return std::nullopt;
  }
  const bool only_sweep = options.engine == sim::EngineKind::kSweep;
  if (only_sweep) {
    if (const char* obstacle = sim::sweep_obstacle(lowered->plan, options)) {
      diagnostics.error({}, fmt::format("--engine sweep: the sweep cannot run this: {}", obstacle));
      return std::nullopt;
    }
  }
  models::Simulation result = models::simulate(graph, std::move(*lowered), options);
  if (only_sweep && !result.outcome.swept && result.outcome.end != sim::RunEnd::kInterrupted) {
    diagnostics.error({}, "--engine sweep: the sweep does not come to the end of this run")
        .notes.emplace_back("how runs end that do not complete is for the event engine to say");
    return std::nullopt;
  }
  const sim::ActorId actor = options.until_actor;
  const bool missed = actor.valid() && result.outcome.end != sim::RunEnd::kInterrupted &&
                      result.outcome.state.entered(result.lowered.plan, actor) <= options.until_k;
  if (missed) {
    diagnostics.warning({}, fmt::format("--until: {} is never entered, so this is the end of the "
                                        "whole run",
                                        name_of(*until)));
  }
  return result;
}

}  // namespace pipesim::app
