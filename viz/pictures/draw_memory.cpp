#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/lowering/rank_classes.hpp"
#include "viz/pictures/axis.hpp"
#include "viz/pictures/palette.hpp"
#include "viz/pictures/pictures.hpp"
#include "viz/report/rounded_time.hpp"
#include "viz/report/text_width.hpp"
#include "viz/report/words.hpp"

namespace pipesim::viz {
namespace {

using models::MemoryStep;

// Sizes, in pixels.
constexpr double kWidth = 1080;
constexpr double kMargin = 16;
constexpr double kLeft = 230;
constexpr double kMemoryPanel = 64;
constexpr double kGap = 18;
constexpr double kTop = 96;
constexpr double kThinnest = 0.5;              // narrower steps are merged
constexpr std::size_t kMaxPanelsShown = 24;    // maximum number of panels in a folded picture
constexpr const char* kHeldFill = "#8696ab";   // permanent memory
constexpr const char* kInUseFill = "#5aa9dd";  // temporary memory

/// Ranks that share a panel.
struct Panel {
  models::RankSet ranks;
  std::int64_t peak = 0;
  std::int64_t peak_ns = 0;
};

class MemoryPicture {
 public:
  MemoryPicture(const models::TaskGraph& graph, const models::Simulation& run,
                const models::MemoryUse& use)
      : graph_(graph), run_(run), use_(use), scene_(0, 0, "") {}

  Scene run(const models::RankSet& ranks, bool fold, std::optional<std::int64_t> limit) {
    limit_ = limit;
    group(ranks, fold);
    if (most_ == 0) {
      throw DrawingError(
          models::Code::kNothingToDo,
          "this scenario has no memory to draw: no registers with data, and no sizes");
    }
    if (limit_) most_ = std::max(most_, *limit_);
    if (fold) choose_some();
    if (panels_.size() > kMaxPanels) {
      throw DrawingError(models::Code::kPictureSize,
                         fmt::format("{} ranks are too many for one picture (at most {}): choose "
                                     "some, as in --ranks 0..3, or leave out --all",
                                     panels_.size(), kMaxPanels));
    }
    const double height = kTop + (kMemoryPanel + kGap) * static_cast<double>(panels_.size()) + 24;
    scene_ = Scene(kWidth, height, headline(graph_, run_.explanation));
    add_head();
    double y = kTop;
    for (const Panel& panel : panels_) {
      add_panel(panel, y);
      y += kMemoryPanel + kGap;
    }
    add_axis(y);
    return std::move(scene_);
  }

 private:
  void group(const models::RankSet& ranks, bool fold) {
    end_ns_ = std::max<std::int64_t>(1, run_.outcome.last_progress.ns);
    const std::vector<models::RankSet> classes =
        models::ranks_by_key(ranks, [&](std::uint32_t rank) {
          return std::tuple(fold ? 0 : rank, use_.held[rank], use_.ranks[rank]);
        });
    for (const models::RankSet& of : classes) {
      Panel panel{of};
      for (const MemoryStep& step : use_.ranks[of[0]]) {
        if (step.used <= panel.peak) continue;
        panel.peak = step.used;
        panel.peak_ns = step.time_ns;
      }
      most_ = std::max(most_, panel.peak);
      held_ = held_ || use_.held[of[0]] > 0;
      panels_.push_back(std::move(panel));
    }
  }

  // Chooses an even sample of panels if there are too many; the panel with the highest peak is
  // always among them.
  void choose_some() {
    class_count_ = panels_.size();
    if (class_count_ <= kMaxPanelsShown) return;
    const auto highest =
        std::max_element(panels_.begin(), panels_.end(),
                         [](const Panel& a, const Panel& b) { return a.peak < b.peak; });
    const auto peak_at = static_cast<std::size_t>(highest - panels_.begin());
    std::vector<Panel> some;
    for (std::size_t i = 0; i < kMaxPanelsShown; ++i) {
      std::size_t at = i * (class_count_ - 1) / (kMaxPanelsShown - 1);
      const std::size_t next = (i + 1) * (class_count_ - 1) / (kMaxPanelsShown - 1);
      if (at <= peak_at && peak_at < next) at = peak_at;
      some.push_back(panels_[at]);
    }
    panels_ = std::move(some);
  }

  std::string amount(std::int64_t used) const {
    if (use_.in_bytes) return bytes_text(used);
    return counted(static_cast<std::uint64_t>(used), "slot");
  }

  double x_of(std::int64_t ns) const {
    const double share = static_cast<double>(std::min(ns, end_ns_)) / static_cast<double>(end_ns_);
    return kLeft + (kWidth - kMargin - kLeft) * share;
  }

  double height_of(std::int64_t used) const {
    return kMemoryPanel * static_cast<double>(used) / static_cast<double>(most_);
  }

  void text(double x, double y, std::string value, double size, Scene::Anchor anchor, bool bold,
            const char* ink = kInk) {
    scene_.add(Scene::Text{x, y, std::move(value), size, anchor, bold, ink});
  }

