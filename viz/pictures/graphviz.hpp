// A directed graph that Graphviz writes as DOT text, or lays out and draws. All uses of Graphviz's
// libraries go through this class.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/codes.hpp"
#include "models/result/timeline.hpp"

struct Agraph_s;
struct Agnode_s;
struct Agedge_s;

namespace pipesim::viz {

/// File format of a picture.
enum class PictureFormat { kDot, kSvg, kPng, kPdf };

/// Returns the format for the extension of `path`. Throws DrawingError with the list of known
/// extensions.
PictureFormat picture_format(std::string_view path);

/// Returns the extension of `format` without its dot, which is also the format's name in Graphviz.
const char* name_of(PictureFormat format);

/// Error for a picture that cannot be drawn. The message gives the reason and a way forward.
class DrawingError : public models::UserError {
 public:
  using UserError::UserError;
};

/// Escapes `text` for a label: Graphviz interprets backslashes and HTML entities.
std::string label_text(std::string_view text);

/// A graph in Graphviz's memory (see the head of this file). The same calls in the same order give
/// the same DOT text.
class Graphviz {
 public:
  using Cluster = Agraph_s*;
  using Node = Agnode_s*;
  using Edge = Agedge_s*;

  /// `one_edge`: merges several edges from one node to another.
  explicit Graphviz(const std::string& name, bool one_edge = false);
  ~Graphviz();
  Graphviz(const Graphviz&) = delete;
  Graphviz& operator=(const Graphviz&) = delete;

  Cluster root() const;
  /// Returns the cluster `name`; the first call creates it in `in`. `name` lacks the prefix
  /// "cluster_" that Graphviz requires.
  Cluster cluster(Cluster in, const std::string& name);
  /// Returns the node `name`; the first call creates it in `in`.
  Node node(Cluster in, const std::string& name);
  /// Returns the node `name`, or null.
  Node find(const std::string& name) const;
  Edge edge(Node from, Node to);
  std::size_t node_count() const;

  // Setters of attributes, named as in Graphviz. `set_html` takes HTML-like labels.
  void set(Cluster cluster, const char* name, const std::string& value);
  void set(Node node, const char* name, const std::string& value);
  void set(Edge edge, const char* name, const std::string& value);
  void set_html(Cluster cluster, const char* name, const std::string& value);
  void set_html(Node node, const char* name, const std::string& value);
  void set_html(Edge edge, const char* name, const std::string& value);
  // Setters of the default value of an attribute, for nodes and for edges.
  void set_nodes(const char* name, const std::string& value);
  void set_edges(const char* name, const std::string& value);

  /// Limits the size of the drawing, in points; larger drawings are scaled down.
  void fit(double width, double height);
  /// Returns the scale of the last drawing(): 1, or less if the graph was too large.
  double scale() const;
  /// Selects light text on a dark page. Must be called before all other functions.
  void set_dark(bool dark);
  /// Scales all text, except HTML-like labels. Must be called before all other functions except
  /// set_dark().
  void set_font_scale(double scale);
  /// Sets width divided by height. Adds margins and, with `turns`, chooses the direction of the
  /// graph that needs less of them.
  void set_aspect(double aspect, bool turns);

  std::string dot() const;

  /// Returns DOT text, or a picture laid out by Graphviz's `dot`. SVG needs only Graphviz's
  /// libraries; PNG and PDF need its program `dot`. The layout varies with the version of Graphviz.
  /// Throws DrawingError.
  std::string drawing(PictureFormat format);

 private:
  void fill_page(PictureFormat format);

  struct Data;
  std::unique_ptr<Data> data_;
};

/// Returns an HTML-like label for Graphviz: the title, lines below it, the colors of `kinds`, and
/// the command that made the picture. `scale`: size of the text, relative to the default.
std::string legend_html(const std::string& title, const std::vector<std::string>& lines,
                        const std::vector<models::WorkKind>& kinds = {},
                        const std::string& made_by = {}, double scale = 1);

}  // namespace pipesim::viz
