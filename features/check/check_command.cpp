#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <sstream>
#include <sys/resource.h>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "formats/scenario/order_file.hpp"
#include "models/result/event_order.hpp"
#include "models/result/folded_run.hpp"
#include "viz/report/words.hpp"

#include "features/check/check.hpp"
#include "features/check/check_report.hpp"
#include "features/check/checked_ways.hpp"
#include "features/check/kernel_loads.hpp"
#include "features/check/nccl_modes.hpp"
#include "features/record/any_source.hpp"
#include "features/record/channels.hpp"
#include "features/record/free_order.hpp"
#include "features/record/record_input.hpp"

namespace pipesim::app {
namespace {

constexpr std::uint64_t kDefaultStates = 200'000;
constexpr std::uint64_t kDefaultWays = 1000;

// Stops an exploration on an interrupt, or after `seconds` (at least 1).
class Deadline {
 public:
  Deadline(const Console& console, std::uint64_t seconds)
      : interrupted_(console.interrupted), seconds_(seconds), thread_([this] { watch(); }) {}
  ~Deadline() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    ends_.notify_one();
    thread_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  const std::atomic<bool>* stop() const { return &stop_; }

 private:
  void watch() {
    constexpr auto kInterval = std::chrono::milliseconds(20);
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!ends_.wait_for(lock, kInterval, [this] { return is_over_; })) {
      const auto passed = std::chrono::steady_clock::now() - begin;
      const bool late = passed >= std::chrono::seconds(seconds_);
      if (late || (interrupted_ != nullptr && *interrupted_)) stop_ = true;
    }
  }

