// The words that all reports share, so that text, JSON and pictures say the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/graph/task_graph.hpp"

namespace pipesim::viz {

/// "43.6 us": the largest unit that leaves at least 1, exact to the nanosecond.
std::string time_text(std::int64_t ns);

/// "1.5 GiB": in the largest unit that leaves at least 1, rounded to a tenth.
std::string bytes_text(std::int64_t bytes);

/// "1st", "2nd", "3rd", "4th".
std::string ordinal(std::uint32_t number);

/// "3 acts", "1 act".
std::string counted(std::uint64_t count, std::string_view singular);

/// "0 to 3, 5 and 7" for ascending numbers.
std::string ranges(const std::vector<std::uint32_t>& numbers);

/// The same for a narrow column: "0-3, 5", and of more than three parts the first two and the last,
/// "0-3, 8-11, ... 56-59 (32 ranks)".
std::string short_ranges(const std::vector<std::uint32_t>& ranks);

/// "credit (control)": the name of a kind of wait, as in JSON.
std::string_view kind_name(sim::WaitKind kind);

/// "started": the name of a stage, as in JSON.
std::string_view stage_name(models::ActStage stage);

/// "watchdog": why a rank died, as in JSON.
std::string_view death_name(sim::DeathCause cause);

/// "16 digits": the fingerprint as reports show it.
std::string fingerprint_text(std::uint64_t fingerprint);

/// "nccl-1998#3".
std::string act_text(const models::ActInfo& act);

/// "rank 1 nccl-1998#3", "rank 3", "the outside".
std::string party_text(const models::WaitParty& party);

/// How far an act is, and what of: "started, spins", "in its launch: creating the communicator".
std::string stage_text(const models::ActInfo& act);

/// "DEADLOCK", "LIMIT (until)": a verdict as reports begin.
std::string verdict_text(const models::Explanation& explanation);

/// "swin_2x2x2: DEADLOCK at 43.6 us".
std::string headline(const models::TaskGraph& graph, const models::Explanation& explanation);

/// "The cycle: 10 waits, ranks 0 and 1, micro-batches 1 to 3", of an explanation that has one.
std::string cycle_text(const models::Explanation& explanation);

/// `text` in lines of at most `width` characters, broken at spaces; a longer word has its own. A
/// line end in `text` is kept.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// What a wait is for, up to but without the other end: "needs data from". Where the other end only
/// stands before what is needed in a program, "needs data from x#2, which comes after".
std::string wait_text(const models::Wait& wait);

}  // namespace pipesim::viz
