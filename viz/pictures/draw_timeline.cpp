#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "viz/pictures/axis.hpp"
#include "viz/pictures/palette.hpp"
#include "viz/pictures/pictures.hpp"
#include "viz/pictures/slice_look.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/text_width.hpp"
#include "viz/report/timeline_facts.hpp"
#include "viz/report/wait_words.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::Lane;
using models::Slice;
using models::StuckOp;
using models::WorkKind;

// Sizes, in pixels.
constexpr double kTimelineMargin = 16;
constexpr double kRow = 22;  // maximum height of a row
constexpr double kMinRow = 1.75;
constexpr double kRowOfText = 15;  // minimum height for text in bars
constexpr double kRankGap = 10;    // gap between ranks
constexpr double kLabelSize = 11;  // text in bars, and names
constexpr double kMaxNames = 240;
constexpr double kHangShare = 0.3;      // share of the width for stuck ops
constexpr double kThinnestSlice = 0.7;  // minimum width of a drawn slice
// A lane with only narrow slices gets a row if it works during at least 1 / kMinShare of the run.
constexpr std::int64_t kMinShare = 50;

/// Ranks that share their rows.
struct RankRows {
  std::vector<std::uint32_t> ranks;
  std::vector<const Lane*> lanes;  // lanes of the first rank
};

class TimelinePicture {
 public:
  TimelinePicture(const models::TaskGraph& graph, const models::Simulation& run,
                  const models::Timeline& timeline, const TimelineStyle& style)
      : graph_(graph),
        run_(run),
        timeline_(timeline),
        style_(style),
        begin_ns_(std::min(style.from_ns.value_or(0), timeline.end_ns)),
        end_ns_(std::min(style.to_ns.value_or(timeline.end_ns), timeline.end_ns)),
        look_(graph, run.lowered),
        missing_(missing_ranks(run.explanation)),
        scene_(0, 0, "") {
    for (const std::vector<models::Wait>& cycle : run.explanation.other_cycles) {
      for (const models::Wait& wait : cycle) cyclic_.insert(party_text(wait.from));
    }
    group_ranks(!style.all);
    hangs_ = end_ns_ == timeline.end_ns && timeline.quiescent &&
             std::any_of(timeline.lanes.begin(), timeline.lanes.end(),
                         [](const Lane& lane) { return !lane.stuck.empty(); });
  }

  Scene run() {
    if (row_count() > kMaxRows && !style_.all) leave_out_all_but_work();
    const std::size_t most = style_.all ? kMaxAllRows : kMaxRows;
    if (row_count() > most) {
      throw DrawingError(
          models::Code::kPictureSize,
          fmt::format(
              "the timeline has {} rows, and a picture can have at most {}: choose some ranks, as "
              "in --ranks 0..3",
              row_count(), most));
    }
    choose_scales();
    look_at_slices();
    scene_ = Scene(style_.width, bottom_ + 34, headline(graph_, run_.explanation));
    scene_.set_dark(style_.dark);
    add_head();
    add_axis();
    double y = top_;
    for (const RankRows& rank : groups_) {
      add_rank(rank, y);
      y += rank_height(rank);
    }
    add_end();
    return std::move(scene_);
  }

 private:
  // Whether the op is on the cycle of the report or on another cycle.
  bool is_on_cycle(const StuckOp& op) const {
    return op.on_cycle || (!op.waits.empty() && cyclic_.count(party_text(op.waits[0].from)) > 0);
  }

  // Whether a lane is worth a row. The lane must have a visible slice, many narrow slices, or an op
  // that is stuck forever.
  bool shows_something(const Lane& lane) const {
    if (!lane.stuck.empty() || timeline_.end_ns == 0) return true;
    const double visible = kThinnestSlice * static_cast<double>(timeline_.end_ns) / style_.width;
    std::int64_t sum = 0;
    for (const Slice& slice : lane.slices) {
      const std::int64_t work = slice.end_ns - slice.work_ns;
      sum += work;
      if (!slice.done || static_cast<double>(work) >= visible) return true;
    }
    return sum >= timeline_.end_ns / kMinShare;
  }

