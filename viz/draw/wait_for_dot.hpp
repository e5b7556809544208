// The wait-for graph as a picture.
#pragma once

#include <string>
#include <vector>

#include "models/explain/explanation.hpp"
#include "models/graph/task_graph.hpp"
#include "viz/draw/graphviz.hpp"

namespace pipesim::viz {

/// What the picture shows.
struct WaitPicture {
  std::string title;
  std::vector<models::Wait> cycle;                      // drawn strong and numbered
  std::vector<std::vector<models::Wait>> other_cycles;  // likewise: 2.1, 2.2, ...
  std::vector<models::Wait> all_waits;                  // the cycles among them
  bool fold = true;      // what is not on the cycle becomes one node per rank
  std::string subtitle;  // below the title
  bool dark = false;
  std::string made_by{};  // below these; may be empty
  // How many cycles there are of each shape, in the order of the first ones: not all may be among
  // `other_cycles`. Empty: those that are.
  std::vector<std::size_t> alike{};
};

/// With more ranks on the cycle, or as roots, the folded rest is one node for all of them.
inline constexpr std::size_t kMaxFoldedRanks = 32;

/// The most nodes that are laid out. DOT text has no limit.
inline constexpr std::size_t kMaxWaitNodes = 1000;

/// The picture of how a run ended.
WaitPicture wait_picture(const models::TaskGraph& graph, const models::Explanation& explanation,
                         std::vector<models::Wait> all_waits, bool fold);

/// Likewise, with another title.
WaitPicture wait_picture(std::string title, const models::Explanation& explanation,
                         std::vector<models::Wait> all_waits, bool fold);

/// A cluster per rank, the cycle in one strong colour with numbered edges, the rest grey, control
/// waits and alternatives dashed. Throws DrawingError, but for DOT.
std::string wait_for_drawing(const WaitPicture& picture, PictureFormat format);

/// The same as DOT text: the same graph gives the same bytes.
std::string wait_for_dot(const WaitPicture& picture);

}  // namespace pipesim::viz
