// A page without a run of its own: text, tables and a plot in the frame of the other pages.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/explain/explanation.hpp"

namespace pipesim::viz {

struct TablePage {
  /// A number is one of the unit of its column; nothing is an empty cell.
  using Cell = std::variant<std::monostate, std::string, std::int64_t>;
  struct Column {
    std::string name;
    const char* type = "text";  // "number", "time", "bytes", "rank", "cycle": as tables.js knows it
  };
  struct Part {
    std::string id;     // of letters and '-'
    std::string name;   // in the contents; empty: it is not there
    std::string title;  // what follows has no place if it is empty
    std::string about{};
    std::string left_out{};
    std::string svg{};
    std::vector<std::string> lines{};
    std::vector<Column> columns{};
    std::vector<std::vector<Cell>> rows{};
    bool sorts = true;
    bool beside = false;  // the part before, where the window is wide enough
  };
  std::string name;
  std::string headline;  // what stands behind the name: "differ"
  std::string verdict;
  bool good = false;
  std::vector<std::string> story;  // paragraphs
  std::vector<Part> parts;         // those without a line, a row and a plot are left out
  std::string text;                // all that is known, as the terminal shows it
  std::string made_by;
};

/// How many rows a table has at most.
inline constexpr std::size_t kMaxPageRows = 4'000;

/// A row for each wait, with the place in the user's program where one is known.
TablePage::Part cycle_part(std::string id, std::string title,
                           const std::vector<models::Wait>& cycle);

/// What broke, what met and does not fit, and what is waited for in vain; empty of a run that
/// completed and of one that ends in a cycle.
std::vector<std::string> reason_lines(const models::Explanation& end);

/// The page as HTML.
std::string html_page(const TablePage& page);

}  // namespace pipesim::viz
