#include "features/diagnose/hang_reports.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/graph/diagnostics.hpp"

namespace pipesim::formats {
namespace {

constexpr std::size_t kMaxTraceErrors = 300;  // maximum size of torchfrtrace's text about one call
constexpr std::size_t kMaxDifferences = 10'000;
constexpr std::string_view kFingerprint = "CollectiveFingerPrint(";

// Reads the ranks "[0, 1, 2]" at the beginning of `text`.
std::vector<std::uint32_t> rank_list(std::string_view text) {
  std::vector<std::uint32_t> ranks;
  if (!text.starts_with('[')) return ranks;
  for (text.remove_prefix(1);;) {
    const auto rank = number_at<std::uint32_t>(unindented(text));
    if (!rank || *rank >= models::kMaxEvidenceRanks) return {};
    ranks.push_back(*rank);
    const std::size_t next = text.find_first_of(",]");
    if (next == std::string_view::npos) return {};
    if (text[next] == ']') return ranks;
    text.remove_prefix(next + 1);
  }
}

// Reads the first set of ranks "{0, 1, 2}" in `text`.
std::set<std::uint32_t> rank_set(std::string_view text) {
  const std::size_t begin = text.find('{');
  const std::size_t end = text.find('}', begin == std::string_view::npos ? 0 : begin);
  if (begin == std::string_view::npos || end == std::string_view::npos) return {};
  const std::string list = fmt::format("[{}]", text.substr(begin + 1, end - begin - 1));
  const std::vector<std::uint32_t> ranks = rank_list(list);
  return {ranks.begin(), ranks.end()};
}

// Reads the numbers in "[10, 20]".
std::vector<std::int64_t> shape_of(std::string_view text) {
  std::vector<std::int64_t> sizes;
  while (!text.empty()) {
    const std::size_t digit = text.find_first_of("0123456789");
    if (digit == std::string_view::npos) break;
    text.remove_prefix(digit);
    if (const auto size = number_at<std::int64_t>(text)) sizes.push_back(*size);
    text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
  }
  return sizes;
}

}  // namespace

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
  std::string name = models::printable(type);  // printable, because reports print the name
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

// Compares the two rank numbers in a heading: "[rank4]:[E ...] Rank 0".
void HangReports::check_heading(const LogLine& line, std::string_view text) {
  constexpr std::string_view kHeading = "] Rank ";
  const std::size_t at = text.rfind(kHeading);
  if (at == std::string_view::npos) return;
  const std::string_view number = text.substr(at + kHeading.size());
  const bool is_heading = number.find_first_not_of("0123456789 \r") == std::string_view::npos;
  if (is_heading) check_numbers(line, number_at<std::uint32_t>(number));
}

// Reads a line of a desync report: its first line, the heading of a list of ranks, or a line of
// such a list.
bool HangReports::take_desync(const LogLine& line, const models::EvidencePlace& place) {
  const std::string_view text = unindented(line.text);
  check_heading(line, text);
  if (text.starts_with("- Snapshot of ranks' latest states")) return true;
  if (text.starts_with('#')) {
    const auto number = number_at<std::int64_t>(text.substr(1));
    const bool finished = text.find(" finished ranks:") != std::string_view::npos;
    const bool started = text.find(" started ranks:") != std::string_view::npos;
    if (!number || (!finished && !started)) return false;
    desync_.number = *number;
    desync_.started_list = started;
    return true;
  }
  if (!text.starts_with('[') || text.starts_with("[rank")) return false;
  const std::vector<std::uint32_t> ranks = rank_list(text);
  if (ranks.empty()) return false;
  const std::string_view what = unindented(text.substr(text.find(']') + 1));
  if (desync_.number >= 0 && what.starts_with(desync_.started_list ? "started " : "finished ")) {
    const std::string op =
        op_name(word_after(what, desync_.started_list ? "started " : "finished ", kValueEnds));
    for (const std::uint32_t rank : ranks) {
      if (desync_.started_list) {
        desync_.started[rank] = {desync_.number, op};
      } else {
        desync_.finished[rank] = desync_.number;
      }
    }
    desync_.place = place;
    return true;
  }
  const auto done = number_after<std::int64_t>(what, "finished collective #");
  if (!done || !what.starts_with("finished collective #")) return false;
  for (const std::uint32_t rank : ranks) desync_.finished[rank] = *done;
  desync_.place = place;
  return true;
}

bool HangReports::take_barrier(const LogLine& line, const models::EvidencePlace& place) {
  constexpr std::string_view kReached = " successfully reached monitoredBarrier";
  const std::size_t reached = line.text.find(kReached);
  if (reached != std::string::npos) {
    const std::size_t rank_at = line.text.rfind("Rank ", reached);
    const auto rank = rank_at == std::string::npos
                          ? std::nullopt
                          : number_at<std::uint32_t>(line.text.substr(rank_at + 5));
    check_numbers(line, rank);
    if (rank && *rank < models::kMaxEvidenceRanks) barrier_waits_.emplace(*rank, place);
    return true;
  }
  constexpr std::string_view kFailed = " failed to pass monitoredBarrier";
  const std::size_t at = line.text.find(kFailed);
  if (at == std::string::npos) return false;
  std::string_view who = std::string_view(line.text).substr(0, at);
  const std::size_t ranks = who.rfind("Rank");
  if (ranks == std::string_view::npos) return false;
  const auto waits = number_after<std::uint32_t>(who, "[Rank ");
  check_numbers(line, waits);
  who.remove_prefix(ranks + 4);
  if (who.starts_with('s')) who.remove_prefix(1);
  bool any = false;
  while (const auto rank = number_at<std::uint32_t>(unindented(who))) {
    if (*rank >= models::kMaxEvidenceRanks) break;
    barrier_missing_.emplace(*rank, place);
    any = true;
    const std::size_t comma = who.find(',');
    if (comma == std::string_view::npos) break;
    who.remove_prefix(comma + 1);
  }
  if (any) barrier_waits_.emplace(waits && *waits < models::kMaxEvidenceRanks ? *waits : 0, place);
  return any;
}

// Reads "Not all ranks joining collective, sequence number: 4" and the lines of its block.
bool HangReports::take_fr_trace(const LogLine& line, const models::EvidencePlace& place) {
  const std::string_view text = unindented(line.text);
  const auto behind = [&](std::string_view key) -> std::string_view {
    return text.starts_with(key) ? text.substr(key.size()) : std::string_view();
  };
  const auto sequence =
      number_at<std::uint64_t>(behind("Not all ranks joining collective, sequence number: "));
  const auto faulty = number_at<std::uint64_t>(behind("Collective sequence number: "));
  if (faulty && text.find("has errors") != std::string_view::npos) {
    trace_errors_.emplace_back().sequence = *faulty;
    in_errors_ = true;
    return true;
  }
  if (sequence) {
    in_errors_ = false;
    traces_.emplace_back().sequence = *sequence;
    traces_.back().place = place;
    return true;
  }
  std::vector<FrTrace>& all = in_errors_ ? trace_errors_ : traces_;
  if (all.empty()) return false;
  FrTrace& trace = all.back();
  if (const auto errors = behind("error msg: "); !errors.empty()) {
    trace.errors = errors.substr(0, kMaxTraceErrors);
    return true;
  }
  if (const auto group = behind("group info: "); !group.empty()) {
    trace.group = group.substr(0, group.rfind(':'));
    return true;
  }
  if (const auto op = behind("collective: "); !op.empty()) {
    trace.op = op.substr(op.find(':') + 1);
    return true;
  }
  for (const bool missing : {true, false}) {
    std::string list(behind(missing ? "missing ranks: " : "expected ranks: "));
    if (list.empty() || list.front() != '{') continue;
    std::replace(list.begin(), list.end(), '{', '[');
    std::replace(list.begin(), list.end(), '}', ']');
    for (const std::uint32_t rank : rank_list(list)) {
      (missing ? trace.missing : trace.expected).insert(rank);
    }
    return true;
  }
  return false;
}

// Takes a row of the table "--- Collectives ---" in a file of torch.distributed's debug server:
//    2  0  False  4  0  7  0:default_pg  nccl:all_reduce  [[64]]  [[64]]  {0, 1}  ...  {1}
bool HangReports::take_fr_table(std::string_view text, const models::EvidencePlace& place) {
  if (text.starts_with("--- ")) {
    in_fr_table_ = text.starts_with("--- Collectives ---");
    return in_fr_table_;
  }
  if (!in_fr_table_) return false;
  constexpr std::size_t kWords = 8;  // up to the name of the collective
  std::array<std::string_view, kWords> words;
  std::string_view rest = text;
  for (std::string_view& word : words) {
    rest = unindented(rest);
    word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size());
  }
  const auto sequence = number_at<std::uint64_t>(words[3]);
  const bool is_row = (words[2] == "True" || words[2] == "False") && sequence;
  if (!is_row) return false;
  FrTrace trace;
  trace.sequence = *sequence;
  trace.group = words[6].substr(0, words[6].rfind(':'));
  trace.op = words[7].substr(words[7].find(':') + 1);
  trace.place = place;
  trace.expected = rank_set(rest);
  if (trace.expected.empty()) return true;
  rest.remove_prefix(rest.find('}') + 1);
  // Frames, if any, are between the expected and the missing ranks.
  const std::size_t frames = rest.find("[{'");
  const std::size_t end = rest.find("}]", std::min(frames, rest.size()));
  if (frames < rest.find("Collective(") && end != std::string_view::npos) {
    rest.remove_prefix(end + 2);
  }
  const std::size_t differs = rest.find("Collective(");
  if (differs != std::string_view::npos) {
    const auto rank = number_at<std::uint32_t>(word_after(rest, "{", ":"));
    const std::string_view name = word_after(rest, "collective_name='", "'");
    trace.errors = fmt::format("rank {} called {}", rank.value_or(0), name);
    if (rank && words[2] == "False") trace_errors_.push_back(std::move(trace));
    return true;
  }
  trace.missing = rank_set(rest);
  if (!trace.missing.empty()) traces_.push_back(std::move(trace));
  return true;
}

