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

/// "1,234".
std::string grouped(std::uint64_t number);

/// "1,234 ops", "1 op".
std::string counted(std::uint64_t count, std::string_view singular);

/// "0 to 3, 5 and 7" for ascending numbers.
std::string ranges(const std::vector<std::uint32_t>& numbers);

/// The same for a narrow column: "0-3, 5"; "0-56 by 8"; and of more than three other parts the
/// first two and the last, "0-3, 9-11, ... 56-59 (23 ranks)".
std::string short_ranges(const std::vector<std::uint32_t>& ranks);

/// "rank 3", "ranks 0-15 (x16)": ranks that are shown as one.
std::string class_name(const models::RankSet& ranks);

/// "rank 3", "ranks 0 to 7 and 9", "no rank". A long list is shortened, and says how it goes on if
/// it is regular: "ranks 0, 8, ... 504 (every 8th, 64 ranks)", "... (4 of every 8, 32 ranks)".
std::string ranks_text(const std::vector<std::uint32_t>& ranks);

/// `text` with a capital at its beginning.
std::string capitalized(std::string text);

/// "DEADLOCK".
std::string upper_case(std::string_view text);

/// "communicator creation": the name of a kind of wait in JSON, which stays as it is.
std::string_view kind_name(sim::WaitKind kind);

/// "communicator init": the same for people.
std::string_view kind_label(sim::WaitKind kind);

/// "started": the name of a stage, as in JSON.
std::string_view stage_name(models::ActStage stage);

/// "watchdog": why a rank died, as in JSON.
std::string_view death_name(sim::DeathCause cause);

/// "16 digits": the fingerprint as reports show it.
std::string fingerprint_text(std::uint64_t fingerprint);

/// "nccl-1998#3": by the names of the scenario.
std::string act_id(const models::ActInfo& act);

/// The same; of a recorded script "all_reduce #23 on the world group".
std::string act_text(const models::ActInfo& act);

/// The same in a sentence, where the name of what `after` implies is quoted: "'wait for nccl ep
/// before experts#1'".
std::string op_text(const models::ActInfo& act);

/// "rank 1 nccl-1998#3", "rank 3", "the outside".
std::string party_text(const models::WaitParty& party);

/// The same within a sentence: "rank 1's nccl-1998#3".
std::string phrase_of(const models::WaitParty& party);

/// How far an op is: "running", "launching: in communicator init".
std::string stage_text(const models::ActInfo& act);

/// "DEADLOCK", "LIMIT (until)": a verdict as reports begin.
std::string verdict_text(const models::Explanation& explanation);

/// How a verdict is coloured.
const char* verdict_style(sim::Verdict verdict);

/// "swin_2x2x2: DEADLOCK at 43.6 us".
std::string headline(const models::TaskGraph& graph, const models::Explanation& explanation);

/// "The cycle: 10 waits, ranks 0 and 1, micro-batches 1 to 3", of an explanation that has one.
std::string cycle_text(const models::Explanation& explanation);

/// `text` in lines of at most `width` characters, broken at spaces; a longer word has its own. A
/// line end in `text` is kept.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// Whether `wait` holds its stream up, rather than stands in it behind another op.
bool holds_stream(const models::Wait& wait);

/// Whether `wait` is for another rank to join the same collective or communicator.
bool joins(const models::Wait& wait);

/// "the matching recv", of a send.
std::string matching_text(const models::ActInfo& act);

/// `text` in lines of at most `width` columns, the first indented by `first` and the others by
/// `rest`, each with its line end.
std::string paragraph(std::string_view text, std::size_t width, std::size_t first = 0,
                      std::size_t rest = 0);

/// What a wait is for: "needs data from rank 1 F1#3"; of its own rank "queued behind nccl-1998#3".
std::string wait_text(const models::Wait& wait);

/// The same without the other end, for an arrow that leads there: "needs data from".
std::string edge_text(const models::Wait& wait);

}  // namespace pipesim::viz
