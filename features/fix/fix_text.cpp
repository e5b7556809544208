#include "features/fix/fix_text.hpp"

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
#include "viz/report/words.hpp"

#include "features/check/nccl_modes.hpp"

namespace pipesim::viz {

using models::Cause;
using models::Change;
using models::Explanation;
using models::Fix;
using models::FixCase;
using models::FixReport;
using sim::Answer;

namespace {

using Kind = Change::Kind;

std::string stream_text(const std::string& name) {
  return name.empty() ? "a stream of its own" : fmt::format("stream '{}'", name);
}

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

// Describes a removed wait: "rank 0's BdstBuf#1 queued behind nccl-1998#3".
std::string removed_wait_text(const models::Wait& wait) {
  return fmt::format("{} {}", phrase_of(wait.from), wait_text(wait));
}

// Returns "3.2% slower than the fastest", rounded down to a tenth.
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

// Explains why no change that pipesim tries can help. Depends on the cause of the hang.
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
  FixText(const FixReport& report, const FixView& view) : report_(report), view_(view) {
    for (const Fix& fix : report.fixes) {
      if (fix_is_first_) fastest_ns_ = fix.time_ns;
      fix_is_first_ = false;
      fastest_ns_ = std::min(fastest_ns_, fix.time_ns);
      if (fix.memory) least_memory_ = std::min(least_memory_.value_or(*fix.memory), *fix.memory);
    }
  }

