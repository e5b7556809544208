// What to run is known from the start, and no run depends on another: threads take them one by one,
// and results are put together in the order of their numbers. So neither threads, nor shards, nor
// interruptions show in what comes out.
#include "app/commands/sweep_command.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "app/commands/import_command.hpp"
#include "app/exit_codes.hpp"
#include "app/input/scenario_input.hpp"
#include "app/input/schedule_input.hpp"
#include "app/output/files.hpp"
#include "app/output/progress.hpp"
#include "app/output/sweep_journal.hpp"
#include "app/version.hpp"
#include "app/workers.hpp"
#include "models/lowering/lowering.hpp"
#include "viz/draw/sweep_plot.hpp"
#include "viz/text/diagnostic_text.hpp"
#include "viz/text/sweep_text.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

using formats::Setting;
using formats::Shard;
using models::CaseResult;
using models::Diagnostics;
using models::SweepCases;
using models::SweepPoint;

int refuse(const Console& console, const std::string& problem) {
  console.err << fmt::format("pipesim: error: {}\n", problem);
  return kExitUsage;
}

// ---------------------------------------------------------------------------------------------
// The scenario in all its settings

/// A scenario with some settings, laid out: what all its timings share.
struct Prepared {
  formats::Scenario scenario;
  models::Lowered lowered;
};

class Combinations {
 public:
  Combinations(const SweepCommand& command, const SweepCases& cases, const std::string& text)
      : command_(command), cases_(cases), text_(text), slots_(cases.combinations.size()) {}

  /// Reads all of them, so that mistakes are told before anything is run. False where there are
  /// some; `diagnostics` has those of the first.
  bool check(Diagnostics& diagnostics) {
    std::mutex mutex;
    std::size_t first_bad = slots_.size();
    Workers workers(slots_.size(), command_.jobs, [&](std::size_t i) {
      Diagnostics found;
      std::shared_ptr<const Prepared> prepared = prepare(i, found);
      const std::lock_guard<std::mutex> lock(mutex);
      if (!prepared) {
        if (i > first_bad) return;
        first_bad = i;
        diagnostics = found;
      } else {
        if (i == 0) name_ = prepared->scenario.graph.name;
        kept_actors_ += prepared->lowered.plan.actors.size();
        if (kept_actors_ <= kMostKeptActors) slots_[i].prepared = std::move(prepared);
      }
    });
    workers.wait_for(slots_.size());
    return first_bad == slots_.size();
  }

  /// As the scenario calls itself.
  const std::string& name() const { return name_; }

  /// For any thread.
  std::shared_ptr<const Prepared> get(std::size_t combination) {
    Slot& slot = slots_[combination];
    const std::lock_guard<std::mutex> lock(slot.mutex);
    if (!slot.prepared) {
      Diagnostics checked;
      slot.prepared = prepare(combination, checked);
    }
    return slot.prepared;
  }

  /// So many runs of it are to come, or are done.
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

  // Beyond so many actors all together a combination is made again when its runs begin.
  static constexpr std::size_t kMostKeptActors = 1'000'000;

  std::vector<Setting> settings_of(std::size_t combination) const {
    std::vector<Setting> settings = command_.settings;
    const SweepPoint& point = cases_.points[cases_.combinations[combination]];
    for (std::size_t i = 0; i < point.values.size(); ++i) {
      const std::string& name = command_.grid.variables[i].name;
      if (name != models::kJitterVariable) settings.emplace_back(name, point.values[i]);
    }
    return settings;
  }

  bool is_varied(const std::string& name) const {
    const auto& variables = command_.grid.variables;
    return std::any_of(variables.begin(), variables.end(),
                       [&](const models::SweptVariable& v) { return v.name == name; });
  }

  std::shared_ptr<const Prepared> prepare(std::size_t combination, Diagnostics& diagnostics) const {
    const std::vector<Setting> settings = settings_of(combination);
    Diagnostics found;
    auto scenario = formats::read_scenario(text_, settings, found);
    std::optional<models::Lowered> lowered;
    if (scenario) {
      check_jitter(scenario->parameters, found);
      if (!found.has_errors()) lowered = models::lower(scenario->graph, found);
    }
    if (!lowered) {
      tell(found, settings, diagnostics);
      return nullptr;
    }
    return std::make_shared<const Prepared>(Prepared{std::move(*scenario), std::move(*lowered)});
  }

