#include "viz/draw/draw_tasks.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/lowering/names.hpp"
#include "models/lowering/rank_classes.hpp"
#include "models/measure/timeline.hpp"
#include "viz/draw/draw_schedule.hpp"
#include "viz/draw/legend.hpp"
#include "viz/draw/palette.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using models::WorkKind;
using sim::ActorId;

std::string title_of(const models::TaskGraph& graph) {
  return fmt::format("{}{}tasks", graph.name, graph.name.empty() ? "" : ": ");
}

class TasksPicture {
 public:
  TasksPicture(const models::TaskGraph& graph, const models::Lowered& lowered,
               const models::RankSet& ranks, bool fold)
      : graph_(graph),
        lowered_(lowered),
        plan_(lowered.plan),
        names_(graph, lowered),
        kinds_(models::work_kinds(graph, lowered)),
        drawing_("tasks") {
    std::vector<models::RankSet> alone;
    for (const std::uint32_t rank : ranks) {
      alone.push_back(models::RankSet(std::vector<std::uint32_t>{rank}));
    }
    choose(fold ? models::rank_classes(lowered, ranks) : alone);
    if (!fold || !talks_to_itself()) return;
    // Arrows from a class to itself say little; if there is room, who talks to whom is better.
    std::vector<models::RankSet> folded = classes_;
    choose(std::move(alone));
    if (node_count(unrolls_) > kMaxTasks) choose(std::move(folded));
  }

  std::string run(PictureFormat format) {
    const std::uint64_t count = node_count(unrolls_);
    if (count > kMaxTasks) {
      throw DrawingError(
          models::Code::kPictureSize,
          fmt::format("the task graph has {} tasks, and a picture can have at most {}: "
                      "choose some ranks, as in --ranks "
                      "0..3, or make it smaller with --set",
                      count, kMaxTasks));
    }
    add_style();
    for (const ActorId id : ids_of(plan_.actors)) {
      if (is_node(id)) add_actor(id);
    }
    add_registers();
    add_programs();
    add_afters();
    add_messages();
    return drawing_.drawing(format);
  }

 private:
  void choose(std::vector<models::RankSet> classes) {
    classes_ = std::move(classes);
    class_of_rank_.assign(plan_.rank_count, models::kNoIndex);
    for (std::uint32_t i = 0; i < classes_.size(); ++i) {
      for (const std::uint32_t rank : classes_[i]) class_of_rank_[rank] = i;
    }
    unrolls_ = node_count(true) <= kMaxTasks;
  }

  // Something goes from a rank to another of its class.
  bool talks_to_itself() const {
    const auto one_class = [&](std::uint32_t from, std::uint32_t to) {
      return from != to && class_of_rank_[from] != models::kNoIndex &&
             class_of_rank_[from] == class_of_rank_[to];
    };
    const auto inside = [&](const sim::Channel& channel) {
      return one_class(plan_.communicator_ranks[channel.from].value,
                       plan_.communicator_ranks[channel.to].value);
    };
    const auto across = [&](const sim::Edge& edge) {
      const ActorId producer = plan_.registers[edge.source].producer;
      return one_class(plan_.actors[producer].rank.value, plan_.actors[edge.consumer].rank.value);
    };
    return std::any_of(plan_.channels.begin(), plan_.channels.end(), inside) ||
           std::any_of(plan_.edges.begin(), plan_.edges.end(), across);
  }

  // Of each class the first rank is drawn.
  bool is_shown(ActorId id) const {
    const std::uint32_t rank = plan_.actors[id].rank.value;
    return class_of_rank_[rank] != models::kNoIndex && classes_[class_of_rank_[rank]][0] == rank;
  }

  bool is_node(ActorId id) const { return is_shown(id) && !is_implied(id); }

  bool in_program(ActorId id) const {
    return plan_.threads[plan_.actors[id].thread].order == sim::ThreadOrder::kProgram;
  }

