#include "viz/table.hpp"

#include <algorithm>

namespace pipesim::viz {

std::size_t display_width(const std::string& text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {  // a colour code ends with 'm'
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    const bool continues = (static_cast<unsigned char>(text[i]) & 0xc0u) == 0x80u;
    if (!continues) ++width;
  }
  return width;
}

std::string Table::text(std::size_t indent, bool numbered) const {
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
      line += i == 0 && numbered ? padding + row[i] : row[i] + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

}  // namespace pipesim::viz
