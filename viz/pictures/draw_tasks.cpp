#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/characters.hpp"
#include "models/lowering/names.hpp"
#include "models/lowering/rank_classes.hpp"
#include "models/result/timeline.hpp"
#include "viz/pictures/draw_schedule.hpp"
#include "viz/pictures/lanes.hpp"
#include "viz/pictures/palette.hpp"
#include "viz/pictures/pictures.hpp"
#include "viz/pictures/slice_look.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::WorkKind;
using sim::ActorId;

constexpr std::size_t kMaxAlone = 60;  // maximum number of tasks for drawing equal ranks separately

std::string title_of(const models::TaskGraph& graph) {
  return fmt::format("{}{}tasks", graph.name, graph.name.empty() ? "" : ": ");
}

// Returns the index of each rank's class; kNoIndex if the rank has no class.
std::vector<std::uint32_t> class_of_rank(const std::vector<models::RankSet>& classes,
                                         std::uint32_t count) {
  std::vector<std::uint32_t> result(count, models::kNoIndex);
  for (std::uint32_t i = 0; i < classes.size(); ++i) {
    for (const std::uint32_t rank : classes[i]) result[rank] = i;
  }
  return result;
}

class ActorsPicture {
 public:
  ActorsPicture(const models::TaskGraph& graph, const models::Lowered& lowered,
                const models::RankSet& ranks, const PictureStyle& style)
      : graph_(graph),
        lowered_(lowered),
        plan_(lowered.plan),
        names_(graph, lowered),
        kinds_(models::work_kinds(graph, lowered)),
        style_(style),
        drawing_("tasks") {
    drawing_.set_dark(style.dark);
    drawing_.set_font_scale(style.font_scale);
    if (style.aspect > 0) drawing_.set_aspect(style.aspect, false);
    const std::vector<models::RankSet> alone =
        models::ranks_by_key(ranks, [](std::uint32_t rank) { return rank; });
    if (style.all) {
      choose(alone);
      return;
    }
    const std::vector<models::RankSet> classes = models::rank_classes(lowered, ranks);
    choose(classes);
    if (talks_to_itself()) {
      // Arrows from a class to itself hide which ranks communicate. If there is space, draws each
      // rank separately.
      choose(alone);
      if (node_count() <= kMaxAlone) return;
      choose(classes);
    }
    merge_similar();
  }

