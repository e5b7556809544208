#include "app/commands/goal_command.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "formats/goal/goal_names.hpp"
#include "formats/goal/goal_reader.hpp"
#include "models/explain/loggops_explanation.hpp"
#include "models/graph/task_graph.hpp"
#include "viz/draw/wait_for_dot.hpp"
#include "viz/json/json_report.hpp"
#include "viz/text/diagnostic_text.hpp"
#include "viz/text/text_report.hpp"

namespace pipesim::app {
namespace {

// So much of each is far beyond any network, and sums of them do not pass the end of time.
constexpr std::int64_t kMostOfParameter = 1'000'000'000'000;

// One of "L=2500".
std::string read_parameter(std::string_view text, sim::LogGopsParameters& parameters,
                           std::string& given) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  constexpr std::string_view kNames = "LogGOS";
  const bool known = name.size() == 1 && kNames.find(name) != std::string_view::npos;
  if (!known) {
    return fmt::format("there is no LogGOPS parameter '{}': they are L, o, g, G, O and S", name);
  }
  if (given.find(name) != std::string::npos) return fmt::format("'{}' is given twice", name);
  given += name;
  const std::string_view value = text.substr(std::min(equals + 1, text.size()));
  std::int64_t number = 0;
  const auto [stop, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool good = problem == std::errc() && stop == value.data() + value.size() && number >= 0 &&
                    number <= kMostOfParameter;
  if (!good) {
    return fmt::format("'{}' needs a whole number from 0 to {}{}, found '{}'", name,
                       kMostOfParameter, name == "S" ? " (bytes)" : " (nanoseconds)", value);
  }
  switch (name.front()) {
    case 'L':
      parameters.latency_ns = number;
      break;
    case 'o':
      parameters.overhead_ns = number;
      break;
    case 'g':
      parameters.gap_ns = number;
      break;
    case 'G':
      parameters.gap_per_byte_ns = number;
      break;
    case 'O':
      parameters.overhead_per_byte_ns = number;
      break;
    default:
      parameters.eager_bytes = static_cast<std::uint64_t>(number);
      break;
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

// A message that nobody receives holds nothing up, and is a mistake of the program all the same.
// Returns whether there is one.
bool warn_of_unreceived(const formats::GoalFile& file, const sim::LogGopsOutcome& outcome,
                        const std::function<const formats::GoalNames&()>& names,
                        models::Diagnostics& diagnostics) {
  const bool at_rest = outcome.end == sim::RunEnd::kCompleted || outcome.end == sim::RunEnd::kStuck;
  const std::vector<sim::ActorId> sends = sim::unreceived(file.program, outcome);
  if (sends.empty() || !at_rest) return false;
  const sim::LogGopsOp& first = file.program.ops[sends.front().value];
  diagnostics.warning(
      names().place(sends.front()),
      sends.size() == 1
          ? fmt::format("no receive of rank {} takes this message", first.peer)
          : fmt::format("no receive of rank {} takes this message, the first of {} that none takes",
                        first.peer, sends.size()));
  return true;
}

}  // namespace

bool is_goal_path(const std::string& path) {
  constexpr std::string_view kEnding = ".goal";
  return path.size() > kEnding.size() && path.ends_with(kEnding);
}

std::string read_loggops(const std::string& text, sim::LogGopsParameters& parameters) {
  std::string given;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    std::string problem = read_parameter(part, parameters, given);
    if (!problem.empty()) return problem;
    begin = end + 1;
  }
  return {};
}

int run_goal(const GoalCommand& command, const Console& console) {
  const std::string text = read_file(command.path, console.in, formats::kMostGoalBytes);
  const std::string shown = command.path == "-" ? "standard input" : command.path;
  models::Diagnostics diagnostics;
  const auto complain = [&] {
    console.err << viz::diagnostic_text(diagnostics, shown, text, console.err_colour);
  };
  const std::optional<formats::GoalFile> file = [&] {
    const ProgressLine progress(console);
    return formats::read_goal(text, diagnostics);
  }();
  if (!file) {
    complain();
    return kExitUsage;
  }
  const sim::LogGopsOutcome outcome = [&] {
    const Simulating now(console);
    ProgressLine progress(console);
    return sim::run(file->program, command.parameters, {console.interrupted, progress.run()});
  }();
  // Counts the lines of the file, which a run that completes has no need of.
  std::optional<formats::GoalNames> counted;
  const auto names = [&]() -> const formats::GoalNames& {
    if (!counted) counted.emplace(*file, text);
    return *counted;
  };
  if (warn_of_unreceived(*file, outcome, names, diagnostics)) complain();
  const sim::WaitGraph waits = outcome.end == sim::RunEnd::kStuck
                                   ? sim::wait_graph(file->program, outcome)
                                   : sim::WaitGraph();
  const models::LogGopsResult result{
      file->program, outcome, waits, [&](sim::ActorId op) -> models::LogGopsOpName {
        return {names().name(op), fmt::format("line {}", names().place(op).line),
                std::string(names().statement(op))};
      }};
  const models::Explanation explanation = models::explain(result);
  models::TaskGraph graph;  // only what heads a report
  graph.ranks = file->program.rank_count;
  if (command.path != "-") graph.name = std::filesystem::path(command.path).stem().string();
  viz::Report report{graph, explanation, {}, {}, {}, {}, {}};
  if (command.all || command.dot_path) report.all_waits = all_waits(result);
  if (command.dot_path) {
    write_file(*command.dot_path, viz::wait_for_dot(viz::wait_picture(
                                      graph, explanation, report.all_waits, !command.all)));
  }
  if (!command.all) report.all_waits.clear();
  console.out << (command.json
                      ? viz::json_report(report)
                      : viz::text_report(report, {console.out_colour, console.out_columns}));
  return exit_code(explanation);
}

}  // namespace pipesim::app
