// Lines differ between versions of PyTorch; what is looked for in them has been the same since 2.0:
//   [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, ...
//   [PG ID 0 PG GUID 0(default_pg) Rank 3] ... last enqueued NCCL work: 9, last completed NCCL
//   work: 6
// and NCCL's (with NCCL_DEBUG=INFO)
//   comm 0x55 rank 3 nranks 8 ... commId 0x5a - Init COMPLETE
//   NET/IB : Got completion from peer 10.0.0.3<5492> with status=12 ...
#include "formats/evidence/nccl_log_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipesim::formats {
namespace {

constexpr std::size_t kMaxLogLine = std::size_t{1} << 16;
constexpr std::size_t kMaxWorksOfRank = 1000;  // more do not time out at once
// Works behind the one that timed out, of which only numbers are known.
constexpr std::int64_t kMaxBehind = 1000;

template <typename Number>
std::optional<Number> number_at(std::string_view text) {
  Number value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() ? std::optional(value) : std::nullopt;
}

// The number behind `key`.
template <typename Number>
std::optional<Number> number_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return number_at<Number>(text.substr(at + key.size()));
}

std::string_view word_after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + key.size());
  return rest.substr(0, std::min(rest.find_first_of(" ,)<"), rest.size()));
}

std::optional<std::uint32_t> rank_of(std::string_view line) {
  for (const std::string_view key : {" Rank ", "[Rank ", "[rank"}) {
    const auto rank = number_after<std::uint32_t>(line, key);
    if (rank && *rank < models::kMostEvidenceRanks) return rank;
  }
  return std::nullopt;
}

// In the names of the Flight Recorder.
std::string op_name(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, const char*>, 13> kNames = {{
      {"ALLREDUCE", "all_reduce"},
      {"ALLREDUCE_COALESCED", "allreduce_coalesced"},
      {"ALLGATHER", "all_gather"},
      {"_ALLGATHER_BASE", "_all_gather_base"},
      {"REDUCE_SCATTER", "reduce_scatter"},
      {"_REDUCE_SCATTER_BASE", "_reduce_scatter_base"},
      {"BROADCAST", "broadcast"},
      {"REDUCE", "reduce"},
      {"GATHER", "gather"},
      {"SCATTER", "scatter"},
      {"ALLTOALL", "all_to_all"},
      {"ALLTOALL_BASE", "all_to_all"},
      {"BARRIER", "barrier"},
  }};
  const auto* known = std::find_if(kNames.begin(), kNames.end(),
                                   [&](const auto& name) { return name.first == type; });
  if (known != kNames.end()) return known->second;
  std::string name = models::printable(type);  // it goes into reports
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

// "[PG ID 0 PG GUID 0(default_pg) Rank 3]", "[PG 1 Rank 3]": name and description.
std::pair<std::string, std::string> group_of(std::string_view line) {
  const std::size_t begin = line.find("[PG ");
  if (begin == std::string_view::npos) return {};
  const std::size_t end = line.find(" Rank ", begin);
  if (end == std::string_view::npos) return {};
  std::string_view text = line.substr(begin + 4, end - begin - 4);
  constexpr std::string_view kGuid = "GUID ";
  const std::size_t guid = text.find(kGuid);
  if (guid != std::string_view::npos) text.remove_prefix(guid + kGuid.size());
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos) return {models::printable(text), {}};
  std::string_view description = text.substr(open + 1);
  description = description.substr(0, description.find(')'));
  return {models::printable(text.substr(0, text.find_last_not_of(' ', open - 1) + 1)),
          models::printable(description)};
}

bool is_message(const std::string& op) { return op == "send" || op == "recv"; }

}  // namespace

// The work of a number; a line that tells the group is of the one that did not.
NcclLogReader::Work& NcclLogReader::work(std::uint32_t rank, std::uint64_t sequence,
                                         const std::string& group) {
  std::vector<Work>& works = works_[rank];
  for (Work& known : works) {
    const bool same = known.sequence == sequence &&
                      (known.group == group || known.group.empty() || group.empty());
    if (!same) continue;
    if (known.group.empty()) known.group = group;
    return known;
  }
  if (works.size() == kMaxWorksOfRank) return ignored_;
  Work& added = works.emplace_back();
  added.sequence = sequence;
  added.group = group;
  return added;
}

