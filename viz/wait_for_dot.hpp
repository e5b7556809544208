// The wait-for graph as a picture: DOT text, made by Graphviz's cgraph.
#pragma once

#include <string>
#include <vector>

#include "models/explanation.hpp"

namespace pipesim::viz {

/// What the picture shows.
struct WaitPicture {
  std::string title;
  std::vector<models::Wait> cycle;      // drawn strong and numbered
  std::vector<models::Wait> all_waits;  // the cycle among them
  bool fold = true;                     // what is not on the cycle becomes one node per rank
};

/// Above so many ranks the folded rest is one node for all of them.
inline constexpr std::size_t kMostFoldedRanks = 32;

/// The graph in DOT: a cluster per rank, the cycle in one strong colour with numbered edges, the
/// rest grey, control waits and alternatives dashed. The same graph gives the same bytes.
std::string wait_for_dot(const WaitPicture& picture);

}  // namespace pipesim::viz
