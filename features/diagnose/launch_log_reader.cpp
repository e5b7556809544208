#include "features/diagnose/launch_log_reader.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "features/diagnose/flight_recorder_file.hpp"
#include "features/diagnose/log_lines.hpp"

namespace pipesim::formats {
namespace {

// Limits of the reader. A longer line does not count as a launch; more ops are an error.
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 16;
constexpr std::size_t kMaxOps = 1'000'000;

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

// Removes a label from `text` and returns its rank: "3: rest" of srun -l, or "[node0:3] rest".
std::optional<std::uint32_t> take_rank(std::string_view& text) {
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    const std::size_t colon = text.substr(0, std::min(end, text.size())).rfind(':');
    if (end == std::string_view::npos || colon == std::string_view::npos) return std::nullopt;
    const auto rank = number(text.substr(colon + 1, end - colon - 1));
    if (rank) text = trimmed(text.substr(end + 1));
    return rank;
  }
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view label = text.substr(0, colon);
  constexpr std::string_view kRank = "rank ";
  if (label.substr(0, kRank.size()) == kRank) label.remove_prefix(kRank.size());
  const auto rank = number(trimmed(label));
  if (rank) text = trimmed(text.substr(colon + 2));
  return rank;
}

/// The position of `before: ` or `after: ` in a line.
struct Mark {
  std::size_t at = std::string_view::npos;
  std::size_t end = 0;
  bool after = false;
};

Mark find_mark(std::string_view text) {
  constexpr std::string_view kBefore = "before: ";
  constexpr std::string_view kAfter = "after: ";
  const std::size_t before = text.find(kBefore);
  const std::size_t after = text.find(kAfter);
  // A line can have both marks, or neither. The first mark counts.
  if (before < after) return {before, before + kBefore.size(), false};
  if (after == std::string_view::npos) return {};
  return {after, after + kAfter.size(), true};
}

// Returns the thread number of a glog line: I20220419 10:11:12.123456  1234 kernel.cpp:52]
std::optional<std::string_view> glog_thread(std::string_view head) {
  head = trimmed(head);
  const bool is_glog = head.size() > 5 &&
                       std::string_view("IWEF").find(head.front()) != std::string_view::npos &&
                       head[1] >= '0' && head[1] <= '9' && head.back() == ']';
  if (!is_glog) return std::nullopt;
  std::string_view rest = head;
  for (int skipped = 0; skipped < 2; ++skipped) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    rest = trimmed(rest.substr(space));
  }
  const std::string_view thread = rest.substr(0, rest.find(' '));
  if (!number(thread)) return std::nullopt;
  return thread;
}

}  // namespace

/// A line of a launch.
struct LaunchLogReader::Line {
  std::optional<std::uint32_t> rank;
  std::string_view thread;
  std::string_view name;
  std::string_view stream;
  std::uint32_t number = 0;  // 0: not given
  bool after = false;
};

std::optional<LaunchLogReader::Line> LaunchLogReader::parse(std::string_view text) {
  text = trimmed(text);
  const Mark mark = find_mark(text);
  if (mark.at == std::string_view::npos) return std::nullopt;
  Line line;
  line.after = mark.after;
  std::string_view head = text.substr(0, mark.at);
  std::string_view op = text.substr(mark.end);
  // pipesim's form: "20.400 us [node0:1] main "
  const std::size_t us = head.find(" us [");
  if (us < 32) {
    std::string_view rest = head.substr(us + 4);
    line.rank = take_rank(rest);
    if (!line.rank) return std::nullopt;
    line.thread = trimmed(rest);
    // pipesim's op: "F0#3, stream forward, micro-batch 3, at train.py:88 step"
    const std::size_t stream = op.find(", stream ");
    std::string_view name =
        op.substr(0, std::min({stream, op.find(", micro-batch "), op.find(", at ")}));
    const std::size_t hash = name.rfind('#');
    if (hash == std::string_view::npos) return std::nullopt;
    const auto op_number = number(name.substr(hash + 1));
    if (!op_number) return std::nullopt;
    line.number = *op_number;
    line.name = name.substr(0, hash);
    if (stream != std::string_view::npos) {
      std::string_view rest_of = op.substr(stream + 9);
      line.stream =
          rest_of.substr(0, std::min(rest_of.find(", micro-batch "), rest_of.find(", at ")));
    }
    return line;
  }
  line.rank = take_rank(head);
  const auto thread = glog_thread(head);
  if (!thread) return std::nullopt;
  line.thread = *thread;
  line.name = trimmed(op);
  if (line.name.empty()) return std::nullopt;
  return line;
}

