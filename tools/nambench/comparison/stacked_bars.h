// Horizontal bars of parts that add up, as an SVG picture: a row for each bar, the same part in the same
// colour everywhere, a legend in the order of the parts.
#pragma once

#include <string>
#include <vector>

namespace namdb::nambench {

struct StackedBars {
  struct Part {
    std::string name;
    bool faint = false;  // grey: a background for the others
  };
  struct Row {
    std::string name;
    std::vector<double> values;  // one for each part, none negative
  };
  std::string title;
  std::string x_label;  // with the unit
  std::vector<Part> parts;
  std::vector<Row> rows;

  std::string to_svg() const;
};

}  // namespace namdb::nambench
