// Fuzz targets that write the outputs of a simulated scenario: pictures, pages, traces, reports and
// files. If a reader for an output exists, the target also reads the output back.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "formats/scenario/order_file.hpp"
#include "formats/scenario/scenario_writer.hpp"
#include "formats/scenario/schedule_csv.hpp"
#include "models/lowering/rank_classes.hpp"
#include "models/result/event_order.hpp"
#include "models/result/expectation.hpp"
#include "models/result/memory.hpp"
#include "models/result/timeline.hpp"
#include "models/result/why.hpp"
#include "tests/fuzz/simulated.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/arrows.hpp"
#include "viz/page/html_page.hpp"
#include "viz/pictures/pictures.hpp"
#include "viz/pictures/wait_for_dot.hpp"
#include "viz/report/boxing_csv.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/run_log.hpp"
#include "viz/report/text_report.hpp"
#include "viz/trace/trace_json.hpp"

#include "features/check/check.hpp"
#include "features/check/check_report.hpp"
#include "features/diff/difference_report.hpp"
#include "features/diff/graph_difference.hpp"
#include "features/diff/run_difference.hpp"
#include "features/fix/fix.hpp"
#include "features/fix/fix_report.hpp"
#include "features/fix/scenario_edits.hpp"
#include "features/test/test_text.hpp"

