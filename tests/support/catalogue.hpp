// The fixes and lint findings in docs/reference/scenarios.md, for the shipped scenarios.
#pragma once

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/scenario.hpp"

namespace pipesim::testing {

struct CatalogueRow {
  std::string scenario;
  std::string fix;
  std::string lint;
};

/// Returns the rows of the page's first table, without the scenarios that complete, whose rows lack
/// these columns.
inline std::vector<CatalogueRow> catalogue() {
  std::vector<CatalogueRow> rows;
  std::istringstream page(file_text("docs/reference/scenarios.md"));
  for (std::string line; std::getline(page, line);) {
    std::vector<std::string> cells;
    for (std::size_t at = 2; at < line.size();) {
      const std::size_t end = line.find(" |", at);
      if (end == std::string::npos) break;
      cells.push_back(line.substr(at, end - at));
      at = end + 3;
    }
    if (cells.size() != 4 || cells[0].front() != '[') continue;
    rows.push_back({cells[0].substr(1, cells[0].find(']') - 1), cells[2], cells[3]});
  }
  return rows;
}

/// Returns the parts of `text` in backquotes.
inline std::vector<std::string> quoted_code(const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t at = text.find('`'); at != std::string::npos;) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string::npos) break;
    found.push_back(text.substr(at + 1, end - at - 1));
    at = text.find('`', end + 1);
  }
  return found;
}

}  // namespace pipesim::testing
