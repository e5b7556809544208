// The texts in a picture, and whether texts overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <regex>
#include <string>
#include <vector>

namespace pipesim::testing {

struct SvgText {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
  std::string text;
};

/// Returns the texts with the rectangles that they cover, for pipesim's own SVG and for Graphviz's.
inline std::vector<SvgText> texts_of(const std::string& svg) {
  static const std::regex kText("<text ([^>]*)>([^<]*)</text>");
  static const std::regex kNumber("(?:^| )(x|y|font-size)=\"([-0-9.]+)\"");
  std::vector<SvgText> result;
  for (std::sregex_iterator i(svg.begin(), svg.end(), kText), end; i != end; ++i) {
    const std::string style = (*i)[1];
    double x = 0;
    double y = 0;
    double size = 0;
    for (std::sregex_iterator n(style.begin(), style.end(), kNumber), last; n != last; ++n) {
      const double value = std::stod((*n)[2]);
      (n->str(1) == "x" ? x : n->str(1) == "y" ? y : size) = value;
    }
    std::string text = std::regex_replace((*i)[2].str(), std::regex("&[#a-z0-9]+;"), "?");
    while (!text.empty() && text.back() == '?') text.pop_back();  // Graphviz's no-break spaces
    if (text.empty()) continue;
    // Letters of Helvetica are about half as wide as high.
    const double width = 0.5 * size * static_cast<double>(text.size());
    const bool middle = style.find("middle") != std::string::npos;
    const bool ends = style.find("\"end\"") != std::string::npos;
    const double left = middle ? x - width / 2 : ends ? x - width : x;
    result.push_back({left, left + width, y - size * 0.7, y, text});
  }
  return result;
}

inline std::vector<std::string> overlaps_in(const std::string& svg) {
  std::vector<SvgText> texts = texts_of(svg);
  std::sort(texts.begin(), texts.end(),
            [](const SvgText& a, const SvgText& b) { return a.top < b.top; });
  std::vector<std::string> found;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t j = i + 1; j < texts.size() && texts[j].top < texts[i].bottom; ++j) {
      if (texts[i].right <= texts[j].left || texts[j].right <= texts[i].left) continue;
      found.push_back(texts[i].text + " | " + texts[j].text);
    }
  }
  return found;
}

}  // namespace pipesim::testing