  // Keeps only lanes that compute; a rank without such a lane keeps its first lane. Called only if
  // there are too many rows.
  void leave_out_all_but_work() {
    for (RankRows& rank : groups_) {
      std::vector<const Lane*> lanes;
      for (const Lane* lane : rank.lanes) {
        const bool computes =
            std::any_of(lane->slices.begin(), lane->slices.end(), [](const Slice& slice) {
              return slice.kind <= WorkKind::kOverlapped && slice.work_ns < slice.end_ns;
            });
        if (computes) lanes.push_back(lane);
      }
      if (lanes.empty()) lanes.push_back(rank.lanes.front());
      left_out_ += (rank.lanes.size() - lanes.size()) * rank.ranks.size();
      rank.lanes = std::move(lanes);
    }
  }

  void leave_out(RankRows& rank) {
    std::vector<const Lane*> lanes;
    for (const Lane* lane : rank.lanes) {
      if (shows_something(*lane)) lanes.push_back(lane);
    }
    if (lanes.empty()) return;  // keeps at least one row per rank
    left_out_ += (rank.lanes.size() - lanes.size()) * rank.ranks.size();
    rank.lanes = std::move(lanes);
  }

  void group_ranks(bool fold) {
    std::map<std::string, std::size_t> known;
    std::size_t begin = 0;
    while (begin < timeline_.lanes.size()) {
      const std::uint32_t rank = timeline_.lanes[begin].rank;
      RankRows rows{{rank}, {}};
      std::string key;
      std::size_t end = begin;
      for (; end < timeline_.lanes.size() && timeline_.lanes[end].rank == rank; ++end) {
        rows.lanes.push_back(&timeline_.lanes[end]);
        if (!fold) continue;
        key += lane_key(graph_, run_, timeline_.lanes[end],
                        [&](const StuckOp& op) { return is_on_cycle(op); }) +
               "\n\n";
      }
      begin = end;
      if (const models::DeathReport* death = died(rank)) {
        key += fmt::format("\ndied {} {}", death->time_ns, death->what);
      }
      if (missing_.count(rank) > 0) key += fmt::format("\nguilty {}", rank);
      const auto [found, is_new] = known.emplace(fold ? key : std::to_string(rank), groups_.size());
      if (is_new) {
        groups_.push_back(std::move(rows));
      } else {
        groups_[found->second].ranks.push_back(rank);
      }
    }
    if (!fold) return;
    for (RankRows& rank : groups_) leave_out(rank);
  }

  const models::DeathReport* died(std::uint32_t rank) const {
    for (const models::DeathReport& death : run_.explanation.deaths) {
      if (death.rank == rank && !death.after_quiescence) return &death;
    }
    return nullptr;
  }

  std::string label(sim::ActorId actor, std::uint32_t k) const {
    return models::op_label(graph_, run_.lowered, actor, k);
  }

  std::size_t row_count() const {
    std::size_t rows = 0;
    for (const RankRows& rank : groups_) rows += rank.lanes.size();
    return rows;
  }

  double rank_height(const RankRows& rank) const {
    return row_ * static_cast<double>(rank.lanes.size()) + gap_;
  }

  static std::string name_of(const Lane& lane) {
    return lane.is_thread ? lane.name + " (host)" : lane.name;
  }

  static std::string name_of(const RankRows& rank) {
    return class_name(models::RankSet(rank.ranks));
  }

  void choose_scales() {
    double names = 0;
    double ranks = 0;
    for (const RankRows& rank : groups_) {
      ranks = std::max(ranks, text_width(name_of(rank), kLabelSize + 1));
      for (const Lane* lane : rank.lanes) {
        names = std::max(names, text_width(name_of(*lane), kLabelSize));
      }
    }
    choose_rows();
    rank_width_ = std::min(ranks * 1.1 + 12, kMaxNames);
    name_width_ = has_text() ? std::min(names + 12, kMaxNames) : 8;
    left_ = kTimelineMargin + rank_width_ + name_width_;
    right_ = style_.width - kTimelineMargin;
    end_x_ = hangs_ ? right_ - (right_ - left_) * kHangShare : right_;
    bottom_ = top_ - kRankGap;
    for (const RankRows& rank : groups_) bottom_ += rank_height(rank);
  }

