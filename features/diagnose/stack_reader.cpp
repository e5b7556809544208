// Reads stacks. Tools print frames in these forms, the innermost frame first:
//     step (train.py:88)                                    py-spy
//   File "train.py", line 88 in step                        faulthandler
// #3  0x00007f in ncclGroupEnd () from libnccl.so.2         gdb
#include "features/diagnose/stack_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "features/diagnose/debug_page.hpp"
#include "features/diagnose/evidence.hpp"
#include "features/diagnose/flight_recorder_file.hpp"
#include "features/diagnose/log_lines.hpp"
#include "features/diagnose/pyspy_json.hpp"

namespace pipesim::formats {
namespace {

constexpr std::size_t kMaxThreadFrames = 1000;  // maximum number of frames per thread
constexpr std::size_t kMaxThreads = 1'000'000;
constexpr const char* kMainThread = "MainThread";

// Returns the number at the beginning of `text` if it is a possible rank.
std::optional<std::uint32_t> rank_at(std::string_view text) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  std::uint32_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + end, value);
  const bool good = problem == std::errc() && end > 0 && value < models::kMaxEvidenceRanks;
  return good ? std::optional(value) : std::nullopt;
}

bool is_of_a_stack(std::string_view line) {
  return line.starts_with("Process ") || line.starts_with("Thread ") ||
         line.starts_with("Current thread ") || line.starts_with("    ") ||
         line.starts_with("  File \"") || line.starts_with("#") || line.starts_with("Python v") ||
         line.starts_with("Parent Process ") || line.starts_with("=== Rank ") ||
         trimmed(line).empty();
}

// Returns the label of srun, pdsh or another launcher before a line, or an empty string. A label
// with a name is a host, not a rank.
std::string_view stack_label(std::string_view line) {
  if (is_of_a_stack(line)) return {};
  // A line with only a label is an empty line whose blank after the label was cut.
  const bool is_empty =
      line.find(' ') == std::string_view::npos && (line.back() == ':' || line.back() == ']');
  if (is_empty) return line;
  const std::string_view known = label_of(line);
  if (!known.empty() && is_of_a_stack(line.substr(known.size()))) return known;
  const std::size_t end =
      line.substr(0, 1) == "[" ? line.find("] ") : std::min(line.find(": "), line.size());
  if (end >= line.size()) return {};
  const std::string_view label = line.substr(0, end + 2);
  return is_of_a_stack(line.substr(label.size())) ? label : std::string_view();
}

// Returns the rank in a label "3: ", "[node0:3] " or "rank 3: ".
std::optional<std::uint32_t> rank_of_stack_label(std::string_view label) {
  if (label.starts_with("rank ")) label.remove_prefix(5);
  std::string whole(trimmed(label));
  if (whole.empty()) return std::nullopt;
  return rank_of_label(whole + " ");
}

// Returns the value of a rank option in a command.
std::optional<std::uint32_t> option_of(std::string_view command, std::string_view option) {
  for (const char separator : {'=', ' '}) {
    const std::string whole = std::string(option) + separator;
    const std::size_t at = command.find(whole);
    const bool own = at == 0 || (at != std::string_view::npos && command[at - 1] == ' ');
    if (own) return rank_at(command.substr(at + whole.size()));
  }
  return std::nullopt;
}

// Reads "step (train.py:88)". The last parentheses contain the place.
models::StackFrame frame_of(std::string_view line) {
  line = trimmed(line);
  const std::size_t open = line.rfind(" (");
  if (open == std::string_view::npos || line.back() != ')') {
    return {models::short_function(line), {}};
  }
  const std::string_view place = line.substr(open + 2, line.size() - open - 3);
  const bool is_path = place.starts_with('/') && place.find(".py:") != std::string_view::npos;
  return {models::short_function(line.substr(0, open)),
          is_path ? short_file(place) : std::string(place)};
}

// Reads `  File "train.py", line 88 in step`.
std::optional<models::StackFrame> faulthandler_frame(std::string_view line) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  line = trimmed(line);
  if (!line.starts_with(kFile)) return std::nullopt;
  const std::size_t end = line.find(kLine);
  const std::size_t in = line.find(" in ", end == std::string_view::npos ? 0 : end);
  if (end == std::string_view::npos || in == std::string_view::npos) return std::nullopt;
  const std::string_view number = line.substr(end + kLine.size(), in - end - kLine.size());
  return models::StackFrame{
      std::string(line.substr(in + 4)),
      fmt::format("{}:{}", short_file(line.substr(kFile.size(), end - kFile.size())), number)};
}

