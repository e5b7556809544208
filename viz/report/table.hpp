// Text in aligned columns.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pipesim::viz {

/// A table of text; each column is as wide as its widest cell. Widths are in UTF-8 characters;
/// color codes have no width.
class Table {
 public:
  explicit Table(std::vector<std::string> header = {}) {
    has_header_ = !header.empty();
    if (has_header_) rows_.push_back(std::move(header));
  }

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  /// Returns the table with cells flushed left. Columns are two spaces apart, lines have no
  /// trailing spaces and start with `indent` spaces.
  std::string text(std::size_t indent = 0) const;

  /// Returns text() if it is at most `width` wide. Otherwise returns a stanza per row, with each
  /// cell after its header.
  std::string fitted(std::size_t width, std::size_t indent = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  bool has_header_ = false;
};

/// Returns the number of terminal columns of `text`: UTF-8 characters without color codes.
std::size_t display_width(const std::string& text);

}  // namespace pipesim::viz
