// The colors of all pictures.
//
// Pipeline work has the colors used in papers: blue for forward, warm for backward. Color-blind
// readers can distinguish all colors. Forward, backward and weight gradient also differ in
// brightness, so they stay distinct in black and white.
#pragma once

#include <array>
#include <map>
#include <string>

#include "models/result/timeline.hpp"

namespace pipesim::viz {

/// The look of a kind of work.
struct KindStyle {
  const char* name;   // name in legends
  const char* fill;   // background, #rrggbb
  const char* text;   // text on the fill, #rrggbb
  const char* shape;  // shape of the kind's nodes in a graph, named as in Graphviz
  bool rounded = false;
};

/// Styles, indexed by WorkKind.
inline constexpr std::array<KindStyle, models::kWorkKindCount> kKindStyles = {{
    {"compute", "#c9d8e6", "#000000", "box"},
    {"forward", "#5aa9dd", "#000000", "box"},
    {"backward", "#f8cb7d", "#000000", "box"},
    {"weight gradient", "#00705a", "#ffffff", "box"},
    {"forward and backward", "#e8e0a0", "#000000", "box"},
    {"collective", "#b5578c", "#ffffff", "octagon"},
    {"message", "#8f8f8f", "#ffffff", "box", true},
    {"buffer", "#f0e442", "#000000", "cylinder"},
    {"control", "#ffffff", "#000000", "ellipse"},
    {"host", "#d9c6a8", "#000000", "folder"},
}};

inline const KindStyle& style_of(models::WorkKind kind) {
  return kKindStyles[static_cast<std::size_t>(kind)];
}

inline constexpr const char* kFonts = "Helvetica, Arial, sans-serif";  // fonts of all pictures
inline constexpr const char* kStrong = "#c1121f";                      // marks cycles and hangs
inline constexpr const char* kGrey = "#8d99ae";                        // minor parts of a picture
inline constexpr const char* kGreyText = "#5c677d";                    // minor text
inline constexpr const char* kInk = "#1d2733";                         // text and outlines
inline constexpr const char* kPaper = "#ffffff";
inline constexpr const char* kPanel = "#f4f6f9";     // background of a panel
inline constexpr const char* kRule = "#e4e8ee";      // grid lines, below everything else
inline constexpr const char* kSent = "#2a7db5";      // activations sent to the next stage
inline constexpr const char* kReturned = "#b8791a";  // gradients sent back

/// Returns the dark-page equivalent of a color of paper or ink; all other colors stay as they are.
inline std::string dark_of(const std::string& colour) {
  static const std::map<std::string, std::string> kDark = {
      {"#000000", "#f0f3f6"}, {kInk, "#e6edf3"},      {kPaper, "#0d1117"},  {kPanel, "#1a212b"},
      {kRule, "#2c343f"},     {kGreyText, "#a3adba"}, {kStrong, "#ff6b6b"},
  };
  const auto found = kDark.find(colour);
  return found == kDark.end() ? colour : found->second;
}

}  // namespace pipesim::viz
