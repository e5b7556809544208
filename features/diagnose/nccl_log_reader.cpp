// Lines differ between versions of PyTorch. The reader searches only for parts that are unchanged
// since 2.0:
//   [rank9]:[E ...] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7,
//   OpType=ALLREDUCE, ...
//   [rank9]:[E ...] [PG ID 1 PG GUID 5(tp) Rank 1] ... last enqueued NCCL work: 9, last completed
//   NCCL work: 6
// and, for NCCL's own lines (with NCCL_DEBUG=INFO):
//   comm 0x55 rank 3 nranks 8 ... commId 0x5a - Init COMPLETE
//   NET/IB : Got completion from peer 10.0.0.3<5492> with status=12 ...
// The number in [rank9] is a rank of the job; the number after "Rank" is a rank of the process
// group (ProcessGroupNCCL::logPrefix). A line without [rank9] has a known rank only in the default
// group, or if another line has both numbers.
#include "features/diagnose/nccl_log_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/graph/operation.hpp"

namespace pipesim::formats {
namespace {

constexpr std::size_t kMaxWorksOfRank = 1000;  // maximum number of timed-out works per rank
constexpr std::size_t kMaxWorks = 1'000'000;
// Maximum number of works that are added after a timed-out work. The log has only the numbers of
// these works.
constexpr std::int64_t kMaxBehind = 1000;

// The mark of a group in a squeezed line: "[pgid0pgguid0(default_pg)rank3]", "[pg1rank3]". Name and
// description are in lower case, like the squeezed line; PyTorch's own names are lower case anyway.
struct GroupMark {
  std::string name;
  std::string description;
  std::optional<std::uint32_t> rank;
};

GroupMark group_of(std::string_view line) {
  const std::size_t begin = line.find("[pg");
  if (begin == std::string_view::npos) return {};
  const std::size_t close = line.find(']', begin);
  if (close == std::string_view::npos) return {};
  std::string_view text = line.substr(begin + 3, close - begin - 3);
  const std::size_t rank = text.rfind("rank");
  if (rank == std::string_view::npos) return {};
  GroupMark mark;
  mark.rank = number_at<std::uint32_t>(text.substr(rank + 4));
  text = text.substr(0, rank);
  constexpr std::string_view kGuid = "guid";
  const std::size_t guid = text.find(kGuid);
  if (guid != std::string_view::npos) text.remove_prefix(guid + kGuid.size());
  const std::size_t open = text.find('(');
  mark.name = models::printable(text.substr(0, open));
  if (open == std::string_view::npos) return mark;
  const std::string_view description = text.substr(open + 1);
  mark.description = models::printable(description.substr(0, description.find(')')));
  return mark;
}

// Sorts calls by number, and numbers their records in this order.
void order_by_number(models::RankEvidence& rank) {
  std::stable_sort(rank.calls.begin(), rank.calls.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.group, a.sequence) < std::tuple(b.group, b.sequence);
  });
  std::uint64_t record = 0;
  for (models::RecordedCall& call : rank.calls) {
    call.last_record = record++;
    for (models::RecordedOp& op : call.ops) op.record = call.last_record;
  }
  std::stable_sort(rank.progress.begin(), rank.progress.end(),
                   [](const auto& a, const auto& b) { return a.group < b.group; });
}

bool is_message(const std::string& op) { return op == "send" || op == "recv"; }

bool is_later(const models::EvidencePlace& a, const models::EvidencePlace& b) {
  return a.file == b.file && a.line > b.line;
}

// Returns the number of members in a work's group, derived from the sizes of the work's tensors; 0:
// unknown.
std::uint32_t members_of(std::string_view op, std::int64_t in, std::int64_t out) {
  const auto operation = models::operation_in(op);
  std::int64_t part = 0;
  std::int64_t whole = 0;
  if (operation == models::Operation::kAllGather) std::tie(part, whole) = std::pair(in, out);
  if (operation == models::Operation::kReduceScatter) std::tie(part, whole) = std::pair(out, in);
  const bool good = part > 0 && whole > part && whole % part == 0 &&
                    whole / part <= static_cast<std::int64_t>(models::kMaxEvidenceRanks);
  return good ? static_cast<std::uint32_t>(whole / part) : 0;
}

}  // namespace

