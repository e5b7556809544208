#include "viz/report/table.hpp"

#include <algorithm>

#include "models/characters.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {

std::size_t display_width(const std::string& text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {  // a colour code ends with 'm'
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    if (!models::continues_character(text[i])) ++width;
  }
  return width;
}

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows_) {
    if (row.size() > widths.size()) widths.resize(row.size(), 0);
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::string result;
  for (const std::vector<std::string>& row : rows_) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - display_width(row[i]), ' ');
      line += row[i] + padding + "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

std::string Table::fitted(std::size_t width, std::size_t indent) const {
  std::string whole = text(indent);
  std::size_t widest = 0;
  for (std::size_t begin = 0; begin < whole.size();) {
    const std::size_t end = whole.find('\n', begin);
    widest = std::max(widest, display_width(whole.substr(begin, end - begin)));
    begin = end + 1;
  }
  if (widest <= width) return whole;
  std::string result;
  for (std::size_t row = has_header_ ? 1 : 0; row < rows_.size(); ++row) {
    std::string line;
    for (std::size_t i = 0; i < rows_[row].size(); ++i) {
      const std::string& cell = rows_[row][i];
      if (cell.empty()) continue;
      if (!line.empty()) line += has_header_ ? ", " : "  ";
      line += has_header_ ? rows_[0][i] + " " + cell : cell;
    }
    result += paragraph(line, width, indent, indent + 4);
  }
  return result;
}

}  // namespace pipesim::viz
