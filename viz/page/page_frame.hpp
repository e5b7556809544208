// The common frame of all pages: styles, scripts, and placeholders for the contents.
#pragma once

#include <string>
#include <string_view>

#include "models/result/timeline.hpp"

namespace pipesim::viz {

/// Contents for the placeholders of the frame.
struct PageFrame {
  std::string title;
  std::string graph;       // the wait-for graph as SVG; may be empty
  std::string graph_note;  // note on parts of the graph that are left out
  std::string text;        // full report, for browsers without scripts
  std::string data;        // data for the scripts, from page_data_text()
};

/// Returns the frame with the contents `frame`, as HTML.
std::string framed_page(const PageFrame& frame);

/// Escapes JSON for the scripts of a page, so that the text cannot start a tag or comment.
std::string page_data_text(const std::string& json);

/// Returns the name of a kind of work in scripts and styles, such as "forward".
const char* kind_word(models::WorkKind kind);

/// The files of viz/page/files/.
struct PageFiles {
  // Page with placeholders for the other parts: {{title}}, {{style}} and so on.
  std::string_view html;
  std::string_view style;
  std::string_view model_script;
  std::string_view graph_script;
  std::string_view shapes_script;
  std::string_view timeline_script;
  std::string_view tables_script;
  std::string_view page_script;
};

PageFiles page_files();

}  // namespace pipesim::viz
