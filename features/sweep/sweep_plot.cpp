// Draws the plot of a sweep. Writes the SVG directly: a plot of two panels needs no library, and
// the same numbers give the same bytes.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "viz/pictures/axis.hpp"
#include "viz/report/words.hpp"
#include "viz/report/xml.hpp"

#include "features/sweep/sweep_report.hpp"

namespace pipesim::viz {
namespace {

using models::PointSummary;
using models::Spread;
using models::SweepPoint;

// Sizes, in pixels.
constexpr double kPlotLeft = 92;
constexpr double kPlotWidth = 520;
constexpr std::size_t kMaxCharacters = 40;  // maximum characters per line of the legend
constexpr double kPlotTop = 62;
constexpr double kPanelHeight = 210;
constexpr double kPanelGap = 46;
constexpr double kLegendLine = 20;  // height of a line in the legend
constexpr double kInset = 24;       // distance of the outermost points from the frame
constexpr double kCharacter = 7.2;  // approximate width of a character in labels

// Colors that color-blind readers can distinguish (Okabe and Ito 2008), darkest first. Seven
// markers and four dash patterns identify a line without colors.
constexpr std::array<const char*, 7> kColours = {"#000000", "#0072b2", "#d55e00", "#009e73",
                                                 "#cc79a7", "#56b4e9", "#e69f00"};
constexpr std::array<const char*, 4> kDashes = {"", "7 3", "2 3", "9 3 2 3"};
constexpr std::size_t kMarkers = 7;
constexpr std::size_t kMaxLines = kMarkers * kDashes.size();

// ---------------------------------------------------------------------------------------------
// Numbers

struct Figure {
  double number = 0;
  std::string_view unit;
};

std::optional<Figure> figure(std::string_view text) {
  if (text.find_first_of("0123456789") > 1) return std::nullopt;  // such as "inf"
  Figure result;
  const char* end = text.data() + text.size();
  const auto [stop, problem] =
      std::from_chars(text.data(), end, result.number, std::chars_format::fixed);
  if (problem != std::errc()) return std::nullopt;
  result.unit = std::string_view(stop, static_cast<std::size_t>(end - stop));
  return result;
}

std::optional<double> factor_of(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kTimes = {
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  for (const auto& [name, factor] : kTimes) {
    if (unit == name) return factor;
  }
  return std::nullopt;
}

// Returns the values as numbers on a common scale; nullopt if some are not numbers, or if their
// units do not match.
std::optional<std::vector<double>> numbers_of(const std::vector<std::string>& values) {
  std::vector<double> result;
  std::optional<std::string_view> common;
  for (const std::string& value : values) {
    const auto found = figure(value);
    if (!found) return std::nullopt;
    if (found->number == 0 && found->unit.empty()) {  // 0 is also a valid time and percentage
      result.push_back(0);
      continue;
    }
    const auto factor = factor_of(found->unit);
    const std::string_view kind = factor ? "time" : found->unit;
    if (common.value_or(kind) != kind) return std::nullopt;
    common = kind;
    result.push_back(found->number * factor.value_or(1));
  }
  return result;
}

std::string shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

// ---------------------------------------------------------------------------------------------
// The picture

/// The x axis: the values of one variable.
struct Axis {
  std::optional<std::size_t> variable;  // index in the grid; nullopt: nothing is varied
  std::vector<std::string> labels;      // in axis order
  std::vector<double> places;           // x positions in pixels
  std::vector<std::size_t> place_of;    // by index of a value: position on the axis
};

/// A line of the plot: a combination of the other variables.
struct Line {
  std::string name;
  // Indices in SweepCases::points, by position on the axis.
  std::vector<std::optional<std::size_t>> points;
};

class SweepPlot {
 public:
  SweepPlot(const SweepReport& report, const std::string& made_by)
      : report_(report), made_by_(made_by) {
    choose_axis();
    find_lines();
  }

  std::string run() {
    const double legend = 60 + kLegendLine * static_cast<double>(lines_.size() + 2);
    const double height = std::max(kPlotTop + 2 * kPanelHeight + kPanelGap + 62, kPlotTop + legend);
    const double width = kPlotLeft + kPlotWidth + legend_width();
    const double foot = made_by_.empty() ? 0 : 16;
    text_ = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, height + foot);
    if (!made_by_.empty()) {
      const auto most = static_cast<std::size_t>((width - 24) / kCharacter * 13 / 9);
      add(12, height + 6, "start", shortened(made_by_, most), " font-size=\"9\" fill=\"#444444\"");
    }
    add_title();
    add_rates();
    add_makespans();
    add_legend();
    return text_ + "</svg>\n";
  }

 private:
  void choose_axis();
  void find_lines();
  void add_title();
  void add_rates();
  void add_makespans();
  void add_legend();
  void add_frame(double top, const std::string& title, bool labels);
  void add_tick(double y, const std::string& label);
  void add_line(std::size_t line, const std::vector<std::optional<double>>& heights);
  void add_marker(std::size_t line, double x, double y);
  double shift(std::size_t line) const;
  std::string legend_title() const;
  double legend_width() const;

  void add(double x, double y, const char* anchor, const std::string& text, const char* more = "") {
    text_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                         anchor, more, xml_text(text));
  }

