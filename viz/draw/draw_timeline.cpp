#include "viz/draw/draw_timeline.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "viz/draw/axis.hpp"
#include "viz/draw/palette.hpp"
#include "viz/report_lines.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using models::Lane;
using models::Slice;
using models::StuckAct;
using models::WorkKind;

// All in pixels.
constexpr double kTimelineWidth = 1280;
constexpr double kTimelineMargin = 16;
constexpr double kRow = 22;
constexpr double kBar = 17;        // what of a row is filled
constexpr double kRankGap = 10;    // between ranks
constexpr double kLabelSize = 11;  // of texts in bars and of names
constexpr double kMaxNames = 240;
constexpr double kHangShare = 0.3;      // of the width, for what stands still
constexpr double kThinnestSlice = 0.7;  // of what is drawn

/// Ranks that are drawn as one.
struct RankRows {
  std::vector<std::uint32_t> ranks;
  std::vector<const Lane*> lanes;  // of the first of them
};

class TimelinePicture {
 public:
  TimelinePicture(const models::TaskGraph& graph, const models::Simulation& run,
                  const models::Timeline& timeline, bool fold)
      : graph_(graph), run_(run), timeline_(timeline), scene_(0, 0, "") {
    group_ranks(fold);
    hangs_ = timeline.at_rest && std::any_of(timeline.lanes.begin(), timeline.lanes.end(),
                                             [](const Lane& lane) { return !lane.stuck.empty(); });
  }