  void check_jitter(const std::vector<formats::Parameter>& parameters, Diagnostics& found) const {
    const bool has = std::any_of(parameters.begin(), parameters.end(), [](const auto& parameter) {
      return parameter.name == models::kJitterVariable;
    });
    if (!has || !is_varied(models::kJitterVariable)) return;
    found
        .error({},
               "--vary jitter: the scenario has a parameter of this name, so it could be "
               "either")
        .notes.emplace_back(
            "'jitter' says by how much durations vary: call the parameter otherwise");
  }

  // As the user has given the settings, and with which of them the mistake is one.
  void tell(const Diagnostics& found, const std::vector<Setting>& settings,
            Diagnostics& diagnostics) const {
    std::string with;
    for (std::size_t i = command_.settings.size(); i < settings.size(); ++i) {
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
        item.notes.emplace_back("'--vary jitter=10%' says by how much durations vary");
      }
      if (item.place.line > 0 && !with.empty()) item.notes.push_back(with);
      models::Diagnostic& told = item.severity == models::Severity::kError
                                     ? diagnostics.error(item.place, item.message)
                                     : diagnostics.warning(item.place, item.message);
      told.notes = item.notes;
    }
  }

  const SweepCommand& command_;
  const SweepCases& cases_;
  const std::string& text_;
  std::deque<Slot> slots_;  // by combination
  std::size_t kept_actors_ = 0;
  std::string name_;
};

// ---------------------------------------------------------------------------------------------
// Results

void write_or_print(const std::string& path, const std::string& text, const Console& console) {
  if (path == "-") {
    console.out << text;
  } else {
    write_file(path, text);
  }
}

int present(const viz::SweepReport& report, const SweepViews& views, const Console& console) {
  if (views.plot_path) write_file(*views.plot_path, viz::sweep_plot(report));
  if (views.csv_path) write_or_print(*views.csv_path, viz::sweep_csv(report), console);
  if (views.csv_path != "-") {
    console.out << (views.json ? viz::sweep_json(report)
                               : viz::sweep_text(report, console.out_colour));
  }
  return report.summary.not_completed == 0 ? kExitGood : kExitBad;
}

std::string output_path(const SweepCommand& command) {
  std::string path = *command.output;
  const std::string mark = "{shard}";
  const std::size_t at = path.find(mark);
  if (at == std::string::npos) return path;
  return path.replace(at, mark.size(), std::to_string(command.shard.value_or(Shard()).index));
}

// All runs of a shard, in order.
std::string whole_file(const formats::SweepHead& head, const std::vector<std::uint64_t>& numbers,
                       const std::vector<CaseResult>& results) {
  std::string text = formats::sweep_head_line(head);
  for (const std::uint64_t number : numbers) {
    text += formats::sweep_case_line(number, results[number]);
  }
  return text;
}

class Sweep {
 public:
  Sweep(const SweepCommand& command, const SweepCases& cases, const formats::SweepHead& head,
        Combinations& combinations, const Console& console)
      : command_(command),
        cases_(cases),
        head_(head),
        combinations_(combinations),
        console_(console),
        results_(cases.count) {}

  int run() {
    std::unique_ptr<SweepJournal> journal;
    if (command_.output) {
      journal =
          std::make_unique<SweepJournal>(output_path(command_), head_, cases_, console_.err_colour);
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
        return fmt::format("{} of {} runs", shard_.size() - left_.size() + done_, shard_.size());
      });
      Workers workers(left_.size(), command_.jobs,
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
    const auto result = models::run_case(prepared->scenario.graph, prepared->lowered,
                                         cases_.jitter_of(command_.grid, number), stop);
    combinations_.done(combination);
    if (!result) return;
    results_[number] = *result;
    if (journal != nullptr) journal->add(number, *result);
    ++done_;
  }

  int interrupted() const {
    const std::size_t done = shard_.size() - left_.size() + done_;
    console_.err << fmt::format("interrupted: {} of {} runs are done; {}\n", done, shard_.size(),
                                command_.output
                                    ? fmt::format("they are in {}, and the same command goes on "
                                                  "from there",
                                                  output_path(command_))
                                    : "with -o FILE they would have been kept");
    return kExitInterrupted;
  }

  int finish() const {
    if (command_.output) {
      write_file(output_path(command_), whole_file(head_, shard_, results_));
    }
    if (command_.shard) {
      const auto bad = std::count_if(shard_.begin(), shard_.end(), [&](std::uint64_t number) {
        return results_[number].verdict != sim::Verdict::kCompleted;
      });
      console_.out << fmt::format("shard {}/{}: {} done, {} of them not completed, in {}\n",
                                  head_.shard.index, head_.shard.count,
                                  viz::counted(shard_.size(), "run"), bad, output_path(command_));
      return kExitGood;
    }
    return present({head_.path, head_.name, head_.settings, head_.grid, cases_, results_,
                    models::summarize(cases_, results_)},
                   command_.views, console_);
  }

