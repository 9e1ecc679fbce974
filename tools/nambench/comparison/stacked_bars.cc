#include "tools/nambench/comparison/stacked_bars.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/nambench/comparison/axis.h"
#include "tools/nambench/comparison/markdown.h"
#include "tools/nambench/comparison/svg.h"

namespace namdb::nambench {
namespace {

constexpr double kPlotWidth = 460;
constexpr double kTop = 44;
constexpr double kBottom = 52;
constexpr double kRow = 26;
constexpr double kBar = 18;
constexpr double kLegendGap = 24;
constexpr double kSwatch = 12;
constexpr double kLegendRow = 20;

class Drawing {
 public:
  explicit Drawing(const StackedBars& bars)
      : bars_(bars),
        axis_(Axis::from_zero(longest_bar(bars), 5)),
        left_(24 + widest(bars.rows)),
        height_(std::max(kRow * static_cast<double>(bars.rows.size()),
                         kLegendRow * static_cast<double>(bars.parts.size()))),
        svg_(width(), kTop + height_ + kBottom) {}

  std::string draw() {
    svg_.text(12, 24, Anchor::begin, "title", bars_.title);
    axis();
    for (std::size_t i = 0; i < bars_.rows.size(); ++i) {
      bar(bars_.rows[i], kTop + kRow * static_cast<double>(i) + (kRow - kBar) / 2);
    }
    legend();
    return svg_.to_text();
  }

 private:
  static double total(const StackedBars::Row& row) {
    return std::accumulate(row.values.begin(), row.values.end(), 0.0);
  }
  static double longest_bar(const StackedBars& bars) {
    double longest = 0;
    for (const StackedBars::Row& row : bars.rows) longest = std::max(longest, total(row));
    return longest;
  }
  template <typename Named>
  static double widest(const std::vector<Named>& all) {
    double width = 0;
    for (const Named& each : all) width = std::max(width, Svg::text_width(each.name));
    return width;
  }
  double width() const {
    return std::ceil(std::max(left_ + kPlotWidth + kLegendGap + kSwatch + 8 + widest(bars_.parts) + 12,
                              Svg::title_width(bars_.title) + 24));
  }
  double at(double value) const { return left_ + axis_.position(value) * kPlotWidth; }

  // The color of a part: those that are not faint share the series' colours.
  std::string css(std::size_t part) const {
    if (bars_.parts[part].faint) return "pale";
    const auto before =
        std::count_if(bars_.parts.begin(), bars_.parts.begin() + static_cast<std::ptrdiff_t>(part),
                      [](const StackedBars::Part& each) { return !each.faint; });
    return Svg::series_fill(static_cast<std::size_t>(before));
  }

  void axis() {
    for (const double tick : axis_.ticks()) {
      svg_.line(at(tick), kTop, at(tick), kTop + height_, tick == 0 ? "axis" : "grid");
      svg_.text(at(tick), kTop + height_ + 17, Anchor::middle, "faint", axis_.label(tick));
    }
    svg_.text(left_ + kPlotWidth / 2, kTop + height_ + 39, Anchor::middle, "text", bars_.x_label);
  }

  void bar(const StackedBars::Row& row, double y) {
    svg_.text(left_ - 8, y + kBar - 5, Anchor::end, "text", row.name);
    double begin = 0;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const double value = row.values[i];
      const double end = begin + value;
      if (at(end) - at(begin) >= 0.1) {
        svg_.rectangle(at(begin), y, at(end) - at(begin), kBar, css(i),
                       row.name + ", " + bars_.parts[i].name + ": " + grouped(value, value < 100 ? 2 : 0));
      }
      begin = end;
    }
  }

  void legend() {
    const double x = left_ + kPlotWidth + kLegendGap;
    double y = kTop + 2;
    for (std::size_t i = 0; i < bars_.parts.size(); ++i) {
      svg_.rectangle(x, y, kSwatch, kSwatch, css(i));
      svg_.text(x + kSwatch + 8, y + kSwatch - 2, Anchor::begin, "text", bars_.parts[i].name);
      y += kLegendRow;
    }
  }

  const StackedBars& bars_;
  Axis axis_;
  double left_;
  double height_;
  Svg svg_;
};

}  // namespace

std::string StackedBars::to_svg() const {
  return Drawing(*this).draw();
}

}  // namespace namdb::nambench