  Scene run() {
    if (row_count() > kMaxRows) {
      throw DrawingError(
          models::Code::kPictureSize,
          fmt::format(
              "the timeline has {} rows, and a picture can have at most {}: choose some ranks, as "
              "in --ranks 0..3",
              row_count(), kMaxRows));
    }
    choose_scales();
    scene_ = Scene(kTimelineWidth, bottom_ + 34, headline(graph_, run_.explanation));
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
  // What two ranks have in common if they are drawn as one.
  std::string key_of(const Lane& lane) const {
    std::string key = lane.name + (lane.is_thread ? "\nthread" : "\n");
    for (const Slice& slice : lane.slices) {
      key += fmt::format("\n{} {} {} {} {} {}", label(slice.actor, slice.k), slice.begin_ns,
                         slice.work_ns, slice.end_ns, slice.done, static_cast<int>(slice.kind));
    }
    for (const StuckAct& act : lane.stuck) {
      key += fmt::format("\n{} {}", label(act.actor, act.k), act.on_cycle);
      for (const models::Wait& wait : act.waits) key += edge_text(wait);
    }
    return key;
  }

  // Something works there for a time that can be seen, or stands still for ever.
  bool shows_something(const Lane& lane) const {
    if (!lane.stuck.empty() || timeline_.end_ns == 0) return true;
    const double visible = kThinnestSlice * static_cast<double>(timeline_.end_ns) / kTimelineWidth;
    return std::any_of(lane.slices.begin(), lane.slices.end(), [&](const Slice& slice) {
      return !slice.done || static_cast<double>(slice.end_ns - slice.work_ns) >= visible;
    });
  }

  void leave_out(RankRows& rank) {
    std::vector<const Lane*> lanes;
    for (const Lane* lane : rank.lanes) {
      if (shows_something(*lane)) lanes.push_back(lane);
    }
    if (lanes.empty()) return;  // each rank has a row
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
        if (fold) key += key_of(timeline_.lanes[end]) + "\n\n";
      }
      begin = end;
      if (const models::DeathReport* death = died(rank)) {
        key += fmt::format("\ndied {} {}", death->time_ns, death->what);
      }
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
      if (death.rank == rank && !death.after_rest) return &death;
    }
    return nullptr;
  }

  std::string label(sim::ActorId actor, std::uint32_t k) const {
    return models::act_label(graph_, run_.lowered, actor, k);
  }

  std::size_t row_count() const {
    std::size_t rows = 0;
    for (const RankRows& rank : groups_) rows += rank.lanes.size();
    return rows;
  }

  static double rank_height(const RankRows& rank) {
    return kRow * static_cast<double>(rank.lanes.size()) + kRankGap;
  }

  static std::string name_of(const Lane& lane) {
    return lane.is_thread ? lane.name + " (host)" : lane.name;
  }

  static std::string name_of(const RankRows& rank) {
    if (rank.ranks.size() == 1) return fmt::format("rank {}", rank.ranks.front());
    return fmt::format("ranks {}", short_ranges(rank.ranks));
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
    rank_width_ = std::min(ranks + 12, kMaxNames);
    name_width_ = std::min(names + 12, kMaxNames);
    left_ = kTimelineMargin + rank_width_ + name_width_;
    right_ = kTimelineWidth - kTimelineMargin;
    end_x_ = hangs_ ? right_ - (right_ - left_) * kHangShare : right_;
    bottom_ = top_ - kRankGap;
    for (const RankRows& rank : groups_) bottom_ += rank_height(rank);
  }

  double x_of(std::int64_t ns) const {
    if (timeline_.end_ns == 0) return left_;
    const double share = static_cast<double>(ns) / static_cast<double>(timeline_.end_ns);
    return left_ + (end_x_ - left_) * share;
  }

  void add_head() {
    scene_.add(Scene::Text{kTimelineMargin, 24, headline(graph_, run_.explanation), 17,
                           Scene::Anchor::kStart, true, kInk});
    std::string about = fmt::format("{}, {} of {} done", counted(graph_.ranks, "rank"),
                                    grouped(run_.explanation.acts_done),
                                    counted(run_.explanation.acts_expected, "op"));
    const std::string reason = first_reason(run_.explanation);
    if (!reason.empty()) about += "; " + reason;
    if (left_out_ > 0) {
      about += fmt::format("; {} without work left out (--all)", counted(left_out_, "row"));
    }
    about = fitted(about, 12, kTimelineWidth - 2 * kTimelineMargin);
    scene_.add(Scene::Text{kTimelineMargin, 46, about, 12, Scene::Anchor::kStart, false, kInk});
    std::array<bool, models::kWorkKindCount> used{};
    bool waits = hangs_;
    for (const RankRows& rank : groups_) {
      for (const Lane* lane : rank.lanes) {
        for (const Slice& slice : lane->slices) {
          if (slice.work_ns < slice.end_ns) used[static_cast<std::size_t>(slice.kind)] = true;
          waits = waits || slice.work_ns > slice.begin_ns;
        }
      }
    }
    double x = kTimelineMargin;
    const auto add_key = [&](Scene::Box box, const char* name) {
      box.x = x;
      box.y = 62;
      box.width = 16;
      box.height = 12;
      scene_.add(box);
      scene_.add(Scene::Text{x + 21, 68, name, kLabelSize, Scene::Anchor::kStart, false, kInk});
      x += 21 + text_width(name, kLabelSize) + 16;
    };
    for (std::size_t kind = 0; kind < used.size(); ++kind) {
      if (!used[kind]) continue;
      add_key({.fill = kKindStyles[kind].fill, .stroke = kInk, .stroke_width = 0.5},
              kKindStyles[kind].name);
    }
    if (waits) {
      add_key({.fill = "#ffffff", .stroke = kGrey, .stroke_width = 0.8, .hatched = true}, "waits");
    }
    if (!run_.explanation.cycle.empty()) {
      add_key({.fill = "#ffffff", .stroke = kStrong, .stroke_width = 2, .hatched = true},
              "waits, on the cycle");
    }
  }

  void add_axis() {
    scene_.add(
        Scene::Box{.x = left_, .y = top_ - 8, .width = right_ - left_, .height = 1, .fill = kGrey});
    for (const std::int64_t ns : time_ticks(timeline_.end_ns, 8)) {
      const double x = x_of(ns);
      scene_.add(Scene::Box{
          .x = x, .y = top_ - 8, .width = 1, .height = bottom_ - top_ + 12, .fill = "#e4e8ee"});
      if (hangs_ && x > end_x_ - 40) continue;  // the end has a label of its own
      scene_.add(Scene::Text{x, bottom_ + 14, time_text(ns), 10,
                             ns == 0 ? Scene::Anchor::kStart : Scene::Anchor::kMiddle, false,
                             kGreyText});
    }
  }

  void add_rank(const RankRows& rank, double y) {
    scene_.add(Scene::Text{kTimelineMargin, y + kRow / 2,
                           fitted(name_of(rank), kLabelSize + 1, rank_width_ - 8), kLabelSize + 1,
                           Scene::Anchor::kStart, true, kInk});
    const double begin = y;
    for (const Lane* lane : rank.lanes) {
      scene_.add(Scene::Text{left_ - 8, y + kRow / 2,
                             fitted(name_of(*lane), kLabelSize, name_width_ - 10), kLabelSize,
                             Scene::Anchor::kEnd, false, kInk});
      scene_.add(Scene::Box{.x = left_,
                            .y = y + kRow - 0.5,
                            .width = right_ - left_,
                            .height = 0.5,
                            .fill = "#eef1f5"});
      add_lane(*lane, y + (kRow - kBar) / 2, died(lane->rank));
      y += kRow;
    }
    if (const models::DeathReport* death = died(rank.ranks.front())) {
      const double x = x_of(std::min(death->time_ns, timeline_.end_ns));
      scene_.add(
          Scene::Box{.x = x - 1.5, .y = begin, .width = 3, .height = y - begin, .fill = "#000000"});
      const std::string text = death->what.empty() ? "dies" : "dies: " + death->what;
      scene_.add(Scene::Text{x + 6, begin + kRow / 2, fitted(text, 12, right_ - x - 8), 12,
                             Scene::Anchor::kStart, true, "#000000"});
    }
  }

  void add_lane(const Lane& lane, double y, const models::DeathReport* death) {
    double drawn = left_;  // up to there
    for (const Slice& slice : lane.slices) {
      const bool ended = slice.done || death != nullptr;
      const double end = ended ? x_of(slice.end_ns) : still_end(slice);
      // What is thinner than a line, beside what is drawn already, would only hide it.
      if (end - drawn < kThinnestSlice && end - x_of(slice.begin_ns) < kThinnestSlice) continue;
      add_slice(lane, slice, end, y);
      drawn = end;
    }
    if (lane.stuck.empty() || death != nullptr) return;
    const bool open = !lane.slices.empty() && !lane.slices.back().done;
    if (open) return;  // it says itself what it waits for
    add_still(lane, y);
  }

  // What waits at the end goes on with that.
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
    const KindStyle& style = style_of(slice.kind);
    const double begin = x_of(slice.begin_ns);
    const bool works =
        slice.work_ns < slice.end_ns || (slice.done && slice.begin_ns == slice.end_ns);
    const double work = works ? x_of(slice.work_ns) : end;
    const std::string tip = tip_of(slice);
    if (work - begin >= kThinnestSlice) {
      const bool on_cycle = !slice.done && !lane.stuck.empty() && lane.stuck.front().on_cycle;
      Scene::Box box{.x = begin,
                     .y = y,
                     .width = work - begin,
                     .height = kBar,
                     .fill = "#ffffff",
                     .stroke = on_cycle ? kStrong : kGrey,
                     .stroke_width = on_cycle ? 2.0 : 0.8,
                     .hatched = true};
      box.tip = tip;
      scene_.add(box);
      if (!slice.done && !died(lane.rank)) add_still_label(wait_of(lane, slice), box);
    }
    if (!works) return;
    Scene::Box box{.x = work,
                   .y = y,
                   .width = std::max(end - work, kThinnestSlice),
                   .height = kBar,
                   .fill = style.fill,
                   .stroke = kInk,
                   .stroke_width = 0.5};
    box.ink = style.text;
    box.size = kLabelSize;
    box.label = short_label(slice, box.width - 4);
    box.tip = tip;
    if (box.width < 6) box.stroke_width = 0.2;
    if (box.width < 3) box.stroke.clear();
    scene_.add(std::move(box));
  }

  // The whole name, or what is left of it that still says something.
  std::string short_label(const Slice& slice, double width) const {
    std::string name = label(slice.actor, slice.k);
    if (text_width(name, kLabelSize) <= width) return name;
    if (slice.kind == WorkKind::kOverlapped) return overlapped_label(name, width);
    const bool computes = slice.kind == WorkKind::kForward || slice.kind == WorkKind::kBackward ||
                          slice.kind == WorkKind::kWeightGrad;
    const std::size_t number = name.find_last_not_of("0123456789");
    if (computes && number != std::string::npos && number + 1 < name.size()) {
      std::string micro_batch = name.substr(number + 1);
      if (text_width(micro_batch, kLabelSize) <= width) return micro_batch;
    }
    return {};
  }

  // "0F7 7B3" of "(0F7;7B3)OVERLAP_F_B", or "7+3", its micro-batches.
  static std::string overlapped_label(const std::string& name, double width) {
    std::string whole;
    std::string numbers;
    const std::size_t end = std::min(name.find(')'), name.size());
    for (std::size_t begin = 1; begin < end;) {
      const std::size_t part_end = std::min(name.find(';', begin), end);
      const std::string part = name.substr(begin, part_end - begin);
      whole += (whole.empty() ? "" : " ") + part;
      numbers +=
          (numbers.empty() ? "" : "+") + part.substr(part.find_last_not_of("0123456789") + 1);
      begin = part_end + 1;
    }
    if (text_width(whole, kLabelSize) <= width) return whole;
    return text_width(numbers, kLabelSize) <= width ? numbers : std::string();
  }

  std::string wait_of(const Lane& lane, const Slice& slice) const {
    for (const StuckAct& act : lane.stuck) {
      if (act.actor == slice.actor && act.k == slice.k) return stuck_text(act);
    }
    return label(slice.actor, slice.k) + (lane.is_thread ? " blocks the thread" : "");
  }

  std::string stuck_text(const StuckAct& act) const {
    const models::Wait& wait = act.waits.front();
    return fmt::format("{} {}", label(act.actor, act.k), wait_text(wait));
  }

  // On white, in the middle of what is hatched.
  void add_wait_label(const std::string& text, const Scene::Box& box) {
    const std::string cut = fitted(text, kLabelSize, box.width - 16);
    if (cut.empty()) return;
    const double width = text_width(cut, kLabelSize) + 6;
    const double x = box.x + (box.width - width) / 2;
    scene_.add(Scene::Box{.x = x,
                          .y = box.y + 2,
                          .width = width,
                          .height = kBar - 4,
                          .fill = "#ffffff",
                          .label = cut,
                          .ink = kInk,
                          .size = kLabelSize});
  }

  void add_still(const Lane& lane, double y) {
    const StuckAct& first = lane.stuck.front();
    const std::int64_t since = lane.slices.empty() ? 0 : lane.slices.back().end_ns;
    const double begin = x_of(since);
    Scene::Box box{.x = begin,
                   .y = y,
                   .width = right_ - begin,
                   .height = kBar,
                   .fill = "#ffffff",
                   .stroke = first.on_cycle ? kStrong : kGrey,
                   .stroke_width = first.on_cycle ? 2.0 : 0.8,
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

  // The end of the run goes through long ones: their text stands behind it.
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
    scene_.add(Scene::Text{end_x_ + 5, top_ - 15,
                           fmt::format("{}: no further progress", time_text(timeline_.end_ns)), 12,
                           Scene::Anchor::kStart, true, kStrong});
  }

  const models::TaskGraph& graph_;
  const models::Simulation& run_;
  const models::Timeline& timeline_;
  Scene scene_;
  std::vector<RankRows> groups_;
  std::size_t left_out_ = 0;  // rows
  bool hangs_ = false;        // something waits for ever
  double top_ = 108;
  double bottom_ = 0;
  double left_ = 0;
  double right_ = 0;
  double end_x_ = 0;  // of the end of the run
  double rank_width_ = 0;
  double name_width_ = 0;
};

}  // namespace

Scene draw_timeline(const models::TaskGraph& graph, const models::Simulation& run,
                    const models::Timeline& timeline, bool fold) {
  return TimelinePicture(graph, run, timeline, fold).run();
}

}  // namespace pipesim::viz
