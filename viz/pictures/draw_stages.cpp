#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/lowering/names.hpp"
#include "models/lowering/rank_classes.hpp"
#include "models/units.hpp"
#include "viz/pictures/pictures.hpp"
#include "viz/pictures/stage_grid.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using sim::ActorId;

constexpr std::size_t kMaxClasses = 10;     // maximum number of boxes per position in the pipeline
constexpr std::size_t kMaxNamed = 3;        // maximum number of names per arrow or box
constexpr std::size_t kMaxLists = 4;        // maximum number of a group's member lists per box
constexpr std::size_t kMaxGridFlows = 400;  // maximum number of arrows if ranks are folded

// Joins names: "a, b and 3 more".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMaxNamed; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > kMaxNamed) text += fmt::format(" and {} more", names.size() - kMaxNamed);
  return text;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::string stages_title(const models::TaskGraph& graph) {
  return fmt::format("{}{}stages", graph.name, graph.name.empty() ? "" : ": ");
}

/// Minimum and maximum over the stages in a box.
struct Span {
  std::int64_t least = 0;
  std::int64_t most = 0;

  template <typename Text>
  std::string text(Text of) const {
    return least == most ? of(least) : fmt::format("{} to {}", of(least), of(most));
  }
};

using StageSet = std::vector<std::uint32_t>;

class PipelineGrid {
 public:
  PipelineGrid(const models::TaskGraph& graph, bool fold)
      : pipeline_(*graph.pipeline),
        schedule_(pipeline_.schedule),
        stages_of_(schedule_.ranks.size()) {
    grid_.title = stages_title(graph);
    for (std::uint32_t stage = 0; stage < schedule_.stages; ++stage) {
      stages_of_[schedule_.rank_of_stage[stage]].push_back(stage);
    }
    spans_ = stage_columns(stages_of_.size(), fold,
                           [&](std::size_t a, std::size_t b) { return is_copy(a, b); });
  }

  StageGrid run() {
    add_about();
    const std::vector<models::RankSet> ranks = pipeline_.ranks_of_rows();
    column_of_.resize(stages_of_.size());
    for (const auto& [begin, end] : spans_) {
      std::vector<std::uint32_t> of;
      for (std::size_t row = begin; row < end; ++row) {
        column_of_[row] = grid_.columns.size();
        of.insert(of.end(), ranks[row].begin(), ranks[row].end());
      }
      StageColumn column{class_name(models::RankSet(of)), {}};
      std::size_t cells = 0;
      for (std::size_t row = begin; row < end; ++row)
        cells = std::max(cells, stages_of_[row].size());
      for (std::size_t cell = 0; cell < cells; ++cell) {
        StageSet stages;
        for (std::size_t row = begin; row < end; ++row) {
          if (cell < stages_of_[row].size()) stages.push_back(stages_of_[row][cell]);
        }
        column.cells.push_back(cell_of(std::move(stages)));
      }
      grid_.columns.push_back(std::move(column));
    }
    add_flows();
    return std::move(grid_);
  }

 private:
  bool is_copy(std::size_t a, std::size_t b) const {
    if (stages_of_[a].size() != stages_of_[b].size()) return false;
    for (std::size_t i = 0; i < stages_of_[a].size(); ++i) {
      const std::uint32_t depth = schedule_.depth();
      const bool ends = stages_of_[a][i] % depth == 0 || (stages_of_[b][i] + 1) % depth == 0;
      if (ends || !(pipeline_.cost(stages_of_[a][i], 0) == pipeline_.cost(stages_of_[b][i], 0))) {
        return false;
      }
    }
    return true;
  }

