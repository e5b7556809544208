#include "features/check/check_report.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/result/expectation.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/recorded_text.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::JobAnswer;

// The words for an answer.
struct AnswerWords {
  JobAnswer answer;
  std::string_view name;      // name in JSON and in lists of answers
  std::string_view headline;  // first line on a terminal
  const char* on_page;        // headline of a page, after the name of the scenario
  const char* style;
};

constexpr AnswerWords kAnswers[] = {
    {JobAnswer::kProved, "proved", "PROVED: no interleaving hangs", "never hangs", ansi::kGreen},
    {JobAnswer::kByBuffers, "runs by buffers", "RUNS, thanks to NCCL's buffers, which hide a hang",
     "runs by buffers, which hide a hang", ansi::kYellow},
    {JobAnswer::kHangPossible, "hang possible", "HANG POSSIBLE", "can hang", ansi::kRed},
    {JobAnswer::kHangCertain, "hang certain", "HANG CERTAIN: every interleaving hangs",
     "always hangs", ansi::kRed},
    {JobAnswer::kMismatch, "mismatch", "MISMATCH: no interleaving hangs, but calls do not match",
     "never hangs, but calls do not match", ansi::kRed},
    {JobAnswer::kUndecided, "undecided", "UNDECIDED: no interleaving was found that hangs",
     "is undecided", ansi::kYellow},
};

const AnswerWords& words_of(JobAnswer answer) {
  return *std::find_if(std::begin(kAnswers), std::end(kAnswers),
                       [&](const AnswerWords& words) { return words.answer == answer; });
}

JobAnswer answer_of(const CheckView& view) {
  if (!view.undecided.empty()) return JobAnswer::kUndecided;
  return view.modes != nullptr ? view.modes->answer
                               : models::job_answer_of(view.check.exploration.answer);
}

// Formats the end of a run: "completes at 24 us".
std::string run_end_text(const models::Explanation& end) {
  if (end.cause == models::Cause::kInterrupted) return "interrupted";
  const std::string time = time_text(end.time_ns);
  switch (end.verdict) {
    case sim::Verdict::kCompleted:
      return fmt::format("completes at {}", time);
    case sim::Verdict::kDeadlock:
      return fmt::format("hangs at {} (deadlock)", time);
    case sim::Verdict::kStarved:
      return fmt::format("hangs at {}", time);
    default:
      return fmt::format("{} at {}", models::verdict_name(end.verdict), time);
  }
}

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
  if (found.stopped) end = view.out_of_time ? "the time limit was reached" : "it was interrupted";
  const bool both = found.hang_found && found.completion_found && !found.stopped;
  const bool all = view.hang != nullptr && !view.hang->all_waits.empty();
  return fmt::format("partial search, {}{} run to the end{}",
                     all ? fmt::format("{}, {}, ", counted(found.states, "branch point"),
                                       counted(found.steps, "step"))
                         : "",
                     counted(found.orders, "interleaving"),
                     both ? "" : fmt::format("; stopped because {}", end));
}

