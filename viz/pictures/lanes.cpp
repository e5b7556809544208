#include "viz/pictures/lanes.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "viz/pictures/palette.hpp"
#include "viz/report/text_width.hpp"

namespace pipesim::viz {
namespace {

// Sizes, in pixels.
constexpr double kLaneMargin = 16;
constexpr double kLanesWidth = 1400;
constexpr double kStepGap = 6;
constexpr double kFrame = 16;  // height of a frame's label, above the steps of a loop
constexpr double kStepLine = 12.5;
constexpr double kMinStep = 30;
constexpr double kMaxStep = 150;
constexpr double kNameSize = 11;
constexpr double kDetailSize = 9;
constexpr std::size_t kMaxPeriod = 512;  // maximum number of steps in a detected loop

std::size_t depth_of(const std::vector<LaneStep>& steps) {
  std::size_t depth = 0;
  for (const LaneStep& step : steps) {
    if (!step.parts.empty()) depth = std::max(depth, 1 + depth_of(step.parts));
  }
  return depth;
}

std::size_t lines_of(const std::vector<LaneStep>& steps) {
  std::size_t lines = 1;
  for (const LaneStep& step : steps) {
    lines = std::max({lines, step.lines.size(), lines_of(step.parts)});
  }
  return lines;
}

class LanesPicture {
 public:
  explicit LanesPicture(const TaskLanes& lanes)
      : lanes_(lanes), scene_(kLanesWidth, 0, lanes.title) {}

  Scene run(bool all) {
    y_ = scene_.add_head(lanes_.about);
    add_legend();
    for (const TaskLane& lane : lanes_.lanes) add_lane(lane);
    if (y_ > kPageHeight && !all) {
      throw DrawingError(
          models::Code::kPictureSize,
          "what differs between these ranks takes more than a page: choose fewer ranks, as in "
          "--ranks 0, or draw it however long it is with --all");
    }
    scene_.set_height(y_ + 6);
    return std::move(scene_);
  }

 private:
  void text(double x, double y, std::string value, double size, bool bold, const char* ink) {
    scene_.add(Scene::Text{x, y, std::move(value), size, Scene::Anchor::kStart, bold, ink});
  }

  void collect(const std::vector<LaneStep>& steps) {
    for (const LaneStep& step : steps) {
      collect(step.parts);
      if (!step.parts.empty()) continue;
      if (!step.missing) used_[static_cast<std::size_t>(step.kind)] = true;
      differs_ = differs_ || step.differs;
      missing_ = missing_ || step.missing;
    }
  }

  void add_legend() {
    for (const TaskLane& lane : lanes_.lanes) collect(lane.steps);
    double x = kLaneMargin;
    for (std::size_t kind = 0; kind < used_.size(); ++kind) {
      if (!used_[kind]) continue;
      const KindStyle& style = kKindStyles[kind];
      x = scene_.add_key(x, y_, {.fill = style.fill, .stroke = kInk, .stroke_width = 0.5},
                         style.name);
    }
    if (differs_) {
      x = scene_.add_key(x, y_, {.fill = kPaper, .stroke = kStrong, .stroke_width = 2},
                         "not in the lane that it is compared with");
    }
    if (missing_) {
      add_dashes(x, y_, 16, 12);
      text(x + 21, y_ + 6, "missing: only the lane that it is compared with has it", kNameSize,
           false, kInk);
    }
    y_ += 28;
  }