// Reads `#3  0x00007f in ncclGroupEnd () from libnccl.so.2` or `#4  f (x=1) at a.cc:12`.
std::optional<models::StackFrame> gdb_frame(std::string_view line) {
  if (!line.starts_with('#') || !rank_at(line.substr(1))) return std::nullopt;
  line = trimmed(line.substr(std::min(line.find(' '), line.size())));
  if (line.starts_with("0x")) {
    const std::size_t in = line.find(" in ");
    if (in == std::string_view::npos) return std::nullopt;
    line = line.substr(in + 4);
  }
  const std::size_t open = line.find(" (");
  if (open == std::string_view::npos) return std::nullopt;
  std::string_view place = line;
  for (const std::string_view mark : {" from ", " at "}) {
    const std::size_t at = place.rfind(mark);
    if (at != std::string_view::npos && at > open) {
      return models::StackFrame{models::short_function(line.substr(0, open)),
                                short_file(place.substr(at + mark.size()))};
    }
  }
  return models::StackFrame{models::short_function(line.substr(0, open)), {}};
}

std::string quoted_name(std::string_view line) {
  const std::size_t quote = line.find('"');
  const std::size_t end = line.rfind('"');
  if (quote != std::string_view::npos && end > quote) {
    return std::string(line.substr(quote + 1, end - quote - 1));
  }
  return {};
}

}  // namespace

StackReader::Process& StackReader::begin_process(Stream& stream, std::string name) {
  stream.process = processes_.size();
  stream.thread.reset();
  Process& process = processes_.emplace_back();
  process.name = std::move(name);
  process.told = stream.told;
  process.by_name = by_name_;
  process.file = static_cast<std::uint32_t>(dumps_.files.size() - 1);
  return process;
}

void StackReader::begin_thread(Stream& stream, std::string name, bool active,
                               std::uint64_t number) {
  if (!stream.process) begin_process(stream, "?");
  models::ThreadStack thread;
  thread.thread = std::move(name);
  thread.active = active;
  thread.process = processes_[*stream.process].name;
  thread.source = {static_cast<std::uint32_t>(dumps_.files.size() - 1), number};
  stream.thread = dumps_.threads.size();
  processes_[*stream.process].threads.push_back(dumps_.threads.size());
  dumps_.threads.push_back(std::move(thread));
}

void StackReader::add_frame(Stream& stream, models::StackFrame frame) {
  models::ThreadStack& thread = dumps_.threads[*stream.thread];
  // Threads of faulthandler and gdb have no names. A thread that begins in the script is the main
  // thread.
  const bool begins = frame.function == "<module>" && thread.thread.starts_with("0x");
  if (begins) thread.thread = kMainThread;
  if (thread.frames.size() < kMaxThreadFrames) thread.frames.push_back(std::move(frame));
}

// Reads a heading of a rank, a process or a thread. Returns false for other lines.
bool StackReader::take_head(Stream& stream, std::string_view line) {
  constexpr std::string_view kRank = "=== Rank ";
  if (line.starts_with(kRank)) {
    stream.told = rank_at(line.substr(kRank.size()));
    begin_process(stream, fmt::format("rank {}", stream.told.value_or(0)));
    return true;
  }
  if (line.starts_with("Process ")) {
    const std::string_view rest = trimmed(line.substr(8));
    const std::size_t colon = rest.find(": ");
    Process& process = begin_process(stream, std::string(rest));
    process.pid = std::string(rest.substr(0, std::min(rest.find(':'), rest.size())));
    if (colon != std::string_view::npos) process.command = std::string(rest.substr(colon + 2));
    if (process.command.starts_with("rank ")) {
      const auto own = rank_at(std::string_view(process.command).substr(5));
      if (own) process.told = own;
    }
    return true;
  }
  if (line.starts_with("Parent Process ")) {
    const std::string_view rest = line.substr(15);
    if (stream.process) {
      processes_[*stream.process].parent =
          std::string(rest.substr(0, std::min(rest.find(':'), rest.size())));
    }
    return true;
  }
  const bool current = line.starts_with("Current thread ");
  if (!current && !line.starts_with("Thread ")) return false;
  std::string_view rest = line.substr(current ? 15 : 7);
  std::string name = quoted_name(line);
  const bool of_gdb = line.find("(LWP ") != std::string_view::npos;
  if (of_gdb && rest.starts_with("1 ")) name = kMainThread;
  if (name.empty()) name = std::string(rest.substr(0, std::min(rest.find(' '), rest.size())));
  const std::size_t bracket = rest.find(" [");
  const bool named =
      line.ends_with("(most recent call first):") && bracket != std::string_view::npos;
  if (named) name = std::string(rest.substr(bracket + 2, rest.find(']', bracket) - bracket - 2));
  begin_thread(stream, std::move(name), line.find("(active") != std::string_view::npos, 0);
  return true;
}

