#include "features/diagnose/log_stacks.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "features/diagnose/log_lines.hpp"

namespace pipesim::formats {
namespace {

constexpr std::string_view kRecent = "(most recent call first):";

/// The last stacks of a rank.
struct LastStacks {
  std::vector<std::pair<std::uint64_t, std::string>> lines;  // with their line numbers
  std::set<std::string> threads;
  bool in_stack = false;  // whether the line before belongs to a stack
  bool crashed = false;

  void clear() {
    lines.clear();
    threads.clear();
    in_stack = false;
  }
};

// Returns the number of the thread in the heading of a stack; empty for other lines.
std::string thread_of(std::string_view text) {
  if (!text.ends_with(kRecent)) return {};
  const bool is_heading = text.starts_with("Thread 0x") || text.starts_with("Current thread 0x");
  return is_heading ? std::string(word_after(text, "hread ", " ")) : std::string();
}

// Whether a rank can print the line while it waits: a watchdog has its own thread.
bool is_of_watchdog(std::string_view text) {
  return text.empty() || text.starts_with('[') || text.starts_with("frame #");
}

void take_stack_line(const LogLine& line, LastStacks& stacks) {
  const std::string_view text = line.text;
  if (text.starts_with("Fatal Python error")) stacks.crashed = true;
  const std::string thread = thread_of(trimmed(text));
  if (!thread.empty()) {
    if (stacks.threads.count(thread) > 0) stacks.clear();  // the next dump
    stacks.threads.insert(thread);
    stacks.in_stack = true;
    stacks.lines.emplace_back(line.number, trimmed(text));
  } else if (stacks.in_stack && (text.starts_with("  File \"") || text.starts_with("  <"))) {
    stacks.lines.emplace_back(line.number, text);
  } else if (!is_of_watchdog(trimmed(text))) {
    stacks.clear();
  }
}

}  // namespace

bool has_log_stacks(std::string_view text) {
  return text.find(kRecent) != std::string_view::npos &&
         (text.find("Current thread 0x") != std::string_view::npos ||
          text.find("Thread 0x") != std::string_view::npos);
}

std::string stacks_in_log(std::string_view text, std::string_view name) {
  const std::optional<std::uint32_t> rank_of_file = rank_in_name(name);
  std::map<std::uint32_t, LastStacks> by_rank;
  each_log_line(text, [&](const LogLine& line) {
    const std::optional<std::uint32_t> rank = line.rank ? line.rank : rank_of_file;
    if (rank) take_stack_line(line, by_rank[*rank]);
  });
  std::vector<std::string> lines;
  for (const auto& [rank, stacks] : by_rank) {
    if (stacks.crashed) continue;
    for (const auto& [number, line] : stacks.lines) {
      if (lines.size() < number) lines.resize(number);
      lines[number - 1] = fmt::format("{}: {}", rank, line);
    }
  }
  std::string result;
  for (const std::string& line : lines) result += line + "\n";
  return result;
}

}  // namespace pipesim::formats
