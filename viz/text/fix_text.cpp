#include "viz/text/fix_text.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/measure/expectation.hpp"
#include "viz/json_string.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {

using models::Cause;
using models::Change;
using models::Explanation;
using models::Fix;
using models::FixCase;
using models::FixReport;
using sim::Answer;

namespace {

using Json = nlohmann::ordered_json;
using Kind = Change::Kind;

std::string stream_text(const std::string& name) {
  return name.empty() ? "a stream of its own" : fmt::format("stream '{}'", name);
}

std::string_view kind_of(Kind kind) {
  switch (kind) {
    case Kind::kSwitch:
      return "switch";
    case Kind::kStream:
      return "stream";
    case Kind::kSlots:
      return "slots";
    case Kind::kCreation:
      return "communicators at the start";
    case Kind::kOrder:
    case Kind::kAfter:
      return "order";
    case Kind::kBatch:
      return "batch";
    case Kind::kEager:
      return "eager";
    case Kind::kResident:
      return "resident";
    case Kind::kHardwareQueues:
      return "hardware queues";
    case Kind::kLaunchQueue:
      return "launch queue";
  }
  return "";
}

// "1,234".
std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

// How sure it is that nothing hangs.
std::string sure_text(const sim::Exploration& orders) {
  if (orders.answer == Answer::kProved) {
    switch (orders.method) {
      case sim::Method::kOneRun:
        return "proved: timing decides nothing here, so one run shows all orders";
      case sim::Method::kNoCycle:
        return "proved: no circle of waits is possible";
      default:
        return fmt::format("proved: all orders that differ in effect were followed, {} fork{}",
                           grouped(orders.states), orders.states == 1 ? "" : "s");
    }
  }
  if (orders.orders <= 1) {
    return "not proved: with faults and guards only its own times were looked at";
  }
  return fmt::format("not proved: no hang in {} orders that were tried", grouped(orders.orders));
}

std::string_view sure_name(const sim::Exploration& orders) {
  if (orders.answer == Answer::kProved) return "proved";
  return orders.answer == Answer::kUndecided ? "no hang found" : "other orders hang";
}

// "rank 0 BdstBuf#1 stands in its stream behind nccl-1998#3".
std::string removed_wait_text(const models::Wait& wait) {
  return fmt::format("{} {} {}", party_text(wait.from), wait_text(wait), party_text(wait.to));
}

// "3.2 % slower than the fastest", exact to a tenth, rounded down.
std::string slower_text(std::int64_t time_ns, std::int64_t fastest_ns) {
  if (time_ns == fastest_ns) return "the fastest";
  if (fastest_ns <= 0) return "";
  const auto tenths = static_cast<std::uint64_t>(time_ns - fastest_ns) * 1000u /
                      static_cast<std::uint64_t>(fastest_ns);
  if (tenths == 0) return "less than 0.1 % slower than the fastest";
  return fmt::format("{}.{} % slower than the fastest", tenths / 10, tenths % 10);
}

// Why nothing helps where no change of a kind that is tried can.
std::string_view reason_text(Cause cause) {
  switch (cause) {
    case Cause::kMismatch:
      return "calls that do not fit together are a mistake of the programs: correct the call";
    case Cause::kDeadRank:
      return "a rank is dead, and no order of the others brings it back";
    case Cause::kFailedLink:
      return "a link or a port is closed, and no order of the work opens it";
    case Cause::kAbsentMember:
      return "a rank never makes a call that its peers wait for: correct its program";
    case Cause::kOutsideInput:
      return "input from outside never comes";
    case Cause::kCycle:
      return "each of the programs has an order of its own, or it takes more than one change";
    default:
      return "it is not known what it waits for";
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
    for (std::size_t i = 0; i < report_.fixes.size(); ++i) add_fix(i);
    if (report_.fixes.empty() && !report_.stopped) add_none();
    add_partial();
    add_rest();
    return text_;
  }

 private:
  void add_head();
  void add_fix(std::size_t i);
  void add_none();
  void add_partial();
  void add_rest();
  std::string cost_text(const Fix& fix) const;

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
      text_ += fmt::format("{}  nothing to fix: it completes. {}\n", view_.scenario,
                           sure_text(report_.before));
      return;
    case FixCase::kNothingFound:
      text_ += fmt::format("{}  nothing found to fix: it completes. {}\n", view_.scenario,
                           sure_text(report_.before));
      return;
    case FixCase::kHangs:
    case FixCase::kHangsInAnother:
      break;
  }
  std::string what = why.cycle.empty() ? std::string(models::cause_name(why.cause))
                                       : "a cycle of " + counted(why.cycle.size(), "wait");
  text_ += fmt::format("{}  {} at {}{}: {}\n", view_.scenario, models::verdict_name(why.verdict),
                       time_text(why.time_ns),
                       report_.found == FixCase::kHangsInAnother
                           ? ", not in its own times but in another order"
                           : "",
                       what);
}

