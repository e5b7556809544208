// The sweep command. All runs are known from the start, and are independent. Threads take the runs
// one by one, and results are merged in the order of run numbers. The output is the same with any
// number of threads or shards, and after interruptions.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/input/schedule_input.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "app/version.hpp"
#include "app/workers.hpp"
#include "models/lowering/lowering.hpp"
#include "models/result/folded_run.hpp"
#include "models/result/jitter.hpp"
#include "models/result/simulation.hpp"
#include "viz/report/words.hpp"

#include "features/sweep/shard.hpp"
#include "features/sweep/sweep_journal.hpp"
#include "features/sweep/sweep_report.hpp"

namespace pipesim::app {
namespace {

using formats::Setting;
using formats::Shard;
using models::CaseResult;
using models::Diagnostics;
using models::SweepCases;
using models::SweepPoint;

struct Sweep {
  std::vector<Setting> settings;
  models::ParameterGrid grid;
  unsigned jobs = 0;                  // threads; 0: one per core
  std::optional<Shard> shard;         // the only part to run; nullopt: all
  std::optional<std::string> output;  // file to which each run is appended when it ends
};

/// The requested outputs: the format of standard output, and further files.
struct ResultFiles {
  bool json = false;  // standard output has JSON instead of text
  std::optional<std::string> csv_path;
  std::optional<std::string> plot_path;
  std::optional<std::string> html_path;
};

// ---------------------------------------------------------------------------------------------
// The scenario in all its settings

/// A scenario with some settings, and its lowered job. All timings of these settings share one
/// Prepared.
struct Prepared {
  formats::Scenario scenario;
  models::LaidOutJob job;
};

std::optional<CaseResult> run_case(const Prepared& prepared, const sim::Jitter& jitter,
                                   const std::atomic<bool>* stop) {
  const models::TaskGraph& graph = prepared.scenario.graph;
  if (const auto* all = std::get_if<models::Lowered>(&prepared.job)) {
    return models::run_case(graph, *all, jitter, stop);
  }
  const auto& few = std::get<models::FoldedJob>(prepared.job);
  if (auto result = models::run_case_folded(graph, few, stop)) return result;
  return models::run_case(graph, models::lower_all(graph), jitter, stop);
}

class Combinations {
 public:
  Combinations(const Sweep& sweep, const SweepCases& cases, const std::string& text)
      : sweep_(sweep), cases_(cases), text_(text), slots_(cases.combinations.size()) {}

  /// Reads the scenario in every combination, to report mistakes before any run. On mistakes,
  /// returns false and puts the mistakes of the first bad combination into `diagnostics`.
  bool check(Diagnostics& diagnostics, const Console& console) {
    std::mutex mutex;
    std::size_t first_bad = slots_.size();
    std::atomic<std::size_t> read{0};
    const ProgressLine progress(console, [&] {
      return fmt::format("reading the scenario in {} of {}", read.load(),
                         viz::counted(slots_.size(), "setting"));
    });
    Workers workers(slots_.size(), sweep_.jobs, [&](std::size_t i) {
      Diagnostics found;
      std::shared_ptr<const Prepared> prepared = prepare(i, found);
      ++read;
      const std::lock_guard<std::mutex> lock(mutex);
      if (!prepared) {
        if (i > first_bad) return;
        first_bad = i;
        diagnostics = found;
      } else {
        if (i == 0) name_ = prepared->scenario.graph.name;
        kept_actors_ += models::lowered_of(prepared->job).plan.actors.size();
        if (kept_actors_ <= kMaxKeptActors) slots_[i].prepared = std::move(prepared);
      }
    });
    workers.wait_for(slots_.size());
    return first_bad == slots_.size();
  }

  const std::string& name() const { return name_; }

