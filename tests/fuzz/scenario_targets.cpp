// Fuzz targets for scenarios, which are read, patched, written, lowered, run and explained.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "app/input/op_query.hpp"
#include "formats/document/expression.hpp"
#include "formats/scenario/scenario_writer.hpp"
#include "models/layers/pass_pipeline.hpp"
#include "models/layers/shipped_passes.hpp"
#include "models/layers/verifier.hpp"
#include "models/result/expectation.hpp"
#include "models/result/jitter.hpp"
#include "models/result/memory.hpp"
#include "models/result/pipeline_report.hpp"
#include "models/result/remedies.hpp"
#include "models/result/simulation.hpp"
#include "models/result/timeline.hpp"
#include "tests/fuzz/simulated.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/twin/to_plan.hpp"
#include "tests/twin/twin.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/run_log.hpp"
#include "viz/report/stack_dump.hpp"
#include "viz/report/terminal_timeline.hpp"
#include "viz/report/text_report.hpp"
#include "viz/trace/trace_json.hpp"

#include "features/lint/lint.hpp"
#include "features/lint/lint_report.hpp"
#include "features/lint/unused_names.hpp"
#include "features/reduce/reduce.hpp"
#include "features/reduce/reduce_report.hpp"
#include "features/sweep/parameter_sweep.hpp"
#include "features/sweep/shard.hpp"
#include "features/test/figure_update.hpp"