  void add_head() {
    std::string about =
        use_.in_bytes ? "Memory in use on each rank over time, all to one scale."
                      : "Slots of registers in use on each rank over time (nothing says how large "
                        "they are), all to one scale.";
    if (class_count_ > panels_.size()) {
      about += fmt::format(
          " {} of {} classes of ranks, evenly chosen, with the highest peak (--all "
          "shows all).",
          panels_.size(), class_count_);
    }
    scene_.add_head({about});
    double x = kMargin;
    const auto key = [&](const char* fill, const std::string& name) {
      x = scene_.add_key(x, 62, {.fill = fill}, name);
    };
    if (held_) key(kHeldFill, "all the time (weights, optimizer state)");
    key(kInUseFill, use_.in_bytes ? "activations and buffers" : "slots in use");
    if (limit_) key(kStrong, "limit " + amount(*limit_));
  }

  // Returns the values of the grid lines, as round numbers of a unit.
  std::vector<std::int64_t> levels() const {
    std::int64_t unit = 1;
    while (use_.in_bytes && most_ / 1024 >= unit) unit *= 1024;
    const auto step = unit * static_cast<std::int64_t>(round_step(
                                 static_cast<double>(most_) / static_cast<double>(unit), 3));
    std::vector<std::int64_t> result;
    for (std::int64_t level = 0; level <= most_; level += step) result.push_back(level);
    return result;
  }

  void add_panel(const Panel& panel, double y) {
    const double right = kWidth - kMargin;
    const double base = y + kMemoryPanel;
    text(kMargin, y + 12, fitted(class_name(panel.ranks), 12, kLeft - kMargin - 60), 12,
         Scene::Anchor::kStart, true);
    text(kMargin, y + 30, fmt::format("peak {}", amount(panel.peak)), 11, Scene::Anchor::kStart,
         false);
    text(kMargin, y + 46, fmt::format("at {}", rounded_time_text(panel.peak_ns)), 11,
         Scene::Anchor::kStart, false);
    if (limit_ && panel.peak > *limit_) {
      text(kMargin, y + 61, amount(panel.peak - *limit_) + " too much", 11, Scene::Anchor::kStart,
           true, kStrong);
    }
    scene_.add(Scene::Box{
        .x = kLeft, .y = y, .width = right - kLeft, .height = kMemoryPanel, .fill = kPanel});
    for (const std::int64_t level : levels()) {
      const double at = base - height_of(level);
      scene_.add(
          Scene::Box{.x = kLeft, .y = at, .width = right - kLeft, .height = 0.8, .fill = kRule});
      text(kLeft - 6, at, use_.in_bytes ? bytes_text(level) : std::to_string(level), 9,
           Scene::Anchor::kEnd, false, kGreyText);
    }
    const std::uint32_t rank = panel.ranks[0];
    const std::int64_t held = use_.held[rank];
    add_use(use_.ranks[rank], base, panel);
    if (held > 0) {
      scene_.add(Scene::Box{.x = kLeft,
                            .y = base - height_of(held),
                            .width = right - kLeft,
                            .height = height_of(held),
                            .fill = kHeldFill,
                            .tip = amount(held) + " all the time"});
    }
    scene_.add(
        Scene::Box{.x = kLeft, .y = base, .width = right - kLeft, .height = 1, .fill = kGrey});
    if (!limit_) return;
    scene_.add(Scene::Box{.x = kLeft,
                          .y = base - height_of(*limit_) - 0.75,
                          .width = right - kLeft,
                          .height = 1.5,
                          .fill = kStrong});
  }

  // Adds the temporary memory as one shape. Among steps too narrow to see, draws only the highest.
  void add_use(const std::vector<MemoryStep>& steps, double base, const Panel& panel) {
    Scene::Path path{.points = {{kLeft, base}}, .fill = kInUseFill};
    path.tip = fmt::format("{}: peak {} at {}", class_name(panel.ranks), amount(panel.peak),
                           time_text(panel.peak_ns));
    double begin = x_of(0);
    std::int64_t highest = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      highest = std::max(highest, steps[i].used);
      const bool last = i + 1 == steps.size();
      const double end = last ? x_of(end_ns_) : x_of(steps[i + 1].time_ns);
      if (end - begin < kThinnest && !last) continue;
      const double top = base - height_of(highest);
      if (path.points.back().y != top) {
        path.points.push_back({begin, top});
      } else {
        path.points.pop_back();  // extends the previous step, which has the same height
      }
      path.points.push_back({end, top});
      begin = end;
      highest = 0;
    }
    path.points.push_back({begin, base});
    scene_.add(std::move(path));
  }

  void add_axis(double y) {
    for (const std::int64_t ns : time_ticks(end_ns_, 8)) {
      scene_.add(Scene::Box{.x = x_of(ns), .y = y - kGap, .width = 1, .height = 5, .fill = kGrey});
      scene_.add(Scene::Text{x_of(ns), y, ns == 0 ? "0" : time_text(ns), 10,
                             ns == 0 ? Scene::Anchor::kStart : Scene::Anchor::kMiddle, false,
                             kGreyText});
    }
  }

  const models::TaskGraph& graph_;
  const models::Simulation& run_;
  const models::MemoryUse& use_;
  Scene scene_;
  std::vector<Panel> panels_;
  std::size_t class_count_ = 0;  // number of panels before sampling; 0: all are drawn
  std::optional<std::int64_t> limit_;
  bool held_ = false;
  std::int64_t end_ns_ = 1;
  std::int64_t most_ = 0;
};

}  // namespace

Scene draw_memory(const models::TaskGraph& graph, const models::Simulation& run,
                  const models::MemoryUse& use, const models::RankSet& ranks, bool fold,
                  std::optional<std::int64_t> limit) {
  return MemoryPicture(graph, run, use).run(ranks, fold, limit);
}

}  // namespace pipesim::viz
