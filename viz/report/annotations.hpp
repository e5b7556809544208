// Problems in files as CI systems and editors show them: next to the line, on the page of a pull
// request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/graph/diagnostics.hpp"
#include "viz/report/diagnostic_text.hpp"

namespace pipesim::viz {

struct Annotation {
  std::string file;
  std::uint32_t line = 0;    // from 1; 0: the whole file
  std::uint32_t column = 0;  // in characters, counted from 1; 0 without a line
  models::Severity severity = models::Severity::kError;
  std::string rule{};        // "buffer-stream", "E0903"
  std::string rule_title{};  // one line about the rule
  std::string rule_help{};   // meaning of the rule, and advice
  std::string message{};     // one line
  std::string help{};        // lines of text: the reason, and advice
};

/// Returns an annotation at `place`, with no more than file, line and column. `sources` has the
/// same meaning as in diagnostic_text().
Annotation annotation_at(models::Place place, const std::vector<SourceText>& sources);

/// Returns an annotation per diagnostic, sorted by place. `sources` has the same meaning as in
/// diagnostic_text().
std::vector<Annotation> annotations_of(const models::Diagnostics& diagnostics,
                                       const std::vector<SourceText>& sources);

/// Returns GitHub Actions workflow commands, one per line: "::error
/// file=a.yaml,line=3,col=5,...::...".
std::string github_commands(const std::vector<Annotation>& annotations);

/// Returns a SARIF log of one run with a line end. `version` is the version of pipesim.
std::string sarif(const std::vector<Annotation>& annotations, std::string_view version);

}  // namespace pipesim::viz