namespace pipesim::fuzz {
namespace {

// Limits that keep fuzzing fast. Larger inputs are legal, but find no more errors.
constexpr std::uint64_t kMaxActors = 5'000;
constexpr std::uint64_t kMaxOps = 50'000;
constexpr std::uint64_t kMaxOpsOfTwin = 500;

std::optional<formats::Scenario> read(const std::string& bytes) {
  const std::vector<std::string> texts = parts(bytes);
  formats::ReadOptions options;
  for (std::size_t i = 1; i < texts.size(); ++i) options.patches.push_back({"patch", texts[i]});
  models::Diagnostics diagnostics;
  auto scenario = formats::read_scenario(texts[0], {}, diagnostics, options);
  require(scenario.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  if (texts.size() == 1) show(diagnostics, bytes);
  return scenario;
}

std::optional<models::Lowered> lower(const models::TaskGraph& graph, const std::string& text) {
  std::uint64_t actors = graph.ranks;
  for (const models::ActorTemplate& actor : graph.actors) actors += actor.on.size();
  if (actors > kMaxActors) return std::nullopt;
  models::Diagnostics diagnostics;
  auto lowered = models::lower(graph, diagnostics);
  require(lowered.has_value() != diagnostics.has_errors(), "laid out, and with errors; or neither");
  show(diagnostics, text);
  return lowered;
}

}  // namespace

std::uint64_t ops_of(const sim::Plan& plan) {
  std::uint64_t ops = 0;
  for (const sim::ActorId id : ids_of(plan.actors)) ops += plan.actors[id].ops;
  return ops;
}

std::optional<models::Simulation> simulate(const std::string& bytes,
                                           std::optional<formats::Scenario>& scenario,
                                           const sim::RunOptions& options) {
  scenario = read(bytes);
  if (!scenario) return std::nullopt;
  auto lowered = lower(scenario->graph, bytes);
  if (!lowered || ops_of(lowered->plan) > kMaxOps) return std::nullopt;
  return models::simulate(scenario->graph, std::move(*lowered), options);
}

namespace {

void read_and_write(const std::string& bytes) {
  std::optional<formats::Scenario> scenario = read(bytes);
  if (!scenario) return;
  models::TaskGraph& graph = scenario->graph;
  models::Diagnostics diagnostics;
  require(models::verify_references(graph, diagnostics),
          "a reader's graph names what is not there");
  graph.pipeline.reset();  // the writer writes its programs instead
  const std::string text = formats::write_scenario(graph);
  const auto again = formats::read_scenario(text, {}, diagnostics);
  if (!again) return;  // for example a tensor type that lowering reports
  require(formats::write_scenario(again->graph) == text, "written twice, it differs");
}

void read_expression(const std::string& bytes) {
  std::vector<formats::Parameter> parameters(2);
  parameters[0].name = "acc";
  parameters[0].value = formats::Value::number(4);
  parameters[1].name = "mode";
  parameters[1].value = {formats::ValueType::kWord, {}, "fast"};
  const formats::RankSets sets = {{"slow", models::RankSet({1, 3, 5})}};
  const formats::Scope scope{&parameters, 8, true, {}, &sets};
  models::Diagnostics diagnostics;
  const auto value = formats::parse_expression(bytes, {{1, 1}, false}, scope, diagnostics);
  require(value.has_value() != diagnostics.has_errors(), "a value, and with errors; or neither");
  show(diagnostics, bytes);
  if (!value) return;
  std::string why;
  for (const std::uint32_t rank : {0U, 7U}) value->expr.value(rank, &why);
  if (!value->expr.depends_on_rank()) formats::to_text(*value);
}

void plan(const std::string& bytes) {
  const std::optional<formats::Scenario> scenario = read(bytes);
  if (!scenario) return;
  const auto lowered = lower(scenario->graph, bytes);
  if (!lowered) return;
  models::Diagnostics diagnostics;
  auto findings = models::lint(scenario->graph, diagnostics);
  require(findings.has_value(), "it can be laid out, and lint says that it cannot");
  for (auto& unused : formats::unused_names(parts(bytes)[0], {}, scenario->graph)) {
    findings->push_back(std::move(unused));
  }
  const std::uint32_t ranks = scenario->graph.ranks;
  viz::lint_report(*findings, "scenario", scenario->graph.name, ranks).json();
  show(viz::lint_diagnostics(*findings, ranks), bytes);
  if (ops_of(lowered->plan) > kMaxOps) return;
}

// Runs the plan in fixed order, by events, and in the twin: all outcomes must agree.
void run(const std::string& bytes) {
  std::optional<formats::Scenario> scenario;
  const auto ours = simulate(bytes, scenario, {.engine = sim::EngineKind::kEvents});
  if (!ours) return;
  const sim::Plan& plan = ours->lowered.plan;
  const sim::Outcome swept = sim::run(plan, {.engine = sim::EngineKind::kFixedOrder});
  require(sim::Fingerprint::of(swept.digests, ours->explanation.verdict) ==
              ours->explanation.fingerprint,
          "sweep and events differ in times");
  require(swept.end == ours->outcome.end, "sweep and events differ in their end");
  sim::run(plan, {.jitter = {.permille = 500, .seed = 7}});
  sim::run(plan, {.max_events = 20});
  if (ops_of(plan) > kMaxOpsOfTwin || ours->outcome.end == sim::RunEnd::kTimeLimit) return;
  const twin::Result twins = twin::simulate(twin::from_plan(plan));
  require(static_cast<int>(twins.verdict) == static_cast<int>(ours->explanation.verdict),
          "the twin has another verdict");
  require(twins.fingerprint == ours->explanation.fingerprint, "the twin has other times");
  require(twins.waits.size() == ours->waits.edges.size(), "the twin has other waits");
}

void explain(const std::string& bytes) {
  std::optional<formats::Scenario> scenario;
  const auto run = simulate(bytes, scenario, {.keep_op_times = true, .keep_log = true});
  if (!run) return;
  const models::TaskGraph& graph = scenario->graph;
  viz::Report report{graph, run->explanation, {}, {}, {}, {}, {}};
  for (const sim::WaitEdge& edge : run->waits.edges) {
    report.all_waits.push_back(
        models::describe_wait(graph, run->lowered, run->outcome.state, run->waits, edge));
  }
  report.misplacements = models::find_misplacements(graph, *run);
  report.remedies = models::find_remedies(graph, *run, 5'000);
  report.pipeline = models::pipeline_report(graph, run->lowered, run->outcome);
  report.memory = models::memory_report(graph, run->lowered, run->outcome);
  require_printable(viz::text_report(report, {}));
  viz::json_report(report);
  require_printable(viz::stack_dump(run->explanation, "input"));
  require_printable(viz::run_log(graph, run->lowered, run->outcome));
  const models::Timeline timeline = models::timeline(graph, *run);
  require_printable(viz::terminal_timeline(graph, *run, timeline, {}));
  const auto flows = models::flows(*run);
  viz::TraceWriter(graph, *run, timeline, flows).write([](std::string_view) {});
  for (const models::Expectation& expectation : scenario->expectations) {
    models::unmet(expectation, graph, *run);
    if (parts(bytes).size() > 1) continue;  // a place can be in another file of the input
    formats::update_figures(bytes, formats::figures_of(expectation, graph, *run, true));
  }
}

// Reduces a scenario that hangs: the reduced scenario must have the same hang.
void reduce(const std::string& bytes) {
  std::optional<formats::Scenario> scenario;
  const auto run = simulate(bytes, scenario, {});
  if (!run || run->lowered.plan.op_count > kMaxOpsOfTwin) return;
  models::HangSignature shape =
      models::hang_signature(scenario->graph, run->lowered, run->explanation);
  models::ReduceOptions options;
  options.max_ops = kMaxOps;
  models::Diagnostics diagnostics;
  const auto small = models::reduce(
      scenario->graph, {},
      [&](const models::ParameterValues&) { return std::optional(scenario->graph); },
      [](const models::TaskGraph& graph, bool brief) -> std::optional<models::Written> {
        models::Diagnostics unheard;
        std::string text = formats::write_scenario(
            graph, brief ? formats::ScenarioForm::kBrief : formats::ScenarioForm::kExact);
        auto again = formats::read_scenario(text, {}, unheard);
        if (!again) return std::nullopt;
        return models::Written{std::move(text), std::move(again->graph)};
      },
      options, diagnostics);
  require(small.has_value() != diagnostics.has_errors(), "reduced, and with errors; or neither");
  if (!small) return;
  require(shape.hangs(), "what does not hang was reduced");
  shape = models::hang_signature(scenario->graph, run->lowered, run->explanation, small->layers);
  const auto again = models::simulate(small->graph, diagnostics);
  require(again && models::hang_signature(small->graph, again->lowered, again->explanation,
                                          small->layers) == shape,
          "what is left hangs otherwise");
  require(small->after.ops <= small->before.ops, "what is left has more to do");
  const viz::Section report = viz::reduce_report(*small, scenario->graph.name);
  require_printable(report.text({}, 0));
  require(nlohmann::json::accept(report.json()), "no JSON");
}

// Parses values of command-line options.
void query(const std::string& bytes) {
  app::parse_op(bytes);
  app::parse_until(bytes);
  std::string problem;
  app::parse_shard(
      bytes, [](const char*) -> const char* { return nullptr; }, problem);
  if (const auto jitter = models::parse_jitter(bytes)) {
    require(models::parse_jitter(models::jitter_text(*jitter)) == jitter,
            "a jitter reads otherwise when it is written");
  }
  // Skips numbers of ten million and more, which are legal as counts of values, but slow.
  const bool is_long = std::search_n(bytes.begin(), bytes.end(), 6, '0', [](char c, char) {
                         return c >= '0' && c <= '9';
                       }) != bytes.end();
  const auto variable = is_long ? std::nullopt : models::parse_variable(bytes, problem);
  require(!variable || !variable->values.empty(), "a variable without values");
  models::Diagnostics diagnostics;
  models::parse_passes(bytes, models::shipped_passes(), diagnostics);
  show(diagnostics, bytes);
}

}  // namespace

std::vector<Target> scenario_targets() {
  return {{"scenario", read_and_write},
          {"expression", read_expression},
          {"plan", plan},
          {"run", run},
          {"explain", explain},
          {"reduce", reduce},
          {"query", query}};
}

}  // namespace pipesim::fuzz