  // Chooses the height of rows: kRow, or less if the rows would not fit a page.
  void choose_rows() {
    const auto rows = static_cast<double>(row_count());
    const auto groups = static_cast<double>(groups_.size());
    const double space = kPageHeight - top_ - 60;
    if (!style_.all && rows * kRow + groups * kRankGap > space) {
      gap_ = std::min(kRankGap, 0.25 * space / groups);
      row_ = std::clamp((space - groups * gap_) / rows, kMinRow, kRow);
    }
    bar_ = row_ < 6 ? row_ : row_ * 0.77;
  }

  bool has_text() const { return row_ >= kRowOfText; }

  double x_of(std::int64_t ns) const {
    if (end_ns_ <= begin_ns_) return left_;
    const double share = static_cast<double>(std::clamp(ns, begin_ns_, end_ns_) - begin_ns_) /
                         static_cast<double>(end_ns_ - begin_ns_);
    return left_ + (end_x_ - left_) * share;
  }

  bool is_in_view(const Slice& slice) const {
    const bool begins = slice.begin_ns < end_ns_ || end_ns_ == timeline_.end_ns;
    return begins && (slice.end_ns > begin_ns_ || begin_ns_ == 0);
  }

  void look_at_slices() {
    for (const RankRows& rank : groups_) {
      for (const Lane* lane : rank.lanes) {
        for (const Slice& slice : lane->slices) {
          if (slice.work_ns >= slice.end_ns || !is_in_view(slice)) continue;
          look_.see(slice, x_of(slice.end_ns) - x_of(slice.work_ns) - 4);
        }
      }
    }
  }

  void add_head() {
    scene_.add_head({});
    std::string about = fmt::format("{}, {} of {} done", counted(graph_.ranks, "rank"),
                                    grouped(run_.explanation.ops_done),
                                    counted(run_.explanation.ops_expected, "op"));
    std::string reason = first_reason(run_.explanation);
    if (reason.starts_with("The cycle")) reason.front() = 't';
    if (!reason.empty()) about += "; " + reason;
    const std::string idle = idle_text(graph_, run_, timeline_);
    if (!idle.empty()) about += "; " + idle;
    if (left_out_ > 0) {
      about += fmt::format("; {} without work left out (--all)", counted(left_out_, "row"));
    }
    const double space = style_.width - 2 * kTimelineMargin;
    scene_.add_fitted({kTimelineMargin, 46, about, fitting_size(about, 12, 9.5, space)}, space);
    bool waits = hangs_;
    for (const RankRows& rank : groups_) {
      for (const Lane* lane : rank.lanes) {
        for (const Slice& slice : lane->slices) {
          waits = waits || (slice.work_ns > slice.begin_ns && !is_idle(run_, slice));
        }
      }
    }
    double x = kTimelineMargin;
    const auto add_key = [&](Scene::Box box, const std::string& name) {
      const double width = 21 + text_width(name, kLabelSize) + 16;
      if (x + width > style_.width) return;  // no space in a narrow picture
      x = scene_.add_key(x, 62, std::move(box), name);
    };
    for (const SliceLook::Key& key : look_.legend()) {
      const SliceColour colour = shaded_colour(key.kind, key.shade);
      add_key({.fill = colour.fill, .stroke = kInk, .stroke_width = 0.5}, key.name);
    }
    if (waits) {
      add_key({.fill = "#ffffff", .stroke = kGrey, .stroke_width = 0.8, .hatched = true}, "waits");
    }
    if (!run_.explanation.cycle.empty()) {
      add_key({.fill = "#ffffff", .stroke = kStrong, .stroke_width = 2, .hatched = true},
              "waits, on a cycle");
    }
  }