  const std::atomic<bool>* interrupted_;
  std::uint64_t seconds_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_over_ = false;
  std::thread thread_;  // last member: the thread uses all other members
};

int exit_code_of(const models::NcclModesReport& found, bool interrupted) {
  switch (found.answer) {
    case models::JobAnswer::kProved:
      return kExitGood;
    case models::JobAnswer::kByBuffers:
    case models::JobAnswer::kHangPossible:
    case models::JobAnswer::kHangCertain:
    case models::JobAnswer::kMismatch:
      return kExitBad;
    case models::JobAnswer::kUndecided:
      break;
  }
  return interrupted ? kExitInterrupted : kExitUndecided;
}

std::string order_text(const ScenarioInput& input, const std::vector<formats::Setting>& way,
                       const models::TaskGraph& graph, const models::CheckReport& check,
                       const models::NcclMode* mode) {
  formats::SavedOrder order;
  order.scenario = graph.name;
  order.settings = input.settings();
  order.settings.insert(order.settings.end(), way.begin(), way.end());
  if (mode != nullptr) order.settings.emplace_back("reading", models::nccl_mode_name(*mode));
  order.reading = check.exploration.reading;
  const models::Simulation& run = check.hang ? *check.hang : check.usual;
  order.steps = models::describe_order(graph, run.lowered, check.exploration.hang);
  return formats::write_order(order);
}

// Reasons to doubt an answer, from the scenario or the record.
struct Judgement {
  std::vector<std::string>& basis;  // assumptions of the answer, as reported
  std::string undecided{};          // headline of an undecided answer; empty: decided
  bool other_sender_hangs = false;  // for a recv from any source
};

// Makes the answer undecided. The exploration keeps its own answer, which the report uses to
// describe how the interleavings end.
void undecide(models::NcclModesReport& found, Judgement& judged, std::string headline) {
  found.answer = models::JobAnswer::kUndecided;
  judged.undecided = std::move(headline);
}

// Checks a variant of the record. Returns nullopt if the variant has mistakes.
std::optional<models::CheckReport> check_variant(const ScenarioInput& input,
                                                 const RecordInput& recorded,
                                                 const models::Record& variant,
                                                 const sim::ExploreOptions& options) {
  const auto scenario = input.read_variant(recorded.scenario_of(variant, input.rules()));
  models::Diagnostics ignored;
  auto lowered = scenario ? models::lower(scenario->graph, ignored) : std::nullopt;
  if (!lowered) return std::nullopt;
  return models::check(scenario->graph, std::move(*lowered), options);
}

// Makes a hang undecided if it does not occur with the recorded senders of recvs from any source.
// The script can react differently to each sender, but was recorded with one sender only. Considers
// only groups that are not under NCCL's rules. Adds to the basis of the answer.
void judge_any_source(const ScenarioInput& input, const RecordInput& recorded,
                      const sim::ExploreOptions& options, models::NcclModesReport& found,
                      Judgement& judged) {
  const models::Record& record = recorded.record();
  if (!models::has_any_source(record, RecordInput::rules_of(input.rules()))) return;
  if (found.answer == models::JobAnswer::kUndecided) return;
  if (found.answer == models::JobAnswer::kProved) {
    if (models::may_overtake_recvs(record)) return;
    judged.basis.emplace_back(
        "recvs from any source: all possible senders were tried, but the script always continues "
        "as in this recording");
    return;
  }
  auto as_recorded = check_variant(input, recorded, models::with_recorded_sources(record), options);
  if (!as_recorded || as_recorded->exploration.answer != sim::Answer::kProved) return;
  found.check = std::move(*as_recorded);
  undecide(found, judged, "it hangs only if another sender comes first");
  judged.other_sender_hangs = true;
  judged.basis.push_back(
      fmt::format("a recv from any source received from one rank here; with another sender this "
                  "recording can hang, but the script might then behave differently. 'pipesim "
                  "import record {}' writes a scenario in which 'pipesim check' shows this hang",
                  input.path()));
}

// Weakens the answer to "undecided" or "hang possible" if the scenario asks for this.
void judge_scenario(const formats::Undecided& undecided, models::NcclModesReport& found,
                    Judgement& judged) {
  if (found.answer == models::JobAnswer::kUndecided) return;
  // kMismatch also means that no interleaving hangs.
  const bool proved =
      found.answer == models::JobAnswer::kProved || found.answer == models::JobAnswer::kMismatch;
  const std::string& why = proved ? undecided.proved : undecided.hang;
  if (!why.empty()) undecide(found, judged, why);
  if (found.answer != models::JobAnswer::kHangCertain || undecided.possible.empty()) return;
  found.answer = models::JobAnswer::kHangPossible;
  found.check.exploration.answer = sim::Answer::kHangPossible;
  judged.basis.push_back(undecided.possible);
}

// Changes "proved" to "hang possible" if the job hangs without the sends whose Work the script
// drops, under gloo's rules. Timing decides whether gloo delivers such a send.
void judge_dropped_sends(const ScenarioInput& input, const RecordInput& recorded,
                         const sim::ExploreOptions& options, models::NcclModesReport& found) {
  const models::Record& record = recorded.record();
  const bool nccl = RecordInput::rules_of(input.rules()) == models::RecordRules::kNccl;
  if (nccl || found.answer != models::JobAnswer::kProved) return;
  if (models::dropped_sends(record).empty()) return;
  auto cancelled = check_variant(input, recorded, models::with_cancelled_sends(record), options);
  if (!cancelled || cancelled->hanging() == nullptr) return;
  found.answer = models::JobAnswer::kHangPossible;
  found.check = std::move(*cancelled);
  found.check.exploration.answer = sim::Answer::kHangPossible;
}

// Changes "hang certain" to "hang possible" if the job may complete because some ranks leave a
// reduce of few elements before all have called it, under gloo's rules.
void judge_early_reduces(const ScenarioInput& input, const RecordInput& recorded,
                         const sim::ExploreOptions& options, models::NcclModesReport& found,
                         Judgement& judged) {
  if (found.answer != models::JobAnswer::kHangCertain) return;
  const models::RecordRules rules = RecordInput::rules_of(input.rules());
  const auto early = models::with_early_reduces(recorded.record(), rules);
  if (!early) return;
  const auto weakest = check_variant(input, recorded, *early, options);
  if (!weakest) return;
  const bool hangs = weakest->hanging() != nullptr;
  if (hangs && !models::Channels(*early, rules).in_one_line()) return;
  found.answer = models::JobAnswer::kHangPossible;
  found.check.exploration.answer = sim::Answer::kHangPossible;
  judged.basis.emplace_back(
      "gloo lets some ranks leave a reduce of few elements before all have called it, so the job "
      "may complete");
}

using CheckOne = std::function<models::NcclModesReport(const models::TaskGraph&)>;

// Writes the HTML page. Reruns the hanging run, or else the default run, and records the times of
// its ops.
void write_page(models::TaskGraph graph, const viz::CheckView& view, bool all, std::string made_by,
                const std::string& path) {
  if (view.modes != nullptr) graph.nccl_mode = view.modes->shown;
  models::Diagnostics ignored;
  std::optional<models::Lowered> lowered = models::lower(graph, ignored);
  const sim::Exploration& found = view.check.exploration;
  sim::RunOptions run;
  run.keep_op_times = true;
  if (found.reading.any()) run.reading = &found.reading;
  if (!found.hang.empty()) run.order = &found.hang;
  const models::Simulation shown = models::simulate(graph, std::move(*lowered), run);
  // If timing decides nothing, check searches no interleavings, and all interleavings end like the
  // run `shown`.
  constexpr std::size_t kMaxSteps = 100'000;
  std::vector<sim::Event> order = found.hang;
  const bool any_ends_so = found.hang_found && found.method == sim::Method::kOneRun;
  if (order.empty() && any_ends_so && !shown.lowered.plan.faulty) {
    order = models::any_order(shown.lowered.plan, kMaxSteps);
  }
  std::vector<std::string> steps;
  for (models::OrderStep& step : models::describe_order(graph, shown.lowered, order)) {
    steps.push_back(std::move(step.what));
  }
  // Faults happen at fixed times, so only this run is possible.
  if (found.hang_found && shown.lowered.plan.faulty) {
    steps = models::describe_run(graph, shown, kMaxSteps);
  }
  write_check_page(graph, shown, viz::check_page(view, std::move(steps)), all, std::move(made_by),
                   path);
}

struct CheckOptions {
  std::uint64_t max_states = 0;
  std::optional<std::uint64_t> max_states_after_hang;  // nullopt: the default of ExploreOptions
  std::uint64_t max_ways = 0;
  std::uint64_t seconds = 0;  // time limit; 0: none
  std::optional<std::string> order_path;
  std::optional<std::string> dot_path;
  std::optional<std::string> html_path;
};

CheckOptions check_options(const Arguments& arguments) {
  constexpr std::uint64_t kMaxStates = 1'000'000'000;
  constexpr std::uint64_t kMaxSeconds = std::uint64_t{30} * 24 * 3600;
  CheckOptions options;
  options.max_states = arguments.number("states", 1, kMaxStates, kDefaultStates);
  if (arguments.has("states")) options.max_states_after_hang = options.max_states;
  options.max_ways = arguments.number("ways", 1, kMaxStates, kDefaultWays);
  options.seconds = arguments.number("seconds", 1, kMaxSeconds, 0);
  options.order_path = arguments.text("order");
  options.dot_path = arguments.output_file("dot");
  options.html_path = arguments.output_file("html");
  if (options.order_path == "-" && arguments.has("json")) {
    throw UsageError(models::Code::kOptionConflict,
                     "'--json' and '--order -' cannot be used together",
                     "only one of them can go to standard output");
  }
  return options;
}

// A single execution of `check`: its input, options and results.
class CheckRun {
 public:
  CheckRun(const Arguments& arguments, const ScenarioFiles& files, const Console& console)
      : arguments_(arguments),
        console_(console),
        options_(check_options(arguments)),
        input_(files, console),
        scenario_(input_.read()) {}