bool NcclLogReader::is_default(const std::string& group) const {
  if (group == "0") return true;
  const auto described = descriptions_.find(group);
  return described != descriptions_.end() && described->second == "default_pg";
}

// Returns the job rank of a writer. If no line names a group, the job is assumed to have one group.
std::optional<std::uint32_t> NcclLogReader::rank_of(const Writer& writer) const {
  if (writer.rank) return writer.rank;
  if (!writer.local) return std::nullopt;
  const bool one_group = writer.group.empty() && rank_of_local_.empty() && descriptions_.empty();
  if (is_default(writer.group) || one_group) return writer.local;
  const auto known = rank_of_local_.find({writer.group, *writer.local});
  return known == rank_of_local_.end() ? std::nullopt : std::optional(known->second);
}

void NcclLogReader::take_writer(const std::string& squeezed, Writer& writer) {
  const GroupMark mark = group_of(squeezed);
  writer.group = mark.name;
  writer.local = mark.rank ? mark.rank : number_after<std::uint32_t>(squeezed, "[rank");
  // Skips "[rank9]:" at the front, which is not a rank of the group.
  if (!mark.rank && writer.rank) {
    const std::size_t second = squeezed.find("[rank", squeezed.find("[rank") + 1);
    writer.local = second == std::string::npos
                       ? std::nullopt
                       : number_at<std::uint32_t>(std::string_view(squeezed).substr(second + 5));
  }
  if (writer.local && *writer.local >= models::kMaxEvidenceRanks) writer.local.reset();
  if (!mark.name.empty()) descriptions_[mark.name] = mark.description;
  const bool both = writer.rank && writer.local && !mark.name.empty();
  if (both) rank_of_local_.emplace(GroupRank(mark.name, *writer.local), *writer.rank);
}

bool NcclLogReader::take_watchdog(const LogLine& line, const models::EvidencePlace& place) {
  const bool named = line.text.find("ank") != std::string::npos;
  if (!named && line.text.find("CCL(") == std::string::npos) return false;
  const std::string text = watchdog_form(line.text);
  Writer writer;
  writer.rank = line.rank;
  writer.place = place;
  const bool has_work = text.find("worknccl(") != std::string::npos;
  const bool has_count = text.find("lastenqueuedncclwork:") != std::string::npos ||
                         text.find("lastenqueuedwork:") != std::string::npos;
  const bool alarm = text.find("takingtheentireprocessdown") != std::string::npos ||
                     text.find("operationshavefailedortimedout") != std::string::npos;
  if (!has_work && !has_count && !alarm) return false;
  take_writer(text, writer);
  if (!writer.rank && !writer.local) return false;
  if (alarm) {
    if (const auto rank = rank_of(writer)) alarmed_.insert(*rank);
    return true;
  }
  return has_work ? take_work(text, writer) : take_count(text, writer);
}

