#include "app/input/until.hpp"

#include <utility>

#include <fmt/format.h>

#include "formats/document/expression.hpp"
#include "models/result/memory.hpp"
#include "models/result/pipeline_report.hpp"
#include "sim/fixed_order.hpp"

namespace pipesim::app {
namespace {

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

}  // namespace

std::optional<Until> parse_until(const std::string& text) {
  std::optional<Until> result = parse_time(text);
  const bool is_name = text.find_first_not_of("0123456789. ") != std::string::npos;
  if (!result && is_name) result.emplace();
  if (result) result->text = text;
  return result;
}

std::optional<models::Simulation> simulate_until(const models::TaskGraph& graph,
                                                 const std::optional<Until>& until,
                                                 sim::RunOptions options,
                                                 models::Diagnostics& diagnostics) {
  std::optional<models::Lowered> lowered = models::lower(graph, diagnostics);
  if (!lowered) return std::nullopt;
  if (!options.keep_op_times) {
    const bool has_sizes = models::has_sizes(graph);
    options.keep_op_times = graph.pipeline.has_value() || has_sizes;
    if (graph.pipeline && !has_sizes) {
      options.last_times_of = models::actors_without_compute(*graph.pipeline, *lowered);
    }
  }
  if (until && until->time) options.until = *until->time;
  std::optional<OpQuery> query;
  if (until && !until->time) {
    query = read_op(until->text, graph, "--until", diagnostics);
    const auto found =
        query ? find_op(*query, graph, *lowered, "--until", diagnostics) : std::nullopt;
    if (!found) return std::nullopt;
    options.until_actor = found->actor;
    options.until_k = found->k;
  }
  const bool only_fixed_order = options.engine == sim::EngineKind::kFixedOrder;
  if (only_fixed_order) {
    if (const char* obstacle = sim::fixed_order_obstacle(lowered->plan, options)) {
      diagnostics.error({}, models::Code::kEngine,
                        fmt::format("--engine sweep cannot run this: {}", obstacle));
      return std::nullopt;
    }
  }
  models::Simulation result = models::simulate(graph, std::move(*lowered), options);
  if (only_fixed_order && !result.outcome.in_fixed_order &&
      result.outcome.end != sim::RunEnd::kInterrupted) {
    diagnostics.error({}, models::Code::kEngine, "--engine sweep: this run does not complete")
        .notes.emplace_back("use '--engine auto' to see how it ends");
    return std::nullopt;
  }
  const sim::ActorId actor = options.until_actor;
  const bool missed = actor.valid() && result.outcome.end != sim::RunEnd::kInterrupted &&
                      result.outcome.state.entered(result.lowered.plan, actor) <= options.until_k;
  if (missed) {
    diagnostics.warning({}, models::Code::kEngine,
                        fmt::format("--until: {} is never entered; this is the end of the "
                                    "whole run",
                                    op_query_text(*query)));
  }
  return result;
}

}  // namespace pipesim::app
