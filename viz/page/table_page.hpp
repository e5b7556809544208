// A page that does not show a run: text, tables and a plot in the frame of the other pages.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/result/explanation.hpp"
#include "viz/report/data_table.hpp"

namespace pipesim::viz {

struct TablePage {
  using Cell = DataTable::Cell;
  using Column = DataTable::Column;
  struct Part {
    std::string id;     // anchor in the page: letters and '-' only
    std::string name;   // entry in the table of contents; empty: not listed
    std::string title;  // heading; empty: continues the previous part
    std::string about{};
    std::string left_out{};
    std::string svg{};
    std::vector<std::string> lines{};
    std::vector<Column> columns{};
    std::vector<std::vector<Cell>> rows{};
    bool sorts = true;
    bool beside = false;  // next to the previous part, if the window is wide enough
  };
  std::string name;
  std::string headline;  // text after the name: "differ"
  std::string verdict;
  bool good = false;
  std::vector<std::string> story;  // paragraphs
  std::vector<Part> parts;         // parts without lines, rows and plot are omitted
  std::string text;                // full report, as in the terminal
  std::string made_by;
};

/// Maximum number of rows of a table.
inline constexpr std::size_t kMaxPageRows = 4'000;

/// Returns a table with a row per wait, including the line in the user's program if known.
TablePage::Part cycle_part(std::string id, std::string title,
                           const std::vector<models::Wait>& cycle);

/// Returns lines about failures, mismatched calls and missing ops; empty for a run that completed
/// or ended in a cycle.
std::vector<std::string> reason_lines(const models::Explanation& end);

/// Returns the page as HTML.
std::string html_page(const TablePage& page);

}  // namespace pipesim::viz