  std::uint64_t node_count(bool unrolls) const {
    std::uint64_t count = 0;
    for (const ActorId id : ids_of(plan_.actors)) {
      if (is_node(id)) count += unrolls && in_program(id) ? plan_.actors[id].acts : 1;
    }
    return count;
  }

  bool is_unrolled(ActorId id) const { return unrolls_ && in_program(id); }

  std::string class_name(std::uint32_t index) const {
    const models::RankSet& ranks = classes_[index];
    if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
    return fmt::format("ranks {}  (x{})", short_ranges({ranks.begin(), ranks.end()}), ranks.size());
  }

  // The actor of the class, whichever of its ranks `id` is on.
  std::string node_name(ActorId id, std::uint32_t k) const {
    const std::string name =
        fmt::format("{} {}", class_of_rank_[plan_.actors[id].rank.value], names_.op(id));
    return is_unrolled(id) ? fmt::format("{} {}", name, k) : name;
  }

  Graphviz::Cluster lane_of(ActorId id) {
    const std::uint32_t index = class_of_rank_[plan_.actors[id].rank.value];
    const Graphviz::Cluster rank =
        drawing_.cluster(drawing_.root(), fmt::format("ranks_{}", index));
    drawing_.set(rank, "label", class_name(index));
    drawing_.set(rank, "labeljust", "l");
    drawing_.set(rank, "fontsize", "16");
    drawing_.set(rank, "style", "rounded");
    drawing_.set(rank, "color", kInk);
    const bool on_host = !plan_.actors[id].stream.valid();
    const std::string name = names_.stream_of(id);
    const Graphviz::Cluster lane =
        drawing_.cluster(rank, fmt::format("{}_{}_{}", index, on_host ? "thread" : "stream", name));
    drawing_.set(lane, "label",
                 label_text(fmt::format("{}{}", on_host ? "host thread " : "stream ", name)));
    drawing_.set(lane, "labeljust", "l");
    drawing_.set(lane, "fontsize", "11");
    drawing_.set(lane, "fontcolor", kGreyText);
    drawing_.set(lane, "style", "rounded,filled");
    drawing_.set(lane, "color", "#dfe4ea");
    drawing_.set(lane, "fillcolor", "#f6f8fa");
    return lane;
  }

  void add_actor(ActorId id) {
    const KindStyle& style = style_of(kinds_[id]);
    const std::uint32_t acts = is_unrolled(id) ? plan_.actors[id].acts : 1;
    const Graphviz::Cluster lane = lane_of(id);
    for (std::uint32_t k = 0; k < acts; ++k) {
      const Graphviz::Node node = drawing_.node(lane, node_name(id, k));
      drawing_.set(node, "label", label_text(label_of(id, k)));
      drawing_.set(node, "fillcolor", style.fill);
      drawing_.set(node, "fontcolor", style.text);
      drawing_.set(node, "shape", style.shape);
      if (style.rounded) drawing_.set(node, "style", "rounded,filled");
    }
  }

  std::string label_of(ActorId id, std::uint32_t k) const {
    const models::ActorTemplate& actor = names_.actor(id);
    const std::uint32_t acts = plan_.actors[id].acts;
    if (is_unrolled(id)) return models::act_label(graph_, lowered_, id, k);
    std::string label = actor.name;
    if (actor.collective) {
      const models::CollectiveTemplate& of = *actor.collective;
      label += "\n" + operation_name(of.operation);
      if (of.group != models::kNoIndex) label += " " + graph_.groups[of.group].name;
    }
    if (acts != 1) label += fmt::format("\n{} times", acts);
    return label;
  }

  // Of what the ranks of a class have in common one is drawn.
  bool is_new(const std::string& from, const std::string& to, const std::string& what) {
    return drawn_.emplace(from, to, what).second;
  }

