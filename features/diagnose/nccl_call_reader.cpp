// Reads lines of this form, in which NCCL 2.4 to 2.30 log a call:
//
// HOST:PID:TID [DEV] NCCL INFO OP: opCount HEX sendbuff P recvbuff P count N datatype D op O root R
// comm 0xPTR [nranks=N] stream 0xPTR
//
// `opCount` does not number the calls: calls in an NCCL group share one `opCount`, and within one
// node `opCount` may stay 0.
#include "features/diagnose/nccl_call_reader.hpp"

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

// Sorts calls by line, because they were added one communicator after another.
void order_by_line(models::RankEvidence& rank) {
  std::stable_sort(rank.calls.begin(), rank.calls.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.place.file, a.place.line) < std::tuple(b.place.file, b.place.line);
  });
  std::uint64_t record = 0;
  for (models::RecordedCall& call : rank.calls) {
    call.last_record = ++record;
    for (models::RecordedOp& op : call.ops) op.record = record;
  }
}

}  // namespace

// Returns the process of a line "h03:45006:45012 [0] NCCL INFO ...".
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

bool NcclCallReader::take_init(std::string_view text, NcclProcess& process) {
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
  communicator.hash = word_behind(text, " commId ");
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
  if (!is_call) return take_init(text, process);
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

namespace {

bool has_numbers(const NcclGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(), [&](const auto& member) {
    const std::vector<const NcclCall*> calls = group.calls_of(member.first);
    return std::any_of(calls.begin(), calls.end(), [](const auto* it) { return it->op_count > 0; });
  });
}

models::ProcessId process_id(const NcclProcess& process) {
  const std::size_t colon = process.name.rfind(':');
  const bool has_host = colon != std::string::npos;
  return {has_host ? process.name.substr(0, colon) : std::string(),
          process.name.substr(has_host ? colon + 1 : 0), std::to_string(process.device)};
}

}  // namespace

// Returns the ranks of processes in communicators of size `size`, if these ranks are job ranks. All
// such communicators must have the same processes as members and number them in the same way, and
// the numbers must agree with the labels.
std::map<std::string, std::uint32_t> NcclCallReader::ranks_in_largest(std::uint32_t size) const {
  std::map<std::string, std::uint32_t> result;
  std::map<std::string, std::set<std::string>> members;  // process names by hash
  std::set<std::uint32_t> used;
  for (const auto& [name, process] : processes_) {
    for (const auto& [address, it] : process.communicators) {
      if (it.ranks != size || !it.rank) continue;
      members[it.hash].insert(name);
      const auto [known, is_new] = result.emplace(name, *it.rank);
      const bool good = known->second == *it.rank && (!is_new || used.insert(*it.rank).second) &&
                        process.told.value_or(*it.rank) == *it.rank;
      if (!good) return {};
    }
  }
  const bool alike = std::all_of(members.begin(), members.end(), [&](const auto& it) {
    return it.second == members.begin()->second;
  });
  const bool named = members.count("") == 0 || result.size() == size;
  return alike && named && processes_.size() <= size ? result
                                                     : std::map<std::string, std::uint32_t>();
}

// Returns the rank of each process, from a label, from a communicator that spans the job or, if all
// processes are on one host, from the device.
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
  const std::map<std::string, std::uint32_t> in_largest = ranks_in_largest(most);
  constexpr std::uint32_t kMaxDevices = 8;  // a larger job has several hosts
  const bool any_told = std::any_of(processes_.begin(), processes_.end(), [](const auto& it) {
    return it.second.told ||
           std::any_of(it.second.communicators.begin(), it.second.communicators.end(),
                       [](const auto& of) { return of.second.rank.has_value(); });
  });
  const bool by_device = hosts.size() == 1 && devices.size() == processes_.size() &&
                         !devices.empty() && *devices.rbegin() < most && most <= kMaxDevices &&
                         !any_told;
  for (const auto& [name, process] : processes_) {
    std::optional<std::uint32_t> rank = process.told;
    const auto known = in_largest.find(name);
    if (!rank && known != in_largest.end()) rank = known->second;
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
      // Members without a hash certainly share a communicator only if all processes fit into one
      // communicator.
      group.joined = !it.hash.empty() || processes_.size() <= it.ranks;
      group.members[rank->second] = {&process, address};
      if (it.rank) group.job_rank[*it.rank] = rank->second;
      group.from_start = group.from_start && it.from_start;
    }
  }
  std::vector<NcclGroup> result;
  for (auto& [key, group] : by_key) {
    const std::string& hash = std::get<0>(key);
    group.name = hash.empty() ? fmt::format("comm{}", result.size()) : "comm " + hash;
    group.numbered = has_numbers(group);
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
  evidence.files.assign(files.begin(), files.end());
  const std::map<std::string, std::uint32_t> ranks = ranks_of_processes();
  const std::vector<NcclGroup> all_groups = groups();
  std::uint32_t count = 0;
  for (const auto& [name, rank] : ranks) count = std::max(count, rank + 1);
  for (const NcclGroup& group : all_groups) count = std::max(count, group.size);
  evidence.ranks.resize(count);
  for (models::RankEvidence& rank : evidence.ranks) rank.complete = false;
  for (const auto& [name, rank] : ranks) {
    models::ProcessStanding& process = evidence.ranks[rank].process;
    process.id = process_id(processes_.at(name));
    process.name = models::process_name(process.id);
  }
  for (const NcclGroup& group : all_groups) {
    if (group.is_aligned()) {
      add_nccl_calls(group, evidence);
    } else {
      for (const auto& [rank, member] : group.members) evidence.ranks[rank].may_wait = true;
    }
  }
  for (models::RankEvidence& rank : evidence.ranks) order_by_line(rank);
  return evidence;
}

std::vector<models::OutsideText> NcclCallReader::notes() const {
  std::vector<models::OutsideText> notes;
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
          "The calls of {} cannot be put together: {}", group.name,
          group.joined ? "its creation is missing, and opCount is 0"
                       : "several communicators have its size, and their creation is missing"));
    }
  }
  return notes;
}

std::string NcclCallReader::scenario(const models::Diagnosis& diagnosis) const {
  return empty() ? std::string() : nccl_call_scenario(groups(), diagnosis);
}

}  // namespace pipesim::formats