  const SweepReport& report_;
  const std::string& made_by_;
  Axis axis_;
  std::vector<Line> lines_;
  std::size_t all_lines_ = 0;  // number of lines, including those beyond kMaxLines
  std::string text_;
};

void SweepPlot::choose_axis() {
  const auto& variables = report_.grid.variables;
  axis_.labels = {"all timings"};
  axis_.places = {kPlotLeft + kPlotWidth / 2};
  axis_.place_of = {0};
  if (variables.empty()) return;
  std::size_t chosen = 0;
  std::optional<std::vector<double>> numbers;
  for (std::size_t i = 0; i < variables.size() && !numbers; ++i) {
    numbers = numbers_of(variables[i].values);
    if (numbers) chosen = i;
  }
  axis_.variable = chosen;
  const std::vector<std::string>& values = variables[chosen].values;
  std::vector<std::size_t> order(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (numbers) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return (*numbers)[a] < (*numbers)[b]; });
  }
  axis_.labels.clear();
  axis_.places.clear();
  axis_.place_of.resize(values.size());
  const double space = kPlotWidth - 2 * kInset;
  const auto evenly = [&](std::size_t i) {
    const auto last = static_cast<double>(values.size() - 1);
    return last == 0 ? kPlotLeft + kPlotWidth / 2
                     : kPlotLeft + kInset + space * static_cast<double>(i) / last;
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    axis_.place_of[order[i]] = i;
    axis_.labels.push_back(values[order[i]]);
    axis_.places.push_back(evenly(i));
  }
  if (!numbers || values.size() < 2) return;
  // Places values to scale, unless points would overlap.
  const double least = (*numbers)[order.front()];
  const double most = (*numbers)[order.back()];
  std::vector<double> scaled;
  for (const std::size_t value : order) {
    scaled.push_back(kPlotLeft + kInset + space * ((*numbers)[value] - least) / (most - least));
  }
  constexpr double kMinDistance = 26;
  const double needed = std::min(kMinDistance, space / static_cast<double>(values.size() - 1) / 2);
  for (std::size_t i = 1; i < scaled.size(); ++i) {
    if (!(scaled[i] - scaled[i - 1] >= needed)) return;
  }
  axis_.places = scaled;
}

void SweepPlot::find_lines() {
  const auto& variables = report_.grid.variables;
  for (std::size_t p = 0; p < report_.cases.points.size(); ++p) {
    const SweepPoint& point = report_.cases.points[p];
    std::string name;
    std::size_t place = 0;
    for (std::size_t i = 0; i < variables.size(); ++i) {
      if (i == axis_.variable) {
        const auto& values = variables[i].values;
        const auto found = std::find(values.begin(), values.end(), point.values[i]);
        place = axis_.place_of[static_cast<std::size_t>(found - values.begin())];
      } else {
        name += (name.empty() ? "" : ", ") + point.values[i];
      }
    }
    auto line = std::find_if(lines_.begin(), lines_.end(),
                             [&](const Line& other) { return other.name == name; });
    if (line == lines_.end()) {
      // Each line has one point per position, so position 0 counts each hidden line once.
      if (lines_.size() == kMaxLines) {
        if (place == 0) ++all_lines_;
        continue;
      }
      ++all_lines_;
      line = lines_.insert(lines_.end(), {name, {}});
      line->points.resize(axis_.places.size());
    }
    line->points[place] = p;
  }
}

void SweepPlot::add_title() {
  const std::string name = report_.name.empty() ? report_.path : report_.name;
  add(kPlotLeft, 24, "start", name, " font-size=\"16\" font-weight=\"bold\"");
  std::string about = counted(report_.cases.count, "run");
  if (report_.grid.seeds > 1) about += fmt::format(", {} timings", report_.grid.seeds);
  for (const auto& [parameter, value] : report_.settings) {
    about += fmt::format(", {}={}", parameter, value);
  }
  const auto most = static_cast<std::size_t>((kPlotWidth + legend_width()) / kCharacter);
  add(kPlotLeft, 42, "start", shortened(about, most), " fill=\"#444444\"");
}