  /// Returns a combination. Prepares the combination if necessary. Any thread can call this
  /// function.
  std::shared_ptr<const Prepared> get(std::size_t combination) {
    Slot& slot = slots_[combination];
    const std::lock_guard<std::mutex> lock(slot.mutex);
    if (!slot.prepared) {
      Diagnostics checked;
      slot.prepared = prepare(combination, checked);
    }
    return slot.prepared;
  }

  /// Counts a run that is still to do. done() drops a combination after its last run.
  void expect(std::size_t combination) { ++slots_[combination].runs_left; }
  void done(std::size_t combination) {
    Slot& slot = slots_[combination];
    const std::lock_guard<std::mutex> lock(slot.mutex);
    if (--slot.runs_left == 0) slot.prepared.reset();
  }

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const Prepared> prepared;
    std::uint64_t runs_left = 0;
  };

  // Limit on the actors that check() keeps in total. Combinations beyond the limit are prepared
  // again when their runs begin.
  static constexpr std::size_t kMaxKeptActors = 1'000'000;

  std::vector<Setting> settings_of(std::size_t combination) const {
    std::vector<Setting> settings = sweep_.settings;
    const SweepPoint& point = cases_.points[cases_.combinations[combination]];
    for (std::size_t i = 0; i < point.values.size(); ++i) {
      const std::string& name = sweep_.grid.variables[i].name;
      if (name != models::kJitterVariable) settings.emplace_back(name, point.values[i]);
    }
    return settings;
  }

  bool is_varied(const std::string& name) const {
    const auto& variables = sweep_.grid.variables;
    return std::any_of(variables.begin(), variables.end(),
                       [&](const models::SweptVariable& v) { return v.name == name; });
  }

  std::shared_ptr<const Prepared> prepare(std::size_t combination, Diagnostics& diagnostics) const {
    const std::vector<Setting> settings = settings_of(combination);
    Diagnostics found;
    auto scenario = formats::read_scenario(text_, settings, found);
    if (scenario) check_jitter(scenario->parameters, found);
    std::optional<models::LaidOutJob> job;
    const SweepPoint& point = cases_.points[cases_.combinations[combination]];
    if (scenario && !found.has_errors()) job = lay_out(scenario->graph, point, found);
    if (!job) {
      add_to(found, settings, diagnostics);
      return nullptr;
    }
    return std::make_shared<const Prepared>(Prepared{std::move(*scenario), std::move(*job)});
  }

  // Lowers only representative ranks, with two exceptions: in a small job, folding saves nothing;
  // with random timings, all ranks differ. `point` is the first point of the combination.
  std::optional<models::LaidOutJob> lay_out(const models::TaskGraph& graph, const SweepPoint& point,
                                            Diagnostics& found) const {
    constexpr std::uint32_t kMinRanks = 256;
    const bool in_own_times = !is_varied(models::kJitterVariable) && !point.jitter.varies();
    const bool may_fold = in_own_times && graph.ranks >= kMinRanks;
    return may_fold ? models::lay_out_job(graph, found) : models::lower(graph, found);
  }

  void check_jitter(const std::vector<formats::Parameter>& parameters, Diagnostics& found) const {
    const bool has = std::any_of(parameters.begin(), parameters.end(), [](const auto& parameter) {
      return parameter.name == models::kJitterVariable;
    });
    if (!has || !is_varied(models::kJitterVariable)) return;
    found
        .error({}, models::Code::kOptionValue,
               "--vary jitter: ambiguous, since the scenario has a parameter of this name")
        .notes.emplace_back("'jitter' varies durations: rename the parameter");
  }

