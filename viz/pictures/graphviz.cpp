// cgraph sorts nodes and clusters by id. By default, an id is a heap address, so that the same
// graph can come out in different orders. Therefore, this file assigns ids in the order of first
// use (graphviz 2.42; the default is in lib/cgraph/id.c).
//
// Later versions of cgraph (14.1 was tried) drop members and change types, and no macro
// distinguishes these versions from 2.42. Templates therefore detect which members exist.
#include "viz/pictures/graphviz.hpp"

#include <algorithm>
#include <locale>
#include <map>
#include <mutex>
#include <sstream>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>
#include <graphviz/gvplugin_textlayout.h>

#include "models/graph/diagnostics.hpp"
#include "viz/pictures/palette.hpp"
#include "viz/report/dot_program.hpp"
#include "viz/report/text_width.hpp"
#include "viz/report/words.hpp"
#include "viz/report/xml.hpp"

// Graphviz's own plugins. A static program links these plugins; libgvc.so loads its own plugins.
// Because the symbol is weak, the same object file works in both cases.
extern "C" {
extern lt_symlist_t lt_preloaded_symbols[] __attribute__((weak));
}

namespace pipesim::viz {
// This namespace has a name, because its members are fields of Graphviz::Data: in a unity build,
// GCC warns about such fields with types from an unnamed namespace.
namespace graphviz_data {

/// A map from names to ids and back for one graph; cgraph calls its functions. Names must be cgraph
/// strings (agstrdup): cgraph reads a header in front of them.
struct Ids {
  Agraph_t* graph = nullptr;
  std::map<std::pair<int, std::string>, IDTYPE> by_name;
  std::map<std::pair<int, IDTYPE>, char*> names;
  IDTYPE next = 2;

  static void* open(Agraph_t* graph, Agdisc_t* discipline) {
    Ids* ids = reinterpret_cast<Discipline*>(discipline)->ids;  // NOLINT: a C interface
    ids->graph = graph;
    return ids;
  }
  static long map(void* state, int type, char* name, IDTYPE* id, int create) {
    Ids& ids = *static_cast<Ids*>(state);
    if (name == nullptr) {
      *id = ids.next;
      ids.next += 2;
      return 1;
    }
    const auto key = std::pair(type, std::string(name));
    const auto known = ids.by_name.find(key);
    if (known != ids.by_name.end()) {
      *id = known->second;
      return 1;
    }
    if (create == 0) return 0;
    *id = ids.next;
    ids.next += 2;
    ids.by_name.emplace(key, *id);
    ids.names.emplace(std::pair(type, *id), agstrdup(ids.graph, name));
    return 1;
  }
  static long alloc(void* /*state*/, int /*type*/, IDTYPE /*id*/) { return 0; }
  static void free(void* /*state*/, int /*type*/, IDTYPE /*id*/) {}
  static char* print(void* state, int type, IDTYPE id) {
    Ids& ids = *static_cast<Ids*>(state);
    const auto known = ids.names.find({type, id});
    return known == ids.names.end() ? nullptr : known->second;
  }
  static void close(void* /*state*/) {}
  static void idregister(void* /*state*/, int /*type*/, void* /*object*/) {}

