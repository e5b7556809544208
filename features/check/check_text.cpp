#include "features/check/check_text.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/result/expectation.hpp"
#include "viz/report/recorded_text.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {

std::string run_end_text(const models::Explanation& end) {
  if (end.cause == models::Cause::kInterrupted) return "interrupted";
  const std::string time = time_text(end.time_ns);
  return end.verdict == sim::Verdict::kCompleted
             ? fmt::format("completes at {}", time)
             : fmt::format("{} at {}", models::verdict_name(end.verdict), time);
}

namespace {

std::string how_text(const CheckView& view) {
  const sim::Exploration& found = view.check.exploration;
  switch (found.method) {
    case sim::Method::kOneRun:
      return "one run covers all: timing has no effect here";
    case sim::Method::kNoCycle:
      return "no cycle of waits is possible in any interleaving";
    case sim::Method::kExploration:
      return fmt::format("all that differ in effect were explored: {}, {}, {} run to the end",
                         counted(found.states, "branch point"), counted(found.steps, "step"),
                         counted(found.orders, "interleaving"));
    case sim::Method::kSearch:
      break;
  }
  if (view.check.usual.lowered.plan.faulty) {
    return "only the default timing was run, because faults and timeouts happen at fixed times";
  }
  if (view.check.usual.outcome.end == sim::RunEnd::kTimeLimit) {
    return "only the run with the scenario's own durations, which reached the end of simulated "
           "time";
  }
  std::string end = "the budget of steps ran out";
  if (found.budget > 0) {
    end =
        fmt::format("the budget of {}{} (--states) ran out", counted(found.budget, "branch point"),
                    found.hang_found ? " after a hang" : "");
  }
  if (found.hang_found && found.completion_found) end = "a hang and a completion were both found";
  if (found.stopped) end = view.out_of_time ? "the time limit was reached" : "it was interrupted";
  return fmt::format("partial search: {}, {}, {} run to the end; stopped because {}",
                     counted(found.states, "branch point"), counted(found.steps, "step"),
                     counted(found.orders, "interleaving"), end);
}

std::string ends_text(const sim::Exploration& found) {
  if (found.hang_found && found.completion_found) return "some hang and some complete";
  if (found.answer == sim::Answer::kMismatch) return "none hangs";
  if (found.hang_found) {
    if (found.answer == sim::Answer::kHangCertain) return "all hang";
    return found.orders > 1 ? "none of these completes" : "one hangs";
  }
  if (found.answer == sim::Answer::kProved) return "none hangs";
  if (found.completion_found) return "none of these hangs";
  return "none ran to the end";
}

// Lists the streams that share a hardware queue, for the first rank with such streams.
std::string queues_text(const CheckView& view) {
  const models::Lowered& lowered = view.check.hanging()->lowered;
  std::map<std::pair<sim::DeviceId, std::uint32_t>, std::vector<std::string>> queues;
  for (const sim::StreamId id : sim::ids_of(lowered.plan.streams)) {
    const sim::Stream& stream = lowered.plan.streams[id];
    if (!stream.device.valid() || lowered.plan.devices[stream.device].hardware_queues == 0)
      continue;
    const std::uint32_t name = lowered.stream_template[id];
    if (name == models::kNoIndex) continue;
    queues[{stream.device, stream.hardware_queue}].push_back(
        models::printable(view.graph.streams[name].name));
  }
  std::string text;
  sim::DeviceId first;
  for (const auto& [key, streams] : queues) {
    if (streams.size() < 2 || (first.valid() && key.first != first)) continue;
    first = key.first;
    text += fmt::format("{}{}", text.empty() ? "" : "; ", fmt::join(streams, ", "));
  }
  if (!first.valid()) return text;
  return fmt::format("on rank {}: {}", lowered.plan.devices[first].rank.value, text);
}

std::string ways_text(const CheckView& view) {
  const WaysView& ways = *view.ways;
  const std::string all = ways.all ? grouped(*ways.all) : "more than 2^63";
  if (view.check.exploration.hang_found) {
    return fmt::format("{} (way {} of {}, fewest changes first)", ways.shown, grouped(ways.number),
                       all);
  }
  return ways.complete() ? fmt::format("all {} ways were checked", all)
                         : fmt::format("only {} of {} ways were checked (--ways, --seconds)",
                                       grouped(ways.checked), all);
}

// Returns the title of the hanging run.
const char* hang_title(const sim::Exploration& found) {
  if (found.answer == sim::Answer::kMismatch) return "The run with the default timing:";
  if (found.reading.serial_collectives) {
    return "A run in which each device runs one collective at a time:";
  }
  if (found.reading.shared_launches) {
    return "A run in which the streams of a device share a launch queue:";
  }
  if (!found.hang.empty()) return "The interleaving with the fewest steps that hangs:";
  if (!found.reading.queues.empty())
    return "A run in which streams share hardware queues as above:";
  return "The run with the default timing:";
}

const char* colour(sim::Answer answer) {
  switch (answer) {
    case sim::Answer::kProved:
      return ansi::kGreen;
    case sim::Answer::kUndecided:
      return ansi::kYellow;
    case sim::Answer::kHangPossible:
    case sim::Answer::kHangCertain:
    case sim::Answer::kMismatch:
      break;
  }
  return ansi::kRed;
}

std::string headline(sim::Answer answer) {
  switch (answer) {
    case sim::Answer::kProved:
      return "PROVED: no interleaving hangs";
    case sim::Answer::kHangPossible:
      return "HANG POSSIBLE";
    case sim::Answer::kHangCertain:
      return "HANG CERTAIN: every interleaving hangs";
    case sim::Answer::kMismatch:
      return "MISMATCH: no interleaving hangs, but calls do not match";
    case sim::Answer::kUndecided:
      break;
  }
  return "UNDECIDED: no interleaving was found that hangs";
}

// Whether the job also hangs in the reading `real`, so that the cause is not only the first use of
// a communicator. `certainly`: counts only a certain hang.
bool hangs_later(const models::NcclModesReport& modes, bool certainly) {
  return std::any_of(modes.modes.begin(), modes.modes.end(),
                     [&](const models::NcclModeAnswer& each) {
                       return each.mode == models::NcclMode::kReal &&
                              (each.answer == sim::Answer::kHangCertain ||
                               (!certainly && each.answer == sim::Answer::kHangPossible));
                     });
}

std::string job_headline(const models::NcclModesReport& modes, const TextOptions& options) {
  const bool certainly = modes.answer == models::JobAnswer::kHangCertain;
  const bool cold = modes.shown == models::NcclMode::kCold && !hangs_later(modes, certainly);
  switch (modes.answer) {
    case models::JobAnswer::kProved:
      return styled(options, ansi::kGreen, headline(sim::Answer::kProved));
    case models::JobAnswer::kByBuffers:
      return styled(options, ansi::kYellow,
                    fmt::format("RUNS, thanks to {}buffers, which hide a hang",
                                modes.buffered_bytes == 0
                                    ? "NCCL's "  // the buffers of collectives are not counted
                                    : bytes_text(modes.buffered_bytes) + " of "));
    case models::JobAnswer::kHangPossible:
      return styled(options, ansi::kRed, cold ? "HANG POSSIBLE in a fresh job" : "HANG POSSIBLE");
    case models::JobAnswer::kHangCertain:
      return styled(options, ansi::kRed,
                    cold ? "HANG CERTAIN in a fresh job" : headline(sim::Answer::kHangCertain));
    case models::JobAnswer::kMismatch:
      return styled(options, ansi::kRed, headline(sim::Answer::kMismatch));
    case models::JobAnswer::kUndecided:
      break;
  }
  return styled(options, ansi::kYellow, "UNDECIDED");
}

// Whether dead ranks are the only cause of the hang `end`.
bool ends_with_deaths(const models::Explanation& end) {
  return end.cause == models::Cause::kDeadRank && end.cycle.empty() && end.mismatches.empty();
}

const std::vector<models::FailedRanks>* failures_of(const CheckView& view) {
  const models::Recorded* recorded = view.graph.recorded.get();
  return recorded == nullptr || recorded->failures.empty() ? nullptr : &recorded->failures;
}

// Returns the ranks that are neither dead nor finished. Of equal ranks, returns only the first
// rank.
std::vector<const models::RankReport*> waiting_ranks(const CheckView& view) {
  std::vector<const models::RankReport*> waiting;
  for (const models::RankReport& rank : view.hang->explanation.ranks) {
    const bool finished = std::all_of(rank.threads.begin(), rank.threads.end(),
                                      [](const auto& thread) { return thread.finished; });
    if (!rank.dead && !finished) waiting.push_back(&rank);
  }
  return waiting;
}

// Describes a failure: "rank 1 raised ValueError at train.py:3".
std::string failure_text(const models::FailedRanks& failed) {
  return fmt::format("{} {}{}{}", ranks_text(failed.ranks), failed.what,
                     failed.at.empty() ? "" : " at ", failed.at);
}

std::string headline(const CheckView& view, const TextOptions& options) {
  if (is_failed(view)) return styled(options, ansi::kRed, failed_text(view));
  const bool failed = view.hang != nullptr && failures_of(view) != nullptr;
  const std::string also = failed ? "; " + failure_text(failures_of(view)->front()) : std::string();
  if (!view.undecided.empty() && view.check.exploration.answer == sim::Answer::kUndecided) {
    return styled(options, ansi::kYellow, "UNDECIDED: " + view.undecided) + also;
  }
  if (view.modes != nullptr) return job_headline(*view.modes, options) + also;
  const sim::Answer answer = view.check.exploration.answer;
  if (!is_proved_by_buffers(view)) return styled(options, colour(answer), headline(answer)) + also;
  return styled(
      options, ansi::kYellow,
      fmt::format("NO HANG in the reading '{}'", models::nccl_mode_name(view.graph.nccl_mode)));
}

// Describes the calls without a size: "2 sends and 1 collective with a root".
std::string unsized_text(const models::LeftOut& left_out) {
  std::string text;
  if (left_out.sends > 0) text = counted(left_out.sends, "send");
  if (left_out.rooted > 0) {
    text += fmt::format("{}{} with a root", text.empty() ? "" : " and ",
                        counted(left_out.rooted, "collective"));
  }
  return text;
}

// Whether nothing hangs, although the contract allows a hang.
bool runs_by_buffers(const CheckView& view) {
  return view.modes != nullptr ? view.modes->answer == models::JobAnswer::kByBuffers
                               : is_proved_by_buffers(view);
}

}  // namespace

