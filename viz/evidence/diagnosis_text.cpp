#include "viz/evidence/diagnosis_text.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "models/measure/expectation.hpp"
#include "viz/styled.hpp"
#include "viz/table.hpp"
#include "viz/text/text_report.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using models::CheckResult;
using models::CollectiveCheck;
using models::DiagnosisRoot;
using models::RootReason;
using sim::Verdict;
using sim::WaitKind;

// Of long lists, unless all is asked for.
constexpr std::size_t kMaxAccountRows = 40;

std::string number_text(std::int64_t number) {
  return number < 0 ? "none" : fmt::format("#{}", number);
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
    models::TaskGraph graph;  // only what heads a report
    Report end{graph, diagnosis_.explanation, {}, {}, {}, {}, {}};
    if (report_.all) end.all_waits = diagnosis_.waits;
    text_ += hang_text(end, options_);
    add_roots();
    add_checks();
    add_ranks();
    add_groups();
    text_ += stuck_text(end, options_);
    return std::move(text_);
  }

 private:
  void add_verdict();
  void add_roots();
  void add_root(const DiagnosisRoot& root, const std::vector<std::uint32_t>& ranks,
                const std::string& behind);
  void add_checks();
  void add_ranks();
  void add_groups();
  void add_cut(std::size_t left) {
    if (left > 0) text_ += fmt::format("  and {} more; --all lists them\n", left);
  }
  void add_heading(const std::string& text) {
    text_ += fmt::format("\n{}\n", styled(ansi::kBold, text));
  }
  std::string styled(const char* style, const std::string& text) const {
    return viz::styled(style, text, options_.colour);
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
  std::string verdict = diagnosis_verdict(diagnosis_);
  std::transform(verdict.begin(), verdict.end(), verdict.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const Verdict found = diagnosis_.explanation.verdict;
  const char* colour = found == Verdict::kCompleted ? ansi::kGreen
                       : found == Verdict::kLimit   ? ansi::kYellow
                                                    : ansi::kRed;
  std::vector<std::uint32_t> without;
  for (const models::RankStanding& rank : diagnosis_.ranks) {
    if (!rank.has_dump) without.push_back(rank.rank);
  }
  text_ += fmt::format(
      "{}{}{}   {}, {} not done   {}\n", styled(ansi::kBold, models::printable(evidence_.name)),
      evidence_.name.empty() ? "" : "  ", styled(colour, verdict),
      counted(diagnosis_.ranks.size(), "rank"), counted(diagnosis_.pending, "call"),
      styled(ansi::kDim, models::printable(evidence_.format)));
  if (!without.empty()) {
    text_ += fmt::format("No dump of rank{} {}\n", without.size() == 1 ? "" : "s", ranges(without));
  }
  for (const std::string& note : report_.notes) text_ += note + "\n";
}

// Roots of one kind that are waited for in one and the same call are told once.
void DiagnosisText::add_roots() {
  if (diagnosis_.roots.empty()) return;
  add_heading(diagnosis_.explanation.verdict == Verdict::kMismatch ? "Waits that end elsewhere:"
              : diagnosis_.explanation.cycle.empty()
                  ? "No cycle. What everything waits for in the end:"
                  : "Beside the cycle, waits that end elsewhere:");
  std::vector<std::vector<const DiagnosisRoot*>> groups;
  for (const DiagnosisRoot& root : diagnosis_.roots) {
    const auto alike = [&](const std::vector<const DiagnosisRoot*>& group) {
      const DiagnosisRoot& other = *group.front();
      return other.reason == root.reason && root.reason != RootReason::kDeviceStopped &&
             act_text(other.first.from.act) == act_text(root.first.from.act) &&
             other.first.from.act.stream == root.first.from.act.stream &&
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
             fmt::format("{}{} behind {}", least == most ? "" : fmt::format("{} to ", least),
                         counted(most, "call"), ranks.size() == 1 ? "it" : "each"));
  }
}

void DiagnosisText::add_root(const DiagnosisRoot& root, const std::vector<std::uint32_t>& ranks,
                             const std::string& behind) {
  const models::ActInfo& waiter = root.first.from.act;
  const bool one = ranks.size() == 1;
  const std::string who = fmt::format("rank{} {}", one ? "" : "s", ranges(ranks));
  const std::string call = models::printable(act_text(waiter));
  const bool message = root.first.kind == WaitKind::kPeerOfMessage;
  const std::string wanted =
      message ? fmt::format("the other end of rank {} {}", waiter.rank, call)
              : fmt::format("{}, for which rank {} waits first", call, waiter.rank);
  switch (root.reason) {
    case RootReason::kNotCalled:
      text_ += fmt::format("  {} never come{} to {}; {}\n", who, one ? "s" : "", wanted, behind);
      text_ += fmt::format("      nothing that {} called is pending: look at what {} host{}\n",
                           one ? "it" : "they", one ? "its" : "their", one ? " does" : "s do");
      break;
    case RootReason::kDeviceStopped:
      text_ += fmt::format("  {} does not get {} done; {}\n", who, call, behind);
      text_ += fmt::format(
          "      rank {} has done it together with rank {}, and is at #{}: the device of rank {} "
          "reports nothing any more\n",
          root.peer, root.rank, root.peer_came, root.rank);
      break;
    case RootReason::kNoDump:
      text_ += fmt::format("  {} left no dump, and nothing else explains why {} waits in {}; {}\n",
                           who, waiter.rank, call, behind);
      break;
    case RootReason::kUnexplained:
      text_ +=
          fmt::format("  all members have called rank {} {}, and nothing stands before it; {}\n",
                      waiter.rank, call, behind);
      text_ += "      these dumps do not say why it does not move: look at devices and network\n";
      break;
  }
}

// Those that match say nothing.
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
      who = fmt::format("not called by {}, called by {}", short_ranges(check.missing),
                        short_ranges(check.called));
    } else if (!check.culprits.empty()) {
      std::vector<std::uint32_t> ranks;
      for (const models::Culprit& culprit : check.culprits) ranks.push_back(culprit.rank);
      const models::MatchResult& first = check.culprits.front().result;
      who = fmt::format("rank{} {} {}: {}", ranks.size() == 1 ? "" : "s", short_ranges(ranks),
                        match_name(first.match), first.difference);
    } else if (!check.without_dump.empty()) {
      who = fmt::format("no dump of {}", short_ranges(check.without_dump));
    }
    table.add({fmt::format("{}#{}", models::printable(check.op), check.sequence),
               models::printable(group_name(evidence_.groups[check.group])),
               std::string(check_name(check.result)), who});
  }
  if (rows == 0) return;
  add_heading("Collectives that do not go together, the first of each group:");
  text_ += table.text(2);
  add_cut(wanted - rows);
}

