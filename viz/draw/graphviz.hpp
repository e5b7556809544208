// A directed graph that Graphviz writes as DOT text, or lays out and draws. The one door to it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "models/codes.hpp"

struct Agraph_s;
struct Agnode_s;
struct Agedge_s;

namespace pipesim::viz {

/// What a picture can be written as.
enum class PictureFormat { kDot, kSvg, kPng, kPdf };

/// By the ending of a file's name; throws DrawingError, which names the endings there are.
PictureFormat picture_format(std::string_view path);

/// The ending without its dot, which is also what Graphviz calls the format.
const char* name_of(PictureFormat format);

/// A picture cannot be drawn. The message says why, and what to do.
class DrawingError : public models::UserError {
 public:
  using UserError::UserError;
};

/// `text` for a label, in which Graphviz gives backslashes and entities of HTML a meaning.
std::string label_text(std::string_view text);

/// See the head of this file. The same calls in the same order give the same DOT text.
class Graphviz {
 public:
  using Cluster = Agraph_s*;
  using Node = Agnode_s*;
  using Edge = Agedge_s*;

  /// `one_edge`: there is at most one edge from a node to another.
  explicit Graphviz(const std::string& name, bool one_edge = false);
  ~Graphviz();
  Graphviz(const Graphviz&) = delete;
  Graphviz& operator=(const Graphviz&) = delete;

  Cluster root() const;
  /// Made when it is first asked for. `name` without the "cluster_" that Graphviz knows them by.
  Cluster cluster(Cluster in, const std::string& name);
  /// Made when it is first asked for, in `in`.
  Node node(Cluster in, const std::string& name);
  /// Null where there is none.
  Node find(const std::string& name) const;
  Edge edge(Node from, Node to);
  std::size_t node_count() const;

  // Attributes, by the names of Graphviz. Values of `set_html` are its HTML-like labels.
  void set(Cluster cluster, const char* name, const std::string& value);
  void set(Node node, const char* name, const std::string& value);
  void set(Edge edge, const char* name, const std::string& value);
  void set_html(Cluster cluster, const char* name, const std::string& value);
  void set_html(Node node, const char* name, const std::string& value);
  void set_nodes(const char* name, const std::string& value);  // that say nothing else
  void set_edges(const char* name, const std::string& value);

  /// Whatever is larger is drawn smaller; in points.
  void fit(double width, double height);
  /// How much smaller that was in the last drawing(); 1: it was not.
  double scale() const;
  /// Light text on a dark page; to be said before all else.
  void set_dark(bool dark);

  std::string dot() const;

  /// DOT text, or a picture of the graph laid out by Graphviz's `dot`: SVG by its libraries, PNG
  /// and PDF by its program. The layout varies with the version of Graphviz. Throws DrawingError.
  std::string drawing(PictureFormat format);

 private:
  struct Data;
  std::unique_ptr<Data> data_;
};

}  // namespace pipesim::viz