  /// Returns the picture; nullopt if the graph fits a page only with illegible text.
  std::optional<std::string> run(PictureFormat format) {
    constexpr double kMinScale = 0.6;
    const std::uint64_t count = node_count();
    const bool fits = !style_.all && format != PictureFormat::kDot;
    if (count > kMaxTasks && fits) return std::nullopt;
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
      if (is_shown(id)) add_actor(id);
    }
    add_registers();
    if (fits) drawing_.fit(kPageWidth, kPageHeight);
    std::string drawn = drawing_.drawing(format);
    if (drawing_.scale() < kMinScale) return std::nullopt;
    return drawn;
  }

 private:
  void choose(std::vector<models::RankSet> classes) {
    classes_ = std::move(classes);
    class_of_rank_ = class_of_rank(classes_, plan_.rank_count);
    ranks_of_.clear();
    for (const ActorId id : ids_of(plan_.actors)) {
      const std::uint32_t rank = plan_.actors[id].rank.value;
      if (class_of_rank_[rank] == models::kNoIndex) continue;
      ranks_of_[{class_of_rank_[rank], lowered_.actor_template[id]}].push_back(rank);
    }
  }

  // Merges classes that differ in few tasks into one frame. A task of only some ranks is labeled
  // with these ranks.
  void merge_similar() {
    std::vector<std::set<std::uint32_t>> templates(classes_.size());
    for (const auto& [key, ranks] : ranks_of_) templates[key.first].insert(key.second);
    std::vector<std::vector<std::uint32_t>> merged;
    std::vector<std::size_t> first;  // index of the first class of each merged class
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      const auto like = std::find_if(first.begin(), first.end(), [&](std::size_t other) {
        std::vector<std::uint32_t> differ;
        std::set_symmetric_difference(templates[i].begin(), templates[i].end(),
                                      templates[other].begin(), templates[other].end(),
                                      std::back_inserter(differ));
        return differ.size() * 4 <= templates[i].size();
      });
      const auto at = static_cast<std::size_t>(like - first.begin());
      if (at == first.size()) {
        first.push_back(i);
        merged.emplace_back();
      }
      merged[at].insert(merged[at].end(), classes_[i].begin(), classes_[i].end());
    }
    choose({merged.begin(), merged.end()});
  }

  // Whether a rank sends data to another rank of its class.
  bool talks_to_itself() const {
    const auto one_class = [&](std::uint32_t from, std::uint32_t to) {
      return from != to && class_of_rank_[from] != models::kNoIndex &&
             class_of_rank_[from] == class_of_rank_[to];
    };
    const auto across = [&](const sim::Edge& edge) {
      const ActorId producer = plan_.registers[edge.source].producer;
      return one_class(plan_.actors[producer].rank.value, plan_.actors[edge.consumer].rank.value);
    };
    return std::any_of(plan_.edges.begin(), plan_.edges.end(), across);
  }

  // Whether the op is drawn: a picture shows only the first rank of each class.
  bool is_shown(ActorId id) const {
    const auto found = ranks_of_.find(key_of(id));
    return found != ranks_of_.end() && found->second.front() == plan_.actors[id].rank.value;
  }

  std::pair<std::uint32_t, std::uint32_t> key_of(ActorId id) const {
    return {class_of_rank_[plan_.actors[id].rank.value], lowered_.actor_template[id]};
  }

  std::uint64_t node_count() const {
    std::uint64_t count = 0;
    for (const ActorId id : ids_of(plan_.actors)) count += is_shown(id) ? 1u : 0u;
    return count;
  }

  // Returns the node name of an op; all ranks of a class share the name.
  std::string node_name(ActorId id) const {
    return fmt::format("{} {}", class_of_rank_[plan_.actors[id].rank.value], names_.name(id));
  }

  Graphviz::Cluster lane_of(ActorId id) {
    const std::uint32_t index = class_of_rank_[plan_.actors[id].rank.value];
    const Graphviz::Cluster rank =
        drawing_.cluster(drawing_.root(), fmt::format("ranks_{}", index));
    drawing_.set(rank, "label", class_name(classes_[index]));
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
    const Graphviz::Node node = drawing_.node(lane_of(id), node_name(id));
    drawing_.set(node, "label", label_text(label_of(id)));
    drawing_.set(node, "fillcolor", style.fill);
    drawing_.set(node, "fontcolor", style.text);
    drawing_.set(node, "shape", style.shape);
    const bool some = is_of_some(id);
    if (style.rounded || some) {
      drawing_.set(
          node, "style",
          fmt::format("{}filled{}", style.rounded ? "rounded," : "", some ? ",dashed" : ""));
    }
    if (some) drawing_.set(node, "penwidth", "2");
  }

  // Whether only some ranks of the frame have this op.
  bool is_of_some(ActorId id) const {
    const auto key = key_of(id);
    return ranks_of_.at(key).size() < classes_[key.first].size();
  }

  std::string label_of(ActorId id) const {
    const models::ActorTemplate& actor = names_.actor(id);
    const std::uint32_t ops = plan_.actors[id].ops;
    std::string label = actor.name;
    if (actor.collective) {
      const models::CollectiveTemplate& of = *actor.collective;
      label += "\n" + operation_name(of.operation);
      if (of.group != models::kNoIndex) label += " " + graph_.groups[of.group].name;
    }
    if (ops != 1 && ops != most_ops_) label += fmt::format(" ({} times)", ops);
    if (is_of_some(id)) label += "\nonly " + class_name(models::RankSet(ranks_of_.at(key_of(id))));
    return label;
  }

  // Whether the edge is new: ranks of a class share their edges.
  bool is_new(const std::string& from, const std::string& to, const std::string& what) {
    return drawn_.emplace(from, to, what).second;
  }

  void add_edge(const std::string& from, const std::string& to, const std::string& label,
                const char* colour, const char* style, bool back) {
    const Graphviz::Node begin = drawing_.find(from);
    const Graphviz::Node end = drawing_.find(to);
    if (begin == nullptr || end == nullptr || !is_new(from, to, label + style)) return;
    const Graphviz::Edge edge = drawing_.edge(begin, end);
    if (!label.empty()) drawing_.set(edge, "label", label_text(label));
    drawing_.set(edge, "color", colour);
    drawing_.set(edge, "fontcolor", colour);
    if (*style != 0) drawing_.set(edge, "style", style);
    if (back) drawing_.set(edge, "constraint", "false");  // keeps the first ranks on the left
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
        std::string label = is_main ? "" : " " + names_.reg(id);
        if (reg.slots > 1) label += fmt::format(" x{}", reg.slots);
        add_edge(node_name(reg.producer), node_name(consumer), label,
                 reg.control ? kGreyText : kInk, reg.control ? "dashed" : "",
                 key_of(consumer).first < key_of(reg.producer).first);
      }
    }
  }

  void add_style() {
    std::vector<WorkKind> used;
    for (const ActorId id : ids_of(plan_.actors)) {
      if (is_shown(id) && std::find(used.begin(), used.end(), kinds_[id]) == used.end()) {
        used.push_back(kinds_[id]);
      }
    }
    std::sort(used.begin(), used.end());
    std::vector<std::string> lines = {
        "An arrow points from the producer of data to its reader; x2 is a register of two slots. "
        "Dashed: only order."};
    std::map<std::uint32_t, std::size_t> counts;
    for (const ActorId id : ids_of(plan_.actors)) counts[plan_.actors[id].ops] += is_shown(id);
    for (const auto& [ops, count] : counts) {
      if (most_ops_ == 0 || count > counts[most_ops_]) most_ops_ = ops;
    }
    if (most_ops_ > 1) {
      lines.push_back(fmt::format("Each runs {} times unless it says otherwise.", most_ops_));
    }
    drawing_.set_html(drawing_.root(), "label",
                      legend_html(style_.title.empty() ? title_of(graph_) : style_.title, lines,
                                  used, style_.made_by, style_.font_scale));
    drawing_.set(drawing_.root(), "labelloc", "t");
    drawing_.set(drawing_.root(), "labeljust", "l");
    drawing_.set(drawing_.root(), "rankdir", "LR");
    drawing_.set(drawing_.root(), "fontname", "Helvetica");
    drawing_.set(drawing_.root(), "nodesep", "0.2");
    drawing_.set(drawing_.root(), "ranksep", "0.3");
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
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>>
      ranks_of_;  // keyed by class and template
  PictureStyle style_;
  std::uint32_t most_ops_ = 0;  // the most frequent number of ops per actor
  std::set<std::tuple<std::string, std::string, std::string>> drawn_;
  Graphviz drawing_;
};