  // Adds `found` to `diagnostics`, with the names of the user's options and the settings that cause
  // the mistakes.
  void add_to(const Diagnostics& found, const std::vector<Setting>& settings,
              Diagnostics& diagnostics) const {
    std::string with;
    for (std::size_t i = sweep_.settings.size(); i < settings.size(); ++i) {
      with += fmt::format("{}{}={}", with.empty() ? "with " : ", ", settings[i].first,
                          settings[i].second);
    }
    for (models::Diagnostic item : found.sorted()) {
      for (const auto& [name, value] : settings) {
        const std::string set = fmt::format("--set {}=", name);
        if (item.message.rfind(set, 0) != 0 || !is_varied(name)) continue;
        item.message.replace(0, set.size(), fmt::format("--vary {}=", name));
      }
      if (item.message.rfind("--set jitter=", 0) == 0) {
        item.notes.emplace_back("use '--vary jitter=10%' to vary durations");
      }
      if (item.place.line > 0 && !with.empty()) item.notes.push_back(with);
      models::Diagnostic& added = item.severity == models::Severity::kError
                                      ? diagnostics.error(item.place, item.code, item.message)
                                      : diagnostics.warning(item.place, item.code, item.message);
      added.notes = item.notes;
    }
  }

  const Sweep& sweep_;
  const SweepCases& cases_;
  const std::string& text_;
  std::deque<Slot> slots_;  // by combination
  std::size_t kept_actors_ = 0;
  std::string name_;
};

// ---------------------------------------------------------------------------------------------
// Results

// Writes all outputs. `ends` holds the explained end of the first run of each hang, as far as
// known.
int present(const viz::SweepReport& report, const ResultFiles& files,
            const std::vector<models::Explanation>& ends, const Console& console) {
  const std::string made_by =
      fmt::format("pipesim {}: {}", version(), viz::sweep_command_text(report));
  if (files.html_path) write_file(*files.html_path, viz::sweep_page(report, ends, made_by));
  if (files.plot_path) write_file(*files.plot_path, viz::sweep_plot(report, made_by));
  if (files.csv_path) write_or_print(*files.csv_path, viz::sweep_csv(report), console.out);
  if (files.csv_path != "-") {
    console.out << (files.json ? viz::sweep_json(report)
                               : viz::sweep_text(report, console.out_colour) +
                                     last_line(made_by, console));
  }
  return report.summary.not_completed == 0 ? kExitGood : kExitBad;
}

std::string output_path(const Sweep& sweep) {
  std::string path = *sweep.output;
  const std::string mark = "{shard}";
  const std::size_t at = path.find(mark);
  if (at == std::string::npos) return path;
  return path.replace(at, mark.size(), std::to_string(sweep.shard.value_or(Shard()).index));
}

// Returns the text of a sweep file with all runs of a shard, in order.
std::string whole_file(const formats::SweepHead& head, const std::vector<std::uint64_t>& numbers,
                       const std::vector<CaseResult>& results) {
  std::string text = formats::sweep_head_line(head);
  for (const std::uint64_t number : numbers) {
    text += formats::sweep_case_line(number, results[number]);
  }
  return text;
}

class SweepRun {
 public:
  SweepRun(const Sweep& sweep, const ResultFiles& files, const SweepCases& cases,
           const formats::SweepHead& head, Combinations& combinations, const Console& console)
      : sweep_(sweep),
        files_(files),
        cases_(cases),
        head_(head),
        combinations_(combinations),
        console_(console),
        results_(cases.count) {}

  int run() {
    std::unique_ptr<SweepJournal> journal;
    if (sweep_.output) {
      journal =
          std::make_unique<SweepJournal>(output_path(sweep_), head_, cases_, console_.err_colour);
      if (!journal->problem().empty()) {
        console_.err << journal->problem();
        return kExitUsage;
      }
      for (const auto& [number, result] : journal->done()) results_[number] = result;
    }
    list_runs(journal.get());
    {
      const Simulating now(console_);
      const ProgressLine progress(console_, [this] {
        return fmt::format("running settings and timings: {} of {} runs",
                           shard_.size() - left_.size() + done_, shard_.size());
      });
      Workers workers(left_.size(), sweep_.jobs,
                      [&](std::size_t i) { run_one(left_[i], journal.get()); });
      workers.wait_for(left_.size());
    }
    if (done_ < left_.size()) return interrupted();
    return finish();
  }

