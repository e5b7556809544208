#include "app/run_command.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/files.hpp"
#include "models/remedies.hpp"
#include "models/simulation.hpp"
#include "viz/diagnostic_text.hpp"
#include "viz/json_report.hpp"
#include "viz/stack_dump.hpp"
#include "viz/table.hpp"
#include "viz/text_report.hpp"
#include "viz/wait_for_dot.hpp"

namespace pipesim::app {
namespace {

using models::Simulation;

// While this lives, Ctrl-C is the simulation's.
class Simulating {
 public:
  explicit Simulating(const Console& console) : flag_(console.simulating) {
    if (flag_ != nullptr) *flag_ = true;
  }
  ~Simulating() {
    if (flag_ != nullptr) *flag_ = false;
  }
  Simulating(const Simulating&) = delete;
  Simulating& operator=(const Simulating&) = delete;

 private:
  std::atomic<bool>* flag_;
};

std::string shown_path(const std::string& path) { return path == "-" ? "standard input" : path; }

// What may have several lines, in one.
std::string one_line(std::string text) {
  text.erase(text.find_last_not_of('\n') + 1);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return models::printable(text);
}

std::string parameter_table(const formats::Scenario& scenario) {
  if (scenario.parameters.empty()) return "The scenario has no parameters.\n";
  viz::Table table({"parameter", "value", "can be", "what it is"});
  for (const formats::Parameter& parameter : scenario.parameters) {
    std::string can_be(formats::type_name(parameter.value.type));
    if (!parameter.options.empty()) can_be = fmt::format("{}", fmt::join(parameter.options, ", "));
    table.add(
        {parameter.name, formats::to_text(parameter.value), can_be, one_line(parameter.about)});
  }
  return table.text();
}

int exit_code(const models::Explanation& explanation) {
  if (explanation.cause == models::Cause::kInterrupted) return kExitInterrupted;
  switch (explanation.verdict) {
    case sim::Verdict::kCompleted:
      return kExitGood;
    case sim::Verdict::kLimit:
      return kExitUndecided;
    case sim::Verdict::kDeadlock:
    case sim::Verdict::kStarved:
    case sim::Verdict::kMismatch:
    case sim::Verdict::kCrashed:
      break;
  }
  return kExitBad;
}

std::vector<models::Wait> all_waits(const models::TaskGraph& graph, const Simulation& simulation) {
  std::vector<models::Wait> waits;
  waits.reserve(simulation.waits.edges.size());
  for (const sim::WaitEdge& edge : simulation.waits.edges) {
    waits.push_back(models::describe_wait(graph, simulation.lowered, simulation.outcome.state,
                                          simulation.waits, edge));
  }
  return waits;
}

// The time of the launch of an act is known from a run before. False, with a reason, where it never
// happens.
bool set_until(const Until& until, const models::TaskGraph& graph, models::Diagnostics& diagnostics,
               sim::RunOptions& options) {
  if (until.time) {
    options.until = *until.time;
    return true;
  }
  sim::RunOptions keep = options;
  keep.keep_act_times = true;
  const std::optional<Simulation> before = models::simulate(graph, diagnostics, keep);
  if (!before) return false;
  const sim::Plan& plan = before->lowered.plan;
  const std::string name = fmt::format("rank {} {}#{}", until.rank, until.op, until.act);
  for (const sim::ActorId id : ids_of(plan.actors)) {
    if (plan.actors[id].rank.value != until.rank) continue;
    if (graph.actors[before->lowered.actor_template[id]].name != until.op) continue;
    if (until.act > plan.actors[id].acts) {
      diagnostics.error({}, fmt::format("--until: rank {} {} acts {} times, so there is no #{}",
                                        until.rank, until.op, plan.actors[id].acts, until.act));
      return false;
    }
    const auto index = before->outcome.first_act[id] + until.act - 1;
    options.until = before->outcome.act_times[index].launch;
    if (options.until != sim::kNever) return true;
    diagnostics.error({}, fmt::format("--until: {} is never launched", name));
    return false;
  }
  models::Diagnostic& error = diagnostics.error({}, fmt::format("--until: there is no {}", name));
  std::vector<std::string> names;
  for (const models::ActorTemplate& actor : graph.actors) {
    if (actor.on.contains(until.rank)) names.push_back(actor.name);
  }
  models::suggest_name(error, until.op, names);
  return false;
}

}  // namespace

int run_run(const RunCommand& command, const Console& console) {
  const std::string text = read_file(command.path, console.in);
  models::Diagnostics diagnostics;
  const auto complain = [&] {
    console.err << viz::diagnostic_text(diagnostics, shown_path(command.path), text,
                                        console.err_colour);
    return kExitUsage;
  };
  const std::optional<formats::Scenario> scenario =
      formats::read_scenario(text, command.settings, diagnostics);
  if (!scenario) return complain();
  if (command.list_parameters) {
    console.out << parameter_table(*scenario);
    return kExitGood;
  }
  sim::RunOptions options;
  options.stop = console.interrupted;
  if (command.until && !set_until(*command.until, scenario->graph, diagnostics, options)) {
    return complain();
  }
  const std::optional<Simulation> simulation = [&] {
    const Simulating now(console);
    return models::simulate(scenario->graph, diagnostics, options);
  }();
  if (!simulation) return complain();
  const models::Explanation& explanation = simulation->explanation;

  viz::Report report{scenario->graph, explanation, {}, {}, {}};
  report.misplacements = models::find_misplacements(scenario->graph, explanation);
  report.remedies = models::find_remedies(scenario->graph, explanation);
  if (command.all) report.all_waits = all_waits(scenario->graph, *simulation);
  // The picture first: if it cannot be written, that is all there is to say.
  if (command.dot_path) {
    const std::string title = fmt::format("{}: who waits for whom", scenario->graph.name);
    write_file(*command.dot_path,
               viz::wait_for_dot({title, explanation.cycle, all_waits(scenario->graph, *simulation),
                                  !command.all}));
  }
  if (command.stacks) {
    console.out << viz::stack_dump(explanation, shown_path(command.path));
    return exit_code(explanation);
  }
  console.out << (command.json ? viz::json_report(report)
                               : viz::text_report(report, {console.out_colour}));
  return exit_code(explanation);
}

}  // namespace pipesim::app
