// The colours of all pictures.
//
// Work of a pipeline has the colours that papers give it, forward blue and backward warm. All are
// told apart by the colour-blind, and forward, backward and weight gradient also by how light they
// are: a picture that is printed without colour still shows which is which.
#pragma once

#include <array>
#include <map>
#include <string>

#include "models/measure/timeline.hpp"

namespace pipesim::viz {

/// How a kind of work is shown.
struct KindStyle {
  const char* name;   // in legends
  const char* fill;   // #rrggbb
  const char* text;   // on it
  const char* shape;  // of its node in a graph, by Graphviz's names
  bool rounded = false;
};

/// By WorkKind.
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

inline constexpr const char* kStrong = "#c1121f";    // the cycle, the hang
inline constexpr const char* kGrey = "#8d99ae";      // what is of less interest
inline constexpr const char* kGreyText = "#5c677d";  // likewise
inline constexpr const char* kInk = "#1d2733";       // text and outlines
inline constexpr const char* kPaper = "#ffffff";
inline constexpr const char* kPanel = "#f4f6f9";     // what stands together
inline constexpr const char* kRule = "#e4e8ee";      // lines behind all else
inline constexpr const char* kSent = "#2a7db5";      // activations, to the next stage
inline constexpr const char* kReturned = "#b8791a";  // gradients, back

/// What a colour of paper and ink is on a dark page; all others stay as they are.
inline std::string dark_of(const std::string& colour) {
  static const std::map<std::string, std::string> kDark = {
      {"#000000", "#f0f3f6"}, {kInk, "#e6edf3"},      {kPaper, "#0d1117"},  {kPanel, "#1a212b"},
      {kRule, "#2c343f"},     {kGreyText, "#a3adba"}, {kStrong, "#ff6b6b"},
  };
  const auto found = kDark.find(colour);
  return found == kDark.end() ? colour : found->second;
}

}  // namespace pipesim::viz