 private:
  void list_runs(const SweepJournal* journal) {
    for (std::uint64_t number = 0; number < cases_.count; ++number) {
      if (!is_in(head_.shard, number)) continue;
      shard_.push_back(number);
      if (journal != nullptr && journal->done().count(number) > 0) continue;
      left_.push_back(number);
      combinations_.expect(cases_.point_of(number).combination);
    }
  }

  void run_one(std::uint64_t number, SweepJournal* journal) {
    const std::atomic<bool>* stop = console_.interrupted;
    if (stop != nullptr && stop->load()) return;
    const std::size_t combination = cases_.point_of(number).combination;
    const std::shared_ptr<const Prepared> prepared = combinations_.get(combination);
    const auto result = run_case(*prepared, cases_.jitter_of(sweep_.grid, number), stop);
    combinations_.done(combination);
    if (!result) return;
    results_[number] = *result;
    if (journal != nullptr) journal->add(number, *result);
    ++done_;
  }

  int interrupted() const {
    const std::size_t done = shard_.size() - left_.size() + done_;
    console_.err << fmt::format("interrupted: {} of {} runs are done; {}\n", done, shard_.size(),
                                sweep_.output
                                    ? fmt::format("they are in {}, and the same command resumes "
                                                  "from there",
                                                  output_path(sweep_))
                                    : "with -o FILE they would have been kept");
    return kExitInterrupted;
  }

  int finish() const {
    if (sweep_.output) {
      write_file(output_path(sweep_), whole_file(head_, shard_, results_));
    }
    if (sweep_.shard) {
      const auto bad = std::count_if(shard_.begin(), shard_.end(), [&](std::uint64_t number) {
        return results_[number].verdict != sim::Verdict::kCompleted;
      });
      console_.out << fmt::format("shard {}/{}: {} done, {} of them not completed, in {}\n",
                                  head_.shard.index, head_.shard.count,
                                  viz::counted(shard_.size(), "run"), bad, output_path(sweep_));
      return kExitGood;
    }
    const viz::SweepReport report{head_.path,
                                  head_.name,
                                  head_.settings,
                                  head_.grid,
                                  cases_,
                                  results_,
                                  models::summarize(cases_, results_)};
    const std::vector<models::Explanation> ends =
        files_.html_path ? ends_of(report.summary.hangs) : std::vector<models::Explanation>();
    return present(report, files_, ends, console_);
  }

  // Reruns the first run of each hang, to find its waits.
  std::vector<models::Explanation> ends_of(const std::vector<models::DistinctHang>& hangs) const {
    std::vector<models::Explanation> ends;
    const ProgressLine progress(console_, [] { return std::string("explaining hangs"); });
    for (std::size_t i = 0; i < std::min(viz::kMaxPageHangs, hangs.size()); ++i) {
      const std::uint64_t number = hangs[i].first_case;
      const auto prepared = combinations_.get(cases_.point_of(number).combination);
      sim::RunOptions options;
      options.jitter = cases_.jitter_of(sweep_.grid, number);
      options.stop = console_.interrupted;
      Diagnostics checked;
      auto simulation = models::simulate(prepared->scenario.graph, checked, options);
      if (!simulation) break;
      ends.push_back(std::move(simulation->explanation));
    }
    return ends;
  }