void SweepPlot::add_frame(double top, const std::string& title, bool labels) {
  add(kPlotLeft, top - 6, "start", title, " font-weight=\"bold\"");
  text_ += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
      "stroke=\"#444444\"/>\n",
      kPlotLeft, top, kPlotWidth, kPanelHeight);
  const double bottom = top + kPanelHeight;
  double free_from = 0;  // right end of the last label
  for (std::size_t i = 0; i < axis_.places.size(); ++i) {
    const double x = axis_.places[i];
    text_ += fmt::format("<path d=\"M{0:.1f} {1:.1f}v5\" stroke=\"#444444\" fill=\"none\"/>\n", x,
                         bottom);
    if (!labels) continue;
    const double half = kCharacter * static_cast<double>(axis_.labels[i].size()) / 2;
    if (x - half < free_from) continue;
    add(x, bottom + 20, "middle", axis_.labels[i]);
    free_from = x + half + 6;
  }
  if (labels && axis_.variable) {
    add(kPlotLeft + kPlotWidth / 2, bottom + 42, "middle",
        report_.grid.variables[*axis_.variable].name, " font-weight=\"bold\"");
  }
}

void SweepPlot::add_tick(double y, const std::string& label) {
  text_ += fmt::format("<path d=\"M{:.1f} {:.1f}h{:.1f}\" stroke=\"#dddddd\" fill=\"none\"/>\n",
                       kPlotLeft, y, kPlotWidth);
  add(kPlotLeft - 8, y + 4.5, "end", label);
}

void SweepPlot::add_rates() {
  const double top = kPlotTop + 14;
  const auto height_of = [&](double share) {
    constexpr double kMargin = 10;  // keeps markers at 0% and 100% inside the frame
    return top + kMargin + (kPanelHeight - 2 * kMargin) * (1 - share);
  };
  for (int percent = 0; percent <= 100; percent += 25) {
    add_tick(height_of(percent / 100.0), fmt::format("{}%", percent));
  }
  add_frame(top, "runs that do not complete", false);
  for (std::size_t l = 0; l < lines_.size(); ++l) {
    std::vector<std::optional<double>> heights;
    for (const auto& point : lines_[l].points) {
      if (!point) {
        heights.emplace_back();
        continue;
      }
      const PointSummary& sum = report_.summary.points[*point];
      heights.emplace_back(
          height_of(static_cast<double>(sum.not_completed()) / static_cast<double>(sum.runs)));
    }
    add_line(l, heights);
  }
}

void SweepPlot::add_makespans() {
  const double top = kPlotTop + 14 + kPanelHeight + kPanelGap;
  std::optional<Spread> all;
  for (const PointSummary& sum : report_.summary.points) {
    if (!sum.makespan_ns) continue;
    if (!all) all = sum.makespan_ns;
    all->least = std::min(all->least, sum.makespan_ns->least);
    all->most = std::max(all->most, sum.makespan_ns->most);
  }
  if (!all) {
    add_frame(top, "makespan", true);
    add(kPlotLeft + kPlotWidth / 2, top + kPanelHeight / 2, "middle", "no run completes");
    return;
  }
  // Starts the scale at 0 if the differences remain visible.
  double least = static_cast<double>(all->least);
  double most = std::max(static_cast<double>(all->most), least + 1);
  if (least < most / 2) least = 0;
  const double step = round_step(most - least, 5);
  least = std::floor(least / step) * step;
  most = std::ceil(most / step) * step;
  const auto height_of = [&](std::int64_t ns) {
    constexpr double kMargin = 8;
    const double share = (static_cast<double>(ns) - least) / (most - least);
    return top + kMargin + (kPanelHeight - 2 * kMargin) * (1 - share);
  };
  const auto ticks = std::lround((most - least) / step);
  for (long i = 0; i <= ticks; ++i) {
    const auto ns = static_cast<std::int64_t>(least + step * static_cast<double>(i));
    add_tick(height_of(ns), ns == 0 ? "0" : time_text(ns));
  }
  add_frame(top, "makespan of those that complete: median, shortest to longest", true);
  for (std::size_t l = 0; l < lines_.size(); ++l) {
    std::vector<std::optional<double>> heights;
    for (std::size_t i = 0; i < lines_[l].points.size(); ++i) {
      const auto& point = lines_[l].points[i];
      const bool any = point && report_.summary.points[*point].makespan_ns;
      heights.emplace_back();
      if (!any) continue;
      const Spread& spread = *report_.summary.points[*point].makespan_ns;
      heights.back() = height_of(spread.middle);
      if (spread.least == spread.most) continue;
      text_ += fmt::format(
          "<path d=\"M{0:.1f} {1:.1f}h6m-3 0V{2:.1f}m-3 0h6\" stroke=\"{3}\" fill=\"none\"/>\n",
          axis_.places[i] + shift(l) - 3, height_of(spread.most), height_of(spread.least),
          kColours[l % kColours.size()]);
    }
    add_line(l, heights);
  }
}

