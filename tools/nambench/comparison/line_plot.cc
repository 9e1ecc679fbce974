#include "tools/nambench/comparison/line_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "tools/nambench/comparison/axis.h"
#include "tools/nambench/comparison/markdown.h"
#include "tools/nambench/comparison/svg.h"

namespace namdb::nambench {
namespace {

constexpr double kPlotWidth = 480;
constexpr double kPlotHeight = 280;
constexpr double kLeft = 64;
constexpr double kTop = 62;
constexpr double kBottom = 52;
constexpr double kInset = 14;  // markers at the ends do not touch the frame
constexpr double kWhiskerGap = 3;
constexpr double kLegendGap = 22;
constexpr double kLegendLine = 26;
constexpr double kLegendRow = 22;
constexpr double kThinnestBand = 2;
// In a line. With more of them it would be hidden, and ticks at all of them would be a hatching.
constexpr std::size_t kMostMarkers = 40;
constexpr int kFewTicks = 10;

// Unit shapes around the origin, their corners as x, y.
const std::array<std::vector<std::pair<double, double>>, 5> kShapes = {{
    {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}},
    {{0, -1.3}, {1.25, 1}, {-1.25, 1}},
    {{0, -1.45}, {1.45, 0}, {0, 1.45}, {-1.45, 0}},
    {{0, 1.3}, {1.25, -1}, {-1.25, -1}},
    {{-0.45, -1.35},
     {0.45, -1.35},
     {0.45, -0.45},
     {1.35, -0.45},
     {1.35, 0.45},
     {0.45, 0.45},
     {0.45, 1.35},
     {-0.45, 1.35},
     {-0.45, 0.45},
     {-1.35, 0.45},
     {-1.35, -0.45},
     {-0.45, -0.45}},
}};

std::string point(char command, double x, double y) {
  return command + Svg::number(x) + " " + Svg::number(y);
}

std::string marker(std::size_t series, double x, double y) {
  constexpr double kRadius = 4.2;
  const std::size_t shape = series % (kShapes.size() + 1);
  if (shape == 0) {
    const std::string arc = "a" + Svg::number(kRadius) + " " + Svg::number(kRadius) + " 0 1 0 ";
    return point('M', x - kRadius, y) + arc + Svg::number(2 * kRadius) + " 0" + arc +
           Svg::number(-2 * kRadius) + " 0Z";
  }
  std::string path;
  for (const auto& [dx, dy] : kShapes[shape - 1])
    path += point(path.empty() ? 'M' : 'L', x + kRadius * dx, y + kRadius * dy);
  return path + "Z";
}

class Drawing {
 public:
  explicit Drawing(const LinePlot& plot)
      : plot_(plot), x_(x_axis(plot)), y_(y_axis(plot)), svg_(width(plot), kTop + kPlotHeight + kBottom) {}

  std::string draw() {
    svg_.text(12, 24, Anchor::begin, "title", plot_.title);
    svg_.text(12, 46, Anchor::begin, "faint", plot_.y_label);
    bands();
    axes();
    for (std::size_t i = 0; i < plot_.series.size(); ++i) whiskers(i);
    for (std::size_t i = 0; i < plot_.series.size(); ++i) line(i);
    for (std::size_t i = 0; i < plot_.series.size(); ++i) markers(i);
    legend();
    return svg_.to_text();
  }

 private:
  static Axis x_axis(const LinePlot& plot) {
    std::set<double> values;
    for (const PlotSeries& series : plot.series) {
      for (const PlotPoint& each : series.points) values.insert(each.x);
    }
    if (values.empty()) values.insert(0);
    if (values.size() > kMostMarkers && *values.begin() == 0 && !plot.logarithmic_x)
      return Axis::from_zero(*values.rbegin(), kFewTicks);
    return Axis::at({values.begin(), values.end()}, plot.logarithmic_x);
  }
  static Axis y_axis(const LinePlot& plot) {
    double greatest = 0;
    for (const PlotSeries& series : plot.series) {
      for (const PlotPoint& each : series.points) greatest = std::max(greatest, each.y + each.half_range);
    }
    return Axis::from_zero(greatest, 5);
  }
  static double width(const LinePlot& plot) {
    double longest = 0;
    for (const PlotSeries& series : plot.series) longest = std::max(longest, Svg::text_width(series.name));
    for (const PlotBand& band : plot.bands) longest = std::max(longest, Svg::text_width(band.name));
    const double title = Svg::title_width(plot.title) + 24;
    return std::ceil(std::max(kLeft + kPlotWidth + kLegendGap + kLegendLine + longest + 16, title));
  }

  double at_x(double value) const { return kLeft + kInset + x_.position(value) * (kPlotWidth - 2 * kInset); }
  double at_y(double value) const { return kTop + (1 - y_.position(value)) * kPlotHeight; }