// Ranks that say the same are told once.
void DiagnosisText::add_ranks() {
  if (diagnosis_.pending == 0) return;
  std::map<std::vector<std::string>, std::size_t> row_of;
  std::vector<std::pair<std::vector<std::string>, std::vector<std::uint32_t>>> rows;
  for (const models::RankStanding& rank : diagnosis_.ranks) {
    std::vector<std::string> row = {"", "", "nothing"};
    if (!rank.has_dump) {
      row = {"", "no dump", ""};
    } else {
      row[1] = std::to_string(rank.pending);
      if (rank.at) {
        row[2] =
            fmt::format("{} ({})", models::printable(act_text(*rank.at)), stage_text(*rank.at));
        if (!rank.at->at.empty()) row[2] += ", " + models::printable(rank.at->at);
      }
    }
    const auto [known, is_new] = row_of.emplace(row, rows.size());
    if (is_new) rows.emplace_back(row, std::vector<std::uint32_t>());
    rows[known->second].second.push_back(rank.rank);
  }
  Table table({styled(ansi::kBold, "rank"), styled(ansi::kBold, "not done"),
               styled(ansi::kBold, "stands at")});
  const std::size_t count = shown(rows.size());
  for (std::size_t i = 0; i < count; ++i) {
    rows[i].first.front() = short_ranges(rows[i].second);
    table.add(rows[i].first);
  }
  text_ += "\n" + table.text();
  add_cut(rows.size() - count);
}

// Those whose members are at different calls.
void DiagnosisText::add_groups() {
  const std::vector<models::GroupStanding>& all = diagnosis_.groups;
  Table table({styled(ansi::kBold, "group"), styled(ansi::kBold, "rank"),
               styled(ansi::kBold, "called"), styled(ansi::kBold, "done"),
               styled(ansi::kBold, "not done")});
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
        table.add({row == i ? models::printable(group_name(evidence_.groups[all[i].group])) : "",
                   short_ranges(all[row].ranks), number_text(all[row].called),
                   number_text(all[row].completed), std::to_string(all[row].pending)});
      }
    }
    i = end;
  }
  if (rows == 0) return;
  text_ += "\n" + table.text();
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
