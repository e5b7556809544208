// Reads the output that NCCL's src/ras/client_support.cc prints: sections with headings. In a
// section, a line `#0-1 (HASH) STATUS` begins the facts about a communicator.
#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "features/diagnose/log_lines.hpp"
#include "features/diagnose/ras_report.hpp"

namespace pipesim::formats {
namespace {

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
  bool known_ = false;                // whether a line of a report was found
  bool dead_ = false;                 // whether the following processes are dead
  std::vector<std::uint32_t> sizes_;  // sizes of communicators by group number
  std::uint32_t listed_ = 0;          // communicators of all groups
  RasCommunicator* at_ = nullptr;     // communicator of the current lines
  std::string op_;                    // operation of the current counts
};

bool RasText::take_heading(std::string_view line) {
  constexpr std::string_view kCommunicators = "Communicators...";
  const bool begins = line.starts_with("NCCL version ");
  // The next report of the file begins.
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

// Takes a row of a table. The last column of the job's table is the number of GPUs: "1 8 8 1 8".
// The fifth column of the communicators' table is the number of ranks of each: "0 1 4 8 32 32
// RUNNING MISMATCH".
bool RasText::take_table_row(std::string_view line) {
  const std::vector<std::string_view> cells = cells_of(line);
  if (cells.empty() || line.front() < '0' || line.front() > '9') return false;
  if (section_ == Section::kJob && !has_words(line)) {
    report_.gpus += ras_rank(count_in(cells.back())).value_or(0);
    return true;
  }
  if (section_ != Section::kCommunicators) return false;
  sizes_.push_back(cells.size() > 5 ? ras_rank(count_in(cells[4])).value_or(0) : 0);
  listed_ += cells.size() > 5 ? ras_rank(count_in(cells[1])).value_or(2) : 2;
  return true;
}

// Takes "#0-1 (84a0f2) MISMATCH".
bool RasText::take_communicator(std::string_view line) {
  if (!line.starts_with('#')) return false;
  const std::size_t open = line.find('(');
  const std::size_t close = line.find(')');
  const bool good =
      open != std::string_view::npos && close != std::string_view::npos && open < close;
  if (!good) return true;
  const std::string hash = models::printable(line.substr(open + 1, close - open - 1));
  at_ = &report_.communicators[hash];
  at_->hash = hash;
  const auto group = count_in(line.substr(1));
  if (group && static_cast<std::size_t>(*group) < sizes_.size()) {
    at_->size = sizes_[static_cast<std::size_t>(*group)];
  }
  op_.clear();
  known_ = true;
  return true;
}

// Takes a lost process. Only processes that RAS calls dead count: a process that did not answer
// once may be slow.
bool RasText::take_lost_process(std::string_view line) {
  if (line.starts_with("DEAD") || line.starts_with("INCOMPLETE")) {
    dead_ = line.starts_with("DEAD");
    at_ = nullptr;
    known_ = true;
    return true;
  }
  const bool is_process =
      line.starts_with("Process ") && at_ == nullptr && section_ == Section::kErrors;
  if (!is_process) return false;
  if (dead_) {
    const models::ProcessId id = process_of(line);
    report_.lost.push_back({models::ProcessState::kDead, process_name(id), {}, place_, id});
  }
  return true;
}

// Takes "Communicator ranks have different AllReduce operation counts".
bool RasText::take_subject(std::string_view line) {
  constexpr std::string_view kDifferent = "Communicator ranks have different ";
  if (!line.starts_with(kDifferent)) return false;
  const std::string_view what = line.substr(kDifferent.size());
  op_ = has(what, "operation counts") ? std::string(what.substr(0, what.find(' '))) : std::string();
  return true;
}

std::optional<std::int64_t> launched(std::string_view line) {
  if (has(line, "not launched any operations")) return 0;
  return count_behind(line, "launched up to operation ");
}

// Takes "7 ranks have launched up to operation 64".
bool RasText::take_party(std::string_view line) {
  const auto count = launched(line);
  if (!count || op_.empty() || !has(line, "ranks have ")) return false;
  if (const auto size = ras_rank(count_in(line))) {
    at_->parties[op_].push_back({*size, *count, {}, place_});
  }
  return true;
}

// Takes "The missing rank(s): 21, 22".
bool RasText::take_missing_list(std::string_view line) {
  constexpr std::string_view kMissing = "The missing rank(s): ";
  if (!line.starts_with(kMissing)) return false;
  for (std::string_view rest = line.substr(kMissing.size()); !rest.empty();) {
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

// Takes "Rank 7 -- GPU 3 managed by process 41 on node node1" or "Rank 7 has launched up to ...".
void RasText::take_rank(std::string_view line) {
  const auto rank = ras_rank(count_behind(line, "Rank "));
  if (!line.starts_with("Rank ") || !rank) return;
  RasMember& member = at_->member(*rank);
  member.place = place_;
  if (models::ProcessId id = process_of(line); !id.pid.empty()) member.process = std::move(id);
  const auto count = launched(line);
  if (count && !op_.empty()) {
    at_->parties[op_].push_back({1, *count, {*rank}, place_});
  } else if (!op_.empty() && !at_->parties[op_].empty()) {
    at_->parties[op_].back().ranks.push_back(*rank);
  } else if (has(line, " reported ")) {
    report_.notes.push_back(fmt::format("Communicator {}: {}", at_->hash, models::printable(line)));
  } else if (op_.empty()) {
    member.state = models::ProcessState::kSilent;
  }
}

void RasText::take(std::string_view line) {
  if (take_heading(line) || take_table_row(line) || take_communicator(line)) return;
  if (take_lost_process(line) || at_ == nullptr) return;
  if (take_subject(line) || take_party(line) || take_missing_list(line)) return;
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
      report_.notes.push_back(fmt::format(
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

// Returns the size of a communicator that no table lists: the ranks that answered, plus the ranks
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
  // Without a job summary, the only communicator is all that RAS knows of the job.
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

}  // namespace

std::vector<RasReport> read_ras_text(const std::string& text, std::uint32_t file) {
  return RasText(file).read(text);
}

}  // namespace pipesim::formats