  const Sweep& sweep_;
  const ResultFiles& files_;
  const SweepCases& cases_;
  const formats::SweepHead& head_;
  Combinations& combinations_;
  const Console& console_;
  std::vector<CaseResult> results_;   // results of the runs of the shard, by run number
  std::vector<std::uint64_t> shard_;  // run numbers of the shard
  std::vector<std::uint64_t> left_;   // run numbers still to do at the start
  std::atomic<std::size_t> done_{0};  // finished runs of left_
};

// ---------------------------------------------------------------------------------------------
// Merging shards

struct Part {
  std::string path;
  formats::SweepFile file;
};

// Returns the reason why the parts are not a whole sweep, or an empty string.
std::string problem_of(const std::vector<Part>& parts, const SweepCases& cases) {
  const std::uint32_t count = parts.front().file.head.shard.count;
  std::vector<const Part*> by_index(count, nullptr);
  for (const Part& part : parts) {
    const formats::SweepHead& head = part.file.head;
    if (!head.same_sweep(parts.front().file.head)) {
      return fmt::format("{} and {} are not of the same sweep", parts.front().path, part.path);
    }
    const Part*& slot = by_index[head.shard.index - 1];
    if (slot != nullptr) {
      return fmt::format("shard {}/{} is given twice: {} and {}", head.shard.index, count,
                         slot->path, part.path);
    }
    slot = &part;
  }
  std::vector<std::uint32_t> missing;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (by_index[i] == nullptr) missing.push_back(i + 1);
  }
  if (!missing.empty()) {
    return fmt::format("{} of {} shards {} missing: {}", missing.size(), count,
                       missing.size() == 1 ? "is" : "are", viz::ranges(missing));
  }
  for (const Part& part : parts) {
    const Shard& shard = part.file.head.shard;
    const std::uint64_t expected = (cases.count + count - shard.index) / count;
    for (const auto& [number, result] : part.file.cases) {
      if (number < cases.count && is_in(shard, number)) continue;
      return fmt::format("{}: run {} does not belong to shard {}/{}", part.path, number,
                         shard.index, shard.count);
    }
    if (part.file.cases.size() == expected) continue;
    return fmt::format(
        "shard {}/{} is not finished: {} has {} of {} runs; run its command again to resume",
        shard.index, count, part.path, part.file.cases.size(), expected);
  }
  return "";
}

int merge(const std::vector<std::string>& paths, const ResultFiles& files, const Console& console) {
  std::vector<Part> parts;
  for (const std::string& path : paths) {
    TextInput input = TextInput::read(path, formats::kMaxSweepBytes, console);
    parts.push_back(
        {path, input.require(formats::read_sweep_file(input.text(), input.diagnostics()))});
  }
  const formats::SweepHead* head = &parts.front().file.head;
  std::string problem;
  const std::optional<SweepCases> cases = models::lay_out(head->grid, problem);
  if (!cases)
    throw InputError(models::Code::kShards, fmt::format("{}: {}", parts.front().path, problem));
  problem = problem_of(parts, *cases);
  if (!problem.empty()) throw InputError(models::Code::kShards, problem);
  std::vector<CaseResult> results(cases->count);
  for (Part& part : parts) {
    // Shard 1 names the scenario, in whatever order the shards are given.
    if (part.file.head.shard.index == 1) head = &part.file.head;
    for (auto& [number, result] : part.file.cases) results[number] = std::move(result);
  }
  return present({head->path, head->name, head->settings, head->grid, *cases, results,
                  models::summarize(*cases, results)},
                 files, {}, console);
}

// ---------------------------------------------------------------------------------------------
// Options

models::SweptVariable swept_variable(const std::string& text) {
  std::string problem;
  auto variable = models::parse_variable(text, problem);
  if (!variable) {
    throw UsageError(models::Code::kOptionValue, fmt::format("--vary: {}", problem),
                     "for example: --vary acc=1..8");
  }
  if (variable->name != models::kJitterVariable) return std::move(*variable);
  for (const std::string& value : variable->values) {
    if (models::parse_jitter(value)) continue;
    throw UsageError(models::Code::kOptionValue,
                     fmt::format("invalid value '{}' for '--vary jitter'", value),
                     fmt::format("expected {}", models::kJitterForms));
  }
  return std::move(*variable);
}

