#include "features/algorithm/draw_algorithm.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "viz/pictures/palette.hpp"
#include "viz/report/text_width.hpp"
#include "viz/report/words.hpp"

#include "features/algorithm/algorithm_races.hpp"

namespace pipesim::viz {
namespace {

// Sizes, in pixels.
constexpr double kAlgorithmMargin = 16;
constexpr double kAlgorithmLeft = 120;
constexpr double kAlgorithmTop = 72;
constexpr double kStepWidth = 76;
constexpr double kStepHeight = 20;
constexpr double kAlgorithmGap = 14;

// Colors that color-blind readers can distinguish (Okabe and Ito), extended to twelve with lighter
// shades.
constexpr std::array<const char*, 12> kChunkFills = {"#56b4e9", "#e69f00", "#009e73", "#f0e442",
                                                     "#cc79a7", "#d55e00", "#a6d8f4", "#f6d28b",
                                                     "#8fd4c0", "#f8f3a8", "#e7bfd5", "#efb28a"};

class AlgorithmPicture {
 public:
  AlgorithmPicture(const models::CollectiveAlgorithm& algorithm, const models::AlgoNetwork& network,
                   const models::AlgoRun& run)
      : algorithm_(algorithm), network_(network), run_(run), scene_(0, 0, "") {}

  Scene draw(const std::string& title) {
    if (network_.node_count() > kMaxDrawnSteps) {
      throw DrawingError(
          models::Code::kPictureSize,
          fmt::format("{} are too many for a picture (at most {})",
                      counted(network_.node_count(), "step"), grouped(kMaxDrawnSteps)));
    }
    find_columns();
    double height = kAlgorithmTop;
    for (const models::AlgoRank& rank : algorithm_.ranks) {
      height += kStepHeight * static_cast<double>(std::max<std::size_t>(1, rank.blocks.size())) +
                kAlgorithmGap;
    }
    scene_ = Scene(kAlgorithmLeft + kStepWidth * (columns_ + 1) + kAlgorithmMargin,
                   height + kAlgorithmMargin, title);
    scene_.add({.x = kAlgorithmMargin, .y = 24, .text = title, .size = 16, .bold = true});
    scene_.add({.x = kAlgorithmMargin,
                .y = 48,
                .text = "A row is a thread block, a column the longest chain of steps before; the "
                        "color is the chunk. Hatched: not done.",
                .ink = kGreyText});
    add_rows();
    return std::move(scene_);
  }

 private:
  // Assigns a column to each node. A completed node is to the right of all nodes that must precede
  // it.
  void find_columns() {
    const models::AlgoEdges edges = models::find_edges(network_);
    column_.assign(network_.node_count(), 0);
    done_.assign(network_.node_count(), false);
    for (const std::uint32_t node : run_.order) {
      done_[node] = true;
      for (std::uint32_t i = edges.begin[node]; i < edges.begin[node + 1]; ++i) {
        column_[node] = std::max(column_[node], column_[edges.from[i]] + 1);
      }
      columns_ = std::max<double>(columns_, column_[node]);
    }
    // A node that did not run is to the right of the previous node of its block.
    for (std::uint32_t block = 0; block < network_.block_count(); ++block) {
      std::uint32_t at = 0;
      for (std::uint32_t node = network_.blocks[block].nodes_begin;
           node < network_.blocks[block + 1].nodes_begin; ++node) {
        if (!done_[node]) column_[node] = at;
        at = std::max(at, column_[node] + 1);
        columns_ = std::max<double>(columns_, column_[node]);
      }
    }
  }

  void add_rows() {
    double y = kAlgorithmTop;
    std::uint32_t block = 0;
    for (std::uint32_t rank = 0; rank < algorithm_.ranks.size(); ++rank) {
      const std::size_t rows = std::max<std::size_t>(1, algorithm_.ranks[rank].blocks.size());
      const double height = kStepHeight * static_cast<double>(rows);
      scene_.add({.x = kAlgorithmMargin,
                  .y = y - 3,
                  .width = kAlgorithmLeft + kStepWidth * (columns_ + 1) - kAlgorithmMargin,
                  .height = height + 6,
                  .fill = "#f6f8fa",
                  .stroke = "#dfe4ea"});
      scene_.add({.x = kAlgorithmMargin + 6,
                  .y = y + height / 2,
                  .text = fmt::format("rank {}", rank),
                  .bold = true});
      for (std::size_t row = 0; row < algorithm_.ranks[rank].blocks.size(); ++row) {
        const double at = y + kStepHeight * static_cast<double>(row);
        scene_.add({.x = kAlgorithmLeft - 6,
                    .y = at + kStepHeight / 2,
                    .text = fmt::format("tb {}", row),
                    .size = 10,
                    .anchor = Scene::Anchor::kEnd,
                    .ink = kGreyText});
        add_steps(block++, at);
      }
      y += height + kAlgorithmGap;
    }
  }

  void add_steps(std::uint32_t block, double y) {
    const models::AlgoNetworkBlock& of = network_.blocks[block];
    const models::AlgoBlock& steps = algorithm_.ranks[of.rank].blocks[of.block];
    std::uint32_t last = models::kNoAlgoIndex;
    for (std::uint32_t node = of.nodes_begin; node < network_.blocks[block + 1].nodes_begin;
         ++node) {
      const std::uint32_t number = network_.nodes[node].step;
      if (number == last) continue;  // another piece of the previous step
      last = number;
      const models::AlgoStep& step = steps.steps[number];
      std::string label = step_text(algorithm_, of.rank, step);
      if (models::sends(step.kind)) label += fmt::format(" > {}", steps.send_peer);
      const auto& ranges = step.sources.empty() ? step.targets : step.sources;
      Scene::Box box;
      box.x = kAlgorithmLeft + kStepWidth * column_[node] + 1;
      box.y = y + 1;
      box.width = kStepWidth - 2;
      box.height = kStepHeight - 2;
      box.fill = ranges.empty() ? "#ffffff" : kChunkFills[ranges[0].index % kChunkFills.size()];
      box.stroke = done_[node] ? kInk : kStrong;
      box.hatched = !done_[node];
      box.label = fitted(label, 9, box.width - 4);
      box.size = 9;
      box.tip = fmt::format("rank {} tb {} step {}: {}", of.rank, of.block, number, label);
      scene_.add(std::move(box));
    }
  }

  const models::CollectiveAlgorithm& algorithm_;
  const models::AlgoNetwork& network_;
  const models::AlgoRun& run_;
  Scene scene_;
  std::vector<std::uint32_t> column_;  // column of each node
  std::vector<bool> done_;
  double columns_ = 0;
};

}  // namespace

Scene draw_algorithm(const models::CollectiveAlgorithm& algorithm,
                     const models::AlgoNetwork& network, const models::AlgoRun& run,
                     const std::string& title) {
  return AlgorithmPicture(algorithm, network, run).draw(title);
}

}  // namespace pipesim::viz