// Reads "Rank 3 is running collective: CollectiveFingerPrint(SequenceNumber=5, OpType=BROADCAST,
// TensorShape=[10, 20], TensorDtypes=Float, ...". The text begins at the rank.
std::optional<HangReports::Fingerprint> HangReports::fingerprint(std::string_view text) {
  const auto local = number_at<std::uint32_t>(text);
  const std::size_t at = text.find(kFingerprint);
  if (!local || *local >= models::kMaxEvidenceRanks || at == std::string_view::npos) {
    return std::nullopt;
  }
  text.remove_prefix(at);
  // The text may contain a second fingerprint.
  text = text.substr(0, text.find(kFingerprint, 1));
  const std::string_view type = word_after(text, "OpType=", kValueEnds);
  if (type.empty()) return std::nullopt;
  Fingerprint result;
  result.local = *local;
  result.has_tensors = text.find("TensorShape=[") != std::string_view::npos;
  result.sequence = number_after<std::uint64_t>(text, "SequenceNumber=").value_or(1);
  result.op = op_name(type);
  const std::string_view shape = word_after(text, "TensorShape=[", "]");
  if (!shape.empty())
    result.shape = models::printable("[" + std::string(shape.substr(0, 100)) + "]");
  result.types = word_after(text, "TensorDtypes=", kValueEnds);
  return result;
}