  int run() {
    models::add_context_locks(scenario_.graph);
    lay_out();
    basis_.assign(scenario_.rests_on.begin(), scenario_.rests_on.end());
    check();
    const int code = exit_code_of(modes_, interrupted());
    write_dot();
    if (!write_order()) report();
    return code;
  }

  // Whether the job hangs if a recv from any source takes the send of another rank than it did.
  bool other_sender_hangs() const { return other_sender_hangs_; }

 private:
  const models::TaskGraph& graph() const { return way_ ? way_->graph : scenario_.graph; }
  bool interrupted() const { return console_.interrupted != nullptr && *console_.interrupted; }
  // Whether to check all readings; false if the user asks for one reading, or if the readings do
  // not differ.
  bool all_modes() const {
    return !arguments_.has("reading") && models::has_nccl_modes(scenario_.graph);
  }
  // Whether the only checked reading relies on NCCL's buffers, which NCCL does not promise: `real`,
  // or `cold` if the plan buffers any call.
  bool relies_on_buffers() const {
    const models::NcclMode mode = scenario_.graph.nccl_mode;
    if (all_modes() || !models::has_nccl_modes(scenario_.graph)) return false;
    return mode == models::NcclMode::kReal ||
           (mode == models::NcclMode::kCold &&
            models::is_buffered(modes_.check.usual.lowered.plan));
  }
  bool in_words() const {
    return !arguments_.has("json") && !arguments_.has("all") && !options_.dot_path &&
           !options_.order_path && !options_.html_path;
  }
  bool has_order() const {
    const sim::Exploration& found = modes_.check.exploration;
    return !found.hang.empty() || found.reading.any();
  }