bool StackReader::take_frame(Stream& stream, std::string_view line, std::uint64_t number) {
  if (auto frame = faulthandler_frame(line)) {
    // The debug server can omit the heading of a thread.
    if (!stream.thread && stream.process) begin_thread(stream, kMainThread, false, number);
    if (stream.thread) add_frame(stream, std::move(*frame));
    return stream.thread.has_value();
  }
  if (!stream.thread) return false;
  if (auto frame = gdb_frame(line)) {
    add_frame(stream, std::move(*frame));
    return true;
  }
  if (!line.starts_with("    ")) return false;
  // py-spy indents local variables and their heading more than frames.
  if (line.size() > 4 && line[4] != ' ') add_frame(stream, frame_of(line));
  return true;
}

bool StackReader::take_line(Stream& stream, std::string_view line, std::uint64_t number) {
  if (take_head(stream, line)) {
    if (stream.thread) dumps_.threads[*stream.thread].source.line = number;
    return true;
  }
  return take_frame(stream, line, number) || line.starts_with("Python v") || trimmed(line).empty();
}

bool StackReader::read_text(const std::string& text) {
  std::map<std::string, Stream, std::less<>> streams;
  std::uint64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string whole = without_colours(std::string_view(text).substr(begin, end - begin));
    std::string_view line = whole;
    begin = end + 1;
    ++number;
    if (line.size() > kMaxLogLine) {
      ++other_lines_;
      continue;
    }
    const std::string_view label = stack_label(line);
    line.remove_prefix(label.size());
    const auto known = streams.find(label);
    Stream& stream = known == streams.end()
                         ? streams.emplace(std::string(label), Stream()).first->second
                         : known->second;
    if (known == streams.end()) stream.told = rank_of_stack_label(label);
    if (!take_line(stream, line, number)) ++other_lines_;
    if (dumps_.threads.size() > kMaxThreads) return false;
  }
  return true;
}

bool StackReader::read_json(const std::string& text, models::Diagnostics& diagnostics) {
  auto dumps = read_pyspy_json(text);
  if (!dumps) {
    diagnostics.error({}, models::Code::kNoEvidence,
                      "invalid JSON: expected what 'py-spy dump --json' prints");
    return false;
  }
  for (std::vector<PySpyThread>& dump : *dumps) {
    std::map<std::string, Stream> streams;  // streams by process
    for (PySpyThread& it : dump) {
      Stream& stream = streams[it.pid];
      if (!stream.process) {
        Process& process =
            begin_process(stream, it.command.empty() ? it.pid : it.pid + ": " + it.command);
        process.pid = it.pid;
        process.command = it.command;
      }
      begin_thread(stream, std::move(it.name), it.active, 0);
      for (models::StackFrame& frame : it.frames) add_frame(stream, std::move(frame));
      if (dumps_.threads.size() > kMaxThreads) return false;
    }
  }
  return true;
}

bool StackReader::read(const std::string& text, const std::string& path,
                       models::Diagnostics& diagnostics) {
  if (text.size() > kMaxStackBytes) {
    diagnostics.error(
        {}, models::Code::kLimit,
        fmt::format("a file of stacks can have at most {} MiB", kMaxStackBytes >> 20));
    return false;
  }
  const std::size_t dot = path.rfind('.');
  const std::size_t slash = path.rfind('/');
  const bool has_ending = dot != std::string::npos && (slash == std::string::npos || dot > slash);
  by_name_ = rank_of_dump(has_ending ? path.substr(0, dot) : path);
  if (!by_name_) by_name_ = rank_in_name(path);
  const std::size_t before = dumps_.threads.size();
  const std::size_t processes = processes_.size();
  const std::uint64_t others = other_lines_;
  dumps_.files.emplace_back(path);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const std::size_t second =
      first == std::string::npos ? first : text.find_first_not_of(" \t\r\n", first + 1);
  const bool is_json = first != std::string::npos && text[first] == '[' &&
                       second != std::string::npos && (text[second] == '{' || text[second] == ']');
  const bool read = is_json               ? read_json(text, diagnostics)
                    : is_debug_page(text) ? read_text(debug_page_text(text))
                                          : read_text(text);
  if (!read && !diagnostics.has_errors()) {
    diagnostics.error({}, models::Code::kLimit, fmt::format("more than {} threads", kMaxThreads));
  }
  const bool has_frames =
      std::any_of(dumps_.threads.begin() + static_cast<std::ptrdiff_t>(before),
                  dumps_.threads.end(), [](const auto& thread) { return !thread.frames.empty(); });
  if (read && has_frames) return true;
  dumps_.threads.resize(before);
  processes_.resize(processes);
  dumps_.files.pop_back();
  other_lines_ = others;
  if (!diagnostics.has_errors()) {
    diagnostics.error({}, models::Code::kNoEvidence, "no stack found in this file")
        .notes.emplace_back(
            "stacks are what 'py-spy dump --pid PID' prints, of each rank; gdb's and "
            "faulthandler's are read, too");
  }
  return false;
}