bool NcclLogReader::take_watchdog(std::string_view line) {
  const auto rank = rank_of(line);
  if (!rank) return false;
  seen_.insert(*rank);
  const auto [group, description] = group_of(line);
  if (!group.empty() && !description.empty()) descriptions_[group] = description;
  if (line.find("WorkNCCL(") != std::string_view::npos) {
    const auto sequence = number_after<std::uint64_t>(line, "SeqNum=");
    if (!sequence) return false;
    Work& it = work(*rank, *sequence, group);
    it.op = op_name(word_after(line, "OpType="));
    it.in = number_after<std::int64_t>(line, "NumelIn=").value_or(0);
    it.out = number_after<std::int64_t>(line, "NumelOut=").value_or(0);
    return true;
  }
  auto enqueued = number_after<std::int64_t>(line, "last enqueued NCCL work: ");
  if (!enqueued) enqueued = number_after<std::int64_t>(line, "last enqueued work: ");
  auto completed = number_after<std::int64_t>(line, "last completed NCCL work: ");
  if (!completed) completed = number_after<std::int64_t>(line, "last completed work: ");
  if (!enqueued || !completed || *completed < -1 || *enqueued < *completed) return false;
  if (*enqueued == *completed) return true;  // nothing of this group is pending
  auto sequence = number_after<std::uint64_t>(line, "at work: ");
  if (!sequence) sequence = number_after<std::uint64_t>(line, "work sequence id: ");
  Work& it = work(*rank, sequence.value_or(static_cast<std::uint64_t>(*completed + 1)), group);
  it.enqueued = *enqueued;
  it.completed = *completed;
  return true;
}

bool NcclLogReader::take_creation(std::string_view line) {
  const std::size_t comm = line.find(" comm 0x");
  const bool begun = line.find("Init START") != std::string_view::npos;
  const bool done = line.find("Init COMPLETE") != std::string_view::npos;
  if (comm == std::string_view::npos || (!begun && !done)) return false;
  line.remove_prefix(comm);
  const auto rank = number_after<std::uint32_t>(line, " rank ");
  const auto ranks = number_after<std::uint32_t>(line, " nranks ");
  const std::string_view id = word_after(line, " commId ");
  const bool good =
      rank && ranks && !id.empty() && *rank < *ranks && *ranks <= models::kMostEvidenceRanks;
  if (!good) return false;
  Creation& creation = creations_[std::string(id)];
  creation.ranks = std::max(creation.ranks, *ranks);
  creation.begun.insert(*rank);
  if (done) creation.done.insert(*rank);
  return true;
}

bool NcclLogReader::take_link_error(std::string_view line) {
  const std::size_t at = line.find("Got completion from peer ");
  if (at == std::string_view::npos) return false;
  line.remove_prefix(at);
  std::string_view status = word_after(line, "status=");
  if (status.empty()) status = word_after(line, "with error ");
  if (status.empty()) return false;
  ++link_errors_[fmt::format("status {} from peer {}", models::printable(status),
                             models::printable(word_after(line, "from peer ")))];
  return true;
}

bool NcclLogReader::read(const std::string& text, models::Diagnostics& diagnostics) {
  std::uint64_t found = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.size() > kMaxLogLine) continue;
    const bool taken = take_creation(line) || take_link_error(line) || take_watchdog(line);
    found += taken ? 1U : 0U;
  }
  if (found > 0) return true;
  diagnostics.error({}, "no line of this file is from NCCL or PyTorch's watchdog")
      .notes.emplace_back(
          "timeouts are lines with 'WorkNCCL(SeqNum=...)' and 'last enqueued NCCL work: ...'");
  return false;
}

// Returns the number of each group by its name.
std::map<std::string, std::uint32_t> NcclLogReader::add_groups(models::Evidence& evidence) const {
  std::map<std::string, std::set<std::uint32_t>> members;
  for (const auto& [rank, works] : works_) {
    for (const Work& work : works) members[work.group].insert(rank);
  }
  std::map<std::string, std::uint32_t> number;
  for (auto& [name, ranks] : members) {
    const auto described = descriptions_.find(name);
    const std::string description = described == descriptions_.end() ? "" : described->second;
    const bool is_default = name == "0" || description == "default_pg";
    if (is_default) ranks.insert(seen_.begin(), seen_.end());
    number.emplace(name, static_cast<std::uint32_t>(evidence.groups.size()));
    evidence.groups.push_back(
        {name.empty() ? "group not told" : name, description, {ranks.begin(), ranks.end()}});
  }
  return number;
}