  void add_about() {
    std::string about = fmt::format(
        "{} on {}, {}", counted(schedule_.stages, "stage"), counted(pipeline_.rank_count(), "rank"),
        schedule_.micro_batches == 1 ? "1 micro-batch"
                                     : fmt::format("{} micro-batches", schedule_.micro_batches));
    if (schedule_.pipelines > 1) {
      about += fmt::format(" in each of {} pipelines in opposite directions", schedule_.pipelines);
    }
    if (pipeline_.costs_differ) about += "; times are those of micro-batch 0";
    grid_.about.push_back(about + ".");
    std::vector<std::string> collectives;
    for (const models::StageCollective& of : pipeline_.collectives) {
      add_once(collectives, fmt::format("{} {}", of.name(), of.over));
    }
    if (!collectives.empty()) {
      grid_.about.push_back(fmt::format("Ranks of a stage call {}.", listed(collectives)));
    }
    if (schedule_.depth() < 2) return;
    const std::string size = message_text(0, schedule_.depth() - 1);
    const std::string each =
        (size.empty() ? "" : fmt::format(", {} each", size)) +
        fmt::format(", {} per step", counted(schedule_.micro_batches, "message"));
    grid_.forward = "activations" + each;
    grid_.back = "gradients, the same";
  }

  Span span_of(const StageSet& stages, std::int64_t models::StageCost::*member) const {
    Span span{pipeline_.cost(stages.front(), 0).*member, pipeline_.cost(stages.front(), 0).*member};
    for (const std::uint32_t stage : stages) {
      const std::int64_t value = pipeline_.cost(stage, 0).*member;
      span = {std::min(span.least, value), std::max(span.most, value)};
    }
    return span;
  }

  StageCell cell_of(StageSet stages) const {
    using models::StageCost;
    std::sort(stages.begin(), stages.end());
    StageCell cell;
    cell.folded = stages.size() > 1;
    cell.name = cell.folded ? fmt::format("stages {} (x{})", short_ranges(stages), stages.size())
                            : fmt::format("stage {}", stages.front());
    const auto line = [&](const char* name, const std::string& value) {
      cell.lines.push_back(fmt::format("{} {}", name, value));
    };
    line("forward", span_of(stages, &StageCost::forward_ns).text(time_text));
    line("input gradient", span_of(stages, &StageCost::input_grad_ns).text(time_text));
    line("weight gradient", span_of(stages, &StageCost::weight_grad_ns).text(time_text));
    const auto size = [&](const char* name, std::int64_t StageCost::*member) {
      const Span span = span_of(stages, member);
      if (span.most > 0) line(name, span.text(bytes_text));
    };
    size("weights", &StageCost::weight_bytes);
    size("unsharded", &StageCost::unsharded_bytes);
    size("activation", &StageCost::activation_bytes);
    return cell;
  }

  // Returns the range of sizes that stages send at the boundaries [first, end); empty if no sizes
  // are given.
  std::string message_text(std::uint32_t first, std::uint32_t end) const {
    if (!pipeline_.message_bytes) return "";
    const models::StageAmounts& sizes = *pipeline_.message_bytes;
    Span span{sizes.of(first, 0), sizes.of(first, 0)};
    for (std::uint32_t stage = first; stage < end; ++stage) {
      for (std::uint32_t m = 0; m < sizes.micro_batches; ++m) {
        const std::int64_t size = sizes.of(stage, m);
        span = {std::min(span.least, size), std::max(span.most, size)};
      }
    }
    return span.text(models::exact_bytes_text);
  }

  std::pair<std::size_t, std::size_t> place_of(std::uint32_t stage) const {
    const std::uint32_t row = schedule_.rank_of_stage[stage];
    const auto& stages = stages_of_[row];
    const auto found = std::find(stages.begin(), stages.end(), stage);
    return {column_of_[row], static_cast<std::size_t>(found - stages.begin())};
  }

  void add_flows() {
    std::set<StageFlow> known;
    for (std::uint32_t stage = 0; stage + 1 < schedule_.stages; ++stage) {
      if (schedule_.is_last(stage)) continue;
      const auto from = place_of(stage);
      const auto to = place_of(stage + 1);
      if (from == to) continue;  // folded into the same box
      const bool same_rank = schedule_.rank_of_stage[stage] == schedule_.rank_of_stage[stage + 1];
      const std::uint32_t boundary = stage % schedule_.depth();
      const std::string label = same_rank ? "same rank" : message_text(boundary, boundary + 1);
      for (StageFlow flow : {StageFlow{from, to, label, false}, StageFlow{to, from, label, true}}) {
        if (known.insert(flow).second) grid_.flows.push_back(std::move(flow));
      }
    }
  }