std::string ends_text(const CheckView& view) {
  const sim::Exploration& found = view.check.exploration;
  if (found.hang_found && found.completion_found) return "some hang and some complete";
  if (found.answer == sim::Answer::kMismatch) return "none hangs";
  if (found.hang_found) {
    if (found.method == sim::Method::kOneRun) return "all hang";
    if (found.answer == sim::Answer::kHangCertain) return "all hang";
    return found.orders > 1 ? "none of these completes" : "one hangs";
  }
  const bool proved = found.answer == sim::Answer::kProved;
  if (proved && (view.undecided.empty() || !found.completion_found)) return "none hangs";
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
  if (found.answer == sim::Answer::kMismatch) return "Default timing:";
  if (found.reading.serial_collectives) {
    return "A run in which each device runs one collective at a time:";
  }
  if (found.reading.shared_launches) {
    return "A run in which the streams of a device share a launch queue:";
  }
  if (!found.hang.empty()) return "Shortest hang found:";
  if (!found.reading.queues.empty())
    return "A run in which streams share hardware queues as above:";
  return "Default timing:";
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

// Whether the cold reading is proved only for kernels that are loaded before their first launch.
bool needs_loaded_kernels(const CheckView& view) {
  return view.needs_loaded_kernels && answer_of(view) == JobAnswer::kProved;
}

std::string_view headline_of(const CheckView& view) {
  const JobAnswer answer = answer_of(view);
  if (needs_loaded_kernels(view)) return "PROVED, if kernels are loaded before they are launched";
  if (view.modes == nullptr) return words_of(answer).headline;
  if (answer == JobAnswer::kUndecided) return "UNDECIDED";
  const bool certainly = answer == JobAnswer::kHangCertain;
  const bool in_fresh_job =
      view.modes->shown == models::NcclMode::kCold && !hangs_later(*view.modes, certainly);
  if (in_fresh_job && certainly) return "HANG CERTAIN in a fresh job";
  if (in_fresh_job && answer == JobAnswer::kHangPossible) return "HANG POSSIBLE in a fresh job";
  return words_of(answer).headline;
}

// Whether dead ranks are the only cause of the hang `end`.
bool ends_with_deaths(const models::Explanation& end) {
  return end.cause == models::Cause::kDeadRank && end.cycle.empty() && end.mismatches.empty();
}

const std::vector<models::FailedRanks>* failures_of(const CheckView& view) {
  const models::Recorded* recorded = view.graph.recorded.get();
  return recorded == nullptr || recorded->failures.empty() ? nullptr : &recorded->failures;
}

// Returns the ranks that are neither dead nor finished. If several ranks are equal, returns only
// the first of them.
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

// Whether failed ranks of a recorded script are the only problem: no calls mismatch, and other
// ranks wait only for the failed ranks. A failed rank raised an exception or exited with an error.
bool is_failed(const CheckView& view) {
  if (failures_of(view) == nullptr || view.hang == nullptr) return false;
  if (answer_of(view) == JobAnswer::kUndecided) return false;
  if (view.modes == nullptr) return ends_with_deaths(view.hang->explanation);
  return std::all_of(view.modes->modes.begin(), view.modes->modes.end(),
                     [](const models::NcclModeAnswer& each) {
                       return !each.hang || ends_with_deaths(*each.hang);
                     });
}

// Returns "FAILED: rank 1 raised ValueError at train.py:3; ranks 0 and 2 wait for it". Requires
// is_failed().
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

// Whether the only checked reading is proved, but relies on NCCL's buffers. The report then states
// "NO HANG" instead of "PROVED", because NCCL does not promise buffers.
bool is_proved_by_buffers(const CheckView& view) {
  return view.by_buffers && answer_of(view) == JobAnswer::kProved;
}

// Whether nothing hangs, although the contract allows a hang.
bool runs_by_buffers(const CheckView& view) {
  return view.modes != nullptr ? view.modes->answer == models::JobAnswer::kByBuffers
                               : is_proved_by_buffers(view);
}

std::string headline(const CheckView& view, const TextOptions& options) {
  if (is_failed(view)) return styled(options, ansi::kRed, failed_text(view));
  const bool failed = view.hang != nullptr && failures_of(view) != nullptr;
  const std::string also = failed ? "; " + failure_text(failures_of(view)->front()) : std::string();
  const sim::Exploration& found = view.check.exploration;
  if (!view.undecided.empty()) {
    return styled(options, ansi::kYellow, "UNDECIDED: " + view.undecided) + also;
  }
  if (is_proved_by_buffers(view)) {
    return styled(options, ansi::kYellow,
                  fmt::format("NO HANG under the NCCL model '{}'",
                              models::nccl_mode_name(view.graph.nccl_mode)));
  }
  const JobAnswer answer = answer_of(view);
  if (answer == JobAnswer::kByBuffers && view.modes->buffered_bytes > 0) {
    return styled(options, ansi::kYellow,
                  fmt::format("RUNS, thanks to {} of buffers, which hide a hang",
                              bytes_text(view.modes->buffered_bytes)));
  }
  const bool one_way_hangs = view.ways && answer == JobAnswer::kHangPossible &&
                             found.method == sim::Method::kOneRun && found.hang_found;
  return styled(options, words_of(answer).style, headline_of(view)) +
         (one_way_hangs ? fmt::format(": with {} every interleaving hangs", view.ways->shown)
                        : std::string()) +
         also;
}

// Returns the words for `one` of the readings in `all`. `brief`: without the size of the buffers
// that prevent a hang.
std::string mode_answer_text(const models::NcclModesReport& all, const models::NcclModeAnswer& one,
                             bool brief) {
  const sim::Answer contract = all.modes.front().answer;
  if (one.mode == models::NcclMode::kCold && all.by_loads) {
    return contract == sim::Answer::kProved ? "proved, if kernels are loaded before"
                                            : "runs, if kernels are loaded before";
  }
  if (one.answer != sim::Answer::kProved || contract == sim::Answer::kProved) {
    return answer_text(models::job_answer_of(one.answer));
  }
  if (contract == sim::Answer::kUndecided) return "no hang";
  if (brief) return answer_text(JobAnswer::kByBuffers);
  return all.buffered_bytes == 0
             ? "runs, thanks to NCCL's buffers"
             : fmt::format("runs, thanks to {} of buffers", bytes_text(all.buffered_bytes));
}

// Returns the number of explored interleavings, and their outcome.
std::string interleavings_text(const CheckView& view) {
  return fmt::format("{}; {}", how_text(view), ends_text(view));
}

// Describes the parts that the scenario lacks (models::LeftOut), one per line.
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

// An assumption of the answer. `name` is its entry in JSON; if `name` is empty, JSON has `words`.
struct Assumption {
  std::string words;
  std::string name{};
};

std::string size_text(const models::LaterSize& call) {
  return fmt::format(
      "rule 9.7: NCCL chooses an algorithm by size and connects each at its first use; here each "
      "operation connects once. If rank {} {} of {} needs another algorithm than {} did, it "
      "connects again, and this can hang (from NCCL's source; not measured)",
      call.rank, models::printable(call.op), bytes_text(call.bytes), bytes_text(call.before));
}

std::string shared_queues_text(const CheckView& view) {
  const sim::RestsOn& rests_on = view.check.exploration.rests_on;
  constexpr const char* kRule =
      "rule 5.5: which streams share a hardware queue is not documented; ";
  if (view.check.exploration.hang_found) {
    return fmt::format("{}it hangs if they share as follows {}", kRule, queues_text(view));
  }
  if (rests_on.queue_runs == 0) {
    return fmt::format("{}nothing hangs even if all streams share one", kRule);
  }
  return fmt::format("{}{} {} tried", kRule, rests_on.all_queue_runs ? "all" : "only",
                     counted(rests_on.queue_runs, "way"));
}

// Returns the assumptions of the answer: undocumented or unmeasured behavior, then the parts that
// the scenario lacks.
std::vector<Assumption> assumptions(const CheckView& view) {
  std::vector<Assumption> found;
  const auto add = [&](bool applies, std::string words, std::string name = {}) {
    if (applies) found.push_back({std::move(words), std::move(name)});
  };
  if (const models::NcclModesReport* modes = view.modes) {
    add(modes->by_flows,
        "rule 9.4: a rank leaves a broadcast or reduce once its data is in NCCL's buffers (from "
        "NCCL's source; not measured)");
    add(modes->by_network,
        "rule 9.5: sends to other hosts wait in separate buffers, but NCCL's proxy may serve "
        "several calls one after the other (from NCCL's source; not measured)");
    add(modes->by_empty_calls,
        "a collective of no bytes launches nothing and waits for nobody. Read in NCCL's code, not "
        "measured");
    add(modes->by_init,
        "rule 3.3: communicator initialization does not wait for running kernels. If it does "
        "(reported in NVIDIA/nccl#2031, not documented), this hangs (waits_for_device)");
    add(modes->by_size.has_value(), modes->by_size ? size_text(*modes->by_size) : "");
  }
  const sim::RestsOn& rests_on = view.check.exploration.rests_on;
  const bool hangs = view.check.exploration.hang_found;
  if (!hangs || runs_by_buffers(view)) {
    for (std::string& line : left_out_lines(view)) add(true, std::move(line));
  }
  add(rests_on.slots,
      "rule 5.5: a device may be unable to run two collectives at a time, so NCCL's guide requires "
      "one launch order on all ranks; here the orders differ",
      "rule 5.5: room for collectives");
  add(rests_on.queues, rests_on.queues ? shared_queues_text(view) : "",
      "rule 5.5: hardware queues");
  add(rests_on.launches,
      fmt::format(
          "rule 3.4: whether each stream has a launch queue or all of a device share one is "
          "not documented; {}",
          hangs ? "it hangs if they share one" : "not decided if they share one"));
  add(rests_on.records,
      "rule 5.3: an event record does not hold its hardware queue; if it did, this could hang "
      "(inferred from Megatron-LM's source; not measured)");
  return found;
}

Section choices_section(const CheckView& view) {
  Section section("choices");
  if (!view.ways) return section;
  const WaysView& ways = *view.ways;
  Section data;
  data.say("checked", ways.checked).say("all", ways.all ? JsonValue(*ways.all) : nullptr);
  data.say("shown", ways.shown).say("number", ways.number);
  return section.say("ways", data.data(), ways_text(view), "choices");
}

// Returns the section with the answer of each reading, in one line if all answers are the same.
Section readings_section(const CheckView& view) {
  Section section("readings");
  const models::NcclMode mode = view.graph.nccl_mode;
  if (view.modes == nullptr) {
    if (is_proved_by_buffers(view)) section.say("reading", models::nccl_mode_name(mode));
    if (view.hang == nullptr || !models::has_nccl_modes(view.graph)) return section;
    return section.line(fmt::format("{} ({})", models::nccl_mode_name(mode), nccl_mode_about(mode)),
                        "NCCL model");
  }
  Section data;
  Section lines;
  std::vector<std::string_view> names;
  std::set<std::string> answers;
  for (const models::NcclModeAnswer& each : view.modes->modes) {
    const std::string_view name = models::nccl_mode_name(each.mode);
    const std::string answer = mode_answer_text(*view.modes, each, false);
    Section of_mode;
    of_mode.say("answer", mode_answer_text(*view.modes, each, true));
    of_mode.say("verdict", models::verdict_name(each.verdict)).say("time_ns", each.time_ns);
    if (each.hang) of_mode.say("why", summary_text(*each.hang));
    data.say(name, of_mode.data());
    lines.line(fmt::format("{} ({})", answer, nccl_mode_about(each.mode)), std::string(name));
    names.push_back(name);
    answers.insert(answer);
  }
  section.say("reading", models::nccl_mode_name(view.modes->shown));
  section.say("buffered_bytes", view.modes->buffered_bytes).say("readings", data.data());
  if (is_failed(view)) return section;
  if (answers.size() > 1) return section.lines_of(lines);
  return section.line(fmt::format("{} in all three: {}", *answers.begin(), fmt::join(names, ", ")),
                      "NCCL models");
}

Section basis_section(const CheckView& view) {
  Section section("rests_on");
  std::vector<std::string> data;
  for (Assumption& each : assumptions(view)) {
    data.push_back(each.name.empty() ? each.words : std::move(each.name));
    section.line(std::move(each.words), "assumes");
  }
  if (view.hang != nullptr) {
    for (std::string& line : unmeasured_lines(view.hang->explanation)) data.push_back(line);
  }
  if (view.of_record) {
    section.line(view.of_dumps
                     ? "the answer covers only the calls in these dumps, the last ones of one run"
                     : "the answer covers only what was recorded: one run of the script",
                 "record");
  }
  for (const std::string& line : view.basis) {
    data.push_back(line);
    section.line(line, "assumes");
  }
  return view.of_record || !data.empty() ? section.say("rests_on", data) : section;
}

std::string_view method_name(sim::Method method) {
  switch (method) {
    case sim::Method::kNoCycle:
      return "no circle";
    case sim::Method::kExploration:
      return "exploration";
    case sim::Method::kSearch:
      return "search";
    case sim::Method::kOneRun:
      break;
  }
  return "one run";
}

Section search_section(const CheckView& view) {
  const sim::Exploration& found = view.check.exploration;
  const models::Explanation& usual = view.check.usual.explanation;
  Section section("search");
  if (is_proved_by_buffers(view)) {
    section.line(
        "not checked: here sends complete into NCCL's buffers, which NCCL does not promise. "
        "Without --reading, check answers for all three NCCL models",
        "contract");
  }
  Section own;
  own.say("verdict", models::verdict_name(usual.verdict)).say("time_ns", usual.time_ns);
  own.say("fingerprint", fingerprint_text(usual.fingerprint));
  section.say("own_times", own.data(), run_end_text(usual), "default timing");
  section.say("method", method_name(found.method), interleavings_text(view), "interleavings");
  section.say("forks", found.states).say("steps", found.steps).say("orders", found.orders);
  section.say("longest_order", found.longest);
  section.say("max_forks", found.budget > 0 ? found.budget : view.max_states);
  section.say("stopped", found.stopped).say("some_hang", found.hang_found);
  section.say("some_complete", found.completion_found);
  section.say("timing", found.timing == nullptr ? JsonValue(nullptr) : JsonValue(found.timing),
              found.timing == nullptr ? "" : fmt::format("can matter: {}", found.timing), "timing");
  if (!found.hang.empty()) {
    section.line(fmt::format("{} to {}; --order FILE writes them for 'run --replay'",
                             counted(found.hang.size(), "step"),
                             found.answer == sim::Answer::kMismatch ? "a mismatch" : "a hang"),
                 "fewest steps");
  }
  return section;
}

std::string_view answer_name(const CheckView& view) {
  if (is_failed(view)) return "failed";
  return is_proved_by_buffers(view) ? "no hang" : words_of(answer_of(view)).name;
}

}  // namespace

