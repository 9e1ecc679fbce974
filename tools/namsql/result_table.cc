#include "tools/namsql/result_table.h"

#include <algorithm>
#include <utility>

#include "tools/namsql/text.h"
#include "tools/namsql/utf8.h"

namespace namdb::namsql {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const Cell& cell) {
  if (!cell) return {""};
  return split_lines(printable(*cell, LineEnds::keep));
}

std::size_t width_of_lines(const Lines& lines) {
  std::size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, display_width(line));
  return width;
}

std::string without_blanks_at_end(std::string line) {
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

void append_line(std::string& out, std::string line) {
  out += without_blanks_at_end(std::move(line));
  out += '\n';
}

std::string blanks(std::size_t count) {
  return std::string(count, ' ');
}

void append_footers(std::string& out, const ResultTable& table) {
  for (const std::string& footer : table.footers) append_line(out, printable(footer, LineEnds::keep));
  if (table.footers.empty() && table.counts_rows)
    out += concat("(", table.rows.size(), table.rows.size() == 1 ? " row)\n" : " rows)\n");
  out += '\n';
}

void append_row(std::string& out, const ResultTable& table, const std::vector<Lines>& cells,
                const std::vector<std::size_t>& widths) {
  std::size_t height = 1;
  for (const Lines& lines : cells) height = std::max(height, lines.size());
  for (std::size_t i = 0; i < height; ++i) {
    std::string line;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::string text = i < cells[column].size() ? cells[column][i] : "";
      const std::string fill = blanks(widths[column] - display_width(text));
      const bool right = table.columns[column].kind == ValueKind::number;
      const bool goes_on = i + 1 < cells[column].size();
      line +=
          concat(column == 0 ? " " : "| ", right ? fill : "", text, right ? "" : fill, goes_on ? "+" : " ");
    }
    append_line(out, std::move(line));
  }
}

}  // namespace

std::string aligned_table(const ResultTable& table) {
  const std::size_t count = table.columns.size();
  std::vector<std::string> names;
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) {
    names.push_back(printable(column.name));
    widths.push_back(display_width(names.back()));
  }
  std::vector<std::vector<Lines>> rows;
  rows.reserve(table.rows.size());
  for (const auto& row : table.rows) {
    auto& cells = rows.emplace_back();
    for (std::size_t column = 0; column < count; ++column) {
      cells.push_back(lines_of(row[column]));
      widths[column] = std::max(widths[column], width_of_lines(cells.back()));
    }
  }
  std::string header;
  std::string rule;
  for (std::size_t column = 0; column < count; ++column) {
    const std::size_t space = widths[column] - display_width(names[column]);
    header +=
        concat(column == 0 ? " " : "| ", blanks(space / 2), names[column], blanks(space - space / 2), " ");
    rule += concat(column == 0 ? "" : "+", std::string(widths[column] + 2, '-'));
  }
  std::string out;
  if (!table.title.empty()) {
    const std::string title = printable(table.title);
    const std::size_t width = display_width(title);
    append_line(out, blanks(width < rule.size() ? (rule.size() - width) / 2 : 0) + title);
  }
  append_line(out, std::move(header));
  append_line(out, std::move(rule));
  for (const auto& cells : rows) append_row(out, table, cells, widths);
  append_footers(out, table);
  return out;
}

std::string expanded_table(const ResultTable& table) {
  std::string out;
  if (!table.title.empty()) append_line(out, printable(table.title));
  if (table.rows.empty()) {
    append_footers(out, table);
    return out;
  }
  std::size_t name_width = 0;
  std::vector<std::string> names;
  for (const Column& column : table.columns) {
    names.push_back(printable(column.name));
    name_width = std::max(name_width, display_width(names.back()));
  }
  std::size_t value_width = 0;
  for (const auto& row : table.rows) {
    for (const Cell& cell : row) value_width = std::max(value_width, width_of_lines(lines_of(cell)));
  }
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::string label = concat("-[ RECORD ", i + 1, " ]");
    std::string rule = std::string(name_width + 1, '-') + "+" + std::string(value_width + 1, '-');
    rule.replace(0, std::min(label.size(), rule.size()), label);
    append_line(out, std::move(rule));
    for (std::size_t column = 0; column < names.size(); ++column) {
      const Lines lines = lines_of(table.rows[i][column]);
      for (std::size_t k = 0; k < lines.size(); ++k) {
        const std::string name = k == 0 ? names[column] : std::string();
        const bool goes_on = k + 1 < lines.size();
        append_line(out, concat(name, blanks(name_width - display_width(name)), " | ", lines[k],
                                goes_on ? blanks(value_width - display_width(lines[k])) + "+" : ""));
      }
    }
  }
  for (const std::string& footer : table.footers) append_line(out, printable(footer, LineEnds::keep));
  out += '\n';
  return out;
}

}  // namespace namdb::namsql
