#include "features/sweep/sweep_journal.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "app/output/files.hpp"
#include "viz/report/diagnostic_text.hpp"

namespace pipesim::app {
namespace {

[[noreturn]] void fail(const char* what, const std::string& path, int reason) {
  throw FileError(models::Code::kFile,
                  fmt::format("cannot {} '{}': {}", what, path, std::strerror(reason)));
}

// Describes how the sweep `found` differs from `wanted`. Returns an empty string if they are the
// same.
std::string difference(const formats::SweepHead& wanted, const formats::SweepHead& found) {
  if (found.scenario != wanted.scenario)
    return "another scenario, or of an earlier version of this one";
  if (found.settings != wanted.settings) return "other settings (--set)";
  if (!(found.grid == wanted.grid)) return "other variables, seeds or jitter";
  if (!(found.shard == wanted.shard)) {
    return fmt::format("shard {}/{}", found.shard.index, found.shard.count);
  }
  if (found.made_by != wanted.made_by) return fmt::format("pipesim {}", found.made_by);
  return "";
}

}  // namespace

SweepJournal::SweepJournal(const std::string& path, const formats::SweepHead& head,
                           const models::SweepCases& cases, bool colour)
    : path_(path), colour_(colour) {
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) fail("write", path, errno);
  // A device or a pipe stores nothing, and reading it might never end.
  struct stat about {};
  if (::fstat(file_, &about) != 0 || !S_ISREG(about.st_mode)) {
    throw FileError(models::Code::kFile,
                    fmt::format("cannot keep runs in {}: not a regular file", path));
  }
  // A file system without locks cannot keep another sweep out.
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    models::Diagnostics found;
    found.error({}, models::Code::kFile, "another sweep is writing to this file");
    leave_alone({}, found);
    return;
  }
  read(head, cases);
}

SweepJournal::~SweepJournal() {
  if (file_ >= 0) ::close(file_);
}

bool SweepJournal::leave_alone(std::string_view text, const models::Diagnostics& found) {
  problem_ = viz::diagnostic_text(found, path_, text, colour_);
  problem_ += "  help: name another file with -o, or remove this one\n";
  return false;
}

// Reads the finished runs, and prepares the file for appending. Returns whether the file can be
// used.
bool SweepJournal::read(const formats::SweepHead& head, const models::SweepCases& cases) {
  const std::string text = read_file(path_, std::cin, formats::kMaxSweepBytes);
  const std::string first = formats::sweep_head_line(head);
  std::size_t keep = 0;
  // Writes an unfinished first line again.
  const bool is_new =
      text.size() < first.size() && std::string_view(first).substr(0, text.size()) == text;
  if (!is_new) {
    models::Diagnostics diagnostics;
    const auto found = formats::read_sweep_file(text, diagnostics);
    if (!found) return leave_alone(text, diagnostics);
    const std::string other = difference(head, found->head);
    if (!other.empty()) {
      diagnostics.error({1, 1}, models::Code::kOtherRun,
                        fmt::format("this file has runs of {}", other));
      return leave_alone(text, diagnostics);
    }
    for (const auto& [number, result] : found->cases) {
      if (number >= cases.count || !is_in(head.shard, number)) {
        diagnostics.error({1, 1}, models::Code::kOtherRun,
                          fmt::format("run {} does not belong to this sweep", number));
        return leave_alone(text, diagnostics);
      }
      done_.emplace(number, result);
    }
    keep = found->whole_bytes;
  }
  if (::ftruncate(file_, static_cast<off_t>(keep)) != 0) fail("write", path_, errno);
  if (::lseek(file_, 0, SEEK_END) < 0) fail("write", path_, errno);
  if (is_new) write(first);
  return true;
}

void SweepJournal::write(const std::string& text) {
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t written = ::write(file_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path_, errno);
    left.remove_prefix(static_cast<std::size_t>(written));
  }
}

void SweepJournal::add(std::uint64_t number, const models::CaseResult& result) {
  const std::string line = formats::sweep_case_line(number, result);
  const std::lock_guard<std::mutex> lock(mutex_);
  write(line);
}

}  // namespace pipesim::app