  void add_lane(const TaskLane& lane) {
    if (!lane.name.empty()) {
      y_ += 8;
      text(kLaneMargin, y_ + 8, lane.name, 13, true, kInk);
    }
    const double after = lane.name.empty() ? 0 : text_width(lane.name, 13) * 1.15 + 14;
    text(kLaneMargin + after, y_ + 8,
         fitted(lane.note, kNameSize, kLanesWidth - 2 * kLaneMargin - after), kNameSize, false,
         kGreyText);
    y_ += 20;
    frames_ = static_cast<double>(depth_of(lane.steps)) * kFrame;
    step_height_ = 8 + kStepLine * static_cast<double>(lines_of(lane.steps));
    line_height_ = frames_ + step_height_ + 10;
    x_ = kLaneMargin;
    const double top = y_;
    Scene::Box& panel = scene_.add(Scene::Box{.x = kLaneMargin - 6,
                                              .y = top - 2,
                                              .width = kLanesWidth - 2 * kLaneMargin + 12,
                                              .fill = kPanel});
    add_steps(lane.steps, 0);
    y_ += line_height_;
    panel.height = y_ - top;
    y_ += 4;
  }

  void add_steps(const std::vector<LaneStep>& steps, std::size_t depth) {
    for (const LaneStep& step : steps) {
      if (step.parts.empty()) {
        add_step(step, depth);
      } else {
        add_loop(step, depth);
      }
    }
  }

  // Wraps to the next line if `width` does not fit. Returns whether the line was wrapped.
  bool make_space(double width) {
    if (x_ <= kLaneMargin || x_ + width <= kLanesWidth - kLaneMargin) return false;
    x_ = kLaneMargin;
    y_ += line_height_;
    return true;
  }

  static double width_of(const LaneStep& step) {
    double width = 0;
    for (std::size_t i = 0; i < step.lines.size(); ++i) {
      width = std::max(width, text_width(step.lines[i], i == 0 ? kNameSize : kDetailSize) + 10);
    }
    return std::clamp(width, kMinStep, kMaxStep);
  }

  static double width_of(const std::vector<LaneStep>& steps) {
    double width = 0;
    for (const LaneStep& step : steps) {
      width +=
          (step.parts.empty() ? width_of(step) : width_of(step.parts) + 2 * kStepGap) + kStepGap;
    }
    return width;
  }

  // Adds the dashed outline of a missing step.
  void add_dashes(double x, double y, double width, double height) {
    scene_.add(Scene::Path{
        .points = {{x, y}, {x + width, y}, {x + width, y + height}, {x, y + height}, {x, y}},
        .stroke = kStrong,
        .stroke_width = 2,
        .dashed = true});
  }

  void add_missing_step(const LaneStep& step, double width, double top) {
    add_dashes(x_, top, width, step_height_);
    double y = top + 11;
    for (std::size_t i = 0; i < step.lines.size(); ++i) {
      const double size =
          fitting_size(step.lines[i], i == 0 ? kNameSize : kDetailSize, 8, width - 6);
      scene_.add(Scene::Text{x_ + width / 2, y, fitted(step.lines[i], size, width - 6), size,
                             Scene::Anchor::kMiddle, false, kStrong, step.tip});
      y += kStepLine;
    }
    x_ += width + kStepGap;
  }

  void add_step(const LaneStep& step, std::size_t depth) {
    const double width = width_of(step);
    make_space(width + kStepGap * static_cast<double>(depth));
    const KindStyle& style = style_of(step.kind);
    const double top = y_ + frames_;
    if (step.missing) {
      add_missing_step(step, width, top);
      return;
    }
    scene_.add(Scene::Box{.x = x_,
                          .y = top,
                          .width = width,
                          .height = step_height_,
                          .fill = style.fill,
                          .stroke = step.differs ? kStrong : kInk,
                          .stroke_width = step.differs ? 2.5 : 0.5,
                          .tip = step.tip});
    double y = top + 11;
    for (std::size_t i = 0; i < step.lines.size(); ++i) {
      const double size =
          fitting_size(step.lines[i], i == 0 ? kNameSize : kDetailSize, 8, width - 6);
      scene_.add(Scene::Box{.x = x_ + 2,
                            .y = y - kStepLine / 2,
                            .width = width - 4,
                            .height = kStepLine,
                            .fill = style.fill,
                            .label = fitted(step.lines[i], size, width - 6),
                            .ink = style.text,
                            .size = size});
      y += kStepLine;
    }
    x_ += width + kStepGap;
  }