bool is_failed(const CheckView& view) {
  if (failures_of(view) == nullptr || view.hang == nullptr) return false;
  if (view.check.exploration.answer == sim::Answer::kUndecided) return false;
  if (view.modes == nullptr) return ends_with_deaths(view.hang->explanation);
  return std::all_of(view.modes->modes.begin(), view.modes->modes.end(),
                     [](const models::NcclModeAnswer& each) {
                       return !each.hang || ends_with_deaths(*each.hang);
                     });
}

std::string failed_text(const CheckView& view) {
  const std::vector<models::FailedRanks>& failures = *failures_of(view);
  std::string text = "FAILED: " + failure_text(failures.front());
  if (failures.size() > 1) text += fmt::format(" and {} more", failures.size() - 1);
  std::vector<std::uint32_t> waiting;
  for (const models::RankReport* rank : waiting_ranks(view)) waiting.push_back(rank->rank);
  if (waiting.empty()) return text + "; nothing hangs before";
  return text +
         fmt::format("; {} wait{} for {}", ranks_text(waiting), waiting.size() == 1 ? "s" : "",
                     failures.size() == 1 && failures.front().ranks.size() == 1 ? "it" : "them");
}

bool is_proved_by_buffers(const CheckView& view) {
  return view.by_buffers && view.check.exploration.answer == sim::Answer::kProved;
}