// Merges two names that differ in one number: "block0" and "block3" become "block0..3". Otherwise
// returns the first name.
std::string merged_name(const std::string& first, const std::string& last) {
  std::size_t begin = 0;
  while (begin < std::min(first.size(), last.size()) && first[begin] == last[begin]) ++begin;
  if (begin == first.size() && begin == last.size()) return first;
  while (begin > 0 && models::is_digit(first[begin - 1])) --begin;
  const auto end_of = [&](const std::string& text) {
    std::size_t end = begin;
    while (end < text.size() && models::is_digit(text[end])) ++end;
    return end;
  };
  const std::size_t a = end_of(first);
  const std::size_t b = end_of(last);
  const bool one_number = a > begin && b > begin && first.substr(a) == last.substr(b);
  if (!one_number) return first;
  return first.substr(0, a) + ".." + last.substr(begin, b - begin) + first.substr(a);
}

bool has_programs(const sim::Plan& plan) {
  return std::any_of(plan.threads.begin(), plan.threads.end(), [](const sim::Thread& thread) {
    return thread.order == sim::ThreadOrder::kProgram;
  });
}

// Returns the name of a recorded call without its numbers: "recv from rank 1" for "recv #2 from
// rank 1".
std::string without_call_numbers(std::string name) {
  for (std::size_t at = name.find(" #"); at != std::string::npos; at = name.find(" #", at)) {
    std::size_t end = at + 2;
    while (end < name.size() && models::is_digit(name[end])) ++end;
    name.erase(at, end - at);
  }
  return name;
}

class ProgramLanes {
 public:
  ProgramLanes(const models::TaskGraph& graph, const models::Lowered& lowered,
               const models::RankSet& ranks, bool fold)
      : graph_(graph),
        lowered_(lowered),
        plan_(lowered.plan),
        names_(graph, lowered),
        kinds_(models::work_kinds(graph, lowered)) {
    lanes_.title = title_of(graph);
    choose(fold ? models::rank_classes(lowered, ranks)
                : models::ranks_by_key(ranks, [](std::uint32_t rank) { return rank; }));
    if (fold) unfold_pairs();
  }