bool StackReader::has_frame(const Process& process, std::string_view function) const {
  return std::any_of(process.threads.begin(), process.threads.end(), [&](std::size_t index) {
    const std::vector<models::StackFrame>& frames = dumps_.threads[index].frames;
    return std::any_of(frames.begin(), frames.end(), [&](const models::StackFrame& frame) {
      return frame.function == function || frame.function.ends_with("." + std::string(function));
    });
  });
}

// Whether the process serves the pages of torch.distributed's debug server. Such a process has the
// environment of rank 0, but is not a rank.
bool StackReader::is_debug_server(const Process& process) const {
  return std::any_of(process.threads.begin(), process.threads.end(), [&](std::size_t index) {
    const std::vector<models::StackFrame>& frames = dumps_.threads[index].frames;
    return std::any_of(frames.begin(), frames.end(), [](const models::StackFrame& frame) {
      return frame.place.find("distributed/debug/_frontend.py") != std::string::npos;
    });
  });
}

// Whether the command starts a launcher of ranks.
bool StackReader::is_launcher(const Process& process) {
  constexpr std::array kCommands = {std::string_view("torchrun"),
                                    std::string_view("torch.distributed.run"),
                                    std::string_view("torch.distributed.launch"),
                                    std::string_view("deepspeed.launcher"),
                                    std::string_view("accelerate launch"),
                                    std::string_view("sglang.launch_server")};
  // Searches only the part before the script, because a rank may have such a word among its own
  // options.
  const std::string_view command = process.command;
  const std::string_view head = command.substr(0, command.find(".py"));
  return has_any(head, kCommands);
}

// Whether the process is a helper, not a rank: a launcher, a data worker or a server.
bool StackReader::is_helper(const Process& process) const {
  constexpr std::array kPlaces = {std::string_view("torch/distributed/elastic"),
                                  std::string_view("torch/distributed/run.py"),
                                  std::string_view("torch/distributed/launch"),
                                  std::string_view("deepspeed/launcher"),
                                  std::string_view("accelerate/commands/launch"),
                                  std::string_view("torch/multiprocessing/spawn"),
                                  std::string_view("utils/data/_utils/worker.py"),
                                  std::string_view("uvicorn/"),
                                  std::string_view("multiprocessing/resource_tracker")};
  const bool loads = is_data_worker(process);
  const bool is_parent =
      !process.pid.empty() &&
      std::any_of(processes_.begin(), processes_.end(), [&](const auto& it) {
        return it.parent == process.pid && !is_data_worker(it) && !is_debug_server(it);
      });
  if (loads || is_parent || is_launcher(process) || is_debug_server(process)) return true;
  if (has_frame(process, "_wait_for_scheduler_ready")) return true;
  for (const std::size_t index : process.threads) {
    const models::ThreadStack& thread = dumps_.threads[index];
    if (thread.thread != kMainThread) continue;
    // A spawned rank has the spawner's wrapper of its function as an outer frame.
    const bool spawned = has_frame(process, "_wrap") || has_frame(process, "_bootstrap");
    for (const models::StackFrame& frame : thread.frames) {
      if (!spawned && has_any(frame.place, kPlaces)) return true;
    }
  }
  return false;
}

// Adds the position of a helper that can explain a wait: a data worker of a rank, or a launcher
// that waits for nodes.
void StackReader::add_helper(const Process& process, const std::vector<std::size_t>& kept,
                             const std::vector<std::uint32_t>& ranks) {
  dumps_.rendezvous = dumps_.rendezvous || has_frame(process, "next_rendezvous");
  if (!is_data_worker(process) || process.threads.empty()) return;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (processes_[kept[i]].pid.empty() || processes_[kept[i]].pid != process.parent) continue;
    const std::vector<models::StackFrame>& frames = dumps_.threads[process.threads.front()].frames;
    if (frames.empty()) continue;
    const models::FoundPlace found = models::find_place(frames);
    dumps_.workers[ranks[i]].push_back(
        fmt::format("data worker {} is in {}", process.pid, models::host_text(frames, found)));
  }
}

