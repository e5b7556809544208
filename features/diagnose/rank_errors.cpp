#include "features/diagnose/rank_errors.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
namespace pipesim::formats {
namespace {

constexpr std::size_t kMaxErrors = 16;  // maximum number of errors of a rank
constexpr std::size_t kMaxErrorFrames = 200;
constexpr std::size_t kMaxErrorText = 300;

// Removes the mark `[rank1]: ` that PyTorch writes before each line of an error.
std::string_view without_mark(std::string_view text) {
  if (!text.starts_with("[rank")) return text;
  text.remove_prefix(std::min(text.find(']') + 1, text.size()));
  if (text.starts_with(':')) text.remove_prefix(1);
  if (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

// Returns a path in the form that py-spy prints: for PyTorch and Python's own modules, from the
// package on; for other files, the file name.
std::string_view file_in_stack(std::string_view path) {
  const std::size_t torch = path.rfind("/torch/");
  if (torch != std::string_view::npos) return path.substr(torch + 1);
  if (path.starts_with("torch/")) return path;
  const std::size_t python = path.rfind("/python3");
  const std::size_t module = python == std::string_view::npos ? python : path.find('/', python + 1);
  const bool own = module != std::string_view::npos && path.find("-packages/") > path.size();
  return own ? path.substr(module + 1) : path.substr(path.rfind('/') + 1);
}

// Reads `  File "train.py", line 88, in step`.
std::optional<models::StackFrame> traceback_frame(std::string_view text) {
  constexpr std::string_view kFile = "  File \"";
  constexpr std::string_view kLine = "\", line ";
  if (!text.starts_with(kFile)) return std::nullopt;
  const std::size_t end = text.find(kLine);
  const std::size_t in = text.find(", in ", end == std::string_view::npos ? 0 : end);
  if (end == std::string_view::npos || in == std::string_view::npos) return std::nullopt;
  const std::string_view number = text.substr(end + kLine.size(), in - end - kLine.size());
  const std::string_view path = text.substr(kFile.size(), end - kFile.size());
  return models::StackFrame{std::string(trimmed(text.substr(in + 5))),
                            fmt::format("{}:{}", file_in_stack(path), number)};
}

// Whether the line has the form `Name: text` with the name of an exception.
bool names_exception(std::string_view text, bool after_frame) {
  constexpr std::array kEndings = {std::string_view("Error"),     std::string_view("Exception"),
                                   std::string_view("Interrupt"), std::string_view("Exit"),
                                   std::string_view("Failure"),   std::string_view("Timeout")};
  const std::size_t end =
      text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.");
  const std::string_view name = text.substr(0, end);
  const bool whole = end == std::string_view::npos || text[end] == ':';
  if (name.empty() || !whole) return false;
  return after_frame || std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view ending) {
           return name.ends_with(ending);
         });
}

}  // namespace

ErrorKind kind_of_error(std::string_view error) {
  constexpr std::array kTimeouts = {std::string_view("imeout"), std::string_view("imed out"),
                                    std::string_view("monitoredBarrier")};
  constexpr std::array kLost = {std::string_view("NCCL"),
                                std::string_view("DistBackendError"),
                                std::string_view("DistNetwork"),
                                std::string_view("gloo/transport"),
                                std::string_view("onnection"),
                                std::string_view("SIGTERM"),
                                std::string_view("SIGINT"),
                                std::string_view("SIGABRT"),
                                std::string_view("KeyboardInterrupt"),
                                std::string_view("SignalException"),
                                std::string_view("SystemExit"),
                                std::string_view("ChildFailedError"),
                                std::string_view("Broken pipe"),
                                std::string_view("TCPStore"),
                                std::string_view("RendezvousClosedError"),
                                std::string_view("Detected mismatch between collectives")};
  // gloo ends a process whose peer sends another size than it expects.
  if (error.find("EnforceNotMet") != std::string_view::npos) return ErrorKind::kOwn;
  // The port of the store is in use.
  if (error.find("EADDRINUSE") != std::string_view::npos) return ErrorKind::kOwn;
  if (has_any(error, kTimeouts)) return ErrorKind::kTimeout;
  return has_any(error, kLost) ? ErrorKind::kLostPeer : ErrorKind::kOwn;
}

std::string end_of_process(std::string_view error) {
  constexpr std::string_view kSizes = "op.preamble.length <= op.nbytes. ";
  const std::size_t at = error.find(kSizes);
  if (at == std::string_view::npos) return fmt::format("an exception of C++, {}", error);
  const std::string_view sizes = error.substr(at + kSizes.size());
  return fmt::format("gloo ended it because sizes differ: {} bytes came where its call expects {}",
                     sizes.substr(0, sizes.find(' ')), word_after(sizes, " vs ", "."));
}

models::OutsideText RankError::at() const {
  if (frames.empty()) return {};
  const models::FoundPlace found = models::find_place(frames);
  const std::string host = models::host_text(frames, found);
  if (models::waits_for_others(found.place)) return host;
  // The frames do not show a work's wait(), because it is not a Python function.
  for (const char* op : {"recv", "send"}) {
    if (error.find(fmt::format("for {} operation", op)) == std::string::npos) continue;
    return fmt::format("a {}, called in {}", op, host);
  }
  return host;
}

void RankErrors::close(std::uint32_t rank, std::string text) {
  const auto open = open_.find(rank);
  RankError error = std::move(open->second.error);
  open_.erase(open);
  text.resize(std::min(text.size(), kMaxErrorText));
  error.kind = kind_of_error(text);
  error.error = std::move(text);
  std::reverse(error.frames.begin(), error.frames.end());
  error.chained = std::exchange(chains_[rank], false);
  std::vector<RankError>& errors = errors_[rank];
  if (errors.size() < kMaxErrors) errors.push_back(std::move(error));
}

bool RankErrors::take(const LogLine& line, const models::EvidencePlace& place,
                      std::optional<std::uint32_t> rank_of_file) {
  constexpr std::string_view kTerminate = "terminate called after throwing an instance of '";
  const std::string_view text = without_mark(line.text);
  const bool ends = text.starts_with(kTerminate);
  const auto is_open = [&](std::uint32_t rank) {
    const auto open = open_.find(rank);
    return open != open_.end() && open->second.error.native;
  };
  const bool of_file = rank_of_file && (ends || is_open(*rank_of_file));
  const std::optional<std::uint32_t> rank = line.rank || !of_file ? line.rank : rank_of_file;
  if (!rank) return false;
  const bool begins = text.starts_with("Traceback (most recent call last)");
  if (begins || ends) {
    Open& open = open_[*rank];
    open = {};
    open.error.place = place;
    open.error.native = ends;
    if (ends) open.error.error = std::string(word_after(text, kTerminate, "'"));
    return true;
  }
  if (text.starts_with("During handling of the above exception") ||
      text.starts_with("The above exception was the direct cause")) {
    chains_[*rank] = true;
    return true;
  }
  return open_.count(*rank) > 0 && take_more(*rank, text);
}

// Takes a line of an open error.
bool RankErrors::take_more(std::uint32_t rank, std::string_view text) {
  Open& open = open_.at(rank);
  if (open.error.native) {
    constexpr std::string_view kWhat = "what():";
    const std::string_view what = trimmed(text);
    if (!what.starts_with(kWhat)) return false;
    close(rank, fmt::format("{}: {}", open.error.error, trimmed(what.substr(kWhat.size()))));
    return true;
  }
  if (auto frame = traceback_frame(text)) {
    std::vector<models::StackFrame>& frames = open.error.frames;
    if (frames.size() < kMaxErrorFrames) frames.push_back(std::move(*frame));
    open.in_frames = true;
    return true;
  }
  if (text.empty() || text.starts_with(' ')) return true;
  if (!names_exception(text, open.in_frames)) {
    open.in_frames = false;
    return false;
  }
  close(rank, std::string(text));
  return true;
}

}  // namespace pipesim::formats
