#include "viz/pictures/draw_schedule.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::Action;
using models::ActionKind;
using models::Actions;
using models::WorkKind;

constexpr std::size_t kMaxSlots = 40;  // maximum number of slots in a row drawn slot by slot
constexpr std::size_t kMaxRowsShown = 24;

class ScheduleLanes {
 public:
  ScheduleLanes(const models::Pipeline& pipeline, const std::string& title)
      : schedule_(pipeline.schedule) {
    lanes_.title = title;
  }

  TaskLanes run(const models::RankSet& ranks, std::uint32_t rank_count,
                const std::vector<models::RankSet>& of_rows, bool fold) {
    std::vector<std::pair<std::size_t, models::RankSet>> rows;
    for (std::size_t row = 0; row < of_rows.size(); ++row) {
      std::vector<std::uint32_t> chosen;
      for (const std::uint32_t rank : of_rows[row]) {
        if (rank < rank_count && ranks.contains(rank)) chosen.push_back(rank);
      }
      if (!chosen.empty()) rows.emplace_back(row, models::RankSet(std::move(chosen)));
    }
    const bool some = fold && rows.size() > kMaxRowsShown;
    const std::size_t shown = some ? kMaxRowsShown : rows.size();
    std::size_t longest = 0;
    for (const auto& [row, its] : rows) longest = std::max(longest, slots_of(row).size());
    folds_ = fold && longest > kMaxSlots;
    add_about(some ? shown : 0, rows.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const std::size_t at = some ? i * (rows.size() - 1) / (shown - 1) : i;
      add_row(rows[at].first, rows[at].second);
    }
    return std::move(lanes_);
  }

 private:
  void add_about(std::size_t shown, std::size_t rows) {
    lanes_.about.emplace_back(
        folds_ ? "What each rank computes one after the other, with the micro-batches below; a "
                 "frame is repeated."
               : "What each rank computes one after the other: stage, F forward, B backward, I and "
                 "W its halves, micro-batch.");
    if (shown > 0) {
      lanes_.about.push_back(fmt::format(
          "{} of {} rows, evenly chosen; --ranks selects others, --all shows all.", shown, rows));
    }
  }

  // Returns the index, in the row, of the first action of each slot that computes.
  std::vector<std::size_t> slots_of(std::size_t index) const {
    const Actions& row = schedule_.ranks[index];
    std::vector<std::size_t> slots;
    for (std::size_t slot = 0; slot < row.size(); slot = models::slot_end(row, slot)) {
      if (!row[slot].none() && models::is_compute(row[slot].kind)) slots.push_back(slot);
    }
    return slots;
  }

  static WorkKind kind_of(const Actions& row, std::size_t slot) {
    if (models::slot_end(row, slot) > slot + 1) return WorkKind::kOverlapped;
    if (row[slot].kind == ActionKind::kForward) return WorkKind::kForward;
    return row[slot].kind == ActionKind::kWeightGrad ? WorkKind::kWeightGrad : WorkKind::kBackward;
  }

  void add_row(std::size_t index, const models::RankSet& ranks) {
    const Actions& row = schedule_.ranks[index];
    const std::vector<std::size_t> slots = slots_of(index);
    std::vector<std::uint32_t> stages;
    for (std::uint32_t stage = 0; stage < schedule_.stages; ++stage) {
      if (schedule_.rank_of_stage[stage] == index) stages.push_back(stage);
    }
    TaskLane lane;
    lane.name = class_name(ranks);
    lane.note = fmt::format("stage{} {}", stages.size() == 1 ? "" : "s", ranges(stages));
    // Equal tokens stand for actions that differ only in their micro-batches.
    std::map<std::vector<std::pair<ActionKind, std::uint32_t>>, std::uint32_t> known;
    std::vector<std::uint32_t> tokens;
    for (std::size_t i = 0; i < slots.size(); ++i) {
      std::vector<std::pair<ActionKind, std::uint32_t>> key;
      for (std::size_t at = slots[i]; at < models::slot_end(row, slots[i]); ++at) {
        key.emplace_back(row[at].kind, row[at].stage);
      }
      const auto number = static_cast<std::uint32_t>(folds_ ? known.size() : i);
      tokens.push_back(folds_ ? known.emplace(std::move(key), number).first->second : number);
    }
    lane.steps =
        find_loops(tokens, [&](std::size_t first, const std::vector<std::size_t>& offsets) {
          return step_of(row, slots, first, offsets);
        });
    lanes_.lanes.push_back(std::move(lane));
  }

  LaneStep step_of(const Actions& row, const std::vector<std::size_t>& slots, std::size_t first,
                   const std::vector<std::size_t>& offsets) const {
    const std::size_t slot = slots[first];
    LaneStep step;
    step.kind = kind_of(row, slot);
    step.tip = models::slot_text(row, slot);
    std::vector<std::string> names;
    std::vector<std::string> batches;
    for (std::size_t part = 0; slot + part < models::slot_end(row, slot); ++part) {
      const Action& action = row[slot + part];
      std::uint32_t least = action.micro_batch;
      std::uint32_t most = least;
      for (const std::size_t offset : offsets) {
        const std::uint32_t batch = row[slots[first + offset] + part].micro_batch;
        least = std::min(least, batch);
        most = std::max(most, batch);
      }
      const std::string name = fmt::format("{}{}", action.stage, models::action_word(action.kind));
      const std::string of =
          least == most ? std::to_string(least) : fmt::format("{}-{}", least, most);
      names.push_back(folds_ ? name : name + of);
      batches.push_back(of);
    }
    step.lines.push_back(fmt::format("{}", fmt::join(names, " + ")));
    if (folds_) step.lines.push_back(fmt::format("{}", fmt::join(batches, " + ")));
    return step;
  }

  const models::Schedule& schedule_;
  TaskLanes lanes_;
  bool folds_ = false;
};

}  // namespace

TaskLanes schedule_lanes(const models::Pipeline& pipeline, const models::RankSet& ranks,
                         const std::string& title, bool fold) {
  return ScheduleLanes(pipeline, title)
      .run(ranks, pipeline.rank_count(), pipeline.ranks_of_rows(), fold);
}

}  // namespace pipesim::viz