  void add_edge(const std::string& from, const std::string& to, const std::string& label,
                const char* colour, const char* style) {
    const Graphviz::Node begin = drawing_.find(from);
    const Graphviz::Node end = drawing_.find(to);
    if (begin == nullptr || end == nullptr || !is_new(from, to, label + style)) return;
    const Graphviz::Edge edge = drawing_.edge(begin, end);
    if (!label.empty()) drawing_.set(edge, "label", label_text(label));
    drawing_.set(edge, "color", colour);
    drawing_.set(edge, "fontcolor", colour);
    if (*style != 0) drawing_.set(edge, "style", style);
  }

  bool is_in_picture(ActorId id) const {
    return class_of_rank_[plan_.actors[id].rank.value] != models::kNoIndex;
  }

  void add_registers() {
    for (const sim::RegisterId id : ids_of(plan_.registers)) {
      const sim::Register& reg = plan_.registers[id];
      for (const sim::EdgeId edge : plan_.edges_of(id)) {
        const ActorId consumer = plan_.edges[edge].consumer;
        if (!is_in_picture(reg.producer) || !is_in_picture(consumer)) continue;
        const bool is_main = names_.reg(id) == "out";
        const std::string label = is_main ? fmt::format(" {}", reg.slots)
                                          : fmt::format(" {} {}", names_.reg(id), reg.slots);
        add_edge(node_name(reg.producer, 0), node_name(consumer, 0), label,
                 reg.control ? kGreyText : kInk, reg.control ? "dashed" : "");
      }
    }
  }

  /// What is known of a host's program up to a step of it.
  struct Walk {
    std::string before;                                            // the step before
    std::map<sim::StreamId, std::string> last;                     // on each stream
    std::map<sim::SignalId, std::string> recorded;                 // what stood before a record
    std::map<sim::StreamId, std::vector<std::string>> waited_for;  // by what comes next there
  };