std::string answer_text(const models::NcclModesReport& all, const models::NcclModeAnswer& one,
                        bool short_form) {
  const sim::Answer contract = all.modes.front().answer;
  if (one.answer != sim::Answer::kProved || contract == sim::Answer::kProved) {
    return answer_text(one.answer);
  }
  if (contract == sim::Answer::kUndecided) return "no hang";
  if (short_form) return answer_text(models::JobAnswer::kByBuffers);
  return all.buffered_bytes == 0
             ? "runs, thanks to NCCL's buffers"
             : fmt::format("runs, thanks to {} of buffers", bytes_text(all.buffered_bytes));
}

std::vector<std::string> left_out_lines(const CheckView& view) {
  std::vector<std::string> lines;
  const models::LeftOut found = models::left_out(view.graph);
  if (found.endless_buffers) {
    lines.emplace_back(
        "messages: dir buffers every message, whatever its size. No runtime does: a job can hang "
        "where this does not");
  }
  if (!found.actions.empty()) {
    lines.push_back(fmt::format(
        "the collectives of {} are not in the scenario ('collectives' of a schedule), so their "
        "order was not checked",
        fmt::join(found.actions, " and ")));
  }
  const std::string unsized = unsized_text(found);
  if (!unsized.empty() && runs_by_buffers(view)) {
    lines.push_back(fmt::format(
        "{} without a size ('bytes'; 'message' of a schedule) would fit into NCCL's buffers",
        unsized));
  }
  return lines;
}

