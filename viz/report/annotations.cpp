#include "viz/report/annotations.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "models/characters.hpp"

namespace pipesim::viz {
namespace {

using models::Place;
using models::Severity;

// Returns line `number` of `text`, from 1; empty if the text has fewer lines.
std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// Escapes `text` for a workflow command as GitHub's runner expects.
std::string escaped(std::string_view text, bool is_property) {
  std::string result;
  for (const char c : text) {
    const bool reserved =
        c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ','));
    result += reserved ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return result;
}

}  // namespace

Annotation annotation_at(Place place, const std::vector<SourceText>& sources) {
  const SourceText& source = sources[std::min<std::size_t>(place.file, sources.size() - 1)];
  Annotation result{.file = std::string(source.path), .line = place.line};
  if (place.line == 0) return result;
  const std::string_view before =
      line_of(source.text, place.line).substr(0, place.column > 0 ? place.column - 1 : 0);
  result.column =
      1 + static_cast<std::uint32_t>(std::count_if(before.begin(), before.end(), [](char c) {
        return !models::continues_character(c);
      }));
  return result;
}

std::vector<Annotation> annotations_of(const models::Diagnostics& diagnostics,
                                       const std::vector<SourceText>& sources) {
  std::vector<Annotation> result;
  for (const models::Diagnostic& diagnostic : diagnostics.sorted()) {
    Annotation& annotation = result.emplace_back(annotation_at(diagnostic.place, sources));
    annotation.severity = diagnostic.severity;
    annotation.rule = models::code_id(diagnostic.code);
    const models::CodeInfo& code = *models::find_code(annotation.rule);
    annotation.rule_title = code.title;
    annotation.rule_help = code.about;
    annotation.message = models::printable(diagnostic.message);
    for (const std::string& note : diagnostic.notes) {
      annotation.help += models::printable(note) + "\n";
    }
    annotation.help += models::code_help(diagnostic.code);
  }
  return result;
}

std::string github_commands(const std::vector<Annotation>& annotations) {
  std::string text;
  for (const Annotation& annotation : annotations) {
    text +=
        fmt::format("::{} file={}", annotation.severity == Severity::kError ? "error" : "warning",
                    escaped(annotation.file, true));
    if (annotation.line > 0) {
      text += fmt::format(",line={},col={}", annotation.line, annotation.column);
    }
    text += fmt::format(",title={}::{}\n", escaped("pipesim " + annotation.rule, true),
                        escaped(annotation.message + "\n" + annotation.help, false));
  }
  return text;
}

}  // namespace pipesim::viz