  const models::Pipeline& pipeline_;
  const models::Schedule& schedule_;
  std::vector<StageSet> stages_of_;  // by row of the schedule: its stages, in pipeline order
  std::vector<std::pair<std::size_t, std::size_t>> spans_;
  std::vector<std::size_t> column_of_;  // column of each row
  StageGrid grid_;
};

/// Data sent from the ranks of one box to the ranks of another.
struct Sent {
  std::uint64_t messages = 0;
  std::int64_t bytes = 0;
  std::set<std::int64_t> sizes;
  std::vector<std::string> names;  // names of the ops that produce the data
};

class ClassGrid {
 public:
  ClassGrid(const models::TaskGraph& graph, const models::Lowered& lowered, bool fold)
      : graph_(graph), lowered_(lowered), plan_(lowered.plan), names_(graph, lowered), fold_(fold) {
    grid_.title = stages_title(graph);
  }

  StageGrid run() {
    choose_columns();
    for (const std::vector<models::RankSet>& cells : columns_) add_column(cells);
    std::size_t boxes = 0;
    for (const std::vector<models::RankSet>& cells : columns_) boxes += cells.size();
    grid_.about.push_back(fmt::format(
        "{} in {} of ranks that do the same{}.", counted(graph_.ranks, "rank"),
        class_count_ == 1 ? "1 class" : fmt::format("{} classes", class_count_),
        boxes > class_count_
            ? fmt::format(", in {} boxes by their place in the order in which data pass them",
                          boxes)
        : columns_.size() > 1 ? ", in the order in which data pass them"
                              : ""));
    add_flows();
    return std::move(grid_);
  }

 private:
  void choose_columns() {
    const models::RankSet all = models::RankSet::range(0, graph_.ranks);
    const std::vector<models::RankSet> classes = models::rank_classes(lowered_, all);
    std::vector<std::size_t> class_of(graph_.ranks);
    for (std::size_t i = 0; i < classes.size(); ++i) {
      for (const std::uint32_t rank : classes[i]) class_of[rank] = i;
    }
    const std::vector<std::uint32_t> positions = models::rank_positions(lowered_);
    const std::uint32_t last = *std::max_element(positions.begin(), positions.end());
    std::vector<std::set<std::size_t>> at(last + 1);
    for (const std::uint32_t rank : all) at[positions[rank]].insert(class_of[rank]);
    std::vector<std::size_t> column_of(last + 1);
    const auto spans = stage_columns(at.size(), fold_,
                                     [&](std::size_t a, std::size_t b) { return at[a] == at[b]; });
    for (std::size_t i = 0; i < spans.size(); ++i) {
      for (std::size_t position = spans[i].first; position < spans[i].second; ++position) {
        column_of[position] = i;
      }
    }
    columns_.resize(spans.size());
    for (const models::RankSet& cell : models::ranks_by_key(all, [&](std::uint32_t rank) {
           return std::pair(column_of[positions[rank]], class_of[rank]);
         })) {
      columns_[column_of[positions[cell[0]]]].push_back(cell);
    }
    class_count_ = classes.size();
  }

  void add_column(const std::vector<models::RankSet>& cells) {
    StageColumn column;
    std::vector<std::uint32_t> rest;
    for (const models::RankSet& ranks : cells) {
      if (column.cells.size() + 1 == kMaxClasses && cells.size() > kMaxClasses && fold_) {
        rest.insert(rest.end(), ranks.begin(), ranks.end());
        continue;
      }
      place_ranks({grid_.columns.size(), column.cells.size()}, ranks);
      column.cells.push_back(cell_of(ranks));
    }
    if (!rest.empty()) {
      place_ranks({grid_.columns.size(), column.cells.size()}, models::RankSet(rest));
      column.cells.push_back(
          {class_name(models::RankSet(rest)), {"in more classes: see --all"}, true});
    }
    grid_.columns.push_back(std::move(column));
  }