// Reads "WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000)".
bool NcclLogReader::take_work(const std::string& text, const Writer& writer) {
  const auto sequence = number_after<std::uint64_t>(text, "seqnum=");
  if (!sequence || works_.size() == kMaxWorks) return false;
  Work work;
  work.writer = writer;
  work.sequence = *sequence;
  std::string type(word_after(text, "optype=", kValueEnds));
  std::transform(type.begin(), type.end(), type.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  work.op = op_name(type);
  work.in = number_after<std::int64_t>(text, "numelin=").value_or(0);
  work.out = number_after<std::int64_t>(text, "numelout=").value_or(0);
  works_.push_back(std::move(work));
  return true;
}

// Reads "last enqueued NCCL work: 9, last completed NCCL work: 6".
bool NcclLogReader::take_count(const std::string& text, const Writer& writer) {
  const auto first_of = [&](std::initializer_list<std::string_view> keys) {
    std::optional<std::int64_t> found;
    for (const std::string_view key : keys) {
      if (!found) found = number_after<std::int64_t>(text, key);
    }
    return found;
  };
  const auto enqueued = first_of({"lastenqueuedncclwork:", "lastenqueuedwork:"});
  const auto completed = first_of({"lastcompletedncclwork:", "lastcompletedwork:"});
  if (!enqueued || !completed || *completed < -1 || *enqueued < *completed) return false;
  // Skips lines that were cut at the front, which do not name their writer.
  if (writer.group.empty() || counts_.size() == kMaxWorks) return false;
  const auto at_work = first_of({"atwork:", "atncclwork:", "worksequenceid:"});
  Count count{writer, {}, *enqueued, *completed};
  if (at_work && *at_work >= 0) count.at_work = static_cast<std::uint64_t>(*at_work);
  counts_.push_back(std::move(count));
  return true;
}

bool NcclLogReader::take_init(std::string_view line) {
  const std::size_t comm = line.find(" comm 0x");
  const bool begun = line.find("Init START") != std::string_view::npos;
  const bool done = line.find("Init COMPLETE") != std::string_view::npos;
  if (comm == std::string_view::npos || (!begun && !done)) return false;
  line.remove_prefix(comm);
  const auto rank = number_after<std::uint32_t>(line, " rank ");
  const auto ranks = number_after<std::uint32_t>(line, " nranks ");
  const std::string_view id = word_after(line, " commId ", kValueEnds);
  const bool good =
      rank && ranks && !id.empty() && *rank < *ranks && *ranks <= models::kMaxEvidenceRanks;
  if (ranks && *ranks <= models::kMaxEvidenceRanks) most_ranks_ = std::max(most_ranks_, *ranks);
  if (!good) return false;
  Init& init = inits_[std::string(id)];
  init.ranks = std::max(init.ranks, *ranks);
  init.begun.insert(*rank);
  if (done) init.done.insert(*rank);
  return true;
}

bool NcclLogReader::take_link_error(std::string_view line) {
  const std::size_t at = line.find("Got completion from peer ");
  if (at == std::string_view::npos) return false;
  line.remove_prefix(at);
  std::string_view status = word_after(line, "status=", kValueEnds);
  if (status.empty()) status = word_after(line, "with error ", kValueEnds);
  if (status.empty()) return false;
  ++link_errors_[fmt::format("status {} from peer {}", models::printable(status),
                             models::printable(word_after(line, "from peer ", kValueEnds)))];
  return true;
}

bool NcclLogReader::read(const std::string& text, models::Diagnostics& diagnostics,
                         const std::string& name) {
  std::uint64_t found = 0;
  const auto file = static_cast<std::uint32_t>(files_.size());
  files_.push_back(name);
  const std::optional<std::uint32_t> rank_of_file = rank_in_name(name);
  each_log_line(text, [&](const LogLine& line) {
    const models::EvidencePlace place{file, line.number};
    if (line.rank) seen_.insert(*line.rank);
    const bool is_call = calls_.take(line, file);
    // The last line of a traceback can also be a report of PyTorch.
    const bool is_error = errors_.take(line, place, rank_of_file);
    const bool taken = is_call || take_init(line.text) || take_link_error(line.text) ||
                       take_watchdog(line, place) || reports_.take(line, place) ||
                       launcher_.take(line, place) || stalls_.take(line, place) ||
                       joins_.take(line);
    found += taken || is_error ? 1U : 0U;
    const bool is_timeout = taken && !is_call && line.text.starts_with("[") &&
                            kind_of_error(line.text) == ErrorKind::kTimeout;
    const auto time = is_timeout ? time_of_day(line.text) : std::nullopt;
    if (time) first_timeout_ = std::min(first_timeout_.value_or(*time), *time);
    // An Init COMPLETE line counts as a call line, because it starts the calls of a communicator,
    // and also as an initialization.
    if (is_call) take_init(line.text);
  });
  if (found > 0) return true;
  files_.pop_back();
  diagnostics
      .error({}, models::Code::kNoEvidence,
             "no line of this file is from NCCL or PyTorch's watchdog")
      .notes.emplace_back(
          "timeouts are lines with 'WorkNCCL(SeqNum=...)' and 'last enqueued NCCL work: ...'");
  return false;
}

// Returns the works, with a group added to works without one. The watchdog logs a work and its
// group in two lines of one rank. The two lines belong together if only one group of the rank has
// this number.
std::vector<NcclLogReader::Work> NcclLogReader::resolved_works() const {
  using RankNumber = std::pair<std::uint32_t, std::uint64_t>;
  std::map<RankNumber, std::set<std::string>> groups_at;
  for (const Count& count : counts_) {
    const auto rank = rank_of(count.writer);
    if (rank && count.at_work) groups_at[{*rank, *count.at_work}].insert(count.writer.group);
  }
  for (const Work& work : works_) {
    const auto rank = rank_of(work.writer);
    if (rank && !work.writer.group.empty()) {
      groups_at[{*rank, work.sequence}].insert(work.writer.group);
    }
  }
  std::vector<Work> result;
  std::map<std::uint32_t, std::size_t> works_of;
  std::set<std::tuple<std::uint32_t, std::string, std::uint64_t>> known;
  const auto add = [&](Work work, std::uint32_t rank) {
    work.writer.rank = rank;
    const bool is_new = known.emplace(rank, work.writer.group, work.sequence).second;
    if (is_new && works_of[rank]++ < kMaxWorksOfRank) result.push_back(std::move(work));
  };
  for (const Work& work : works_) {
    const auto rank = rank_of(work.writer);
    if (!rank) continue;
    Work it = work;
    if (it.writer.group.empty()) {
      const auto groups = groups_at.find({*rank, work.sequence});
      if (groups != groups_at.end() && groups->second.size() == 1) {
        it.writer.group = *groups->second.begin();
      }
    }
    add(std::move(it), *rank);
  }
  for (const Count& count : counts_) {
    const auto rank = rank_of(count.writer);
    if (!rank || count.called == count.completed) continue;
    Work work;
    work.writer = count.writer;
    work.sequence = count.at_work.value_or(static_cast<std::uint64_t>(count.completed + 1));
    add(std::move(work), *rank);
  }
  return result;
}

// Returns the groups whose counts cannot be compared with the numbers of works, because the counts
// include sends and recvs, or because works are coalesced.
std::set<std::string> NcclLogReader::unusable_counts(const std::vector<Work>& works) const {
  std::set<std::string> groups;
  for (const Count& count : counts_) {
    const bool agrees =
        !count.at_work || (*count.at_work == static_cast<std::uint64_t>(count.completed + 1) &&
                           static_cast<std::int64_t>(*count.at_work) <= count.called);
    if (!agrees) groups.insert(count.writer.group);
  }
  for (const Work& work : works) {
    if (is_message(work.op)) groups.insert(work.writer.group);
  }
  return groups;
}

std::uint32_t NcclLogReader::rank_count() const {
  std::uint32_t count = most_ranks_;
  const auto grow = [&](std::uint32_t rank) { count = std::max(count, rank + 1); };
  for (const std::uint32_t rank : seen_) grow(rank);
  for (const auto& [rank, errors] : errors_.by_rank()) grow(rank);
  for (const Work& work : works_) grow(rank_of(work.writer).value_or(0));
  for (const Count& it : counts_) grow(rank_of(it.writer).value_or(0));
  for (const Work& work : resolved_works()) {
    if (is_default(work.writer.group)) {
      count = std::max(count, members_of(work.op, work.in, work.out));
    }
  }
  return std::max({count, reports_.ranks(), launcher_.ranks(), stalls_.ranks()});
}

// Whether any rank logged a timeout before `place`. An error at `place` may follow from this
// timeout.
bool NcclLogReader::is_after_timeout(const models::EvidencePlace& place) const {
  const auto before = [&](const auto& it) { return is_later(place, it.writer.place); };
  if (std::any_of(works_.begin(), works_.end(), before)) return true;
  if (std::any_of(counts_.begin(), counts_.end(), before)) return true;
  return std::any_of(errors_.by_rank().begin(), errors_.by_rank().end(), [&](const auto& of) {
    return std::any_of(of.second.begin(), of.second.end(), [&](const RankError& error) {
      return error.kind == ErrorKind::kTimeout && is_later(place, error.place);
    });
  });
}

bool NcclLogReader::went_on_after(std::uint32_t rank, const models::EvidencePlace& place) const {
  const auto speaks = [&](const auto& it) {
    return rank_of(it.writer) == rank && is_later(it.writer.place, place);
  };
  if (std::any_of(works_.begin(), works_.end(), speaks)) return true;
  if (std::any_of(counts_.begin(), counts_.end(), speaks)) return true;
  const std::vector<RankError>& errors = errors_.by_rank().at(rank);
  return std::any_of(errors.begin(), errors.end(), [&](const RankError& error) {
    return error.kind != ErrorKind::kOwn && is_later(error.place, place);
  });
}

// Returns the first error of each rank that does not follow from the hang.
std::map<std::uint32_t, NcclLogReader::OwnError> NcclLogReader::own_errors() const {
  std::map<std::uint32_t, OwnError> result;
  for (const auto& [rank, errors] : errors_.by_rank()) {
    const auto own = std::find_if(errors.begin(), errors.end(), [&](const RankError& error) {
      return error.kind == ErrorKind::kOwn && !error.chained;
    });
    if (own == errors.end() || is_after_timeout(own->place)) continue;
    result.emplace(rank,
                   OwnError{own->error, own->place, went_on_after(rank, own->place), own->native});
  }
  return result;
}

// Returns the rank whose process, as the launcher saw it, ended before anything went wrong on other
// ranks; nullopt if the evidence does not show that. A timeout without a time of day may precede
// the end.
std::optional<std::uint32_t> NcclLogReader::first_dead() const {
  const auto first = launcher_.first();
  if (!first) return std::nullopt;
  const std::uint32_t rank = *first;
  const ProcessEnd& end = launcher_.ends().at(rank);
  const std::map<std::uint32_t, OwnError> errors = own_errors();
  const auto error = errors.find(rank);
  if (error != errors.end()) return error->second.went_on ? std::nullopt : first;
  if (!end.is_death()) return std::nullopt;
  const auto timed_out = [](const auto& of) {
    return std::any_of(of.second.begin(), of.second.end(),
                       [](const RankError& error) { return error.kind == ErrorKind::kTimeout; });
  };
  const bool any_timeout =
      !works_.empty() || !counts_.empty() || first_timeout_ ||
      std::any_of(errors_.by_rank().begin(), errors_.by_rank().end(), timed_out);
  if (!any_timeout) return first;
  const auto speaks = [&](const auto& it) { return rank_of(it.writer) == rank; };
  const bool own_timeout = std::any_of(works_.begin(), works_.end(), speaks);
  const auto time = time_of_day(end.when);
  const bool before = !own_timeout && first_timeout_ && time && *time < *first_timeout_;
  return before ? first : std::nullopt;
}

// Returns the rank with the first own error after which it did nothing; nullopt if their order is
// not known, as that of errors in several files.
std::optional<std::uint32_t> NcclLogReader::first_failed() const {
  std::map<std::uint32_t, OwnError> errors = own_errors();
  std::erase_if(errors, [](const auto& it) { return it.second.went_on; });
  const auto first =
      std::min_element(errors.begin(), errors.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.second.place.file, a.second.place.line) <
               std::tuple(b.second.place.file, b.second.place.line);
      });
  if (first == errors.end()) return std::nullopt;
  const bool one_file = std::all_of(errors.begin(), errors.end(), [&](const auto& it) {
    return it.second.place.file == first->second.place.file;
  });
  return one_file ? std::optional(first->first) : std::nullopt;
}