  // The names of the bands, in the order in which they come.
  std::vector<std::string> band_names() const {
    std::vector<std::string> names;
    for (const PlotBand& band : plot_.bands) {
      if (std::ranges::find(names, band.name) == names.end()) names.push_back(band.name);
    }
    return names;
  }
  // Colours that no line has, as long as there are such.
  std::size_t band_colour(std::size_t name) const { return plot_.series.size() + name; }

  void bands() {
    const std::vector<std::string> names = band_names();
    for (const PlotBand& band : plot_.bands) {
      const auto place = std::ranges::find(names, band.name) - names.begin();
      const double begin = std::max(at_x(band.begin), kLeft);
      const double end = std::min(std::max(at_x(band.end), begin + kThinnestBand), kLeft + kPlotWidth);
      if (begin >= end) continue;
      svg_.rectangle(begin, kTop, end - begin, kPlotHeight, band_css(static_cast<std::size_t>(place)),
                     band.name);
    }
  }
  std::string band_css(std::size_t name) const { return "band " + Svg::series_fill(band_colour(name)); }

  void axes() {
    for (const double tick : y_.ticks()) {
      const double y = at_y(tick);
      svg_.line(kLeft, y, kLeft + kPlotWidth, y, tick == 0 ? "axis" : "grid");
      svg_.text(kLeft - 8, y + 4, Anchor::end, "faint", y_.label(tick));
    }
    double free_from = 0;  // labels that would run into the one before are left out
    for (const double tick : x_.ticks()) {
      const double x = at_x(tick);
      const std::string label = x_.label(tick);
      svg_.line(x, kTop + kPlotHeight, x, kTop + kPlotHeight + 5, "axis");
      const double half = Svg::text_width(label) / 2;
      if (x - half < free_from) continue;
      svg_.text(x, kTop + kPlotHeight + 19, Anchor::middle, "faint", label);
      free_from = x + half + 6;
    }
    svg_.text(kLeft + kPlotWidth / 2, kTop + kPlotHeight + 41, Anchor::middle, "text", plot_.x_label);
  }

  void whiskers(std::size_t i) {
    for (const PlotPoint& each : plot_.series[i].points) {
      if (each.half_range <= 0) continue;
      // Beside each other, where many points have the same x.
      const double x = at_x(each.x) + kWhiskerGap * (static_cast<double>(i) -
                                                     static_cast<double>(plot_.series.size() - 1) / 2);
      svg_.line(x, at_y(std::max(each.y - each.half_range, 0.0)), x, at_y(each.y + each.half_range),
                "spread l" + std::to_string(i % kSvgColours));
    }
  }

  void line(std::size_t i) {
    std::string path;
    for (const PlotPoint& each : plot_.series[i].points)
      path += point(path.empty() ? 'M' : 'L', at_x(each.x), at_y(each.y));
    if (plot_.series[i].points.size() > 1) svg_.path(path, Svg::series_line(i));
  }

  void markers(std::size_t i) {
    const PlotSeries& series = plot_.series[i];
    if (series.points.size() > kMostMarkers) return;
    for (const PlotPoint& each : series.points) {
      svg_.path(marker(i, at_x(each.x), at_y(each.y)), Svg::series_fill(i),
                series.name + ", " + x_.label(each.x) + ": " + grouped(each.y, each.y < 100 ? 2 : 0));
    }
  }

  void legend() {
    std::vector<std::size_t> order(plot_.series.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto place = [this](std::size_t i) {
      const double end = plot_.series[i].points.empty() ? 0.0 : plot_.series[i].points.back().y;
      return std::pair(-end, i);
    };
    std::ranges::sort(order, {}, place);
    const double x = kLeft + kPlotWidth + kLegendGap;
    double y = kTop + 10;
    for (const std::size_t i : order) {
      svg_.line(x, y, x + kLegendLine - 6, y, Svg::series_line(i));
      svg_.path(marker(i, x + (kLegendLine - 6) / 2, y), Svg::series_fill(i));
      svg_.text(x + kLegendLine, y + 4, Anchor::begin, "text", plot_.series[i].name);
      y += kLegendRow;
    }
    const std::vector<std::string> names = band_names();
    for (std::size_t i = 0; i < names.size(); ++i) {
      svg_.rectangle(x, y - 6, kLegendLine - 6, 12, band_css(i));
      svg_.text(x + kLegendLine, y + 4, Anchor::begin, "text", names[i]);
      y += kLegendRow;
    }
  }

  const LinePlot& plot_;
  Axis x_;
  Axis y_;
  Svg svg_;
};

}  // namespace

std::string LinePlot::to_svg() const {
  return Drawing(*this).draw();
}

}  // namespace namdb::nambench