  void place_ranks(std::pair<std::size_t, std::size_t> place, const models::RankSet& ranks) {
    for (const std::uint32_t rank : ranks) place_of_[rank] = place;
    size_of_[place] += ranks.size();
  }

  StageCell cell_of(const models::RankSet& ranks) const {
    std::uint64_t ops = 0;
    std::vector<std::string> streams;
    std::vector<std::string> groups;
    for (const ActorId id : ids_of(plan_.actors)) {
      if (plan_.actors[id].rank.value != ranks[0] || is_implied(id)) continue;
      ops += plan_.actors[id].ops;
      add_once(streams, names_.stream_of(id));
      add_groups(names_.actor(id), ranks, groups);
    }
    StageCell cell{class_name(ranks), {}, ranks.size() > 1};
    cell.lines.push_back(
        fmt::format("{} on {}", counted(ops, "op"), counted(streams.size(), "stream")));
    for (std::size_t i = 0; i < std::min(groups.size(), kMaxNamed); ++i) {
      cell.lines.push_back(groups[i]);
    }
    if (groups.size() > kMaxNamed) {
      cell.lines.push_back(fmt::format("and {} more collectives", groups.size() - kMaxNamed));
    }
    return cell;
  }

  bool is_implied(ActorId id) const {
    const auto& step = names_.actor(id).step;
    return step && step->implied;
  }

  // Returns the member lists of a group that contain some of `ranks`: " (0-1; 2-3)". If they are
  // many, counts them; if one contains all ranks of the job, returns "".
  std::string members_text(const models::Group& group, const models::RankSet& ranks) const {
    std::set<std::uint32_t> lists;
    for (const std::uint32_t rank : ranks) {
      const std::uint32_t list = group.list_of(rank);
      if (list != models::kNoIndex) lists.insert(list);
    }
    std::set<std::size_t> sizes;
    std::string text;
    for (const std::uint32_t list : lists) {
      sizes.insert(group.lists[list].size());
      if (sizes.count(graph_.ranks) > 0) return "";
      if (lists.size() > kMaxLists) continue;
      std::vector<std::uint32_t> members = group.lists[list];
      std::sort(members.begin(), members.end());
      text += (text.empty() ? "" : "; ") + short_ranges(members);
    }
    if (lists.empty()) return "";
    if (!text.empty()) return fmt::format(" ({})", text);
    return sizes.size() == 1 ? fmt::format(" ({} groups of {})", lists.size(), *sizes.begin())
                             : fmt::format(" ({} groups)", lists.size());
  }

  void add_groups(const models::ActorTemplate& actor, const models::RankSet& ranks,
                  std::vector<std::string>& groups) const {
    const auto add = [&](models::Operation operation, const std::string& name,
                         const models::Group& group) {
      add_once(groups,
               fmt::format("{} {}{}", operation_name(operation), name, members_text(group, ranks)));
    };
    if (actor.collective && actor.collective->group != models::kNoIndex) {
      const models::Group& group = graph_.groups[actor.collective->group];
      add(actor.collective->operation, group.name, group);
    }
    if (!actor.step) return;
    for (const models::CallTemplate& call : actor.step->calls) {
      if (call.kind != sim::CallKind::kCollective || call.communicator == models::kNoIndex)
        continue;
      const models::CommunicatorTemplate& of = graph_.communicators[call.communicator];
      add(call.operation, of.name, graph_.groups[of.group]);
    }
  }