// Blames the first process that died. Without one, blames the rank whose own error came first.
void NcclLogReader::add_failures(models::Evidence& evidence) const {
  const std::map<std::uint32_t, OwnError> errors = own_errors();
  if (const auto rank = first_dead()) {
    const ProcessEnd& end = launcher_.ends().at(*rank);
    const auto error = errors.find(*rank);
    models::ProcessStanding& process = evidence.ranks[*rank].process;
    process.state = models::ProcessState::kDead;
    process.reason = end.text();
    if (error != errors.end() && !error->second.went_on) {
      process.reason = fmt::format("{}, {}", end.text(), error->second.text);
    }
    process.place = end.place;
    return;
  }
  const auto rank = first_failed();
  if (!rank) return;
  const OwnError& error = errors.at(*rank);
  models::ProcessStanding& process = evidence.ranks[*rank].process;
  process.state = error.ended ? models::ProcessState::kDead : models::ProcessState::kFailed;
  process.reason = error.ended ? models::OutsideText(end_of_process(error.text)) : error.text;
  process.place = error.place;
}

// Adds the positions at which ranks timed out.
void NcclLogReader::add_hosts(models::Evidence& evidence) const {
  for (const auto& [rank, errors] : errors_.by_rank()) {
    const auto timeout = std::find_if(errors.begin(), errors.end(), [](const RankError& error) {
      return error.kind == ErrorKind::kTimeout && !error.frames.empty();
    });
    if (timeout == errors.end()) continue;
    models::HostStanding& host = evidence.ranks[rank].host.emplace();
    host.waits = host.blocked = true;
    host.at = timeout->at();
    host.place = timeout->place;
  }
}

