#include "features/diagnose/ras_job.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace pipesim::formats {
namespace {

using models::ProcessId;

bool is_address(std::string_view host) {
  return host.find(':') != std::string_view::npos ||
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

enum class SameHost : std::uint8_t { kNo, kYes, kNotKnown };

// Compares two hosts. A name and an address can belong to one host.
SameHost same_host(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty() || is_address(a) != is_address(b)) return SameHost::kNotKnown;
  const bool same = is_address(a) ? a == b : short_name(a) == short_name(b);
  return same ? SameHost::kYes : SameHost::kNo;
}

bool gpus_differ(const ProcessId& a, const ProcessId& b) {
  return !a.gpu.empty() && !b.gpu.empty() && a.gpu != b.gpu;
}

}  // namespace

RasJob::RasJob(const std::vector<RasReport>& reports, const models::KnownJob& known)
    : known_(known), ranks_(known.ranks) {
  for (const RasReport& report : reports) collect(report);
  // If communicators that span the job number its processes differently, or if one of them
  // contradicts other known facts, no communicator gives job ranks.
  bool consistent = true;
  std::uint32_t most = 0;
  for (const RasReport& report : reports) {
    for (const auto& [hash, communicator] : report.communicators) {
      if (!spans(report, communicator)) continue;
      spanning_.insert(hash);
      most = std::max(most, communicator.size);
      for (const auto& [rank, member] : communicator.members) {
        if (member.process.pid.empty() || rank >= communicator.size) continue;
        const std::uint32_t first = rank_of_.emplace(&member.process, rank).first->second;
        consistent =
            consistent && first == rank && known_rank(member.process).value_or(rank) == rank;
      }
    }
  }
  if (!consistent) {
    spanning_.clear();
    rank_of_.clear();
    most = 0;
  }
  ranks_ = std::max(ranks_, most);
}

void RasJob::collect(const RasReport& report) {
  for (const auto& [hash, communicator] : report.communicators) {
    std::uint32_t told = 0;
    for (const auto& [rank, member] : communicator.members) {
      if (member.process.pid.empty()) continue;
      processes_.insert(&member.process);
      ++told;
    }
    all_listed_ = all_listed_ && told == communicator.size;
  }
}

bool RasJob::spans(const RasReport& report, const RasCommunicator& communicator) const {
  const bool whole = report.gpus > 0 && communicator.size >= report.gpus;
  return whole && communicator.size >= known_.ranks;
}

// Whether RAS has only one process with this pid.
bool RasJob::is_only(const ProcessId& process) const {
  const auto same_pid = [&](const ProcessId* it) { return it->pid == process.pid; };
  return all_listed_ && std::count_if(processes_.begin(), processes_.end(), same_pid) == 1;
}

// Returns the known rank of a process. If the hosts cannot be compared, the pid alone decides, and
// only if no other process has it.
std::optional<std::uint32_t> RasJob::known_rank(const ProcessId& process) const {
  std::set<std::uint32_t> sure;
  std::set<std::uint32_t> likely;
  for (const auto& [it, rank] : known_.processes) {
    if (it.pid != process.pid || gpus_differ(it, process)) continue;
    const SameHost same = same_host(it.host, process.host);
    if (same == SameHost::kYes) sure.insert(rank);
    if (same == SameHost::kNotKnown) likely.insert(rank);
  }
  if (sure.size() == 1) return *sure.begin();
  const bool good = sure.empty() && likely.size() == 1 && is_only(process);
  return good ? std::optional(*likely.begin()) : std::nullopt;
}

std::optional<std::uint32_t> RasJob::rank_of(const ProcessId& process) const {
  if (process.pid.empty()) return std::nullopt;
  if (const auto known = known_rank(process)) return known;
  const auto found = rank_of_.find(&process);
  return found == rank_of_.end() ? std::nullopt : std::optional(found->second);
}

std::uint32_t RasJob::number_of(const RasCommunicator& communicator, const RasMember& member) {
  const auto rank = rank_of(member.process);
  if (rank && *rank < ranks_) return *rank;
  if (spanning_.count(communicator.hash) > 0 && member.rank < ranks_) return member.rank;
  const std::string process = models::process_name(member.process);
  const std::string key =
      process.empty() ? fmt::format("{}#{}", communicator.hash, member.rank) : process;
  const auto [known, is_new] = number_of_name_.emplace(key, size());
  if (is_new) {
    names_.push_back(fmt::format("rank {} of communicator {}{}", member.rank, communicator.hash,
                                 process.empty() ? "" : " (" + process + ")"));
  }
  return known->second;
}

}  // namespace pipesim::formats
