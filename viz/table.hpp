// Text in aligned columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pipesim::viz {

/// Rows of cells; each column is as wide as its widest cell. Widths are counted in characters of
/// UTF-8, and what a cell says to a terminal (colours) takes no room.
class Table {
 public:
  explicit Table(std::vector<std::string> header = {}) {
    if (!header.empty()) rows_.push_back(std::move(header));
  }

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  /// The first column is flushed right where `numbered`; the others are flushed left. Two spaces
  /// between columns, none at the end of a line, `indent` before it.
  std::string text(std::size_t indent = 0, bool numbered = false) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// How many columns of a terminal `text` takes: characters of UTF-8, without colour codes.
std::size_t display_width(const std::string& text);

}  // namespace pipesim::viz