// Reads "Detected mismatch between collectives on ranks. Rank 0 is running collective: ..., but
// Rank 1 is running collective: ...".
bool HangReports::take_fingerprint(const LogLine& line, const models::EvidencePlace& place) {
  constexpr std::string_view kBegin = "Detected mismatch between collectives on ranks. Rank ";
  constexpr std::string_view kBut = "but Rank ";
  const std::string_view text = line.text;
  const std::size_t at = text.find(kBegin);
  if (at == std::string_view::npos || differences_.size() == kMaxDifferences) return false;
  const std::string_view behind = text.substr(at + kBegin.size());
  const std::size_t but = behind.find(kBut);
  auto own = fingerprint(behind.substr(0, but));
  if (!own) return false;
  Difference difference{line.rank, std::move(*own), std::nullopt, false, place};
  if (but != std::string_view::npos) {
    difference.other = fingerprint(behind.substr(but + kBut.size()));
    // PyTorch garbles the call of the peer if either call has no tensors.
    difference.trusts_other =
        difference.other && difference.own.has_tensors && difference.other->has_tensors;
  }
  differences_.push_back(std::move(difference));
  return true;
}

bool HangReports::take(const LogLine& line, const models::EvidencePlace& place) {
  return take_fingerprint(line, place) || take_desync(line, place) || take_barrier(line, place) ||
         take_fr_trace(line, place) || take_fr_table(line.text, place);
}