  /// cgraph's discipline, followed by our ids: cgraph only passes the discipline back.
  struct Discipline {
    Agdisc_t cgraph;
    Ids* ids;
  };
};

struct GraphCloser {
  void operator()(Agraph_t* graph) const { agclose(graph); }
};

}  // namespace graphviz_data

namespace {

using graphviz_data::GraphCloser;
using graphviz_data::Ids;

template <typename Discipline>
Discipline make_id_discipline() {
  Discipline made{};
  made.open = Ids::open;
  made.map = Ids::map;
  if constexpr (requires { made.alloc; }) made.alloc = Ids::alloc;
  made.free = Ids::free;
  made.print = Ids::print;
  made.close = Ids::close;
  made.idregister = Ids::idregister;
  return made;
}

Agiddisc_t id_discipline = make_id_discipline<Agiddisc_t>();

// Returns our discipline; unset members keep cgraph's defaults.
Ids::Discipline discipline_of(Ids& ids, Agiodisc_t& io) {
  Ids::Discipline made{};
  made.cgraph.id = &id_discipline;
  made.cgraph.io = &io;
  made.ids = &ids;
  return made;
}

int append_text(void* target, const char* text) {
  *static_cast<std::string*>(target) += text;
  return 0;
}

int no_flush(void* /*target*/) { return 0; }

/// DOT text for cgraph's parser; `rest` is still unread.
struct Reader {
  std::string_view rest;
};

// Reads one line, or the part of the line that fits into `buffer`, like cgraph's own readers.
int read_text(void* source, char* buffer, int size) {
  Reader& reader = *static_cast<Reader*>(source);
  const std::size_t line = std::min(reader.rest.find('\n'), reader.rest.size() - 1) + 1;
  const std::size_t length = std::min(line, static_cast<std::size_t>(size));
  reader.rest.copy(buffer, length);
  reader.rest.remove_prefix(length);
  return static_cast<int>(length);
}

// Casts away const: cgraph takes char*, but copies the text.
char* text_of(const char* value) { return const_cast<char*>(value); }
char* text_of(const std::string& value) { return text_of(value.c_str()); }

void set_object(void* object, const char* name, const std::string& value) {
  agsafeset(object, text_of(name), text_of(value), text_of(""));
}

template <typename Free>
void free_html(Free* free, Agraph_t* graph, char* html) {
  if constexpr (std::is_invocable_v<Free*, Agraph_t*, char*, bool>) {
    free(graph, html, true);
  } else {
    free(graph, html);
  }
}

void set_html_object(Agraph_t* graph, void* object, const char* name, const std::string& value) {
  set_object(object, name, "");  // declares the attribute
  char* html = agstrdup_html(graph, text_of(value));
  agset(object, text_of(name), html);
  free_html(agstrfree, graph, html);
}

// Graphviz's error messages during a drawing.
std::string* complaints = nullptr;

int keep_complaint(char* text) {
  if (complaints != nullptr) *complaints += text;
  return 0;
}

// Measures a label without a font. Graphviz would ask Pango for a local font, but viewers of an SVG
// have other fonts, and a static program has no Pango.
bool measure(textspan_t* line, char** /*font_path*/) {
  constexpr double kBold = 1.15;  // DejaVu's bold letters; Helvetica's are narrower
  constexpr double kLineHeight = 1.2;
  constexpr double kMiddle = 0.2;  // middle of small letters, above the base line
  const double size = line->font->size;
  const bool bold =
      (line->font->flags & HTML_BF) != 0 || std::string_view(line->font->name).ends_with("-Bold");
  line->size.x = text_width(line->str, size) * (bold ? kBold : 1.0);
  line->size.y = size * kLineHeight;
  line->yoffset_layout = 0;
  line->yoffset_centerline = size * kMiddle;
  line->layout = nullptr;
  line->free_layout = nullptr;
  return true;
}

// Adapts measure() to the result type of Graphviz's callback: `boolean` is a char up to 2.42, and
// `bool` later.
template <typename Result>
Result measure_for(textspan_t* line, char** font_path) {
  return static_cast<Result>(measure(line, font_path));
}

template <typename Result>
void set_measure(Result (*&textlayout)(textspan_t*, char**)) {
  textlayout = measure_for<Result>;
}

// Returns Graphviz's context, with our text measure instead of Pango's. The whole process shares
// one context, because all graphs share Graphviz's font cache.
GVC_t* context() {
  static gvtextlayout_engine_t engine{};
  set_measure(engine.textlayout);
  constexpr int kQuality = 1000;  // Pango's quality is 10; Graphviz uses the highest
  static gvplugin_installed_t installed[] = {{0, "textlayout", kQuality, &engine, nullptr}, {}};
  static gvplugin_api_t apis[] = {{API_textlayout, installed}, {}};
  static gvplugin_library_t library{text_of("pipesim"), apis};
  static const std::vector<lt_symlist_t> kBuiltin = [] {
    // Graphviz only accepts names of this form.
    std::vector<lt_symlist_t> plugins = {{"gvplugin_pipesim_LTX_library", &library}};
    for (const lt_symlist_t* own = lt_preloaded_symbols; own != nullptr && own->name != nullptr;
         ++own) {
      plugins.push_back(*own);
    }
    plugins.push_back({});
    return plugins;
  }();
  static GVC_t* const kContext = gvContextPlugins(kBuiltin.data(), /*demand_loading=*/1);
  return kContext;
}

// Returns the picture rendered by gvRenderData, or an empty string.
template <typename Length>
std::string rendered(int (*render)(GVC_t*, Agraph_t*, const char*, char**, Length*),
                     Agraph_t* graph) {
  std::string result;
  char* data = nullptr;
  Length length = 0;
  if (render(context(), graph, "svg", &data, &length) == 0) {
    result.assign(data, length);
    gvFreeRenderData(data);
  }
  return result;
}

// Returns the SVG with the fonts of the other pictures. Graphviz's own list ends in a name that
// some renderers take for a font and replace by a wider font than the labels were measured for.
std::string with_fonts(std::string svg) {
  constexpr std::string_view kGraphvizFonts = "font-family=\"Helvetica,sans-Serif\"";
  const std::string fonts = fmt::format("font-family=\"{}\"", kFonts);
  for (std::size_t at = svg.find(kGraphvizFonts); at != std::string::npos;
       at = svg.find(kGraphvizFonts, at + fonts.size())) {
    svg.replace(at, kGraphvizFonts.size(), fonts);
  }
  return svg;
}

}  // namespace

const char* name_of(PictureFormat format) {
  switch (format) {
    case PictureFormat::kDot:
      return "dot";
    case PictureFormat::kSvg:
      return "svg";
    case PictureFormat::kPng:
      return "png";
    case PictureFormat::kPdf:
      return "pdf";
  }
  return "";
}

PictureFormat picture_format(std::string_view path) {
  for (const PictureFormat format :
       {PictureFormat::kDot, PictureFormat::kSvg, PictureFormat::kPng, PictureFormat::kPdf}) {
    if (path.ends_with(fmt::format(".{}", name_of(format)))) return format;
  }
  throw DrawingError(
      models::Code::kPictureFormat,
      fmt::format("'{}' has no known picture format: use .svg, .png, .pdf or .dot", path),
      path.ends_with(".html") ? "'pipesim run' and 'pipesim check' write a page: --html FILE" : "");
}

std::string label_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&') {
      result += "&amp;";
    } else {
      result += c == '\\' ? "\\\\" : std::string(1, c);
    }
  }
  return result;
}