  const SweepCommand& command_;
  const SweepCases& cases_;
  const formats::SweepHead& head_;
  Combinations& combinations_;
  const Console& console_;
  std::vector<CaseResult> results_;   // by number; only those of the shard
  std::vector<std::uint64_t> shard_;  // what belongs to it
  std::vector<std::uint64_t> left_;   // what was not done before
  std::atomic<std::size_t> done_{0};  // of these
};

}  // namespace

int run_sweep(const SweepCommand& command, const Console& console) {
  std::string problem;
  const std::optional<SweepCases> cases = models::lay_out(command.grid, problem);
  if (!cases) return refuse(console, problem);
  std::string text = read_scenario_text(command.path, console);
  const std::string shown = command.path == "-" ? "standard input" : command.path;
  Diagnostics diagnostics;
  const auto complain = [&] {
    console.err << viz::diagnostic_text(diagnostics, shown, text, console.err_colour);
    return kExitUsage;
  };
  if (is_schedule_path(command.path)) {
    const auto imported = scenario_of_schedule(text, command.path, diagnostics);
    if (!imported) return complain();
    text = *imported;
  }
  Combinations combinations(command, *cases, text);
  if (!combinations.check(diagnostics)) return complain();
  formats::SweepHead head;
  head.made_by = version();
  head.path = command.path;
  head.name = combinations.name();
  head.scenario = formats::text_hash(text);
  head.settings = command.settings;
  head.grid = command.grid;
  head.shard = command.shard.value_or(Shard());
  return Sweep(command, *cases, head, combinations, console).run();
}

// ---------------------------------------------------------------------------------------------
// Shards become one

namespace {

struct Part {
  std::string path;
  formats::SweepFile file;
};

// What keeps the parts from being the whole; empty: nothing.
std::string problem_of(const std::vector<Part>& parts, const SweepCases& cases) {
  const std::uint32_t count = parts.front().file.head.shard.count;
  std::vector<const Part*> by_index(count, nullptr);
  for (const Part& part : parts) {
    const formats::SweepHead& head = part.file.head;
    if (!head.same_sweep(parts.front().file.head)) {
      return fmt::format("{} and {} are not of the same sweep", parts.front().path, part.path);
    }
    const Part*& place = by_index[head.shard.index - 1];
    if (place != nullptr) {
      return fmt::format("shard {}/{} is there twice: {} and {}", head.shard.index, count,
                         place->path, part.path);
    }
    place = &part;
  }
  std::vector<std::uint32_t> missing;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (by_index[i] == nullptr) missing.push_back(i + 1);
  }
  if (!missing.empty()) {
    return fmt::format("of {} shards {} not there: {}", count,
                       missing.size() == 1 ? "one is" : fmt::format("{} are", missing.size()),
                       viz::ranges(missing));
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
        "shard {}/{} is not finished: {} has {} of {} runs; its command goes on there", shard.index,
        count, part.path, part.file.cases.size(), expected);
  }
  return "";
}

}  // namespace

int run_merge(const MergeCommand& command, const Console& console) {
  std::vector<Part> parts;
  for (const std::string& path : command.paths) {
    const std::string text = read_file(path, console.in, formats::kMostSweepBytes);
    Diagnostics diagnostics;
    auto file = formats::read_sweep_file(text, diagnostics);
    if (!file) {
      console.err << viz::diagnostic_text(diagnostics, path, text, console.err_colour);
      return kExitUsage;
    }
    parts.push_back({path, std::move(*file)});
  }
  const formats::SweepHead* head = &parts.front().file.head;
  std::string problem;
  const std::optional<SweepCases> cases = models::lay_out(head->grid, problem);
  if (!cases) return refuse(console, fmt::format("{}: {}", parts.front().path, problem));
  problem = problem_of(parts, *cases);
  if (!problem.empty()) return refuse(console, problem);
  std::vector<CaseResult> results(cases->count);
  for (Part& part : parts) {
    // The first shard says how the scenario is called, in whatever order they come.
    if (part.file.head.shard.index == 1) head = &part.file.head;
    for (auto& [number, result] : part.file.cases) results[number] = std::move(result);
  }
  return present({head->path, head->name, head->settings, head->grid, *cases, results,
                  models::summarize(*cases, results)},
                 command.views, console);
}

}  // namespace pipesim::app