// Returns the rank that logged this fingerprint as its own. If no line has a job rank, the job is
// assumed to have one group.
std::optional<std::uint32_t> HangReports::rank_of(const Fingerprint& fingerprint) const {
  const bool none_told = std::none_of(differences_.begin(), differences_.end(),
                                      [](const Difference& it) { return it.rank.has_value(); });
  if (none_told) return fingerprint.local;
  std::set<std::uint32_t> ranks;
  for (const Difference& it : differences_) {
    if (it.rank && it.own == fingerprint) ranks.insert(*it.rank);
  }
  return ranks.size() == 1 ? std::optional(*ranks.begin()) : std::nullopt;
}

// Returns the job rank of the peer that a report names. The peer's own report names the writer of
// this report.
std::optional<std::uint32_t> HangReports::peer_of(const Difference& difference) const {
  if (!difference.other) return std::nullopt;
  if (const auto rank = rank_of(*difference.other); rank && difference.trusts_other) return rank;
  std::set<std::uint32_t> ranks;
  for (const Difference& it : differences_) {
    const bool is_peer = it.own.local == difference.other->local && it.other &&
                         it.other->local == difference.own.local;
    if (is_peer) ranks.insert(it.rank.value_or(it.own.local));
  }
  return ranks.size() == 1 ? std::optional(*ranks.begin()) : std::nullopt;
}

std::uint32_t HangReports::ranks() const {
  std::uint32_t count = 0;
  const auto grow = [&](std::uint32_t rank) { count = std::max(count, rank + 1); };
  if (!numbered_by_) {
    for (const auto& [rank, number] : desync_.finished) grow(rank);
    for (const auto& [rank, number] : desync_.started) grow(rank);
    for (const auto& [rank, place] : barrier_missing_) grow(rank);
    for (const auto& [rank, place] : barrier_waits_) grow(rank);
  }
  for (const FrTrace& trace : traces_) {
    for (const std::uint32_t rank : trace.missing) grow(rank);
    for (const std::uint32_t rank : trace.expected) grow(rank);
  }
  for (const Difference& it : differences_) {
    if (const auto rank = it.rank ? it.rank : rank_of(it.own)) grow(*rank);
    if (const auto rank = peer_of(it)) grow(*rank);
  }
  return count;
}

void HangReports::add_to(models::Evidence& evidence) const {
  if (numbered_by_) {
    add_unplaced(evidence);
  } else {
    add_desync(evidence);
    add_barrier(evidence);
  }
  add_fr_traces(evidence);
  add_fingerprints(evidence);
}

// Compares the job rank in `[rank4]:` with the report's own number, a rank of its group.
void HangReports::check_numbers(const LogLine& line, std::optional<std::uint32_t> local) {
  if (line.rank && local && *line.rank != *local) numbered_by_ = line.rank;
}