// Returns a horizontal offset per line, so that lines with equal values are all visible.
double SweepPlot::shift(std::size_t line) const {
  double distance = kPlotWidth;
  for (std::size_t i = 1; i < axis_.places.size(); ++i) {
    distance = std::min(distance, axis_.places[i] - axis_.places[i - 1]);
  }
  const auto count = static_cast<double>(lines_.size());
  const double step = std::min(7.0, std::min(distance / 2, 2 * kInset - 12) / count);
  return (static_cast<double>(line) - (count - 1) / 2) * step;
}

void SweepPlot::add_line(std::size_t line, const std::vector<std::optional<double>>& heights) {
  std::string path;
  bool pen_down = false;
  for (std::size_t i = 0; i < heights.size(); ++i) {
    if (heights[i]) {
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", axis_.places[i] + shift(line),
                          *heights[i]);
    }
    pen_down = heights[i].has_value();
  }
  // Points are joined by a line only if the values are numbers.
  const bool joined = axis_.variable && axis_.places.size() > 1 &&
                      numbers_of(report_.grid.variables[*axis_.variable].values);
  if (joined && !path.empty()) {
    text_ += fmt::format(
        "<path d=\"{}\" stroke=\"{}\" stroke-width=\"1.5\" stroke-dasharray=\"{}\" "
        "fill=\"none\"/>\n",
        path, kColours[line % kColours.size()], kDashes[(line + line / kMarkers) % kDashes.size()]);
  }
  for (std::size_t i = 0; i < heights.size(); ++i) {
    if (heights[i]) add_marker(line, axis_.places[i] + shift(line), *heights[i]);
  }
}

void SweepPlot::add_marker(std::size_t line, double x, double y) {
  constexpr std::array<const char*, kMarkers> kShapes = {
      "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",  // disc
      "m-4 -4h8v8h-8z",                                 // square
      "m0 -5.5l5 9h-10z",                               // triangle
      "m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",            // diamond
      "m0 5.5l5 -9h-10z",                               // triangle upside down
      "m-4.5 -4.5l9 9m0 -9l-9 9",                       // cross
      "m-5.5 0h11m-5.5 -5.5v11",                        // plus
  };
  const char* colour = kColours[line % kColours.size()];
  // Every second group of kMarkers lines has hollow markers.
  const bool hollow = line / kMarkers % 2 == 1;
  text_ +=
      fmt::format("<path d=\"M{:.1f} {:.1f}{}\" stroke=\"{}\" stroke-width=\"1.5\" fill=\"{}\"/>\n",
                  x, y, kShapes[line % kMarkers], colour, hollow ? "white" : colour);
}

// Returns the variables that distinguish the lines: "acc, jitter".
std::string SweepPlot::legend_title() const {
  std::string title;
  const auto& variables = report_.grid.variables;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (i != axis_.variable) title += (title.empty() ? "" : ", ") + variables[i].name;
  }
  return title;
}

double SweepPlot::legend_width() const {
  std::size_t longest = legend_title().size();
  for (const Line& line : lines_) longest = std::max(longest, line.name.size());
  constexpr double kBeside = 76;  // width of line samples and margins
  const auto shown = static_cast<double>(std::min(longest, kMaxCharacters));
  return std::max(160.0, kBeside + kCharacter * shown);
}

void SweepPlot::add_legend() {
  const std::string title = legend_title();
  if (title.empty()) return;
  const double x = kPlotLeft + kPlotWidth + 20;
  double y = kPlotTop + 14 + kLegendLine / 2;
  add(x, y, "start", shortened(title, kMaxCharacters), " font-weight=\"bold\"");
  for (std::size_t l = 0; l < lines_.size(); ++l) {
    y += kLegendLine;
    text_ += fmt::format(
        "<path d=\"M{:.1f} {:.1f}h30\" stroke=\"{}\" stroke-width=\"1.5\" "
        "stroke-dasharray=\"{}\" fill=\"none\"/>\n",
        x, y, kColours[l % kColours.size()], kDashes[(l + l / kMarkers) % kDashes.size()]);
    add_marker(l, x + 15, y);
    text_ += fmt::format("<g><title>{}</title>", xml_text(lines_[l].name));
    add(x + 38, y + 4.5, "start", shortened(lines_[l].name, kMaxCharacters));
    text_ += "</g>\n";
  }
  if (all_lines_ == lines_.size()) return;
  add(x, y + kLegendLine + 4.5, "start",
      fmt::format("and {} that are not shown", all_lines_ - lines_.size()));
}

}  // namespace

std::string sweep_plot(const SweepReport& report, const std::string& made_by) {
  return SweepPlot(report, made_by).run();
}

}  // namespace pipesim::viz
