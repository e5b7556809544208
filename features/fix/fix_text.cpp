#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "models/result/expectation.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"

#include "features/check/nccl_modes.hpp"
#include "features/fix/fix_report.hpp"

namespace pipesim::viz {

using models::alters_any;
using models::Cause;
using models::Edit;
using models::Explanation;
using models::Fix;
using models::FixCase;
using models::FixReport;
using models::text_of;
using sim::Answer;

namespace {

// Describes the evidence that nothing hangs.
std::string sure_text(const sim::Exploration& orders,
                      const std::vector<models::NcclMode>& proved_in = {}) {
  if (orders.answer == Answer::kProved) {
    std::string proved = "proved";
    for (const models::NcclMode mode : proved_in) {
      proved += fmt::format("{} {}", mode == proved_in.front() ? " in" : " and",
                            models::nccl_mode_name(mode));
    }
    switch (orders.method) {
      case sim::Method::kOneRun:
        return proved + ": timing has no effect here, so one run covers every interleaving";
      case sim::Method::kNoCycle:
        return proved + ": no cycle of waits is possible";
      default:
        return fmt::format("{}: every interleaving that differs in effect was explored, {}", proved,
                           counted(orders.states, "branch point"));
    }
  }
  if (orders.orders <= 1) {
    return "not proved: with faults and timeouts, only the default timing is run";
  }
  return fmt::format("not proved, but no hang in {}", counted(orders.orders, "interleaving"));
}

// Describes a wait that a fix removes: "rank 0's BdstBuf#1 queued behind nccl-1998#3".
std::string removed_wait_text(const models::Wait& wait) {
  return fmt::format("{} {}", phrase_of(wait.from), wait_text(wait));
}

// Returns "3.2% slower than the fastest", rounded down to a tenth of a percent.
std::string slower_text(std::int64_t time_ns, std::int64_t fastest_ns) {
  if (time_ns == fastest_ns) return "the fastest";
  if (fastest_ns <= 0) return "";
  const auto tenths = static_cast<std::uint64_t>(time_ns - fastest_ns) * 1000u /
                      static_cast<std::uint64_t>(fastest_ns);
  if (tenths == 0) return "less than 0.1% slower than the fastest";
  return fmt::format("{}.{}% slower than the fastest", tenths / 10, tenths % 10);
}

// Returns indices as numbers from 1: "1, 3 and 4".
std::string numbers_text(const std::vector<std::uint32_t>& indices) {
  std::string text;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const bool is_last = i > 0 && i + 1 == indices.size();
    text += fmt::format("{}{}", i == 0 ? "" : is_last ? " and " : ", ", indices[i] + 1);
  }
  return text;
}

// Explains why no edit that fix tries can remove a hang with this cause.
std::string_view reason_text(Cause cause) {
  switch (cause) {
    case Cause::kMismatch:
      return "mismatched calls are a bug in the program: correct the call";
    case Cause::kDeadRank:
      return "a rank died, and no reordering of the others brings it back";
    case Cause::kFailedLink:
      return "a link or a port is closed, and no reordering of the work opens it";
    case Cause::kAbsentMember:
      return "a rank never makes a call that its peers wait for: correct its program";
    case Cause::kOutsideInput:
      return "input from outside never arrives";
    case Cause::kCycle:
      return "the ranks call in different orders, or more than one change is needed";
    default:
      return "what it waits for is unknown";
  }
}

class FixText {
 public:
  FixText(const FixReport& report, const std::string& scenario)
      : report_(report), scenario_(scenario) {
    for (const Fix& fix : report.fixes) {
      if (fix_is_first_) fastest_ns_ = fix.time_ns;
      fix_is_first_ = false;
      fastest_ns_ = std::min(fastest_ns_, fix.time_ns);
      if (fix.memory) least_memory_ = std::min(least_memory_.value_or(*fix.memory), *fix.memory);
    }
  }

  std::string run() {
    add_head();
    if (!report_.hangs()) return text_;
    if (report_.lines) add_lines(*report_.lines);
    if (report_.fixes.empty() && !report_.stopped && !report_.lines) add_none();
    // Adds the fixes in the order of their numbers, first those that keep what the job computes.
    for (const bool altering : {false, true}) {
      for (std::size_t i = 0; i < report_.fixes.size(); ++i) {
        if (alters_any(report_.fixes[i].edits) == altering) add_fix(i);
      }
      add_variants(altering);
    }
    add_partial();
    add_rest();
    return text_;
  }