  TaskLanes run() {
    if (has_programs(plan_)) {
      lanes_.about = {graph_.recorded
                          ? "What each rank calls one after the other, with its lines. A frame is "
                            "a loop; only the numbers of its calls differ."
                          : "What each rank does one after the other, with its stream, what that "
                            "starts after, and whom it sends to. A frame is a loop."};
    } else {
      lanes_.about = {
          "The tasks of each stream in an order in which their data can arrive, with what they "
          "read from other streams. A frame is a sequence that repeats, as in equal layers."};
    }
    collect_peers();
    threads_of_.resize(plan_.rank_count);
    for (const sim::ThreadId id : ids_of(plan_.threads)) {
      if (plan_.threads[id].order == sim::ThreadOrder::kProgram) {
        threads_of_[plan_.threads[id].rank.value].push_back(id);
      }
    }
    actors_of_.resize(plan_.rank_count);
    for (const ActorId id : ids_of(plan_.actors)) {
      const bool in_program =
          plan_.threads[plan_.actors[id].thread].order == sim::ThreadOrder::kProgram;
      if (!in_program) actors_of_[plan_.actors[id].rank.value].push_back(id);
    }
    for (std::uint32_t i = 0; i < classes_.size(); ++i) add_class(i);
    if (!graph_.recorded) compare_all();
    for (std::vector<TaskLane>& lanes : lanes_of_) {
      for (TaskLane& lane : lanes) lanes_.lanes.push_back(std::move(lane));
    }
    return std::move(lanes_);
  }

 private:
  // Draws identical ranks separately if they communicate with each other and are few. A lane that
  // represents all of them would hide which ranks communicate.
  void unfold_pairs() {
    constexpr std::size_t kMaxUnfolded = 4;
    std::size_t count = 0;
    for (const models::RankSet& ranks : classes_) count += ranks.size();
    if (count > kMaxUnfolded) return;
    std::vector<std::uint32_t> ranks;
    for (const models::RankSet& of : classes_) ranks.insert(ranks.end(), of.begin(), of.end());
    const bool talk =
        std::any_of(plan_.channels.begin(), plan_.channels.end(), [&](const sim::Channel& channel) {
          // Skips the channel of a receive from any rank: each possible sender also has its own
          // channel.
          if (channel.from == sim::kAnyPeer) return false;
          const std::uint32_t from = plan_.communicator_ranks[channel.from].value;
          const std::uint32_t to = plan_.communicator_ranks[channel.to].value;
          return from != to && class_of_rank_[from] == class_of_rank_[to];
        });
    if (talk)
      choose(models::ranks_by_key(models::RankSet(ranks), [](std::uint32_t rank) { return rank; }));
  }

  void choose(std::vector<models::RankSet> classes) {
    classes_ = std::move(classes);
    class_of_rank_ = class_of_rank(classes_, plan_.rank_count);
  }

  using Templates = std::set<std::uint32_t>;
  using Peers = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // rank, peer

  // Names the peers of a class's ranks: "rank 21", "rank + 16" if each rank has one peer at the
  // same distance, or "one of ranks 16-20, 22-31".
  static std::string peers_text(const Peers& peers) {
    std::vector<std::uint32_t> all;
    std::set<std::uint32_t> ranks;
    for (const auto& [rank, peer] : peers) {
      all.push_back(peer);
      ranks.insert(rank);
    }
    const std::int64_t distance =
        std::int64_t{peers.front().second} - std::int64_t{peers.front().first};
    const bool one_distance = std::all_of(peers.begin(), peers.end(), [&](const auto& pair) {
      return std::int64_t{pair.second} - std::int64_t{pair.first} == distance;
    });
    if (ranks.size() > 1 && one_distance) {
      return distance < 0 ? fmt::format("rank - {}", -distance)
                          : fmt::format("rank + {}", distance);
    }
    const models::RankSet set(all);
    if (ranks.size() == 1 || set.size() == 1) return class_name(set);
    return "one of ranks " + short_ranges({set.begin(), set.end()});
  }

