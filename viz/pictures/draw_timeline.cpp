#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/characters.hpp"
#include "models/result/idle.hpp"
#include "viz/pictures/axis.hpp"
#include "viz/pictures/palette.hpp"
#include "viz/pictures/pictures.hpp"
#include "viz/pictures/slice_look.hpp"
#include "viz/report/report_lines.hpp"
#include "viz/report/rounded_time.hpp"
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
constexpr double kRow = 22;        // maximum height of a row
constexpr double kIdleWidth = 46;  // width of the column of idle shares
constexpr double kMaxRow = 44;     // the same in a picture with a given aspect
constexpr double kMinRow = 1.75;
constexpr double kRowOfText = 15;  // minimum height for text in bars
constexpr double kRankGap = 10;    // gap between ranks
constexpr double kLabelSize = 11;  // text in bars, and names
constexpr double kMaxNames = 240;
constexpr double kHangShare = 0.3;      // share of the width for stuck ops
constexpr std::size_t kMaxOwnRows = 8;  // maximum number of ranks on cycles with their own rows
constexpr double kAboutLine = 16;
constexpr double kCompactTop = 58;  // top of the rows if the page has several timelines
constexpr const char* kPartsName = "steps";
constexpr double kThinnestSlice = 0.7;  // minimum width of a drawn slice
// A lane with only narrow slices gets a row if it works during at least 1 / kMinShare of the run.
constexpr std::int64_t kMinShare = 50;

/// Ranks that share their rows.
struct RankRows {
  std::vector<std::uint32_t> ranks;
  std::vector<const Lane*> lanes;         // lanes of the first rank
  std::vector<models::PartSpan> parts{};  // parts of recorded steps of the first rank

  std::size_t rows() const { return lanes.size() + (parts.empty() ? 0 : 1); }
};

// Returns the numbers in `text`, as written.
std::vector<std::string> numbers_in(const std::string& text) {
  std::vector<std::string> numbers;
  bool inside = false;
  for (const char c : text) {
    const bool digit = models::is_digit(c);
    if (digit && !inside) numbers.emplace_back();
    if (digit) numbers.back() += c;
    inside = digit;
  }
  return numbers;
}