std::string answer_text(models::JobAnswer answer) { return std::string(words_of(answer).name); }

std::vector<std::string> host_lines(const models::NcclModesReport& found) {
  std::vector<std::string> lines;
  if (const auto& loads = found.by_loads) {
    const std::string where =
        loads->op.empty()
            ? std::string()
            : fmt::format(", in {} of rank {}", models::printable(loads->op), loads->rank);
    lines.push_back(fmt::format(
        "kernels are loaded before their first launch. If the first launch of each kernel loads it "
        "(CUDA_MODULE_LOADING=LAZY) and waits for the device: {}{}; if only the first launch of "
        "each phase does: {} (CUDA's guide and reports; not every load waits). A warm-up "
        "excludes this; say so with the key 'loading' of 'device'",
        answer_text(models::job_answer_of(loads->each_kernel)), where,
        answer_text(models::job_answer_of(loads->each_phase))));
  }
  if (found.by_waiting_loads) {
    lines.emplace_back(
        "a kernel load waits for the device (CUDA's guide and reports): not every load does, and "
        "without these waits nothing hangs");
  }
  if (found.by_progress) {
    lines.emplace_back(
        "rule 9.5: calls of the host that do not block advance by themselves. If they advance only "
        "while their ranks are in calls, as in MPI ('progress: in_calls'), this can hang");
  }
  return lines;
}

