// Reads reports of RAS. A text report has sections, which NCCL's src/ras/client_support.cc prints;
// a JSON report has objects. RAS numbers ranks within communicators, so the processes of all
// reports are mapped to ranks of the job. The evidence is a count that differs: a rank with a
// smaller count lags.
#include "features/diagnose/ras_reader.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/document/json_reader.hpp"
#include "models/graph/operation.hpp"

#include "features/diagnose/diagnosis.hpp"
#include "features/diagnose/log_lines.hpp"

namespace pipesim::formats {
namespace {

using models::ProcessId;

// Orders the processes of reports without copying them. Reports list one process per GPU.
struct ByProcess {
  bool operator()(const models::ProcessId* a, const models::ProcessId* b) const { return *a < *b; }
};

// Returns the number as a rank, or nullopt if it is out of range.
std::optional<std::uint32_t> ras_rank(std::optional<std::int64_t> number) {
  const bool good =
      number && *number >= 0 && *number < static_cast<std::int64_t>(models::kMaxEvidenceRanks);
  return good ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

// ---------------------------------------------------------------------------------------------
// Text: sections with headings. In the section of communicators, a line `#0-1 (HASH) STATUS` begins
// the facts about a communicator. The report can be in the log of a job, whose other lines are
// skipped.

std::optional<std::int64_t> not_negative(std::optional<std::int64_t> number) {
  return number && *number >= 0 ? number : std::nullopt;
}

std::optional<std::int64_t> count_in(std::string_view text) {
  return not_negative(number_at<std::int64_t>(text));
}

std::optional<std::int64_t> count_behind(std::string_view text, std::string_view key) {
  return not_negative(number_after<std::int64_t>(text, key));
}

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

// Reads "GPU 3 managed by process 41 on node node1" or "Process 41 on node node1 managing GPU 3".
models::ProcessId process_of(std::string_view text) {
  const auto word = [&](std::string_view key) { return std::string(word_after(text, key, " \r")); };
  const std::string gpu = word("GPU ");
  return {word("on node "), word("rocess "), gpu.empty() ? word("GPU(s) ") : gpu};
}

bool has_words(std::string_view line) {
  return line.find_first_not_of("0123456789- \t\r") != std::string_view::npos;
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (std::string_view rest = line; !rest.empty(); rest = unindented(rest)) {
    const std::size_t stop = std::min(rest.find_first_of(" \t\r"), rest.size());
    cells.push_back(rest.substr(0, stop));
    rest.remove_prefix(stop);
  }
  return cells;
}

class RasText {
 public:
  explicit RasText(std::uint32_t file) : file_(file) {}

  std::vector<RasReport> read(const std::string& text);

 private:
  enum class Section : std::uint8_t { kNone, kJob, kCommunicators, kErrors, kWarnings };

  void take(std::string_view line);
  bool take_heading(std::string_view line);
  bool take_table_row(std::string_view line);
  bool take_communicator(std::string_view line);
  bool take_lost_process(std::string_view line);
  bool take_subject(std::string_view line);
  bool take_party(std::string_view line);
  bool take_missing_list(std::string_view line);
  void take_rank(std::string_view line);
  void spread(RasCommunicator& communicator);
  void finish();
  static void give(RasCommunicator& communicator, const std::string& op, std::uint32_t rank,
                   const RasParty& party);

  std::uint32_t file_ = 0;
  models::EvidencePlace place_;
  std::vector<RasReport> reports_;
  RasReport report_;
  Section section_ = Section::kNone;
  bool known_ = false;                // whether any line of a report was found
  bool dead_ = false;                 // whether the following processes are dead
  std::vector<std::uint32_t> sizes_;  // sizes of communicators by group number
  bool in_table_ = false;             // whether the line before belongs to a table
  std::uint32_t listed_ = 0;          // number of communicators in all groups
  RasCommunicator* at_ = nullptr;     // communicator that the current lines are about
  std::string op_;                    // operation of the current counts
  bool has_status_ = false;           // whether the current list is of ranks by their status
};

bool RasText::take_heading(std::string_view line) {
  constexpr std::string_view kCommunicators = "Communicators...";
  const bool begins = line.starts_with("NCCL version ") && has(line, " compiled with ");
  // Finishes the current report when the next one begins in the same file.
  if (begins || (line.starts_with(kCommunicators) && section_ > Section::kJob)) finish();
  if (begins || line.starts_with(kCommunicators)) known_ = true;
  constexpr std::array<std::pair<std::string_view, Section>, 3> kWhole = {{
      {"Job summary", Section::kJob},
      {"Errors", Section::kErrors},
      {"Warnings", Section::kWarnings},
  }};
  if (line.starts_with(kCommunicators)) {
    section_ = Section::kCommunicators;
    return true;
  }
  for (const auto& [name, section] : kWhole) {
    if (line != name) continue;
    section_ = section;
    return true;
  }
  return false;
}

// Reads a row of a table. The last column of the job's table is the number of GPUs: "1 8 8 1 8".
// The fifth column of the communicators' table is the number of ranks in each: "0 1 4 8 32 32
// RUNNING MISMATCH".
bool RasText::take_table_row(std::string_view line) {
  constexpr std::array<std::string_view, 4> kHeads = {"Nodes ", "(total) ", "Group ", "# "};
  const bool is_head = std::any_of(kHeads.begin(), kHeads.end(),
                                   [&](std::string_view head) { return line.starts_with(head); });
  const bool is_in_table = std::exchange(in_table_, is_head) || is_head;
  const std::vector<std::string_view> cells = cells_of(line);
  if (cells.empty() || line.front() < '0' || line.front() > '9') return is_head;
  constexpr std::size_t kCells = 5;  // of each row, at least
  if (!is_in_table || cells.size() < kCells) return false;
  in_table_ = true;
  if (section_ == Section::kJob && !has_words(line)) {
    report_.gpus += ras_rank(count_in(cells.back())).value_or(0);
    return true;
  }
  if (section_ != Section::kCommunicators) return false;
  sizes_.push_back(cells.size() > 5 ? ras_rank(count_in(cells[4])).value_or(0) : 0);
  listed_ += cells.size() > 5 ? ras_rank(count_in(cells[1])).value_or(2) : 2;
  return true;
}

// Reads "#0-1 (84a0f2) MISMATCH".
bool RasText::take_communicator(std::string_view line) {
  const std::size_t open = line.find('(');
  const std::size_t close = line.find(')');
  const bool good = line.starts_with('#') && count_in(line.substr(1)) &&
                    open != std::string_view::npos && close != std::string_view::npos &&
                    open < close && has(line.substr(0, open), "-");
  if (!good) return false;
  const std::string hash = models::printable(line.substr(open + 1, close - open - 1));
  at_ = &report_.communicators[hash];
  at_->hash = hash;
  const auto group = count_in(line.substr(1));
  if (group && static_cast<std::size_t>(*group) < sizes_.size()) {
    at_->size = sizes_[static_cast<std::size_t>(*group)];
  }
  op_.clear();
  has_status_ = false;
  known_ = true;
  return true;
}

// Reads the line of a lost process. Only processes that RAS calls dead count, because a process
// that did not answer once may be slow.
bool RasText::take_lost_process(std::string_view line) {
  if (line.starts_with("DEAD") || line.starts_with("INCOMPLETE")) {
    dead_ = line.starts_with("DEAD");
    at_ = nullptr;
    known_ = true;
    return true;
  }
  const bool is_process = line.starts_with("Process ") && has(line, " on node ") &&
                          at_ == nullptr && section_ == Section::kErrors;
  if (!is_process) return false;
  if (dead_) {
    const models::ProcessId id = process_of(line);
    report_.lost.push_back({models::ProcessState::kDead, process_name(id), {}, place_, id});
  }
  return true;
}

// Reads "Communicator ranks have different AllReduce operation counts".
bool RasText::take_subject(std::string_view line) {
  constexpr std::string_view kDifferent = "Communicator ranks have different ";
  if (!line.starts_with(kDifferent)) return false;
  const std::string_view what = line.substr(kDifferent.size());
  op_ = has(what, "operation counts") ? std::string(what.substr(0, what.find(' '))) : std::string();
  has_status_ = has(what, "status");
  return true;
}

std::optional<std::int64_t> launched(std::string_view line) {
  if (has(line, "not launched any operations")) return 0;
  return count_behind(line, "launched up to operation ");
}

// Reads "7 ranks have launched up to operation 64".
bool RasText::take_party(std::string_view line) {
  const auto count = launched(line);
  if (!count || op_.empty() || !has(line, "ranks have ")) return false;
  if (const auto size = ras_rank(count_in(line))) {
    at_->parties[op_].push_back({*size, *count, {}, place_});
  }
  return true;
}

// Reads "The missing rank: 21" or "The missing ranks: 21, 22".
bool RasText::take_missing_list(std::string_view line) {
  constexpr std::string_view kMissing = "The missing rank";
  const std::size_t colon = line.find(": ");
  if (!line.starts_with(kMissing) || colon == std::string_view::npos) return false;
  for (std::string_view rest = line.substr(colon + 2); !rest.empty();) {
    const auto rank = ras_rank(count_in(unindented(rest)));
    if (!rank) break;
    RasMember& member = at_->member(*rank);
    member.state = models::ProcessState::kSilent;
    member.place = place_;
    const std::size_t comma = rest.find(',');
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return true;
}

// Reads "Rank 7 -- GPU 3 managed by process 41 on node node1" or "Rank 7 has launched up to ...".
void RasText::take_rank(std::string_view line) {
  const auto rank = ras_rank(count_behind(line, "Rank "));
  const bool is_told = launched(line).has_value() || has(line, " -- GPU ") ||
                       has(line, " has status ") || has(line, " reported ");
  if (!line.starts_with("Rank ") || !rank || !is_told) return;
  RasMember& member = at_->member(*rank);
  member.place = place_;
  if (models::ProcessId id = process_of(line); !id.pid.empty()) member.process = std::move(id);
  const auto count = launched(line);
  if (count && !op_.empty()) {
    at_->parties[op_].push_back({1, *count, {*rank}, place_});
  } else if (!op_.empty() && !at_->parties[op_].empty()) {
    at_->parties[op_].back().ranks.push_back(*rank);
  } else if (has(line, " reported ") || has(line, " has status ")) {
    report_.notes.emplace_back(
        fmt::format("Communicator {}: {}", at_->hash, models::printable(line)));
  } else if (op_.empty() && !has_status_) {
    member.state = models::ProcessState::kSilent;
  }
}

void RasText::take(std::string_view line) {
  if (take_heading(line) || take_table_row(line) || take_communicator(line)) return;
  if (take_lost_process(line) || at_ == nullptr) return;
  if (take_subject(line) || take_party(line) || take_missing_list(line)) return;
  if (has_status_ && has(line, " ranks have status ")) {
    report_.notes.emplace_back(
        fmt::format("Communicator {}: {}", at_->hash, models::printable(line)));
    return;
  }
  take_rank(line);
}

void RasText::give(RasCommunicator& communicator, const std::string& op, std::uint32_t rank,
                   const RasParty& party) {
  RasMember& member = communicator.member(rank);
  member.counts[op] = party.count;
  member.place = party.place;
}

// Gives each member its count. Members that no party lists belong to the only party without a list;
// every other party must list its members.
void RasText::spread(RasCommunicator& communicator) {
  for (const auto& [op, parties] : communicator.parties) {
    std::set<std::uint32_t> listed;
    std::vector<const RasParty*> open;
    for (const RasParty& party : parties) {
      listed.insert(party.ranks.begin(), party.ranks.end());
      if (party.ranks.size() != party.size) open.push_back(&party);
    }
    if (open.size() > 1) {
      report_.notes.emplace_back(fmt::format(
          "Communicator {}: ranks have different {} counts, and the report does not list which; "
          "'ncclras -f json' does",
          communicator.hash, models::printable(op)));
      continue;
    }
    for (const RasParty& party : parties) {
      for (const std::uint32_t rank : party.ranks) give(communicator, op, rank, party);
    }
    if (open.empty()) continue;
    for (std::uint32_t rank = 0; rank < communicator.size; ++rank) {
      const auto known = communicator.members.find(rank);
      const bool silent = known != communicator.members.end() &&
                          known->second.state == models::ProcessState::kSilent;
      if (listed.count(rank) == 0 && !silent) give(communicator, op, rank, *open.front());
    }
  }
}

// Returns the size of a communicator that no table lists: the number of ranks that answered and
// that did not answer.
std::uint32_t size_of(const RasCommunicator& communicator) {
  std::uint32_t size = 0;
  for (const auto& [op, parties] : communicator.parties) {
    std::uint32_t of_op = 0;
    for (const RasParty& party : parties)
      of_op = std::min(models::kMaxEvidenceRanks, of_op + party.size);
    size = std::max(size, of_op);
  }
  const auto silent = std::count_if(
      communicator.members.begin(), communicator.members.end(),
      [](const auto& it) { return it.second.state == models::ProcessState::kSilent; });
  return size == 0 ? 0 : size + static_cast<std::uint32_t>(silent);
}

void RasText::finish() {
  for (auto& [hash, communicator] : report_.communicators) {
    if (communicator.size == 0) communicator.size = size_of(communicator);
    spread(communicator);
  }
  // If there is no job summary, a single communicator is all that RAS knows about the job.
  const bool only = report_.gpus == 0 && listed_ == 1 && sizes_.size() == 1;
  if (only) report_.gpus = sizes_.front();
  const bool any =
      !report_.communicators.empty() || !report_.lost.empty() || section_ != Section::kNone;
  if (any) reports_.push_back(std::move(report_));
  report_ = {};
  section_ = Section::kNone;
  dead_ = false;
  sizes_.clear();
  listed_ = 0;
  at_ = nullptr;
  op_.clear();
}

std::vector<RasReport> RasText::read(const std::string& text) {
  std::uint64_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string whole = without_colours(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    place_ = {file_, ++number};
    if (whole.size() > kMaxLogLine) continue;
    const std::string_view line = whole;
    take(unindented(line.substr(label_of(line).size())));
  }
  if (!known_) return {};
  finish();
  if (reports_.empty()) reports_.emplace_back();
  return std::move(reports_);
}

// ---------------------------------------------------------------------------------------------
// JSON

// Returns the string or integer at `key` as a string; empty if `key` has neither.
std::string string_of(const YamlValue& object, std::string_view key) {
  const auto found = object.find(key);
  const bool known = found && (found->is_text() || found->integer<std::int64_t>());
  return known ? std::string(found->text()) : std::string();
}

std::optional<std::int64_t> number_of(const YamlValue& object, std::string_view key) {
  const auto found = object.find(key);
  const auto number = found ? found->integer<std::int64_t>() : std::nullopt;
  return number >= 0 ? number : std::nullopt;
}

models::ProcessId process_of(const YamlValue& object) {
  return {string_of(object, "host"), string_of(object, "pid"), string_of(object, "cuda_dev")};
}

// Returns the member that an object in a list of ranks describes, or nullptr.
RasMember* member_of(const YamlValue& object, std::uint32_t file, RasCommunicator& communicator) {
  const auto rank = ras_rank(number_of(object, "rank"));
  if (!rank) return nullptr;
  RasMember& member = communicator.member(*rank);
  member.place = {file, 0};
  if (models::ProcessId id = process_of(object); !id.pid.empty()) {
    member.process = std::move(id);
  }
  return &member;
}

void take_counts(const YamlValue& object, RasMember& member) {
  const auto counts = object.find("collective_counts");
  if (!counts) return;
  counts->for_each_entry([&](const YamlValue::Entry& entry) {
    const auto count = entry.value.integer<std::int64_t>();
    if (count >= 0) member.counts[models::printable(entry.key.text())] = *count;
  });
}

models::ProcessState state_of_missing(const YamlValue& object) {
  const auto status = object.find("status");
  const auto dead = status ? status->find("considered_dead") : std::nullopt;
  return dead && dead->truth().value_or(false) ? models::ProcessState::kDead
                                               : models::ProcessState::kSilent;
}

void take_communicator(const YamlValue& object, std::uint32_t file, RasReport& report) {
  std::string hash = models::printable(string_of(object, "hash"));
  if (hash.starts_with("0x")) hash = hash.substr(2);
  // Communicators from a split can share a hash.
  while (report.communicators.count(hash) > 0) hash += "'";
  RasCommunicator& communicator = report.communicators[hash];
  communicator.hash = hash;
  communicator.size = ras_rank(number_of(object, "size")).value_or(0);
  for (const YamlValue& it : objects_of(object, "ranks")) {
    if (RasMember* member = member_of(it, file, communicator)) take_counts(it, *member);
  }
  for (const YamlValue& it : objects_of(object, "missing_ranks")) {
    RasMember* member = member_of(it, file, communicator);
    if (member != nullptr) member->state = state_of_missing(it);
  }
}

// Returns the number of GPUs in communicators, because a JSON report has no total.
std::uint32_t gpus_of(const RasReport& report) {
  std::set<const models::ProcessId*, ByProcess> known;
  std::uint32_t others = 0;
  for (const auto& [hash, communicator] : report.communicators) {
    std::uint32_t told = 0;
    for (const auto& [rank, member] : communicator.members) {
      if (member.process.pid.empty()) continue;
      known.insert(&member.process);
      ++told;
    }
    others = std::max(others, communicator.size - std::min(communicator.size, told));
  }
  return static_cast<std::uint32_t>(known.size()) + others;
}

std::optional<RasReport> report_of(std::string_view text, std::uint32_t file) {
  const std::optional<YamlDocument> json = read_json(text);
  const auto communicators = json ? json->root().find("communicators") : std::nullopt;
  if (!communicators || !communicators->is_list()) return std::nullopt;
  RasReport report;
  for (const YamlValue& it : objects_of(json->root(), "communicators")) {
    take_communicator(it, file, report);
  }
  return report;
}

// Reads one or several outputs of `ncclras -f json`. Returns an empty list, with an error, if the
// text has no report.
std::vector<RasReport> read_ras_json(const std::string& text, std::uint32_t file,
                                     models::Diagnostics& diagnostics) {
  const std::string_view all = text;
  std::vector<RasReport> reports;
  // The text can have several objects, each at the beginning of a line.
  for (std::size_t begin = text.find('{'); begin != std::string::npos;) {
    std::size_t end = std::min(text.find("\n{", begin), text.size());
    auto report = report_of(all.substr(begin, end - begin), file);
    if (!report && end < text.size()) {
      end = text.size();
      report = report_of(all.substr(begin), file);
    }
    if (!report) {
      diagnostics
          .error({}, models::Code::kNoEvidence,
                 "no report of NCCL RAS: it has no list 'communicators'")
          .notes.emplace_back("'ncclras -f json' prints one");
      return {};
    }
    report->gpus = gpus_of(*report);
    reports.push_back(std::move(*report));
    begin = text.find('{', end);
  }
  return reports;
}

// ---------------------------------------------------------------------------------------------
// Ranks

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

// Numbers the members of communicators. Numbers below `ranks()` are ranks of the job; larger
// numbers stand for processes of unknown rank.
class RasJob {
 public:
  /// `reports` and `known` must outlive the object.
  RasJob(const std::vector<RasReport>& reports, const models::KnownJob& known);

  std::uint32_t ranks() const { return ranks_; }

  /// Returns the number of a member in the last report.
  std::uint32_t number_of(const RasCommunicator& communicator, const RasMember& member);

  /// Returns the number of numbers in use.
  std::uint32_t size() const { return ranks_ + static_cast<std::uint32_t>(names_.size()); }

  /// Returns the name of a number that is not a rank: "rank 3 of communicator ab12 (process 41 on
  /// node1, GPU 3)".
  const std::string& name_of(std::uint32_t number) const { return names_[number - ranks_]; }

  /// Returns the rank of a process, if known.
  std::optional<std::uint32_t> rank_of(const models::ProcessId& process) const;

 private:
  void collect(const RasReport& report);
  bool spans(const RasReport& report, const RasCommunicator& communicator) const;
  std::optional<std::uint32_t> known_rank(const models::ProcessId& process) const;
  bool is_only(const models::ProcessId& process) const;

  const models::KnownJob& known_;
  std::set<const models::ProcessId*, ByProcess> processes_;
  bool all_listed_ = true;  // whether each member of a communicator has a known process
  // Ranks by process, from communicators that span the job.
  std::map<const models::ProcessId*, std::uint32_t, ByProcess> rank_of_;
  std::set<std::string> spanning_;  // hashes of communicators that span the job
  std::uint32_t ranks_ = 0;
  std::map<std::string, std::uint32_t> number_of_name_;  // numbers of processes of unknown rank
  std::vector<std::string> names_;
};

RasJob::RasJob(const std::vector<RasReport>& reports, const models::KnownJob& known)
    : known_(known), ranks_(known.ranks) {
  for (const RasReport& report : reports) collect(report);
  // No communicator gives job ranks if communicators that span the job number its processes
  // differently, or if one of them contradicts other known facts.
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

// Returns the known rank of a process. If the hosts cannot be compared, the pid decides, but only
// if no other process has this pid.
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

// ---------------------------------------------------------------------------------------------
// Evidence

using Range = std::pair<std::int64_t, std::int64_t>;  // the smallest and the largest count

Range widened(const std::optional<Range>& range, std::int64_t count) {
  if (!range) return {count, count};
  return {std::min(range->first, count), std::max(range->second, count)};
}

// Whether counts in any communicator differ by more than one. The job then hangs, and a lagging
// rank can be blocked in another communicator in which it is ahead by one.
bool has_large_difference(const RasReport& report) {
  for (const auto& [hash, communicator] : report.communicators) {
    std::map<std::string, std::optional<Range>> ranges;
    for (const auto& [rank, member] : communicator.members) {
      for (const auto& [op, count] : member.counts) ranges[op] = widened(ranges[op], count);
    }
    const bool large = std::any_of(ranges.begin(), ranges.end(), [](const auto& it) {
      return it.second->second > it.second->first + 1;
    });
    if (large) return true;
  }
  return false;
}

std::optional<std::int64_t> count_of(const RasReport& report, const std::string& hash,
                                     const std::string& op, std::uint32_t rank) {
  const auto communicator = report.communicators.find(hash);
  if (communicator == report.communicators.end()) return std::nullopt;
  const auto member = communicator->second.members.find(rank);
  if (member == communicator->second.members.end()) return std::nullopt;
  const auto count = member->second.counts.find(op);
  return count == member->second.counts.end() ? std::nullopt : std::optional(count->second);
}

// Builds evidence from the last report.
class RasEvidence {
 public:
  RasEvidence(const std::vector<RasReport>& reports, const models::KnownJob& known)
      : report_(reports.back()), job_(reports, known) {}

  // The count of a member for one operation of a communicator.
  struct Count {
    const RasMember* member = nullptr;
    std::uint32_t number = 0;
    std::int64_t count = 0;
  };
  std::vector<Count> counts(const RasCommunicator& communicator, const std::string& op);
  void add(const RasCommunicator& communicator, models::Operation operation,
           const std::vector<Count>& counts, std::int64_t least);
  models::Evidence finish(const std::vector<std::string>& files);

 private:
  models::RankEvidence& at(std::uint32_t number);
  void add_processes();
  void add_lost();
  void add_unplaced();

  const RasReport& report_;
  RasJob job_;
  models::Evidence evidence_;
};

models::RankEvidence& RasEvidence::at(std::uint32_t number) {
  models::RankEvidence unknown;
  unknown.complete = false;
  if (evidence_.ranks.size() < job_.size()) evidence_.ranks.resize(job_.size(), unknown);
  return evidence_.ranks[number];
}

std::vector<RasEvidence::Count> RasEvidence::counts(const RasCommunicator& communicator,
                                                    const std::string& op) {
  std::vector<Count> result;
  for (const auto& [rank, member] : communicator.members) {
    const auto count = member.counts.find(op);
    if (count == member.counts.end()) continue;
    result.push_back({&member, job_.number_of(communicator, member), count->second});
  }
  return result;
}

void RasEvidence::add(const RasCommunicator& communicator, models::Operation operation,
                      const std::vector<Count>& counts, std::int64_t least) {
  const auto group = static_cast<std::uint32_t>(evidence_.groups.size());
  std::set<std::uint32_t> members;
  for (const Count& it : counts) members.insert(it.number);
  evidence_.groups.push_back({"communicator " + communicator.hash,
                              "",
                              {members.begin(), members.end()},
                              members.size() == communicator.size});
  for (const Count& it : counts) {
    models::RankEvidence& of = at(it.number);
    of.has_dump = true;
    of.progress.push_back({group, it.count, -1, models::kUncounted, false, it.member->place});
    if (it.count == least) continue;
    // A call that one member has not launched is not done on any member.
    models::RecordedCall call;
    call.group = group;
    call.sequence = static_cast<std::uint64_t>(least + 1);
    call.last_record = of.calls.size() + 1;
    call.place = it.member->place;
    call.ops.emplace_back().name = models::operation_name(operation);
    call.ops.back().record = call.last_record;
    of.calls.push_back(std::move(call));
  }
}

void RasEvidence::add_processes() {
  for (const auto& [hash, communicator] : report_.communicators) {
    // If a member does not answer, the other members may be blocked in their last launch.
    const bool any_missing = std::any_of(
        communicator.members.begin(), communicator.members.end(),
        [](const auto& it) { return it.second.state != models::ProcessState::kNotTold; });
    for (const auto& [rank, member] : communicator.members) {
      if (any_missing) at(job_.number_of(communicator, member)).may_wait = true;
      const bool told =
          !member.process.pid.empty() || member.state != models::ProcessState::kNotTold;
      if (!told) continue;
      models::ProcessStanding& process = at(job_.number_of(communicator, member)).process;
      if (process.state < member.state) process = {member.state, {}, {}, member.place, {}};
      if (member.process.pid.empty()) continue;
      process.id = member.process;
      process.name = models::process_name(member.process);
      if (process.place.file == models::kNoIndex) process.place = member.place;
    }
  }
}

void RasEvidence::add_lost() {
  for (const models::ProcessStanding& process : report_.lost) {
    const auto rank = job_.rank_of(process.id);
    if (rank && *rank < job_.ranks()) {
      at(*rank).process = process;
    } else {
      evidence_.unplaced.push_back(process);
      evidence_.unplaced.back().reason = "nothing says which rank it was";
    }
  }
}

// Adds members of unknown rank to `unplaced` if they block the job, and drops all other members of
// unknown rank. Also adds ranks of the job for which only members of unknown rank wait.
void RasEvidence::add_unplaced() {
  if (evidence_.ranks.size() <= job_.ranks()) return;
  const models::Diagnosis found = models::diagnose(evidence_);
  std::map<std::uint32_t, models::ProcessState> states;
  const auto tell = [&](std::uint32_t number, models::ProcessState state) {
    models::ProcessState& told = states[number];
    told = std::max({told, state, evidence_.ranks[number].process.state});
  };
  for (const models::DiagnosisRoot& root : found.roots) {
    if (root.reason == models::RootReason::kUnexplained) continue;
    const bool seen =
        root.rank < job_.ranks() &&
        std::any_of(found.waits.begin(), found.waits.end(), [&](const models::Wait& wait) {
          return wait.from.rank < job_.ranks() && wait.to.rank == root.rank;
        });
    if (!seen) tell(root.rank, models::ProcessState::kBehind);
  }
  for (const models::Wait& wait : found.explanation.cycle) {
    tell(wait.from.rank, models::ProcessState::kBehind);
  }
  for (const models::Suspect& suspect : found.suspects) {
    if (suspect.rank >= job_.ranks()) tell(suspect.rank, models::ProcessState::kSilent);
  }
  for (const auto& [number, state] : states) {
    models::ProcessStanding process = evidence_.ranks[number].process;
    process.state = state;
    const bool is_rank = number < job_.ranks();
    process.reason = is_rank ? "" : "nothing says which rank of the job it is";
    process.name =
        is_rank ? fmt::format("rank {} ({})", number, process.name) : job_.name_of(number);
    evidence_.unplaced.push_back(std::move(process));
  }
  evidence_.ranks.resize(job_.ranks());
  for (models::EvidenceGroup& group : evidence_.groups) {
    const std::size_t before = group.ranks.size();
    std::erase_if(group.ranks, [&](std::uint32_t rank) { return rank >= job_.ranks(); });
    group.all_members = group.all_members && group.ranks.size() == before;
  }
}

models::Evidence RasEvidence::finish(const std::vector<std::string>& files) {
  evidence_.format = "NCCL RAS";
  evidence_.files.assign(files.begin(), files.end());
  add_processes();
  if (job_.size() > 0) at(0);
  add_unplaced();
  add_lost();
  return std::move(evidence_);
}

Range range_of(const std::vector<RasEvidence::Count>& counts) {
  std::optional<Range> range;
  for (const auto& it : counts) range = widened(range, it.count);
  return range.value_or(Range(0, 0));
}

// Returns "Communicator ab12: its rank 7 is behind in AllReduce, at 60; 7 ranks have launched up to
// 64".
std::string difference_note(const RasCommunicator& communicator, const std::string& op,
                            const std::map<std::int64_t, std::vector<std::uint32_t>>& counts,
                            bool may_pass) {
  const auto& [least, behind] = *counts.begin();
  const std::int64_t most = counts.rbegin()->first;
  std::size_t ahead = 0;
  for (const auto& [count, ranks] : counts) ahead += count > least ? ranks.size() : 0U;
  constexpr std::size_t kMaxNamed = 8;
  const std::string who =
      behind.size() > kMaxNamed
          ? fmt::format("{} ranks", behind.size())
          : fmt::format("its rank{} {}", behind.size() == 1 ? "" : "s", fmt::join(behind, ", "));
  const std::string others = ahead == 1 ? "1 rank has" : fmt::format("{} ranks have", ahead);
  return fmt::format(
      "Communicator {}: {} {} behind in {}, at {}; {} launched up to {}{}", communicator.hash, who,
      behind.size() == 1 ? "is" : "are", op, least, others, most,
      most - least == 1 && may_pass ? "; a lag of 1 may clear by itself: run ncclras again" : "");
}

}  // namespace

bool RasReader::read(const std::string& text, models::Diagnostics& diagnostics,
                     const std::string& name) {
  if (text.size() > kMaxRasBytes) {
    diagnostics.error({}, models::Code::kLimit,
                      fmt::format("a report of RAS can have at most {} MiB", kMaxRasBytes >> 20));
    return false;
  }
  const auto file = static_cast<std::uint32_t>(files_.size());
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && text[first] == '{';
  std::vector<RasReport> reports =
      is_json ? read_ras_json(text, file, diagnostics) : RasText(file).read(text);
  if (!reports.empty()) {
    files_.push_back(name);
    std::move(reports.begin(), reports.end(), std::back_inserter(reports_));
    return true;
  }
  if (!diagnostics.has_errors()) {
    diagnostics.error({}, models::Code::kNoEvidence, "no report of NCCL RAS in this file")
        .notes.emplace_back("'ncclras -v' prints one, of NCCL 2.24 and later");
  }
  return false;
}

// Whether all reports have the same count for this rank, communicator and operation.
bool RasReader::is_repeated(const std::string& hash, const std::string& op,
                            std::uint32_t rank) const {
  if (reports_.size() < 2) return false;
  const auto last = count_of(reports_.back(), hash, op, rank);
  return last && std::all_of(reports_.begin(), reports_.end() - 1, [&](const RasReport& it) {
           return count_of(it, hash, op, rank) == last;
         });
}

models::Evidence RasReader::evidence(bool hangs, const models::KnownJob& known) const {
  if (reports_.empty()) return {};
  const RasReport& report = reports_.back();
  RasEvidence made(reports_, known);
  hangs = hangs || has_large_difference(report);
  for (const auto& [hash, communicator] : report.communicators) {
    std::set<std::string> ops;
    for (const auto& [rank, member] : communicator.members) {
      for (const auto& [op, count] : member.counts) ops.insert(op);
    }
    for (const std::string& op : ops) {
      const auto operation = models::nccl_operation(op);
      // In a broadcast or reduce, a rank can be done before other ranks have launched the
      // operation.
      if (!operation || !models::synchronizes_all(*operation)) continue;
      const auto counts = made.counts(communicator, op);
      const auto [least, most] = range_of(counts);
      const bool repeated = std::all_of(counts.begin(), counts.end(), [&, &name = hash](auto& it) {
        return is_repeated(name, op, it.member->rank);
      });
      const bool lags = most > least && (hangs || repeated || most > least + 1);
      if (lags) made.add(communicator, *operation, counts, least);
    }
  }
  models::Evidence evidence = made.finish(files_);
  if (sees_nothing_wrong() && report.gpus > evidence.ranks.size()) {
    models::RankEvidence unknown;
    unknown.complete = false;
    evidence.ranks.resize(report.gpus, unknown);
    evidence.launched_alike = true;
  }
  return evidence;
}

// Whether the last report has all ranks, with equal counts.
bool RasReader::sees_nothing_wrong() const {
  const RasReport& report = reports_.back();
  return report.lost.empty() && report.notes.empty() &&
         std::all_of(report.communicators.begin(), report.communicators.end(), [](const auto& of) {
           std::map<std::string, std::set<std::int64_t>> counts;
           for (const auto& [rank, member] : of.second.members) {
             if (member.state != models::ProcessState::kNotTold) return false;
             for (const auto& [op, count] : member.counts) counts[op].insert(count);
           }
           return std::all_of(counts.begin(), counts.end(),
                              [](const auto& it) { return it.second.size() < 2; });
         });
}

std::vector<models::OutsideText> RasReader::notes() const {
  std::vector<models::OutsideText> notes;
  for (const RasReport& report : reports_) {
    notes.insert(notes.end(), report.notes.begin(), report.notes.end());
  }
  if (reports_.empty()) return notes;
  for (const auto& [hash, communicator] : reports_.back().communicators) {
    std::map<std::string, std::map<std::int64_t, std::vector<std::uint32_t>>> by_count;
    for (const auto& [rank, member] : communicator.members) {
      for (const auto& [op, count] : member.counts) by_count[op][count].push_back(rank);
    }
    for (const auto& [op, counts] : by_count) {
      if (counts.size() < 2) continue;
      notes.emplace_back(difference_note(communicator, op, counts, reports_.size() == 1));
    }
  }
  if (sees_nothing_wrong()) {
    notes.emplace_back(
        "RAS sees nothing wrong: all ranks answered and launched as many collectives. It does not "
        "see devices, sends or recvs");
  }
  return notes;
}

}  // namespace pipesim::formats