  std::string run() {
    add_head();
    if (report_.found == FixCase::kNothing || report_.found == FixCase::kNothingFound) return text_;
    if (report_.fixes.empty() && !report_.stopped) add_none();
    // Adds the fixes in the order of their numbers.
    for (const bool altering : {false, true}) {
      for (std::size_t i = 0; i < report_.fixes.size(); ++i) {
        if (alters(report_.fixes[i]) == altering) add_fix(i);
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
  const FixView& view_;
  bool fix_is_first_ = true;
  std::int64_t fastest_ns_ = 0;
  std::optional<std::int64_t> least_memory_;
  std::string text_;
};

void FixText::add_head() {
  const Explanation& why = report_.explanation;
  switch (report_.found) {
    case FixCase::kNothing:
      add(fmt::format("{}  nothing to fix: it completes. {}", view_.scenario,
                      sure_text(report_.before)),
          0);
      return;
    case FixCase::kNothingFound:
      add(fmt::format("{}  found nothing to fix: it completes. {}", view_.scenario,
                      sure_text(report_.before)),
          0);
      return;
    case FixCase::kHangs:
    case FixCase::kHangsInAnother:
    case FixCase::kByBuffers:
      break;
  }
  std::string what = why.cycle.empty() ? std::string(models::cause_name(why.cause))
                                       : "a cycle of " + counted(why.cycle.size(), "wait");
  std::string_view when;
  if (report_.found == FixCase::kHangsInAnother) {
    when = ", not with the default timing but in another interleaving";
  } else if (report_.found == FixCase::kByBuffers) {
    when = " by NCCL's contract (NCCL's buffers hide it)";
  }
  add(fmt::format("{}  {} at {}{}: {}", view_.scenario, models::verdict_name(why.verdict),
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

// Returns the indices of other fixes with the same text as fix `i`, such as a move of the same step
// on other ranks.
std::vector<std::uint32_t> FixText::alike(std::size_t i) const {
  std::vector<std::uint32_t> others;
  for (std::uint32_t k = 0; k < report_.fixes.size(); ++k) {
    if (k != i && line_of(k) == line_of(i)) others.push_back(k);
  }
  return others;
}

// Describes fix `i` in one line: its changes, and whether the fix is proved.
std::string FixText::line_of(std::size_t i) const {
  const Fix& fix = report_.fixes[i];
  std::string note = fix.orders.answer == Answer::kProved ? "proved" : "not proved";
  if (alters(fix)) note += ", may change what the job computes";
  if (fix.by_buffers) note += ", hides the hang";
  return fmt::format("{}: {}", changes_text(fix.changes), note);
}

void FixText::add_fix(std::size_t i) {
  const Fix& fix = report_.fixes[i];
  if (fix.variant > 0) return;
  text_ += "\n";
  add(fmt::format("{}  {}", i + 1, changes_text(fix.changes)), 0, 3);
  if (!fix.waits.empty()) add(fmt::format("why    {}", broken_text(fix.waits)), 3, 10);
  if (alters(fix)) {
    add("note   may change what the job computes: check that the result is still what you want", 3,
        10);
  }
  if (fix.by_buffers) {
    add("note   hides the hang: it relies on buffers, and by NCCL's contract it can still hang", 3,
        10);
  }
  add(fmt::format("check  {}", sure_text(fix.orders, fix.proved_in)), 3, 10);
  add(fmt::format("time   {}", cost_text(fix)), 3, 10);
  for (const Change& same : fix.same) add(fmt::format("or     {}", change_text(same)), 3, 10);
  const std::vector<std::uint32_t> others = alike(i);
  if (!others.empty()) {
    add(fmt::format("also   in {}: fix{} {} (patches with -o DIR)",
                    others.size() == 1 ? "another place" : "other places",
                    others.size() == 1 ? "" : "es", numbers_text(others)),
        3, 10);
  }
  text_ += indented(view_.patches[i], "     ");
}

// Adds variants of the fixes above. Only -o writes the patches of variants.
void FixText::add_variants(bool altering) {
  const auto is_variant = [&](const Fix& fix) {
    return fix.variant > 0 && alters(fix) == altering;
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

void FixText::add_none() {
  text_ += "\n";
  add(fmt::format("No change lets it complete: {}.", reason_text(report_.explanation.cause)), 0);
}

void FixText::add_partial() {
  if (report_.partial.empty()) return;
  text_ += "\nWith these changes this run completes, but other interleavings still hang\n";
  std::set<std::string> told;
  for (const Fix& fix : report_.partial) {
    const std::string text = changes_text(fix.changes);
    if (told.insert(text).second) add(text, 3);
  }
}

void FixText::add_rest() {
  if (!report_.without_use.empty()) {
    text_ += "\nTried, but the run still hangs\n";
    // Starts with the texts of the fixes, so that no text appears as a fix and also as a change
    // that does not help.
    std::set<std::string> told;
    for (const Fix& fix : report_.fixes) told.insert(changes_text(fix.changes));
    for (const Change& change : report_.without_use) {
      const char* fewer =
          change.kind == Change::Kind::kOrder ? ", or fewer" : ", or anything in between";
      const std::string text =
          change_text(change) + (change.number > change.before + 1 ? fewer : "");
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

namespace {

// Returns the ranks that a change of a step affects; empty: all ranks.
const models::RankSet& ranks_of(const Change& change) {
  return change.on.empty() ? change.has : change.on;
}

// Returns the affected ranks as a prefix: "rank 1: ".
std::string on_text(const Change& change) {
  const models::RankSet& ranks = ranks_of(change);
  return ranks.empty() ? "" : ranks_text({ranks.begin(), ranks.end()}) + ": ";
}

// Describes a skipped step: "ranks 0 and 1 skip exchange", "no rank calls exchange".
std::string dropped_text(const Change& change, const std::string& step) {
  const models::RankSet& ranks = ranks_of(change);
  if (ranks.empty()) return "no rank calls " + step;
  return fmt::format("{} {} {}", ranks_text({ranks.begin(), ranks.end()}),
                     ranks.size() == 1 ? "skips" : "skip", step);
}

std::string at_text(const Change& change) {
  return change.at.empty() ? "" : fmt::format(" ({})", models::printable(change.at));
}

// Describes new values: "bytes 8 MiB instead of 4 MiB, type float32 instead of float16".
std::string values_text(const std::vector<models::NewValue>& values) {
  std::string text;
  const auto shown = [](const models::NewValue& value, const std::string& what) {
    return value.key == "bytes" ? bytes_text(std::stoll(what)) : models::printable(what);
  };
  for (const models::NewValue& value : values) {
    text += fmt::format("{}{} {} instead of {}", text.empty() ? "" : ", ", value.key,
                        shown(value, value.to), shown(value, value.from));
  }
  return text;
}

// Describes the change of a step of a host program.
std::string program_change_text(const Change& change) {
  const std::string step = change.what + at_text(change);
  switch (change.kind) {
    case Kind::kAfter:
      return fmt::format("{}{} waits for all earlier work on stream '{}'", on_text(change), step,
                         change.part);
    case Kind::kBatch:
      return fmt::format("{}{} and {} in one group call{}{}", on_text(change), change.what,
                         change.second_name, change.behind ? ", with the second" : "",
                         at_text(change));
    case Kind::kMove:
      return fmt::format("{}{} {} {}", on_text(change), step, change.behind ? "after" : "before",
                         change.second_name);
    case Kind::kCommunicator:
      return fmt::format("{} and its matching calls on a separate communicator", step);
    case Kind::kEverywhere:
      return change.behind ? fmt::format("all ranks run the block of {}", step)
                           : fmt::format("all ranks call {}", step);
    case Kind::kCopy:
      return fmt::format("{}also calls {}, {} {}", on_text(change), step,
                         change.behind ? "after" : "before", change.second_name);
    case Kind::kOtherEnd:
      return fmt::format("{}also calls the {} for {} of rank {}, {} {}", on_text(change),
                         change.part, step, change.number, change.behind ? "after" : "before",
                         change.second_name);
    case Kind::kOneOrder:
      return fmt::format("one order on all ranks, changed on {}: {}",
                         ranks_text({change.on.begin(), change.on.end()}), change.what);
    case Kind::kDrop:
      return dropped_text(change, step);
    case Kind::kValue:
      return fmt::format("{}{}: {}", on_text(change), step, values_text(change.values));
    case Kind::kLaunchOrder:
      return "calls start in launch order (NCCL_LAUNCH_ORDER_IMPLICIT=1)";
    case Kind::kRow:
      return fmt::format("{}{} {} {} in the row", on_text(change), change.what,
                         change.behind ? "after" : "before", change.second_name);
    case Kind::kMessages:
      return fmt::format("messages of the schedule: {} instead of {}", change.to, change.from);
    default:
      return "";
  }
}

}  // namespace

bool alters(const Fix& fix) {
  return std::any_of(fix.changes.begin(), fix.changes.end(),
                     [](const Change& change) { return change.alters; });
}

std::string changes_text(const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes) text += (text.empty() ? "" : "; and ") + change_text(change);
  return text;
}

std::string change_text(const Change& change) {
  const std::string number =
      change.to.empty() ? std::to_string(change.number) : models::printable(change.to);
  switch (change.kind) {
    case Kind::kSwitch:
      return fmt::format("{}={} instead of {}", change.what, number,
                         models::printable(change.from));
    case Kind::kStream:
      return fmt::format("{} on {} instead of {}", change.what, stream_text(change.to),
                         stream_text(change.from));
    case Kind::kSlots:
      return fmt::format("{} slots instead of {} in register '{}' of {}", change.number,
                         change.before, change.part, change.what);
    case Kind::kInit:
      return "communicators initialized at the start instead of at their first use";
    case Kind::kOrder:
      return fmt::format(
          "{} after {} on {}, and {} at most {} ahead", change.what, change.part,
          change.on.empty() ? "all its ranks" : ranks_text({change.on.begin(), change.on.end()}),
          change.part, counted(static_cast<std::uint64_t>(change.number), "op"));
    case Kind::kBuffer:
      return fmt::format("sends of up to {} instead of {} on '{}' are buffered",
                         bytes_text(change.number), bytes_text(change.before), change.what);
    case Kind::kResident:
      return fmt::format("{} communication kernel slots instead of {} on a device", change.number,
                         change.before);
    case Kind::kHardwareQueues:
      return fmt::format("{} hardware queues instead of {} on a device", change.number,
                         change.before);
    case Kind::kLaunchQueue:
      return fmt::format("{} pending launches instead of {} on a {}", change.number, change.before,
                         change.part == "device" ? "device" : "stream");
    default:
      return program_change_text(change);
  }
}

std::string fix_text(const FixReport& report, const FixView& view) {
  return FixText(report, view).run();
}

}  // namespace pipesim::viz
