#include "viz/draw/draw_stages.hpp"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/lowering/names.hpp"
#include "models/lowering/rank_classes.hpp"
#include "viz/draw/legend.hpp"
#include "viz/draw/palette.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using sim::ActorId;

constexpr std::size_t kMaxNamed = 4;  // of what goes along one edge, or stands in one node

// "a, b and 3 more".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMaxNamed; ++i) {
    text += (i == 0 ? "" : ",\n") + names[i];
  }
  if (names.size() > kMaxNamed) text += fmt::format("\nand {} more", names.size() - kMaxNamed);
  return text;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  for (const std::string& known : names) {
    if (known == name) return;
  }
  names.push_back(name);
}

class StagesPicture {
 public:
  StagesPicture(const models::TaskGraph& graph, const models::Lowered& lowered)
      : graph_(graph), lowered_(lowered), plan_(lowered.plan), drawing_("stages") {}

  std::string run(PictureFormat format) {
    if (graph_.pipeline) {
      add_pipeline(*graph_.pipeline);
    } else {
      add_classes();
    }
    return drawing_.drawing(format);
  }

 private:
  void add_style(const std::vector<std::string>& lines) {
    const std::string title =
        fmt::format("{}{}stages", graph_.name, graph_.name.empty() ? "" : ": ");
    drawing_.set_html(drawing_.root(), "label", legend_html(title, lines));
    drawing_.set(drawing_.root(), "labelloc", "t");
    drawing_.set(drawing_.root(), "rankdir", "LR");
    drawing_.set(drawing_.root(), "fontname", "Helvetica");
    drawing_.set(drawing_.root(), "ranksep", "0.6");
    drawing_.set_nodes("fontname", "Helvetica");
    drawing_.set_nodes("fontsize", "12");
    drawing_.set_nodes("shape", "box");
    drawing_.set_nodes("style", "rounded,filled");
    drawing_.set_nodes("fillcolor", "#f6f8fa");
    drawing_.set_nodes("color", kInk);
    drawing_.set_edges("fontname", "Helvetica");
    drawing_.set_edges("fontsize", "10");
  }

  static void refuse_more_than(std::size_t most, std::size_t count) {
    if (count <= most) return;
    throw DrawingError(
        models::Code::kPictureSize,
        fmt::format(
            "there are {} stages, and a picture can have at most {}: make it smaller with --set",
            count, most));
  }

  void add_pipeline(const models::Pipeline& pipeline) {
    const models::Schedule& schedule = pipeline.schedule;
    refuse_more_than(kMaxStages, schedule.stages);
    add_style({fmt::format("{} on {}, {}.", counted(schedule.stages, "stage"),
                           counted(pipeline.rank_count(), "rank"),
                           schedule.micro_batches == 1
                               ? "1 micro-batch"
                               : fmt::format("{} micro-batches", schedule.micro_batches)),
               "Activations flow to the right, gradients back."});
    const std::vector<models::RankSet> ranks = pipeline.ranks_of_rows();
    for (std::uint32_t stage = 0; stage < schedule.stages; ++stage) {
      const models::StageCost& cost = pipeline.cost(stage, 0);
      const models::RankSet& its = ranks[schedule.rank_of_stage[stage]];
      std::string label = fmt::format("stage {}\n{}", stage, ranks_text({its.begin(), its.end()}));
      label +=
          fmt::format("{}\nforward {}\ngradient {} + {}",
                      pipeline.costs_differ ? "\nmicro-batch 0:" : "", time_text(cost.forward_ns),
                      time_text(cost.input_grad_ns), time_text(cost.weight_grad_ns));
      if (pipeline.has_memory) {
        label += fmt::format("\nweights {}\nactivation {}", bytes_text(cost.weight_bytes),
                             bytes_text(cost.activation_bytes));
      }
      const Graphviz::Node node = drawing_.node(drawing_.root(), fmt::format("stage {}", stage));
      drawing_.set(node, "label", label);
    }
    const std::uint32_t depth = std::max<std::uint32_t>(1, schedule.depth());
    for (std::uint32_t stage = 0; stage + 1 < schedule.stages; ++stage) {
      if ((stage + 1) % depth == 0) continue;  // the last of a pipeline
      add_messages(pipeline, stage);
    }
  }

