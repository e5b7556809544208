// A picture of boxes, text and lines, drawn as SVG directly or through Graphviz.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "viz/pictures/graphviz.hpp"

namespace pipesim::viz {

/// Maximum size of a picture, in pixels, unless the user asks for the whole picture. Together with
/// the command at the foot, a page is 2,400 by 3,200 dots as PNG (96 per inch).
inline constexpr double kPageWidth = 1800;
inline constexpr double kPageHeight = 2364;

/// Options of a picture.
struct PictureStyle {
  bool all = false;  // folds nothing, however large the picture gets
  bool dark = false;
  // Command that made the picture, shown at its foot: "pipesim 0.1: pipesim draw a.yaml --set
  // acc=2".
  std::string made_by{};
  std::string title{};  // replaces the title of the picture; empty: its own title
  std::string model{};  // note on the NCCL model of the run, after the title's facts; may be empty
  double font_scale = 1;  // size of all text, relative to the default
  double aspect = 0;      // width divided by height; 0: as the contents need
};

/// A picture under construction. All lengths are in pixels (points on paper). Positions are
/// measured from the top left corner.
class Scene {
 public:
  struct Box {
    double x = 0;
    double y = 0;
    double width = 0;
    double height = 0;
    std::string fill = {};    // #rrggbb; empty: not filled
    std::string stroke = {};  // #rrggbb; empty: no outline
    double stroke_width = 1;
    bool hatched = false;    // marks waiting
    std::string label = {};  // text in the middle; the caller checks that it fits
    std::string ink = "#000000";
    double size = 11;      // font size of the label
    std::string tip = {};  // tooltip
  };

  enum class Anchor { kStart, kMiddle, kEnd };

  struct Text {
    double x = 0;
    double y = 0;  // vertical middle of the line
    std::string text;
    double size = 12;
    Anchor anchor = Anchor::kStart;
    bool bold = false;
    std::string ink = "#1d2733";
    std::string tip = {};  // tooltip
  };

  struct Point {
    double x = 0;
    double y = 0;
  };

  /// A line through `points` or, if `fill` is set, the area enclosed by them.
  struct Path {
    std::vector<Point> points = {};
    std::string fill = {};
    std::string stroke = {};
    double stroke_width = 1;
    bool dashed = false;
    bool arrow = false;  // arrowhead at the last point
    std::string tip = {};
  };

  Scene(double width, double height, std::string title)
      : width_(width), height_(height), title_(std::move(title)) {}

  /// Adds a box. The caller can change it later, for example when the height of its content is
  /// known.
  Box& add(Box box) { return std::get<Box>(items_.emplace_back(std::move(box))); }
  void add(Text text) { items_.emplace_back(std::move(text)); }
  void add(Path path);

  /// Adds text, cut to `width`. If the text is cut, its tooltip has the whole text.
  void add_fitted(Text text, double width);

  /// Adds the title, and the lines of `about` below it. Returns the middle of the next line.
  double add_head(const std::vector<std::string>& about);

  /// Adds a key of the legend at (`x`, `y`): a small box that looks like `look`, and its meaning.
  /// Returns the x of the next key.
  double add_key(double x, double y, Box look, const std::string& meaning);

  double height() const { return height_; }
  void set_height(double height) { height_ = height; }

  /// Adds the items of `other` below those of this picture, which grows by its height.
  void add_below(Scene other);

  /// Applies the colors, title, command and size of `style`. Colored items keep their color on a
  /// dark page. Called once, after all items were added.
  void finish(const PictureStyle& style);

  /// Returns the picture as SVG. Items are drawn in the order in which they were added.
  std::string svg() const;

  /// Returns the picture in any format: SVG directly, all others through Graphviz with the same
  /// boxes and text. Throws DrawingError.
  std::string drawing(PictureFormat format) const;

 private:
  using Item = std::variant<Box, Text, Path>;

  Item themed(Item item) const;
  void set_title(const std::string& title);
  void set_made_by(const std::string& made_by);

  double width_;
  double height_;
  std::string title_;  // title for screen readers
  bool dark_ = false;
  double scale_ = 1;  // pixels of the picture per pixel of the items
  double left_ = 0;   // margins that give the picture its aspect, in pixels of the items
  double above_ = 0;
  std::deque<Item> items_;  // a deque: add() returns references
};

}  // namespace pipesim::viz
