// The wait-for graph as a picture.
#pragma once

#include <string>
#include <vector>

#include "models/graph/task_graph.hpp"
#include "models/result/explanation.hpp"
#include "viz/pictures/graphviz.hpp"

namespace pipesim::viz {

/// Contents of the picture.
struct WaitPicture {
  std::string title;
  std::vector<models::Wait> cycle;                      // drawn strong and numbered
  std::vector<std::vector<models::Wait>> other_cycles;  // drawn strong and numbered 2.1, 2.2, ...
  std::vector<models::Wait> all_waits;                  // all waits, including the cycles
  bool fold = true;      // folds all ops outside the cycles into one node per rank
  std::string subtitle;  // text below the title
  bool dark = false;
  std::string made_by{};  // command, below the subtitle; may be empty
  std::string model{};    // note on the NCCL model of the run, below the subtitle; may be empty
  double font_scale = 1;  // size of all text, relative to the default
  double aspect = 0;      // width divided by height; 0: as the contents need
  // Number of cycles per shape, in the order of each shape's first cycle. Can exceed the cycles in
  // `other_cycles`. If empty, the picture counts `other_cycles`.
  std::vector<std::size_t> alike{};
};

/// Maximum number of ranks on cycles or at roots. With more, the folded ops of all ranks become a
/// single node.
inline constexpr std::size_t kMaxFoldedRanks = 32;

/// Maximum number of nodes in a layout. DOT text has no limit.
inline constexpr std::size_t kMaxWaitNodes = 1000;

/// Returns the picture of the end of a run.
WaitPicture wait_picture(const models::TaskGraph& graph, const models::Explanation& explanation,
                         std::vector<models::Wait> all_waits, bool fold);

/// The same as wait_picture() with `graph`, but with the given title.
WaitPicture wait_picture(std::string title, const models::Explanation& explanation,
                         std::vector<models::Wait> all_waits, bool fold);

/// Draws a cluster per rank. The cycle has a strong color and numbered edges; everything else is
/// grey; control waits and alternatives are dashed. Throws DrawingError if a picture has too many
/// nodes or Graphviz cannot draw it; DOT text has no such limits.
std::string wait_for_drawing(const WaitPicture& picture, PictureFormat format);

/// Returns the picture as DOT text. The same graph gives the same bytes.
std::string wait_for_dot(const WaitPicture& picture);

}  // namespace pipesim::viz
