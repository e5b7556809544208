#include "viz/report/words.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/result/expectation.hpp"
#include "viz/report/rounded_time.hpp"
#include "viz/report/styled.hpp"

namespace pipesim::viz {

using models::OpInfo;
using models::OpStage;
using models::Wait;
using models::WaitParty;
using sim::DeathCause;
using sim::Step;
using sim::WaitNodeKind;

namespace {

struct DeathName {
  DeathCause kind;
  std::string_view name;
};

constexpr std::array<DeathName, 8> kDeathNames = {{
    {DeathCause::kAtTime, "at a time"},
    {DeathCause::kAtOp, "at an act"},
    {DeathCause::kFatalCall, "denied"},
    {DeathCause::kDeviceError, "device error"},
    {DeathCause::kLinkError, "link error"},
    {DeathCause::kWatchdog, "watchdog"},
    {DeathCause::kTimeout, "timeout"},
    {DeathCause::kLauncher, "launcher"},
}};
static_assert(sim::has_row_per_kind(kDeathNames), "each cause has its name, in their order");

}  // namespace

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

std::string rounded_time_text(std::int64_t ns) {
  if (ns == 0) return "0";
  std::int64_t step = 1;  // value of the third significant digit
  while (ns / step >= 1000) step *= 10;
  return time_text((ns + step / 2) / step * step);
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && bytes >> (10 * (unit + 1)) > 0) ++unit;
  const std::int64_t size = std::int64_t{1} << (10 * unit);
  std::int64_t whole = bytes / size;
  // The remainder is below 2^40, so 10 times the remainder fits 64 bits.
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

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string counted(std::uint64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", grouped(count), singular, count == 1 ? "" : "s");
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

namespace {

constexpr std::size_t kMaxParts = 3;

// A range of consecutive ranks.
struct Run {
  std::uint32_t first = 0;
  std::uint32_t size = 0;

  std::string text() const {
    return size == 1 ? std::to_string(first) : fmt::format("{}-{}", first, first + size - 1);
  }
};

std::vector<Run> runs_of(const std::vector<std::uint32_t>& ranks) {
  std::vector<Run> runs;
  for (const std::uint32_t rank : ranks) {
    const bool goes_on = !runs.empty() && rank == runs.back().first + runs.back().size;
    if (!goes_on) runs.push_back({rank, 0});
    ++runs.back().size;
  }
  return runs;
}

// Returns the distance between the first ranks of successive runs. Returns 0 if sizes or distances
// differ, or if there are at most kMaxParts runs.
std::uint32_t stride_of(const std::vector<Run>& runs) {
  if (runs.size() <= kMaxParts) return 0;
  const std::uint32_t stride = runs[1].first - runs[0].first;
  const auto differs = [&](const Run& a, const Run& b) {
    return a.size != b.size || b.first - a.first != stride;
  };
  return std::adjacent_find(runs.begin(), runs.end(), differs) == runs.end() ? stride : 0;
}

}  // namespace

std::string short_ranges(const std::vector<std::uint32_t>& ranks) {
  const std::vector<Run> runs = runs_of(ranks);
  if (runs.size() <= kMaxParts) {
    std::vector<std::string> parts;
    for (const Run& run : runs) parts.push_back(run.text());
    return fmt::format("{}", fmt::join(parts, ", "));
  }
  const std::uint32_t stride = stride_of(runs);
  if (stride > 0 && runs[0].size == 1) {
    return fmt::format("{}-{} by {}", ranks.front(), ranks.back(), stride);
  }
  return fmt::format("{}, {}, ... {} ({} ranks)", runs[0].text(), runs[1].text(),
                     runs.back().text(), ranks.size());
}

std::string class_name(const models::RankSet& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  const std::string list = short_ranges({ranks.begin(), ranks.end()});
  const bool counted = list.find('(') != std::string::npos;
  return fmt::format("ranks {}{}", list, counted ? "" : fmt::format(" (x{})", ranks.size()));
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  constexpr std::size_t kMaxLength = 40;  // characters
  if (ranks.empty()) return "no ranks";
  const std::string text = ranges(ranks);
  if (text.size() <= kMaxLength)
    return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", text);
  const std::vector<Run> runs = runs_of(ranks);
  const std::uint32_t stride = stride_of(runs);
  if (stride == 0) return fmt::format("ranks {}", short_ranges(ranks));
  const std::string how = runs[0].size == 1 ? fmt::format("every {}", ordinal(stride))
                                            : fmt::format("{} of every {}", runs[0].size, stride);
  return fmt::format("ranks {}, {}, ... {} ({}, {} ranks)", runs[0].text(), runs[1].text(),
                     runs.back().text(), how, ranks.size());
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] -= 'a' - 'A';
  return text;
}

std::string_view stage_name(OpStage stage) {
  switch (stage) {
    case OpStage::kNotEntered:
      return "not entered";
    case OpStage::kEntered:
      return "entered";
    case OpStage::kLaunched:
      return "launched";
    case OpStage::kStarted:
      return "started";
    case OpStage::kDone:
      break;
  }
  return "done";
}

std::string_view death_name(DeathCause cause) {
  return kDeathNames[static_cast<std::size_t>(cause)].name;
}

std::string fingerprint_text(std::uint64_t fingerprint) {
  return fmt::format("{:016x}", fingerprint);
}

std::string op_id(const OpInfo& op) {
  if (op.number == 0) return op.name;
  const std::string call = op.call_name.empty() ? "" : fmt::format(" ({})", op.call_name);
  return fmt::format("{}#{}{}", op.name, op.number, call);
}

std::string op_text(const OpInfo& op) {
  return op.recorded_name.empty() ? op_id(op) : op.recorded_name;
}

std::string quoted_if_implied(const OpInfo& op) {
  return op.implied ? fmt::format("'{}'", op_text(op)) : op_text(op);
}

std::string party_text(const WaitParty& party) {
  switch (party.kind) {
    case WaitNodeKind::kOp:
      return fmt::format("rank {} {}", party.rank, op_text(party.op));
    case WaitNodeKind::kRank:
      return fmt::format("rank {}", party.rank);
    case WaitNodeKind::kOutside:
      break;
  }
  return "the outside";
}

std::string phrase_of(const WaitParty& party) {
  if (party.kind != WaitNodeKind::kOp) return party_text(party);
  return fmt::format("rank {}'s {}", party.rank, op_text(party.op));
}

std::string stage_text(const OpInfo& op) {
  switch (op.stage) {
    case OpStage::kNotEntered:
      return "not launched";
    case OpStage::kEntered:
      switch (op.step) {
        case Step::kOutsideInput:
          return "launching: waiting for input";
        case Step::kInit:
          return "launching: in communicator init";
        case Step::kConnection:
          return "launching: connecting at first use";
        case Step::kHostStep:
          return "has not returned";
        case Step::kLaunchQueue:
          return "launching: the launch queue is full";
        case Step::kNone:
        case Step::kOverhead:
        case Step::kCompletion:
          break;
      }
      return "launching";
    case OpStage::kLaunched:
      return "launched";
    case OpStage::kStarted:
      return "running";
    case OpStage::kDone:
      break;
  }
  return "done";
}

std::string upper_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return result;
}

