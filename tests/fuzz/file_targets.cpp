// Fuzz targets that read files of pipesim and of other tools: schedules, programs, plans, saved
// results of commands.
#include <atomic>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "formats/scenario/order_file.hpp"
#include "formats/scenario/schedule_csv.hpp"
#include "formats/scenario/schedule_reader.hpp"
#include "models/schedules/schedule_lowering.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/sweep_sums.hpp"
#include "viz/page/html_page.hpp"
#include "viz/pictures/wait_for_dot.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/text_report.hpp"

#include "features/algorithm/algorithm_file.hpp"
#include "features/algorithm/algorithm_network.hpp"
#include "features/algorithm/draw_algorithm.hpp"
#include "features/algorithm/verify_algorithm.hpp"
#include "features/algorithm/verify_report.hpp"
#include "features/diff/report_file.hpp"
#include "features/goal/goal_reader.hpp"
#include "features/goal/loggops_explanation.hpp"
#include "features/oneflow/oneflow_plan_reader.hpp"
#include "features/oneflow/oneflow_plan_scenario.hpp"
#include "features/record/record_checks.hpp"
#include "features/record/record_ends.hpp"
#include "features/record/record_reader.hpp"
#include "features/record/record_scenario.hpp"
#include "features/sweep/sweep_file.hpp"
#include "features/sweep/sweep_report.hpp"