// A work that timed out, and what was called behind it, of which only the number is known.
void NcclLogReader::add_calls(const Work& work, std::uint32_t group,
                              std::vector<models::RecordedCall>& calls) {
  models::RecordedCall call;
  call.group = group;
  call.sequence = work.sequence;
  call.messages = is_message(work.op);  // to or from whom is not told
  if (!call.messages && !work.op.empty()) {
    models::RecordedOp& op = call.ops.emplace_back();
    op.name = work.op;
    const bool alike = op.name == "all_reduce" || op.name == "broadcast";
    if (alike) op.input_sizes = {{work.in}};
    if (alike) op.output_sizes = {{work.out}};
  }
  calls.push_back(call);
  call.ops.clear();
  const std::int64_t enqueued = work.enqueued;
  for (std::int64_t behind = 1; behind <= kMaxBehind; ++behind) {
    call.sequence = work.sequence + static_cast<std::uint64_t>(behind);
    if (enqueued < 0 || call.sequence > static_cast<std::uint64_t>(enqueued)) return;
    calls.push_back(call);
  }
}

models::Evidence NcclLogReader::evidence() const {
  models::Evidence evidence;
  evidence.format = "NCCL log";
  const std::map<std::string, std::uint32_t> number = add_groups(evidence);
  evidence.ranks.resize(seen_.empty() ? 0 : *seen_.rbegin() + 1);
  for (const std::uint32_t rank : seen_) evidence.ranks[rank].has_dump = true;
  for (const auto& [rank, works] : works_) {
    models::RankEvidence& of = evidence.ranks[rank];
    std::vector<models::RecordedCall> calls;
    for (const Work& work : works) {
      const std::uint32_t group = number.at(work.group);
      add_calls(work, group, calls);
      if (work.enqueued >= 0) of.progress.push_back({group, work.enqueued, -1, work.completed});
    }
    std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.group, a.sequence, a.ops.empty()) <
             std::tuple(b.group, b.sequence, b.ops.empty());
    });
    // Of one that timed out and also stands behind another, what is told comes first.
    calls.erase(std::unique(calls.begin(), calls.end(),
                            [](const auto& a, const auto& b) {
                              return a.group == b.group && a.sequence == b.sequence;
                            }),
                calls.end());
    for (models::RecordedCall& call : calls) {
      call.last_record = of.calls.size();
      for (models::RecordedOp& op : call.ops) op.record = call.last_record;
      of.calls.push_back(std::move(call));
    }
    std::stable_sort(of.progress.begin(), of.progress.end(),
                     [](const auto& a, const auto& b) { return a.group < b.group; });
  }
  return evidence;
}

std::vector<std::string> NcclLogReader::notes() const {
  std::vector<std::string> notes;
  for (const auto& [id, creation] : creations_) {
    if (creation.done.size() == creation.ranks) continue;
    std::vector<std::uint32_t> missing;
    for (std::uint32_t rank = 0; rank < creation.ranks; ++rank) {
      if (creation.begun.count(rank) == 0) missing.push_back(rank);
    }
    constexpr std::size_t kMaxTold = 16;
    const std::size_t left = missing.size() > kMaxTold ? missing.size() - kMaxTold : 0;
    missing.resize(missing.size() - left);
    notes.push_back(fmt::format(
        "Communicator {}: {} of its {} ranks began to create it, {} did{}{}{}",
        models::printable(id), creation.begun.size(), creation.ranks, creation.done.size(),
        missing.empty() ? "" : "; not begun, numbered in it: ", fmt::join(missing, ", "),
        left > 0 ? fmt::format(" and {} more", left) : ""));
  }
  for (const auto& [what, count] : link_errors_) {
    const bool no_answer =
        what.rfind("status 12 ", 0) == 0 || what.find("(12") != std::string::npos;
    notes.push_back(fmt::format("NET/IB ended in an error {} time{}: {}{}", count,
                                count == 1 ? "" : "s", what,
                                no_answer ? " (no answer, after all retries)" : ""));
  }
  return notes;
}

}  // namespace pipesim::formats
