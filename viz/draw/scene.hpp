// A picture of boxes, texts and lines, as SVG by hand or through Graphviz.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "viz/draw/graphviz.hpp"

namespace pipesim::viz {

/// The most that a picture takes in both directions unless the user asks for all of it: with what
/// made it at its foot 2,400 by 3,200 dots of a PNG, which has 96 to the inch.
inline constexpr double kPageWidth = 1800;
inline constexpr double kPageHeight = 2364;

/// How a picture is to be made.
struct PictureStyle {
  bool all = false;  // nothing is folded, however large it gets
  bool dark = false;
  std::string made_by{};  // "pipesim 0.1: pipesim draw a.yaml --set acc=2": stands at the foot
};

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
    std::string tip = {};  // as of a box
  };

  struct Point {
    double x = 0;
    double y = 0;
  };

  /// A line through points or, if it is filled, what they enclose.
  struct Path {
    std::vector<Point> points = {};
    std::string fill = {};
    std::string stroke = {};
    double stroke_width = 1;
    bool dashed = false;
    bool arrow = false;  // at the last point
    std::string tip = {};
  };

  Scene(double width, double height, std::string title)
      : width_(width), height_(height), title_(std::move(title)) {}

  void add(Box box) { items_.emplace_back(std::move(box)); }
  void add(Text text) { items_.emplace_back(std::move(text)); }
  void add(Path path);

  double width() const { return width_; }
  double height() const { return height_; }

  /// Light text on a dark page; what has a colour keeps it.
  void set_dark(bool dark) { dark_ = dark; }

  /// Puts at the foot what made the picture.
  void set_made_by(const std::string& made_by);

  /// What comes first is drawn first.
  std::string svg() const;

  /// In any format; through Graphviz in all but SVG, with the same boxes and texts. Throws
  /// DrawingError.
  std::string drawing(PictureFormat format) const;

 private:
  using Item = std::variant<Box, Text, Path>;

  Item themed(Item item) const;

  double width_;
  double height_;
  std::string title_;  // for those who do not see it
  bool dark_ = false;
  std::vector<Item> items_;
};

}  // namespace pipesim::viz