  // Lowers the job. Reports mistakes, which are the same in all readings.
  void lay_out() {
    const models::NcclMode asked = scenario_.graph.nccl_mode;
    if (all_modes()) scenario_.graph.nccl_mode = models::NcclMode::kContract;
    job_ = input_.require(models::lay_out_job(scenario_.graph, input_.diagnostics()));
    scenario_.graph.nccl_mode = asked;
    input_.report();
  }

  void check() {
    const Simulating now(console_);
    std::optional<Deadline> deadline;
    if (options_.seconds > 0) deadline.emplace(console_, options_.seconds);
    ProgressLine progress(console_);
    sim::ExploreOptions options;
    options.max_states = options_.max_states;
    if (options_.max_states_after_hang) {
      options.max_states_after_hang = *options_.max_states_after_hang;
    }
    options.stop = deadline ? deadline->stop() : console_.interrupted;
    options.progress = progress.exploration();
    const auto fold_hangs = in_words() ? models::FoldHangs::kYes : models::FoldHangs::kNo;
    const CheckOne check_one = [&](const models::TaskGraph& of) {
      if (all_modes()) {
        return models::check_nccl_modes(of, options, progress.run(),
                                        std::exchange(job_, std::nullopt), fold_hangs);
      }
      if (!job_) job_ = input_.require(models::lay_out_job(of, input_.diagnostics()));
      models::LaidOutJob job = *std::exchange(job_, std::nullopt);
      return models::one_nccl_mode(
          of, models::check(of, std::move(job), options, progress.run(), fold_hangs), options);
    };
    modes_ = check_one(scenario_.graph);
    Judgement judged{basis_};
    if (const RecordInput* record = record_of(input_.foreign_job())) {
      judge_any_source(input_, *record, options, modes_, judged);
      judge_dropped_sends(input_, *record, options, modes_);
      judge_early_reduces(input_, *record, options, modes_, judged);
    }
    check_other_ways(check_one, options.stop);
    judge_scenario(scenario_.undecided, modes_, judged);
    if (modes_.answer == models::JobAnswer::kUndecided) undecided_ = std::move(judged.undecided);
    other_sender_hangs_ = judged.other_sender_hangs;
    const std::vector<formats::Setting> way =
        ways_ ? ways_->settings : std::vector<formats::Setting>();
    const models::ProcessGroups groups = graph().process_groups;
    auto basis = empty_parts_basis(groups, modes_, [&]() -> std::optional<models::NcclModesReport> {
      const auto other = input_.read_with(way, !groups.sends_them);
      if (!other) return std::nullopt;
      return check_one(other->graph);
    });
    if (basis) basis_.push_back(std::move(*basis));
    for (std::string& line : viz::host_lines(modes_)) basis_.push_back(std::move(line));
    if (!all_modes()) return;
    // The report uses the reading of the shown run.
    scenario_.graph.nccl_mode = modes_.shown;
    if (way_) way_->graph.nccl_mode = modes_.shown;
  }

  void check_other_ways(const CheckOne& check_one, const std::atomic<bool>* stop) {
    JobChoices choices(scenario_);
    if (choices.empty()) return;
    std::optional<formats::Scenario> other;
    const auto check_way = [&](const std::vector<formats::Setting>& settings) {
      other = input_.read_with(settings);
      if (!other) {
        input_.fail(models::Code::kParameterValue,
                    fmt::format("with {} the scenario has a mistake, which 'pipesim run' shows",
                                settings_text(settings)));
      }
      return check_one(other->graph);
    };
    const auto keep = [&] { way_ = std::move(other); };
    ways_ = check_ways(std::move(choices), options_.max_ways, stop, check_way, keep, modes_);
  }