// Returns the mutex that serializes all graphs of the process: cgraph and gvc use global variables.
static std::recursive_mutex& turn() {
  static std::recursive_mutex mutex;
  return mutex;
}

// Returns a font size, in points.
static std::string scaled_size(double size, double scale) {
  return fmt::format("{:.4g}", size * scale);
}

struct Graphviz::Data {
  std::lock_guard<std::recursive_mutex> alone{turn()};
  Ids ids;
  Ids::Discipline discipline = discipline_of(ids, AgIoDisc);
  std::unique_ptr<Agraph_t, GraphCloser> graph;
  bool dark = false;
  double font_scale = 1;
  double fit_width = 0;  // 0: no limit
  double fit_height = 0;
  double aspect = 0;  // width divided by height; 0: as the contents need
  bool turns = false;
  double width = 0;  // size of the last layout, in points
  double height = 0;
  double scale = 1;

  std::string themed(std::string_view name, const std::string& value) const {
    if (name == "fontsize" && font_scale != 1) return scaled_size(std::stod(value), font_scale);
    return dark ? dark_of(value) : value;
  }
  std::string svg(const std::string& dot);
};

std::string Graphviz::Data::svg(const std::string& dot) {
  std::string said;
  complaints = &said;
  const agusererrf before = agseterrf(keep_complaint);
  std::string result;
  {
    Ids read_ids;
    Agiodisc_t from_string = AgIoDisc;
    from_string.afread = read_text;
    Ids::Discipline read_discipline = discipline_of(read_ids, from_string);
    Reader reader{dot};
    const std::unique_ptr<Agraph_t, GraphCloser> read(agread(&reader, &read_discipline.cgraph));
    if (read) read->clos->disc.io = &AgIoDisc;
    if (read && gvLayout(context(), read.get(), "dot") == 0) {
      const boxf box = GD_bb(read.get());
      width = std::max(1.0, box.UR.x - box.LL.x);
      height = std::max(1.0, box.UR.y - box.LL.y);
      scale = fit_width > 0 ? std::min({1.0, fit_width / width, fit_height / height}) : 1.0;
      result = with_fonts(rendered(gvRenderData, read.get()));
      // The layout is not freed: if flat edges have labels, Graphviz 2.42 frees the same memory
      // twice (flat.c reallocates `v`, and dotinit.c frees `av`).
    }
  }
  agseterrf(before);
  complaints = nullptr;
  if (!result.empty()) return result;
  // Since 2.43, Debian's libraries have no layout engines without the package 'graphviz'.
  const bool no_layout = said.empty() || said.find("not recognized") != std::string::npos;
  throw DrawingError(models::Code::kGraphviz,
                     no_layout
                         ? "Graphviz has no layouts; is Debian's package 'graphviz' installed?"
                         : fmt::format("Graphviz cannot draw this: {}", said));
}

