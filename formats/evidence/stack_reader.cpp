#include "formats/evidence/stack_reader.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "formats/torch/flight_recorder_file.hpp"
#include "models/postmortem/evidence.hpp"

namespace pipesim::formats {
namespace {

constexpr std::size_t kMaxStackLine = std::size_t{1} << 16;
constexpr std::size_t kMaxFrames = 1000;  // of one thread
constexpr std::size_t kMaxThreads = 1'000'000;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// The number that `text` begins with, if it is a rank.
std::optional<std::uint32_t> rank_at(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  std::uint32_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + end, value);
  const bool good = problem == std::errc() && end > 0 && value < models::kMostEvidenceRanks;
  return good ? std::optional(value) : std::nullopt;
}

bool is_of_a_stack(std::string_view line) {
  return line.starts_with("Process ") || line.starts_with("Thread ") || line.starts_with("    ") ||
         line.starts_with("Python v") || trimmed(line).empty();
}

// What srun, pdsh and others put before a line; empty: nothing.
std::string_view label_of(std::string_view line) {
  if (is_of_a_stack(line)) return {};
  // An empty line: some cut off the space behind the label.
  const bool is_empty =
      line.find(' ') == std::string_view::npos && (line.back() == ':' || line.back() == ']');
  if (is_empty) return line;
  const std::size_t end =
      line.substr(0, 1) == "[" ? line.find("] ") : std::min(line.find(": "), line.size());
  if (end >= line.size()) return {};
  const std::string_view label = line.substr(0, end + 2);
  return is_of_a_stack(line.substr(label.size())) ? label : std::string_view();
}

// "3: ", "[node0:3] "; a name alone is that of a host.
std::optional<std::uint32_t> rank_of_label(std::string_view label) {
  if (label.size() < 2) return std::nullopt;
  label.remove_suffix(2);
  if (!label.empty() && label.front() == '[') {
    const std::size_t colon = label.rfind(':');
    label.remove_prefix(colon == std::string_view::npos ? label.size() : colon + 1);
  }
  label = trimmed(label);
  if (label.starts_with("rank ")) label.remove_prefix(5);
  const auto rank = rank_at(label);
  return rank && label.find_first_not_of("0123456789") == std::string_view::npos ? rank
                                                                                 : std::nullopt;
}

// Of a command line, or of the words of 'pipesim run --stacks'.
std::optional<std::uint32_t> rank_of_process(std::string_view command) {
  for (const std::string_view option : {"rank ", "--rank ", "--rank=", "--local_rank=",
                                        "--local_rank ", "--local-rank=", "--local-rank "}) {
    const bool at_start = option == "rank ";
    const std::size_t at = at_start ? (command.starts_with(option) ? 0 : std::string_view::npos)
                                    : command.find(option);
    if (at == std::string_view::npos) continue;
    if (const auto rank = rank_at(command.substr(at + option.size()))) return rank;
  }
  return std::nullopt;
}

// "step (train.py:88)": the last parentheses are the place.
models::StackFrame frame_of(std::string_view line) {
  line = trimmed(line);
  const std::size_t open = line.rfind(" (");
  if (open == std::string_view::npos || line.back() != ')') return {std::string(line), {}};
  return {std::string(line.substr(0, open)),
          std::string(line.substr(open + 2, line.size() - open - 3))};
}

// `Thread 12 (idle): "MainThread"`; threads of Python without a name have a number alone.
models::ThreadStack thread_of(std::string_view line) {
  models::ThreadStack thread;
  thread.active = line.find("(active") != std::string_view::npos;
  const std::size_t quote = line.find('"');
  const std::size_t end = line.rfind('"');
  if (quote != std::string_view::npos && end > quote) {
    thread.thread = std::string(line.substr(quote + 1, end - quote - 1));
  } else {
    const std::string_view rest = line.substr(7);
    thread.thread = std::string(rest.substr(0, std::min(rest.find(' '), rest.size())));
  }
  return thread;
}

}  // namespace

void StackReader::begin_process(Stream& stream, std::string_view line,
                                std::optional<std::uint32_t> rank) {
  stream.process = std::string(trimmed(line.substr(8)));
  const std::size_t colon = line.find(": ");
  const std::string_view command =
      colon == std::string_view::npos ? std::string_view() : line.substr(colon + 2);
  // Several processes of one file are of several ranks, whatever its name.
  const std::optional<std::uint32_t> own = rank_of_process(command);
  stream.rank = own ? own : rank;
  if (!stream.rank) {
    dumps_.numbered = true;
    stream.rank = next_rank_++;
  }
  stream.has_process = true;
  stream.thread.reset();
}

bool StackReader::take_line(Stream& stream, std::string_view line,
                            std::optional<std::uint32_t> rank) {
  if (line.starts_with("Process ")) {
    begin_process(stream, line, rank);
    return true;
  }
  if (line.starts_with("Thread ")) {
    if (!stream.has_process) begin_process(stream, "Process ?", rank);
    models::ThreadStack thread = thread_of(line);
    thread.rank = *stream.rank;
    thread.process = stream.process;
    stream.thread = dumps_.threads.size();
    dumps_.threads.push_back(std::move(thread));
    return true;
  }
  if (line.starts_with("    ") && stream.thread) {
    // py-spy prints local variables deeper, and a heading for them.
    const bool is_frame = line.size() > 4 && line[4] != ' ';
    auto& frames = dumps_.threads[*stream.thread].frames;
    if (is_frame && frames.size() < kMaxFrames) frames.push_back(frame_of(line));
    return true;
  }
  return line.starts_with("Python v") || trimmed(line).empty();
}

bool StackReader::read(const std::string& text, const std::string& path,
                       models::Diagnostics& diagnostics) {
  if (text.size() > kMostStackBytes) {
    diagnostics.error({},
                      fmt::format("a file of stacks has at most {} MiB", kMostStackBytes >> 20));
    return false;
  }
  const std::size_t dot = path.rfind('.');
  const std::size_t slash = path.rfind('/');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  const auto by_name = rank_of_dump(has_ending ? path.substr(0, dot) : path);
  const std::size_t before = dumps_.threads.size();
  std::map<std::string, Stream, std::less<>> streams;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.size() > kMaxStackLine) {
      ++other_lines_;
      continue;
    }
    const std::string_view label = label_of(line);
    line.remove_prefix(label.size());
    const auto rank = rank_of_label(label);
    const auto known = streams.find(label);
    Stream& stream = known == streams.end()
                         ? streams.emplace(std::string(label), Stream()).first->second
                         : known->second;
    if (!take_line(stream, line, rank ? rank : by_name)) ++other_lines_;
    if (dumps_.threads.size() > kMaxThreads) {
      diagnostics.error({}, fmt::format("more than {} threads", kMaxThreads));
      return false;
    }
  }
  if (dumps_.threads.size() > before) return true;
  diagnostics.error({}, "no stack found in this file")
      .notes.emplace_back("stacks are what 'py-spy dump --pid PID' prints, of each rank");
  return false;
}

}  // namespace pipesim::formats