  void add_axis() {
    scene_.add(
        Scene::Box{.x = left_, .y = top_ - 8, .width = right_ - left_, .height = 1, .fill = kGrey});
    for (const std::int64_t after : time_ticks(end_ns_ - begin_ns_, 8)) {
      const std::int64_t ns = begin_ns_ + after;
      const double x = x_of(ns);
      scene_.add(Scene::Box{
          .x = x, .y = top_ - 8, .width = 1, .height = bottom_ - top_ + 12, .fill = kRule});
      if (hangs_ && x > end_x_ - 40) continue;  // the end of the run has a label there
      const std::string text = time_text(ns);
      const double last = style_.width - 2 - text_width(text, 10) / 2;
      scene_.add(Scene::Text{std::min(x, last), bottom_ + 14, text, 10,
                             after == 0 ? Scene::Anchor::kStart : Scene::Anchor::kMiddle, false,
                             kGreyText});
    }
  }

  void add_rank(const RankRows& rank, double y) {
    const auto missing = missing_.find(rank.ranks.front());
    add_rank_name(rank, y, missing != missing_.end());
    const double begin = y;
    for (const Lane* lane : rank.lanes) {
      if (has_text()) {
        scene_.add_fitted(
            {left_ - 8, y + row_ / 2, name_of(*lane), kLabelSize, Scene::Anchor::kEnd},
            name_width_ - 10);
        scene_.add(Scene::Box{.x = left_,
                              .y = y + row_ - 0.5,
                              .width = right_ - left_,
                              .height = 0.5,
                              .fill = kRule});
      }
      add_lane(*lane, y + (row_ - bar_) / 2, died(lane->rank));
      y += row_;
    }
    if (missing != missing_.end()) {
      add_missing(*missing->second, rank.lanes.front()->stuck.empty(), begin, y);
    }
    if (const models::DeathReport* death = died(rank.ranks.front())) {
      const double x = x_of(std::min(death->time_ns, timeline_.end_ns));
      scene_.add(
          Scene::Box{.x = x - 1.5, .y = begin, .width = 3, .height = y - begin, .fill = "#000000"});
      const std::string text = death->what.empty() ? "dies" : "dies: " + death->what;
      scene_.add(Scene::Text{x + 6, begin + row_ / 2, fitted(text, 12, (right_ - x - 12) / 1.15),
                             12, Scene::Anchor::kStart, true, "#000000"});
    }
  }

  // Adds the name of a rank. If rows are low, skips names that would overlap.
  void add_rank_name(const RankRows& rank, double y, bool missing) {
    constexpr double kMin = 13;  // minimum distance between names
    const double middle = y + row_ / 2;
    if (name_y_ > 0 && middle < name_y_ + kMin) return;
    name_y_ = middle;
    scene_.add_fitted({kTimelineMargin, middle, name_of(rank), kLabelSize + 1,
                       Scene::Anchor::kStart, true, missing ? kStrong : kInk},
                      (rank_width_ - 8) / 1.1);
  }

  // Marks a rank that other ranks wait for in vain.
  void add_missing(const models::Root& root, bool has_space, double begin, double end) {
    scene_.add(Scene::Box{
        .x = kTimelineMargin - 9, .y = begin, .width = 5, .height = end - begin, .fill = kStrong});
    // Skips the text if the picture shows the reason elsewhere, or has no space.
    if (!hangs_ || !has_text() || !has_space || died(root.party.rank)) return;
    const std::string cut = fitted(fmt::format("rank {} never joins", root.party.rank), 12,
                                   (right_ - end_x_ - 16) / 1.15);
    scene_.add(
        Scene::Text{end_x_ + 8, begin + row_ / 2, cut, 12, Scene::Anchor::kStart, true, kStrong});
  }

  void add_lane(const Lane& lane, double y, const models::DeathReport* death) {
    double drawn = left_;  // right edge of the last drawn slice
    for (const Slice& slice : lane.slices) {
      if (is_idle(run_, slice) || !is_in_view(slice)) continue;
      const bool ended = slice.done || death != nullptr;
      const double end = ended ? x_of(slice.end_ns) : still_end(slice);
      // Skips a slice that is too thin to see next to the slice before it.
      if (end - drawn < kThinnestSlice && end - x_of(slice.begin_ns) < kThinnestSlice) continue;
      add_slice(lane, slice, end, y);
      drawn = end;
    }
    if (lane.stuck.empty() || death != nullptr) return;
    const bool open = !lane.slices.empty() && !first_open(lane).done;
    if (open) return;  // the open slice shows the reason itself
    add_still(lane, y);
  }

