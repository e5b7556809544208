// The sentences of a report that stand alone: text and pages tell a run in the same words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/explain/remedies.hpp"
#include "sim/jitter.hpp"
#include "viz/report.hpp"

namespace pipesim::viz {

/// The first line of a report, with `rest` on the next where it is too wide.
std::string head_line(const std::string& left, const std::string& rest, std::size_t width);

/// "Durations vary by up to 10%: seed 17".
std::string timing_text(const sim::Jitter& jitter);

/// What more is known of an op: "micro-batch 3", or what stands there in a GOAL file, or where it
/// stands in the user's program; or nothing.
std::string act_detail(const models::ActInfo& act);

/// Cycles that differ in their ranks alone.
using AlikeCycles = std::vector<const std::vector<models::Wait>*>;

/// What a wait is, whatever its ranks.
std::string shape_of(const models::Wait& wait);

/// The cycles `first` and `others`, in the order of the first of each shape.
std::vector<AlikeCycles> alike_cycles(const std::vector<models::Wait>& first,
                                      const std::vector<std::vector<models::Wait>>& others);

/// "x 3: the same on ranks 2 and 3; ranks 4 and 5", of more than one. Of many the first and the
/// last.
std::string alike_text(const models::CycleClass& cycles);

/// How many cycles there are beside the one that is shown; or nothing.
std::string cycle_note(const models::Explanation& explanation);

/// What broke while the run went on: errors of devices, ranks that died.
std::vector<std::string> broken_lines(const models::Explanation& explanation);

/// The rules of NCCL that the verdict rests on and that nobody has measured.
std::vector<std::string> unmeasured_lines(const models::Explanation& explanation);

/// What watchdogs, timeouts and launcher did when nothing could progress any more.
std::vector<std::string> end_lines(const models::Explanation& explanation);

/// Mismatched calls, at most 20.
std::vector<std::string> mismatch_lines(const models::Explanation& explanation);

std::string roots_heading(const models::Explanation& explanation);

/// What waits end at that close no cycle. Roots that one sentence does for are told once.
std::vector<std::string> root_lines(const models::Explanation& explanation);

/// The first of what explains the end of a run, for where there is room for one sentence: the
/// cycle, a mismatch, a root. Empty of a run that completed.
std::string first_reason(const models::Explanation& explanation);

std::string misplacement_text(const models::Misplacement& found);

inline constexpr std::string_view kRemediesHeading =
    "Any one of these changes lets this run complete (each was tried):";

std::string remedy_text(const models::Remedy& remedy);

/// "2 of 4 done, 3rd at nccl-1998 (running)": as people tell it.
std::string progress_text(const models::RankReport& rank, const models::Progress& progress);

/// Where the calls of a recorded script's ranks begin to differ, if it hangs; or null.
const models::FirstDifference* shown_difference(const Report& report);

}  // namespace pipesim::viz
