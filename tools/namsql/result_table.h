// A result as a table for people. Everything in it is made printable: no value controls the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::namsql {

enum class ValueKind : std::uint8_t { text, number, boolean, json };

struct Column {
  std::string name;
  ValueKind kind = ValueKind::text;
};

// NULL is absent.
using Cell = std::optional<std::string>;

struct ResultTable {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
  // Lines behind the rows. Without any there is the number of rows, if `counts_rows`.
  std::vector<std::string> footers;
  bool counts_rows = true;
};

// Lines, each with its line end, and an empty line behind them. Numbers stand at the right; a value of
// several lines has a `+` at the end of all but its last.
std::string aligned_table(const ResultTable& table);
// Each row as a block with a line for each column: `\x`.
std::string expanded_table(const ResultTable& table);

}  // namespace namdb::namsql
