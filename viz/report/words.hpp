// Wording shared by all reports, so that text, JSON and pictures agree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/explanation.hpp"

namespace pipesim::viz {

/// Formats a time in the largest unit that leaves at least 1, exact to the nanosecond: "43.6 us".
std::string time_text(std::int64_t ns);

/// Formats bytes in the largest unit that leaves at least 1, rounded to a tenth: "1.5 GiB".
std::string bytes_text(std::int64_t bytes);

/// Returns "1st", "2nd", "3rd", "4th".
std::string ordinal(std::uint32_t number);

/// Formats a number with separators: "1,234".
std::string grouped(std::uint64_t number);

/// Formats a count with its noun: "1,234 ops", "1 op".
std::string counted(std::uint64_t count, std::string_view singular);

/// Formats ascending numbers as ranges: "0 to 3, 5 and 7".
std::string ranges(const std::vector<std::uint32_t>& numbers);

/// Formats ascending ranks for a narrow column: "0-3, 5" or "0-56 by 8". With more than three
/// irregular parts, names the first two and the last: "0-3, 9-11, ... 56-59 (23 ranks)".
std::string short_ranges(const std::vector<std::uint32_t>& ranks);

/// Names a class of ranks that is shown once: "rank 3", "ranks 0-15 (x16)".
std::string class_name(const models::RankSet& ranks);

/// Returns "rank 3", "ranks 0 to 7 and 9", "no ranks". Shortens a long list and describes its
/// pattern: "ranks 0, 8, ... 504 (every 8th, 64 ranks)", "... (4 of every 8, 32 ranks)".
std::string ranks_text(const std::vector<std::uint32_t>& ranks);

/// Returns `text` with a capital first letter.
std::string capitalized(std::string text);

/// Converts `text` to upper case: "DEADLOCK".
std::string upper_case(std::string_view text);

/// Returns the JSON name of a stage: "started".
std::string_view stage_name(models::OpStage stage);

/// Returns the JSON name of the cause of a rank's death: "watchdog".
std::string_view death_name(sim::DeathCause cause);

/// Returns the fingerprint as 16 hexadecimal digits, as in reports.
std::string fingerprint_text(std::uint64_t fingerprint);

/// Returns the name of an op in the scenario: "nccl-1998#3".
std::string op_id(const models::OpInfo& op);

/// Returns the name of an op in reports. The name is op_id() or, for an op of a recorded script,
/// "all_reduce #23 on the world group".
std::string op_text(const models::OpInfo& op);

/// Returns op_text() for use within a sentence, quoted if the scenario's `after` implies the op:
/// "'wait for nccl ep before experts#1'".
std::string quoted_if_implied(const models::OpInfo& op);

/// Names the target of a wait: "rank 1 nccl-1998#3", "rank 3", "the outside".
std::string party_text(const models::WaitParty& party);

/// Names the target of a wait within a sentence: "rank 1's nccl-1998#3".
std::string phrase_of(const models::WaitParty& party);

/// Returns the progress of an op: "running", "launching: in communicator init".
std::string stage_text(const models::OpInfo& op);

/// Returns the verdict in the first line of a report: "DEADLOCK", "HANGS (missing call)",
/// "LIMIT (until)".
std::string verdict_text(const models::Explanation& explanation);

/// Returns the terminal style of a verdict.
const char* verdict_style(sim::Verdict verdict);

/// Returns the name and end of a run: "swin_2x2x2: DEADLOCK at 43.6 us".
std::string headline(const models::TaskGraph& graph, const models::Explanation& explanation);

/// Describes the cycle of an explanation that has one: "The cycle: 10 waits, ranks 0 and 1,
/// micro-batches 1 to 3".
std::string cycle_text(const models::Explanation& explanation);

/// Breaks `text` at spaces into lines of at most `width` characters; a longer word has its own
/// line. Keeps the line ends in `text`.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Breaks `text` into lines of at most `width` columns, each with its line end. The first line is
/// indented by `first`, the others by `rest`.
std::string paragraph(std::string_view text, std::size_t width, std::size_t first = 0,
                      std::size_t rest = 0);

/// Describes a reading of NCCL's buffering: "sends complete into NCCL's buffers".
std::string nccl_mode_about(models::NcclMode reading);

}  // namespace pipesim::viz