  // Returns the right edge of a slice that never ends; a waiting slice extends to the right edge of
  // the picture.
  double still_end(const Slice& slice) const {
    return slice.work_ns == slice.end_ns && hangs_ ? right_ : end_x_;
  }

  std::string tip_of(const Slice& slice) const {
    std::string tip = fmt::format("{}: {}", label(slice.actor, slice.k), time_text(slice.begin_ns));
    tip += slice.done ? fmt::format(" to {}", time_text(slice.end_ns)) : ", not done";
    if (slice.work_ns > slice.begin_ns) {
      tip += slice.work_ns < slice.end_ns
                 ? fmt::format(", waits until {}", time_text(slice.work_ns))
                 : ", waits";
    }
    return tip;
  }

  void add_slice(const Lane& lane, const Slice& slice, double end, double y) {
    const double begin = x_of(slice.begin_ns);
    const bool works =
        slice.work_ns < slice.end_ns || (slice.done && slice.begin_ns == slice.end_ns);
    const double work = works ? x_of(slice.work_ns) : end;
    const std::string tip = tip_of(slice);
    if (work - begin >= kThinnestSlice) {
      const bool on_cycle = !slice.done && !lane.stuck.empty() && is_on_cycle(lane.stuck.front());
      Scene::Box box{.x = begin,
                     .y = y,
                     .width = work - begin,
                     .height = bar_,
                     .fill = "#ffffff",
                     .stroke = on_cycle ? kStrong : kGrey,
                     .stroke_width = on_cycle ? 2.0 : 0.8,
                     .hatched = true};
      box.tip = tip;
      scene_.add(box);
      // Only the first open slice of a lane has a label: later slices are queued behind this slice.
      if (!slice.done && &slice == &first_open(lane) && !died(lane.rank)) {
        add_still_label(wait_of(lane, slice), box);
      }
    }
    if (!works) return;
    const SliceColour colour = look_.colour(slice);
    Scene::Box box{.x = work,
                   .y = y,
                   .width = std::max(end - work, kThinnestSlice),
                   .height = bar_,
                   .fill = colour.fill,
                   .stroke = kInk,
                   .stroke_width = 0.5};
    box.ink = colour.ink;
    if (has_text() && work < end) {
      std::tie(box.label, box.size) = look_.label(slice, box.width - 4);
    }
    box.tip = tip;
    if (box.width < 6 || bar_ < 8) box.stroke_width = 0.2;
    if (box.width < 3 || bar_ < 4) box.stroke.clear();
    scene_.add(std::move(box));
  }

  static const Slice& first_open(const Lane& lane) {
    const auto is_open = [](const Slice& slice) { return !slice.done; };
    const auto found = std::find_if(lane.slices.begin(), lane.slices.end(), is_open);
    return found == lane.slices.end() ? lane.slices.back() : *found;
  }

  std::string wait_of(const Lane& lane, const Slice& slice) const {
    for (const StuckOp& op : lane.stuck) {
      if (op.actor == slice.actor && op.k == slice.k) return stuck_text(op);
    }
    return label(slice.actor, slice.k) + (lane.is_thread ? " blocks the thread" : "");
  }

  std::string stuck_text(const StuckOp& op) const {
    const models::Wait& wait = op.waits.front();
    return fmt::format("{} {}", label(op.actor, op.k), wait_text(wait));
  }

