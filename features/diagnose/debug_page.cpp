#include "features/diagnose/debug_page.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "features/diagnose/evidence.hpp"
#include "features/diagnose/log_lines.hpp"

namespace pipesim::formats {
namespace {

constexpr std::string_view kTitle = "<h2>";
constexpr std::string_view kHeading = "<h2>Rank ";
constexpr std::string_view kRankHeading = "=== Rank ";
constexpr std::string_view kFailed = "<p>Failed to fetch";

// Replaces HTML entities.
std::string without_entities(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 7> kEntities = {{{"&lt;", '<'},
                                                                           {"&gt;", '>'},
                                                                           {"&amp;", '&'},
                                                                           {"&quot;", '"'},
                                                                           {"&#34;", '"'},
                                                                           {"&#x27;", '\''},
                                                                           {"&#39;", '\''}}};
  std::string result;
  while (!text.empty()) {
    const auto* entity = std::find_if(kEntities.begin(), kEntities.end(),
                                      [&](const auto& it) { return text.starts_with(it.first); });
    const bool found = entity != kEntities.end();
    result += found ? entity->second : text.front();
    text.remove_prefix(found ? entity->first.size() : 1);
  }
  return result;
}

std::string_view without(std::string_view line, std::string_view tag) {
  const std::string_view text = trimmed(line);
  if (text.starts_with(tag)) return text.substr(tag.size());
  return line;
}

// Returns the cells of a row of a table, with blanks between them.
std::string cells_text(std::string_view row) {
  std::string result;
  for (std::size_t cell = row.find("<td"); cell != std::string_view::npos; cell = row.find("<td")) {
    const std::size_t begin = row.find('>', cell);
    if (begin == std::string_view::npos) break;
    row.remove_prefix(begin + 1);
    result += without_entities(row.substr(0, row.find("</td>"))) + "  ";
  }
  return result;
}

}  // namespace

bool is_debug_page(std::string_view text) {
  return has_trace_tables(text) || (text.find("<pre>") != std::string_view::npos &&
                                    text.find(kHeading) != std::string_view::npos);
}

bool has_trace_tables(std::string_view text) {
  return text.find("<h2>Memberships</h2>") != std::string_view::npos;
}

std::string debug_page_text(std::string_view page) {
  std::string result;
  bool within = false;  // whether the line belongs to an answer
  while (!page.empty()) {
    const std::size_t end = std::min(page.find('\n'), page.size());
    std::string_view line = page.substr(0, end);
    page.remove_prefix(std::min(end + 1, page.size()));
    const std::string_view text = trimmed(line);
    if (text.starts_with(kHeading)) {
      const std::size_t close = std::min(text.find("</h2>"), text.size());
      result += kRankHeading;
      result += without_entities(text.substr(kHeading.size(), close - kHeading.size())) + " ===";
    } else if (!within && text.starts_with(kTitle)) {
      result += "--- " + std::string(word_after(text, kTitle, "<")) + " ---";
    } else if (!within && text.starts_with("<tr>")) {
      result += cells_text(text);
    } else if (!within && text.starts_with("<pre>")) {
      within = true;
      line = without(line, "<pre>");
    }
    const std::size_t close = line.find("</pre>");
    if (within) result += without_entities(line.substr(0, close));
    if (!within && text.starts_with(kFailed)) result += kFailed;
    within = within && close == std::string_view::npos;
    result += '\n';
  }
  return result;
}

std::vector<DebugPagePart> debug_page_parts(std::string_view page) {
  const std::string text = debug_page_text(page);
  std::vector<DebugPagePart> parts;
  for (std::size_t begin = text.find(kRankHeading); begin != std::string::npos;) {
    const std::size_t next = text.find("\n" + std::string(kRankHeading), begin);
    const std::string_view part =
        std::string_view(text).substr(begin, next == std::string::npos ? next : next - begin);
    begin = next == std::string::npos ? next : next + 1;
    const auto rank = number_after<std::uint32_t>(part, kRankHeading);
    const std::string_view answer = part.substr(std::min(part.find('\n'), part.size()));
    const bool failed = answer.find(kFailed) != std::string_view::npos;
    if (rank && *rank < models::kMaxEvidenceRanks && !failed) {
      constexpr std::string_view kBlanks = " \n\r\t";
      const std::size_t first = std::min(answer.find_first_not_of(kBlanks), answer.size());
      const std::size_t last = answer.find_last_not_of(kBlanks) + 1;
      parts.push_back({*rank, std::string(answer.substr(first, last - std::min(first, last)))});
    }
  }
  return parts;
}

}  // namespace pipesim::formats
