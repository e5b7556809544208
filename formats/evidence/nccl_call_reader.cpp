// HOST:PID:TID [DEV] NCCL INFO OP: opCount HEX sendbuff P recvbuff P count N datatype D op O root R
// comm 0xPTR [nranks=N] stream 0xPTR
// One form from NCCL 2.4 to 2.30. `opCount` is no number of calls: calls of a group share one, and
// on one node it may stay 0.
#include "formats/evidence/nccl_call_reader.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {
namespace {

std::string_view word_behind(std::string_view text, std::string_view key) {
  return word_after(text, key, " ]\r");
}

std::optional<std::uint64_t> number_behind(std::string_view text, std::string_view key,
                                           int base = 10) {
  return number_after<std::uint64_t>(text, key, base);
}

}  // namespace

// "h03:45006:45012 [0] NCCL INFO ...".
NcclProcess& NcclCallReader::process_of(std::string_view text) {
  const std::size_t info = text.find(" NCCL INFO ");
  std::string_view head = text.substr(0, info);
  std::uint32_t device = 0;
  const std::size_t open = head.rfind('[');
  if (open != std::string_view::npos) {
    device = static_cast<std::uint32_t>(number_behind(head.substr(open), "[").value_or(0));
    head = head.substr(0, open);
  }
  while (!head.empty() && head.back() == ' ') head.remove_suffix(1);
  const std::size_t blank = head.rfind(' ');
  if (blank != std::string_view::npos) head.remove_prefix(blank + 1);
  const std::size_t thread = head.rfind(':');
  const std::string name =
      models::printable(head.substr(0, thread == std::string_view::npos ? head.size() : thread));
  NcclProcess& process = processes_[name];
  process.name = name;
  process.device = device;
  return process;
}

bool NcclCallReader::take_creation(std::string_view text, NcclProcess& process) {
  if (text.find("Init COMPLETE") == std::string_view::npos) return false;
  const std::string address(word_behind(text, " comm "));
  const auto rank = number_behind(text, " rank ");
  const auto ranks = number_behind(text, " nranks ");
  const bool good =
      !address.empty() && rank && ranks && *rank < *ranks && *ranks <= models::kMaxEvidenceRanks;
  if (!good) return false;
  NcclCommunicator communicator;
  communicator.rank = static_cast<std::uint32_t>(*rank);
  communicator.ranks = static_cast<std::uint32_t>(*ranks);
  communicator.hash = models::printable(word_behind(text, " commId "));
  communicator.from_start = true;
  for (const auto& [other, it] : process.communicators) {
    communicator.order += it.ranks == communicator.ranks ? 1U : 0U;
  }
  process.communicators.insert_or_assign(address, std::move(communicator));
  return true;
}

bool NcclCallReader::take(const LogLine& line, std::uint32_t file) {
  constexpr std::string_view kInfo = " NCCL INFO ";
  const std::string_view text = line.text;
  const std::size_t info = text.find(kInfo);
  if (info == std::string_view::npos) return false;
  const std::string_view what = text.substr(info + kInfo.size());
  const bool is_call = what.find(": opCount ") != std::string_view::npos;
  if (!is_call && what.find("Init COMPLETE") == std::string_view::npos) return false;
  NcclProcess& process = process_of(text);
  if (line.rank) process.told = line.rank;
  if (!is_call) return take_creation(text, process);
  const std::string_view name = what.substr(0, what.find(':'));
  const auto count = number_behind(what, " count ");
  const std::string address(word_behind(what, " comm "));
  const auto operation = models::nccl_operation(name);
  if (!operation || !count || address.empty() || calls_ == kMaxNcclCalls) return false;
  NcclCall call;
  call.operation = *operation;
  call.count = *count;
  call.type = static_cast<std::uint32_t>(number_behind(what, " datatype ").value_or(0));
  call.root = static_cast<std::uint32_t>(number_behind(what, " root ").value_or(0));
  call.op_count = number_behind(what, "opCount ", 16).value_or(0);
  call.communicator = address;
  call.stream = std::string(word_behind(what, " stream "));
  call.place = {file, line.number};
  const auto [known, is_new] = process.communicators.try_emplace(address);
  const auto ranks = number_behind(what, "[nranks=");
  if (ranks && *ranks <= models::kMaxEvidenceRanks && known->second.ranks == 0) {
    known->second.ranks = static_cast<std::uint32_t>(*ranks);
    for (const auto& [other, it] : process.communicators) {
      known->second.order += other != address && it.ranks == *ranks ? 1U : 0U;
    }
  }
  process.calls.push_back(std::move(call));
  ++calls_;
  return true;
}