namespace pipesim::fuzz {
namespace {

// Largest number of boxes in a picture: Graphviz's layout then takes well under a second.
constexpr std::uint64_t kMaxLaidOut = 40;

// Largest number of ops, and of ranks, for which fix and check run.
constexpr std::uint64_t kMaxSearched = 60;

viz::Report report_of(const models::TaskGraph& graph, const models::Simulation& run) {
  viz::Report report{graph, run.explanation, {}, {}, {}, {}, {}};
  for (const sim::WaitEdge& edge : run.waits.edges) {
    report.all_waits.push_back(
        models::describe_wait(graph, run.lowered, run.outcome.state, run.waits, edge));
  }
  return report;
}

// Returns the picture, or an empty string if drawing refuses it with a message.
template <typename Draw>
std::string drawn(const Draw& draw) {
  try {
    std::string picture = draw();
    require(!picture.empty(), "an empty picture");
    return picture;
  } catch (const viz::DrawingError& error) {
    require_printable(error.what());
    return {};
  }
}

// Checks that a picture is printable, except for the tabs with which Graphviz indents DOT.
void require_picture(std::string picture) {
  std::erase(picture, '\t');
  require_printable(picture);
}

void draw_as(const models::TaskGraph& graph, const models::Simulation& run,
             viz::PictureFormat format) {
  const models::RankSet ranks = models::RankSet::range(0, graph.ranks);
  const viz::Report report = report_of(graph, run);
  for (const bool fold : {false, true}) {
    require_picture(
        drawn([&] { return viz::draw_tasks(graph, run.lowered, ranks, {.all = !fold}, format); }));
    require_picture(drawn([&] {
      return viz::wait_for_drawing(
          viz::wait_picture(graph, run.explanation, report.all_waits, fold), format);
    }));
  }
}

void draw(const std::string& bytes) {
  std::optional<formats::Scenario> scenario;
  const auto run = simulate(bytes, scenario, {.keep_op_times = true});
  if (!run) return;
  const models::TaskGraph& graph = scenario->graph;
  const sim::Plan& plan = run->lowered.plan;
  draw_as(graph, *run, viz::PictureFormat::kDot);
  if (ops_of(plan) <= kMaxLaidOut && plan.actors.size() <= kMaxLaidOut &&
      graph.ranks <= kMaxLaidOut) {
    draw_as(graph, *run, viz::PictureFormat::kSvg);
  }
  const models::RankSet ranks = models::RankSet::range(0, graph.ranks);
  const models::MemoryUse use = models::memory_over_time(graph, run->lowered, run->outcome);
  const models::Timeline timeline = models::timeline(graph, *run);
  for (const bool fold : {false, true}) {
    require_picture(drawn([&] { return viz::draw_memory(graph, *run, use, ranks, fold).svg(); }));
    viz::TimelineStyle style;
    style.all = !fold;
    require_picture(drawn([&] { return viz::draw_timeline(graph, *run, timeline, style).svg(); }));
    const std::string stages =
        drawn([&] { return viz::draw_stages(graph, run->lowered, fold).svg(); });
    require_picture(stages);
    if (graph.pipeline) continue;
    const testing::Arrows arrows = testing::arrows_in(stages);
    const auto expected = testing::arrows_of(run->lowered, stages);
    require(!expected || fold || arrows == *expected,
            "the arrows between stages are not those of the plan");
  }
}

void require_json(std::string_view text) {
  require(nlohmann::json::accept(text), "what was written is no JSON");
}

void write_views(const models::TaskGraph& graph, const models::Simulation& run) {
  const viz::Report report = report_of(graph, run);
  require_json(viz::json_report(report));
  const models::Timeline timeline = models::timeline(graph, run);
  const auto flows = models::flows(run);
  const viz::TraceWriter trace(graph, run, timeline, flows);
  std::string text;
  const viz::TextSink sink = [&](std::string_view part) { text += part; };
  trace.write(sink);
  require_json(text);
  for (std::uint32_t rank = 0; rank < std::min<std::uint32_t>(graph.ranks, 4); ++rank) {
    text.clear();
    trace.write_rank(rank, sink);
    require_json(text);
  }
  for (const bool unfold : {false, true}) {
    require_printable(viz::html_page(report, run, timeline, unfold));
  }
  const std::string data = viz::html_page_data(report, run, timeline);
  require(data.find('<') == std::string::npos, "data of a page could end its script");
  require_json(data);
  viz::run_logs(graph, run.lowered, run.outcome);
}

// Prints the answers of `why` for the first op of up to 20 actors.
void write_answers(const models::TaskGraph& graph, const models::Simulation& run) {
  const std::uint32_t count = std::min<std::uint32_t>(run.lowered.plan.actors.size(), 20);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (run.lowered.plan.actors[sim::ActorId{i}].ops == 0) continue;
    const models::Why why = models::why(graph, run, sim::ActorId{i}, 0);
    require_printable(viz::why_text(run.explanation, why, {}));
    require_json(viz::why_json(run.explanation, why));
  }
}

void write_schedule(const formats::Scenario& scenario) {
  if (!scenario.graph.pipeline || scenario.graph.pipeline->schedule.index_count() > 2'000) return;
  // A CSV file shows the numbers of stages, ranks and micro-batches only through their names.
  const std::string csv = formats::write_schedule(scenario.graph.pipeline->schedule);
  models::Diagnostics of_rows;
  const auto again = formats::read_schedule(formats::schedule_rows(csv), 1, of_rows);
  if (again) require(formats::write_schedule(*again) == csv, "a schedule reads otherwise");
  show(of_rows, csv);
}

void write_check(const formats::Scenario& scenario, const models::Simulation& run) {
  sim::ExploreOptions options;
  options.max_states = 200;
  options.max_steps = 20'000;
  options.walks = 8;
  models::Diagnostics diagnostics;
  auto lowered = models::lower(scenario.graph, diagnostics);
  require(lowered.has_value(), "what was laid out once is not laid out again");
  const models::CheckReport check =
      models::check(scenario.graph, std::move(*lowered), options, nullptr);
  viz::CheckView view{scenario.graph, check};
  require_printable(viz::check_text(view, {}));
  require_json(viz::check_report(view).json());
  for (const bool unfold : {false, true}) {
    require_printable(viz::html_page(report_of(scenario.graph, run), run,
                                     models::timeline(scenario.graph, run),
                                     viz::check_page(view, {"a step"}), unfold));
  }
  formats::SavedOrder order;
  order.scenario = scenario.graph.name;
  order.reading = check.exploration.reading;
  order.steps = models::describe_order(scenario.graph, run.lowered, check.exploration.hang);
  const std::string text = formats::write_order(order);
  const auto again = formats::read_order(text, diagnostics);
  require(again && formats::write_order(*again) == text, "an order reads otherwise");
}

// Prints the fixes that `fix` finds. Adds each tried patch to the patches of the input; skips a
// change if its patch cannot be written or the patched scenario cannot be read.
void write_fixes(const std::string& bytes, const formats::Scenario& scenario) {
  const std::vector<std::string> texts = parts(bytes);
  formats::ReadOptions options;
  for (std::size_t i = 1; i < texts.size(); ++i) options.patches.push_back({"patch", texts[i]});
  const formats::EditedScenario edited(
      scenario, texts[0], options.patches, [&](const formats::PatchText& patch) {
        require_printable(patch.text);
        formats::ReadOptions patched = options;
        patched.patches.push_back(patch);
        models::Diagnostics unheard;
        return formats::read_scenario(texts[0], {}, unheard, patched);
      });
  models::FixOptions limits;
  limits.max_states = 100;
  limits.max_steps = 5'000;
  limits.walks = 8;
  limits.max_ops = 20'000;
  models::Diagnostics diagnostics;
  const auto report = models::find_fixes(scenario.parameters, edited, limits, diagnostics);
  if (!report) return;
  require_printable(viz::fix_text(*report, scenario.graph.name));
  require_json(viz::fix_json(*report, scenario.graph.name));
}

// Prints the differences between the run and a run with jitter, and between the graph and the graph
// without its patches.
void write_differences(const std::string& bytes, const formats::Scenario& scenario,
                       const models::Simulation& run) {
  const models::TaskGraph& graph = scenario.graph;
  const auto later = models::simulate(
      graph, run.lowered, {.keep_op_times = true, .jitter = {.permille = 300, .seed = 7}});
  viz::Difference difference;
  difference.before_name = "before";
  difference.after_name = "after";
  difference.before = models::end_figures(run.explanation);
  difference.after = models::end_figures(later.explanation);
  difference.run = models::compare_runs({graph, run}, {graph, later});
  const std::vector<std::string> texts = parts(bytes);
  models::Diagnostics unheard;
  const auto unpatched = formats::read_scenario(texts.front(), {}, unheard);
  if (unpatched) difference.graph = models::compare_graphs(unpatched->graph, graph);
  require_printable(viz::difference_text(difference, {}));
  require_json(viz::difference_json(difference));
  require_printable(viz::difference_page(difference, &run.explanation, &later.explanation, "fuzz"));
  require_printable(viz::difference_page(difference, nullptr, nullptr, "fuzz"));
}

// Writes the results of `test` for the expectations of a scenario.
void write_results(const formats::Scenario& scenario, const models::Simulation& run) {
  std::vector<viz::TestResult> results;
  for (const models::Expectation& expectation : scenario.expectations) {
    for (const models::Unmet& unmet : models::unmet(expectation, scenario.graph, run)) {
      results.push_back({.file = "input.yaml",
                         .name = scenario.graph.name,
                         .status = viz::TestStatus::kFailed,
                         .message = viz::unmet_text(unmet),
                         .details = viz::report_head(scenario.graph, run.explanation)});
    }
  }
  for (const viz::TestResult& result : results) require_printable(viz::test_text(result, false));
  require_printable(viz::test_summary(results, false));
  require_printable(viz::junit_xml(results));
}

void write(const std::string& bytes) {
  std::optional<formats::Scenario> scenario;
  const auto run = simulate(bytes, scenario, {.keep_op_times = true, .keep_log = true});
  if (!run) return;
  write_views(scenario->graph, *run);
  write_answers(scenario->graph, *run);
  write_schedule(*scenario);
  write_differences(bytes, *scenario, *run);
  write_results(*scenario, *run);
  if (scenario->graph.logical) require_printable(viz::boxing_csv(*scenario->graph.logical));
  if (ops_of(run->lowered.plan) > kMaxSearched || scenario->graph.ranks > kMaxSearched) return;
  write_check(*scenario, *run);
  write_fixes(bytes, *scenario);
}

}  // namespace

std::vector<Target> output_targets() { return {{"draw", draw}, {"write", write}}; }

}  // namespace pipesim::fuzz