// Adds the lagging ranks as processes of unknown rank.
void HangReports::add_unplaced(models::Evidence& evidence) const {
  const auto add = [&](std::uint32_t rank, const models::EvidencePlace& place) {
    evidence.unplaced.push_back({models::ProcessState::kBehind,
                                 fmt::format("rank {} of a group of rank {}", rank, *numbered_by_),
                                 "its rank in the job is unknown",
                                 place,
                                 {}});
  };
  for (const auto& [rank, place] : barrier_missing_) add(rank, place);
  std::int64_t most = -1;
  for (const auto& [rank, state] : desync_.started) most = std::max(most, state.first);
  for (const auto& [rank, done] : desync_.finished) {
    const bool behind = done < most && desync_.started.count(rank) == 0;
    if (behind) add(rank, desync_.place);
  }
}

void HangReports::add_desync(models::Evidence& evidence) const {
  if (desync_.finished.empty() && desync_.started.empty()) return;
  models::EvidenceGroup group;
  group.name = "desync report";
  group.all_members = false;
  const auto number = static_cast<std::uint32_t>(evidence.groups.size());
  std::set<std::uint32_t> members;
  for (const auto& [rank, done] : desync_.finished) {
    members.insert(rank);
    evidence.ranks[rank].progress.push_back({number, done, -1, done, false, desync_.place});
  }
  for (const auto& [rank, state] : desync_.started) {
    members.insert(rank);
    const auto& [sequence, op] = state;
    if (desync_.finished.count(rank) == 0) {
      evidence.ranks[rank].progress.push_back(
          {number, sequence, sequence, models::kUncounted, false, desync_.place});
    }
    models::RecordedCall call;
    call.group = number;
    call.sequence = static_cast<std::uint64_t>(sequence);
    call.state = models::CallState::kStarted;
    call.place = desync_.place;
    call.ops.emplace_back().name = op;
    evidence.ranks[rank].calls.push_back(std::move(call));
  }
  for (const std::uint32_t rank : members) evidence.ranks[rank].has_dump = true;
  group.ranks.assign(members.begin(), members.end());
  evidence.groups.push_back(std::move(group));
}

void HangReports::add_barrier(models::Evidence& evidence) const {
  if (barrier_missing_.empty()) return;
  const auto number = static_cast<std::uint32_t>(evidence.groups.size());
  std::set<std::uint32_t> members;
  for (const auto& [rank, place] : barrier_missing_) {
    members.insert(rank);
    evidence.ranks[rank].has_dump = true;
    evidence.ranks[rank].progress.push_back({number, 0, -1, 0, false, place});
  }
  for (const auto& [rank, place] : barrier_waits_) {
    if (!members.insert(rank).second) continue;
    models::RecordedCall call;
    call.group = number;
    call.sequence = 1;
    call.place = place;
    call.ops.emplace_back().name = "barrier";
    evidence.ranks[rank].has_dump = true;
    evidence.ranks[rank].calls.push_back(std::move(call));
  }
  evidence.groups.push_back({"monitoredBarrier", "", {members.begin(), members.end()}, false});
}

void HangReports::add_fr_traces(models::Evidence& evidence) const {
  for (const FrTrace& trace : traces_) {
    if (trace.missing.empty()) continue;
    const auto number = static_cast<std::uint32_t>(evidence.groups.size());
    std::set<std::uint32_t> members = trace.expected;
    members.insert(trace.missing.begin(), trace.missing.end());
    const auto last = static_cast<std::int64_t>(trace.sequence) - 1;
    for (const std::uint32_t rank : members) {
      models::RankEvidence& of = evidence.ranks[rank];
      of.has_dump = true;
      if (trace.missing.count(rank) > 0) {
        of.progress.push_back({number, last, -1, models::kUncounted, false, trace.place});
        continue;
      }
      models::RecordedCall call;
      call.group = number;
      call.sequence = trace.sequence;
      call.place = trace.place;
      call.ops.emplace_back().name = trace.op;
      of.calls.push_back(std::move(call));
    }
    evidence.groups.push_back(
        {trace.group, "", {members.begin(), members.end()}, !trace.expected.empty()});
  }
}