// By a label, else by the process's largest communicator, else by the device, on one host.
std::map<std::string, std::uint32_t> NcclCallReader::ranks_of_processes() const {
  std::map<std::string, std::uint32_t> result;
  std::set<std::uint32_t> used;
  std::set<std::string> hosts;
  std::set<std::uint32_t> devices;
  std::uint32_t most = 0;
  for (const auto& [name, process] : processes_) {
    hosts.insert(name.substr(0, name.rfind(':')));
    devices.insert(process.device);
    for (const auto& [address, it] : process.communicators) most = std::max(most, it.ranks);
  }
  const bool by_device = hosts.size() == 1 && devices.size() == processes_.size() &&
                         !devices.empty() && *devices.rbegin() < most;
  for (const auto& [name, process] : processes_) {
    std::optional<std::uint32_t> rank = process.told;
    for (const auto& [address, it] : process.communicators) {
      if (!rank && it.ranks == most) rank = it.rank;
    }
    if (!rank && by_device) rank = process.device;
    if (rank && *rank < models::kMaxEvidenceRanks && used.insert(*rank).second) {
      result.emplace(name, *rank);
    }
  }
  return result;
}

std::vector<NcclGroup> NcclCallReader::groups() const {
  const std::map<std::string, std::uint32_t> ranks = ranks_of_processes();
  using Key = std::tuple<std::string, std::uint32_t, std::uint32_t>;  // hash, size, order
  std::map<Key, NcclGroup> by_key;
  for (const auto& [name, process] : processes_) {
    const auto rank = ranks.find(name);
    if (rank == ranks.end()) continue;
    for (const auto& [address, it] : process.communicators) {
      const Key key = it.hash.empty() ? Key("", it.ranks, it.order) : Key(it.hash, it.ranks, 0);
      NcclGroup& group = by_key[key];
      group.size = it.ranks;
      group.members[rank->second] = {&process, address};
      if (it.rank) group.job_rank[*it.rank] = rank->second;
      group.from_start = group.from_start && it.from_start;
    }
  }
  std::vector<NcclGroup> result;
  for (auto& [key, group] : by_key) {
    const std::string& hash = std::get<0>(key);
    group.name = hash.empty() ? fmt::format("comm{}", result.size()) : "comm " + hash;
    for (const auto& [rank, member] : group.members) {
      for (const NcclCall* call : group.calls_of(rank)) {
        group.numbered = group.numbered || call->op_count > 0;
      }
    }
    const bool whole = group.size > 0 && group.members.size() == group.size;
    for (std::uint32_t rank = 0; whole && group.job_rank.empty() && rank < group.size; ++rank) {
      group.job_rank[rank] = std::next(group.members.begin(), rank)->first;
    }
    result.push_back(std::move(group));
  }
  return result;
}

models::Evidence NcclCallReader::evidence(const std::vector<std::string>& files) const {
  models::Evidence evidence;
  evidence.format = "NCCL calls";
  evidence.files = files;
  const std::map<std::string, std::uint32_t> ranks = ranks_of_processes();
  const std::vector<NcclGroup> all_groups = groups();
  std::uint32_t count = 0;
  for (const auto& [name, rank] : ranks) count = std::max(count, rank + 1);
  for (const NcclGroup& group : all_groups) count = std::max(count, group.size);
  evidence.ranks.resize(count);
  for (models::RankEvidence& rank : evidence.ranks) rank.complete = false;
  for (const auto& [name, rank] : ranks) {
    const std::size_t colon = name.rfind(':');
    evidence.ranks[rank].process.name = fmt::format(
        "process {} on {}, GPU {}", colon == std::string::npos ? name : name.substr(colon + 1),
        name.substr(0, colon), processes_.at(name).device);
  }
  for (const NcclGroup& group : all_groups) {
    if (group.is_aligned()) add_nccl_calls(group, evidence);
  }
  return evidence;
}

std::vector<std::string> NcclCallReader::notes() const {
  std::vector<std::string> notes;
  if (empty()) return notes;
  const std::map<std::string, std::uint32_t> ranks = ranks_of_processes();
  std::vector<std::string> unplaced;
  bool by_device = false;
  for (const auto& [name, process] : processes_) {
    const bool told =
        process.told || std::any_of(process.communicators.begin(), process.communicators.end(),
                                    [](const auto& it) { return it.second.rank.has_value(); });
    if (ranks.count(name) == 0) unplaced.push_back(name);
    by_device = by_device || (!told && ranks.count(name) > 0);
  }
  if (by_device) {
    notes.emplace_back("The calls do not tell ranks: the devices of the one host stand for them");
  }
  if (!unplaced.empty()) {
    notes.push_back(fmt::format("{} of {} processes do not tell their rank, as {}: not used",
                                unplaced.size(), processes_.size(), unplaced.front()));
  }
  for (const NcclGroup& group : groups()) {
    if (group.members.size() < group.size) {
      notes.push_back(fmt::format("Of {} there are calls of {} of its {} ranks", group.name,
                                  group.members.size(), group.size));
    }
    if (!group.is_aligned()) {
      notes.push_back(fmt::format(
          "The calls of {} cannot be put together: its creation is missing, and opCount is 0",
          group.name));
    }
  }
  return notes;
}

std::string NcclCallReader::scenario(const models::Diagnosis& diagnosis) const {
  return empty() ? std::string() : nccl_call_scenario(groups(), diagnosis);
}

}  // namespace pipesim::formats
