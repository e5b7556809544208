#include "viz/report/slice_names.hpp"

#include <fmt/format.h>

namespace pipesim::viz {

using models::Lane;
using models::Slice;
using models::WorkKind;

KindLook look(WorkKind kind) {
  switch (kind) {
    case WorkKind::kForward:
      return {'F', "34", "forward"};
    case WorkKind::kBackward:
      return {'B', "32", "backward"};
    case WorkKind::kWeightGrad:
      return {'W', "33", "weight gradient"};
    case WorkKind::kOverlapped:
      return {'X', "36", "forward and backward at once"};
    case WorkKind::kCollective:
      return {'a', "35", "collective"};
    case WorkKind::kMessage:
      return {'m', "36", "message or copy"};
    case WorkKind::kBuffer:
      return {'b', "37", "buffer"};
    case WorkKind::kControl:
      return {'o', "37", "order"};
    case WorkKind::kHost:
      return {'h', "37", "host"};
    case WorkKind::kCompute:
      break;
  }
  return {'c', "34", "computing"};
}

SliceNames::SliceNames(const models::TaskGraph& graph, const models::Simulation& run)
    : graph_(graph), run_(run), names_(graph, run.lowered) {
  if (!graph.pipeline) return;
  const models::Pipeline& pipeline = *graph.pipeline;
  std::vector<std::uint32_t> stages_of_row(pipeline.schedule.ranks.size(), 0);
  for (const std::uint32_t row : pipeline.schedule.rank_of_stage) ++stages_of_row[row];
  for (std::uint32_t rank = 0; rank < pipeline.rank_count(); ++rank) {
    stages_of_rank_.push_back(stages_of_row[pipeline.row_of(rank)]);
  }
}

// Returns the names of an action: "0F3", and "F3" without its stage. Shows the stage only if the
// rank has several.
std::vector<std::string> SliceNames::words_of_action(const std::string& label,
                                                     std::uint32_t rank) const {
  if (label.front() == '(') {
    const std::size_t end = label.find(')');
    return {label.substr(1, end == std::string::npos ? end : end - 1)};
  }
  const std::size_t letter = label.find_first_not_of("0123456789");
  if (letter == std::string::npos) return {label};
  const std::string shorter = label.substr(letter);
  const bool says_stage = says_stages_ && stages_of_rank_[rank] > 1;
  return says_stage ? std::vector{label, shorter} : std::vector{shorter};
}

SliceWords SliceNames::words_of(const Slice& slice) const {
  const std::uint32_t micro_batch = names_.micro_batch(slice.actor, slice.k);
  const bool on_host = slice.kind == WorkKind::kHost;
  const KindLook kind = look(slice.kind);
  SliceWords words{{}, kind.letter, kind.meaning, false};
  const std::string label = models::op_label(graph_, run_.lowered, slice.actor, slice.k);
  if (is_action(slice)) {
    words.choices = words_of_action(label, run_.lowered.plan.actors[slice.actor].rank.value);
    words.numbered = true;
    if (words.choices.back().front() == 'I') {
      words.letter = 'I';
      words.meaning = "input gradient";
    }
  } else if (micro_batch > 0 && !on_host) {
    words.choices = {fmt::format("{}{}", kind.letter, micro_batch)};
    words.numbered = true;
  } else {
    words.choices = {label, names_.name(slice.actor)};
  }
  return words;
}

bool SliceNames::is_action(const Slice& slice) const {
  if (!graph_.pipeline || slice.kind == WorkKind::kHost || slice.kind == WorkKind::kMessage) {
    return false;
  }
  const std::uint32_t from = run_.lowered.actor_template[slice.actor];
  return from >= graph_.pipeline->first_actor && from < graph_.pipeline->end_actor;
}

void SliceNames::fit_stages(const models::Timeline& timeline, std::int64_t ns_per_column) {
  std::size_t all = 0;
  std::size_t fit = 0;
  for (const Lane& lane : timeline.lanes) {
    if (stages_of_rank_.empty() || stages_of_rank_[lane.rank] < 2) continue;
    for (const Slice& slice : lane.slices) {
      if (!is_action(slice)) continue;
      const auto columns =
          static_cast<std::size_t>((slice.end_ns - slice.begin_ns) / ns_per_column);
      ++all;
      if (words_of(slice).choices.front().size() <= columns) ++fit;
    }
  }
  says_stages_ = 2 * fit >= all;
}

}  // namespace pipesim::viz
