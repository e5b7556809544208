#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "app/commands/commands.hpp"
#include "app/commands/shared_options.hpp"
#include "app/exit_codes.hpp"
#include "app/output/progress.hpp"
#include "app/output/views.hpp"
#include "models/result/simulation.hpp"
#include "viz/report/words.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/end_place.hpp"
#include "features/diagnose/evidence_input.hpp"
#include "features/diagnose/job_places_text.hpp"
#include "features/diagnose/job_standing.hpp"
#include "features/diagnose/launch_log_text.hpp"
#include "features/record/record_input.hpp"

namespace pipesim::app {
namespace {

using models::EndPlace;

bool is_scenario(const std::string& path) {
  const bool has_name = path != ".yaml" && path != ".yml";
  return (has_name && (path.ends_with(".yaml") || path.ends_with(".yml"))) || has_record(path);
}

/// A side of a comparison: the end of a scenario's run, or the end of a real job, from its
/// evidence.
struct End {
  EndPlace place;
  std::optional<models::Explanation> run;
  std::optional<models::LaunchLog> log;
  models::LaunchLogHints hints;  // facts from a scenario that a log lacks
  bool interrupted = false;
};

End run_of(const std::string& path, const std::vector<formats::Setting>& settings,
           const Console& console) {
  ScenarioInput input({path, {}, settings}, console);
  const formats::Scenario scenario = input.read();
  models::Simulation simulation = input.require([&] {
    WatchedRun watched(console);
    return models::simulate(scenario.graph, input.diagnostics(), watched.options);
  }());
  input.report();
  End end;
  end.place = models::end_place(simulation.explanation, path);
  end.hints = models::hints_of(scenario.graph, simulation.lowered);
  end.run = std::move(simulation.explanation);
  end.interrupted = simulation.outcome.end == sim::RunEnd::kInterrupted;
  return end;
}

// Reads the evidence at `path`. `hints` are facts from the other side, if the other side is a
// scenario.
End evidence_of(const std::string& path, const EvidenceFormat& format,
                const models::LaunchLogHints& hints, const Console& console) {
  End end;
  switch (format.shows) {
    case Shows::kLaunches:
      end.log = read_launch_logs({path}, console).log;
      end.place = models::end_place(*end.log, models::diagnose(*end.log, hints), path);
      return end;
    case Shows::kStacks:
      end.place = models::end_place(models::diagnose(read_stacks({path}, console).dumps), path);
      return end;
    case Shows::kBoxings:
      throw InputError(
          models::Code::kArguments,
          fmt::format("'{}' is a boxing log, which does not say how a job ends", path));
    case Shows::kCalls:
      break;
  }
  const DumpReading reading = read_calls(format, {path}, console);
  end.place = models::end_place(models::diagnose(reading.evidence), path);
  return end;
}

// Returns the ops with different counts in a log and in a run of a scenario.
std::vector<models::CountDifference> ops_that_differ(const End& a, const End& b) {
  if (a.log && b.run) return models::compare(*a.log, *b.run);
  if (b.log && a.run) return models::compare(*b.log, *a.run);
  return {};
}

std::string summary(const EndPlace& place) {
  std::string text =
      fmt::format("{}: {}, {}", place.name, place.verdict, viz::counted(place.at.size(), "rank"));
  if (!place.blamed.empty()) {
    text +=
        fmt::format("; to blame: {}", viz::ranks_text({place.blamed.begin(), place.blamed.end()}));
  }
  return text + "\n";
}

std::string difference_text(const models::EndDifference& difference, const End& a, const End& b,
                            const std::vector<models::CountDifference>& ops) {
  std::string text = "They are not stuck in the same place:\n";
  if (difference.verdict) text += "  the verdicts differ\n";
  if (difference.blamed) text += "  other ranks are to blame\n";
  if (difference.ranks) text += "  the numbers of ranks differ\n";
  if (!difference.waits.empty()) {
    text += fmt::format("  {} wait{} in only one of them\n", viz::ranks_text(difference.waits),
                        difference.waits.size() == 1 ? "s" : "");
  }
  constexpr std::size_t kMaxLines = 20;
  for (std::size_t i = 0; i < std::min(kMaxLines, difference.at.size()); ++i) {
    const std::uint32_t rank = difference.at[i];
    text += fmt::format("  rank {} is at {} and at {}\n", rank, a.place.at[rank], b.place.at[rank]);
  }
  if (difference.at.size() > kMaxLines) {
    text += fmt::format("  and {} more ranks differ\n", difference.at.size() - kMaxLines);
  }
  for (std::size_t i = 0; i < std::min(kMaxLines, ops.size()); ++i) {
    text += fmt::format("  {}\n", viz::difference_line(ops[i]));
  }
  if (ops.size() > kMaxLines)
    text += fmt::format("  and {} more ops differ\n", ops.size() - kMaxLines);
  return text;
}

// Prints the line of the recorded script that each rank of a job has reached, or the first call in
// which its notes differ.
int compare_job(const std::string& record_path, const std::string& path,
                const EvidenceFormat& format, const Console& console) {
  const RecordInput record(record_path, console);
  const DumpReading reading = read_calls(format, {path}, console);
  console.out << summary(models::end_place(models::diagnose(reading.evidence), path));
  const auto places = has_notes(path)
                          ? models::job_places(record.record(), RecordInput(path, console).record())
                          : models::job_places(record.record(), reading.evidence);
  console.out << fmt::format("In the record of {}:\n", record.record().command.empty()
                                                           ? record_path
                                                           : record.record().command)
              << viz::job_places_text(record.record(), places);
  bool known = false;
  bool other = reading.evidence.ranks.size() > record.record().ranks.size();
  for (const models::RankPlace& place : places) {
    known = known || place.standing != models::JobStanding::kUnknown;
    other = other || place.standing == models::JobStanding::kDiffers ||
            place.standing == models::JobStanding::kNotThere;
  }
  if (other) {
    console.out << fmt::format(
        "The job made calls that the record does not have: record the job's own command,\n"
        "with its {} ranks.\n",
        reading.evidence.ranks.size());
  }
  return known && !other ? kExitGood : kExitBad;
}

// Whether `record` is the record of a script and `other` is evidence of a job; notes of attach are
// evidence, although they are also a record.
bool are_record_and_evidence(const std::string& record, const std::string& other) {
  return has_record(record) && !has_notes(record) && (!is_scenario(other) || has_notes(other));
}

int compare_ends(const Arguments& arguments, const Console& console) {
  const auto& paths = arguments.positional();
  if (paths.size() != 2) {
    throw UsageError(models::Code::kArguments,
                     fmt::format("'pipesim compare' takes two hangs, found {}", paths.size()),
                     "write 'pipesim compare A B [options]'");
  }
  check_one_standard_input(paths);
  const auto kind = arguments.text("kind");
  const EvidenceFormat* given = kind ? find_evidence_format(*kind) : nullptr;
  const auto format_of = [&](const std::string& path) -> const EvidenceFormat& {
    return given != nullptr ? *given : format_of_evidence(path);
  };
  if (given != nullptr && given->shows == Shows::kBoxings) {
    throw UsageError(models::Code::kArguments, "a boxing log does not say how a job ends",
                     "'pipesim diagnose boxing FILE' reads one");
  }
  const auto settings = arguments.settings("set");
  for (const auto& [record, other] : {std::pair{paths[0], paths[1]}, {paths[1], paths[0]}}) {
    if (!are_record_and_evidence(record, other)) continue;
    const EvidenceFormat& format = format_of(other);
    // Evidence of calls numbers the calls of each communicator, as records do.
    if (format.shows == Shows::kCalls) return compare_job(record, other, format, console);
  }

  // Runs scenarios first, because their facts help to read the logs.
  std::array<std::optional<End>, 2> ends;
  models::LaunchLogHints hints;
  for (std::size_t i = 0; i < 2; ++i) {
    if (!is_scenario(paths[i])) continue;
    ends.at(i) = run_of(paths[i], settings, console);
    hints = ends.at(i)->hints;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (!ends.at(i)) ends.at(i) = evidence_of(paths[i], format_of(paths[i]), hints, console);
  }
  const End& a = *ends.front();
  const End& b = *ends.back();
  if (a.interrupted || b.interrupted) return kExitInterrupted;
  const models::EndDifference difference = models::compare(a.place, b.place);
  const std::vector<models::CountDifference> ops = ops_that_differ(a, b);
  console.out << summary(a.place) << summary(b.place);
  if (difference.any() || !ops.empty()) {
    console.out << difference_text(difference, a, b, ops);
    return kExitBad;
  }
  const bool one_has_stacks =
      (a.place.words == models::EndWords::kStacks) != (b.place.words == models::EndWords::kStacks);
  console.out << (one_has_stacks ? "They are stuck in the same place, as far as stacks show.\n"
                                 : "They are stuck in the same place.\n");
  return kExitGood;
}

int run_compare(const Arguments& arguments, const Console& console) {
  const int code = compare_ends(arguments, console);
  if (code != kExitInterrupted) console.out << last_line(arguments, console);
  return code;
}

}  // namespace

Command compare_command() {
  return {
      .name = "compare",
      .about = "Check whether two hangs are the same",
      .usage = {"A B [options]"},
      .description =
          {"Checks whether two jobs, or a job and its simulation, end in the same place. A "
           "and B are scenarios (*.yaml), which are run, or evidence, as for 'pipesim "
           "diagnose'. It compares the verdict, the ranks to blame and which ranks wait; "
           "for two pieces of evidence also the calls that ranks are in.",
           "Of a record ('pipesim record') and the dumps, logs or RAS report of a real job, it "
           "says "
           "which line of the script each rank of the job has reached."},
      .options = {{"Input",
                   {{.name = "kind",
                     .value = "KIND",
                     .about = "The kind of evidence (default: detected)",
                     .choices = evidence_names()},
                    set_option()}}},
      .examples = {"pipesim compare hang.yaml /tmp/dumps",
                   "pipesim compare monday/dumps tuesday/dumps",
                   "pipesim compare scenarios/swin_2x2x2.yaml all_ranks.log",
                   "pipesim compare record/ /tmp/dumps"},
      .exit_status =
          "0 the same place, 1 different places, or calls that are not in the record, 2 invalid "
          "input or usage, 74 a file could not be read",
      .pages = {"docs/how-to/diagnose.md"},
      .run = run_compare,
  };
}

}  // namespace pipesim::app
