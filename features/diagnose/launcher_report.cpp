// Reads reports of launchers. torchrun prints this one after all processes of a node have ended:
//     Failures:
//     [1]:
//       time      : 2026-11-26_14:39:21
//       rank      : 0 (local_rank: 0)
//       exitcode  : -15 (pid: 28425)  (SIGTERM)
//     Root Cause (first observed failure):
//     [0]: ...
#include "features/diagnose/launcher_report.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace pipesim::formats {
namespace {

constexpr std::array<std::pair<int, std::string_view>, 10> kSignals = {{{2, "SIGINT"},
                                                                        {4, "SIGILL"},
                                                                        {6, "SIGABRT"},
                                                                        {7, "SIGBUS"},
                                                                        {8, "SIGFPE"},
                                                                        {9, "SIGKILL"},
                                                                        {10, "SIGUSR1"},
                                                                        {11, "SIGSEGV"},
                                                                        {14, "SIGALRM"},
                                                                        {15, "SIGTERM"}}};

// Returns the value in a line "rank      : 2 (local_rank: 2)".
std::string_view value_of(std::string_view text, std::string_view key) {
  if (!text.starts_with(key)) return {};
  const std::string_view rest = trimmed(text.substr(key.size()));
  return rest.starts_with(": ") ? trimmed(rest.substr(2)) : std::string_view();
}

int signal_of(std::string_view name) {
  const auto* known = std::find_if(kSignals.begin(), kSignals.end(),
                                   [&](const auto& it) { return it.second == name; });
  return known == kSignals.end() ? 0 : known->first;
}

}  // namespace

bool ProcessEnd::is_death() const {
  constexpr std::array kDeadly = {4, 7, 8, 9, 11};
  return std::find(kDeadly.begin(), kDeadly.end(), -code) != kDeadly.end();
}

std::string ProcessEnd::text() const {
  const auto* signal = std::find_if(kSignals.begin(), kSignals.end(),
                                    [&](const auto& it) { return it.first == -code; });
  return fmt::format("exit code {}{}{}", code,
                     signal == kSignals.end() ? "" : fmt::format(" ({})", signal->second),
                     when.empty() ? "" : fmt::format(" at {}", when));
}

bool LauncherReport::take_torchrun(std::string_view text, const models::EvidencePlace& place) {
  if (text.starts_with("Root Cause (first observed failure)")) {
    within_ = in_root_ = true;
    return true;
  }
  if (text == "Failures:") {
    within_ = true;
    in_root_ = false;
    return true;
  }
  if (!within_) return false;
  if (const std::string_view time = value_of(text, "time"); !time.empty()) {
    when_ = time.substr(0, 40);
    rank_.reset();
    return true;
  }
  if (const std::string_view rank = value_of(text, "rank"); !rank.empty()) {
    rank_ = number_at<std::uint32_t>(rank);
    if (rank_ && *rank_ >= models::kMaxEvidenceRanks) rank_.reset();
    return rank_.has_value();
  }
  const std::string_view code = value_of(text, "exitcode");
  const auto number = number_at<int>(code);
  if (!number || !rank_) return false;
  ProcessEnd& end = ends_[*rank_];
  // Keeps the entry of the root cause. The reports of other nodes can repeat an entry.
  if (!end.first) end = {in_root_, *number, when_, place};
  return true;
}

// Reads the end of a process: mpirun's "process rank 2 with PID 41 on node n0 exited on signal 9
// (Killed)", or "process 2 terminated with signal SIGKILL" from torch.multiprocessing.spawn.
bool LauncherReport::take_other(std::string_view text, const models::EvidencePlace& place) {
  const auto add = [&](std::optional<std::uint32_t> rank, std::optional<int> signal) {
    if (!rank || !signal || *signal <= 0 || *rank >= models::kMaxEvidenceRanks) return false;
    ends_.try_emplace(*rank, ProcessEnd{!first(), -*signal, {}, place});
    return true;
  };
  if (text.find("mpirun noticed that process rank ") != std::string_view::npos) {
    return add(number_after<std::uint32_t>(text, "process rank "),
               number_after<int>(text, "exited on signal "));
  }
  constexpr std::string_view kTerminated = " terminated with signal ";
  if (text.find("ProcessExitedException: process ") == std::string_view::npos) return false;
  return add(number_after<std::uint32_t>(text, "ProcessExitedException: process "),
             signal_of(word_after(text, kTerminated, " \r")));
}

bool LauncherReport::take(const LogLine& line, const models::EvidencePlace& place) {
  const std::string_view text = trimmed(line.text);
  return take_torchrun(text, place) || take_other(text, place);
}

std::optional<std::uint32_t> LauncherReport::first() const {
  const auto found =
      std::find_if(ends_.begin(), ends_.end(), [](const auto& it) { return it.second.first; });
  return found == ends_.end() ? std::nullopt : std::optional(found->first);
}

std::optional<std::int64_t> time_of_day(std::string_view text) {
  for (std::size_t colon = text.find(':'); colon != std::string_view::npos;
       colon = text.find(':', colon + 1)) {
    if (colon < 2 || text.substr(colon).size() < 6 || text[colon + 3] != ':') continue;
    const auto hours = number_at<std::int64_t>(text.substr(colon - 2, 2));
    const auto minutes = number_at<std::int64_t>(text.substr(colon + 1, 2));
    const auto seconds = number_at<std::int64_t>(text.substr(colon + 4, 2));
    if (hours && minutes && seconds) return (*hours * 60 + *minutes) * 60 + *seconds;
  }
  return std::nullopt;
}

}  // namespace pipesim::formats
