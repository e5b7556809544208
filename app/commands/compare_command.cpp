#include "app/commands/compare_command.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "app/exit_codes.hpp"
#include "app/input/evidence_input.hpp"
#include "app/output/progress.hpp"
#include "models/explain/simulation.hpp"
#include "models/postmortem/diagnosis.hpp"
#include "models/postmortem/end_place.hpp"
#include "viz/evidence/launch_log_text.hpp"
#include "viz/words.hpp"

namespace pipesim::app {
namespace {

using models::EndPlace;

bool is_scenario(std::string_view path) {
  const bool has_name = path != ".yaml" && path != ".yml";
  return has_name && (path.ends_with(".yaml") || path.ends_with(".yml"));
}

/// One of the two ends: a run of a scenario, or what evidence says.
struct End {
  EndPlace place;
  std::optional<models::Explanation> run;
  std::optional<models::LaunchLog> log;
  models::LaunchLogHints hints;  // of a scenario: what a log does not say
  bool interrupted = false;
};

std::optional<End> run_of(const std::string& path, const CompareCommand& command,
                          const Console& console) {
  ScenarioInput input({path, {}, command.settings}, console);
  models::Diagnostics diagnostics;
  const auto scenario = input.read(diagnostics);
  std::optional<models::Simulation> simulation;
  if (scenario) {
    WatchedRun watched(console);
    auto lowered = models::lower(scenario->graph, diagnostics);
    if (lowered) {
      simulation = models::simulate(scenario->graph, std::move(*lowered), watched.options);
    }
  }
  input.complain(diagnostics, console);
  if (!simulation) return std::nullopt;
  End end;
  end.place = models::end_place(simulation->explanation, path);
  end.hints = models::hints_of(scenario->graph, simulation->lowered);
  end.run = std::move(simulation->explanation);
  end.interrupted = simulation->outcome.end == sim::RunEnd::kInterrupted;
  return end;
}

// `hints` of the other end, where that is a scenario.
std::optional<End> evidence_of(const std::string& path, const CompareCommand& command,
                               const models::LaunchLogHints& hints, const Console& console) {
  const formats::EvidenceKind kind = command.kind ? *command.kind : kind_of_evidence(path);
  End end;
  switch (kind) {
    case formats::EvidenceKind::kLaunchLog: {
      auto reading = read_launch_logs({path}, console);
      if (!reading) return std::nullopt;
      end.place = models::end_place(reading->log, models::diagnose(reading->log, hints), path);
      end.log = std::move(reading->log);
      return end;
    }
    case formats::EvidenceKind::kStacks: {
      const auto reading = read_stacks({path}, console);
      if (!reading) return std::nullopt;
      end.place = models::end_place(models::diagnose(reading->dumps), path);
      return end;
    }
    case formats::EvidenceKind::kBoxing:
      console.err << fmt::format("pipesim: '{}' is a boxing log, which is no end of a job\n", path);
      return std::nullopt;
    case formats::EvidenceKind::kFlightRecorder:
    case formats::EvidenceKind::kNcclLog:
      break;
  }
  const auto reading = read_dumps(kind, {path}, console);
  if (!reading) return std::nullopt;
  end.place = models::end_place(models::diagnose(reading->evidence), path);
  return end;
}

// Which ops a log and a run of a scenario do not agree on.
std::vector<models::CountDifference> ops_that_differ(const End& a, const End& b) {
  if (a.log && b.run) return models::compare(*a.log, *b.run);
  if (b.log && a.run) return models::compare(*b.log, *a.run);
  return {};
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", viz::ranges(ranks));
}

std::string told(const EndPlace& place) {
  std::string text =
      fmt::format("{}: {}, {}", place.name, place.verdict, viz::counted(place.at.size(), "rank"));
  if (!place.blamed.empty()) {
    text += fmt::format("; to blame: {}", ranks_text({place.blamed.begin(), place.blamed.end()}));
  }
  return text + "\n";
}

void tell(const models::EndDifference& difference, const End& a, const End& b,
          const std::vector<models::CountDifference>& ops, const Console& console) {
  console.out << "They do not stand in the same place:\n";
  if (difference.verdict) console.out << "  the verdicts differ\n";
  if (difference.blamed) console.out << "  other ranks are to blame\n";
  if (difference.ranks) console.out << "  they have not as many ranks\n";
  if (!difference.waits.empty()) {
    console.out << fmt::format("  {} wait{} in one and not in the other\n",
                               ranks_text(difference.waits),
                               difference.waits.size() == 1 ? "s" : "");
  }
  constexpr std::size_t kMostTold = 20;
  for (std::size_t i = 0; i < std::min(kMostTold, difference.at.size()); ++i) {
    const std::uint32_t rank = difference.at[i];
    console.out << fmt::format("  rank {} stands at {} and at {}\n", rank,
                               models::printable(a.place.at[rank]),
                               models::printable(b.place.at[rank]));
  }
  if (difference.at.size() > kMostTold) {
    console.out << fmt::format("  and {} more ranks stand elsewhere\n",
                               difference.at.size() - kMostTold);
  }
  for (std::size_t i = 0; i < std::min(kMostTold, ops.size()); ++i) {
    console.out << "  " << viz::difference_line(ops[i]) << "\n";
  }
  if (ops.size() > kMostTold) {
    console.out << fmt::format("  and {} more ops differ\n", ops.size() - kMostTold);
  }
}

}  // namespace

int run_compare(const CompareCommand& command, const Console& console) {
  std::optional<End> a;
  std::optional<End> b;
  if (is_scenario(command.a)) a = run_of(command.a, command, console);
  if (is_scenario(command.b)) b = run_of(command.b, command, console);
  const models::LaunchLogHints no_hints;
  if (!is_scenario(command.a))
    a = evidence_of(command.a, command, b ? b->hints : no_hints, console);
  if (!is_scenario(command.b))
    b = evidence_of(command.b, command, a ? a->hints : no_hints, console);
  if (!a || !b) return kExitUsage;
  if (a->interrupted || b->interrupted) return kExitInterrupted;
  const models::EndDifference difference = models::compare(a->place, b->place);
  const std::vector<models::CountDifference> ops = ops_that_differ(*a, *b);
  console.out << told(a->place) << told(b->place);
  if (!difference.any() && ops.empty()) {
    const bool in_other_words = (a->place.words == models::EndWords::kStacks) !=
                                (b->place.words == models::EndWords::kStacks);
    console.out << (in_other_words ? "They stand in the same place, as far as stacks say.\n"
                                   : "They stand in the same place.\n");
    return kExitGood;
  }
  tell(difference, *a, *b, ops, console);
  return kExitBad;
}

}  // namespace pipesim::app