void LaunchLogReader::add(std::uint32_t rank_number, const Line& line, const std::string& path) {
  if (log_.ranks.size() <= rank_number) log_.ranks.resize(rank_number + 1);
  models::LoggedRank& rank = log_.ranks[rank_number];
  if (!rank.has_log) rank.source = path;
  rank.has_log = true;
  // Reports print names to terminals.
  const std::string name = models::printable(line.name);
  const std::string on = models::printable(line.thread);
  const auto next_op = static_cast<std::uint32_t>(rank.ops.size());
  const auto [at, is_new] = op_.emplace(std::pair(rank_number, name), next_op);
  if (is_new) rank.ops.push_back({name, on, models::printable(line.stream), 0, 0, 0});
  models::LoggedOp& op = rank.ops[at->second];
  const auto next_thread = static_cast<std::uint32_t>(rank.threads.size());
  const auto [of, is_new_thread] = thread_.emplace(std::pair(rank_number, on), next_thread);
  if (is_new_thread) rank.threads.push_back({on, "", "", {}});
  models::LoggedThread& thread = rank.threads[of->second];
  op.line = ++lines_;
  std::uint32_t& count = line.after ? op.launched : op.entered;
  count = line.number > 0 ? std::max(count, line.number) : count + 1;
  const std::string told = fmt::format("{}#{}", name, line.number > 0 ? line.number : count);
  if (!line.after) {
    thread.last_entered = told;
    thread.open.push_back(at->second);
    return;
  }
  thread.last_launched = told;
  // Logs can lack their beginning: the line after a launch may be there although the line before it
  // is missing.
  op.entered = std::max(op.entered, op.launched);
  const auto open = std::find(thread.open.rbegin(), thread.open.rend(), at->second);
  if (open != thread.open.rend()) thread.open.erase(std::next(open).base());
}

std::optional<std::uint32_t> rank_of_log(const std::string& path) {
  constexpr std::string_view kLog = ".log";
  const bool is_log = path.size() > kLog.size() && path.ends_with(kLog);
  return rank_of_dump(is_log ? path.substr(0, path.size() - kLog.size()) : path);
}

bool LaunchLogReader::read(const std::string& text, const std::string& path,
                           models::Diagnostics& diagnostics) {
  constexpr const char* kHint =
      "a line of a launch is 'before: OP' or 'after: OP', after glog's prefix or that of "
      "'pipesim run --log'";
  if (text.size() > kMaxLogBytes) {
    diagnostics.error({}, models::Code::kLimit,
                      fmt::format("a log can have at most {} MiB", kMaxLogBytes >> 20));
    return false;
  }
  const std::optional<std::uint32_t> by_name = rank_of_log(path);
  std::uint64_t found = 0;
  std::uint32_t number_of_line = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    ++number_of_line;
    const std::string_view whole = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    const auto line = whole.size() <= kMaxLineBytes ? parse(whole) : std::nullopt;
    if (!line) {
      other_lines_ += trimmed(whole).empty() ? 0U : 1U;
      continue;
    }
    const std::optional<std::uint32_t> rank = line->rank ? line->rank : by_name;
    if (!rank || *rank >= models::kMaxEvidenceRanks) {
      diagnostics
          .error({number_of_line, 1}, models::Code::kLogFormat,
                 rank ? fmt::format("there is no rank {}", *rank) : "this line has no rank")
          .notes.emplace_back(
              "put it before the line ('3: ', '[host:3]'), or at the end of the file's name");
      return false;
    }
    add(*rank, *line, path);
    if (++found; op_.size() > kMaxOps) {
      diagnostics.error({number_of_line, 1}, models::Code::kLimit,
                        fmt::format("more than {} ops in these logs", kMaxOps));
      return false;
    }
  }
  if (found > 0) return true;
  diagnostics.error({}, models::Code::kLogFormat, "no line of this file records a launch")
      .notes.emplace_back(kHint);
  return false;
}

}  // namespace pipesim::formats