std::string answer_text(sim::Answer answer) {
  switch (answer) {
    case sim::Answer::kProved:
      return "proved";
    case sim::Answer::kHangPossible:
      return "hang possible";
    case sim::Answer::kHangCertain:
      return "hang certain";
    case sim::Answer::kMismatch:
      return "mismatch";
    case sim::Answer::kUndecided:
      break;
  }
  return "undecided";
}

std::string answer_text(models::JobAnswer answer) {
  switch (answer) {
    case models::JobAnswer::kProved:
      return "proved";
    case models::JobAnswer::kByBuffers:
      return "runs by buffers";
    case models::JobAnswer::kHangPossible:
      return "hang possible";
    case models::JobAnswer::kHangCertain:
      return "hang certain";
    case models::JobAnswer::kMismatch:
      return "mismatch";
    case models::JobAnswer::kUndecided:
      break;
  }
  return "undecided";
}

std::string flows_text() {
  return "rule 9.4: a rank leaves a broadcast or reduce once its data is in "
         "NCCL's buffers (from NCCL's source; not measured)";
}

std::string network_text() {
  return "rule 9.5: sends to other hosts wait in separate buffers, but NCCL's proxy may serve "
         "several calls one after the other (from NCCL's source; not measured)";
}

std::string empty_calls_text() {
  return "a collective of no bytes launches nothing and waits for nobody. Read in NCCL's code, not "
         "measured";
}

std::string init_text() {
  return "rule 3.3: communicator initialization does not wait for running kernels. If it does "
         "(reported in NVIDIA/nccl#2031, not documented), this hangs (waits_for_device)";
}

std::string size_text(const models::LaterSize& call) {
  return fmt::format(
      "rule 9.7: NCCL chooses an algorithm by size and connects each at its first use; here each "
      "operation connects once. If rank {} {} of {} needs another algorithm than {} did, it "
      "connects again, and this can hang (from NCCL's source; not measured)",
      call.rank, models::printable(call.op), bytes_text(call.bytes), bytes_text(call.before));
}

std::string records_text() {
  return "rule 5.3: an event record does not hold its hardware queue; if it did, this could hang "
         "(inferred from Megatron-LM's source; not measured)";
}

std::string launches_text(const sim::Exploration& found) {
  return fmt::format(
      "rule 3.4: whether each stream has a launch queue or all of a device share one is not "
      "documented; {}",
      found.hang_found ? "it hangs if they share one" : "not decided if they share one");
}

