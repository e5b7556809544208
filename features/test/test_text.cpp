#include "features/test/test_text.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "viz/report/styled.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::Aspect;
using models::Bounds;
using models::OrderedOp;
using models::Unmet;

constexpr std::size_t kMaxReportLines = 16;

// Formats `share`, in millionths, as "20%" or "33.3333%".
std::string permille_text(std::int64_t share) {
  std::string text = fmt::format("{}.{:04}", share / 10'000, share % 10'000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + "%";
}

template <typename Text>
std::string bounds_text(const Bounds& bounds, const Text& text) {
  const bool least = bounds.least != std::numeric_limits<std::int64_t>::min();
  const bool most = bounds.most != std::numeric_limits<std::int64_t>::max();
  if (bounds.least == bounds.most) return text(bounds.least);
  if (least && most) {
    return fmt::format("from {} to {}", text(std::max(bounds.least, std::int64_t{0})),
                       text(bounds.most));
  }
  return least ? fmt::format("at least {}", text(bounds.least))
               : fmt::format("at most {}", text(bounds.most));
}

std::string found_ranks_text(const std::vector<std::uint32_t>& ranks) {
  return ranks.empty() ? "none" : ranks_text(ranks);
}

std::string ordered_text(const OrderedOp& op) {
  return fmt::format("rank {} {}#{}", op.rank, op.name, op.number);
}

std::string order_text(const Unmet& unmet) {
  if (!unmet.after) return "expected these ops in this order on one rank, but no rank has them all";
  const OrderedOp& after = *unmet.after;
  const std::string name = ordered_text(after);
  if (!after.exists) return fmt::format("expected {}, but there is no such op", name);
  const std::string found = after.start == sim::kNever
                                ? "it never starts"
                                : fmt::format("found {}", time_text(after.start.ns));
  if (!unmet.before) return fmt::format("expected {} to start, but {}", name, found);
  return fmt::format("expected {} to start no earlier than {} (at {}), {}{}", name,
                     ordered_text(*unmet.before), time_text(unmet.before->start.ns),
                     after.start == sim::kNever ? "but " : "", found);
}

// Describes unmet memory bounds. Rounds the sizes, unless rounding would hide the difference.
std::string memory_text(const Unmet& unmet) {
  const char* what = unmet.reserved ? "reserved memory" : "peak memory";
  const bool least = unmet.number < unmet.bounds.least;
  const std::int64_t wanted = least ? unmet.bounds.least : unmet.bounds.most;
  const bool exact = bytes_text(wanted) == bytes_text(unmet.number);
  const auto text = [&](std::int64_t bytes) {
    return exact ? fmt::format("{} B", bytes) : bytes_text(bytes);
  };
  const std::string bounds = bounds_text(unmet.bounds, text);
  if (!unmet.sized) {
    return fmt::format("expected {} {}, but nothing in the scenario has a size", what, bounds);
  }
  return fmt::format("expected {} {}, found {} on {}", what, bounds, text(unmet.number),
                     found_ranks_text(unmet.found_ranks));
}

struct StatusWords {
  const char* line;     // first word of the line about a test
  const char* summary;  // word after the number of tests, in the last line
  const char* colour;
};

// Words for each status, indexed by TestStatus.
constexpr std::array<StatusWords, 6> kStatusWords = {{{"passed", "passed", "32"},
                                                      {"updated", "updated", "33;1"},
                                                      {"FAILED", "failed", "31;1"},
                                                      {"BAD", "bad", "31;1"},
                                                      {"skipped", "skipped", "33"},
                                                      {"not run", "not run", "33;1"}}};

const StatusWords& words_of(TestStatus status) {
  return kStatusWords[static_cast<std::size_t>(status)];
}

}  // namespace

std::string unmet_text(const Unmet& unmet) {
  const auto differs = [](std::string_view what, std::string_view wanted, std::string_view found) {
    return fmt::format("expected {} {}, found {}", what, wanted, found);
  };
  switch (unmet.aspect) {
    case Aspect::kVerdict:
      return differs("verdict", unmet.wanted, unmet.found);
    case Aspect::kCause:
      return differs("cause", unmet.wanted, unmet.found);
    case Aspect::kTime:
      return differs("time", bounds_text(unmet.bounds, time_text), time_text(unmet.number));
    case Aspect::kCycleLength:
      return differs("a cycle of", counted(static_cast<std::uint64_t>(unmet.bounds.least), "wait"),
                     unmet.number == 0 ? "none" : std::to_string(unmet.number));
    case Aspect::kCycleThrough:
      return fmt::format("expected a cycle through '{}', which is not on it", unmet.wanted);
    case Aspect::kRoots:
      return differs("waits to end at", found_ranks_text(unmet.ranks),
                     found_ranks_text(unmet.found_ranks));
    case Aspect::kIdle:
      return differs(fmt::format("{} to be idle", found_ranks_text(unmet.ranks)),
                     bounds_text(unmet.bounds, permille_text), permille_text(unmet.number));
    case Aspect::kMemory:
      return memory_text(unmet);
    case Aspect::kOrder:
      break;
  }
  return order_text(unmet);
}

std::string report_head(const models::TaskGraph& graph, const models::Explanation& explanation) {
  constexpr std::string_view kIndent = "  ";
  const std::string report =
      head_text({graph, explanation, {}, {}, {}, {}, {}}, {false, kDefaultWidth - kIndent.size()});
  std::string result;
  std::size_t lines = 0;
  for (std::size_t begin = 0; begin < report.size();) {
    if (lines++ == kMaxReportLines) return result + "  ...\n";
    const std::size_t end = report.find('\n', begin);
    if (end > begin) result += kIndent;
    result += report.substr(begin, end - begin + 1);
    begin = end + 1;
  }
  return result;
}

std::string test_text(const TestResult& result, bool colour) {
  const StatusWords& words = words_of(result.status);
  const std::string padding(
      std::string_view("updated  ").size() - std::string_view(words.line).size(), ' ');
  const bool why =
      result.status != TestStatus::kPassed && result.details.empty() && !result.message.empty();
  return fmt::format("{}{}{}{}\n{}", styled(words.colour, words.line, colour), padding,
                     models::printable(result.name),
                     why ? ": " + models::printable(result.message) : "", result.details);
}

std::string test_summary(const std::vector<TestResult>& results, bool colour) {
  std::string text;
  for (std::size_t i = 0; i < kStatusWords.size(); ++i) {
    const auto status = static_cast<TestStatus>(i);
    const std::size_t number = count_results(results, status);
    const bool always = status == TestStatus::kPassed || status == TestStatus::kFailed;
    if (number == 0 && !always) continue;
    const std::string part = fmt::format("{} {}", number, words_of(status).summary);
    text += text.empty() ? "" : ", ";
    text += number == 0 ? part : styled(words_of(status).colour, part, colour);
  }
  return text + "\n";
}

}  // namespace pipesim::viz
