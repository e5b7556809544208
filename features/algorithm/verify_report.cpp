#include "features/algorithm/verify_report.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/graph/diagnostics.hpp"
#include "viz/report/json_report.hpp"
#include "viz/report/report.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::AlgoAnswer;
using models::AlgoCell;
using models::AlgoCollective;
using models::AlgoFormat;
using models::AlgoInput;
using models::AlgoStepRef;
using models::FoundRace;
using models::kNoAlgoIndex;
using models::VerifyReport;

// Returns the letter of a buffer in algorithm files: i, o or s.
char letter_of(const AlgoCell& cell) {
  static constexpr std::array<char, 3> kLetters = {'i', 'o', 's'};
  return kLetters[static_cast<std::size_t>(cell.buffer)];
}

std::string cell_text(const AlgoCell& cell) {
  return fmt::format("{}[{}] of rank {}{}", letter_of(cell), cell.index, cell.rank,
                     cell.packet ? " (packets)" : "");
}

std::string inputs_text(const std::vector<AlgoInput>& inputs) {
  std::string text;
  for (const AlgoInput& input : inputs) {
    text += fmt::format("{}chunk {} of rank {}", text.empty() ? "" : ", ", input.chunk, input.rank);
  }
  return text;
}

std::string_view answer_name(AlgoAnswer answer) {
  switch (answer) {
    case AlgoAnswer::kYes:
      return "yes";
    case AlgoAnswer::kNo:
      return "no";
    case AlgoAnswer::kNotAsked:
      return "not asked";
    case AlgoAnswer::kUndecided:
      break;
  }
  return "undecided";
}

Section step_data(const models::CollectiveAlgorithm& algorithm, const AlgoStepRef& step) {
  Section data;
  data.say("rank", step.rank);
  if (step.block != kNoAlgoIndex) {
    data.say("thread_block", step.block);
    if (step.step != kNoAlgoIndex) {
      data.say("step", step.step);
      data.say("line", algorithm.ranks[step.rank].blocks[step.block].steps[step.step].place.line);
    }
  }
  data.say("launch", step.launch + 1);
  return data;
}

std::vector<JsonValue> races_data(const models::CollectiveAlgorithm& algorithm,
                                  const std::vector<FoundRace>& races) {
  std::vector<JsonValue> result;
  for (const FoundRace& race : races) {
    Section memory;
    memory.say("rank", race.cell.rank).say("buffer", std::string(1, letter_of(race.cell)));
    memory.say("chunk", race.cell.index).say("packets", race.cell.packet);
    Section data;
    data.say("first", step_data(algorithm, race.first).data());
    data.say("first_writes", race.first_writes);
    data.say("second", step_data(algorithm, race.second).data());
    data.say("second_writes", race.second_writes);
    data.say("memory", memory.data());
    result.push_back(data.data());
  }
  return result;
}

// Returns the section of a question and its answer, which can have several lines. `fault`: whether
// the answer reveals a fault.
Section question(std::string_view what, AlgoAnswer kind, bool fault, const std::string& answer) {
  Section section{std::string(what)};
  section.say("question", what).say("answer", answer_name(kind)).say("fault", fault);
  std::string label = fmt::format("  {}?", what);
  for (const std::string& line : wrapped(answer, answer.size())) {
    section.line(models::printable(line), std::exchange(label, {}), fault ? ansi::kRed : nullptr);
  }
  return section.say("text", verify_answer(section));
}