  // What a host does one after the other. Where an actor stands for many acts, their order is none
  // of actors.
  void add_programs() {
    std::vector<std::uint32_t> done(plan_.actors.size(), 0);
    for (const sim::Thread& thread : plan_.threads) {
      Walk walk;
      for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
        const ActorId id = plan_.act(thread, i);
        if (!is_shown(id)) break;
        add_step(id, done[id.value]++, walk);
      }
    }
  }

  // Of the steps that `after` implies only what they mean is drawn.
  void add_step(ActorId id, std::uint32_t k, Walk& walk) {
    const sim::Actor& actor = plan_.actors[id];
    if (is_implied(id)) {
      if (actor.role == sim::Role::kRecord) walk.recorded[actor.signal] = walk.last[actor.stream];
      if (actor.role == sim::Role::kWait) {
        walk.waited_for[actor.stream].push_back(walk.recorded[actor.signal]);
      }
      return;
    }
    const bool ordered = is_unrolled(id) || actor.acts == 1;
    const std::string now = ordered ? node_name(id, k) : std::string();
    if (ordered && !walk.before.empty()) add_edge(walk.before, now, "", "#a9b2bd", "dotted");
    for (const std::string& from : walk.waited_for[actor.stream]) {
      if (ordered && !from.empty()) add_edge(from, now, "", kInk, "");
    }
    walk.waited_for.erase(actor.stream);
    walk.before = now;
    walk.last[actor.stream] = now;
  }

  bool is_implied(ActorId id) const {
    const auto& step = names_.actor(id).step;
    return step && step->implied;
  }

  void add_afters() {
    for (const ActorId id : ids_of(plan_.actors)) {
      const sim::Actor& actor = plan_.actors[id];
      if (!is_shown(id)) continue;
      for (std::uint32_t i = actor.afters; i < actor.afters_end; ++i) {
        const sim::After& after = plan_.afters[i];
        const std::uint32_t acts = is_unrolled(id) ? actor.acts : 1;
        for (std::uint32_t k = 0; k < acts; ++k) {
          add_edge(node_name(after.actor, k + after.ahead), node_name(id, k), "", kInk, "");
        }
      }
    }
  }

  // Sends and receives match by order (docs/reference/rules.md, 9.5).
  void add_messages() {
    struct Ends {
      std::vector<std::string> sends;
      std::vector<std::string> receives;
    };
    std::map<sim::ChannelId, Ends> channels;
    std::vector<std::uint32_t> done(plan_.actors.size(), 0);
    for (const sim::Thread& thread : plan_.threads) {
      for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
        const ActorId id = plan_.act(thread, i);
        const std::uint32_t k = done[id.value]++;
        if (!is_in_picture(id)) continue;
        for (const sim::CallId call : plan_.calls_of(id)) {
          if (plan_.calls[call].kind == sim::CallKind::kCollective) continue;
          Ends& ends = channels[plan_.calls[call].channel];
          const bool sends = plan_.calls[call].kind == sim::CallKind::kSend;
          (sends ? ends.sends : ends.receives).push_back(node_name(id, k));
        }
      }
    }
    for (const auto& [channel, ends] : channels) {
      for (std::size_t i = 0; i < std::min(ends.sends.size(), ends.receives.size()); ++i) {
        add_edge(ends.sends[i], ends.receives[i], "", "#b5578c", "bold");
      }
    }
  }

  void add_style() {
    std::vector<WorkKind> used;
    for (const ActorId id : ids_of(plan_.actors)) {
      if (is_node(id) && std::find(used.begin(), used.end(), kinds_[id]) == used.end()) {
        used.push_back(kinds_[id]);
      }
    }
    std::sort(used.begin(), used.end());
    const bool has_registers = !plan_.registers.empty();
    const bool has_programs = std::any_of(plan_.threads.begin(), plan_.threads.end(), [](auto& of) {
      return of.order == sim::ThreadOrder::kProgram;
    });
    std::vector<std::string> lines;
    if (has_registers) {
      lines.emplace_back(
          "An arrow points from the producer of data to its reader; the number is how many "
          "slots it has. Dashed: only order.");
    }
    if (has_programs) {
      lines.emplace_back(
          "Dotted: the order of a host's program. Solid: starts after. Coloured: a "
          "message to another rank.");
    }
    drawing_.set_html(drawing_.root(), "label", legend_html(title_of(graph_), lines, used));
    drawing_.set(drawing_.root(), "labelloc", "t");
    drawing_.set(drawing_.root(), "rankdir", "LR");
    drawing_.set(drawing_.root(), "newrank", "true");  // columns go through all ranks
    drawing_.set(drawing_.root(), "fontname", "Helvetica");
    drawing_.set(drawing_.root(), "nodesep", "0.2");
    drawing_.set(drawing_.root(), "ranksep", "0.35");
    drawing_.set_nodes("fontname", "Helvetica");
    drawing_.set_nodes("fontsize", "12");
    drawing_.set_nodes("style", "filled");
    drawing_.set_nodes("color", kInk);
    drawing_.set_edges("fontname", "Helvetica");
    drawing_.set_edges("fontsize", "10");
    drawing_.set_edges("arrowsize", "0.7");
  }

  const models::TaskGraph& graph_;
  const models::Lowered& lowered_;
  const sim::Plan& plan_;
  models::Names names_;
  sim::IdVector<ActorId, WorkKind> kinds_;
  std::vector<models::RankSet> classes_;
  std::vector<std::uint32_t> class_of_rank_;
  bool unrolls_ = false;
  std::set<std::tuple<std::string, std::string, std::string>> drawn_;
  Graphviz drawing_;
};

}  // namespace

std::string draw_tasks(const models::TaskGraph& graph, const models::Lowered& lowered,
                       const models::RankSet& ranks, bool fold, PictureFormat format) {
  if (graph.pipeline) {
    return draw_schedule(*graph.pipeline, ranks, title_of(graph), kMaxTasks, format);
  }
  return TasksPicture(graph, lowered, ranks, fold).run(format);
}

}  // namespace pipesim::viz
