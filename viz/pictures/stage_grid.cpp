#include "viz/pictures/stage_grid.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "viz/pictures/palette.hpp"
#include "viz/report/text_width.hpp"

namespace pipesim::viz {
namespace {

// Sizes, in pixels.
constexpr double kGridMargin = 72;  // includes space for arrows to other lines
constexpr double kMinCell = 140;
constexpr double kMaxCell = 200;
constexpr double kBetween = 76;   // space between columns
constexpr double kCellLine = 15;  // height of a text line in a cell
constexpr double kName = 20;      // height of a column's name
constexpr double kText = 10.5;
constexpr double kMinText = 9;  // below, a longer text gets another line or is cut
constexpr double kLabel = 10;
constexpr double kRowGap = 18;
constexpr double kElbow = 34;  // space between rows for an arrow

class GridPicture {
 public:
  explicit GridPicture(StageGrid grid) : grid_(std::move(grid)), scene_(0, 0, "") {}

  Scene run() {
    measure();
    scene_ = Scene(width_, height_, grid_.title);
    add_head();
    for (std::size_t column = 0; column < grid_.columns.size(); ++column) add_column(column);
    // Adds straight arrows last, so that other arrows do not cover their labels.
    for (const bool straight : {false, true}) {
      for (const StageFlow& flow : grid_.flows) {
        if ((flow.from.second == flow.to.second) == straight) add_flow(flow);
      }
    }
    return std::move(scene_);
  }

 private:
  using Place = std::pair<std::size_t, std::size_t>;

  void measure() {
    const std::size_t beside = std::min(grid_.columns.size(), kStageColumns);
    const double columns = static_cast<double>(beside);
    const double space = (kPageWidth - 2 * kGridMargin - (columns - 1) * kBetween) / columns;
    cell_width_ = std::clamp(space, kMinCell, kMaxCell);
    std::size_t lines = 0;
    for (StageColumn& column : grid_.columns) {
      rows_ = std::max(rows_, column.cells.size());
      for (StageCell& cell : column.cells) {
        break_lines(cell);
        lines = std::max(lines, cell.lines.size());
      }
    }
    cell_height_ = 30 + kCellLine * static_cast<double>(lines);
    for (const StageFlow& flow : grid_.flows) {
      if (is_elbow(flow) || is_vertical(flow)) row_gap_ = kElbow;
    }
    const bool named = std::any_of(grid_.columns.begin(), grid_.columns.end(),
                                   [](const StageColumn& column) { return !column.name.empty(); });
    name_height_ = named ? kName : 0;
    width_ = 2 * kGridMargin + columns * cell_width_ + (columns - 1) * kBetween;
    double widest = text_width(grid_.title, 17) * 1.15;
    for (const std::string& line : grid_.about) widest = std::max(widest, text_width(line, 12));
    const double legend = text_width(grid_.forward + grid_.back, 11) + 140;
    width_ = std::min(std::max(width_, std::max(widest, legend) + 32), kPageWidth);
    top_ =
        40 + 18 * static_cast<double>(grid_.about.size()) + (grid_.forward.empty() ? 0 : 22) + 12;
    line_height_ = name_height_ + static_cast<double>(rows_) * (cell_height_ + row_gap_) + 12;
    const std::size_t line_count = (grid_.columns.size() + kStageColumns - 1) / kStageColumns;
    height_ = top_ + line_height_ * static_cast<double>(line_count) + kRowGap - row_gap_;
  }

  // Breaks lines that are too long for the cell, even in the smallest type, after a colon or before
  // a parenthesis.
  void break_lines(StageCell& cell) const {
    std::vector<std::string> lines;
    for (const std::string& line : cell.lines) {
      const std::size_t colon = line.find(": ");
      const std::size_t end = colon == std::string::npos ? line.find(" (") : colon + 1;
      if (end == std::string::npos || text_width(line, kMinText) <= text_space()) {
        lines.push_back(line);
        continue;
      }
      lines.push_back(line.substr(0, end));
      lines.push_back(line.substr(end + 1));
    }
    cell.lines = std::move(lines);
  }

  double text_space() const { return cell_width_ - 12; }

  static std::size_t line_of(const Place& place) { return place.first / kStageColumns; }

  // Whether the two columns of an arrow are adjacent on one line.
  static bool is_beside(const StageFlow& flow) {
    const std::size_t low = std::min(flow.from.first, flow.to.first);
    const std::size_t high = std::max(flow.from.first, flow.to.first);
    return high - low == 1 && line_of(flow.from) == line_of(flow.to);
  }

  static bool is_vertical(const StageFlow& flow) {
    return flow.from.first == flow.to.first && flow.from.second != flow.to.second;
  }

