#include "features/diagnose/diagnosis_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "models/result/expectation.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/table.hpp"
#include "viz/report/text_report.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"

#include "features/diagnose/diagnosis_reasons.hpp"
#include "features/diagnose/next_steps.hpp"

namespace pipesim::viz {
namespace {

using models::CheckResult;
using models::CollectiveCheck;
using models::DiagnosisRoot;
using models::RootReason;
using sim::Verdict;
using sim::WaitKind;

// Maximum number of rows of a list, unless `all` is set.
constexpr std::size_t kMaxAccountRows = 40;

std::string called_text(const models::GroupStanding& standing) {
  return call_number_text(standing.called) + (standing.at_least ? " or more" : "");
}

// Returns a clause with the reason why the job waits for a rank; empty if the list of roots has the
// reason.
std::string clause_of_root(const models::RankEvidence& rank) {
  const std::string& reason = rank.process.reason;
  switch (rank.process.state) {
    case models::ProcessState::kDead:
      if (reason.starts_with("no process of it")) return ", of which there is no process";
      // The clause has only the start of the reason; the list of roots has all of it.
      return ", whose process ended" +
             (reason.empty() ? "" : ": " + reason.substr(0, reason.find(", ")));
    case models::ProcessState::kStopped:
      return ", whose process is stopped";
    case models::ProcessState::kFailed:
      return ", which raised an error";
    default:
      break;
  }
  if (!rank.host) return {};
  return fmt::format(", whose host {} {}", rank.host->blocked ? "waits in" : "is in",
                     rank.host->at);
}

// Whether each rank waits for another one, though nothing shows for which.
bool has_unknown_cycle(const models::Explanation& explanation) {
  return explanation.verdict == Verdict::kDeadlock && explanation.cycle.empty();
}

class DiagnosisText {
 public:
  DiagnosisText(const DiagnosisReport& report, const TextOptions& options)
      : report_(report),
        evidence_(report.evidence),
        diagnosis_(report.diagnosis),
        options_(options) {}

  std::string run() {
    add_verdict();
    models::TaskGraph graph;  // has only the fields that the head of the report shows
    Report end{graph, diagnosis_.explanation, {}, {}, {}, {}, {}};
    if (report_.all) end.all_waits = diagnosis_.waits;
    text_ += hang_text(end, options_);
    add_roots();
    add_suspects();
    add_unplaced();
    add_checks();
    add_ranks();
    add_groups();
    text_ += stuck_text(end, options_);
    add_why();
    text_ += next_text(next_steps(evidence_, diagnosis_), options_);
    return std::move(text_);
  }

 private:
  void add_verdict();
  void add_roots();
  void add_root(const DiagnosisRoot& root, const std::vector<std::uint32_t>& ranks,
                const std::string& behind);
  void add_absent(const DiagnosisRoot& root, const std::vector<std::uint32_t>& ranks,
                  const std::string& behind);
  void add_ended(const DiagnosisRoot& root, const std::vector<std::uint32_t>& ranks,
                 const std::string& behind);
  void add_unexplained(const DiagnosisRoot& root, const std::string& behind);
  void add_suspects();
  void add_unplaced();
  void add_checks();
  void add_why();
  std::string lead() const;
  std::string lead_of_unplaced() const;
  std::string lead_of_open_groups() const;
  std::string lead_without_calls() const;
  std::string places_of_hosts() const;
  // Whether the root is an unknown cause in a group that may have further members.
  bool is_open_group(const DiagnosisRoot& root) const {
    return root.reason == RootReason::kUnexplained && root.group < evidence_.groups.size() &&
           !evidence_.groups[root.group].all_members;
  }
  // Whether the calls of `rank` were counted from logs, because only a dump has all calls.
  bool is_counted(std::uint32_t rank) const { return !evidence_.ranks[rank].complete; }
  std::string host_text(std::uint32_t rank) const {
    return host_standing_text(evidence_.ranks[rank], rank);
  }
  static std::string call_text(const DiagnosisRoot& root) {
    return models::printable(op_text(root.first.from.op));
  }
  void add_ranks();
  void add_groups();
  void add_cut(std::size_t left) {
    if (left > 0) text_ += fmt::format("  and {} more (--all lists them)\n", left);
  }
  void add(std::string_view text, std::size_t first, std::size_t rest) {
    text_ += paragraph(text, options_.width, first, rest);
  }
  void add_heading(const std::string& text) {
    text_ += fmt::format("\n{}\n", styled(options_, ansi::kBold, text));
  }
  std::size_t shown(std::size_t rows) const {
    return report_.all ? rows : std::min(rows, kMaxAccountRows);
  }

