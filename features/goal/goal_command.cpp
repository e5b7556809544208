#include "features/goal/goal_command.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/input/text_input.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "models/graph/task_graph.hpp"
#include "models/graph/whole_number.hpp"
#include "viz/pictures/wait_for_dot.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/text_report.hpp"

#include "features/goal/goal_reader.hpp"
#include "features/goal/loggops_explanation.hpp"

namespace pipesim::app {
namespace {

// The maximum of a parameter: far above the values of any network, but low enough that sums of such
// times stay within the range of time.
constexpr std::int64_t kMaxParameter = 1'000'000'000'000;

// Reads one parameter, such as "L=2500". Returns an error message, or an empty string on success.
std::string read_parameter(const std::string& text, sim::LogGopsParameters& parameters,
                           std::string& given) {
  constexpr std::string_view kNames = "LogGOS";
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string name = text.substr(0, equals);
  if (name.size() != 1 || kNames.find(name) == std::string_view::npos) {
    return fmt::format("unknown LogGOPS parameter '{}'; they are L, o, g, G, O and S", name);
  }
  if (given.find(name) != std::string::npos) return fmt::format("'{}' is given twice", name);
  given += name;
  const std::string value = text.substr(std::min(equals + 1, text.size()));
  const auto number = models::whole_number<std::int64_t>(value);
  if (!number || *number < 0 || *number > kMaxParameter) {
    return fmt::format("'{}' must be an integer from 0 to {} {}, found '{}'", name, kMaxParameter,
                       name == "S" ? "bytes" : "nanoseconds", value);
  }
  const std::array times = {&parameters.latency_ns, &parameters.overhead_ns, &parameters.gap_ns,
                            &parameters.gap_per_byte_ns, &parameters.overhead_per_byte_ns};
  const std::size_t index = kNames.find(name);
  if (index < times.size()) {
    *times[index] = *number;
  } else {
    parameters.eager_bytes = static_cast<std::uint64_t>(*number);
  }
  return {};
}

std::vector<models::Wait> all_waits(const models::LogGopsResult& result) {
  std::vector<models::Wait> waits;
  waits.reserve(result.waits.edges.size());
  for (const sim::WaitEdge& edge : result.waits.edges) {
    waits.push_back(models::describe_wait(result, edge));
  }
  return waits;
}

// Warns of sends that no recv takes. Such sends block no rank, but the program is wrong.
void warn_of_unreceived(const formats::GoalFile& file, const sim::LogGopsOutcome& outcome,
                        const std::function<const formats::GoalNames&()>& names,
                        models::Diagnostics& diagnostics) {
  const bool quiescent =
      outcome.end == sim::RunEnd::kCompleted || outcome.end == sim::RunEnd::kStuck;
  const std::vector<sim::ActorId> sends = sim::unreceived(file.program, outcome);
  if (sends.empty() || !quiescent) return;
  const sim::LogGopsOp& first = file.program.ops[sends.front().value];
  diagnostics.warning(
      names().place(sends.front()), models::Code::kGoalUnmatched,
      sends.size() == 1
          ? fmt::format("rank {} has no recv for this send", first.peer)
          : fmt::format("rank {} has no recv for this send, the first of {} such sends", first.peer,
                        sends.size()));
}

}  // namespace

std::string read_loggops(const std::string& text, sim::LogGopsParameters& parameters) {
  std::string given;
  for (const std::string& part : split_at_commas(text)) {
    std::string problem = read_parameter(part, parameters, given);
    if (!problem.empty()) return problem;
  }
  return {};
}

int run_goal(const Arguments& arguments, const Console& console) {
  for (const char* option :
       {"set", "patch", "params", "until", "engine", "jitter", "seed", "stacks", "log", "log-dir",
        "schedule", "replay", "trace", "timeline", "html"}) {
    if (!arguments.has(option)) continue;
    throw UsageError(models::Code::kOptionConflict,
                     fmt::format("'--{}' cannot be used with a GOAL file", option),
                     "a GOAL file takes --loggops, --json, --dot, --all and --color");
  }
  sim::LogGopsParameters parameters;
  if (const auto given = arguments.text("loggops")) {
    const std::string problem = read_loggops(*given, parameters);
    if (!problem.empty()) {
      throw UsageError(models::Code::kOptionValue, fmt::format("--loggops: {}", problem),
                       "for example: --loggops L=2500,G=6");
    }
  }
  const auto dot_path = arguments.output_file("dot");
  const bool all = arguments.has("all");
  const std::string& path = arguments.one_file();

  TextInput input = TextInput::read(path, formats::kMaxGoalBytes, console);
  const formats::GoalFile file = input.require([&] {
    const ProgressLine progress(console);
    return formats::read_goal(input.text(), input.diagnostics());
  }());
  const sim::LogGopsOutcome outcome = [&] {
    const Simulating now(console);
    ProgressLine progress(console);
    return sim::run(file.program, parameters, {console.interrupted, progress.run()});
  }();
  // The names are created on first use, because they need the line numbers of the whole file.
  std::optional<formats::GoalNames> counted;
  const auto names = [&]() -> const formats::GoalNames& {
    if (!counted) counted.emplace(file, input.text());
    return *counted;
  };
  warn_of_unreceived(file, outcome, names, input.diagnostics());
  input.report();
  const sim::WaitGraph waits = outcome.end == sim::RunEnd::kStuck
                                   ? sim::wait_graph(file.program, outcome)
                                   : sim::WaitGraph();
  const models::LogGopsResult result{
      file.program, outcome, waits, [&](sim::ActorId op) -> models::LogGopsOpName {
        return {names().name(op), fmt::format("line {}", names().place(op).line),
                std::string(names().statement(op))};
      }};
  const models::Explanation explanation = models::explain(result);
  models::TaskGraph graph;  // has only the fields that the head of a report shows
  graph.ranks = file.program.rank_count;
  if (path != "-") graph.name = std::filesystem::path(path).stem().string();
  viz::Report report{graph, explanation, {}, {}, {}, {}, {}};
  if (all || dot_path) report.all_waits = all_waits(result);
  report.made_by = made_by(arguments);
  if (dot_path) {
    viz::WaitPicture picture = viz::wait_picture(graph, explanation, report.all_waits, !all);
    picture.made_by = report.made_by;
    write_file(*dot_path, viz::wait_for_dot(picture));
  }
  if (!all) report.all_waits.clear();
  console.out << (arguments.has("json")
                      ? viz::json_report(report, arguments.has("by-class"))
                      : viz::text_report(report, {console.out_colour, console.out_columns}));
  return exit_code(explanation);
}

}  // namespace pipesim::app
