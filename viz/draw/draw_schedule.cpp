#include "viz/draw/draw_schedule.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "models/measure/timeline.hpp"
#include "viz/draw/legend.hpp"
#include "viz/draw/palette.hpp"

namespace pipesim::viz {
namespace {

using models::Action;
using models::ActionKind;
using models::Actions;
using models::WorkKind;

constexpr const char* kForwardArrow = "#2a7db5";
constexpr const char* kBackwardArrow = "#b8791a";

class SchedulePicture {
 public:
  SchedulePicture(const models::Pipeline& pipeline, const models::RankSet& ranks)
      : schedule_(pipeline.schedule), drawing_("tasks") {
    for (const std::uint32_t rank : ranks) {
      if (rank < pipeline.rank_count()) first_ranks_.emplace(pipeline.row_of(rank), rank);
    }
  }

  std::string run(const std::string& title, std::size_t most, PictureFormat format) {
    collect();
    if (count_ > most) {
      throw DrawingError(
          models::Code::kPictureSize,
          fmt::format("the schedule has {} actions, and a picture can have at most {}: choose "
                      "some ranks, as in --ranks 0..3, or fewer micro-batches",
                      count_, most));
    }
    add_style(title);
    for (const auto& [row, rank] : first_ranks_) add_rank(row, rank);
    for (const auto& [done, node] : nodes_) add_needs(done, node);
    return drawing_.drawing(format);
  }

 private:
  struct Done {
    ActionKind kind = ActionKind::kNone;  // a whole backward is one of the input, too
    std::uint32_t stage = 0;
    std::uint32_t micro_batch = 0;

    friend auto operator<=>(const Done&, const Done&) = default;
  };

  static std::string slot_name(std::uint32_t rank, std::size_t slot) {
    return fmt::format("rank {} {}", rank, slot);
  }

  static bool computes(const Actions& row, std::size_t slot) {
    return !row[slot].none() && models::is_compute(row[slot].kind);
  }

  static WorkKind kind_of(const Actions& row, std::size_t slot) {
    if (models::slot_end(row, slot) > slot + 1) return WorkKind::kOverlapped;
    if (row[slot].kind == ActionKind::kForward) return WorkKind::kForward;
    return row[slot].kind == ActionKind::kWeightGrad ? WorkKind::kWeightGrad : WorkKind::kBackward;
  }

  void collect() {
    for (const auto& [index, rank] : first_ranks_) {
      const Actions& row = schedule_.ranks[index];
      for (std::size_t slot = 0; slot < row.size(); slot = models::slot_end(row, slot)) {
        if (!computes(row, slot)) continue;
        ++count_;
        kinds_.insert(kind_of(row, slot));
        for (std::size_t i = slot; i < models::slot_end(row, slot); ++i) {
          const Action& part = row[i];
          const ActionKind kind =
              part.kind == ActionKind::kBackward ? ActionKind::kInputGrad : part.kind;
          nodes_.emplace(Done{kind, part.stage, part.micro_batch}, slot_name(rank, slot));
        }
      }
    }
  }

  void add_style(const std::string& title) {
    drawing_.set_html(
        drawing_.root(), "label",
        legend_html(title,
                    {"A row is what a rank computes, in its order; an arrow to another rank "
                     "carries activations (solid) or gradients (dashed)."},
                    {kinds_.begin(), kinds_.end()}));
    drawing_.set(drawing_.root(), "labelloc", "t");
    drawing_.set(drawing_.root(), "rankdir", "LR");
    drawing_.set(drawing_.root(), "newrank", "true");
    drawing_.set(drawing_.root(), "fontname", "Helvetica");
    drawing_.set(drawing_.root(), "nodesep", "0.15");
    drawing_.set(drawing_.root(), "ranksep", "0.25");
    drawing_.set_nodes("fontname", "Helvetica");
    drawing_.set_nodes("fontsize", "12");
    drawing_.set_nodes("shape", "box");
    drawing_.set_nodes("style", "filled");
    drawing_.set_nodes("width", "0.5");
    drawing_.set_nodes("height", "0.3");
    drawing_.set_nodes("margin", "0.05");
    drawing_.set_nodes("color", kInk);
    drawing_.set_edges("arrowsize", "0.6");
  }

  void add_rank(std::uint32_t index, std::uint32_t rank) {
    const Graphviz::Cluster cluster =
        drawing_.cluster(drawing_.root(), fmt::format("rank_{}", rank));
    drawing_.set(cluster, "label", fmt::format("rank {}", rank));
    drawing_.set(cluster, "labeljust", "l");
    drawing_.set(cluster, "style", "rounded,filled");
    drawing_.set(cluster, "color", "#dfe4ea");
    drawing_.set(cluster, "fillcolor", "#f6f8fa");
    const Actions& row = schedule_.ranks[index];
    Graphviz::Node before = nullptr;
    for (std::size_t slot = 0; slot < row.size(); slot = models::slot_end(row, slot)) {
      if (!computes(row, slot)) continue;
      const KindStyle& style = style_of(kind_of(row, slot));
      const Graphviz::Node node = drawing_.node(cluster, slot_name(rank, slot));
      drawing_.set(node, "label", models::slot_text(row, slot));
      drawing_.set(node, "fillcolor", style.fill);
      drawing_.set(node, "fontcolor", style.text);
      if (before != nullptr) {
        const Graphviz::Edge edge = drawing_.edge(before, node);
        drawing_.set(edge, "color", "#b8c0ca");
        drawing_.set(edge, "weight", "20");
      }
      before = node;
    }
  }

  // What an action needs of another rank.
  void add_needs(const Done& done, const std::string& node) {
    const std::uint32_t depth = std::max<std::uint32_t>(1, schedule_.depth());
    Done from = done;
    const char* colour = kForwardArrow;
    const char* style = "solid";
    if (done.kind == ActionKind::kForward && done.stage % depth != 0) {
      --from.stage;
    } else if (done.kind == ActionKind::kInputGrad && (done.stage + 1) % depth != 0) {
      ++from.stage;
      colour = kBackwardArrow;
      style = "dashed";
    } else {
      return;
    }
    const auto found = nodes_.find(from);
    const bool same_rank =
        schedule_.rank_of_stage[from.stage] == schedule_.rank_of_stage[done.stage];
    if (found == nodes_.end() || same_rank) return;
    const Graphviz::Edge edge = drawing_.edge(drawing_.find(found->second), drawing_.find(node));
    drawing_.set(edge, "color", colour);
    drawing_.set(edge, "style", style);
  }

  const models::Schedule& schedule_;
  std::map<std::uint32_t, std::uint32_t> first_ranks_;  // to draw, by row: equal ones once
  std::size_t count_ = 0;
  std::map<Done, std::string> nodes_;  // by what they do
  std::set<WorkKind> kinds_;
  Graphviz drawing_;
};

}  // namespace

std::string draw_schedule(const models::Pipeline& pipeline, const models::RankSet& ranks,
                          const std::string& title, std::size_t most, PictureFormat format) {
  return SchedulePicture(pipeline, ranks).run(title, most, format);
}

}  // namespace pipesim::viz
