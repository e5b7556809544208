#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/op_query.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "models/graph/diagnostics.hpp"
#include "models/result/why.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/text_report.hpp"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

// Prints a record's explanation of where its ranks part. Python wrote the explanation during
// 'pipesim record', because only Python knows the script's source.
int explain_record(const Arguments& arguments, const std::string& record, const Console& console) {
  std::error_code error;
  const fs::path folder =
      fs::is_directory(record, error) ? fs::path(record) : fs::path(record).parent_path();
  const fs::path file = folder / (arguments.has("json") ? "why.json" : "why.txt");
  if (!fs::exists(file, error)) {
    if (fs::exists(folder / "rank0.calls", error)) {
      throw InputError(models::Code::kFile,
                       fmt::format("'{}' has the notes of a real job only", record),
                       "'pipesim fix DIR' records its script, and explains the hang; for one op: "
                       "pipesim why DIR 'rank 0 all_reduce#3'");
    }
    throw InputError(models::Code::kFile,
                     fmt::format("'{}' does not say where its ranks part", record),
                     "'pipesim record -o DIR' finds out if the script hangs; for one op: pipesim "
                     "why DIR 'rank 0 all_reduce#3'");
  }
  console.out << read_file(file.string(), console.in);
  return kExitBad;
}

int run_why(const Arguments& arguments, const Console& console) {
  const auto& given = arguments.positional();
  if (given.size() == 1 && is_foreign_path(given[0])) {
    return explain_record(arguments, given[0], console);
  }
  if (given.size() != 2) {
    throw UsageError(models::Code::kArguments,
                     fmt::format("'pipesim why' needs a file and an op, found {} argument{}",
                                 given.size(), given.size() == 1 ? "" : "s"),
                     "for example: pipesim why FILE 'rank 0 gather#3'");
  }
  const sim::Jitter variation = jitter(arguments);
  ScenarioInput input(scenario_files(arguments, given[0]), console);
  const formats::Scenario scenario = input.read();
  note_choices(scenario, console);
  const models::TaskGraph& graph = scenario.graph;
  const OpQuery query = input.require(read_op(given[1], graph, "why", input.diagnostics()));
  auto lowered = input.require(models::lower(graph, input.diagnostics()));
  const FoundOp op = input.require(find_op(query, graph, lowered, "why", input.diagnostics()));
  const models::Simulation run = [&] {
    WatchedRun watched(console);
    watched.options.jitter = variation;
    watched.options.keep_op_times = true;
    return models::simulate(graph, std::move(lowered), watched.options);
  }();
  input.report();
  const models::Why found = models::why(graph, run, op.actor, op.k);
  print_report(
      arguments, console, [&] { return viz::why_json(run.explanation, found); },
      [&](const auto& how) { return viz::why_text(run.explanation, found, how); });
  if (run.outcome.end == sim::RunEnd::kInterrupted) return kExitInterrupted;
  if (found.times) return kExitGood;
  return run.outcome.end == sim::RunEnd::kStuck ? kExitBad : kExitUndecided;
}

}  // namespace

Command why_command() {
  return {
      .name = "why",
      .about = "Explain why one op is not done, or where the ranks of a script part",
      .usage = {"FILE OP [options]", "RECORD [options]"},
      .description =
          {"Runs the scenario in FILE and explains why OP is not done: the chain of waits from it "
           "to the cycle or the root cause. OP is written as in "
           "reports, 'rank 1 gather#2', or as rank1:gather#2; without the number if it runs "
           "once.",
           "With a directory written by 'pipesim record' and no OP, prints where the ranks of the "
           "script part: the branch, loop or value after which their calls differ.",
           kScenarioFileNote},
      .options = {scenario_options(),
                  {"Run", {jitter_option(), seed_option()}},
                  {"Report", {json_option("the answer")}},
                  general_options()},
      .examples = {"pipesim why scenarios/swin_2x2x2.yaml 'rank 7 H2#4'",
                   "pipesim why scenarios/rank_segfault.yaml 'rank 3 step#1' --json | jq .chain",
                   "pipesim why record/"},
      .exit_status =
          "0 the op is done, 1 it never completes, 2 invalid input or usage, 3 undecided (a "
          "limit was reached first), 74 a file could not be read, 130 interrupted",
      .pages = {"docs/how-to/inspect.md"},
      .run = run_why,
  };
}

}  // namespace pipesim::app
