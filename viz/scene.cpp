// SVG is written by hand: patterns, tips, and the same bytes everywhere. What Graphviz cannot do of
// it (diagonal hatching) it does in its own way (stripes).
#include "viz/scene.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "viz/xml.hpp"

namespace pipesim::viz {
namespace {

constexpr const char* kFont = "Helvetica, Arial, sans-serif";
constexpr double kPointsPerInch = 72;
constexpr double kStripe = 4;              // pixels
constexpr std::size_t kMostStripes = 120;  // of one box

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
  if (box.label.empty()) return;
  add_svg_text({box.x + box.width / 2, box.y + box.height / 2, box.label, box.size,
                Scene::Anchor::kMiddle, false, box.ink},
               svg);
}

// Stripes for Graphviz, as a list of colours of equal shares.
std::string stripes(const Scene::Box& box) {
  const std::string fill = box.fill.empty() ? "#ffffff" : box.fill;
  const auto wanted = static_cast<std::size_t>(std::max(1.0, box.width / (2 * kStripe)));
  std::string colours;
  for (std::size_t i = 0; i < std::min(wanted, kMostStripes); ++i) {
    if (!colours.empty()) colours += ':';
    colours += fill + ":#c4cad2";
  }
  return colours;
}

}  // namespace

double text_width(std::string_view text, double size) {
  double width = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0u) == 0x80u) continue;  // goes on with a character
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
    while (count > 0 && (static_cast<unsigned char>(text[count]) & 0xc0u) == 0x80u) --count;
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
  Graphviz graph("picture");
  graph.set(graph.root(), "fontname", "Helvetica");
  graph.set(graph.root(), "notranslate", "true");
  graph.set(graph.root(), "outputorder", "nodesfirst");
  graph.set(graph.root(), "pad", "0");
  graph.set_nodes("fixedsize", "true");
  graph.set_nodes("fontname", "Helvetica");
  graph.set_nodes("label", " ");  // an empty one is not written, and stands for the name
  graph.set_nodes("margin", "0");
  graph.set_nodes("penwidth", "0");
  graph.set_nodes("shape", "box");
  graph.set_nodes("style", "filled");
  std::size_t number = 0;
  const auto node = [&](double x, double y, double width, double height) {
    const Graphviz::Node made = graph.node(graph.root(), fmt::format("{}", ++number));
    // Graphviz measures from the lower left corner.
    graph.set(made, "pos", fmt::format("{:.2f},{:.2f}!", x + width / 2, height_ - y - height / 2));
    graph.set(made, "width", inches(width));
    graph.set(made, "height", inches(height));
    return made;
  };
  const auto write = [&](const Text& text) {
    const double width = text_width(text.text, text.size) * (text.bold ? 1.15 : 1.0) + 4;
    const double left = text.anchor == Anchor::kStart    ? text.x
                        : text.anchor == Anchor::kMiddle ? text.x - width / 2
                                                         : text.x - width;
    const Graphviz::Node made = node(left, text.y - text.size * 0.7, width, text.size * 1.4);
    const char* side = text.anchor == Anchor::kStart    ? "\\l"
                       : text.anchor == Anchor::kMiddle ? ""
                                                        : "\\r";
    graph.set(made, "shape", "plaintext");
    graph.set(made, "style", "");
    graph.set(made, "label", label_text(text.text) + side);
    graph.set(made, "fontsize", pixels(text.size));
    graph.set(made, "fontcolor", text.ink);
    if (text.bold) graph.set(made, "fontname", "Helvetica-Bold");
  };
  Graphviz::Node paper = node(0, 0, width_, height_);
  graph.set(paper, "fillcolor", "#ffffff");
  for (const Item& item : items_) {
    if (!item.is_box) {
      write(item.text);
      continue;
    }
    const Box& box = item.box;
    const Graphviz::Node made =
        node(box.x, box.y, std::max(box.width, 0.1), std::max(box.height, 0.1));
    const bool striped = box.hatched && box.width > 2 * kStripe;
    if (striped) graph.set(made, "style", "striped");
    graph.set(made, "fillcolor", striped ? stripes(box) : box.fill.empty() ? "none" : box.fill);
    if (!box.stroke.empty()) {
      graph.set(made, "color", box.stroke);
      graph.set(made, "penwidth", fmt::format("{:.1f}", box.stroke_width));
    }
    if (box.label.empty()) continue;
    write({box.x + box.width / 2, box.y + box.height / 2, box.label, box.size, Anchor::kMiddle,
           false, box.ink});
  }
  return graph.drawing(format, "nop2");
}

}  // namespace pipesim::viz