models::ParameterGrid grid_option(const Arguments& arguments) {
  models::ParameterGrid grid;
  for (const std::string& text : arguments.all("vary")) {
    models::SweptVariable variable = swept_variable(text);
    const std::string& name = variable.name;
    for (const models::SweptVariable& other : grid.variables) {
      if (other.name == name) {
        throw UsageError(models::Code::kOptionConflict,
                         fmt::format("'--vary {}' is given twice", name));
      }
    }
    for (const Setting& setting : arguments.settings("set")) {
      if (setting.first != name) continue;
      throw UsageError(models::Code::kOptionConflict,
                       fmt::format("'--vary {0}' and '--set {0}' cannot be used together", name));
    }
    grid.variables.push_back(std::move(variable));
  }
  constexpr std::uint64_t kMaxSeed = std::numeric_limits<std::uint64_t>::max();
  if (arguments.has("seeds")) grid.jitter = "10%";
  grid.seeds = arguments.number("seeds", 1, models::kMaxCases, 1);
  grid.first_seed = arguments.number("first-seed", 0, kMaxSeed, 0);
  if (grid.first_seed > kMaxSeed - (grid.seeds - 1)) {
    throw UsageError(
        models::Code::kOptionValue,
        fmt::format("'--first-seed {}' leaves fewer than {} seeds", grid.first_seed, grid.seeds),
        fmt::format("the last seed is {}", kMaxSeed));
  }
  return grid;
}

std::optional<Shard> shard_option(const Arguments& arguments) {
  const auto text = arguments.text("shard");
  const auto output = arguments.text("output");
  if (output == "-") {
    throw UsageError(models::Code::kStandardStreams, "'--output' cannot write to standard output",
                     "name a file");
  }
  if (!text) return std::nullopt;
  std::string problem;
  const auto shard = parse_shard(
      *text, [](const char* name) { return std::getenv(name); }, problem);
  if (!shard) throw UsageError(models::Code::kOptionValue, problem);
  if (!output) {
    throw UsageError(models::Code::kOptionNeeds, "'--shard' needs '--output FILE'",
                     "--merge reads these files");
  }
  if (text == "auto" && output->find("{shard}") == std::string::npos) {
    throw UsageError(models::Code::kStandardStreams, "all shards would write to one file",
                     "put {shard} into its name, as in -o part{shard}.jsonl");
  }
  for (const char* option : {"json", "csv", "plot", "html"}) {
    if (!arguments.has(option)) continue;
    throw UsageError(models::Code::kOptionConflict,
                     fmt::format("'--{}' and '--shard' cannot be used together", option),
                     "a shard has only some of the results; use it with --merge");
  }
  return shard;
}

int run_sweep(const Arguments& arguments, const Console& console) {
  ResultFiles files;
  files.json = arguments.has("json");
  files.csv_path = arguments.text("csv");
  files.plot_path = arguments.output_file("plot");
  files.html_path = arguments.output_file("html");
  if (files.json && files.csv_path == "-") {
    throw UsageError(models::Code::kOptionConflict,
                     "'--json' and '--csv -' cannot be used together",
                     "only one of them can go to standard output");
  }
  if (arguments.has("merge")) {
    arguments.exclude("merge",
                      {"vary", "seeds", "first-seed", "set", "rules", "jobs", "output", "shard"});
    const auto& paths = arguments.positional();
    if (paths.empty())
      throw UsageError(models::Code::kArguments, "'--merge' needs the outputs of all shards");
    return merge(paths, files, console);
  }
  const std::string& path = arguments.one_file();
  require_scenario(arguments.command(), path);
  Sweep sweep;
  sweep.settings = arguments.settings("set");
  sweep.grid = grid_option(arguments);
  sweep.jobs = jobs(arguments);
  sweep.output = arguments.text("output");
  sweep.shard = shard_option(arguments);

  std::string problem;
  const std::optional<SweepCases> cases = models::lay_out(sweep.grid, problem);
  if (!cases) throw InputError(models::Code::kShards, problem);
  TextInput input = read_scenario_text(path, console, rules_of(arguments, path));
  std::string text = input.text();
  if (is_schedule_path(path)) {
    text = input.require(scenario_of_schedule(text, path, input.diagnostics()));
  }
  Combinations combinations(sweep, *cases, text);
  if (!combinations.check(input.diagnostics(), console)) input.fail();
  formats::SweepHead head;
  head.made_by = version();
  head.path = path;
  head.name = combinations.name();
  head.scenario = formats::text_hash(text);
  head.settings = sweep.settings;
  head.grid = sweep.grid;
  head.shard = sweep.shard.value_or(Shard());
  return SweepRun(sweep, files, *cases, head, combinations, console).run();
}

