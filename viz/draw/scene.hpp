// A picture of boxes and texts, as SVG by hand or through Graphviz.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "viz/draw/graphviz.hpp"

namespace pipesim::viz {

/// All lengths are pixels (points on paper), from the left and from the top.
class Scene {
 public:
  struct Box {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;
    std::string fill = {};    // #rrggbb; empty: nothing
    std::string stroke = {};  // likewise
    double stroke_width = 1;
    bool hatched = false;    // something waits here
    std::string label = {};  // in the middle; the caller sees to it that it fits
    std::string ink = "#000000";
    double size = 11;      // of the label
    std::string tip = {};  // shown when the mouse is over it
  };

  enum class Anchor { kStart, kMiddle, kEnd };

  struct Text {
    double x = 0;
    double y = 0;  // of the middle of the line
    std::string text;
    double size = 12;
    Anchor anchor = Anchor::kStart;
    bool bold = false;
    std::string ink = "#1d2733";
  };

  Scene(double width, double height, std::string title)
      : width_(width), height_(height), title_(std::move(title)) {}

  void add(Box box) { items_.push_back({std::move(box), {}, true}); }
  void add(Text text) { items_.push_back({{}, std::move(text), false}); }

  /// What comes first is drawn first.
  std::string svg() const;

  /// In any format; through Graphviz in all but SVG, with the same boxes and texts. Throws
  /// DrawingError.
  std::string drawing(PictureFormat format) const;

 private:
  struct Item {
    Box box;
    Text text;
    bool is_box = false;
  };

  double width_;
  double height_;
  std::string title_;  // for those who do not see it
  std::vector<Item> items_;
};

/// About as wide as `text` is in the font of pictures, rather more: in the unit of `size`.
double text_width(std::string_view text, double size);

/// `text`, cut so that it is at most `width` wide; empty where not even a few letters are.
std::string fitted(std::string_view text, double size, double width);

}  // namespace pipesim::viz