// Chooses ranks by a command option if each process has a different value, because `--rank 64` can
// also be the rank of an adapter.
void StackReader::choose_by_option(const std::vector<std::size_t>& processes,
                                   std::vector<std::optional<std::uint32_t>>& ranks) {
  for (const std::string_view option : {"--rank", "--local_rank", "--local-rank"}) {
    std::set<std::uint32_t> seen;
    for (const auto& rank : ranks) {
      if (rank) seen.insert(*rank);
    }
    std::vector<std::optional<std::uint32_t>> values;
    bool good = true;
    for (const std::size_t index : processes) {
      const auto value = option_of(processes_[index].command, option);
      good = good && value && seen.insert(*value).second;
      values.push_back(value);
    }
    if (!good) continue;
    // If there are several hosts, a local rank is not a job rank.
    const bool is_rank = option == "--rank" || seen.size() == job_ranks_;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      ranks[processes[i]] = values[i];
      if (!is_rank) dumps_.names[*values[i]] = fmt::format("local rank {}", *values[i]);
    }
    return;
  }
}

// Adds the file to the names of processes if several files use the same name, because processes of
// several hosts can have the same pid.
void StackReader::name_by_files(const std::vector<std::size_t>& processes,
                                const std::vector<std::optional<std::uint32_t>>& ranks) {
  std::map<std::string, std::set<std::uint32_t>> files_with;
  for (const std::size_t i : processes) {
    const auto name = dumps_.names.find(*ranks[i]);
    if (name != dumps_.names.end()) files_with[name->second].insert(processes_[i].file);
  }
  for (const std::size_t i : processes) {
    const auto name = dumps_.names.find(*ranks[i]);
    if (name == dumps_.names.end() || files_with[name->second].size() < 2) continue;
    name->second = fmt::format("{} ({})", name->second, dumps_.files[processes_[i].file]);
  }
}

// Chooses the rank of each process by label, file name, known pid or option. Numbers the remaining
// processes in their order.
std::vector<std::uint32_t> StackReader::choose_ranks(const std::vector<std::size_t>& processes) {
  std::map<std::uint32_t, std::size_t> in_file;
  for (const std::size_t i : processes) ++in_file[processes_[i].file];
  std::vector<std::optional<std::uint32_t>> ranks(processes_.size());
  std::vector<std::size_t> open;
  for (const std::size_t i : processes) {
    const Process& process = processes_[i];
    ranks[i] = process.told;
    if (!ranks[i] && in_file[process.file] == 1) ranks[i] = process.by_name;
    const auto known = rank_of_pid_.find(process.pid);
    if (!ranks[i] && known != rank_of_pid_.end()) ranks[i] = known->second;
    if (!ranks[i]) open.push_back(i);
  }
  choose_by_option(open, ranks);
  std::set<std::uint32_t> used;
  for (const auto& rank : ranks) {
    if (rank) used.insert(*rank);
  }
  std::uint32_t next = 0;
  for (const std::size_t i : open) {
    if (ranks[i]) continue;
    while (!used.insert(next).second) ++next;
    ranks[i] = next;
    const std::string& name = processes_[i].name;
    dumps_.names[next] = "process " + name.substr(0, name.find(':'));
    dumps_.numbered = true;
  }
  name_by_files(open, ranks);
  std::vector<std::uint32_t> chosen;
  for (const std::size_t i : processes) chosen.push_back(*ranks[i]);
  return chosen;
}

models::StackDumps StackReader::take() {
  std::vector<std::size_t> kept;
  std::vector<std::size_t> helpers;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i].threads.empty()) (is_helper(processes_[i]) ? helpers : kept).push_back(i);
  }
  dumps_.helpers = helpers.size();
  const std::vector<std::uint32_t> ranks = choose_ranks(kept);
  for (const std::size_t i : helpers) add_helper(processes_[i], kept, ranks);
  std::vector<models::ThreadStack> threads;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::string& pid = processes_[kept[i]].pid;
    if (!pid.empty() && dumps_.names.count(ranks[i]) == 0) dumps_.pids[ranks[i]] = pid;
    for (const std::size_t index : processes_[kept[i]].threads) {
      threads.push_back(std::move(dumps_.threads[index]));
      threads.back().rank = ranks[i];
    }
  }
  dumps_.threads = std::move(threads);
  return std::move(dumps_);
}

}  // namespace pipesim::formats