 private:
  void add_head();
  void add_fix(std::size_t i);
  void add_variants(bool altering);
  void add_lines(const models::LineChanges& lines);
  void add_none();
  void add_partial();
  void add_rest();
  std::string cost_text(const Fix& fix) const;
  std::string broken_text(const std::vector<std::uint32_t>& waits) const;
  std::string line_of(std::size_t i) const;
  std::vector<std::uint32_t> alike(std::size_t i) const;
  void add(std::string_view line, std::size_t indent) { add(line, indent, indent + 2); }
  void add(std::string_view line, std::size_t first, std::size_t rest) {
    text_ += paragraph(line, kDefaultWidth, first, rest);
  }

  const FixReport& report_;
  const std::string& scenario_;
  bool fix_is_first_ = true;
  std::int64_t fastest_ns_ = 0;
  std::optional<std::int64_t> least_memory_;
  std::string text_;
};

void FixText::add_head() {
  const Explanation& why = report_.explanation;
  switch (report_.found) {
    case FixCase::kNothing:
      add(fmt::format("{}  nothing to fix: it completes. {}", scenario_, sure_text(report_.before)),
          0);
      return;
    case FixCase::kNothingFound:
      add(fmt::format("{}  found nothing to fix: it completes. {}", scenario_,
                      sure_text(report_.before)),
          0);
      return;
    case FixCase::kSomeWays:
      add(fmt::format("{}  found nothing to fix: it completes in the ways of its choices that were "
                      "checked. 'pipesim check --ways N' checks more",
                      scenario_),
          0);
      return;
    case FixCase::kHangs:
    case FixCase::kHangsInAnother:
    case FixCase::kByBuffers:
      break;
  }
  std::string what = why.cycle.empty() ? std::string(models::cause_name(why.cause))
                                       : "a cycle of " + counted(why.cycle.size(), "wait");
  std::string when = report_.way.empty() ? "" : " with " + report_.way;
  if (report_.found == FixCase::kHangsInAnother) {
    when += ", not with the default timing but in another interleaving";
  } else if (report_.found == FixCase::kByBuffers) {
    when += " by NCCL's contract (NCCL's buffers hide it)";
  }
  add(fmt::format("{}  {} at {}{}: {}", scenario_, models::verdict_name(why.verdict),
                  time_text(why.time_ns), when, what),
      0);
}

std::string FixText::cost_text(const Fix& fix) const {
  std::string text = time_text(fix.time_ns);
  const std::string slower = slower_text(fix.time_ns, fastest_ns_);
  if (report_.fixes.size() > 1 && !slower.empty()) text += ", " + slower;
  if (!fix.memory) return text;
  text += fmt::format("; at most {} on a rank", bytes_text(*fix.memory));
  if (least_memory_ && *fix.memory > *least_memory_) {
    text += fmt::format(", {} more than the smallest", bytes_text(*fix.memory - *least_memory_));
  }
  return text;
}

std::string indented(const std::string& text, std::string_view indent) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += fmt::format("{}{}\n", indent, line);
  return result;
}

// Describes the waits that a fix breaks: "breaks wait 1: rank 0 ...", "breaks waits 1 and 3; wait
// 1: rank 0 ...".
std::string FixText::broken_text(const std::vector<std::uint32_t>& waits) const {
  const std::string first = removed_wait_text(report_.explanation.cycle[waits.front()]);
  if (waits.size() == 1) return fmt::format("breaks wait {}: {}", waits.front() + 1, first);
  return fmt::format("breaks waits {}; wait {}: {}", numbers_text(waits), waits.front() + 1, first);
}

// Returns the indices of other fixes whose line is the same as that of fix `i`, such as a move of
// the same step on other ranks.
std::vector<std::uint32_t> FixText::alike(std::size_t i) const {
  std::vector<std::uint32_t> others;
  for (std::uint32_t k = 0; k < report_.fixes.size(); ++k) {
    if (k != i && line_of(k) == line_of(i)) others.push_back(k);
  }
  return others;
}

// Describes fix `i` in one line: its edits, and whether the fix is proved.
std::string FixText::line_of(std::size_t i) const {
  const Fix& fix = report_.fixes[i];
  std::string note = fix.orders.answer == Answer::kProved ? "proved" : "not proved";
  if (alters_any(fix.edits)) note += ", may change what the job computes";
  if (fix.by_buffers) note += ", hides the hang";
  return fmt::format("{}: {}", text_of(fix.edits), note);
}