  // Collects the peers of each class of ranks, per template.
  void collect_peers() {
    for (const ActorId id : ids_of(plan_.actors)) {
      const std::uint32_t index = class_of_rank_[plan_.actors[id].rank.value];
      if (index == models::kNoIndex) continue;
      for (const sim::CallId call : plan_.calls_of(id)) {
        if (plan_.calls[call].kind == sim::CallKind::kCollective) continue;
        const sim::Channel& channel = plan_.channels[plan_.calls[call].channel];
        const bool sends = plan_.calls[call].kind == sim::CallKind::kSend;
        auto& peers = peers_[{index, lowered_.actor_template[id]}][sends ? "to" : "from"];
        const std::uint32_t rank = plan_.actors[id].rank.value;
        if (!plan_.calls[call].from_any()) {
          peers.emplace_back(rank,
                             plan_.communicator_ranks[sends ? channel.to : channel.from].value);
        }
        for (std::uint32_t i = channel.sources; i < channel.sources_end; ++i) {
          const sim::Channel& source = plan_.channels[plan_.sources[i]];
          peers.emplace_back(rank, plan_.communicator_ranks[source.from].value);
        }
      }
    }
  }

  void add_class(std::uint32_t index) {
    const std::uint32_t rank = classes_[index][0];
    Templates own;
    std::vector<TaskLane> lanes;
    for (const sim::ThreadId id : threads_of_[rank]) {
      lanes.push_back({"", threads_of_[rank].size() > 1 ? "thread " + names_.thread(id) : "",
                       graph_.recorded ? recorded_steps(plan_.threads[id])
                                       : steps_of(index, plan_.threads[id], own)});
    }
    if (threads_of_[rank].empty()) {
      add_streams(index, own, lanes);
    } else if (!actors_of_[rank].empty()) {
      lanes.push_back({"", "actors", actor_steps(index, own)});
    }
    if (lanes.empty()) lanes.push_back({"", "does nothing", {}});
    lanes.front().name = class_name(classes_[index]);
    lanes_of_.push_back(std::move(lanes));
    templates_.push_back(std::move(own));
  }

  // Compares each class with the most similar class at the same position in the pipeline, because
  // ranks at other positions usually differ. Considers only classes with more ranks, and classes
  // above it with equally many ranks.
  void compare_all() {
    const std::vector<std::uint32_t> positions = models::rank_positions(lowered_);
    const std::vector<std::vector<TaskLane>> originals = lanes_of_;
    for (std::size_t own = 0; own < classes_.size(); ++own) {
      std::size_t fewest = templates_[own].size();
      std::size_t nearest = classes_.size();
      for (std::size_t i = 0; i < classes_.size(); ++i) {
        const bool larger = classes_[i].size() > classes_[own].size() ||
                            (classes_[i].size() == classes_[own].size() && i < own);
        if (!larger || positions[classes_[i][0]] != positions[classes_[own][0]]) continue;
        const std::size_t differences = missing(templates_[own], templates_[i]).size() +
                                        missing(templates_[i], templates_[own]).size();
        if (differences >= fewest) continue;
        fewest = differences;
        nearest = i;
      }
      if (nearest < classes_.size()) compare(own, nearest, originals[nearest]);
    }
  }

  // Marks the steps of class `own` that class `other` lacks, and adds the missing ones in their
  // places.
  void compare(std::size_t own, std::size_t other, const std::vector<TaskLane>& lanes_of_other) {
    std::vector<TaskLane>& lanes = lanes_of_[own];
    const std::vector<std::uint32_t> more = missing(templates_[other], templates_[own]);
    for (TaskLane& lane : lanes) mark(more, lane.steps);
    const std::vector<std::uint32_t> without = missing(templates_[own], templates_[other]);
    std::string note = "compared with " + class_name(classes_[other]);
    for (std::size_t i = 0; i < without.size(); ++i) {
      note += (i == 0 ? ", without " : ", ") + name_of_template_.at(without[i]);
    }
    for (std::size_t i = 0; i < std::min(lanes.size(), lanes_of_other.size()); ++i) {
      add_missing(without, lanes_of_other[i].steps, lanes[i].steps);
    }
    std::string& shown = lanes.front().note;
    shown += (shown.empty() ? "" : "; ") + note;
  }

  static bool has_step(const LaneStep& in, std::uint32_t number) {
    if (in.parts.empty()) return in.number == number && !in.missing;
    return std::any_of(in.parts.begin(), in.parts.end(),
                       [&](const LaneStep& part) { return has_step(part, number); });
  }

  static bool has_step_of(const LaneStep& in, const LaneStep& of) {
    if (of.parts.empty()) return has_step(in, of.number);
    return std::any_of(of.parts.begin(), of.parts.end(),
                       [&](const LaneStep& part) { return has_step_of(in, part); });
  }