  const DiagnosisReport& report_;
  const models::Evidence& evidence_;
  const models::Diagnosis& diagnosis_;
  const TextOptions& options_;
  std::string text_;
};

void DiagnosisText::add_verdict() {
  const std::string verdict = upper_case(diagnosis_.explanation.verdict == Verdict::kStarved
                                             ? "hangs"
                                             : diagnosis_verdict(diagnosis_));
  const Verdict found = diagnosis_.explanation.verdict;
  const char* colour = verdict_style(found);
  std::vector<std::uint32_t> without;
  std::vector<std::uint32_t> silent;
  for (const models::RankStanding& rank : diagnosis_.ranks) {
    if (!rank.has_dump) (is_counted(rank.rank) ? silent : without).push_back(rank.rank);
  }
  text_ +=
      fmt::format("{}{}{}   {}, {} not done   {}\n", styled(options_, ansi::kBold, evidence_.name),
                  evidence_.name.empty() ? "" : "  ", styled(options_, colour, verdict),
                  counted(diagnosis_.ranks.size(), "rank"), counted(diagnosis_.pending, "call"),
                  styled(options_, ansi::kDim, evidence_.format));
  add(lead(), 0, 2);
  if (!without.empty()) {
    text_ += fmt::format("No dump from {}\n", ranks_text(without));
  }
  if (!silent.empty()) {
    text_ += fmt::format("No log line shows what {} called\n", ranks_text(silent));
  }
  if (has_unknown_cycle(diagnosis_.explanation)) {
    text_ += "The cycle is not shown. This rests on the network: nothing that was sent is lost.\n";
  }
  if (found == Verdict::kLimit && diagnosis_.pending == 0) {
    for (const std::string& gap : evidence_.gaps) add(capitalized(gap) + ".", 0, 2);
  }
  for (const std::string& note : report_.notes) add(note, 0, 2);
}

// Returns the lead of the report, which answers in one sentence who waits for whom.
std::string DiagnosisText::lead() const {
  const models::Explanation& explanation = diagnosis_.explanation;
  if (!explanation.cycle.empty()) return summary_text(explanation);
  if (!explanation.mismatches.empty()) return {};  // the report lists the mismatches right below
  if (has_unknown_cycle(explanation)) {
    return "Each rank waits for another one, so none can go on: " + places_of_hosts() + ".";
  }
  std::vector<std::uint32_t> ranks;
  for (const DiagnosisRoot& root : diagnosis_.roots) {
    if (root.reason != RootReason::kUnexplained) ranks.push_back(root.rank);
  }
  if (!ranks.empty()) {
    return fmt::format("The job waits for {}{}.", ranks_text(ranks),
                       ranks.size() == 1 ? clause_of_root(evidence_.ranks[ranks.front()]) : "");
  }
  if (!diagnosis_.unplaced.empty()) return lead_of_unplaced();
  if (!diagnosis_.suspects.empty()) {
    for (const models::Suspect& suspect : diagnosis_.suspects) ranks.push_back(suspect.rank);
    if (models::may_start(diagnosis_)) {
      return fmt::format("The job may still start: {} run{}, and the others wait for {} to join.",
                         ranks_text(ranks), ranks.size() == 1 ? "s" : "",
                         ranks.size() == 1 ? "it" : "them");
    }
    return fmt::format("Not enough to tell who is to blame; look at {} first.", ranks_text(ranks));
  }
  if (explanation.verdict != Verdict::kLimit) return {};
  return diagnosis_.pending == 0 ? lead_without_calls() : lead_of_open_groups();
}

// Names the ranks that wait in groups of unknown members.
std::string DiagnosisText::lead_of_open_groups() const {
  std::vector<std::uint32_t> ranks;
  for (const DiagnosisRoot& root : diagnosis_.roots) {
    if (is_open_group(root)) ranks.push_back(root.first.from.rank);
  }
  if (ranks.empty()) return "Not enough to tell who is to blame.";
  std::sort(ranks.begin(), ranks.end());
  return fmt::format(
      "Not enough to tell who is to blame: nothing shows who else is in the groups in which {} "
      "wait{}.",
      ranks_text(ranks), ranks.size() == 1 ? "s" : "");
}

// Reports hosts that wait although no recorded call is pending.
std::string DiagnosisText::lead_without_calls() const {
  const std::string places = places_of_hosts();
  return places.empty() ? places : capitalized(places) + ".";
}

// Returns "ranks 0 and 1 wait in recv, called in step (train.py:66); rank 2 waits in ...".
std::string DiagnosisText::places_of_hosts() const {
  std::map<std::string, std::vector<std::uint32_t>> ranks_at;
  for (std::uint32_t rank = 0; rank < evidence_.ranks.size(); ++rank) {
    const auto& host = evidence_.ranks[rank].host;
    if (host && host->blocked) ranks_at[host->at].push_back(rank);
  }
  if (ranks_at.empty()) return {};
  constexpr std::size_t kMaxPlaces = 3;
  std::string text;
  std::size_t count = 0;
  for (const auto& [at, ranks] : ranks_at) {
    if (count++ == kMaxPlaces) break;
    text += fmt::format("{}{} wait{} in {}", text.empty() ? "" : "; ", ranks_text(ranks),
                        ranks.size() == 1 ? "s" : "", at);
  }
  const std::size_t left = ranks_at.size() - std::min(kMaxPlaces, ranks_at.size());
  if (left > 0) text += fmt::format("; others wait in {}", counted(left, "other place"));
  return text;
}

// Names one process in the worst state; add_unplaced() lists all processes.
std::string DiagnosisText::lead_of_unplaced() const {
  const auto worst =
      std::max_element(diagnosis_.unplaced.begin(), diagnosis_.unplaced.end(),
                       [](const auto& a, const auto& b) { return a.state < b.state; });
  return fmt::format("{} {}{}{}.", capitalized(worst->name), unplaced_text(*worst),
                     worst->reason.empty() ? "" : "; ", worst->reason);
}

// Lists processes of unknown rank. Their rank in a communicator need not be their rank in the job.
void DiagnosisText::add_unplaced() {
  if (diagnosis_.unplaced.size() < 2) return;  // already named in the lead
  add_heading("Processes of unknown rank:");
  const std::size_t count = shown(diagnosis_.unplaced.size());
  for (std::size_t i = 0; i < count; ++i) {
    const models::ProcessStanding& process = diagnosis_.unplaced[i];
    add(fmt::format("{} {}", process.name, unplaced_text(process)), 2, 4);
  }
  add_cut(diagnosis_.unplaced.size() - count);
}

// Lists ranks that may be the root, if the evidence does not decide.
void DiagnosisText::add_suspects() {
  if (diagnosis_.suspects.empty()) return;
  add_heading("Unknown; it may be one of these:");
  const std::size_t count = shown(diagnosis_.suspects.size());
  for (std::size_t i = 0; i < count; ++i) {
    const models::Suspect& suspect = diagnosis_.suspects[i];
    const std::string& process = evidence_.ranks[suspect.rank].process.name;
    std::string text = fmt::format("rank {}", suspect.rank);
    if (!process.empty()) text += fmt::format(" ({})", process);
    const bool silent =
        evidence_.ranks[suspect.rank].process.state == models::ProcessState::kSilent;
    if (silent) text += " did not answer";
    if (suspect.waiting > 0) {
      text += fmt::format("{} {} {}; {} may wait for it, rank {}'s first", silent ? ", and" : ":",
                          suspect.behind ? "it has not called" : "nothing shows whether it called",
                          models::printable(op_text(suspect.first.from.op)),
                          counted(suspect.waiting, "call"), suspect.first.from.rank);
    }
    add(text, 2, 4);
    if (!host_text(suspect.rank).empty()) add(host_text(suspect.rank), 6, 6);
  }
  add_cut(diagnosis_.suspects.size() - count);
}

void DiagnosisText::add_why() {
  if (!report_.why) return;
  const std::string rows = reasons_table(evidence_, diagnosis_, options_.width);
  if (rows.empty()) return;
  add_heading("Why:");
  text_ += rows;
}

// Lists the roots. Roots of the same kind that the same call waits for share an entry.
void DiagnosisText::add_roots() {
  if (diagnosis_.roots.empty()) return;
  add_heading(roots_heading(diagnosis_.explanation));
  std::vector<std::vector<const DiagnosisRoot*>> groups;
  for (const DiagnosisRoot& root : diagnosis_.roots) {
    const auto alike = [&](const std::vector<const DiagnosisRoot*>& group) {
      const DiagnosisRoot& other = *group.front();
      return other.reason == root.reason && root.reason != RootReason::kDeviceStopped &&
             op_text(other.first.from.op) == op_text(root.first.from.op) &&
             other.first.from.op.stream == root.first.from.op.stream &&
             other.first.kind == WaitKind::kPeerOfCollective &&
             root.first.kind == WaitKind::kPeerOfCollective;
    };
    const auto known = std::find_if(groups.begin(), groups.end(), alike);
    if (known == groups.end()) {
      groups.push_back({&root});
    } else {
      known->push_back(&root);
    }
  }
  for (const auto& group : groups) {
    std::vector<std::uint32_t> ranks;
    std::uint32_t least = group.front()->waiting;
    std::uint32_t most = least;
    for (const DiagnosisRoot* root : group) {
      ranks.push_back(root->rank);
      least = std::min(least, root->waiting);
      most = std::max(most, root->waiting);
    }
    add_root(*group.front(), ranks,
             fmt::format("{}{} wait{} for {}", least == most ? "" : fmt::format("{} to ", least),
                         counted(most, "call"), most == 1 ? "s" : "",
                         ranks.size() == 1 ? "it" : "each"));
  }
}

void DiagnosisText::add_root(const DiagnosisRoot& root, const std::vector<std::uint32_t>& ranks,
                             const std::string& behind) {
  switch (root.reason) {
    case RootReason::kNotCalled:
      return add_absent(root, ranks, behind);
    case RootReason::kDeviceStopped:
      add(fmt::format("{} never reported {} as finished; {}", ranks_text(ranks), call_text(root),
                      behind),
          2, 4);
      return add(fmt::format("rank {} did finish it, which takes rank {}, too, and is at #{}: the "
                             "device of rank {} no longer reports anything",
                             root.peer, root.rank, root.peer_came, root.rank),
                 6, 6);
    case RootReason::kDied:
    case RootReason::kStopped:
      return add_ended(root, ranks, behind);
    case RootReason::kUnexplained:
      return add_unexplained(root, behind);
  }
}

void DiagnosisText::add_absent(const DiagnosisRoot& root, const std::vector<std::uint32_t>& ranks,
                               const std::string& behind) {
  const models::OpInfo& waiter = root.first.from.op;
  const bool one = ranks.size() == 1;
  const std::string who = ranks_text(ranks);
  const std::string call = call_text(root);
  if (root.first.kind == WaitKind::kPeerOfMessage) {
    add(fmt::format("{} never posted {} of rank {}'s {}; {}", who, matching_text(waiter),
                    waiter.rank, call, behind),
        2, 4);
  } else {
    add(fmt::format("{} never called {}; {}, rank {}'s first", who, call, behind, waiter.rank), 2,
        4);
  }
  const std::string host = host_text(root.rank);
  if (!host.empty() && one) return add(host, 6, 6);
  const char* whose = one ? "its" : "their";
  if (is_counted(root.rank)) {
    return add(fmt::format("no line says where {} host{}", whose, one ? " stands" : "s stand"), 6,
               6);
  }
  add(fmt::format("nothing that {} called is pending: look at what {} host{}", one ? "it" : "they",
                  whose, one ? " does" : "s do"),
      6, 6);
}

void DiagnosisText::add_ended(const DiagnosisRoot& root, const std::vector<std::uint32_t>& ranks,
                              const std::string& behind) {
  const models::ProcessStanding& process = evidence_.ranks[root.rank].process;
  const std::string name = process.name.empty() ? "" : fmt::format(" ({})", process.name);
  const bool failed = process.state == models::ProcessState::kFailed;
  const char* end = root.reason == RootReason::kStopped              ? "is stopped"
                    : failed                                         ? "raised an error"
                    : process.reason.starts_with("no process of it") ? "is missing"
                                                                     : "is dead";
  add(fmt::format("{}{} {}{}", ranks_text(ranks), name, end, root.waiting > 0 ? "; " + behind : ""),
      2, 4);
  if (!process.reason.empty()) add(process.reason, 6, 6);
  if (failed && !host_text(root.rank).empty()) add(host_text(root.rank), 6, 6);
}

void DiagnosisText::add_unexplained(const DiagnosisRoot& root, const std::string& behind) {
  const std::uint32_t rank = root.first.from.rank;
  const std::string call = call_text(root);
  if (!is_open_group(root)) {
    add(fmt::format("all members called rank {} {}, and nothing is queued before it; {}", rank,
                    call, behind),
        2, 4);
    return add("these dumps do not show why it is stuck: check the devices and the network", 6, 6);
  }
  const models::EvidenceGroup& group = evidence_.groups[root.group];
  const std::size_t known = group.ranks.size();
  add(fmt::format("rank {} is in {}; {}", rank, call, behind), 2, 4);
  const std::string size = group.size > known ? fmt::format(" of its {} members", group.size) : "";
  add(known == 1
          ? fmt::format("nothing shows who else is in its group{}",
                        size.empty() ? "" : fmt::format(", which has {} members", group.size))
          : fmt::format("{}{} are known, and may all have called it: {}", known,
                        size.empty() ? " members of its group" : size, ranks_text(group.ranks)),
      6, 6);
}

// Lists incomplete and mismatched calls only.
void DiagnosisText::add_checks() {
  Table table;
  std::size_t rows = 0;
  std::size_t wanted = 0;
  for (const CollectiveCheck& check : diagnosis_.checks) {
    if (check.result != CheckResult::kMatched) ++wanted;
  }
  for (const CollectiveCheck& check : diagnosis_.checks) {
    if (check.result == CheckResult::kMatched || rows == shown(wanted)) continue;
    ++rows;
    std::string who;
    if (!check.missing.empty()) {
      std::vector<std::uint32_t> called = check.called;
      called.insert(called.end(), check.counted.begin(), check.counted.end());
      std::sort(called.begin(), called.end());
      who = fmt::format("not called by {}, called by {}", ranks_text(check.missing),
                        ranks_text(called));
    } else if (!check.culprits.empty()) {
      std::vector<std::uint32_t> ranks;
      for (const models::Culprit& culprit : check.culprits) ranks.push_back(culprit.rank);
      const models::MatchResult& first = check.culprits.front().result;
      const std::string side =
          check.other_side.empty() ? "" : ranks_text(check.other_side) + " against ";
      who = fmt::format("{}{} {}: {}", side, ranks_text(ranks), match_name(first.match),
                        first.difference);
    } else if (!check.without_dump.empty()) {
      who = fmt::format("unknown for {}", ranks_text(check.without_dump));
    }
    table.add({fmt::format("{}#{}", check.op, check.sequence),
               group_name(evidence_.groups[check.group]), std::string(check_name(check.result)),
               who});
  }
  if (rows == 0) return;
  add_heading("First incomplete or mismatched collective of each group:");
  text_ += table.fitted(options_.width, 2);
  add_cut(wanted - rows);
}

// Lists the progress of the ranks. Merges equal rows.
void DiagnosisText::add_ranks() {
  const bool any_host = std::any_of(evidence_.ranks.begin(), evidence_.ranks.end(),
                                    [](const auto& rank) { return rank.host.has_value(); });
  if (diagnosis_.pending == 0 && !any_host) return;
  std::map<std::vector<std::string>, std::size_t> row_of;
  std::vector<std::pair<std::vector<std::string>, std::vector<std::uint32_t>>> rows;
  for (const models::RankStanding& rank : diagnosis_.ranks) {
    std::vector<std::string> row = {"", "", "nothing"};
    row[1] = rank.has_dump ? std::to_string(rank.pending) : is_counted(rank.rank) ? "?" : "no dump";
    if (rank.has_dump && rank.at) {
      row[2] = fmt::format("{} ({})", models::printable(op_text(*rank.at)), stage_text(*rank.at));
      if (!rank.at->at.empty()) row[2] += ", " + rank.at->at;
    } else if (const auto& host = evidence_.ranks[rank.rank].host) {
      row[2] = fmt::format("host {} {}", host->blocked ? "waits in" : "in", host->at);
    } else if (!rank.has_dump) {
      row[2].clear();
    }
    const auto [known, is_new] = row_of.emplace(row, rows.size());
    if (is_new) rows.emplace_back(row, std::vector<std::uint32_t>());
    rows[known->second].second.push_back(rank.rank);
  }
  Table table({styled(options_, ansi::kBold, "rank"), styled(options_, ansi::kBold, "not done"),
               styled(options_, ansi::kBold, "at")});
  const std::size_t count = shown(rows.size());
  for (std::size_t i = 0; i < count; ++i) {
    rows[i].first.front() = short_ranges(rows[i].second);
    table.add(rows[i].first);
  }
  text_ += "\n" + table.fitted(options_.width);
  add_cut(rows.size() - count);
}

// Lists groups whose members are at different calls.
void DiagnosisText::add_groups() {
  const std::vector<models::GroupStanding>& all = diagnosis_.groups;
  Table table({styled(options_, ansi::kBold, "group"), styled(options_, ansi::kBold, "rank"),
               styled(options_, ansi::kBold, "called"), styled(options_, ansi::kBold, "done"),
               styled(options_, ansi::kBold, "not done")});
  std::size_t rows = 0;
  std::size_t left = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end].group == all[i].group) ++end;
    if (end - i > 1 || report_.all) {
      for (std::size_t row = i; row < end; ++row) {
        if (rows >= kMaxAccountRows && !report_.all) {
          ++left;
          continue;
        }
        ++rows;
        table.add({row == i ? group_name(evidence_.groups[all[i].group]) : "",
                   short_ranges(all[row].ranks), called_text(all[row]),
                   call_number_text(all[row].completed), std::to_string(all[row].pending)});
      }
    }
    i = end;
  }
  if (rows == 0) return;
  text_ += "\n" + table.fitted(options_.width);
  add_cut(left);
}

}  // namespace

std::string diagnosis_verdict(const models::Diagnosis& diagnosis) {
  switch (diagnosis.explanation.verdict) {
    case Verdict::kCompleted:
      return "nothing wrong found";
    case Verdict::kLimit:
      return "undecided";
    default:
      return std::string(models::verdict_name(diagnosis.explanation.verdict));
  }
}

std::string diagnosis_text(const DiagnosisReport& report, const TextOptions& options) {
  return DiagnosisText(report, options).run();
}

}  // namespace pipesim::viz