Graphviz::Graphviz(const std::string& name, bool one_edge) : data_(std::make_unique<Data>()) {
  data_->graph.reset(
      agopen(text_of(name), one_edge ? Agstrictdirected : Agdirected, &data_->discipline.cgraph));
}

Graphviz::~Graphviz() = default;

Graphviz::Cluster Graphviz::root() const { return data_->graph.get(); }

Graphviz::Cluster Graphviz::cluster(Cluster in, const std::string& name) {
  return agsubg(in, text_of("cluster_" + name), 1);
}

Graphviz::Node Graphviz::node(Cluster in, const std::string& name) {
  return agnode(in, text_of(name), 1);
}

Graphviz::Node Graphviz::find(const std::string& name) const {
  return agnode(data_->graph.get(), text_of(name), 0);
}

Graphviz::Edge Graphviz::edge(Node from, Node to) {
  return agedge(data_->graph.get(), from, to, nullptr, 1);
}

std::size_t Graphviz::node_count() const {
  return static_cast<std::size_t>(agnnodes(data_->graph.get()));
}

void Graphviz::set(Cluster cluster, const char* name, const std::string& value) {
  set_object(cluster, name, data_->themed(name, value));
}

void Graphviz::set(Node node, const char* name, const std::string& value) {
  set_object(node, name, data_->themed(name, value));
}

void Graphviz::set(Edge edge, const char* name, const std::string& value) {
  set_object(edge, name, data_->themed(name, value));
}

void Graphviz::set_html(Cluster cluster, const char* name, const std::string& value) {
  set_html_object(data_->graph.get(), cluster, name, value);
}

void Graphviz::set_html(Node node, const char* name, const std::string& value) {
  set_html_object(data_->graph.get(), node, name, value);
}

void Graphviz::set_html(Edge edge, const char* name, const std::string& value) {
  set_html_object(data_->graph.get(), edge, name, value);
}

void Graphviz::set_nodes(const char* name, const std::string& value) {
  agattr(data_->graph.get(), AGNODE, text_of(name), text_of(data_->themed(name, value)));
}

void Graphviz::set_edges(const char* name, const std::string& value) {
  agattr(data_->graph.get(), AGEDGE, text_of(name), text_of(data_->themed(name, value)));
}

void Graphviz::fit(double width, double height) {
  data_->fit_width = width;
  data_->fit_height = height;
  constexpr double kPointsPerInch = 72;
  set(root(), "size",
      fmt::format("{:.2f},{:.2f}", width / kPointsPerInch, height / kPointsPerInch));
}

void Graphviz::set_dark(bool dark) {
  data_->dark = dark;
  if (!dark) return;
  set(root(), "bgcolor", dark_of(kPaper));
  set(root(), "fontcolor", dark_of(kInk));
  set_nodes("fontcolor", kInk);
  set_edges("fontcolor", kInk);
  set_edges("color", kInk);
}

void Graphviz::set_font_scale(double scale) {
  data_->font_scale = scale;
  if (scale == 1) return;
  set(root(), "fontsize", "14");  // Graphviz's default
  set_nodes("fontsize", "14");
  set_edges("fontsize", "14");
}

void Graphviz::set_aspect(double aspect, bool turns) {
  data_->aspect = aspect;
  data_->turns = turns;
}