void NcclLogReader::add_works(const std::vector<Work>& works,
                              const std::map<std::string, std::uint32_t>& number,
                              models::Evidence& evidence) {
  for (const Work& work : works) {
    models::RankEvidence& of = evidence.ranks[*work.writer.rank];
    of.has_dump = true;
    models::RecordedCall call;
    if (work.writer.group.empty()) {
      call.group = static_cast<std::uint32_t>(evidence.groups.size());
      evidence.groups.push_back({"", "", {*work.writer.rank}, false});
      evidence.groups.back().size = members_of(work.op, work.in, work.out);
    } else {
      call.group = number.at(work.writer.group);
    }
    call.sequence = work.sequence;
    call.place = work.writer.place;
    call.messages = is_message(work.op);  // the peer is unknown
    if (!call.messages && !work.op.empty()) {
      models::RecordedOp& op = call.ops.emplace_back();
      op.name = work.op;
      const bool alike = op.name == "all_reduce" || op.name == "broadcast";
      if (alike) op.input_sizes = {{work.in}};
      if (alike) op.output_sizes = {{work.out}};
    }
    of.calls.push_back(std::move(call));
  }
}

// Adds the named groups, with the ranks that named them. Returns the index of each group by name.
std::map<std::string, std::uint32_t> NcclLogReader::add_groups(const std::vector<Work>& works,
                                                               models::Evidence& evidence) const {
  std::map<std::string, std::set<std::uint32_t>> members;
  for (const Work& work : works) members[work.writer.group].insert(*work.writer.rank);
  for (const Count& count : counts_) {
    if (const auto rank = rank_of(count.writer)) members[count.writer.group].insert(*rank);
  }
  members.erase("");
  std::map<std::string, std::uint32_t> number;
  for (auto& [name, ranks] : members) {
    for (std::uint32_t rank = 0; is_default(name) && rank < evidence.ranks.size(); ++rank) {
      ranks.insert(rank);
    }
    number.emplace(name, static_cast<std::uint32_t>(evidence.groups.size()));
    const auto described = descriptions_.find(name);
    evidence.groups.push_back({name,
                               described == descriptions_.end() ? "" : described->second,
                               {ranks.begin(), ranks.end()},
                               false});
    for (const Work& work : works) {
      if (work.writer.group != name) continue;
      std::uint32_t& size = evidence.groups.back().size;
      size = std::max(size, members_of(work.op, work.in, work.out));
    }
  }
  return number;
}