  void add_messages(const models::Pipeline& pipeline, std::uint32_t stage) {
    const Graphviz::Node from = drawing_.find(fmt::format("stage {}", stage));
    const Graphviz::Node to = drawing_.find(fmt::format("stage {}", stage + 1));
    const bool same_rank =
        pipeline.schedule.rank_of_stage[stage] == pipeline.schedule.rank_of_stage[stage + 1];
    std::string size;
    if (!same_rank && pipeline.message_bytes) size = bytes_text(*pipeline.message_bytes);
    const Graphviz::Edge forward = drawing_.edge(from, to);
    drawing_.set(forward, "label", size);
    drawing_.set(forward, "color", "#2a7db5");
    const Graphviz::Edge back = drawing_.edge(to, from);
    drawing_.set(back, "label", size);
    drawing_.set(back, "color", "#b8791a");
    drawing_.set(back, "style", "dashed");
  }

  void add_classes() {
    const std::vector<models::RankSet> classes =
        models::rank_classes(lowered_, models::RankSet::range(0, graph_.ranks));
    refuse_more_than(kMaxStages, classes.size());
    add_style({"Ranks that do the same share a node; an arrow is data from one to another."});
    std::vector<std::uint32_t> class_of_rank(graph_.ranks, 0);
    for (std::uint32_t i = 0; i < classes.size(); ++i) {
      for (const std::uint32_t rank : classes[i]) class_of_rank[rank] = i;
      add_class(i, classes[i]);
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::string>> between;
    for (const sim::Edge& edge : plan_.edges) {
      const sim::Register& reg = plan_.registers[edge.source];
      const std::uint32_t from = plan_.actors[reg.producer].rank.value;
      const std::uint32_t to = plan_.actors[edge.consumer].rank.value;
      if (from == to) continue;
      add_once(between[{class_of_rank[from], class_of_rank[to]}],
               models::Names(graph_, lowered_).op(reg.producer));
    }
    for (const sim::Channel& channel : plan_.channels) {
      const std::uint32_t from = plan_.communicator_ranks[channel.from].value;
      const std::uint32_t to = plan_.communicator_ranks[channel.to].value;
      add_once(between[{class_of_rank[from], class_of_rank[to]}], "messages");
    }
    for (const auto& [ends, names] : between) {
      const Graphviz::Edge edge =
          drawing_.edge(drawing_.find(fmt::format("class {}", ends.first)),
                        drawing_.find(fmt::format("class {}", ends.second)));
      drawing_.set(edge, "label", label_text(listed(names)));
    }
  }

  void add_class(std::uint32_t index, const models::RankSet& ranks) {
    const models::Names names(graph_, lowered_);
    std::size_t tasks = 0;
    std::vector<std::string> streams;
    std::vector<std::string> groups;
    for (const ActorId id : ids_of(plan_.actors)) {
      if (plan_.actors[id].rank.value != ranks[0]) continue;
      ++tasks;
      add_once(streams, names.stream_of(id));
      add_groups(names.actor(id), groups);
    }
    std::string label = ranks.size() == 1
                            ? fmt::format("rank {}", ranks[0])
                            : fmt::format("ranks {} (x{})",
                                          short_ranges({ranks.begin(), ranks.end()}), ranks.size());
    label += fmt::format("\n{} on {}", counted(tasks, "task"), counted(streams.size(), "stream"));
    if (!groups.empty()) label += "\ncollectives over " + listed(groups);
    const Graphviz::Node node = drawing_.node(drawing_.root(), fmt::format("class {}", index));
    drawing_.set(node, "label", label_text(label));
  }

  void add_groups(const models::ActorTemplate& actor, std::vector<std::string>& groups) const {
    if (actor.collective && actor.collective->group != models::kNoIndex) {
      add_once(groups, graph_.groups[actor.collective->group].name);
    }
    if (!actor.step) return;
    for (const models::CallTemplate& call : actor.step->calls) {
      if (call.kind != sim::CallKind::kCollective || call.communicator == models::kNoIndex)
        continue;
      add_once(groups, graph_.communicators[call.communicator].name);
    }
  }

  const models::TaskGraph& graph_;
  const models::Lowered& lowered_;
  const sim::Plan& plan_;
  Graphviz drawing_;
};

}  // namespace

std::string draw_stages(const models::TaskGraph& graph, const models::Lowered& lowered,
                        PictureFormat format) {
  return StagesPicture(graph, lowered).run(format);
}

}  // namespace pipesim::viz
