#include "features/lint/lint_text.hpp"

#include <fmt/format.h>

#include "models/outside_text.hpp"
#include "viz/report/table.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {

using models::LintFinding;

namespace {

constexpr std::size_t kNamedOps = 3;

std::vector<std::uint32_t> numbers(const models::RankSet& ranks) {
  return {ranks.begin(), ranks.end()};
}

// Returns "on ranks 0 to 3, "; empty if the finding is about all ranks.
std::string on_ranks(const LintFinding& finding, std::uint32_t ranks) {
  const std::size_t count = finding.ranks.size();
  if (count == 0 || count == ranks) return {};
  return fmt::format("on {}, ", ranks_text(numbers(finding.ranks)));
}

// Names the ops of the finding except the first, whose name is in the message.
std::string others(const LintFinding& finding) {
  std::string text;
  for (std::size_t i = 1; i < finding.ops.size() && i < kNamedOps; ++i) {
    text += fmt::format("{}'{}'", i == 1 ? "" : ", ", finding.ops[i]);
  }
  if (finding.ops.size() > kNamedOps) {
    text += fmt::format(" and {} more", finding.ops.size() - kNamedOps);
  }
  return text;
}

}  // namespace

std::string lint_page(std::string_view rule) {
  return fmt::format("docs/reference/lint.md#{}", rule);
}

std::string lint_message(const LintFinding& finding, std::uint32_t ranks) {
  return on_ranks(finding, ranks) + finding.message;
}

std::vector<std::string> lint_notes(const LintFinding& finding) {
  std::vector<std::string> notes = {"why: " + finding.why};
  const std::string also = others(finding);
  if (!also.empty()) notes.push_back("also: " + also);
  if (!finding.advice.empty()) notes.push_back("help: " + finding.advice);
  notes.push_back("see " + lint_page(finding.rule));
  return notes;
}

models::Diagnostics lint_diagnostics(const std::vector<LintFinding>& findings,
                                     std::uint32_t ranks) {
  models::Diagnostics diagnostics;
  for (const LintFinding& finding : findings) {
    models::Diagnostic& item = diagnostics.suspect(
        finding.place, fmt::format("{} [{}]", lint_message(finding, ranks), finding.rule));
    item.notes = lint_notes(finding);
  }
  return diagnostics;
}

std::vector<Annotation> lint_annotations(const std::vector<models::LintFinding>& findings,
                                         std::uint32_t ranks,
                                         const std::vector<SourceText>& sources) {
  std::vector<Annotation> result;
  for (const models::LintFinding& finding : findings) {
    Annotation& annotation = result.emplace_back(annotation_at(finding.place, sources));
    annotation.severity = models::Severity::kSuspect;
    annotation.rule = finding.rule;
    annotation.rule_title = models::lint_rule(finding.rule).about;
    annotation.rule_help =
        fmt::format("See docs/reference/lint.md#{} in the sources of pipesim.", finding.rule);
    annotation.message = models::printable(lint_message(finding, ranks));
    for (const std::string& note : lint_notes(finding)) {
      annotation.help += (annotation.help.empty() ? "" : "\n") + models::printable(note);
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