  // Adds the steps in `without` to `own`, each after the step or loop that precedes it in `steps`.
  static void add_missing(const std::vector<std::uint32_t>& without,
                          const std::vector<LaneStep>& steps, std::vector<LaneStep>& own) {
    std::size_t next = 0;  // index in `own` after the last step or loop that both have
    for (const LaneStep& step : steps) {
      if (step.parts.empty() && std::binary_search(without.begin(), without.end(), step.number)) {
        LaneStep ghost = step;
        ghost.missing = true;
        // Removes the peers, which are those of the other class.
        std::erase_if(ghost.lines, [](const std::string& line) {
          return line.starts_with("to ") || line.starts_with("from ");
        });
        own.insert(own.begin() + static_cast<std::ptrdiff_t>(next), std::move(ghost));
        ++next;
        continue;
      }
      const auto found = std::find_if(own.begin(), own.end(),
                                      [&](const LaneStep& of) { return has_step_of(of, step); });
      if (found == own.end()) continue;
      if (!step.parts.empty() && !found->parts.empty()) {
        add_missing(without, step.parts, found->parts);
      }
      next = static_cast<std::size_t>(found - own.begin()) + 1;
    }
  }

  // Returns the elements of `of` that are not in `in`.
  static std::vector<std::uint32_t> missing(const Templates& in, const Templates& of) {
    std::vector<std::uint32_t> result;
    std::set_difference(of.begin(), of.end(), in.begin(), in.end(), std::back_inserter(result));
    return result;
  }

  static void mark(const std::vector<std::uint32_t>& more, std::vector<LaneStep>& steps) {
    for (LaneStep& step : steps) {
      mark(more, step.parts);
      step.differs = std::binary_search(more.begin(), more.end(), step.number);
    }
  }

  bool is_implied(ActorId id) const {
    const auto& step = names_.actor(id).step;
    return step && step->implied;
  }

  LaneStep step_of(std::uint32_t index, ActorId id, Templates& own) {
    const std::uint32_t number = lowered_.actor_template[id];
    own.insert(number);
    name_of_template_.emplace(number, names_.name(id));
    LaneStep step;
    step.kind = kinds_[id];
    step.number = number;
    step.lines.push_back(names_.name(id));
    if (plan_.actors[id].stream.valid()) step.lines.push_back("on " + names_.stream_of(id));
    for (const auto& [word, peers] : peers_[{index, number}]) {
      if (peers.empty()) continue;
      step.lines.push_back(fmt::format("{} {}", word, peers_text(peers)));
    }
    step.tip = names_.name(id);
    const auto& of = names_.actor(id).step;
    if (of && !of->at.empty()) step.tip += ", " + of->at;
    return step;
  }