  // Adds a frame around the steps of a loop, labeled with the number of iterations. A loop over
  // several lines has a frame on each line.
  void add_loop(const LaneStep& loop, std::size_t depth) {
    const double whole = width_of(loop.parts) + kStepGap;
    if (whole <= kLanesWidth - 2 * kLaneMargin) make_space(whole);
    x_ += kStepGap;
    double begin = x_ - kStepGap + 1;
    double line = y_;
    const auto close = [&](double end) {
      const double top = line + frames_ - kFrame * static_cast<double>(depth_of(loop.parts) + 1);
      scene_.add(Scene::Box{
          .x = begin,
          .y = top + 2,
          .width = end - begin,
          .height = line + frames_ + step_height_ + 4 - top - 2 - 2 * static_cast<double>(depth),
          .stroke = kGreyText,
          .stroke_width = 1.2});
      text(begin + 4, top + 9, fmt::format("x {}", loop.times), kNameSize - 0.5, true, kInk);
    };
    for (const LaneStep& step : loop.parts) {
      const double before = x_;
      const double at = y_;
      if (step.parts.empty()) {
        add_step(step, depth + 1);
      } else {
        add_loop(step, depth + 1);
      }
      if (y_ == at) continue;
      close(before - 1);
      line = y_;
      begin = kLaneMargin - 5;
    }
    close(x_ - 1);
    x_ += kStepGap - 1;
  }

  const TaskLanes& lanes_;
  Scene scene_;
  std::array<bool, models::kWorkKindCount> used_{};
  bool differs_ = false;  // whether a step is marked, or missing
  bool missing_ = false;
  double x_ = 0;
  double y_ = 0;
  double frames_ = 0;  // height of the frames above the steps of a line
  double step_height_ = 0;
  double line_height_ = 0;
};

std::vector<Repeat> repeats_in(const std::vector<std::uint32_t>& tokens, std::size_t begin,
                               std::size_t end) {
  std::vector<Repeat> found;
  for (std::size_t i = begin; i < end;) {
    std::size_t best = 0;  // number of tokens that the best loop covers
    std::size_t length = 0;
    for (std::size_t period = 1; period <= kMaxPeriod && i + 2 * period <= end; ++period) {
      std::size_t same = 0;
      while (i + period + same < end && tokens[i + same] == tokens[i + period + same]) ++same;
      const std::size_t covered = (same / period + 1) * period;
      if (covered < 2 * period || covered <= best) continue;
      best = covered;
      length = period;
    }
    if (best == 0) {
      found.push_back({i, 1, 1, {}});
      ++i;
    } else {
      found.push_back({i, best / length, length, repeats_in(tokens, i, i + length)});
      i += best;
    }
  }
  return found;
}

std::vector<LaneStep> arranged(const std::vector<Repeat>& repeats,
                               const std::vector<std::size_t>& offsets, const StepOfToken& step) {
  std::vector<LaneStep> steps;
  for (const Repeat& repeat : repeats) {
    if (repeat.parts.empty()) {
      steps.push_back(step(repeat.first, offsets));
      continue;
    }
    std::vector<std::size_t> inner;
    for (const std::size_t offset : offsets) {
      for (std::uint64_t k = 0; k < repeat.times; ++k) inner.push_back(offset + k * repeat.period);
    }
    LaneStep loop;
    loop.times = repeat.times;
    loop.parts = arranged(repeat.parts, inner, step);
    steps.push_back(std::move(loop));
  }
  return steps;
}

}  // namespace

Scene draw_lanes(const TaskLanes& lanes, bool all) { return LanesPicture(lanes).run(all); }

std::vector<Repeat> find_repeats(const std::vector<std::uint32_t>& tokens) {
  return repeats_in(tokens, 0, tokens.size());
}

std::vector<LaneStep> find_loops(const std::vector<std::uint32_t>& tokens,
                                 const StepOfToken& step) {
  return arranged(find_repeats(tokens), {0}, step);
}

}  // namespace pipesim::viz
