#include "tools/support/report/text_table.h"

#include <algorithm>
#include <cstdio>

namespace namdb::support {

std::string TextTable::to_text() const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      if (i == 0) {
        text += row[i] + blanks;
      } else {
        text += "  " + blanks + row[i];
      }
    }
    while (text.back() == ' ') text.pop_back();
    text += '\n';
  }
  return text;
}

std::string decimal(double value, int decimals) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  return buffer;
}

}  // namespace namdb::support