  std::vector<LaneStep> steps_of(std::uint32_t index, const sim::Thread& thread, Templates& own) {
    std::vector<std::uint32_t> tokens;
    std::map<std::uint32_t, LaneStep> by_token;
    // signal -> stream that records it
    std::map<sim::SignalId, std::string> recorded;
    // stream -> streams for which its next op waits
    std::map<sim::StreamId, std::vector<std::string>> waited_for;
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      const ActorId id = plan_.op(thread, i);
      const sim::Actor& actor = plan_.actors[id];
      if (is_implied(id)) {
        if (actor.role == sim::Role::kRecord) recorded[actor.signal] = names_.stream_of(id);
        if (actor.role == sim::Role::kWait) {
          waited_for[actor.stream].push_back(recorded[actor.signal]);
        }
        continue;
      }
      tokens.push_back(id.value);
      std::vector<std::string>& after = waited_for[actor.stream];
      if (by_token.count(id.value) == 0) {
        LaneStep step = step_of(index, id, own);
        for (std::uint32_t k = actor.afters; k < actor.afters_end; ++k) {
          after.push_back(names_.name(plan_.afters[k].actor));
        }
        if (!after.empty()) step.lines.push_back(fmt::format("after {}", fmt::join(after, ", ")));
        by_token.emplace(id.value, std::move(step));
      }
      after.clear();
    }
    return find_loops(tokens, [&](std::size_t first, const std::vector<std::size_t>&) {
      return by_token.at(tokens[first]);
    });
  }

  // Returns the steps of a recorded rank, without the numbers of calls: equal calls of different
  // iterations are then equal steps, and fold.
  std::vector<LaneStep> recorded_steps(const sim::Thread& thread) {
    std::vector<std::uint32_t> tokens;
    std::vector<LaneStep> steps;  // by token
    std::map<std::vector<std::string>, std::uint32_t> token_of;
    std::map<ActorId, std::uint32_t> executions;
    std::string last;  // name of the step before
    for (std::uint32_t i = thread.program; i < thread.program_end; ++i) {
      const ActorId id = plan_.op(thread, i);
      const std::string name = op_name(graph_, lowered_, id, executions[id]++);
      // The end of a call has no line of its own in the script, and a wait directly after its call
      // is a part of it.
      const bool ends_call =
          plan_.actors[id].role == sim::Role::kRecord && name.starts_with("end of ");
      if (is_implied(id) || ends_call || name == "wait for " + last) continue;
      last = name;
      LaneStep step = recorded_step(id, name);
      const auto next = static_cast<std::uint32_t>(steps.size());
      const auto [token, is_new] = token_of.try_emplace(step.lines, next);
      if (is_new) steps.push_back(std::move(step));
      const bool more_kernels =
          kinds_[id] == WorkKind::kCompute && !tokens.empty() && tokens.back() == token->second;
      if (!more_kernels) tokens.push_back(token->second);
    }
    return find_loops(tokens, [&](std::size_t first, const std::vector<std::size_t>&) {
      return steps[tokens[first]];
    });
  }

  LaneStep recorded_step(ActorId id, const std::string& name) {
    LaneStep step;
    step.kind = kinds_[id];
    step.number = lowered_.actor_template[id];
    const std::string call = without_call_numbers(name);
    const std::size_t group = std::min(call.find(" on "), call.size());
    step.lines.push_back(call.substr(0, group));
    if (group < call.size()) step.lines.push_back(call.substr(group + 1));
    const auto& of = names_.actor(id).step;
    const std::string at = of ? std::string(of->at) : "";
    if (!at.empty()) step.lines.push_back(at.substr(0, at.find(' ')));
    step.tip = at.empty() ? name : fmt::format("{}, {}", name, at);
    return step;
  }

  // Adds a lane per stream for actors without programs; each task comes after its inputs.
  void add_streams(std::uint32_t index, Templates& own, std::vector<TaskLane>& lanes) {
    const std::vector<ActorId> order = in_order_of_data(actors_of_[classes_[index][0]]);
    std::vector<std::pair<std::string, std::vector<ActorId>>> streams;  // in the order of first use
    for (const ActorId id : order) {
      const bool on_stream = plan_.actors[id].stream.valid();
      const std::string name = on_stream ? "stream " + names_.stream_of(id) : "no stream";
      auto found = std::find_if(streams.begin(), streams.end(),
                                [&](const auto& stream) { return stream.first == name; });
      if (found == streams.end()) found = streams.insert(found, {name, {}});
      found->second.push_back(id);
    }
    for (const auto& [name, tasks] : streams) {
      std::vector<LaneStep> steps;
      std::vector<std::uint32_t> tokens;
      std::map<std::string, std::uint32_t> token_of;
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        steps.push_back(stream_step(index, tasks, i, own));
        std::string key = fmt::format("{}", static_cast<int>(steps.back().kind));
        for (const std::string& line : steps.back().lines)
          key += '\n' + models::without_numbers(line);
        const auto next = static_cast<std::uint32_t>(token_of.size());
        tokens.push_back(token_of.try_emplace(std::move(key), next).first->second);
      }
      lanes.push_back({"", name, merged(tokens, steps)});
    }
  }

  // Sorts tasks by data flow: repeatedly takes the first task, in file order, whose inputs are
  // available.
  std::vector<ActorId> in_order_of_data(const std::vector<ActorId>& tasks) const {
    std::map<std::uint32_t, std::size_t> place;  // keyed by template
    for (std::size_t i = 0; i < tasks.size(); ++i) place[lowered_.actor_template[tasks[i]]] = i;
    std::vector<std::vector<std::size_t>> readers(tasks.size());
    std::vector<std::size_t> missing_data(tasks.size(), 0);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      for (const models::ReadTemplate& read : names_.actor(tasks[i]).reads) {
        const auto from = place.find(read.actor);
        if (from == place.end() || read.rank || from->second == i) continue;
        readers[from->second].push_back(i);
        ++missing_data[i];
      }
    }
    std::vector<ActorId> order;
    std::set<std::size_t> ready;
    std::set<std::size_t> left;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      (missing_data[i] == 0 ? ready : left).insert(i);
    }
    while (!ready.empty() || !left.empty()) {
      std::set<std::size_t>& from = ready.empty() ? left : ready;  // in a cycle, none is ready
      const std::size_t next = *from.begin();
      from.erase(from.begin());
      order.push_back(tasks[next]);
      for (const std::size_t reader : readers[next]) {
        if (--missing_data[reader] == 0 && left.erase(reader) > 0) ready.insert(reader);
      }
    }
    return order;
  }

  // Returns a task as a step of its stream's lane. Lists only inputs from outside the stream.
  LaneStep stream_step(std::uint32_t index, const std::vector<ActorId>& tasks, std::size_t i,
                       Templates& own) {
    constexpr std::size_t kMaxReads = 2;
    LaneStep step = step_of(index, tasks[i], own);
    // Removes the stream, which the name of the lane already shows.
    if (plan_.actors[tasks[i]].stream.valid()) step.lines.erase(step.lines.begin() + 1);
    std::set<std::string> reads;
    for (const models::ReadTemplate& read : names_.actor(tasks[i]).reads) {
      if (read.actor == models::kNoIndex) continue;
      const auto begin = tasks.begin();
      const bool same_stream = std::any_of(begin, tasks.end(), [&](ActorId id) {
        return lowered_.actor_template[id] == read.actor;
      });
      if (!same_stream || read.rank) reads.insert(graph_.actors[read.actor].name);
    }
    std::size_t count = 0;
    for (const std::string& name : reads) {
      if (++count > kMaxReads) break;
      step.lines.push_back("reads " + name);
    }
    if (reads.size() > kMaxReads) {
      step.lines.push_back(fmt::format("and {} more", reads.size() - kMaxReads));
    }
    return step;
  }

  // Returns the steps with repeated parts as loops. A step of a loop has the names of its first and
  // its last iteration.
  static std::vector<LaneStep> merged(const std::vector<std::uint32_t>& tokens,
                                      const std::vector<LaneStep>& steps) {
    return find_loops(tokens, [&](std::size_t first, const std::vector<std::size_t>& offsets) {
      LaneStep step = steps[first];
      const LaneStep& last = steps[first + offsets.back()];
      for (std::size_t i = 0; i < std::min(step.lines.size(), last.lines.size()); ++i) {
        step.lines[i] = merged_name(step.lines[i], last.lines[i]);
      }
      if (offsets.size() > 1) step.tip += " to " + last.tip;
      return step;
    });
  }

  // Returns the actors of an actor runtime as steps, in file order, because actors have no program
  // order.
  std::vector<LaneStep> actor_steps(std::uint32_t index, Templates& own) {
    std::vector<LaneStep> steps;
    for (const ActorId id : actors_of_[classes_[index][0]]) {
      LaneStep step = step_of(index, id, own);
      for (const models::ReadTemplate& read : names_.actor(id).reads) {
        if (read.actor != models::kNoIndex) {
          step.lines.push_back("reads " + graph_.actors[read.actor].name);
        }
      }
      steps.push_back(std::move(step));
    }
    return steps;
  }

  const models::TaskGraph& graph_;
  const models::Lowered& lowered_;
  const sim::Plan& plan_;
  models::Names names_;
  sim::IdVector<ActorId, WorkKind> kinds_;
  std::vector<models::RankSet> classes_;
  std::vector<std::uint32_t> class_of_rank_;
  std::vector<std::vector<sim::ThreadId>> threads_of_;  // threads with programs, by rank
  std::vector<std::vector<ActorId>> actors_of_;         // actors without a program, by rank
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::string, Peers>> peers_;
  std::vector<Templates> templates_;  // templates of each class, and its lanes
  std::vector<std::vector<TaskLane>> lanes_of_;
  std::map<std::uint32_t, std::string> name_of_template_;
  TaskLanes lanes_;
};

}  // namespace

std::string draw_tasks(const models::TaskGraph& graph, const models::Lowered& lowered,
                       const models::RankSet& ranks, const PictureStyle& style,
                       PictureFormat format) {
  const auto drawn = [&](const TaskLanes& lanes) {
    Scene scene = draw_lanes(lanes, style.all);
    scene.finish(style);
    return scene.drawing(format);
  };
  if (graph.pipeline) {
    return drawn(schedule_lanes(*graph.pipeline, ranks, title_of(graph), !style.all));
  }
  if (!has_programs(lowered.plan)) {
    if (auto picture = ActorsPicture(graph, lowered, ranks, style).run(format)) return *picture;
  }
  return drawn(ProgramLanes(graph, lowered, ranks, !style.all).run());
}

}  // namespace pipesim::viz
