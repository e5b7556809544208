// Files of our own and of other tools: schedules, programs, plans, what commands have saved.
#include <atomic>
#include <string>

#include "formats/files/order_file.hpp"
#include "formats/files/report_file.hpp"
#include "formats/files/state_file.hpp"
#include "formats/files/sweep_file.hpp"
#include "formats/goal/goal_names.hpp"
#include "formats/goal/goal_reader.hpp"
#include "formats/oneflow/oneflow_plan_reader.hpp"
#include "formats/oneflow/oneflow_plan_scenario.hpp"
#include "formats/scenario/schedule_reader.hpp"
#include "formats/torch/schedule_csv.hpp"
#include "models/explain/loggops_explanation.hpp"
#include "models/schedules/schedule_lowering.hpp"
#include "tests/fuzz/target.hpp"
#include "viz/json/json_report.hpp"
#include "viz/text/text_report.hpp"

namespace pipesim::fuzz {
namespace {

void schedule(const std::string& bytes) {
  constexpr std::size_t kMostIndices = 20'000;
  models::Diagnostics diagnostics;
  const auto read = formats::read_schedule(formats::schedule_rows(bytes), 1, diagnostics);
  require(read.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  if (!read || read->index_count() > kMostIndices) return;
  const std::string written = formats::write_schedule(*read);
  const auto again = formats::read_schedule(formats::schedule_rows(written), 1, diagnostics);
  require(again && formats::write_schedule(*again) == written, "written twice, it differs");
  if (read->has_messages()) {
    models::dry_run_steps(*read);
    return;
  }
  const models::Schedule whole = models::add_reduce_grad(models::add_unshard_reshard(*read));
  models::Diagnostics of_lowering;
  const auto lowered = models::add_send_recv(whole, of_lowering);
  show(of_lowering, bytes);
  if (!lowered) return;
  models::dry_run_steps(*lowered);
  require_scenario(formats::pipeline_scenario(*read, "x"));
}

void goal(const std::string& bytes) {
  models::Diagnostics diagnostics;
  const auto file = formats::read_goal(bytes, diagnostics);
  require(file.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  if (!file) return;
  const sim::LogGopsOutcome outcome = sim::run(file->program, {});
  sim::unreceived(file->program, outcome);
  const sim::WaitGraph waits = outcome.end == sim::RunEnd::kStuck
                                   ? sim::wait_graph(file->program, outcome)
                                   : sim::WaitGraph();
  const formats::GoalNames names(*file, bytes);
  const models::LogGopsResult result{
      file->program, outcome, waits, [&](sim::ActorId op) -> models::LogGopsOpName {
        return {names.name(op), "line", std::string(names.statement(op))};
      }};
  const models::Explanation explanation = models::explain(result);
  models::TaskGraph graph;
  graph.ranks = file->program.rank_count;
  viz::Report report{graph, explanation, {}, {}, {}, {}, {}};
  for (const sim::WaitEdge& edge : waits.edges) {
    report.all_waits.push_back(models::describe_wait(result, edge));
  }
  require_printable(viz::text_report(report, {}));
  viz::json_report(report);
}

void plan_dump(const std::string& bytes) {
  models::Diagnostics diagnostics;
  const auto plan = formats::read_oneflow_plan(bytes, diagnostics);
  const auto scenario = plan ? formats::plan_scenario(*plan, "x", diagnostics) : std::nullopt;
  require(scenario.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  if (!scenario) return;
  models::Diagnostics unheard;  // rates may not balance: that is the plan's
  formats::read_scenario(*scenario, {}, unheard);
  show(unheard, *scenario);
}

void state(const std::string& bytes) {
  models::Diagnostics diagnostics;
  const auto read = formats::read_state(bytes, diagnostics);
  require(read.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  if (!read) return;
  const auto text = formats::write_state(*read, diagnostics);
  require(text.has_value(), "a state that was read cannot be written");
  require(formats::read_state(*text, diagnostics) == read, "a state reads otherwise");
}

void order(const std::string& bytes) {
  models::Diagnostics diagnostics;
  const auto read = formats::read_order(bytes, diagnostics);
  require(read.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  if (!read) return;
  const std::string text = formats::write_order(*read);
  const auto again = formats::read_order(text, diagnostics);
  require(again && formats::write_order(*again) == text, "an order reads otherwise");
}

void sweep(const std::string& bytes) {
  models::Diagnostics diagnostics;
  const auto read = formats::read_sweep_file(bytes, diagnostics);
  require(read.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  if (!read) return;
  require(read->whole_bytes <= bytes.size(), "more bytes than there are");
  std::string text = formats::sweep_head_line(read->head);
  for (const auto& [number, result] : read->cases) text += formats::sweep_case_line(number, result);
  const auto again = formats::read_sweep_file(text, diagnostics);
  require(again && again->cases == read->cases && again->head.same_sweep(read->head),
          "a sweep reads otherwise");
  std::string problem;
  if (read->head.grid.variables.size() < 4 && read->head.grid.seeds < 1000) {
    models::lay_out(read->head.grid, problem);
  }
}

void report(const std::string& bytes) {
  formats::run_file_kind(bytes);
  models::Diagnostics diagnostics;
  const auto read = formats::read_report(bytes, diagnostics);
  require(read.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
}

}  // namespace

std::vector<Target> file_targets() {
  return {{"schedule", schedule}, {"goal", goal},   {"plan_dump", plan_dump}, {"state", state},
          {"order", order},       {"sweep", sweep}, {"report", report}};
}

}  // namespace pipesim::fuzz