// Chooses the direction in which the graph needs the smaller page of the wanted aspect, and adds
// margins: Graphviz's `ratio` would spread the nodes instead, and ignores the title.
void Graphviz::fill_page(PictureFormat format) {
  constexpr double kPointsPerInch = 72;
  constexpr double kMargin = 4;  // Graphviz's default
  double best = 0;               // height of the page
  const std::vector<const char*> directions =
      data_->turns ? std::vector{"LR", "TB"} : std::vector{""};
  const char* chosen = directions.front();
  std::string pad;
  for (const char* direction : directions) {
    if (data_->turns) set(root(), "rankdir", direction);
    double width = 0;
    double height = 0;
    if (format == PictureFormat::kSvg) {
      data_->svg(dot());
      width = data_->width;
      height = data_->height;
    } else {
      // The program `dot` can measure text differently. It writes "graph SCALE WIDTH HEIGHT".
      std::string graph;
      double scale = 1;
      std::istringstream plain(drawn_by_dot(dot(), "dot", "plain"));
      plain.imbue(std::locale::classic());
      plain >> graph >> scale >> width >> height;
      width *= kPointsPerInch;
      height *= kPointsPerInch;
    }
    width += 2 * kMargin;
    height += 2 * kMargin;
    const double page = std::max(height, width / data_->aspect);
    if (best > 0 && page >= best) continue;
    best = page;
    chosen = direction;
    pad = fmt::format("{:.4f},{:.4f}",
                      (kMargin + (page * data_->aspect - width) / 2) / kPointsPerInch,
                      (kMargin + (page - height) / 2) / kPointsPerInch);
  }
  if (data_->turns) set(root(), "rankdir", chosen);
  set(root(), "pad", pad);
}

double Graphviz::scale() const { return data_->scale; }

std::string Graphviz::dot() const {
  std::string result;
  Agiodisc_t to_string = AgIoDisc;
  to_string.putstr = append_text;
  to_string.flush = no_flush;
  Agraph_t* graph = data_->graph.get();
  graph->clos->disc.io = &to_string;
  agwrite(graph, &result);
  graph->clos->disc.io = &AgIoDisc;
  return result;
}

// Lays out a copy of the graph, read back from the DOT text: a layout adds nodes and attributes,
// which must not appear in the result of a later dot().
std::string Graphviz::drawing(PictureFormat format) {
  std::string text = dot();
  if (format == PictureFormat::kDot) return text;
  if (data_->aspect > 0) {
    fill_page(format);
    text = dot();
  }
  if (format == PictureFormat::kSvg) return data_->svg(text);
  if (data_->fit_width > 0) data_->svg(text);  // sets scale(), which is equal for all formats
  return drawn_by_dot(text, "dot", name_of(format));
}

namespace {

constexpr std::size_t kLegendColumns = 72;  // maximum length of a line of the legend

std::string row(const std::string& content) {
  return fmt::format("<TR><TD ALIGN=\"LEFT\">{}</TD></TR>\n", content);
}

}  // namespace

std::string legend_html(const std::string& title, const std::vector<std::string>& lines,
                        const std::vector<models::WorkKind>& kinds, const std::string& made_by,
                        double scale) {
  const std::string title_size = scaled_size(16, scale);
  const std::string size = scaled_size(11, scale);
  std::string table = "<TABLE BORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"1\">\n";
  table += row(fmt::format("<FONT POINT-SIZE=\"{}\"><B>{}</B></FONT>", title_size,
                           xml_text(models::printable(title))));
  for (const std::string& line : lines) {
    for (const std::string& part : wrapped(line, kLegendColumns)) {
      if (part.empty()) continue;
      table += row(fmt::format("<FONT POINT-SIZE=\"{}\">{}</FONT>", size, xml_text(part)));
    }
  }
  if (!kinds.empty()) {
    std::string cells;
    for (const models::WorkKind kind : kinds) {
      const KindStyle& style = style_of(kind);
      cells += fmt::format(
          "<TD BORDER=\"1\" BGCOLOR=\"{}\"><FONT POINT-SIZE=\"{}\" COLOR=\"{}\"> {} </FONT></TD>\n",
          style.fill, size, style.text, style.name);
    }
    table += row("<TABLE ALIGN=\"LEFT\" BORDER=\"0\" CELLSPACING=\"4\" CELLPADDING=\"2\"><TR>\n" +
                 cells + "</TR></TABLE>");
  }
  for (const std::string& part : wrapped(made_by, kLegendColumns)) {
    if (part.empty()) continue;
    table += row(fmt::format("<FONT POINT-SIZE=\"{}\" COLOR=\"{}\">{}</FONT>",
                             scaled_size(9, scale), kGreyText, xml_text(part)));
  }
  return table + "</TABLE>";
}

}  // namespace pipesim::viz