  void collect(std::map<StageFlow, Sent>& sent) const {
    const std::vector<std::uint32_t> positions = models::rank_positions(lowered_);
    const auto flow_of = [&](std::uint32_t from, std::uint32_t to) {
      return StageFlow{place_of_.at(from), place_of_.at(to), "", positions[to] < positions[from]};
    };
    for (const ActorId id : ids_of(plan_.actors)) {
      for (const sim::CallId call : plan_.calls_of(id)) {
        if (plan_.calls[call].kind != sim::CallKind::kSend) continue;
        const sim::Channel& channel = plan_.channels[plan_.calls[call].channel];
        const std::uint32_t from = plan_.communicator_ranks[channel.from].value;
        const std::uint32_t to = plan_.communicator_ranks[channel.to].value;
        Sent& of = sent[flow_of(from, to)];
        of.messages += plan_.actors[id].ops;
        const std::int64_t bytes = plan_.calls[call].signature.count;
        if (bytes == 0) continue;  // unknown size
        of.bytes += bytes * plan_.actors[id].ops;
        of.sizes.insert(bytes);
      }
    }
    for (const sim::Edge& edge : plan_.edges) {
      const ActorId producer = plan_.registers[edge.source].producer;
      const std::uint32_t from = plan_.actors[producer].rank.value;
      const std::uint32_t to = plan_.actors[edge.consumer].rank.value;
      if (from == to) continue;
      Sent& of = sent[flow_of(from, to)];
      of.messages += plan_.actors[producer].ops;
      add_once(of.names, names_.name(producer));
    }
  }

  // Returns the label of an arrow: the data that each of `ranks` ranks sends, such as "4 x 16 MiB".
  // If the messages cannot be divided evenly among the ranks, returns the total of all ranks.
  static std::string label_of(const Sent& sent, std::uint64_t ranks) {
    std::string label = listed(sent.names);
    const bool each = sent.messages % ranks == 0;
    const std::uint64_t messages = each ? sent.messages / ranks : sent.messages;
    if (label.empty() && sent.sizes.empty()) label = counted(messages, "message");
    if (sent.sizes.size() == 1) label = models::exact_bytes_text(*sent.sizes.begin());
    if (sent.sizes.size() > 1) {
      return bytes_text(each ? sent.bytes / static_cast<std::int64_t>(ranks) : sent.bytes);
    }
    const bool counts = messages > 1 && (!sent.names.empty() || !sent.sizes.empty());
    return counts ? fmt::format("{} x {}", messages, label) : label;
  }

  // Returns the name of a box without the number of its ranks.
  static std::string name_only(const std::string& name) { return name.substr(0, name.find(" (x")); }

  void add_flows() {
    std::map<StageFlow, Sent> sent;
    collect(sent);
    bool back = false;
    for (const auto& [flow, what] : sent) {
      StageFlow shown = flow;
      shown.label = label_of(what, std::min(size_of_.at(flow.from), size_of_.at(flow.to)));
      back = back || flow.back;
      StageColumn& from = grid_.columns[flow.from.first];
      StageColumn& to = grid_.columns[flow.to.first];
      const bool beside =
          flow.from.second == flow.to.second &&
          (flow.from.first + 1 == flow.to.first || flow.to.first + 1 == flow.from.first);
      if (!beside) {
        const std::string whom =
            flow.from == flow.to ? "each other" : name_only(to.cells[flow.to.second].name);
        from.cells[flow.from.second].lines.push_back(fmt::format("to {}: {}", whom, shown.label));
      }
      if (flow.from != flow.to && (!fold_ || grid_.flows.size() < kMaxGridFlows)) {
        grid_.flows.push_back(std::move(shown));
      }
    }
    if (sent.empty()) return;
    grid_.forward = "what a rank sends over the whole run";
    if (back) grid_.back = "what it sends back";
  }

  const models::TaskGraph& graph_;
  const models::Lowered& lowered_;
  const sim::Plan& plan_;
  models::Names names_;
  bool fold_;
  std::vector<std::vector<models::RankSet>> columns_;
  std::size_t class_count_ = 0;
  // Box of each rank: column and row.
  std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> place_of_;
  // Number of ranks per box.
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> size_of_;
  StageGrid grid_;
};

}  // namespace

Scene draw_stages(const models::TaskGraph& graph, const models::Lowered& lowered, bool fold) {
  return draw_grid(graph.pipeline ? PipelineGrid(graph, fold).run()
                                  : ClassGrid(graph, lowered, fold).run());
}

}  // namespace pipesim::viz