// Returns the progress of each rank in each group, from its last count.
NcclLogReader::Progress NcclLogReader::progress(const std::vector<Work>& works,
                                                const std::map<std::string, std::uint32_t>& number,
                                                models::Evidence& evidence) const {
  const std::set<std::string> unusable = unusable_counts(works);
  Progress progress;
  for (const Count& count : counts_) {
    const auto rank = rank_of(count.writer);
    if (!rank) continue;
    evidence.ranks[*rank].has_dump = true;
    if (unusable.count(count.writer.group) > 0) continue;
    const std::uint32_t group = number.at(count.writer.group);
    models::GroupProgress& it = progress[{*rank, group}];
    const bool newer = it.place.file == models::kNoIndex || count.called >= it.called;
    if (newer) it = {group, count.called, -1, count.completed, false, count.writer.place};
  }
  return progress;
}

// Adds the calls after a work that timed out. The log shows only their numbers.
void NcclLogReader::add_calls_behind(const models::GroupProgress& progress,
                                     std::vector<models::RecordedCall>& calls) {
  std::set<std::uint64_t> known;
  for (const models::RecordedCall& call : calls) {
    if (call.group == progress.group) known.insert(call.sequence);
  }
  const std::int64_t first = std::max<std::int64_t>(0, progress.completed + 1);
  const std::int64_t last = std::min(progress.called, progress.completed + 1 + kMaxBehind);
  for (std::int64_t n = first; n <= last; ++n) {
    if (known.count(static_cast<std::uint64_t>(n)) > 0) continue;
    models::RecordedCall call;
    call.group = progress.group;
    call.sequence = static_cast<std::uint64_t>(n);
    call.place = progress.place;
    calls.push_back(std::move(call));
  }
}