// Merges strings that differ only in their numbers: "rank 3" and "rank 7" become "rank 3..7".
// Returns the first string if the strings differ in other ways.
std::string merged_numbers(const std::vector<std::string>& texts) {
  const std::string skeleton = models::without_numbers(texts.front());
  const auto is_less = [](const std::string& a, const std::string& b) {
    return a.size() == b.size() ? a < b : a.size() < b.size();
  };
  std::vector<std::string> least = numbers_in(texts.front());
  std::vector<std::string> most = least;
  for (const std::string& text : texts) {
    if (models::without_numbers(text) != skeleton) return texts.front();
    const std::vector<std::string> numbers = numbers_in(text);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      least[i] = std::min(least[i], numbers[i], is_less);
      most[i] = std::max(most[i], numbers[i], is_less);
    }
  }
  std::string result;
  std::size_t index = 0;
  bool inside = false;
  for (const char c : texts.front()) {
    const bool digit = models::is_digit(c);
    if (!digit) result += c;
    if (digit && !inside) {
      result += least[index];
      if (most[index] != least[index]) result += ".." + most[index];
      ++index;
    }
    inside = digit;
  }
  return result;
}

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
    for (const models::Wait& wait : run.explanation.cycle) own_rows_.insert(wait.from.rank);
    for (const std::vector<models::Wait>& cycle : run.explanation.other_cycles) {
      for (const models::Wait& wait : cycle) {
        cyclic_.insert(party_text(wait.from));
        own_rows_.insert(wait.from.rank);
      }
    }
    if (own_rows_.size() > kMaxOwnRows) own_rows_.clear();
    group_ranks(!style.all);
    hangs_ = end_ns_ == timeline.end_ns && timeline.quiescent &&
             std::any_of(timeline.lanes.begin(), timeline.lanes.end(),
                         [](const Lane& lane) { return !lane.stuck.empty(); });
  }

  /// Chooses the rows, the text below the title and the scales. `pictures`: number of timelines on
  /// the page. Throws DrawingError if there are too many rows.
  void measure(std::size_t pictures) {
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
    is_compact_ = pictures > 1;
    choose_about();
    choose_scales(static_cast<double>(pictures));
  }

  double left() const { return left_; }
  double right() const { return right_; }
  std::int64_t end_ns() const { return end_ns_; }
  bool hangs() const { return hangs_; }

  /// Uses the same scale as other timelines. `left`: position of the first moment; `right`: end of
  /// the rows; `end_ns`: the last moment; `hangs`: whether a timeline needs space for stuck ops.
  void share_scale(double left, double right, std::int64_t end_ns, bool hangs) {
    left_ = left;
    right_ = right;
    scale_ns_ = end_ns;
    scale_x_ = hangs ? right_ - (right_ - left_) * kHangShare : right_;
    end_x_ = x_of(end_ns_);
  }

  Scene draw() {
    look_at_slices();
    scene_ = Scene(style_.width, bottom_ + 34, head());
    add_head();
    add_axis();
    double y = top_;
    for (const RankRows& rank : groups_) {
      add_rank(rank, y);
      y += rank_height(rank);
    }
    add_end();
    for (Scene::Box& label : wait_labels_) scene_.add(std::move(label));
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
      const bool shown =
          lane->is_thread ? shows_something(*lane) : shown_streams_.count(lane->name) > 0;
      if (shown) lanes.push_back(lane);
    }
    if (lanes.empty()) return;  // keeps at least one row per rank
    left_out_ += (rank.lanes.size() - lanes.size()) * rank.ranks.size();
    rank.lanes = std::move(lanes);
  }

  // Returns the rows of the rank whose lanes begin at `begin`.
  RankRows rows_at(std::size_t begin) const {
    const std::uint32_t rank = timeline_.lanes[begin].rank;
    RankRows rows{{rank}, {}};
    for (const models::PartSpan& part : timeline_.parts) {
      if (part.rank == rank) rows.parts.push_back(part);
    }
    for (std::size_t i = begin; i < timeline_.lanes.size(); ++i) {
      if (timeline_.lanes[i].rank != rank) break;
      rows.lanes.push_back(&timeline_.lanes[i]);
    }
    return rows;
  }

  // Returns a key that is equal for ranks that can share their rows.
  std::string key_of(const RankRows& rows) const {
    const std::uint32_t rank = rows.ranks.front();
    std::string key;
    for (const models::PartSpan& part : rows.parts) {
      key += fmt::format("{} {} {} {}\n", part_label(part), part.begin_ns, part.end_ns, part.done);
    }
    const auto on_cycle = [&](const StuckOp& op) { return is_on_cycle(op); };
    for (const Lane* lane : rows.lanes) {
      key += lane_key(graph_, run_, *lane, on_cycle) + "\n\n";
    }
    if (const models::DeathReport* death = died(rank)) {
      key += fmt::format("\ndied {} {}", death->time_ns, death->what);
    }
    if (missing_.count(rank) > 0) key += fmt::format("\nguilty {}", rank);
    if (own_rows_.count(rank) > 0) key += fmt::format("\non a cycle {}", rank);
    return key;
  }

  // Adds the rows of a rank to group `group`. An index after the last group adds a new group.
  void add_rows(RankRows rows, std::size_t group) {
    if (group == groups_.size()) {
      for (const Lane* lane : rows.lanes) alike_[lane] = {lane};
      groups_.push_back(std::move(rows));
      return;
    }
    RankRows& same = groups_[group];
    same.ranks.push_back(rows.ranks.front());
    for (std::size_t i = 0; i < rows.lanes.size(); ++i) {
      alike_[same.lanes[i]].push_back(rows.lanes[i]);
    }
  }

  void group_ranks(bool fold) {
    std::map<std::string, std::size_t> known;
    for (std::size_t begin = 0; begin < timeline_.lanes.size();) {
      RankRows rows = rows_at(begin);
      begin += rows.lanes.size();
      std::size_t group = groups_.size();
      if (fold) group = known.emplace(key_of(rows), group).first->second;
      add_rows(std::move(rows), group);
    }
    if (!fold) return;
    // A stream has a row on all ranks or on none: a stream without a row would look unused.
    for (const RankRows& rank : groups_) {
      for (const Lane* lane : rank.lanes) {
        if (!lane->is_thread && shows_something(*lane)) shown_streams_.insert(lane->name);
      }
    }
    for (RankRows& rank : groups_) leave_out(rank);
  }

  const models::DeathReport* died(std::uint32_t rank) const {
    for (const models::DeathReport& death : run_.explanation.deaths) {
      if (death.rank == rank && !death.after_quiescence) return &death;
    }
    return nullptr;
  }

  std::string label(sim::ActorId actor, std::uint32_t k) const {
    return op_name(graph_, run_.lowered, actor, k);
  }

  // Returns the line of an op in the user's program in brackets; empty if it is unknown.
  std::string place(sim::ActorId actor) const {
    const auto& step = graph_.actors[run_.lowered.actor_template[actor]].step;
    return !step || step->at.empty() ? "" : fmt::format(" ({})", models::printable(step->at));
  }

  std::size_t row_count() const {
    std::size_t rows = 0;
    for (const RankRows& rank : groups_) rows += rank.rows();
    return rows;
  }

  double rank_height(const RankRows& rank) const {
    return row_ * static_cast<double>(rank.rows()) + gap_;
  }

  std::string name_of(const Lane& lane) const {
    if (lane.is_thread) return lane.name + " (host)";
    const std::string recorded =
        graph_.recorded ? graph_.recorded->stream_name(lane.rank, lane.name) : "";
    return recorded.empty() ? lane.name : recorded;
  }

  static std::string name_of(const RankRows& rank) {
    return class_name(models::RankSet(rank.ranks));
  }

  void choose_scales(double pictures) {
    double names = 0;
    double ranks = 0;
    for (const RankRows& rank : groups_) {
      ranks = std::max(ranks, text_width(name_of(rank), kLabelSize + 1));
      if (!rank.parts.empty()) names = std::max(names, text_width(kPartsName, kLabelSize));
      for (const Lane* lane : rank.lanes) {
        names = std::max(names, text_width(name_of(*lane), kLabelSize));
      }
    }
    choose_rows(pictures);
    rank_width_ = std::min(ranks * 1.1 + 12, kMaxNames);
    name_width_ = has_text() ? std::min(names + 12, kMaxNames) : 8;
    left_ = kTimelineMargin + rank_width_ + name_width_;
    right_ = style_.width - kTimelineMargin - (has_text() && shows_idle() ? kIdleWidth : 0);
    scale_ns_ = end_ns_;
    scale_x_ = hangs_ ? right_ - (right_ - left_) * kHangShare : right_;
    end_x_ = scale_x_;
    bottom_ = top_ - kRankGap;
    for (const RankRows& rank : groups_) bottom_ += rank_height(rank);
  }

  // Chooses the height of rows: kRow, or less if the rows would not fit a page. With an aspect, the
  // rows fill the picture.
  void choose_rows(double pictures) {
    const auto rows = static_cast<double>(row_count());
    const auto groups = static_cast<double>(groups_.size());
    const double page = style_.aspect > 0 ? style_.width / style_.aspect : kPageHeight;
    const double most = style_.aspect > 0 ? kMaxRow : kRow;
    const double space = std::max(page / pictures - top_ - 60, 1.0);
    if (!style_.all && rows * most + groups * kRankGap > space) {
      gap_ = std::min(kRankGap, 0.25 * space / groups);
      row_ = std::clamp((space - groups * gap_) / rows, kMinRow, most);
    } else if (style_.aspect > 0) {
      row_ = most;
    }
    bar_ = row_ < 6 ? row_ : row_ * 0.77;
  }

  bool has_text() const { return row_ >= kRowOfText; }

  double x_of(std::int64_t ns) const {
    if (scale_ns_ <= begin_ns_) return left_;
    const double share = static_cast<double>(std::clamp(ns, begin_ns_, scale_ns_) - begin_ns_) /
                         static_cast<double>(scale_ns_ - begin_ns_);
    return left_ + (scale_x_ - left_) * share;
  }

  bool is_in_view(const Slice& slice) const {
    const bool begins = slice.begin_ns < end_ns_ || end_ns_ == timeline_.end_ns;
    return begins && (slice.end_ns > begin_ns_ || begin_ns_ == 0);
  }

  void look_at_slices() {
    for (const RankRows& rank : groups_) {
      for (const models::PartSpan& part : rank.parts) {
        const auto kind = part.part.kind;
        if (kind != models::RecordedPart::Kind::kOptimizer) look_.see_kind(kind_of(kind));
      }
      for (const Lane* lane : rank.lanes) {
        for (const Slice& slice : lane->slices) {
          if (slice.work_ns >= slice.end_ns || !is_in_view(slice)) continue;
          look_.see(slice, x_of(slice.end_ns) - x_of(slice.work_ns) - 4);
        }
      }
    }
  }

  double about_width() const { return style_.width - 2 * kTimelineMargin; }

  // Chooses the text below the title: the progress of the run, the reason for its end, and notes.
  // Uses two lines if one is too short.
  void choose_about() {
    std::string about = fmt::format("{}, {} of {} done", counted(graph_.ranks, "rank"),
                                    grouped(run_.explanation.ops_done),
                                    counted(run_.explanation.ops_expected, "op"));
    std::string reason = first_reason(run_.explanation);
    constexpr std::string_view kOneCycle = "The cycle";
    if (reason.starts_with(kOneCycle)) {
      const std::uint32_t groups = run_.explanation.cycle_groups;
      reason.replace(
          0, kOneCycle.size(),
          groups > 1 ? fmt::format("the first of {} cycles", grouped(groups)) : "the cycle");
    }
    if (!reason.empty()) about += "; " + reason;
    std::vector<std::string> notes;
    const std::string idle = idle_text(graph_, run_, timeline_);
    if (!idle.empty()) notes.push_back(idle);
    if (!style_.model.empty()) notes.push_back(style_.model);
    if (left_out_ > 0) {
      notes.push_back(fmt::format("{} without work left out (--all)", counted(left_out_, "row")));
    }
    const std::string rest = fmt::format("{}", fmt::join(notes, "; "));
    const std::string all = rest.empty() ? about : about + "; " + rest;
    about_ = {all};
    if (is_compact_) {  // one line with the title and the most important fact
      about_ = {notes.empty() || !reason.empty() ? reason : notes.front()};
      top_ = kCompactTop;
      return;
    }
    if (!rest.empty() && text_width(all, 9.5) > about_width()) about_ = {about, capitalized(rest)};
    top_ += kAboutLine * static_cast<double>(about_.size() - 1);
  }

  // A record has no times, and those of its picture are longer than in reports, so its title has
  // none.
  std::string head() const {
    if (!graph_.recorded) return headline(graph_, run_.explanation);
    return fmt::format("{}: {}", graph_.name, verdict_text(run_.explanation));
  }

  void add_head() {
    constexpr double kHeadSize = 13;
    if (is_compact_) {
      const std::string head = this->head();
      const double left = kTimelineMargin + text_width(head, kHeadSize) * 1.15 + 14;
      scene_.add(Scene::Text{kTimelineMargin, 12, head, kHeadSize, Scene::Anchor::kStart, true});
      scene_.add_fitted({left, 12, about_.front(), 11}, style_.width - kTimelineMargin - left);
      add_legend(24);
      return;
    }
    scene_.add_head({});
    double size = 12;
    for (const std::string& line : about_) {
      size = std::min(size, fitting_size(line, 12, 9.5, about_width()));
    }
    for (std::size_t i = 0; i < about_.size(); ++i) {
      const double y = 46 + kAboutLine * static_cast<double>(i);
      scene_.add_fitted({kTimelineMargin, y, about_[i], size}, about_width());
    }
    add_legend(62 + kAboutLine * static_cast<double>(about_.size() - 1));
  }

  void add_legend(double y) {
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
      x = scene_.add_key(x, y, std::move(box), name);
    };
    for (const SliceLook::Key& key : look_.legend()) {
      const SliceColour colour = shaded_colour(key.kind, key.shade);
      add_key({.fill = colour.fill, .stroke = kInk, .stroke_width = 0.5}, key.name);
    }
    constexpr auto kOptimizer = models::RecordedPart::Kind::kOptimizer;
    const bool optimizes = std::any_of(groups_.begin(), groups_.end(), [](const RankRows& rank) {
      return std::any_of(rank.parts.begin(), rank.parts.end(),
                         [](const auto& span) { return span.part.kind == kOptimizer; });
    });
    if (optimizes) {
      const SliceColour colour = shaded_colour(kind_of(kOptimizer), 0);
      add_key({.fill = colour.fill, .stroke = kInk, .stroke_width = 0.5}, "optimizer step");
    }
    if (shows_idle())
      add_key({.fill = kRule}, has_text() ? "idle, its share at the right" : "idle");
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
    for (const std::int64_t after : time_ticks(scale_ns_ - begin_ns_, 8)) {
      const std::int64_t ns = begin_ns_ + after;
      const double x = x_of(ns);
      scene_.add(Scene::Box{
          .x = x, .y = top_ - 8, .width = 1, .height = bottom_ - top_ + 12, .fill = kRule});
      if (hangs_ && x > end_x_ - 40) continue;  // the end of the run has a label there
      const std::string text = ns == 0 ? "0" : time_text(ns);
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
    if (!rank.parts.empty()) {
      add_parts(rank, y);
      y += row_;
    }
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
      if (shows_idle(*lane)) add_idle(*lane, y + (row_ - bar_) / 2);
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

  static WorkKind kind_of(models::RecordedPart::Kind kind) {
    switch (kind) {
      case models::RecordedPart::Kind::kForward:
        return WorkKind::kForward;
      case models::RecordedPart::Kind::kBackward:
        return WorkKind::kBackward;
      case models::RecordedPart::Kind::kOptimizer:
        break;
    }
    return WorkKind::kOverlapped;
  }

  // Returns "F3", "B3" or "step".
  static std::string part_label(const models::PartSpan& span) {
    const models::RecordedPart& part = span.part;
    if (part.kind == models::RecordedPart::Kind::kOptimizer) return "step";
    return fmt::format("{}{}", part.kind == models::RecordedPart::Kind::kForward ? 'F' : 'B',
                       part.number);
  }

  // Adds the row of a recorded rank that shows its forwards, backwards and optimizer steps.
  void add_parts(const RankRows& rank, double y) {
    if (has_text()) {
      scene_.add_fitted({left_ - 8, y + row_ / 2, kPartsName, kLabelSize, Scene::Anchor::kEnd},
                        name_width_ - 10);
    }
    for (const models::PartSpan& span : rank.parts) {
      if (span.begin_ns > end_ns_ || span.end_ns < begin_ns_) continue;
      const models::RecordedPart& part = span.part;
      const SliceColour colour = shaded_colour(kind_of(part.kind), 0);
      const double begin = x_of(span.begin_ns);
      const double end = span.done || !hangs_ ? x_of(span.end_ns) : end_x_;
      Scene::Box box{.x = begin,
                     .y = y + (row_ - bar_) / 2,
                     .width = std::max(end - begin, kThinnestSlice),
                     .height = bar_,
                     .fill = colour.fill,
                     .stroke = kInk,
                     .stroke_width = 0.5};
      box.ink = colour.ink;
      const std::string label = part_label(span);
      if (has_text()) box.label = fitted(label, kLabelSize, box.width - 3);
      if (box.label != label) box.label.clear();
      box.tip =
          fmt::format("{}{} of iteration {}: {} to {}", label,
                      part.at.empty() ? "" : fmt::format(" ({})", part.at), part.iteration + 1,
                      time_text(span.begin_ns), span.done ? time_text(span.end_ns) : "no end");
      if (box.width < 3) box.stroke.clear();
      scene_.add(std::move(box));
    }
  }

  // Adds the name of a rank. If rows are low, skips names that would overlap.
  void add_rank_name(const RankRows& rank, double y, bool missing) {
    constexpr double kMin = 13;  // minimum distance between names
    const double middle = y + row_ / 2;
    if (name_y_ > 0 && middle < name_y_ + kMin) return;
    name_y_ = middle;
    const std::string name = name_of(rank);
    const double width = (rank_width_ - 8) / 1.1;
    scene_.add_fitted({kTimelineMargin, middle, name, fitting_size(name, kLabelSize + 1, 8, width),
                       Scene::Anchor::kStart, true, missing ? kStrong : kInk},
                      width);
  }

  static bool computes(const Slice& slice) {
    return slice.kind <= WorkKind::kOverlapped && slice.work_ns < slice.end_ns;
  }

  // Whether the idle time of a lane is gray: the bubble of a schedule that completes.
  bool shows_idle(const Lane& lane) const {
    return graph_.pipeline && run_.explanation.verdict == sim::Verdict::kCompleted &&
           std::any_of(lane.slices.begin(), lane.slices.end(), computes);
  }

  bool shows_idle() const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const RankRows& rank) {
      return std::any_of(rank.lanes.begin(), rank.lanes.end(),
                         [&](const Lane* lane) { return shows_idle(*lane); });
    });
  }

  // Adds a gray background to a lane that computes, and the lane's idle share at the right.
  void add_idle(const Lane& lane, double y) {
    std::vector<models::Interval> busy;
    for (const Slice& slice : lane.slices) {
      if (computes(slice)) busy.push_back({slice.work_ns, slice.end_ns});
    }
    const double share = 100 - 100 * static_cast<double>(models::covered_ns(busy)) /
                                   static_cast<double>(timeline_.end_ns);
    scene_.add(Scene::Box{.x = left_,
                          .y = y,
                          .width = end_x_ - left_,
                          .height = bar_,
                          .fill = kRule,
                          .tip = fmt::format("idle {:.1f} %", share)});
    if (!has_text()) return;
    scene_.add(Scene::Text{style_.width - kTimelineMargin, y + bar_ / 2,
                           fmt::format("{:.1f} %", share), kLabelSize, Scene::Anchor::kEnd, false,
                           kGreyText});
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
    for (std::size_t i = 0; i < lane.slices.size(); ++i) {
      const Slice& slice = lane.slices[i];
      if (is_idle(run_, slice) || !is_in_view(slice)) continue;
      const std::size_t last = last_of_action(lane, i);
      if (last > i) {
        add_action(slice, lane.slices[last], y);
        drawn = x_of(lane.slices[last].end_ns);
        i = last;
        continue;
      }
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

  // Returns the action to which a slice belongs: "0F7" for "attention of 0F7". Returns an empty
  // string for a whole action, and for a slice without an action.
  std::string action_of(const Slice& slice) const {
    if (!graph_.pipeline || slice.kind > WorkKind::kOverlapped || !slice.done) return "";
    const std::string whole = label(slice.actor, slice.k);
    const std::size_t of = whole.rfind(" of ");
    return of == std::string::npos ? "" : whole.substr(of + 4);
  }

  // Returns the index of the last part of the action at `first`, if its parts from `first` on are
  // too narrow to see one by one; else returns `first`.
  std::size_t last_of_action(const Lane& lane, std::size_t first) const {
    constexpr double kNarrow = 6;
    const Slice& begin = lane.slices[first];
    const double width = x_of(begin.end_ns) - x_of(begin.begin_ns);
    if (width >= kNarrow) return first;
    const std::string action = action_of(begin);
    if (action.empty()) return first;
    std::size_t last = first;
    std::size_t parts = 1;
    for (std::size_t i = first + 1; i < lane.slices.size(); ++i) {
      const Slice& next = lane.slices[i];
      if (is_idle(run_, next)) continue;
      if (next.kind != begin.kind || action_of(next) != action) break;
      last = i;
      ++parts;
    }
    const double all = x_of(lane.slices[last].end_ns) - x_of(begin.begin_ns);
    return all < kNarrow * static_cast<double>(parts) ? last : first;
  }

  // Adds the parts of an action from `first` to `last` as one box.
  void add_action(const Slice& first, const Slice& last, double y) {
    const std::string name = action_of(first);
    const SliceColour colour = look_.colour(first);
    const double begin = x_of(first.begin_ns);
    Scene::Box box{.x = begin,
                   .y = y,
                   .width = std::max(x_of(last.end_ns) - begin, kThinnestSlice),
                   .height = bar_,
                   .fill = colour.fill,
                   .stroke = kInk,
                   .stroke_width = 0.5};
    box.ink = colour.ink;
    box.tip = fmt::format("{}: {} to {}", name, time_text(first.begin_ns), time_text(last.end_ns));
    const std::string number = name.substr(name.find_last_not_of("0123456789") + 1);
    constexpr double kSmallLabel = 8;
    for (const double size : {kSmallLabel, kLabelSize}) {
      if (!has_text() || text_width(number, size) > box.width - 2) continue;
      box.label = number;
      box.size = size;
    }
    if (box.width < 6 || bar_ < 8) box.stroke_width = 0.2;
    if (box.width < 3 || bar_ < 4) box.stroke.clear();
    scene_.add(std::move(box));
  }

  // Returns the right edge of a slice that never ends; a waiting slice extends to the right edge of
  // the picture.
  double still_end(const Slice& slice) const {
    return slice.work_ns == slice.end_ns && hangs_ ? right_ : end_x_;
  }

  std::string tip_of(const Slice& slice) const {
    std::string tip = fmt::format("{}{}: {}", label(slice.actor, slice.k), place(slice.actor),
                                  time_text(slice.begin_ns));
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

  // Returns descriptions of a wait, longest first.
  std::vector<std::string> wait_of(const Lane& lane, const Slice& slice) const {
    for (std::size_t i = 0; i < lane.stuck.size(); ++i) {
      const StuckOp& op = lane.stuck[i];
      if (op.actor == slice.actor && op.k == slice.k) return stuck_texts(lane, i);
    }
    return {label(slice.actor, slice.k) + (lane.is_thread ? " blocks the thread" : "")};
  }

  // Returns "send #1 to rank 1 waits for ..." or "recv #1 from rank 0: its host thread is ...".
  std::string plain_text(const StuckOp& op) const {
    const std::string text = wait_text(op.waits.front());
    return label(op.actor, op.k) + (text.starts_with("its ") ? ": " : " ") + text;
  }

  std::string stuck_text(const StuckOp& op) const { return plain_text(op) + place(op.actor); }

  // Returns descriptions of the `index`-th stuck op of a lane, longest first: with the op's line,
  // without the line, without the waiting op, with only the awaited op, without the group of a
  // recorded call, and with only the awaited rank. Each description stands for all ranks that share
  // the row.
  std::vector<std::string> stuck_texts(const Lane& lane, std::size_t index) const {
    std::vector<std::string> whole;
    std::vector<std::string> plain;
    std::vector<std::string> waits;
    std::vector<std::string> whom;
    std::vector<std::string> shorter;
    std::vector<std::string> ranks;
    const auto found = alike_.find(&lane);
    const std::vector<const Lane*> only = {&lane};
    for (const Lane* each : found == alike_.end() ? only : found->second) {
      const StuckOp& op = each->stuck[index];
      const models::Wait& wait = op.waits.front();
      whole.push_back(stuck_text(op));
      plain.push_back(plain_text(op));
      waits.push_back(wait_text(wait));
      whom.push_back("waits for " + phrase_of(wait.to));
      // `shorter` omits the group of a recorded call; `ranks` has only the rank.
      shorter.push_back(whom.back().substr(0, whom.back().find(" on ")));
      ranks.push_back(wait.to.kind == sim::WaitNodeKind::kOutside || wait.to.rank == each->rank
                          ? shorter.back()
                          : fmt::format("waits for rank {}", wait.to.rank));
    }
    return {merged_numbers(whole), merged_numbers(plain),   merged_numbers(waits),
            merged_numbers(whom),  merged_numbers(shorter), merged_numbers(ranks)};
  }

  // Adds a label on a white background in a hatched box. Centers the label between `middle` and the
  // right end of the box; a label that is too long is placed at the right end. Uses the longest
  // text that fits.
  void add_wait_label(const std::vector<std::string>& texts, const Scene::Box& box, double middle) {
    if (!has_text()) return;
    const double right = box.x + box.width;
    const std::string* chosen = nullptr;
    for (const std::string& text : texts) {
      if (chosen == nullptr && text_width(text, kLabelSize) <= box.width - 16) chosen = &text;
    }
    if (chosen == nullptr) chosen = &texts.back();
    const std::string cut = fitted(*chosen, kLabelSize, box.width - 16);
    if (cut.empty()) return;
    const double width = text_width(cut, kLabelSize) + 6;
    const double x = width <= right - middle - 8 ? (middle + right - width) / 2 : right - width - 5;
    wait_labels_.push_back({.x = x,
                            .y = box.y + 2,
                            .width = width,
                            .height = bar_ - 4,
                            .fill = "#ffffff",
                            .label = cut,
                            .ink = kInk,
                            .size = kLabelSize,
                            .tip = cut == texts.front() ? "" : texts.front()});
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
    std::vector<std::string> texts = stuck_texts(lane, 0);
    if (lane.stuck.size() > 1) {
      const std::string more = fmt::format(" (and {} more)", lane.stuck.size() - 1);
      texts.insert(texts.begin(), texts.front() + more);
      texts.insert(texts.begin() + 2, texts[2] + more);
    }
    add_still_label(texts, box);
  }

  // Adds the label of a stuck op, if possible to the right of the line that marks the end of the
  // run.
  void add_still_label(const std::vector<std::string>& texts, const Scene::Box& box) {
    add_wait_label(texts, box, hangs_ ? std::max(box.x, end_x_) : box.x);
  }

  void add_end() {
    if (!hangs_) return;
    scene_.add(Scene::Box{.x = end_x_ - 1,
                          .y = top_ - 16,
                          .width = 2,
                          .height = bottom_ - top_ + 22,
                          .fill = kStrong});
    std::string text = "no further progress";
    if (!graph_.recorded) text = rounded_time_text(timeline_.end_ns) + ": " + text;
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
  std::set<std::uint32_t> own_rows_;  // ranks on cycles, if few: each gets its own rows
  std::set<std::string> cyclic_;      // ops on cycles other than the first
  std::map<std::uint32_t, const models::Root*> missing_;  // ranks awaited in vain by others
  Scene scene_;
  std::vector<RankRows> groups_;
  std::map<const Lane*, std::vector<const Lane*>> alike_;  // lane of a row -> lanes that share it
  std::set<std::string> shown_streams_;
  bool is_compact_ = false;              // whether the page has other timelines
  std::vector<std::string> about_;       // lines below the title
  std::vector<Scene::Box> wait_labels_;  // drawn last, above the line at the end of the run
  std::size_t left_out_ = 0;             // number of rows left out
  bool hangs_ = false;                   // whether an op is stuck forever
  double row_ = kRow;
  double bar_ = 0;  // height of the bar in a row
  double gap_ = kRankGap;
  double name_y_ = 0;  // position of the last rank name
  double top_ = 108;
  double bottom_ = 0;
  double left_ = 0;
  double right_ = 0;
  double end_x_ = 0;           // position of the end of the run
  std::int64_t scale_ns_ = 0;  // end of the scale, and its position
  double scale_x_ = 0;
  double rank_width_ = 0;
  double name_width_ = 0;
};

}  // namespace

Scene draw_timeline(const models::TaskGraph& graph, const models::Simulation& run,
                    const models::Timeline& timeline, const TimelineStyle& style) {
  return draw_timelines({{&graph, &run, &timeline, style.model}}, style);
}

Scene draw_timelines(const std::vector<TimelineRun>& runs, const TimelineStyle& style) {
  TimelineStyle own = style;
  own.width /= style.font_scale;
  std::vector<std::unique_ptr<TimelinePicture>> pictures;
  double left = 0;
  double right = own.width;
  std::int64_t end_ns = 0;
  bool hangs = false;
  for (const TimelineRun& of : runs) {
    own.model = of.model;
    auto& picture = *pictures.emplace_back(
        std::make_unique<TimelinePicture>(*of.graph, *of.run, *of.timeline, own));
    picture.measure(runs.size());
    left = std::max(left, picture.left());
    right = std::min(right, picture.right());
    end_ns = std::max(end_ns, picture.end_ns());
    hangs = hangs || picture.hangs();
  }
  if (pictures.size() == 1) return pictures.front()->draw();
  Scene all(own.width, 0, style.title.empty() ? "Several runs on one scale" : style.title);
  all.set_height(all.add_head({}) - 10);
  for (auto& picture : pictures) {
    picture->share_scale(left, right, end_ns, hangs);
    all.add_below(picture->draw());
  }
  return all;
}

}  // namespace pipesim::viz
