#include "viz/words.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/measure/expectation.hpp"

namespace pipesim::viz {

using models::ActInfo;
using models::ActStage;
using models::Wait;
using models::WaitParty;
using sim::DeathCause;
using sim::Step;
using sim::WaitKind;
using sim::WaitNodeKind;

std::string time_text(std::int64_t ns) {
  static constexpr std::array<std::pair<std::int64_t, const char*>, 3> kUnits = {
      {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}}};
  for (const auto& [factor, unit] : kUnits) {
    if (ns < factor) continue;
    std::string decimals = fmt::format("{:09}", ns % factor * (1'000'000'000 / factor));
    decimals.erase(decimals.find_last_not_of('0') + 1);
    return fmt::format("{}{}{} {}", ns / factor, decimals.empty() ? "" : ".", decimals, unit);
  }
  return fmt::format("{} ns", ns);
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >> (10 * (unit + 1)) > 0) ++unit;
  const std::int64_t size = std::int64_t{1} << (10 * unit);
  std::int64_t whole = bytes / size;
  // A remainder below 2^40 times 10 stays within 64 bits.
  std::int64_t tenths = (bytes % size * 10 + size / 2) / size;
  if (tenths == 10) {
    ++whole;
    tenths = 0;
  }
  return tenths == 0 ? fmt::format("{} {}", whole, kUnits[unit])
                     : fmt::format("{}.{} {}", whole, tenths, kUnits[unit]);
}

std::string ordinal(std::uint32_t number) {
  const std::uint32_t tens = number % 100;
  const char* ending = "th";
  if (tens < 11 || tens > 13) {
    if (number % 10 == 1) ending = "st";
    if (number % 10 == 2) ending = "nd";
    if (number % 10 == 3) ending = "rd";
  }
  return fmt::format("{}{}", number, ending);
}

std::string counted(std::uint64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

std::string ranges(const std::vector<std::uint32_t>& numbers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - i >= 3) {
      parts.push_back(fmt::format("{} to {}", numbers[i], numbers[end - 1]));
      i = end;
    } else {
      parts.push_back(std::to_string(numbers[i++]));
    }
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
    text += parts[i];
  }
  return text;
}

std::string short_ranges(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kMostParts = 3;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    parts.push_back(end - i == 1 ? std::to_string(ranks[i])
                                 : fmt::format("{}-{}", ranks[i], ranks[end - 1]));
    i = end;
  }
  if (parts.size() <= kMostParts) return fmt::format("{}", fmt::join(parts, ", "));
  return fmt::format("{}, {}, ... {} ({} ranks)", parts[0], parts[1], parts.back(), ranks.size());
}

std::string_view kind_name(WaitKind kind) {
  switch (kind) {
    case WaitKind::kStreamOrder:
      return "stream order";
    case WaitKind::kData:
      return "data";
    case WaitKind::kCreditData:
      return "credit (data)";
    case WaitKind::kCreditControl:
      return "credit (control)";
    case WaitKind::kPeerOfCollective:
      return "peer of a collective";
    case WaitKind::kCommunicatorCreation:
      return "communicator creation";
    case WaitKind::kLaunchQueue:
      return "launch queue";
    case WaitKind::kHostWait:
      return "host wait";
    case WaitKind::kDeviceRoom:
      return "device room";
    case WaitKind::kPeerOfMessage:
      return "peer of a message";
    case WaitKind::kLock:
      return "lock";
    case WaitKind::kDeadRank:
      return "dead rank";
    case WaitKind::kFailedLink:
      return "failed link";
    case WaitKind::kRequires:
      return "requires";
    case WaitKind::kIRequires:
      return "irequires";
    case WaitKind::kCallOrder:
      return "order of calls";
    case WaitKind::kOutsideInput:
      break;
  }
  return "outside input";
}

std::string_view stage_name(ActStage stage) {
  switch (stage) {
    case ActStage::kNotEntered:
      return "not entered";
    case ActStage::kEntered:
      return "entered";
    case ActStage::kLaunched:
      return "launched";
    case ActStage::kStarted:
      return "started";
    case ActStage::kDone:
      break;
  }
  return "done";
}

std::string_view death_name(DeathCause cause) {
  switch (cause) {
    case DeathCause::kAtTime:
      return "at a time";
    case DeathCause::kAtAct:
      return "at an act";
    case DeathCause::kFatalCall:
      return "denied";
    case DeathCause::kDeviceError:
      return "device error";
    case DeathCause::kLinkError:
      return "link error";
    case DeathCause::kWatchdog:
      return "watchdog";
    case DeathCause::kTimeout:
      return "timeout";
    case DeathCause::kLauncher:
      break;
  }
  return "launcher";
}

std::string fingerprint_text(std::uint64_t fingerprint) {
  return fmt::format("{:016x}", fingerprint);
}

std::string act_text(const ActInfo& act) {
  return act.act == 0 ? act.op : fmt::format("{}#{}", act.op, act.act);
}

std::string party_text(const WaitParty& party) {
  switch (party.kind) {
    case WaitNodeKind::kAct:
      return fmt::format("rank {} {}", party.rank, act_text(party.act));
    case WaitNodeKind::kRank:
      return fmt::format("rank {}", party.rank);
    case WaitNodeKind::kOutside:
      break;
  }
  return "the outside";
}