Section check_report(const CheckView& view) {
  Section report = report_about("scenario", view.graph.name);
  report.say("answer", answer_name(view));
  if (const models::ProcessGroups& groups = view.graph.process_groups;
      !groups.backend.empty() || groups.device_id) {
    report.say("backend", groups.backend.empty() ? JsonValue(nullptr) : JsonValue(groups.backend));
    report.say("device_id", groups.device_id);
  }
  report.part(choices_section(view)).part(readings_section(view));
  report.part(basis_section(view)).part(search_section(view));
  if (view.hang == nullptr) return report.say("hang", nullptr);
  const std::size_t steps = view.check.exploration.hang.size();
  return report.say("hang", JsonValue::of_text(json_report(*view.hang)).with("steps", steps));
}

std::string check_text(const CheckView& view, const TextOptions& options) {
  constexpr std::size_t kLabel = 16;
  const models::Explanation& usual = view.check.usual.explanation;
  std::string text = head_line(
      fmt::format("{}  {}", models::printable(view.graph.name), headline(view, options)),
      fmt::format("{}, {}", counted(view.graph.ranks, "rank"), counted(usual.ops_expected, "op")),
      options.width);
  const bool failed = is_failed(view);
  if (failed) {
    text += "\n" + failures_text(*failures_of(view), waiting_ranks(view), options);
  } else if (view.hang != nullptr) {
    text += lead_text(*view.hang, options);
  }
  text += "\n";
  for (const Section& section :
       {choices_section(view), readings_section(view), basis_section(view)})
    text += section.text(options, kLabel);
  if (failed && view.hang->all_waits.empty()) {
    Section ends;
    for (std::string& line : end_lines(view.hang->explanation)) ends.line(std::move(line), "then");
    return text + ends.text(options, kLabel);
  }
  if (view.modes != nullptr && view.modes->answer != JobAnswer::kProved) {
    text += fmt::format("\nWith --reading {}:\n", models::nccl_mode_name(view.modes->shown));
  }
  text += search_section(view).text(options, kLabel);
  if (view.hang == nullptr) return text;
  return text + fmt::format("\n{}\n\n", hang_title(view.check.exploration)) +
         text_report(*view.hang, options, true);
}