  // Writes the order of events. Returns whether the order went to standard output.
  bool write_order() const {
    if (!options_.order_path || !has_order()) return false;
    const std::vector<formats::Setting> way =
        ways_ ? ways_->settings : std::vector<formats::Setting>();
    return write_or_print(
        *options_.order_path,
        order_text(input_, way, graph(), modes_.check, all_modes() ? &modes_.shown : nullptr),
        console_.out);
  }

  void write_dot() const {
    const models::Simulation* hanging = modes_.check.hanging();
    if (hanging == nullptr || !options_.dot_path) return;
    write_file(*options_.dot_path,
               dot_of_end(graph(), *hanging, arguments_.has("all"), made_by(arguments_)));
  }

  void report() {
    const models::CheckReport& check = modes_.check;
    std::optional<viz::Report> hang;
    if (const models::Simulation* hanging = check.hanging()) {
      hang.emplace(report_of_end(graph(), *hanging, arguments_.has("all")));
      hang->alike = check.alike;
      hang->job = job_words(arguments_);
    }
    const RecordInput* record = record_of(input_.foreign_job());
    const viz::CheckView view{graph(),
                              check,
                              hang ? &*hang : nullptr,
                              options_.max_states,
                              check.exploration.stopped && !interrupted(),
                              record != nullptr,
                              std::move(basis_),
                              all_modes() ? &modes_ : nullptr,
                              record != nullptr && record->of_dumps(),
                              ways_ ? std::optional(ways_->view) : std::nullopt,
                              relies_on_buffers(),
                              undecided_,
                              modes_.by_loads.has_value()};
    if (options_.html_path) {
      write_page(graph(), view, arguments_.has("all"), made_by(arguments_), *options_.html_path);
    }
    print_report(
        arguments_, console_, [&] { return viz::check_report(view).json(); },
        [&](const auto& how) { return viz::check_text(view, how); });
    if (!options_.order_path || has_order()) return;
    console_.err << fmt::format("note: no order was written: {}\n",
                                check.exploration.hang_found
                                    ? "the run hangs with the default timing"
                                    : "no interleaving was found that hangs");
  }

