// Single sentences of a report, shared by text and pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/result/explanation.hpp"
#include "models/result/remedies.hpp"
#include "sim/jitter.hpp"
#include "viz/report/report.hpp"

namespace pipesim::viz {

/// Returns the first line of a report, with `rest` on the next line if the line is too wide.
std::string head_line(const std::string& left, const std::string& rest, std::size_t width);

/// Describes the durations of a run: "Durations vary by up to 10%: seed 17".
std::string timing_text(const sim::Jitter& jitter);

/// Returns details of an op: "micro-batch 3", its statement in a GOAL file, or its line in the
/// user's program; empty if unknown.
std::string op_detail(const models::OpInfo& op);

/// Cycles that differ only in their ranks.
using AlikeCycles = std::vector<const std::vector<models::Wait>*>;

/// Returns a key of the wait that does not depend on its ranks.
std::string shape_of(const models::Wait& wait);

/// Groups the cycles `first` and `others` by shape, in the order of each shape's first cycle.
std::vector<AlikeCycles> alike_cycles(const std::vector<models::Wait>& first,
                                      const std::vector<std::vector<models::Wait>>& others);

/// Describes several cycles of one shape: "x 3: the same on ranks 2 and 3; ranks 4 and 5". Names
/// only the first few and the last of many cycles.
std::string alike_text(const models::CycleClass& cycles);

/// Returns a note on the cycles that are not shown; empty if there are none.
std::string cycle_note(const models::Explanation& explanation);

/// Describes failures during the run: device errors, ranks that died.
std::vector<std::string> broken_lines(const models::Explanation& explanation);

/// Names the rules of NCCL on which the verdict depends and which nobody has measured.
std::vector<std::string> unmeasured_lines(const models::Explanation& explanation);

/// Describes what happens after the last progress: errors of ranks whose peers have ended, and what
/// watchdogs, timeouts and launcher do.
std::vector<std::string> end_lines(const models::Explanation& explanation);

/// Describes mismatched calls, at most 20.
std::vector<std::string> mismatch_lines(const models::Explanation& explanation);

std::string roots_heading(const models::Explanation& explanation);

/// Describes the roots: ends of wait chains that close no cycle. Roots with the same sentence share
/// a line.
std::vector<std::string> root_lines(const models::Explanation& explanation);

/// Describes one root: "rank 10 never calls dispatch.2#1 (fused_moe.py:910 dispatch)".
std::string root_sentence(const models::Root& root);

/// Describes the missing call that is the cause of a hang, as the rest of a sentence: "ranks 10 and
/// 11 skip dispatch.2#1".
std::string missing_call_text(const models::Explanation& explanation);

/// Returns the main reason for the end of a run in one sentence: the cycle, a mismatch, or a root.
/// Returns an empty string for a run that completed.
std::string first_reason(const models::Explanation& explanation);

/// Describes an op on a suspicious stream, without a period.
std::string misplacement_text(const models::Misplacement& found);

inline constexpr std::string_view kRemediesHeading =
    "Any one of these changes lets this run complete (each was tried):";

std::string remedy_text(const models::Remedy& remedy);

/// Describes the progress of a stream, thread or other sequence of ops of `rank`: "2 of 4
/// iterations; iteration 3 is at nccl-1998 (running)".
std::string progress_text(const models::RankReport& rank, const models::Progress& progress);

/// Returns the first difference between the calls of a recorded script's ranks; null unless the
/// script hangs.
const models::FirstDifference* shown_difference(const Report& report);

}  // namespace pipesim::viz