CheckPage check_page(const CheckView& view, std::vector<std::string> steps) {
  CheckPage page;
  page.headline = words_of(answer_of(view)).on_page;
  page.verdict = answer_name(view);
  if (is_proved_by_buffers(view)) {
    page.headline = fmt::format("does not hang under the NCCL model '{}'",
                                models::nccl_mode_name(view.graph.nccl_mode));
    page.story.emplace_back(
        "What NCCL promises was not checked: here sends complete into NCCL's buffers.");
  }
  if (is_failed(view)) {
    page.headline = "fails: " + failed_text(view).substr(std::string_view("FAILED: ").size());
  }
  page.story.push_back(fmt::format("Of all interleavings: {}.", interleavings_text(view)));
  if (view.modes != nullptr) {
    for (const models::NcclModeAnswer& each : view.modes->modes) {
      models::Explanation end;
      end.verdict = each.verdict;
      end.time_ns = each.time_ns;
      page.modes.push_back({std::string(models::nccl_mode_name(each.mode)),
                            nccl_mode_about(each.mode), mode_answer_text(*view.modes, each, false),
                            run_end_text(end), each.hang ? summary_text(*each.hang) : ""});
    }
    page.story.push_back(fmt::format("The run below assumes the NCCL model '{}'.",
                                     models::nccl_mode_name(view.modes->shown)));
  }
  for (Assumption& each : assumptions(view)) page.rests_on.push_back(std::move(each.words));
  if (view.hang != nullptr) {
    for (std::string& line : unmeasured_lines(view.hang->explanation)) {
      page.rests_on.push_back(std::move(line));
    }
  }
  page.rests_on.insert(page.rests_on.end(), view.basis.begin(), view.basis.end());
  page.steps = std::move(steps);
  page.text = check_text(view, {});
  return page;
}

}  // namespace pipesim::viz