  // Adds a label on a white background, in the middle of a hatched box.
  void add_wait_label(const std::string& text, const Scene::Box& box) {
    const std::string cut = fitted(text, kLabelSize, box.width - 16);
    if (cut.empty() || !has_text()) return;
    const double width = text_width(cut, kLabelSize) + 6;
    const double x = box.x + (box.width - width) / 2;
    scene_.add(Scene::Box{.x = x,
                          .y = box.y + 2,
                          .width = width,
                          .height = bar_ - 4,
                          .fill = "#ffffff",
                          .label = cut,
                          .ink = kInk,
                          .size = kLabelSize,
                          .tip = cut == text ? "" : text});
  }

  void add_still(const Lane& lane, double y) {
    const StuckOp& first = lane.stuck.front();
    const std::int64_t since = lane.slices.empty() ? 0 : lane.slices.back().end_ns;
    const double begin = x_of(since);
    Scene::Box box{.x = begin,
                   .y = y,
                   .width = right_ - begin,
                   .height = bar_,
                   .fill = "#ffffff",
                   .stroke = is_on_cycle(first) ? kStrong : kGrey,
                   .stroke_width = is_on_cycle(first) ? 2.0 : 0.8,
                   .hatched = true};
    constexpr std::size_t kMaxTold = 12;
    for (std::size_t i = 0; i < lane.stuck.size() && i < kMaxTold; ++i) {
      box.tip += (i == 0 ? "" : "\n") + stuck_text(lane.stuck[i]);
    }
    if (lane.stuck.size() > kMaxTold) {
      box.tip += fmt::format("\nand {} more", lane.stuck.size() - kMaxTold);
    }
    scene_.add(box);
    std::string text = stuck_text(first);
    if (lane.stuck.size() > 1) text += fmt::format(" (and {} more)", lane.stuck.size() - 1);
    add_still_label(text, box);
  }

  // Adds the label of a stuck op, to the right of the line that marks the end of the run.
  void add_still_label(const std::string& text, Scene::Box box) {
    if (hangs_ && box.x < end_x_) {
      box.width -= end_x_ - box.x;
      box.x = end_x_;
    }
    add_wait_label(text, box);
  }

  void add_end() {
    if (!hangs_) return;
    scene_.add(Scene::Box{.x = end_x_ - 1,
                          .y = top_ - 16,
                          .width = 2,
                          .height = bottom_ - top_ + 22,
                          .fill = kStrong});
    const std::string text = fmt::format("{}: no further progress", time_text(timeline_.end_ns));
    // Bold letters are about 15% wider. If there is no space to the right of the line, the text
    // goes to the left.
    const bool is_right = text_width(text, 12) * 1.15 <= right_ - end_x_ - 5;
    scene_.add(Scene::Text{is_right ? end_x_ + 5 : end_x_ - 5, top_ - 15,
                           fitted(text, 12, (is_right ? right_ - end_x_ : end_x_ - 20) / 1.15), 12,
                           is_right ? Scene::Anchor::kStart : Scene::Anchor::kEnd, true, kStrong});
  }

  const models::TaskGraph& graph_;
  const models::Simulation& run_;
  const models::Timeline& timeline_;
  TimelineStyle style_;
  std::int64_t begin_ns_;  // time range of the picture
  std::int64_t end_ns_;
  SliceLook look_;
  std::set<std::string> cyclic_;                          // ops on cycles other than the first
  std::map<std::uint32_t, const models::Root*> missing_;  // ranks awaited in vain by others
  Scene scene_;
  std::vector<RankRows> groups_;
  std::size_t left_out_ = 0;  // number of rows left out
  bool hangs_ = false;        // whether an op is stuck forever
  double row_ = kRow;
  double bar_ = 0;  // height of the bar in a row
  double gap_ = kRankGap;
  double name_y_ = 0;  // position of the last rank name
  double top_ = 108;
  double bottom_ = 0;
  double left_ = 0;
  double right_ = 0;
  double end_x_ = 0;  // position of the end of the run
  double rank_width_ = 0;
  double name_width_ = 0;
};

}  // namespace

Scene draw_timeline(const models::TaskGraph& graph, const models::Simulation& run,
                    const models::Timeline& timeline, const TimelineStyle& style) {
  return TimelinePicture(graph, run, timeline, style).run();
}

}  // namespace pipesim::viz
