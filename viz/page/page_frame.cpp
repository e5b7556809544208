#include "viz/page/page_frame.hpp"

#include <array>
#include <cstddef>
#include <map>

#include <fmt/format.h>

#include "sim/ids.hpp"
#include "viz/pictures/palette.hpp"
#include "viz/pictures/slice_look.hpp"
#include "viz/report/xml.hpp"

namespace pipesim::viz {
namespace {

struct KindWord {
  models::WorkKind kind;
  const char* word;
};

constexpr std::array<KindWord, models::kWorkKindCount> kKindWords = {{
    {models::WorkKind::kCompute, "compute"},
    {models::WorkKind::kForward, "forward"},
    {models::WorkKind::kBackward, "backward"},
    {models::WorkKind::kWeightGrad, "weight"},
    {models::WorkKind::kOverlapped, "overlapped"},
    {models::WorkKind::kCollective, "collective"},
    {models::WorkKind::kMessage, "message"},
    {models::WorkKind::kBuffer, "buffer"},
    {models::WorkKind::kControl, "control"},
    {models::WorkKind::kHost, "host"},
}};
static_assert(sim::has_row_per_kind(kKindWords), "each kind has its word, in their order");

// Returns the colors of all pictures as CSS variables.
std::string palette_style() {
  std::string colours;
  std::string shades;  // colors of chunks
  for (int i = 0; i < models::kWorkKindCount; ++i) {
    const auto kind = static_cast<models::WorkKind>(i);
    const KindStyle& style = style_of(kind);
    colours += fmt::format("--{0}: {1}; --on-{0}: {2}; ", kind_word(kind), style.fill, style.text);
    for (std::uint32_t shade = 1; shade < kShades; ++shade) {
      const SliceColour colour = shaded_colour(kind, shade);
      if (colour.fill == style.fill) continue;
      shades += fmt::format(".k-{0}.s-{1}, .t-{0}.s-{1} {{ --{0}: {2}; --on-{0}: {3}; }}\n",
                            kind_word(kind), shade, colour.fill, colour.ink);
    }
  }
  return fmt::format(":root {{ {}--strong: {}; }}\n{}", colours, kStrong, shades);
}

// Replaces each {{name}} in `text`. Does not scan the inserted text.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& parts) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t begin = text.find("{{", at);
    const std::size_t end = begin == std::string_view::npos ? begin : text.find("}}", begin);
    if (end == std::string_view::npos) break;
    result += text.substr(at, begin - at);
    result += parts.at(text.substr(begin + 2, end - begin - 2));
    at = end + 2;
  }
  result += text.substr(at);
  return result;
}

}  // namespace

const char* kind_word(models::WorkKind kind) {
  return kKindWords[static_cast<std::size_t>(kind)].word;
}

// Escapes JSON for a <script> element, so that the text cannot start a tag or comment. Older
// browsers read U+2028 and U+2029 as line ends. All escaped characters occur only in strings.
std::string page_data_text(const std::string& json) {
  std::string result;
  result.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const bool separator = json.compare(i, 2, "\xe2\x80") == 0 && i + 2 < json.size() &&
                           (json[i + 2] == '\xa8' || json[i + 2] == '\xa9');
    if (json[i] == '<') {
      result += "\\u003c";
    } else if (separator) {
      result += json[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      result += json[i];
    }
  }
  return result;
}

std::string framed_page(const PageFrame& frame) {
  const PageFiles files = page_files();
  return filled(files.html, {{"title", xml_text(frame.title)},
                             {"style", palette_style() + std::string(files.style)},
                             {"graph", frame.graph},
                             {"graph_note", xml_text(frame.graph_note)},
                             {"text", xml_text(frame.text)},
                             {"data", frame.data},
                             {"model", std::string(files.model_script)},
                             {"graph_script", std::string(files.graph_script)},
                             {"shapes_script", std::string(files.shapes_script)},
                             {"timeline_script", std::string(files.timeline_script)},
                             {"tables_script", std::string(files.tables_script)},
                             {"page_script", std::string(files.page_script)}});
}

}  // namespace pipesim::viz