OptionGroup options_of_runs() {
  Option set = set_option();
  set.about = "Set a parameter in all runs (repeatable)";
  return {"Runs",
          {{.name = "vary",
            .value = "NAME=VALUES",
            .about = "A parameter and its values, as in 1..8, 1ms..9ms:2ms or a,b,c; "
                     "several make all combinations (repeatable). 'jitter' is the range of "
                     "random durations: 0,10%,50%,free",
            .repeats = true},
           {.name = "seeds",
            .value = "N",
            .about = "Random timings per setting; durations vary by 10% unless 'jitter' is "
                     "varied"},
           {.name = "first-seed", .value = "S", .about = "The first seed (default: 0)"},
           std::move(set),
           rules_option(),
           jobs_option()}};
}

}  // namespace

Command sweep_command() {
  return {
      .name = "sweep",
      .about = "Run a scenario under many settings and random timings",
      .usage = {"FILE [options]", "--merge FILE... [options]"},
      .description =
          {"Runs the scenario in FILE under all combinations of some settings, each with "
           "many random timings, on all cores. Reports how many runs do not complete, in "
           "which ways, and how long the others take. The shards of a sweep can run on "
           "many machines.",
           kScenarioFileNote},
      .options =
          {options_of_runs(),
           {"Shards",
            {{.name = "output",
              .letter = 'o',
              .value = "FILE",
              .about = "Keep runs in FILE as they end; the same command resumes from there. "
                       "'{shard}' in the name is the number of the shard",
              .output = true},
             {.name = "shard",
              .value = "I/N",
              .about = "Run only part I of N; 'auto' asks MPI or Slurm"},
             {.name = "merge",
              .about = "Merge the outputs of all shards, which are given as FILE..."}}},
           {"Results",
            {json_option("the result"),
             {.name = "csv",
              .value = "FILE",
              .about = "Write a row per run ('-' prints that instead)",
              .output = true},
             {.name = "plot", .value = "FILE", .about = "Plot the result as SVG", .output = true},
             {.name = "html",
              .value = "FILE",
              .about = "Write a page with the table, the plot and what hangs",
              .output = true}}},
           general_options()},
      .examples = {"pipesim sweep scenarios/swin_2x2x2.yaml --vary acc=1..8",
                   "pipesim sweep job.yaml --vary acc=1..8 --vary jitter=0,10% --seeds 400",
                   "pipesim sweep job.yaml --vary buffers=forward,backward --plot a.svg",
                   "pipesim sweep job.yaml --vary acc=1..8 --html sweep.html",
                   "pipesim sweep step.yaml --seeds 100000 -o runs.jsonl",
                   "pipesim sweep step.yaml --seeds 100000 --shard 3/64 -o part3.jsonl",
                   "pipesim sweep --merge part*.jsonl --csv runs.csv"},
      .exit_status =
          "0 all runs complete (of a shard: its runs are done), 1 some do not, 2 invalid "
          "input or usage, 74 a file could not be read or written, 130 interrupted",
      .pages = {"docs/how-to/sweep.md"},
      .run = run_sweep,
  };
}

}  // namespace pipesim::app