  const Arguments& arguments_;
  const Console& console_;
  CheckOptions options_;
  ScenarioInput input_;
  formats::Scenario scenario_;
  std::optional<models::LaidOutJob> job_;  // job of the default way; empty once checked
  std::vector<std::string> basis_;
  bool other_sender_hangs_ = false;
  std::string undecided_;  // headline if the scenario or the record leaves the answer undecided
  std::optional<CheckedWays> ways_;
  std::optional<formats::Scenario> way_;  // the way that is shown; empty: the default way
  models::NcclModesReport modes_;
};

// Checks `files`, and prints the beginning of the report, up to the first empty line, only if the
// job can hang, with the recorded senders or with others. `when` begins the line.
int check_quietly(const Arguments& arguments, const ScenarioFiles& files, const std::string& when,
                  const Console& console) {
  std::ostringstream report;
  std::ostringstream findings;
  const Console quiet{.in = console.in,
                      .out = report,
                      .err = findings,
                      .interrupted = console.interrupted,
                      .simulating = console.simulating,
                      .passes = console.passes,
                      .out_columns = console.out_columns};
  CheckRun run(arguments, files, quiet);
  const int code = run.run();
  if (code == kExitBad || run.other_sender_hangs()) {
    const std::string text = report.str();
    console.out << when << text.substr(0, text.find("\n\n")) << "\n" << std::flush;
  }
  return code;
}

// Checks a job while it runs: the steps that all ranks have finished, again after each step that
// makes other calls, and its end.
int follow(const Arguments& arguments, const Console& console) {
  constexpr auto kInterval = std::chrono::seconds(5);
  constexpr int kLowestPriority = 19;
  for (const char* option : {"json", "all", "order", "html", "dot"}) {
    if (!arguments.has(option)) continue;
    throw UsageError(models::Code::kOptionConflict,
                     fmt::format("'--follow' and '--{}' cannot be used together", option));
  }
  if (setpriority(PRIO_PROCESS, 0, kLowestPriority) != 0) {
    console.err << "note: the checks run at normal priority\n";
  }
  ScenarioFiles files = scenario_files(arguments);
  std::string last;
  int code = kExitGood;
  bool can_hang = false;
  while (true) {
    const FollowedJob followed = follow_job(files.path, console);
    const std::string text = followed.job ? followed.job->scenario(files.rules) : "";
    if (followed.job && text != last) {
      files.job = followed.job;
      const std::string when =
          followed.goes_on
              ? fmt::format("after {}: ",
                            viz::counted(static_cast<std::uint64_t>(followed.steps), "step"))
          : followed.has_ended ? "at its end: "
                               : "now: ";
      code = check_quietly(arguments, files, when, console);
      can_hang = can_hang || code == kExitBad;
      last = text;
    }
    if (code == kExitInterrupted) return code;
    if (followed.has_ended) return can_hang ? kExitBad : code;
    std::this_thread::sleep_for(kInterval);
  }
}

int run_check(const Arguments& arguments, const Console& console) {
  if (arguments.has("follow")) return follow(arguments, console);
  return CheckRun(arguments, scenario_files(arguments), console).run();
}

std::vector<OptionGroup> check_options() {
  return {scenario_options(),
          {"Budget",
           {{.name = "states",
             .value = "N",
             .about = "Explore at most N branch points; without it, 5000 once a hang is known",
             .otherwise = std::to_string(kDefaultStates)},
            {.name = "ways",
             .value = "N",
             .about = "Check at most N combinations of the scenario's choices",
             .otherwise = std::to_string(kDefaultWays)},
            {.name = "seconds",
             .value = "N",
             .about = "Stop after N seconds; the coverage then depends on the machine"}}},
          {"Real jobs",
           {{.name = "follow",
             .about = "Check the job that 'pipesim attach' notes in FILE, a folder, while it runs: "
                      "each new kind of step, and the end; prints only what can hang"}}},
          {"Report", {json_option("the answer"), all_waits_option()}},
          {"Output files",
           {{.name = "order",
             .value = "FILE",
             .about = "Write the interleaving that hangs, for 'pipesim run --replay' ('-' prints "
                      "it)",
             .output = true},
            {.name = "html",
             .value = "FILE",
             .about = "Write a page with the answer under each NCCL model and the interleaving, "
                      "step by step",
             .output = true},
            dot_option()}},
          general_options()};
}

}  // namespace

Command check_command() {
  return {
      .name = "check",
      .about = "Verify that no interleaving of a scenario hangs",
      .usage = {"FILE [options]"},
      .description = {"Checks whether any interleaving of the events of the scenario in FILE can "
                      "hang, however long ops, launches and inputs take. 'pipesim run' simulates "
                      "one timing; 'pipesim check' covers all of them.",
                      kScenarioFileNote},
      .tables = {{"Verdicts",
                  {{"proved", "no interleaving hangs, by NCCL's contract and in a fresh job"},
                   {"runs by buffers", "it can hang by contract; NCCL's buffers hide the hang"},
                   {"no hang",
                    "with --reading real or cold: none hangs, which is no proof if "
                    "NCCL's buffers hide a hang"},
                   {"hang possible", "an interleaving that hangs was found and is reported"},
                   {"hang certain", "every interleaving hangs"},
                   {"mismatch", "no interleaving hangs, but calls that meet do not match"},
                   {"undecided", "no hang was found within the budget"}}}},
      .options = check_options(),
      .examples = {"pipesim check scenarios/swin_2x2x2.yaml --states 10000",
                   "pipesim check scenarios/pipeline_1f1b.yaml --set stages=512",
                   "pipesim check scenarios/buffer_on_the_wrong_stream.yaml --order order.json",
                   "pipesim run scenarios/buffer_on_the_wrong_stream.yaml --replay order.json",
                   "pipesim check --follow rec/"},
      .exit_status =
          "0 proved or no hang, 1 a hang is possible or certain, 2 invalid input or usage, 3 "
          "undecided, 74 a file could not be read or written, 130 interrupted",
      .pages = {"docs/explanation/check.md"},
      .run = run_check,
  };
}

}  // namespace pipesim::app
