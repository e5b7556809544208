// SVG is written directly, for patterns, tooltips and the same bytes on every machine. Graphviz
// lacks diagonal hatching; pictures that it draws have stripes instead.
#include "viz/pictures/scene.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "models/outside_text.hpp"
#include "viz/pictures/palette.hpp"
#include "viz/report/dot_program.hpp"
#include "viz/report/text_width.hpp"
#include "viz/report/words.hpp"
#include "viz/report/xml.hpp"

namespace pipesim::viz {
namespace {

constexpr double kPointsPerInch = 72;
constexpr double kStripe = 8.5;      // pixels between the lines of a hatched box, along its edge
constexpr double kMaxStripes = 150;  // maximum number of lines per box
constexpr double kArrow = 7;         // length of an arrowhead

// Formats a length in pixels, rounded to a tenth of a pixel and without a fraction ".0". The text
// is short, and the same on every machine.
std::string pixels(double value) {
  const double tenths = std::round(value * 10) / 10;
  if (tenths == std::floor(tenths)) return fmt::format("{:.0f}", tenths);
  return fmt::format("{:.1f}", tenths);
}

std::string inches(double pixels) { return fmt::format("{:.4f}", pixels / kPointsPerInch); }

const char* anchor_name(Scene::Anchor anchor) {
  switch (anchor) {
    case Scene::Anchor::kStart:
      return "start";
    case Scene::Anchor::kMiddle:
      return "middle";
    case Scene::Anchor::kEnd:
      break;
  }
  return "end";
}

void add_svg_text(const Scene::Text& text, std::string& svg) {
  if (!text.tip.empty()) svg += fmt::format("<g><title>{}</title>", xml_text(text.tip));
  // The middle of small letters is about 0.35 of the font size above the base line.
  svg += fmt::format(R"(<text x="{}" y="{}" font-size="{}" fill="{}")", pixels(text.x),
                     pixels(text.y + text.size * 0.35), pixels(text.size), text.ink);
  if (text.anchor != Scene::Anchor::kStart) {
    svg += fmt::format(R"( text-anchor="{}")", anchor_name(text.anchor));
  }
  if (text.bold) svg += R"( font-weight="bold")";
  svg += fmt::format(">{}</text>{}\n", xml_text(text.text), text.tip.empty() ? "" : "</g>");
}

Scene::Text label_of(const Scene::Box& box) {
  return {box.x + box.width / 2,
          box.y + box.height / 2,
          box.label,
          box.size,
          Scene::Anchor::kMiddle,
          false,
          box.ink};
}

void add_svg_box(const Scene::Box& box, std::string& svg) {
  const std::string place =
      fmt::format(R"(x="{}" y="{}" width="{}" height="{}")", pixels(box.x), pixels(box.y),
                  pixels(std::max(box.width, 0.1)), pixels(std::max(box.height, 0.1)));
  const bool group = !box.tip.empty();
  if (group) svg += fmt::format("<g><title>{}</title>", xml_text(box.tip));
  svg += fmt::format(R"(<rect {} fill="{}")", place, box.fill.empty() ? "none" : box.fill);
  if (!box.stroke.empty() && !box.hatched) {
    svg += fmt::format(R"( stroke="{}" stroke-width="{}")", box.stroke,
                       fmt::format("{:.1f}", box.stroke_width));
  }
  // Avoids seams between adjacent boxes.
  if (box.stroke.empty()) svg += R"( shape-rendering="crispEdges")";
  svg += "/>";
  if (box.hatched) {
    svg += fmt::format(R"svg(<rect {} fill="url(#waits)")svg", place);
    if (!box.stroke.empty()) {
      svg += fmt::format(R"( stroke="{}" stroke-width="{}")", box.stroke,
                         fmt::format("{:.1f}", box.stroke_width));
    }
    svg += "/>";
  }
  // Adds the label inside the group, so that its letters also show the tooltip.
  if (!box.label.empty()) {
    svg += '\n';
    add_svg_text(label_of(box), svg);
    if (group) svg += "</g>\n";
  } else {
    svg += group ? "</g>\n" : "\n";
  }
}

void add_svg_path(const Scene::Path& path, std::string& svg) {
  if (!path.tip.empty()) svg += fmt::format("<g><title>{}</title>", xml_text(path.tip));
  svg += "<path d=\"";
  for (std::size_t i = 0; i < path.points.size(); ++i) {
    svg += fmt::format("{}{} {}", i == 0 ? "M" : "L", pixels(path.points[i].x),
                       pixels(path.points[i].y));
  }
  svg += fmt::format(R"({}" fill="{}")", path.fill.empty() ? "" : "Z",
                     path.fill.empty() ? "none" : path.fill);
  if (!path.stroke.empty()) {
    svg += fmt::format(R"( stroke="{}" stroke-width="{:.1f}")", path.stroke, path.stroke_width);
  }
  if (path.dashed) svg += R"( stroke-dasharray="5 3")";
  svg += path.tip.empty() ? "/>\n" : "/></g>\n";
}

// Returns the hatching of a box: parallel lines that rise from left to right.
std::vector<Scene::Path> hatching(const Scene::Box& box) {
  std::vector<Scene::Path> lines;
  const double step = std::max(kStripe, (box.width + box.height) / kMaxStripes);
  const auto count = static_cast<int>((box.width + box.height) / step);
  for (int i = 1; i <= count; ++i) {
    const double at = i * step;
    const double left = std::max(0.0, at - box.height);
    const double right = std::min(at, box.width);
    lines.push_back(
        {.points = {{box.x + left, box.y + at - left}, {box.x + right, box.y + at - right}},
         .stroke = kGrey,
         .stroke_width = 1});
  }
  return lines;
}

/// A Graphviz graph whose nodes are labels at fixed positions, on a background of shapes in xdot.
class Pinned {
 public:
  /// `scale` and `offset` turn places of items into places in the picture.
  Pinned(double width, double height, const std::string& paper, double scale, Scene::Point offset)
      : height_(height), scale_(scale), offset_(offset), graph_("picture") {
    graph_.set(graph_.root(), "bgcolor", paper);
    graph_.set(graph_.root(), "fontname", "Helvetica");
    graph_.set(graph_.root(), "notranslate", "true");
    graph_.set(graph_.root(), "pad", "0");
    graph_.set_nodes("fixedsize", "true");
    graph_.set_nodes("fontname", "Helvetica");
    // Graphviz does not write an empty label, and then shows the name of the node instead.
    graph_.set_nodes("label", " ");
    graph_.set_nodes("margin", "0");
    graph_.set_nodes("shape", "plaintext");
    graph_.set(placed_node(0, 0, width, height), "style", "invis");  // the background paper
  }

  void add(const Scene::Box& box) {
    const double width = std::max(box.width, 0.1);
    const double height = std::max(box.height, 0.1);
    Scene::Path shape{.points = {{box.x, box.y},
                                 {box.x + width, box.y},
                                 {box.x + width, box.y + height},
                                 {box.x, box.y + height}},
                      .fill = box.fill};
    if (!box.fill.empty()) add(shape);
    if (box.hatched) {
      for (const Scene::Path& line : hatching(box)) add(line);
    }
    if (!box.stroke.empty()) {
      shape.fill.clear();
      shape.points.push_back(shape.points.front());
      shape.stroke = box.stroke;
      shape.stroke_width = box.stroke_width;
      add(shape);
    }
    if (!box.label.empty()) add(label_of(box));
  }

  void add(const Scene::Path& path) {
    if (!path.fill.empty()) {
      word("C", path.fill);
      word("c", "#00000000");
      points("P", path.points);
    }
    if (path.stroke.empty()) return;
    std::vector<Scene::Point> line = path.points;
    if (!path.fill.empty()) line.push_back(line.front());
    word("S", fmt::format("setlinewidth({:.1f})", path.stroke_width * scale_));
    word("S", path.dashed ? "dashed" : "solid");
    word("c", path.stroke);
    points("L", line);
  }

  void add(const Scene::Text& text) {
    using Anchor = Scene::Anchor;
    const double width = text_width(text.text, text.size) * (text.bold ? 1.15 : 1.0) + 4;
    const bool starts = text.anchor == Anchor::kStart;
    const bool middle = text.anchor == Anchor::kMiddle;
    const double left = starts ? text.x : middle ? text.x - width / 2 : text.x - width;
    const Graphviz::Node made = node(left, text.y - text.size * 0.7, width, text.size * 1.4);
    graph_.set(made, "label", label_text(text.text) + (starts ? "\\l" : middle ? "" : "\\r"));
    graph_.set(made, "fontsize", pixels(text.size * scale_));
    graph_.set(made, "fontcolor", text.ink);
    if (text.bold) graph_.set(made, "fontname", "Helvetica-Bold");
  }

  std::string drawing(PictureFormat format) {
    graph_.set(graph_.root(), "_background", shapes_);
    const std::string dot = graph_.dot();
    return format == PictureFormat::kDot ? dot : drawn_by_dot(dot, "nop2", name_of(format));
  }

 private:
  Graphviz::Node node(double x, double y, double width, double height) {
    return placed_node((x + offset_.x) * scale_, (y + offset_.y) * scale_, width * scale_,
                       height * scale_);
  }

  Graphviz::Node placed_node(double x, double y, double width, double height) {
    const Graphviz::Node made = graph_.node(graph_.root(), fmt::format("{}", ++count_));
    // Graphviz measures from the lower left corner.
    graph_.set(made, "pos", fmt::format("{:.2f},{:.2f}!", x + width / 2, height_ - y - height / 2));
    graph_.set(made, "width", inches(width));
    graph_.set(made, "height", inches(height));
    return made;
  }

  void word(const char* op, const std::string& text) {
    shapes_ += fmt::format("{} {} -{} ", op, text.size(), text);
  }

  void points(const char* op, const std::vector<Scene::Point>& of) {
    shapes_ += fmt::format("{} {} ", op, of.size());
    for (const Scene::Point& point : of) {
      shapes_ += fmt::format("{:.2f} {:.2f} ", (point.x + offset_.x) * scale_,
                             height_ - (point.y + offset_.y) * scale_);
    }
  }

  double height_;
  double scale_;
  Scene::Point offset_;
  std::size_t count_ = 0;
  std::string shapes_;
  Graphviz graph_;
};

}  // namespace

void Scene::add(Path path) {
  const bool arrow = path.arrow && path.points.size() > 1;
  Path head{.fill = path.stroke};
  if (arrow) {
    Point& tip = path.points.back();
    const Point& from = path.points[path.points.size() - 2];
    const double length = std::hypot(tip.x - from.x, tip.y - from.y);
    const double x = length > 0 ? (tip.x - from.x) / length : 1;
    const double y = length > 0 ? (tip.y - from.y) / length : 0;
    const Point base{tip.x - kArrow * x, tip.y - kArrow * y};
    const double half = kArrow * 0.4;
    head.points = {
        tip, {base.x - half * y, base.y + half * x}, {base.x + half * y, base.y - half * x}};
    tip = base;
  }
  items_.emplace_back(std::move(path));
  if (arrow) items_.emplace_back(std::move(head));
}

void Scene::add_fitted(Text text, double width) {
  const std::string cut = fitted(text.text, text.size, width);
  if (cut != text.text) text.tip = std::exchange(text.text, cut);
  add(std::move(text));
}

double Scene::add_head(const std::vector<std::string>& about) {
  constexpr double kSide = 16;
  constexpr double kLine = 18;
  const double space = width_ - 2 * kSide;
  add(Text{kSide, 24, fitted(title_, 17, space), 17, Anchor::kStart, true});
  double y = 46;
  for (const std::string& line : about) {
    add(Text{kSide, y, fitted(line, 12, space)});
    y += kLine;
  }
  return y;
}

double Scene::add_key(double x, double y, Box look, const std::string& meaning) {
  constexpr double kSize = 11;
  look.x = x;
  look.y = y;
  look.width = 16;
  look.height = 12;
  add(std::move(look));
  add(Text{x + 21, y + 6, meaning, kSize});
  return x + 21 + text_width(meaning, kSize) + 16;
}

void Scene::add_below(Scene other) {
  for (Item& item : other.items_) {
    if (auto* path = std::get_if<Path>(&item)) {
      for (Point& point : path->points) point.y += height_;
    }
    if (auto* box = std::get_if<Box>(&item)) box->y += height_;
    if (auto* text = std::get_if<Text>(&item)) text->y += height_;
    items_.push_back(std::move(item));
  }
  height_ += other.height_;
}

void Scene::finish(const PictureStyle& style) {
  dark_ = style.dark;
  if (!style.title.empty()) set_title(style.title);
  set_made_by(style.made_by);
  scale_ = style.font_scale;
  if (style.aspect <= 0) return;
  left_ = std::max(0.0, (height_ * style.aspect - width_) / 2);
  above_ = std::max(0.0, (width_ / style.aspect - height_) / 2);
}

// Replaces the title, which add_head() added as the first item.
void Scene::set_title(const std::string& title) {
  title_ = models::printable(title);
  auto* head = items_.empty() ? nullptr : std::get_if<Text>(&items_.front());
  if (head != nullptr) head->text = fitted(title_, head->size, width_ - 2 * head->x);
}

void Scene::set_made_by(const std::string& made_by) {
  constexpr double kSize = 9;
  constexpr double kLine = 12;
  constexpr double kSide = 12;
  constexpr std::size_t kMaxLines = 3;
  const double letter = text_width("n", kSize);
  const auto columns = static_cast<std::size_t>(std::max(20.0, (width_ - 2 * kSide) / letter));
  const std::vector<std::string> lines = wrapped(made_by, columns);
  for (std::size_t i = 0; i < std::min(lines.size(), kMaxLines); ++i) {
    add(Text{.x = kSide,
             .y = height_ + kLine / 2 - 3,
             .text = fitted(lines[i], kSize, width_ - kSide),
             .size = kSize,
             .ink = kGreyText});
    height_ += kLine;
  }
}

Scene::Item Scene::themed(Item item) const {
  if (!dark_) return item;
  if (auto* text = std::get_if<Text>(&item)) text->ink = dark_of(text->ink);
  if (auto* path = std::get_if<Path>(&item)) {
    path->fill = dark_of(path->fill);
    path->stroke = dark_of(path->stroke);
  }
  if (auto* box = std::get_if<Box>(&item)) {
    const std::string fill = dark_of(box->fill);
    if (box->fill.empty() || fill != box->fill) box->ink = dark_of(box->ink);  // text on the box
    box->fill = fill;
    box->stroke = dark_of(box->stroke);
  }
  return item;
}

std::string Scene::svg() const {
  const double width = width_ + 2 * left_;
  const double height = height_ + 2 * above_;
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{}" height="{}" viewBox="{} {} {} {}" )"
      R"(font-family="{}" role="img" aria-label="{}">)"
      "\n"
      R"(<defs><pattern id="waits" width="6" height="6" patternUnits="userSpaceOnUse" )"
      R"svg(patternTransform="rotate(45)"><rect width="1.5" height="6" fill="#8d99ae"/></pattern>)svg"
      R"(</defs>)"
      "\n",
      pixels(width * scale_), pixels(height * scale_), pixels(0 - left_), pixels(0 - above_),
      pixels(width), pixels(height), kFonts, xml_text(title_));
  svg += fmt::format(R"(<rect {}width="{}" height="{}" fill="{}"/>)"
                     "\n",
                     left_ + above_ > 0
                         ? fmt::format(R"(x="{}" y="{}" )", pixels(0 - left_), pixels(0 - above_))
                         : "",
                     pixels(width), pixels(height), dark_ ? dark_of(kPaper) : kPaper);
  for (const Item& of : items_) {
    const Item item = themed(of);
    if (const auto* box = std::get_if<Box>(&item)) add_svg_box(*box, svg);
    if (const auto* text = std::get_if<Text>(&item)) add_svg_text(*text, svg);
    if (const auto* path = std::get_if<Path>(&item)) add_svg_path(*path, svg);
  }
  return svg + "</svg>\n";
}

std::string Scene::drawing(PictureFormat format) const {
  if (format == PictureFormat::kSvg) return svg();
  Pinned picture((width_ + 2 * left_) * scale_, (height_ + 2 * above_) * scale_,
                 dark_ ? dark_of(kPaper) : kPaper, scale_, {left_, above_});
  for (const Item& item : items_) {
    std::visit([&](const auto& of) { picture.add(of); }, themed(item));
  }
  return picture.drawing(format);
}

}  // namespace pipesim::viz
