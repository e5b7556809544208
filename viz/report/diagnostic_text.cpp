#include "viz/report/diagnostic_text.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "models/characters.hpp"
#include "viz/report/styled.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::Diagnostic;
using models::Severity;

// Maximum bytes of an excerpt, and bytes kept before the caret, which are enough to recognize the
// place.
constexpr std::size_t kLineWidth = 72;
constexpr std::size_t kBeforeCaret = 36;

// Maximum bytes of a message: names from the user can have any length.
constexpr std::size_t kMessageWidth = 500;

std::string shortened(const std::string& raw) {
  std::string text = models::printable(raw);
  if (text.size() <= kMessageWidth) return text;
  std::size_t cut = kMessageWidth;
  while (cut > 0 && models::continues_character(text[cut])) --cut;
  return text.substr(0, cut) + "...";
}

class Source {
 public:
  explicit Source(std::string_view text) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      lines_.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  /// Returns the line and, below it, a caret. Shows tabs as one space and control characters as
  /// '?'.
  std::string excerpt(models::Place place) const {
    if (place.line == 0 || place.line > lines_.size()) return {};
    std::string_view line = lines_[place.line - 1];
    std::size_t column =
        std::min<std::size_t>(place.column > 0 ? place.column - 1 : 0, line.size());
    std::string before;
    if (line.size() > kLineWidth && column > kBeforeCaret) {
      std::size_t cut = column - kBeforeCaret;
      while (cut < column && models::continues_character(line[cut])) {
        ++cut;  // moves to the start of a character
      }
      line.remove_prefix(cut);
      column -= cut;
      before = "...";
    }
    std::string after;
    if (line.size() > kLineWidth) {
      std::size_t cut = kLineWidth;
      while (cut > 0 && models::continues_character(line[cut])) --cut;
      line = line.substr(0, cut);
      after = "...";
    }
    std::string shown(line);
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c == '\t' || c == '\r'; }, ' ');
    shown = models::printable(shown);
    std::string caret(before.size(), ' ');
    for (std::size_t i = 0; i < std::min(column, shown.size()); ++i) {
      if (!models::continues_character(shown[i])) caret += ' ';
    }
    return fmt::format("  {}{}{}\n  {}^\n", before, shown, after, caret);
  }

 private:
  std::vector<std::string_view> lines_;
};

struct Label {
  const char* word;
  const char* colour;
  const char* note;  // start of each note
};

Label label_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return {"error", "31;1", "help: "};
    case Severity::kSuspect:
      return {"suspect", "35;1", ""};
    case Severity::kWarning:
      break;
  }
  return {"warning", "33;1", "help: "};
}

std::string rendered(const Diagnostic& item, std::string_view path, const Source& source,
                     bool colour) {
  const auto [word, code, note_word] = label_of(item.severity);
  const bool coded = item.code != models::Code::kNone;
  const std::string head =
      fmt::format("{}{}:", word, coded ? fmt::format("[{}]", models::code_id(item.code)) : "");
  const std::string label = colour ? fmt::format("\033[{}m{}\033[0m", code, head) : head;
  const std::string message = shortened(item.message);
  std::string text = item.place.line == 0
                         ? fmt::format("{}: {} {}\n", models::printable(path), label, message)
                         : fmt::format("{}:{}:{}: {} {}\n", models::printable(path),
                                       item.place.line, item.place.column, label, message);
  // Wraps the message of a lint finding. The message of an error stays on one line for editors and
  // grep; its notes are wrapped.
  const bool prose = item.severity == Severity::kSuspect;
  if (prose) text = paragraph(text.substr(0, text.size() - 1), kDefaultWidth, 0, 4);
  text += source.excerpt(item.place);
  for (const std::string& note : item.notes) {
    const std::string line = fmt::format("{}{}", note_word, shortened(note));
    text += paragraph(line, kDefaultWidth, 2, 4);
  }
  return text;
}

}  // namespace

std::string diagnostic_text(const models::Diagnostics& diagnostics, std::string_view path,
                            std::string_view text, bool colour) {
  return diagnostic_text(diagnostics, {{path, text}}, colour);
}

std::string diagnostic_text(const models::Diagnostics& diagnostics,
                            const std::vector<SourceText>& sources, bool colour) {
  std::vector<Source> lines;
  for (const SourceText& source : sources) lines.emplace_back(source.text);
  const std::vector<Diagnostic> items = diagnostics.sorted();
  std::string result;
  const std::size_t shown = std::min(items.size(), kMaxDiagnostics);
  std::set<models::Code> explained = {models::Code::kNone};
  for (std::size_t i = 0; i < shown; ++i) {
    Diagnostic item = items[i];
    // A message without advice gets the advice of its code, once per code.
    if (item.notes.empty() && explained.insert(item.code).second) {
      item.notes.push_back(models::code_help(item.code));
    }
    const std::size_t file = item.place.file < sources.size() ? item.place.file : 0;
    result += rendered(item, sources[file].path, lines[file], colour);
  }
  if (items.size() > shown) result += fmt::format("and {} more\n", items.size() - shown);
  return result;
}

}  // namespace pipesim::viz