std::string stage_text(const ActInfo& act) {
  switch (act.stage) {
    case ActStage::kNotEntered:
      return "not launched";
    case ActStage::kEntered:
      switch (act.step) {
        case Step::kOutsideInput:
          return "in its launch, waiting for input";
        case Step::kCreation:
          return "in its launch, creating the communicator";
        case Step::kHostStep:
          return "waiting on the host";
        case Step::kLaunchQueue:
          return "in its launch, which the full queue blocks";
        case Step::kNone:
        case Step::kOverhead:
        case Step::kCompletion:
          break;
      }
      return "in its launch";
    case ActStage::kLaunched:
      return "launched";
    case ActStage::kStarted:
      return act.collective ? "started, spins" : "started";
    case ActStage::kDone:
      break;
  }
  return "done";
}

std::string verdict_text(const models::Explanation& explanation) {
  std::string verdict = models::verdict_name(explanation.verdict);
  std::transform(verdict.begin(), verdict.end(), verdict.begin(),
                 [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  if (explanation.verdict != sim::Verdict::kLimit) return verdict;
  return fmt::format("{} ({})", verdict, models::cause_name(explanation.cause));
}

std::string headline(const models::TaskGraph& graph, const models::Explanation& explanation) {
  return fmt::format("{}{}{} at {}", graph.name, graph.name.empty() ? "" : ": ",
                     verdict_text(explanation), time_text(explanation.time_ns));
}

std::string cycle_text(const models::Explanation& explanation) {
  std::set<std::uint32_t> ranks;
  std::set<std::uint32_t> micro_batches;
  for (const Wait& wait : explanation.cycle) {
    ranks.insert(wait.from.rank);
    if (wait.from.act.micro_batch > 0) micro_batches.insert(wait.from.act.micro_batch);
  }
  const auto listed = [](std::string_view one, std::string_view many,
                         const std::set<std::uint32_t>& numbers) {
    return fmt::format("{} {}", numbers.size() == 1 ? one : many,
                       ranges({numbers.begin(), numbers.end()}));
  };
  std::string text = fmt::format("The cycle: {}, {}", counted(explanation.cycle.size(), "wait"),
                                 listed("rank", "ranks", ranks));
  if (!micro_batches.empty()) {
    text += ", " + listed("micro-batch", "micro-batches", micro_batches);
  }
  return explanation.cycle_is_shortest ? text : text + " (there may be a shorter one)";
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t line_end = std::min(text.find('\n'), text.size());
    std::size_t end = line_end;
    if (end > width) {
      end = text.rfind(' ', width);
      if (end == std::string_view::npos || end == 0) end = std::min(text.find(' '), line_end);
    }
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

namespace {

std::string reason_text(const Wait& wait) {
  switch (wait.kind) {
    case WaitKind::kStreamOrder:
      return wait.from.act.stage == ActStage::kStarted || wait.from.act.stream != wait.to.act.stream
                 ? "holds its stream up until"
                 : "stands in its stream behind";
    case WaitKind::kData:
      return wait.control ? fmt::format("needs the signal '{}' from", wait.reg) : "needs data from";
    case WaitKind::kCreditData:
    case WaitKind::kCreditControl:
      return fmt::format("needs a slot of its '{}' back from", wait.reg);
    case WaitKind::kPeerOfCollective:
      return wait.to.kind == WaitNodeKind::kRank ? "waits for a peer that never comes,"
                                                 : "waits for its peer";
    case WaitKind::kCommunicatorCreation:
      if (wait.to.kind == WaitNodeKind::kRank) return "waits for a member that never comes,";
      return wait.to.act.stage >= ActStage::kLaunched ? "waits for the device to finish"
                                                      : "waits for the arrival of";
    case WaitKind::kLaunchQueue:
      return "waits for a place in the queue behind";
    case WaitKind::kHostWait:
      if (wait.from.act.step == Step::kHostStep) return "waits on the host for";
      return wait.from.act.in_program ? "comes later in its program, which is blocked in"
                                      : "is unread or behind, since its host thread is blocked in";
    case WaitKind::kDeviceRoom:
      return "finds no room on the device beside";
    case WaitKind::kPeerOfMessage:
      if (wait.to.kind == WaitNodeKind::kOutside) return "waits for a message that no rank sends,";
      return wait.to.kind == WaitNodeKind::kRank ? "waits for a message call that never comes,"
                                                 : "waits for the other end of its message,";
    case WaitKind::kLock:
      return fmt::format("waits for lock '{}' of thread '{}', which {}", wait.lock, wait.holder,
                         wait.to.kind == WaitNodeKind::kRank ? "has no work left," : "is at");
    case WaitKind::kDeadRank:
      return wait.to.rank == wait.from.rank ? "never ends, after an error of the device of"
                                            : "waits for what died with";
    case WaitKind::kFailedLink:
      return fmt::format("cannot get over {}, to", wait.link);
    case WaitKind::kRequires:
      return "needs the end of";
    case WaitKind::kIRequires:
      return "needs the start of";
    case WaitKind::kCallOrder:
      return "was called later than";
    case WaitKind::kOutsideInput:
      break;
  }
  return "waits for input from";
}

}  // namespace

std::string wait_text(const Wait& wait) {
  if (!wait.needed) return reason_text(wait);
  return fmt::format("{} {}, which comes after", reason_text(wait), act_text(*wait.needed));
}

}  // namespace pipesim::viz