namespace {

// Returns what the ranks of a starved run wait for.
const char* missing_thing(models::Cause cause) {
  switch (cause) {
    case models::Cause::kDeadRank:
      return "dead rank";
    case models::Cause::kFailedLink:
      return "failed link";
    case models::Cause::kOutsideInput:
      return "missing input";
    default:
      return "missing call";
  }
}

}  // namespace

std::string verdict_text(const models::Explanation& explanation) {
  if (explanation.verdict == sim::Verdict::kStarved) {
    return fmt::format("HANGS ({})", missing_thing(explanation.cause));
  }
  std::string verdict = upper_case(models::verdict_name(explanation.verdict));
  if (explanation.verdict != sim::Verdict::kLimit) return verdict;
  return fmt::format("{} ({})", verdict, models::cause_name(explanation.cause));
}

const char* verdict_style(sim::Verdict verdict) {
  if (verdict == sim::Verdict::kCompleted) return ansi::kGreen;
  return verdict == sim::Verdict::kLimit ? ansi::kYellow : ansi::kRed;
}

std::string headline(const models::TaskGraph& graph, const models::Explanation& explanation) {
  return fmt::format("{}{}{} at {}", graph.name, graph.name.empty() ? "" : ": ",
                     verdict_text(explanation), rounded_time_text(explanation.time_ns));
}

std::string cycle_text(const models::Explanation& explanation) {
  std::set<std::uint32_t> ranks;
  std::set<std::uint32_t> micro_batches;
  for (const Wait& wait : explanation.cycle) {
    ranks.insert(wait.from.rank);
    if (wait.from.op.micro_batch > 0) micro_batches.insert(wait.from.op.micro_batch);
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

std::string paragraph(std::string_view text, std::size_t width, std::size_t first,
                      std::size_t rest) {
  std::string result;
  for (std::size_t indent = first; !text.empty(); indent = rest) {
    const std::string line = wrapped(text, std::max<std::size_t>(width, indent + 20) - indent)[0];
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    result += fmt::format("{}{}\n", std::string(indent, ' '), line);
  }
  return result;
}

std::string nccl_mode_about(models::NcclMode reading) {
  switch (reading) {
    case models::NcclMode::kContract:
      return "a send may block until its recv, as NCCL documents";
    case models::NcclMode::kReal:
      return "sends complete into NCCL's buffers";
    case models::NcclMode::kCold:
      break;
  }
  return "a fresh job, in which ranks connect at first use";
}

}  // namespace pipesim::viz
