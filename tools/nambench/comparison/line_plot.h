// Lines with markers over a common axis, as an SVG picture: one line a series, whiskers for the spread, and a
// legend in the order in which the lines end. Bands behind the lines mark periods, such as that of a failure.
#pragma once

#include <string>
#include <vector>

namespace namdb::nambench {

struct PlotPoint {
  double x = 0;
  double y = 0;
  double half_range = 0;  // of y
};

struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;  // by ascending x
};

struct PlotBand {
  std::string name;  // bands of the same name have one colour, and one place in the legend
  double begin = 0;  // of x
  double end = 0;
};

struct LinePlot {
  std::string title;
  std::string x_label;
  std::string y_label;  // with the unit
  bool logarithmic_x = false;
  std::vector<PlotSeries> series;  // the same position has the same colour and marker in every plot
  std::vector<PlotBand> bands;     // what of them is outside the plot is left out

  std::string to_svg() const;
};

}  // namespace namdb::nambench