  // Whether the arrow leads from the end of a row to the start of the next, or back.
  bool is_elbow(const StageFlow& flow) const {
    const Place& upper =
        std::min(flow.from.second, flow.to.second) == flow.from.second ? flow.from : flow.to;
    const Place& lower = upper == flow.from ? flow.to : flow.from;
    return grid_.columns.size() <= kStageColumns && grid_.columns.size() > 2 &&
           lower.second == upper.second + 1 && lower.first == 0 &&
           upper.first + 1 == grid_.columns.size();
  }

  double left_of(const Place& place) const {
    return kGridMargin +
           static_cast<double>(place.first % kStageColumns) * (cell_width_ + kBetween);
  }

  double top_of(const Place& place) const {
    return top_ + static_cast<double>(line_of(place)) * line_height_ + name_height_ +
           static_cast<double>(place.second) * (cell_height_ + row_gap_);
  }

  double middle_of(const Place& place, bool back) const {
    return top_of(place) + cell_height_ / 2 + (back ? 7 : -7);
  }

  const StageCell& cell(const Place& place) const {
    return grid_.columns[place.first].cells[place.second];
  }

  void text(double x, double y, std::string value, double size, Scene::Anchor anchor,
            bool bold = false, const char* ink = kInk) {
    scene_.add(Scene::Text{x, y, std::move(value), size, anchor, bold, ink});
  }

  void add_head() {
    const double y = scene_.add_head(grid_.about);
    if (grid_.forward.empty()) return;
    double x = 16;
    for (const bool back : {false, true}) {
      const std::string& name = back ? grid_.back : grid_.forward;
      if (name.empty()) continue;
      arrow({{x, y + 4}, {x + 30, y + 4}}, back, name);
      text(x + 36, y + 4, name, 11, Scene::Anchor::kStart);
      x += 36 + text_width(name, 11) + 24;
    }
  }

  void add_column(std::size_t column) {
    const StageColumn& of = grid_.columns[column];
    const double x = left_of({column, 0});
    if (!of.name.empty()) {
      text(x, top_of({column, 0}) - 11, fitted(of.name, 12, cell_width_ + kBetween - 8), 12,
           Scene::Anchor::kStart, true);
    }
    for (std::size_t row = 0; row < of.cells.size(); ++row) {
      add_cell(of.cells[row], x, top_of({column, row}));
    }
  }

  void add_cell(const StageCell& of, double x, double y) {
    Scene::Box box{.x = x,
                   .y = y,
                   .width = cell_width_,
                   .height = cell_height_,
                   .fill = kPanel,
                   .stroke = kInk,
                   .stroke_width = 1};
    for (int behind = of.folded ? 2 : 0; behind > 0; --behind) {
      Scene::Box card = box;
      card.x += 3 * behind;
      card.y += 3 * behind;
      scene_.add(std::move(card));
    }
    scene_.add(box);
    const double space = text_space();
    const double size = fitting_size(of.name, 12, kMinText, space / 1.1);  // bold letters are wider
    text(x + 8, y + 15, fitted(of.name, size, space), size, Scene::Anchor::kStart, true);
    for (const std::string& line : of.lines) {
      y += kCellLine;
      const double small = fitting_size(line, kText, kMinText, space);
      text(x + 8, y + 17, fitted(line, small, space), small, Scene::Anchor::kStart);
    }
  }

  void arrow(std::vector<Scene::Point> points, bool back, const std::string& tip) {
    scene_.add(Scene::Path{.points = std::move(points),
                           .stroke = back ? kReturned : kSent,
                           .stroke_width = 1.5,
                           .dashed = back,
                           .arrow = true,
                           .tip = tip});
  }

  void add_flow(const StageFlow& flow) {
    const std::string tip =
        fmt::format("{} to {}: {}", cell(flow.from).name, cell(flow.to).name, flow.label);
    if (is_beside(flow)) {
      add_beside(flow, tip);
    } else if (is_vertical(flow)) {
      const double x = left_of(flow.from) + cell_width_ / 2 + (flow.back ? 8 : -8);
      const bool down = flow.from.second < flow.to.second;
      const double shadow = cell(down ? flow.from : flow.to).folded ? 6 : 0;
      arrow({{x, down ? top_of(flow.from) + cell_height_ + shadow : top_of(flow.from)},
             {x, down ? top_of(flow.to) : top_of(flow.to) + cell_height_ + shadow}},
            flow.back, tip);
    } else if (is_elbow(flow)) {
      add_elbow(flow, tip);
    } else {
      add_stubs(flow, tip);
    }
  }