std::vector<std::string> rests_on_lines(const CheckView& view) {
  std::vector<std::string> lines;
  const auto add = [&](std::string line) { lines.push_back(std::move(line)); };
  if (view.modes != nullptr && view.modes->by_flows) add(flows_text());
  if (view.modes != nullptr && view.modes->by_network) add(network_text());
  if (view.modes != nullptr && view.modes->by_empty_calls) add(empty_calls_text());
  if (view.modes != nullptr && view.modes->by_init) add(init_text());
  if (view.modes != nullptr && view.modes->by_size) add(size_text(*view.modes->by_size));
  const sim::RestsOn& rests_on = view.check.exploration.rests_on;
  const bool hangs = view.check.exploration.hang_found;
  if (!hangs || runs_by_buffers(view)) {
    for (std::string& line : left_out_lines(view)) add(std::move(line));
  }
  if (rests_on.slots) {
    add("rule 5.5: a device may be unable to run two collectives at a time, so NCCL's guide "
        "requires one launch order on all ranks; here the orders differ");
  }
  if (rests_on.records) add(records_text());
  if (rests_on.launches) add(launches_text(view.check.exploration));
  if (!rests_on.queues) return lines;
  if (hangs) {
    add(
        fmt::format("rule 5.5: which streams share a hardware queue is not documented; it hangs if "
                    "they share as follows {}",
                    queues_text(view)));
  } else if (rests_on.queue_runs == 0) {
    add("rule 5.5: which streams share a hardware queue is not documented; nothing hangs even if "
        "all streams share one");
  } else {
    add(
        fmt::format("rule 5.5: which streams share a hardware queue is not documented; {} {} "
                    "tried",
                    rests_on.all_queue_runs ? "all" : "only", counted(rests_on.queue_runs, "way")));
  }
  return lines;
}

std::string interleavings_text(const CheckView& view) {
  return fmt::format("{}; {}", how_text(view), ends_text(view.check.exploration));
}

std::string check_text(const CheckView& view, const TextOptions& options) {
  const sim::Exploration& found = view.check.exploration;
  const models::Explanation& usual = view.check.usual.explanation;
  std::string text =
      head_line(fmt::format("{}  {}", models::printable(view.graph.name), headline(view, options)),
                fmt::format("{}, {}", counted(view.graph.ranks, "rank"),
                            counted(usual.ops_expected, "op")),
                options.width) +
      "\n";
  const bool failed = is_failed(view);
  if (failed) {
    text += failures_text(*failures_of(view), waiting_ranks(view), options) + "\n";
  } else if (view.hang != nullptr) {
    const std::string lead = lead_text(*view.hang, options);
    if (!lead.empty()) text += lead + "\n";
  }
  const auto add = [&](std::string_view what, const std::string& line) {
    text += paragraph(fmt::format("{:<16}{}", what, line), options.width, 0, 16);
  };
  if (view.ways) add("choices", ways_text(view));
  if (view.modes != nullptr && !failed) {
    for (const models::NcclModeAnswer& each : view.modes->modes) {
      add(models::nccl_mode_name(each.mode),
          fmt::format("{} ({})", answer_text(*view.modes, each, false),
                      nccl_mode_about(each.mode)));
    }
  }
  for (const std::string& line : rests_on_lines(view)) add("assumes", line);
  if (view.of_record) {
    add("record", view.of_dumps
                      ? "the answer covers only the calls in these dumps, the last ones of one run"
                      : "the answer covers only what was recorded: one run of the script");
  }
  for (const std::string& line : view.basis) add("assumes", line);
  if (failed && view.hang->all_waits.empty()) return text;
  const bool shows_one = view.modes != nullptr && view.modes->answer != models::JobAnswer::kProved;
  if (shows_one) {
    text += fmt::format("\nWith --reading {}:\n", models::nccl_mode_name(view.modes->shown));
  }
  if (is_proved_by_buffers(view)) {
    add("contract",
        "not checked: here sends complete into NCCL's buffers, which NCCL does not "
        "promise. Without --reading, check answers for all three readings");
  }
  add("default timing", run_end_text(usual));
  add("interleavings", interleavings_text(view));
  if (found.timing != nullptr) add("timing", fmt::format("can matter: {}", found.timing));
  if (!found.hang.empty()) {
    add("fewest steps", fmt::format("{} to a hang; --order FILE writes them for 'run --replay'",
                                    counted(found.hang.size(), "step")));
  }
  if (view.hang == nullptr) return text;
  text += fmt::format("\n{}\n\n", hang_title(found));
  text += text_report(*view.hang, options, true);
  return text;
}

}  // namespace pipesim::viz
