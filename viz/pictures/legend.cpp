#include "viz/pictures/legend.hpp"

#include <fmt/format.h>

#include "models/graph/diagnostics.hpp"
#include "viz/pictures/palette.hpp"
#include "viz/report/words.hpp"
#include "viz/report/xml.hpp"

namespace pipesim::viz {
namespace {

constexpr std::size_t kLine = 72;  // maximum length of a line, in characters

std::string row(const std::string& content) {
  return fmt::format("<TR><TD ALIGN=\"LEFT\">{}</TD></TR>\n", content);
}

}  // namespace

std::string legend_html(const std::string& title, const std::vector<std::string>& lines,
                        const std::vector<models::WorkKind>& kinds, const std::string& made_by) {
  std::string table = "<TABLE BORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"1\">\n";
  table += row(
      fmt::format("<FONT POINT-SIZE=\"16\"><B>{}</B></FONT>", xml_text(models::printable(title))));
  for (const std::string& line : lines) {
    for (const std::string& part : wrapped(line, kLine)) {
      if (part.empty()) continue;
      table += row(fmt::format("<FONT POINT-SIZE=\"11\">{}</FONT>", xml_text(part)));
    }
  }
  if (!kinds.empty()) {
    std::string cells;
    for (const models::WorkKind kind : kinds) {
      const KindStyle& style = style_of(kind);
      cells += fmt::format(
          "<TD BORDER=\"1\" BGCOLOR=\"{}\"><FONT POINT-SIZE=\"11\" COLOR=\"{}\"> {} </FONT></TD>\n",
          style.fill, style.text, style.name);
    }
    table += row("<TABLE ALIGN=\"LEFT\" BORDER=\"0\" CELLSPACING=\"4\" CELLPADDING=\"2\"><TR>\n" +
                 cells + "</TR></TABLE>");
  }
  for (const std::string& part : wrapped(made_by, kLine)) {
    if (part.empty()) continue;
    table += row(
        fmt::format("<FONT POINT-SIZE=\"9\" COLOR=\"{}\">{}</FONT>", kGreyText, xml_text(part)));
  }
  return table + "</TABLE>";
}

}  // namespace pipesim::viz