models::Evidence NcclLogReader::evidence() const {
  models::Evidence evidence;
  evidence.format = "NCCL log";
  evidence.files.assign(files_.begin(), files_.end());
  evidence.ranks.resize(rank_count());
  for (models::RankEvidence& rank : evidence.ranks) rank.complete = false;
  const std::vector<Work> works = resolved_works();
  const std::map<std::string, std::uint32_t> number = add_groups(works, evidence);
  const Progress counted = progress(works, number, evidence);
  for (const auto& [key, it] : counted) evidence.ranks[key.first].progress.push_back(it);
  add_works(works, number, evidence);
  for (const auto& [key, it] : counted) add_calls_behind(it, evidence.ranks[key.first].calls);
  reports_.add_to(evidence);
  stalls_.add_to(evidence);
  for (models::RankEvidence& rank : evidence.ranks) order_by_number(rank);
  add_failures(evidence);
  add_hosts(evidence);
  // Lines without a known rank can be from any rank that does not log its job rank.
  const auto is_unplaced = [&](const auto& it) { return !rank_of(it.writer); };
  const bool unplaced = std::any_of(works_.begin(), works_.end(), is_unplaced) ||
                        std::any_of(counts_.begin(), counts_.end(), is_unplaced);
  for (const Count& count : counts_) {
    const auto rank = rank_of(count.writer);
    if (unplaced && rank && !count.writer.rank) evidence.ranks[*rank].may_wait = true;
  }
  return evidence;
}