  void add_beside(const StageFlow& flow, const std::string& tip) {
    const bool right = flow.from.first < flow.to.first;
    const double out = left_of(flow.from) + (right ? cell_width_ + shadow(flow.from) : 0);
    const double in = left_of(flow.to) + (right ? 0 : cell_width_ + shadow(flow.to));
    // Omits the label, which would cross other arrows; the boxes show the data.
    if (flow.from.second != flow.to.second) {
      const double low = cell_height_ * 0.35;
      arrow({{out, middle_of(flow.from, flow.back)}, {in, middle_of(flow.to, flow.back) + low}},
            flow.back, tip);
      return;
    }
    const double y = middle_of(flow.from, flow.back);
    arrow({{out, y}, {in, y}}, flow.back, tip);
    const std::string label = fitted(flow.label, kLabel, kBetween - 8);
    text((out + in) / 2, y + (flow.back ? 10 : -10), label, kLabel, Scene::Anchor::kMiddle);
  }

  double shadow(const Place& place) const { return cell(place).folded ? 6 : 0; }

  void add_elbow(const StageFlow& flow, const std::string& tip) {
    const bool down = flow.from.second < flow.to.second;
    const Place& upper = down ? flow.from : flow.to;
    const Place& lower = down ? flow.to : flow.from;
    const double apart = flow.back ? 5 : -5;
    const double right = left_of(upper) + cell_width_ + shadow(upper);
    const double left = left_of(lower);
    const double y = top_of(lower) - row_gap_ / 2 + apart + 2;
    std::vector<Scene::Point> points = {{right, middle_of(upper, flow.back)},
                                        {right + 20 + apart, middle_of(upper, flow.back)},
                                        {right + 20 + apart, y},
                                        {left - 20 - apart, y},
                                        {left - 20 - apart, middle_of(lower, flow.back)},
                                        {left, middle_of(lower, flow.back)}};
    if (!down) std::reverse(points.begin(), points.end());
    arrow(std::move(points), flow.back, tip);
    text(right + 30, y, fitted(flow.label, kLabel, kGridMargin - 34), kLabel,
         Scene::Anchor::kStart);
  }

  // Adds one arrow out of the first cell and another into the second, with the names of both cells.
  void add_stubs(const StageFlow& flow, const std::string& tip) {
    constexpr double kStub = 24;
    const bool right = flow.from.first < flow.to.first;
    const double sign = right ? 1 : -1;
    const double out = left_of(flow.from) + (right ? cell_width_ + shadow(flow.from) : 0);
    const double in = left_of(flow.to) + (right ? 0 : cell_width_ + shadow(flow.to));
    const double from_y = middle_of(flow.from, flow.back);
    const double to_y = middle_of(flow.to, flow.back);
    arrow({{out, from_y}, {out + sign * kStub, from_y}}, flow.back, tip);
    arrow({{in - sign * kStub, to_y}, {in, to_y}}, flow.back, tip);
    const double away = flow.back ? 11 : -11;
    const auto label = [&](double x, double y, double side, const std::string& name) {
      text(x, y, fitted(name, kLabel, kGridMargin - 8), kLabel,
           side > 0 ? Scene::Anchor::kStart : Scene::Anchor::kEnd, false, kGreyText);
    };
    label(out + sign * 4, from_y + away, sign, cell(flow.to).name);
    label(in - sign * 4, to_y + away, -sign, cell(flow.from).name);
  }

  StageGrid grid_;
  Scene scene_;
  std::size_t rows_ = 0;
  double cell_width_ = kMinCell;
  double cell_height_ = 0;
  double name_height_ = 0;
  double row_gap_ = kRowGap;
  double width_ = 0;
  double height_ = 0;
  double top_ = 0;
  double line_height_ = 0;
};

}  // namespace

Scene draw_grid(StageGrid grid) { return GridPicture(std::move(grid)).run(); }

std::vector<std::pair<std::size_t, std::size_t>> stage_columns(
    std::size_t count, bool fold, const std::function<bool(std::size_t, std::size_t)>& equal) {
  constexpr std::size_t kAtEnds = 2;
  std::vector<std::pair<std::size_t, std::size_t>> columns;
  const bool folds = fold && count > kStageColumns;
  for (std::size_t i = 0; i < count; ++i) {
    const bool inside = folds && i > kAtEnds && i + kAtEnds < count;
    if (inside && equal(columns.back().first, i)) {
      columns.back().second = i + 1;
    } else {
      columns.emplace_back(i, i + 1);
    }
  }
  if (!folds || columns.size() <= kMaxStageColumns) return columns;
  const std::size_t together = (columns.size() + kMaxStageColumns - 1) / kMaxStageColumns;
  std::vector<std::pair<std::size_t, std::size_t>> fewer;
  for (std::size_t i = 0; i < columns.size(); i += together) {
    const std::size_t last = std::min(i + together, columns.size()) - 1;
    fewer.emplace_back(columns[i].first, columns[last].second);
  }
  return fewer;
}

}  // namespace pipesim::viz
