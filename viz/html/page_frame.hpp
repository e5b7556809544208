// What all pages have: their style, their scripts, and the places in which the rest stands.
#pragma once

#include <string>
#include <string_view>

#include "models/measure/timeline.hpp"

namespace pipesim::viz {

/// What stands in the frame.
struct PageFrame {
  std::string title;
  std::string graph;       // the wait-for graph as SVG; may be empty
  std::string graph_note;  // what was left out of it
  std::string text;        // the whole report, where scripts do not run
  std::string data;        // see page_data_text
};

/// The page as HTML.
std::string framed_page(const PageFrame& frame);

/// JSON for the scripts of a page: no tag and no comment can begin in it.
std::string page_data_text(const std::string& json);

/// "forward": a kind of work as scripts and styles know it.
const char* kind_word(models::WorkKind kind);

/// The files of viz/html/page/.
struct PageFiles {
  std::string_view html;  // with {{title}}, {{style}} and so on, where the other parts go
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