void FixText::add_fix(std::size_t i) {
  const Fix& fix = report_.fixes[i];
  if (fix.variant > 0) return;
  text_ += "\n";
  add(fmt::format("{}  {}", i + 1, text_of(fix.edits)), 0, 3);
  if (!fix.waits.empty()) add(fmt::format("why    {}", broken_text(fix.waits)), 3, 10);
  if (alters_any(fix.edits)) {
    add("note   may change what the job computes: check that the result is still what you want", 3,
        10);
  }
  if (fix.by_buffers) {
    add("note   hides the hang: it relies on buffers, and by NCCL's contract it can still hang", 3,
        10);
  }
  add(fmt::format("check  {}", sure_text(fix.orders, fix.proved_in)), 3, 10);
  add(fmt::format("time   {}", cost_text(fix)), 3, 10);
  for (const Edit& same : fix.same) add(fmt::format("or     {}", same.text), 3, 10);
  const std::vector<std::uint32_t> others = alike(i);
  if (!others.empty()) {
    add(fmt::format("also   in {}: fix{} {} (patches with -o DIR)",
                    others.size() == 1 ? "another place" : "other places",
                    others.size() == 1 ? "" : "es", numbers_text(others)),
        3, 10);
  }
  text_ += indented(fix.patch, "     ");
}

// Adds variants of the fixes above. Only -o writes the patches of variants.
void FixText::add_variants(bool altering) {
  const auto is_variant = [&](const Fix& fix) {
    return fix.variant > 0 && alters_any(fix.edits) == altering;
  };
  if (std::none_of(report_.fixes.begin(), report_.fixes.end(), is_variant)) return;
  std::string lines;
  for (std::uint32_t i = 0; i < report_.fixes.size(); ++i) {
    const std::vector<std::uint32_t> others = alike(i);
    const bool told = std::any_of(others.begin(), others.end(), [&](std::uint32_t other) {
      return other < i || !is_variant(report_.fixes[other]);
    });
    if (!is_variant(report_.fixes[i]) || told) continue;
    std::vector<std::uint32_t> numbers = {i};
    numbers.insert(numbers.end(), others.begin(), others.end());
    lines += paragraph(
        fmt::format("{}  {}, {}", numbers_text(numbers), line_of(i), cost_text(report_.fixes[i])),
        kDefaultWidth, 0, 3);
  }
  if (!lines.empty()) text_ += "\nAlso (patches with -o DIR)\n" + lines;
}

// Adds changes of lines that were tried on a record. They are not fixes, because the script did not
// run with them.
void FixText::add_lines(const models::LineChanges& lines) {
  text_ += "\n";
  if (lines.found.empty()) {
    add("No change that was tried on the record lets it complete. Only calls of the record can be "
        "left out or moved.",
        0);
  } else {
    add("With each of these changes, all calls match to the end of the record. Only the record was "
        "changed: the script did not run with them.",
        0);
  }
  std::size_t number = 0;
  for (const models::LineChange& change : lines.found) {
    text_ += "\n";
    add(fmt::format("{}  {}", ++number, change.text), 0, 3);
    if (change.kind != models::LineChange::Kind::kDrop) continue;
    add(change.later_calls == 0
            ? "check  these calls are the last ones of the record, so later ones are unknown"
            : fmt::format("check  {} {}, too", counted(change.later_calls, "later call"),
                          change.later_calls == 1 ? "matches" : "match"),
        3, 10);
  }
  if (lines.tried.empty()) return;
  text_ += "\nTried on the record, but it still hangs\n";
  for (const models::LineChange& change : lines.tried) add(change.text, 3);
}

void FixText::add_none() {
  text_ += "\n";
  const bool all_tried = report_.unwritten == 0 && !report_.out_of_budget;
  add(fmt::format("No change{} lets it complete: {}.", all_tried ? "" : " that was tried",
                  reason_text(report_.explanation.cause)),
      0);
}

void FixText::add_partial() {
  if (report_.partial.empty()) return;
  text_ += report_.way.empty()
               ? "\nWith these changes this run completes, but other interleavings still hang\n"
               : "\nWith these changes this way completes, but other ways or interleavings hang\n";
  std::set<std::string> told;
  for (const Fix& fix : report_.partial) {
    const std::string text = text_of(fix.edits);
    if (told.insert(text).second) add(text, 3);
  }
}

void FixText::add_rest() {
  if (!report_.without_use.empty()) {
    text_ += "\nTried, but the run still hangs\n";
    // Starts with the descriptions of the fixes, to list no fix again as an edit that does not
    // help.
    std::set<std::string> told;
    for (const Fix& fix : report_.fixes) told.insert(text_of(fix.edits));
    for (const Edit& edit : report_.without_use) {
      const std::string text = edit.text + std::string(edit.range);
      if (told.insert(text).second) add(text, 3);
    }
  }
  if (report_.unwritten > 0) {
    add(fmt::format("Not tried: {} that cannot be written as a patch (these ops are generated, or "
                    "no value fits)",
                    counted(report_.unwritten, "change")),
        0);
  }
  if (report_.out_of_budget)
    text_ += "Some changes were not tried because their runs take too long.\n";
  if (report_.stopped) text_ += "\nInterrupted: not all changes were tried.\n";
}

}  // namespace

std::string fix_text(const FixReport& report, const std::string& scenario) {
  return FixText(report, scenario).run();
}

}  // namespace pipesim::viz