namespace pipesim::fuzz {
namespace {

void schedule(const std::string& bytes) {
  constexpr std::size_t kMaxIndices = 20'000;
  models::Diagnostics diagnostics;
  const auto read = formats::read_schedule(formats::schedule_rows(bytes), 1, diagnostics);
  require(read.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  if (!read || read->index_count() > kMaxIndices) return;
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
  // Limit for the JSON report, which has an object per rank: 14 bytes of input can declare a
  // million ranks.
  constexpr std::uint32_t kMaxRanks = 10'000;
  if (graph.ranks <= kMaxRanks) viz::json_report(report);
}

void plan_dump(const std::string& bytes) {
  models::Diagnostics diagnostics;
  const auto plan = formats::read_oneflow_plan(bytes, diagnostics);
  const auto scenario = plan ? formats::plan_scenario(*plan, "x", diagnostics) : std::nullopt;
  require(scenario.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  if (!scenario) return;
  models::Diagnostics unheard;  // errors are allowed: the plan can have unbalanced rates
  formats::read_scenario(*scenario, {}, unheard);
  show(unheard, *scenario);
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

// Shows a sweep; cases that its file lacks count as not run.
void show_sweep(const formats::SweepFile& file) {
  constexpr std::uint64_t kMaxCases = 300;
  const models::ParameterGrid& grid = file.head.grid;
  std::string problem;
  if (grid.variables.size() >= 4 || grid.seeds >= kMaxCases) return;
  const auto cases = models::lay_out(grid, problem);
  if (!cases || cases->count > kMaxCases) return;
  std::vector<models::CaseResult> results(cases->count);
  for (const auto& [number, result] : file.cases) {
    if (number < results.size()) results[number] = result;
  }
  const viz::SweepReport report{
      "input.yaml", "input", {}, grid, *cases, results, models::summarize(*cases, results)};
  require_printable(viz::sweep_text(report, false));
  require_printable(viz::sweep_csv(report));
  require_printable(viz::sweep_plot(report));
  require_printable(viz::sweep_page(report, {}, "fuzz"));
  require(nlohmann::json::accept(viz::sweep_json(report)), "what was written is no JSON");
}

void sweep(const std::string& bytes) {
  models::Diagnostics diagnostics;
  const std::string journal = testing::with_right_sums(bytes);
  const auto read = formats::read_sweep_file(journal, diagnostics);
  require(read.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  if (!read) return;
  require(read->whole_bytes <= journal.size(), "more bytes than there are");
  std::string text = formats::sweep_head_line(read->head);
  for (const auto& [number, result] : read->cases) text += formats::sweep_case_line(number, result);
  const auto again = formats::read_sweep_file(text, diagnostics);
  require(again && again->cases == read->cases && again->head.same_sweep(read->head),
          "a sweep reads otherwise");
  show_sweep(*read);
}

void report(const std::string& bytes) {
  formats::looks_like_report(bytes);
  models::Diagnostics diagnostics;
  const auto read = formats::read_report(bytes, diagnostics);
  require(read.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
}

// Draws the pictures and the page of an algorithm.
void show_algorithm(const viz::VerifyView& view) {
  models::AlgoNetworkOptions how;
  how.in_place = view.algorithm.in_place;
  const models::AlgoNetwork network = models::build_network(view.algorithm, how);
  const models::AlgoRun run = models::run_network(network, view.report.slots);
  require_printable(viz::draw_algorithm(view.algorithm, network, run, view.name).svg());
  models::TaskGraph graph;
  graph.ranks = static_cast<std::uint32_t>(view.algorithm.ranks.size());
  const models::AlgoHang none;
  const models::AlgoHang& hang = view.report.hang ? *view.report.hang : none;
  const viz::Report report{graph, hang.explanation, {}, {}, hang.waits, {}, {}};
  for (const bool unfold : {false, true}) {
    viz::wait_for_dot(viz::wait_picture("x", hang.explanation, hang.waits, !unfold));
    require_printable(viz::html_page(report, {"hangs", {}, viz::verify_text(view, {})}, unfold));
  }
}

// Reads both formats of collective algorithms, then verifies, changes and shows the result.
void algorithm(const std::string& bytes) {
  models::Diagnostics diagnostics;
  const auto read = formats::read_algorithm(bytes, diagnostics);
  require(read.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  constexpr std::uint64_t kMaxSteps = 2000;
  if (!read || read->step_count() > kMaxSteps || read->ranks.size() > 64) return;
  models::VerifyOptions options;
  options.max_states = 100;
  try {
    models::VerifyReport report = models::verify(*read, options);
    report.changes = models::try_changes(*read, report, options);
    const viz::VerifyView view{"x", *read, report, true};
    require_printable(viz::verify_text(view, {}));
    require(nlohmann::json::accept(viz::verify_report(view).json()), "what was written is no JSON");
    show_algorithm(view);
  } catch (const std::length_error&) {
    // The input exceeds a limit, and the command reports it.
  }
}

// Reads a record and writes it as scenarios. The parts of the input are the files of rank 0, rank 1
// and so on; the last part is record.json.
void record(const std::string& bytes) {
  std::vector<std::string> texts = parts(bytes);
  std::vector<formats::RecordText> files = {
      {std::string(formats::kRecordFile), std::move(texts.back())}};
  texts.pop_back();
  for (std::string& text : texts) {
    files.push_back({"rank" + std::to_string(files.size() - 1) + ".jsonl", std::move(text)});
  }
  models::Diagnostics diagnostics;
  auto found = formats::read_record(files, diagnostics);
  require(found.has_value() != diagnostics.has_errors(), "read, and with errors; or neither");
  show(diagnostics, bytes);
  if (!found) return;
  for (const models::RecordFinding& finding : models::check_record(*found)) {
    require_printable(finding.message);
  }
  models::record_basis(*found);
  models::drop_calls_after_cuts(*found);
  models::add_later_calls(*found);
  for (const auto rules : {models::RecordRules::kGloo, models::RecordRules::kNccl}) {
    require_scenario(formats::record_scenario(*found, rules, "record"));
  }
}

}  // namespace

std::vector<Target> file_targets() {
  return {{"schedule", schedule}, {"goal", goal},     {"plan_dump", plan_dump}, {"order", order},
          {"sweep", sweep},       {"report", report}, {"algorithm", algorithm}, {"record", record}};
}

}  // namespace pipesim::fuzz
