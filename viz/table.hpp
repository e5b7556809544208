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
    has_header_ = !header.empty();
    if (has_header_) rows_.push_back(std::move(header));
  }

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  /// Cells are flushed left. Two spaces between columns, none at the end of a line, `indent` before
  /// it.
  std::string text(std::size_t indent = 0) const;

  /// The same where that is at most `width` wide; else a stanza for each row, in which each cell
  /// stands behind its header.
  std::string fitted(std::size_t width, std::size_t indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  bool has_header_ = false;
};

/// How many columns of a terminal `text` takes: characters of UTF-8, without colour codes.
std::size_t display_width(const std::string& text);

}  // namespace pipesim::viz
