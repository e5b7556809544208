#include "features/lint/lint_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/outside_text.hpp"
#include "viz/report/table.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {

using models::LintFinding;

namespace {

// Returns "on ranks 0 to 3, "; empty if the finding is about all ranks.
std::string on_ranks(const std::vector<std::uint32_t>& affected, std::uint32_t ranks) {
  if (affected.empty() || affected.size() == ranks) return {};
  return fmt::format("on {}, ", ranks_text(affected));
}

// Names the ops of the finding except the first, whose name is in the message.
std::string others(const std::vector<std::string>& ops) {
  constexpr std::size_t kNamedOps = 3;
  if (ops.size() < 2) return {};
  const auto end = ops.begin() + static_cast<std::ptrdiff_t>(std::min(kNamedOps, ops.size()));
  return fmt::format(
      "also: '{}'{}", fmt::join(ops.begin() + 1, end, "', '"),
      ops.size() > kNamedOps ? fmt::format(" and {} more", ops.size() - kNamedOps) : "");
}

// Returns the section of a finding. Its first line is the message; the other lines are notes.
Section section_of(const LintFinding& finding, std::uint32_t ranks) {
  const std::vector<std::uint32_t> affected(finding.ranks.begin(), finding.ranks.end());
  const std::string page = fmt::format("docs/reference/lint.md#{}", finding.rule);
  Section section(std::string(finding.rule));
  section.say("rule", finding.rule).at(finding.place);
  section.say("message", finding.message, on_ranks(affected, ranks) + finding.message);
  section.say("ops", finding.ops).say("ranks", affected);
  section.say("why", finding.why, "why: " + finding.why).line(others(finding.ops));
  if (!finding.advice.empty()) section.say("advice", finding.advice, "help: " + finding.advice);
  section.say("reports", models::lint_rule(finding.rule).reports);
  return section.say("page", page, "see " + page);
}

}  // namespace

Section lint_report(const std::vector<LintFinding>& findings, std::string_view what,
                    std::string_view name, std::uint32_t ranks) {
  std::vector<Section> sections;
  for (const LintFinding& finding : findings) sections.push_back(section_of(finding, ranks));
  return report_about(what, name).list("findings", std::move(sections));
}

models::Diagnostics lint_diagnostics(const std::vector<LintFinding>& findings,
                                     std::uint32_t ranks) {
  models::Diagnostics diagnostics;
  for (const LintFinding& finding : findings) {
    const Section section = section_of(finding, ranks);
    models::Diagnostic& item = diagnostics.suspect(
        finding.place, fmt::format("{} [{}]", section.lines().front().words, finding.rule));
    for (std::size_t i = 1; i < section.lines().size(); ++i) {
      item.notes.push_back(section.lines()[i].words);
    }
  }
  return diagnostics;
}

std::vector<Annotation> lint_annotations(const std::vector<models::LintFinding>& findings,
                                         std::uint32_t ranks,
                                         const std::vector<SourceText>& sources) {
  std::vector<Annotation> result;
  for (const models::LintFinding& finding : findings) {
    const Section section = section_of(finding, ranks);
    Annotation& annotation = result.emplace_back(annotation_at(finding.place, sources));
    annotation.severity = models::Severity::kSuspect;
    annotation.rule = finding.rule;
    annotation.rule_title = models::lint_rule(finding.rule).about;
    annotation.rule_help =
        fmt::format("See docs/reference/lint.md#{} in the sources of pipesim.", finding.rule);
    annotation.message = models::printable(section.lines().front().words);
    for (std::size_t i = 1; i < section.lines().size(); ++i) {
      annotation.help += (i == 1 ? "" : "\n") + models::printable(section.lines()[i].words);
    }
  }
  return result;
}

std::string lint_rule_list() {
  Table table;
  for (const models::LintRule& rule : models::lint_rules()) {
    table.add({std::string(rule.name), std::string(rule.about)});
  }
  return table.text();
}

}  // namespace pipesim::viz