std::string FixText::cost_text(const Fix& fix) const {
  std::string text = time_text(fix.time_ns);
  if (report_.fixes.size() > 1) text += ", " + slower_text(fix.time_ns, fastest_ns_);
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

void FixText::add_fix(std::size_t i) {
  const Fix& fix = report_.fixes[i];
  text_ += fmt::format("\n{}  {}\n", i + 1, change_text(fix.change));
  if (fix.wait) {
    text_ += fmt::format("   why    wait {} goes: {}\n", *fix.wait + 1,
                         removed_wait_text(report_.explanation.cycle[*fix.wait]));
  }
  text_ += fmt::format("   sure   {}\n", sure_text(fix.orders));
  text_ += fmt::format("   costs  {}\n", cost_text(fix));
  for (const Change& same : fix.same) {
    text_ += fmt::format("   same   {}\n", change_text(same));
  }
  text_ += indented(view_.patches[i], "     ");
}

void FixText::add_none() {
  text_ += fmt::format("\nNo change was found that lets it complete: {}.\n",
                       reason_text(report_.explanation.cause));
}

void FixText::add_partial() {
  if (report_.partial.empty()) return;
  text_ += "\nThese let this run complete, and leave other orders that hang\n";
  for (const Fix& fix : report_.partial) text_ += fmt::format("   {}\n", change_text(fix.change));
}

void FixText::add_rest() {
  if (!report_.without_use.empty()) {
    text_ += "\nTried without use\n";
    for (const Change& change : report_.without_use) {
      text_ += fmt::format("   {}{}\n", change_text(change),
                           change.number > change.before + 1 ? ", and less" : "");
    }
  }
  if (report_.unwritten > 0) {
    text_ += fmt::format(
        "Not tried, as this file has no place for them: {} (its tasks are made of something else, "
        "or a value fits nowhere)\n",
        counted(report_.unwritten, "change"));
  }
  if (report_.out_of_budget) text_ += "Some changes were not tried: their runs are too long.\n";
  if (report_.stopped) text_ += "\nInterrupted: not all changes were tried.\n";
}

Json json_of(const Change& change) {
  return {{"kind", kind_of(change.kind)}, {"text", change_text(change)}};
}

Json json_of(const Fix& fix, const std::string& patch) {
  Json json = json_of(fix.change);
  json["certainty"] = sure_name(fix.orders);
  json["orders"] = fix.orders.orders;
  json["states"] = fix.orders.states;
  json["time_ns"] = fix.time_ns;
  json["memory"] = fix.memory ? Json(*fix.memory) : Json(nullptr);
  json["wait"] = fix.wait ? Json(*fix.wait + 1) : Json(nullptr);
  json["same"] = Json::array();
  for (const Change& same : fix.same) json["same"].push_back(change_text(same));
  json["patch"] = patch;
  return json;
}

std::string_view case_name(FixCase found) {
  switch (found) {
    case FixCase::kNothing:
      return "nothing to fix";
    case FixCase::kNothingFound:
      return "nothing found to fix";
    case FixCase::kHangs:
      return "hangs";
    case FixCase::kHangsInAnother:
      return "hangs in another order";
  }
  return "";
}

}  // namespace

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
    case Kind::kCreation:
      return "communicators created at the start instead of at their first use";
    case Kind::kOrder:
      return fmt::format("{} after {}, on {}, which is at most {} ahead", change.what, change.part,
                         change.on.empty()
                             ? "all its ranks"
                             : "rank" + std::string(change.on.size() == 1 ? " " : "s ") +
                                   ranges({change.on.begin(), change.on.end()}),
                         counted(static_cast<std::uint64_t>(change.number), "act"));
    case Kind::kAfter:
      return fmt::format("{} waits for what stream '{}' was given before", change.what,
                         change.part);
    case Kind::kBatch:
      return fmt::format("{} and {} in one group of calls", change.what, change.second_name);
    case Kind::kEager:
      return fmt::format("messages of up to {} instead of {} on '{}' do not wait for their receive",
                         bytes_text(change.number), bytes_text(change.before), change.what);
    case Kind::kResident:
      return fmt::format("room for {} communication kernels instead of {} on a device",
                         change.number, change.before);
    case Kind::kHardwareQueues:
      return fmt::format("{} hardware queues instead of {} on a device", change.number,
                         change.before);
    case Kind::kLaunchQueue:
      return fmt::format("{} pending launches instead of {} on a stream", change.number,
                         change.before);
  }
  return "";
}

std::string fix_text(const FixReport& report, const FixView& view) {
  return FixText(report, view).run();
}

std::string fix_json(const FixReport& report, const FixView& view) {
  Json json = {
      {"schema", kJsonSchema}, {"scenario", view.scenario}, {"case", case_name(report.found)}};
  json["verdict"] = models::verdict_name(report.explanation.verdict);
  json["cause"] = models::cause_name(report.explanation.cause);
  json["fixes"] = Json::array();
  for (std::size_t i = 0; i < report.fixes.size(); ++i) {
    json["fixes"].push_back(json_of(report.fixes[i], view.patches[i]));
  }
  json["partial"] = Json::array();
  for (std::size_t i = 0; i < report.partial.size(); ++i) {
    json["partial"].push_back(json_of(report.partial[i], view.partial[i]));
  }
  json["without_use"] = Json::array();
  for (const Change& change : report.without_use) json["without_use"].push_back(json_of(change));
  json["not_in_this_file"] = report.unwritten;
  if (report.stopped) json["interrupted"] = true;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipesim::viz
