#include "viz/draw/draw_memory.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "viz/draw/axis.hpp"
#include "viz/draw/palette.hpp"
#include "viz/words.hpp"

namespace pipesim::viz {
namespace {

using models::MemoryStep;

// All in pixels.
constexpr double kWidth = 1080;
constexpr double kMargin = 16;
constexpr double kLeft = 190;
constexpr double kPanel = 64;
constexpr double kGap = 16;
constexpr double kTop = 84;
constexpr double kThinnest = 0.5;  // narrower steps are put together

struct Panel {
  std::vector<std::uint32_t> ranks;
  const std::vector<MemoryStep>* steps = nullptr;
};

class MemoryPicture {
 public:
  MemoryPicture(const models::TaskGraph& graph, const models::Simulation& run,
                const models::MemoryUse& use)
      : graph_(graph), run_(run), use_(use), scene_(0, 0, "") {}

  Scene run(const models::RankSet& ranks, bool fold) {
    group(ranks, fold);
    if (most_ == 0) {
      throw DrawingError(
          models::Code::kNothingToDo,
          "this scenario has no memory to draw: no registers with data, and no sizes");
    }
    if (panels_.size() > kMaxPanels) {
      throw DrawingError(
          models::Code::kPictureSize,
          fmt::format(
              "{} ranks differ, and a picture can have at most {}: choose some, as in --ranks 0..3",
              panels_.size(), kMaxPanels));
    }
    const double height = kTop + (kPanel + kGap) * static_cast<double>(panels_.size()) + 24;
    scene_ = Scene(kWidth, height, headline(graph_, run_.explanation));
    add_head();
    double y = kTop;
    for (const Panel& panel : panels_) {
      add_panel(panel, y);
      y += kPanel + kGap;
    }
    add_axis(y);
    return std::move(scene_);
  }

 private:
  void group(const models::RankSet& ranks, bool fold) {
    end_ns_ = std::max<std::int64_t>(1, run_.outcome.last_progress.ns);
    for (const std::uint32_t rank : ranks) {
      const std::vector<MemoryStep>& steps = use_.ranks[rank];
      const auto same = std::find_if(panels_.begin(), panels_.end(), [&](const Panel& panel) {
        return fold && *panel.steps == steps;
      });
      if (same != panels_.end()) {
        same->ranks.push_back(rank);
      } else {
        panels_.push_back({{rank}, &steps});
      }
      for (const MemoryStep& step : steps) most_ = std::max(most_, step.used);
    }
  }

  std::string amount(std::int64_t used) const {
    if (use_.in_bytes) return bytes_text(used);
    return counted(static_cast<std::uint64_t>(used), "slot");
  }

  double x_of(std::int64_t ns) const {
    const double share = static_cast<double>(std::min(ns, end_ns_)) / static_cast<double>(end_ns_);
    return kLeft + (kWidth - kMargin - kLeft) * share;
  }

  void text(double x, double y, std::string value, double size, Scene::Anchor anchor, bool bold) {
    scene_.add(Scene::Text{x, y, std::move(value), size, anchor, bold, kInk});
  }

  void add_head() {
    text(kMargin, 24, headline(graph_, run_.explanation), 17, Scene::Anchor::kStart, true);
    text(kMargin, 46,
         use_.in_bytes ? "Memory in use on each rank over time, all to one scale."
                       : "Slots of registers in use on each rank over time (nothing says how large "
                         "they are), all to one scale.",
         12, Scene::Anchor::kStart, false);
  }

  void add_panel(const Panel& panel, double y) {
    const auto peak =
        std::max_element(panel.steps->begin(), panel.steps->end(),
                         [](const MemoryStep& a, const MemoryStep& b) { return a.used < b.used; });
    const std::string name = panel.ranks.size() == 1
                                 ? fmt::format("rank {}", panel.ranks.front())
                                 : fmt::format("ranks {}", short_ranges(panel.ranks));
    text(kMargin, y + 12, fitted(name, 12, kLeft - kMargin - 8), 12, Scene::Anchor::kStart, true);
    text(kMargin, y + 30, fmt::format("peak {}", amount(peak->used)), 11, Scene::Anchor::kStart,
         false);
    text(kMargin, y + 46, fmt::format("at {}", time_text(peak->time_ns)), 11, Scene::Anchor::kStart,
         false);
    scene_.add(Scene::Box{.x = kLeft,
                          .y = y,
                          .width = kWidth - kMargin - kLeft,
                          .height = kPanel,
                          .fill = "#f4f6f9"});
    add_steps(*panel.steps, y);
    scene_.add(Scene::Box{.x = kLeft,
                          .y = y + kPanel,
                          .width = kWidth - kMargin - kLeft,
                          .height = 1,
                          .fill = kGrey});
    const double peak_height = height_of(peak->used);
    scene_.add(Scene::Box{.x = kLeft,
                          .y = y + kPanel - peak_height,
                          .width = kWidth - kMargin - kLeft,
                          .height = 1,
                          .fill = kStrong});
  }

  double height_of(std::int64_t used) const {
    return kPanel * static_cast<double>(used) / static_cast<double>(most_);
  }

  // Of steps narrower than can be seen the highest is drawn.
  void add_steps(const std::vector<MemoryStep>& steps, double y) {
    double begin = x_of(0);
    std::int64_t highest = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      highest = std::max(highest, steps[i].used);
      const bool last = i + 1 == steps.size();
      const double end = last ? x_of(end_ns_) : x_of(steps[i + 1].time_ns);
      // A step back to the same height at the same moment is none.
      const bool same = !last && highest == steps[i].used && steps[i + 1].used == steps[i].used;
      if ((end - begin < kThinnest || same) && !last) continue;
      const double height = height_of(highest);
      if (highest > 0 && end > begin) {
        scene_.add(Scene::Box{
            .x = begin,
            .y = y + kPanel - height,
            .width = end - begin,
            .height = height,
            .fill = "#5aa9dd",
            .tip = fmt::format("{}: {}", time_text(steps[i].time_ns), amount(steps[i].used))});
      }
      begin = end;
      highest = 0;
    }
  }

  void add_axis(double y) {
    for (const std::int64_t ns : time_ticks(end_ns_, 8)) {
      scene_.add(Scene::Box{.x = x_of(ns), .y = y - kGap, .width = 1, .height = 5, .fill = kGrey});
      scene_.add(Scene::Text{x_of(ns), y, time_text(ns), 10,
                             ns == 0 ? Scene::Anchor::kStart : Scene::Anchor::kMiddle, false,
                             kGreyText});
    }
  }

  const models::TaskGraph& graph_;
  const models::Simulation& run_;
  const models::MemoryUse& use_;
  Scene scene_;
  std::vector<Panel> panels_;
  std::int64_t end_ns_ = 1;
  std::int64_t most_ = 0;
};

}  // namespace

Scene draw_memory(const models::TaskGraph& graph, const models::Simulation& run,
                  const models::MemoryUse& use, const models::RankSet& ranks, bool fold) {
  return MemoryPicture(graph, run, use).run(ranks, fold);
}

}  // namespace pipesim::viz
