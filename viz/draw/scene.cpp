// SVG is written by hand: patterns, tips, and the same bytes everywhere. What Graphviz cannot do of
// it (diagonal hatching) it does in its own way (stripes).
#include "viz/draw/scene.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/characters.hpp"
#include "viz/xml.hpp"

namespace pipesim::viz {
namespace {

constexpr const char* kFont = "Helvetica, Arial, sans-serif";
constexpr double kPointsPerInch = 72;
constexpr double kStripe = 4;             // pixels
constexpr std::size_t kMaxStripes = 120;  // of one box

// Tenths are enough, and an integer has none: shorter, and the same on all machines.
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
  // The middle of small letters is about a third of the size above the base line.
  svg += fmt::format(R"(<text x="{}" y="{}" font-size="{}" fill="{}")", pixels(text.x),
                     pixels(text.y + text.size * 0.35), pixels(text.size), text.ink);
  if (text.anchor != Scene::Anchor::kStart) {
    svg += fmt::format(R"( text-anchor="{}")", anchor_name(text.anchor));
  }
  if (text.bold) svg += R"( font-weight="bold")";
  svg += fmt::format(">{}</text>\n", xml_text(text.text));
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
  // Boxes side by side have no seams then.
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
  if (group) svg += "</g>";
  svg += '\n';
  if (!box.label.empty()) add_svg_text(label_of(box), svg);
}

// Stripes for Graphviz, as a list of colours of equal shares.
std::string stripes(const Scene::Box& box) {
  const std::string fill = box.fill.empty() ? "#ffffff" : box.fill;
  const auto wanted = static_cast<std::size_t>(std::max(1.0, box.width / (2 * kStripe)));
  std::string colours;
  for (std::size_t i = 0; i < std::min(wanted, kMaxStripes); ++i) {
    if (!colours.empty()) colours += ':';
    colours += fill + ":#c4cad2";
  }
  return colours;
}

/// A graph of nodes that say where they are.
class Pinned {
 public:
  Pinned(double width, double height) : height_(height), graph_("picture") {
    graph_.set(graph_.root(), "fontname", "Helvetica");
    graph_.set(graph_.root(), "notranslate", "true");
    graph_.set(graph_.root(), "outputorder", "nodesfirst");
    graph_.set(graph_.root(), "pad", "0");
    graph_.set_nodes("fixedsize", "true");
    graph_.set_nodes("fontname", "Helvetica");
    graph_.set_nodes("label", " ");  // an empty one is not written, and stands for the name
    graph_.set_nodes("margin", "0");
    graph_.set_nodes("penwidth", "0");
    graph_.set_nodes("shape", "box");
    graph_.set_nodes("style", "filled");
    graph_.set(node(0, 0, width, height), "fillcolor", "#ffffff");  // the paper
  }

  void add(const Scene::Box& box) {
    const Graphviz::Node made =
        node(box.x, box.y, std::max(box.width, 0.1), std::max(box.height, 0.1));
    const bool striped = box.hatched && box.width > 2 * kStripe;
    if (striped) graph_.set(made, "style", "striped");
    graph_.set(made, "fillcolor", striped ? stripes(box) : box.fill.empty() ? "none" : box.fill);
    if (!box.stroke.empty()) {
      graph_.set(made, "color", box.stroke);
      graph_.set(made, "penwidth", pixels(box.stroke_width));
    }
    if (!box.label.empty()) add(label_of(box));
  }

  void add(const Scene::Text& text) {
    using Anchor = Scene::Anchor;
    const double width = text_width(text.text, text.size) * (text.bold ? 1.15 : 1.0) + 4;
    const bool starts = text.anchor == Anchor::kStart;
    const bool middle = text.anchor == Anchor::kMiddle;
    const double left = starts ? text.x : middle ? text.x - width / 2 : text.x - width;
    const Graphviz::Node made = node(left, text.y - text.size * 0.7, width, text.size * 1.4);
    graph_.set(made, "shape", "plaintext");
    graph_.set(made, "style", "");
    graph_.set(made, "label", label_text(text.text) + (starts ? "\\l" : middle ? "" : "\\r"));
    graph_.set(made, "fontsize", pixels(text.size));
    graph_.set(made, "fontcolor", text.ink);
    if (text.bold) graph_.set(made, "fontname", "Helvetica-Bold");
  }

  std::string drawing(PictureFormat format) { return graph_.drawing(format, "nop2"); }

 private:
  Graphviz::Node node(double x, double y, double width, double height) {
    const Graphviz::Node made = graph_.node(graph_.root(), fmt::format("{}", ++count_));
    // Graphviz measures from the lower left corner.
    graph_.set(made, "pos", fmt::format("{:.2f},{:.2f}!", x + width / 2, height_ - y - height / 2));
    graph_.set(made, "width", inches(width));
    graph_.set(made, "height", inches(height));
    return made;
  }

  double height_;
  std::size_t count_ = 0;
  Graphviz graph_;
};

}  // namespace

double text_width(std::string_view text, double size) {
  double width = 0;
  for (const char c : text) {
    if (models::continues_character(c)) continue;
    const bool narrow = std::string_view(" .,:;'|!()[]ijlftI-").find(c) != std::string_view::npos;
    const bool wide = std::string_view("mwMW%@").find(c) != std::string_view::npos;
    width += narrow ? 0.38 : wide ? 0.92 : 0.64;
  }
  return width * size;
}

std::string fitted(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  constexpr std::string_view kMore = "..";
  std::size_t count = text.size();
  while (count > 0 && text_width(text.substr(0, count), size) + text_width(kMore, size) > width) {
    --count;
    while (count > 0 && models::continues_character(text[count])) --count;
  }
  return count < 3 ? std::string() : std::string(text.substr(0, count)) + std::string(kMore);
}

std::string Scene::svg() const {
  std::string svg = fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" )"
      R"(font-family="{2}" role="img" aria-label="{3}">)"
      "\n"
      R"(<defs><pattern id="waits" width="6" height="6" patternUnits="userSpaceOnUse" )"
      R"svg(patternTransform="rotate(45)"><rect width="1.5" height="6" fill="#8d99ae"/></pattern>)svg"
      R"(</defs>)"
      "\n"
      R"(<rect width="{0}" height="{1}" fill="#ffffff"/>)"
      "\n",
      pixels(width_), pixels(height_), kFont, xml_text(title_));
  for (const Item& item : items_) {
    if (item.is_box) {
      add_svg_box(item.box, svg);
    } else {
      add_svg_text(item.text, svg);
    }
  }
  return svg + "</svg>\n";
}

std::string Scene::drawing(PictureFormat format) const {
  if (format == PictureFormat::kSvg) return svg();
  Pinned picture(width_, height_);
  for (const Item& item : items_) {
    if (item.is_box) {
      picture.add(item.box);
    } else {
      picture.add(item.text);
    }
  }
  return picture.drawing(format);
}

}  // namespace pipesim::viz
