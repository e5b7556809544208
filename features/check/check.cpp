#include "features/check/check.hpp"

#include <utility>

#include "models/result/job_run.hpp"

namespace pipesim::models {

const Simulation* CheckReport::hanging() const {
  if (hang) return &*hang;
  return exploration.hang_found ? &usual : nullptr;
}

std::vector<std::uint32_t> CheckReport::copies() const {
  return folding ? folding->copies() : std::vector<std::uint32_t>();
}

CheckReport check(const TaskGraph& graph, Simulation usual, const sim::ExploreOptions& options) {
  CheckReport report;
  report.usual = std::move(usual);
  Lowered& lowered = report.usual.lowered;
  report.exploration = sim::explore_in_place(lowered.plan, options, &report.usual.outcome);
  const bool as_planned = !report.exploration.reading.any();
  if (report.exploration.hang.empty() && as_planned) return report;
  sim::RunOptions replay;
  replay.stop = options.stop;
  if (!as_planned) replay.reading = &report.exploration.reading;
  if (!report.exploration.hang.empty()) replay.order = &report.exploration.hang;
  report.hang = simulate(graph, lowered, replay);
  return report;
}

CheckReport check(const TaskGraph& graph, Lowered lowered, const sim::ExploreOptions& options,
                  sim::RunProgress* progress) {
  sim::RunOptions run;
  run.stop = options.stop;
  run.progress = progress;
  return check(graph, simulate(graph, std::move(lowered), run), options);
}

std::optional<CheckReport> check_folded(const TaskGraph& graph, FoldedJob job,
                                        const sim::ExploreOptions& options,
                                        sim::RunProgress* progress, FoldHangs fold_hangs) {
  sim::RunOptions run;
  run.stop = options.stop;
  run.progress = progress;
  std::optional<FoldedRun> folded = run_folded(graph, std::move(job), run);
  if (!folded) return std::nullopt;
  Simulation& usual = folded->simulation;
  auto found = explore_folded(usual.lowered.plan, options, &usual.outcome);
  const bool hangs = found && found->answer == sim::Answer::kHangCertain;
  if (!found || (hangs && fold_hangs == FoldHangs::kNo)) return std::nullopt;
  CheckReport report;
  report.exploration = std::move(*found);
  report.folding = std::move(folded->folding);
  report.usual = std::move(usual);
  report.alike = std::move(folded->alike);
  return report;
}

CheckReport check(const TaskGraph& graph, LaidOutJob job, const sim::ExploreOptions& options,
                  sim::RunProgress* progress, FoldHangs fold_hangs) {
  if (auto* folded = std::get_if<FoldedJob>(&job)) {
    auto report = check_folded(graph, std::move(*folded), options, progress, fold_hangs);
    if (report) return std::move(*report);
    job = lower_all(graph);
  }
  return check(graph, std::get<Lowered>(std::move(job)), options, progress);
}

}  // namespace pipesim::models