std::string NcclLogReader::note_of(const std::string& id, const Init& init) {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < init.ranks; ++rank) {
    if (init.begun.count(rank) == 0) missing.push_back(rank);
  }
  constexpr std::size_t kMaxTold = 16;
  const std::size_t left = missing.size() > kMaxTold ? missing.size() - kMaxTold : 0;
  missing.resize(missing.size() - left);
  return fmt::format("Communicator {}: {} of {} ranks started to initialize it, {} finished{}{}{}",
                     models::printable(id), init.begun.size(), init.ranks, init.done.size(),
                     missing.empty()       ? ""
                     : missing.size() == 1 ? "; no log line from rank "
                                           : "; no log line from ranks ",
                     fmt::join(missing, ", "), left > 0 ? fmt::format(" and {} more", left) : "");
}

// Adds notes on works without a rank, and on alarms without a number.
void NcclLogReader::add_notes_of_unplaced(std::vector<models::OutsideText>& notes) const {
  std::set<std::uint32_t> numbered;
  std::size_t unplaced = 0;
  const auto count = [&](const auto& all) {
    for (const auto& it : all) {
      const auto rank = rank_of(it.writer);
      if (rank) numbered.insert(*rank);
      unplaced += rank ? 0U : 1U;
    }
  };
  count(works_);
  count(counts_);
  if (unplaced > 0) {
    notes.emplace_back(fmt::format(
        "Timeouts whose rank in the job is not known: {} (they number it in their group only)",
        unplaced));
  }
  std::vector<std::uint32_t> alarmed;
  for (const std::uint32_t rank : alarmed_) {
    if (numbered.count(rank) == 0) alarmed.push_back(rank);
  }
  if (alarmed.empty()) return;
  notes.emplace_back(fmt::format("A call failed on rank{} {}; no line says which",
                                 alarmed.size() == 1 ? "" : "s", fmt::join(alarmed, ", ")));
}

std::vector<models::OutsideText> NcclLogReader::notes() const {
  std::vector<models::OutsideText> notes;
  for (const auto& [id, init] : inits_) {
    if (init.done.size() < init.ranks) notes.emplace_back(note_of(id, init));
  }
  for (const auto& [what, count] : link_errors_) {
    const bool no_answer = what.starts_with("status 12 ") || what.find("(12") != std::string::npos;
    notes.emplace_back(fmt::format("NET/IB ended in an error {} time{}: {}{}", count,
                                   count == 1 ? "" : "s", what,
                                   no_answer ? " (no answer, after all retries)" : ""));
  }
  add_notes_of_unplaced(notes);
  reports_.add_notes(notes);
  stalls_.add_notes(notes);
  joins_.add_notes(notes);
  add_notes_of_errors(notes);
  return notes;
}

// Adds notes on errors of ranks, lost connections, and the first process end that the launcher saw.
void NcclLogReader::add_notes_of_errors(std::vector<models::OutsideText>& notes) const {
  for (const auto& [rank, error] : own_errors()) {
    // The report names this rank anyway.
    if (first_dead() == rank || (error.ended && first_failed() == rank)) continue;
    notes.emplace_back(fmt::format("Rank {} raised an error of its own{}: {}", rank,
                                   error.went_on ? ", and went on" : "", error.text));
  }
  std::map<std::string, std::vector<std::uint32_t>> lost_at;
  for (const auto& [rank, errors] : errors_.by_rank()) {
    if (errors.front().kind != ErrorKind::kLostPeer || errors.front().frames.empty()) continue;
    lost_at[errors.front().at()].push_back(rank);
  }
  constexpr std::size_t kMaxPlaces = 4;
  std::size_t told = 0;
  for (const auto& [at, ranks] : lost_at) {
    if (told++ == kMaxPlaces) break;
    notes.emplace_back(fmt::format("Lost the connection to a peer in {}: rank{} {}", at,
                                   ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", ")));
  }
  const auto first = launcher_.first();
  if (!first || first_dead()) return;  // a rank to blame is named anyway
  const ProcessEnd& end = launcher_.ends().at(*first);
  notes.emplace_back(fmt::format("The launcher saw rank {} end first: {}", *first, end.text()));
}

}  // namespace pipesim::formats
