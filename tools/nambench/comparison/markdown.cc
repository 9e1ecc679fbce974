#include "tools/nambench/comparison/markdown.h"

#include <algorithm>

#include "tools/support/report/text_table.h"

namespace namdb::nambench {
namespace {

// Characters, not bytes.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char each) { return (static_cast<unsigned char>(each) & 0xc0) != 0x80; }));
}

}  // namespace

std::string MarkdownTable::to_text() const {
  std::vector<std::size_t> widths(rows_.front().size(), 3);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string text;
  for (std::size_t number = 0; number < rows_.size(); ++number) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const std::string& cell = rows_[number][i];
      const std::string blanks(widths[i] - width(cell), ' ');
      text += i == 0 ? "| " + cell + blanks : " | " + blanks + cell;
    }
    text += " |\n";
    if (number > 0) continue;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += (i == 0 ? "| " : " | ") + std::string(widths[i] - (i == 0 ? 0 : 1), '-') + (i == 0 ? "" : ":");
    }
    text += " |\n";
  }
  return text;
}

std::string grouped(double value, int decimals) {
  std::string text = support::decimal(value, decimals);
  std::size_t end = std::min(text.find('.'), text.size());
  const std::size_t begin = text.starts_with('-') ? 1 : 0;
  while (end > begin + 3) {
    end -= 3;
    text.insert(end, ",");
  }
  return text;
}

}  // namespace namdb::nambench