// Describes the errors in an output chunk.
std::string wrong_text(const models::WrongChunk& wrong) {
  std::vector<std::string> parts;
  if (wrong.unwritten) parts.emplace_back("it was not completely written");
  if (!wrong.missing.empty()) parts.push_back("lacks " + inputs_text(wrong.missing));
  if (!wrong.foreign.empty()) parts.push_back("has " + inputs_text(wrong.foreign));
  if (!wrong.repeated.empty()) {
    parts.push_back("has " + inputs_text(wrong.repeated) + " more than once");
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

class Questions {
 public:
  explicit Questions(const VerifyView& view) : algorithm_(view.algorithm), report_(view.report) {}

  std::vector<Section> run() {
    add_hangs();
    add("left over", report_.left_over, report_.left_over == AlgoAnswer::kYes, left_over());
    add_races();
    add_result();
    add_bits();
    add_launches();
    return std::move(questions_);
  }

 private:
  bool xml() const { return algorithm_.format == AlgoFormat::kMscclXml; }

  void add(std::string_view what, AlgoAnswer kind, bool fault, const std::string& answer) {
    questions_.push_back(question(what, kind, fault, answer));
  }

  std::string slots_text(std::uint32_t slots) const {
    return fmt::format("{} {}", models::protocol_name(algorithm_.protocol),
                       report_.slots == models::protocol_slots(algorithm_.protocol)
                           ? fmt::format("has {}", slots)
                           : fmt::format("was given {}", slots));
  }

  std::string range_text() const {
    const bool unlimited = report_.max_bytes > (std::uint64_t{1} << 62);
    const std::string to = unlimited ? "any size" : bytes_of(report_.max_bytes);
    return report_.range_declared
               ? fmt::format("declared from {} to {}", bytes_of(report_.min_bytes), to)
               : fmt::format("the file declares no range; checked up to {}", to);
  }
  static std::string bytes_of(std::uint64_t bytes) { return grouped(bytes) + " B"; }

  void add_hangs() {
    const VerifyReport& of = report_;
    const bool fault = of.hangs == AlgoAnswer::kYes;
    std::string text;
    if (fault && of.hangs_from) {
      text = fmt::format("yes, from {} on: only {} then {} one slot, and {} ({})",
                         bytes_of(*of.hangs_from), counted(of.hang_chunks_per_slot, "chunk"),
                         of.hang_chunks_per_slot == 1 ? "fits" : "fit", slots_text(of.slots),
                         range_text());
    } else if (fault && of.slots_needed) {
      text = fmt::format("yes: it needs {} slots, and {}", *of.slots_needed, slots_text(of.slots));
    } else if (fault) {
      text = xml() ? "yes, with any number of slots" : "yes";
    } else if (of.hangs == AlgoAnswer::kUndecided) {
      text = of.uneven_barrier
                 ? "unknown: more thread blocks reach a barrier than it waits for, so the "
                   "interleaving matters; one completes"
                 : fmt::format(
                       "not known: the order matters, and after {} none that hangs was "
                       "found",
                       counted(of.states, "state"));
    } else if (of.searched) {
      text = fmt::format(
          "no: several thread blocks share a counter, so all interleavings were tried ({})",
          counted(of.states, "state"));
    } else {
      text = "no: one run proves every interleaving";
    }
    if (!fault && of.slots_needed) {
      text += fmt::format("; {} {} enough, and {}", counted(*of.slots_needed, "slot"),
                          *of.slots_needed == 1 ? "is" : "are", slots_text(of.slots));
    }
    if (!fault && of.hangs_from) {
      text +=
          fmt::format("; it would hang from {} on ({})", bytes_of(*of.hangs_from), range_text());
    }
    add("hangs", of.hangs, fault, text);
  }

  std::string left_over() const {
    if (report_.left_over == AlgoAnswer::kNotAsked) return "skipped: it hangs";
    if (report_.left.empty()) return "no";
    const models::LeftOver& first = report_.left.front();
    std::string text;
    if (first.sizes_differ) {
      text = fmt::format("{} sends {} to {}, which receives {}", place(first.sender),
                         counted(first.sent, "chunk"), place(first.receiver), first.taken);
    } else if (first.kind == sim::WaitKind::kSemaphore) {
      text = fmt::format("semaphore {} of rank {} is released {} and acquired {}", first.channel,
                         first.to, times(first.sent), times(first.taken));
    } else {
      const bool message = first.kind == sim::WaitKind::kPeerOfMessage;
      text = fmt::format(
          "rank {} sends {} to rank {}{}, which {} {}", first.from,
          counted(first.sent, message ? "message" : "signal"), first.to,
          first.channel == kNoAlgoIndex ? "" : fmt::format(" on channel {}", first.channel),
          message ? "receives" : "waits for", first.taken);
    }
    return text + more(report_.left.size());
  }

  static std::string times(std::uint32_t count) {
    return count == 1 ? "once" : fmt::format("{} times", count);
  }
  static std::string more(std::size_t count) {
    return count > 1 ? fmt::format(" (the first of {})", grouped(count)) : "";
  }

  std::string place(const AlgoStepRef& step) const { return step_place_text(algorithm_, step); }

  std::string race_text(const FoundRace& race) const {
    const auto does = [](bool writes) { return writes ? "writes" : "reads"; };
    return fmt::format("{} {} {} and {} {} it, in no order", place(race.first),
                       does(race.first_writes), cell_text(race.cell), place(race.second),
                       does(race.second_writes));
  }

  // Describes the first race and counts all other races. A race of two steps counts once, even if
  // it occurs on many ranks.
  std::string races_text(const std::vector<FoundRace>& races) const {
    return race_text(races.front()) + more(races.size());
  }

  void add_races() {
    const VerifyReport& of = report_;
    if (of.races == AlgoAnswer::kNotAsked) {
      add("races", of.races, false, "skipped: it hangs");
    } else if (!of.found_races.empty()) {
      const FoundRace& race = of.found_races.front();
      std::string text = race_text(race);
      if (of.found_races.size() > 1) {
        text += fmt::format("\n{} such races", grouped(of.found_races.size()));
      }
      if (xml()) {
        text += fmt::format("\na dependency of {} on {} would order this one", place(race.second),
                            place(race.first));
      }
      add("races", of.races, true, text);
    } else if (!of.ordered_by_slots.empty()) {
      add("races", AlgoAnswer::kNo, true,
          "only full connections order some steps, and with more slots they would race: " +
              races_text(of.ordered_by_slots));
    } else {
      std::string text = "no";
      if (!of.relaxed.empty()) {
        text += fmt::format(
            "; but only signals without memory order come between {} and {}, which "
            "reads {}{}",
            place(of.relaxed.front().first), place(of.relaxed.front().second),
            cell_text(of.relaxed.front().cell), more(of.relaxed.size()));
      }
      add("races", of.races, false, text);
    }
  }

  std::string result_words() const {
    switch (algorithm_.collective) {
      case AlgoCollective::kAllReduce:
        return "every rank has every chunk's sum over all ranks";
      case AlgoCollective::kAllGather:
        return "every rank has the chunks of all ranks";
      case AlgoCollective::kAllToAll:
        return "every rank has the chunk that each rank sends it";
      case AlgoCollective::kReduceScatter:
        return "every rank has the sums of its chunks";
      case AlgoCollective::kOther:
        break;
    }
    return "";
  }

  std::string uses_text() const {
    if (report_.in_place_checked && report_.out_of_place_checked)
      return "in place and out of place";
    return report_.in_place_checked ? "in place" : "out of place";
  }

  void add_result() {
    const VerifyReport& of = report_;
    const AlgoAnswer kind = of.right_result;
    std::string text;
    bool fault = kind == AlgoAnswer::kNo;
    if (of.reads_unwritten) {
      fault = true;
      text = fmt::format("{} reads {}, which was never written", place(of.reads_unwritten->first),
                         cell_text(of.reads_unwritten->second));
    }
    if (kind == AlgoAnswer::kNo) {
      const models::WrongChunk& wrong = of.wrong.front();
      text +=
          fmt::format("{}wrong{}: chunk {} of the output of rank {} {}{}", text.empty() ? "" : "; ",
                      of.in_place_checked && of.out_of_place_checked
                          ? (of.in_place_result ? " in place" : " out of place")
                          : "",
                      wrong.chunk, wrong.rank, wrong_text(wrong), more(of.wrong_count));
    } else if (kind == AlgoAnswer::kYes && !fault) {
      text = fmt::format("correct: {} ({})", result_words(), uses_text());
    } else if (!fault) {
      text = "skipped: " + why_not();
    }
    add("result", kind, fault, text);
  }

  std::string why_not() const {
    if (report_.races == AlgoAnswer::kYes) return "it depends on the races";
    if (report_.races == AlgoAnswer::kNotAsked) return "it hangs";
    if (report_.right_result == AlgoAnswer::kNo) return "the result is wrong";
    return fmt::format("the definition of '{}' is not known",
                       models::printable(algorithm_.collective_name));
  }

  void add_bits() {
    const VerifyReport& of = report_;
    if (of.difference) {
      const models::DifferentSum& first = *of.difference;
      add("same bits", AlgoAnswer::kNo, true,
          fmt::format("no: the order of the sum differs in {}. Chunk {} is {} on rank {} and {} on "
                      "rank {}",
                      counted(first.chunks, "chunk"), first.chunk, first.first, first.first_rank,
                      first.second, first.second_rank));
      return;
    }
    const bool sums = algorithm_.collective == AlgoCollective::kAllReduce;
    const bool known = algorithm_.collective != AlgoCollective::kOther;
    std::string text = "yes: all ranks add in the same order";
    if (of.same_bits != AlgoAnswer::kYes) {
      text = "skipped: " + (known && !sums && of.right_result == AlgoAnswer::kYes
                                ? std::string("no two ranks form the same sum")
                                : why_not());
    }
    add("same bits", of.same_bits, false, text);
  }

  void add_launches() {
    const VerifyReport& of = report_;
    const bool fault = of.safe_launches == AlgoAnswer::kNo;
    std::string text;
    if (xml()) {
      text =
          "skipped: MSCCL's connections carry nothing from one launch to the next unless "
          "something is left over";
    } else if (of.safe_launches == AlgoAnswer::kNotAsked) {
      text = "skipped: it hangs";
    } else if (of.launches_hang) {
      text =
          fmt::format("{}: {} back-to-back launches hang", fault ? "no" : "not known", of.launches);
    } else if (fault) {
      text = "no: " + races_text(of.launch_races);
    } else {
      text = fmt::format(
          "yes: {} back-to-back launches, with kernels that use the buffers before, between and "
          "after",
          of.launches);
    }
    add("between launches", of.safe_launches, fault, text);
  }

  const models::CollectiveAlgorithm& algorithm_;
  const VerifyReport& report_;
  std::vector<Section> questions_;
};

// The hang of an algorithm, as a report on the end of a simulated run. The graph has only a name
// and ranks. `report` is empty if nothing hangs.
struct HangReport {
  models::TaskGraph graph;
  std::optional<Report> report;

  explicit HangReport(const VerifyView& view) {
    if (!view.report.hang) return;
    graph.ranks = static_cast<std::uint32_t>(view.algorithm.ranks.size());
    graph.name = view.name;
    report.emplace(Report{graph, view.report.hang->explanation, {}, {}, {}, {}, {}});
    if (view.all) report->all_waits = view.report.hang->waits;
  }
  HangReport(const HangReport&) = delete;
  HangReport& operator=(const HangReport&) = delete;
};

const char* style_of_verdict(models::AlgoVerdict verdict) {
  if (verdict == models::AlgoVerdict::kCorrect) return ansi::kGreen;
  return verdict == models::AlgoVerdict::kUndecided ? ansi::kYellow : ansi::kRed;
}

// Adds the changes that help, and the number of other changes tried, to `text`.
void add_changes(const VerifyView& view, const TextOptions& options, std::string& text) {
  const std::vector<models::TriedChange>& changes = view.report.changes;
  // The result of an unknown collective is not checked.
  const bool known = view.algorithm.collective != AlgoCollective::kOther;
  std::size_t helped = 0;
  for (const models::TriedChange& change : changes) {
    if (!change.helps) continue;
    if (helped++ == 0) {
      text += "\n" +
              styled(options, ansi::kBold,
                     fmt::format("Any one of these changes {} (each was tried):",
                                 known ? "makes it correct" : "removes the fault")) +
              "\n";
    }
    text += paragraph(models::printable(change.what), options.width, 2, 4);
  }
  if (changes.size() == helped) return;
  text += "\n" + styled(options, ansi::kBold, "Tried, but still wrong:") + "\n";
  for (const models::TriedChange& change : changes) {
    if (change.helps) continue;
    text += paragraph(models::printable(fmt::format("{} ({})", change.what,
                                                    models::words_of(change.verdict).name)),
                      options.width, 2, 4);
  }
}

}  // namespace

std::string verify_answer(const Section& question) {
  std::string text;
  for (const Section::Line& line : question.lines()) {
    text += (text.empty() ? "" : "; ") + line.words;
  }
  return text;
}

std::vector<Section> verify_questions(const VerifyView& view) { return Questions(view).run(); }

std::string step_place_text(const models::CollectiveAlgorithm& algorithm, const AlgoStepRef& step) {
  if (step.block == kNoAlgoIndex) {
    return step.launch == 0
               ? fmt::format("the kernel before the first launch on rank {}", step.rank)
               : fmt::format("the kernel after launch {} on rank {}", step.launch, step.rank);
  }
  std::string text = fmt::format("rank {} tb {}", step.rank, step.block);
  if (step.step == kNoAlgoIndex) return text;
  text += fmt::format(" step {}", step.step);
  const models::AlgoStep& of = algorithm.ranks[step.rank].blocks[step.block].steps[step.step];
  if (of.place.line != 0) text += fmt::format(" (line {})", of.place.line);
  if (step.launch > 0) text += fmt::format(" of launch {}", step.launch + 1);
  return text;
}

std::string verify_head(const VerifyView& view, const TextOptions& options) {
  const VerifyReport& report = view.report;
  const bool stopped = report.steps_done < report.steps;
  return head_line(fmt::format("{}  {}", styled(options, ansi::kBold, models::printable(view.name)),
                               styled(options, style_of_verdict(report.verdict),
                                      models::words_of(report.verdict).name)),
                   fmt::format("{}, {}, {}{}", counted(view.algorithm.ranks.size(), "rank"),
                               counted(view.algorithm.block_count(), "thread block"),
                               stopped ? grouped(report.steps_done) + " of " : "",
                               counted(report.steps, "step") + (stopped ? " done" : "")),
                   options.width);
}

Section verify_report(const VerifyView& view) {
  const VerifyReport& report = view.report;
  Section section = report_about("algorithm", view.name);
  section.say("collective", view.algorithm.collective_name);
  section.say("verdict", models::words_of(report.verdict).name);
  section.say("ranks", view.algorithm.ranks.size());
  section.say("thread_blocks", view.algorithm.block_count());
  section.say("steps", report.steps).say("steps_done", report.steps_done);
  section.list("questions", verify_questions(view));
  if (report.slots > 0) section.say("slots", report.slots);
  if (report.slots_needed) section.say("slots_needed", *report.slots_needed);
  if (report.hangs_from) section.say("hangs_from_bytes", *report.hangs_from);
  section.say("races", races_data(view.algorithm, report.found_races));
  section.say("launch_races", races_data(view.algorithm, report.launch_races));
  const HangReport hang(view);
  if (hang.report) section.say("hang", JsonValue::of_text(json_report(*hang.report)));
  std::vector<JsonValue> changes;
  for (const models::TriedChange& change : report.changes) {
    changes.push_back(Section()
                          .say("change", change.what)
                          .say("verdict", models::words_of(change.verdict).name)
                          .data());
  }
  return section.say("changes", changes);
}

Section unreadable_report(const std::string& name) {
  return report_about("algorithm", name).say("verdict", "UNREADABLE");
}

std::string verify_text(const VerifyView& view, const TextOptions& options) {
  constexpr std::size_t kLabel = 21;
  const VerifyReport& report = view.report;
  std::string text = verify_head(view, options);
  if (report.hang) {
    text +=
        paragraph(models::printable(summary_text(report.hang->explanation)), options.width, 0, 2);
  }
  for (const Section& each : verify_questions(view)) text += each.text(options, kLabel);
  const HangReport hang(view);
  if (hang.report) text += hang_text(*hang.report, options) + stuck_text(*hang.report, options);
  if (view.all && report.found_races.size() > 1) {
    text += "\n" + styled(options, ansi::kBold, "All races") + "\n";
    for (const FoundRace& race : report.found_races) {
      text +=
          paragraph(fmt::format("{} and {}: {}", step_place_text(view.algorithm, race.first),
                                step_place_text(view.algorithm, race.second), cell_text(race.cell)),
                    options.width, 2, 4);
    }
  }
  add_changes(view, options, text);
  return text;
}

}  // namespace pipesim::viz