// Returns the op of a fingerprint. Guesses from the operation whether its sizes are those of the
// input or of the output, because the fingerprint does not show this.
models::RecordedOp HangReports::op_of(const Fingerprint& fingerprint) {
  models::RecordedOp op;
  op.name = fingerprint.op;
  const bool outputs = op.operation() == models::Operation::kScatter;
  models::TensorSizes& sizes = outputs ? op.output_sizes : op.input_sizes;
  sizes.push_back(shape_of(fingerprint.shape));
  std::vector<models::OutsideText>& types = outputs ? op.output_types : op.input_types;
  types.push_back(fingerprint.types);
  return op;
}

// Adds each pair of mismatched calls as one collective of a group whose other members are unknown.
// A report of an older version of PyTorch names a single rank, whose call differs from the calls of
// other ranks; the ranks of all such reports count as one group.
void HangReports::add_fingerprints(models::Evidence& evidence) const {
  struct Call {
    const Fingerprint* fingerprint;
    models::EvidencePlace place;
  };
  std::map<std::uint32_t, Call> calls;        // calls by rank
  std::map<std::uint32_t, std::uint32_t> of;  // union-find parent of each rank; a tree is a group
  const auto first_of = [&](std::uint32_t rank) {
    while (of.at(rank) != rank) rank = of.at(rank);
    return rank;
  };
  std::optional<std::uint32_t> alone;
  for (const Difference& it : differences_) {
    const auto own = it.rank ? it.rank : rank_of(it.own);
    const auto other = it.other ? peer_of(it) : alone;
    if (!own || (it.other && !other)) continue;
    of.emplace(*own, *own);
    calls.insert_or_assign(*own, Call{&it.own, it.place});
    if (!it.other) alone = own;
    if (!other || *other == *own) continue;
    of.emplace(*other, *other);
    if (it.trusts_other) calls.emplace(*other, Call{&*it.other, it.place});
    of[first_of(*own)] = first_of(*other);
  }
  std::map<std::uint32_t, std::set<std::uint32_t>> groups;
  for (const auto& [rank, any] : of) groups[first_of(rank)].insert(rank);
  for (const auto& [first, members] : groups) {
    const auto number = static_cast<std::uint32_t>(evidence.groups.size());
    evidence.groups.push_back({"fingerprints", "", {members.begin(), members.end()}, false});
    const auto known = std::find_if(members.begin(), members.end(),
                                    [&](std::uint32_t member) { return calls.count(member) > 0; });
    for (const std::uint32_t rank : members) {
      const auto found = calls.find(rank);
      if (found == calls.end()) continue;
      const Call& call = found->second;
      models::RecordedCall made;
      made.group = number;
      made.sequence = calls.at(*known).fingerprint->sequence;
      made.place = call.place;
      made.ops.push_back(op_of(*call.fingerprint));
      evidence.ranks[rank].has_dump = true;
      evidence.ranks[rank].calls.push_back(std::move(made));
    }
  }
}

std::string HangReports::told(const Fingerprint& fingerprint) {
  return fmt::format("rank {} {} {}{}#{}", fingerprint.local, fingerprint.op, fingerprint.shape,
                     fingerprint.types.empty() ? "" : " " + fingerprint.types,
                     fingerprint.sequence);
}

void HangReports::add_notes(std::vector<models::OutsideText>& notes) const {
  std::set<std::string> lines;
  for (const Difference& it : differences_) {
    if (!it.other || (peer_of(it) && (it.rank || rank_of(it.own)))) continue;
    const std::string own = told(it.own);
    const std::string other =
        it.trusts_other ? told(*it.other) : fmt::format("rank {}'s call", it.other->local);
    lines.insert(fmt::format("Mismatched calls, ranks numbered in their group: {} and {}",
                             std::min(own, other), std::max(own, other)));
  }
  for (const FrTrace& trace : trace_errors_) {
    lines.insert(
        fmt::format("torchfrtrace finds that calls differ in {} {}#{}: {}. It compares all ranks "
                    "with one, which may itself be the straggler",
                    trace.op, trace.group, trace.sequence, trace.errors));
  }
  constexpr std::size_t kMaxLines = 8;
  for (const std::string& line : lines) {
    if (notes.size() > kMaxLines) break;
    notes.emplace_back(line);
  }
}

}  // namespace pipesim::formats
